"""Append picks and full picks are those of Java: random files, given to both."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from genuine import Genuine, table_path
from java_append_picks import pick_any_order, pick_full, pick_neighbours
from java_picks import PickedFile
from test_picks_like_java import our_file, random_runs

from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.merge.compaction import append_picks
from paimon_spark.merge.compaction import pick as compaction_pick
from paimon_spark.merge.compaction.append_picks import AppendRules, FileVector, append_rules
from paimon_spark.merge.compaction.levels import LevelRun
from paimon_spark.merge.compaction.rules import compaction_rules

pytestmark = pytest.mark.interop


def test_full_picks(java: Genuine) -> None:
    draw = random.Random(3)
    cases = []
    for _ in range(500):
        runs = random_runs(draw, 0)[-draw.choice([1, 1, 3]) :]
        levels = max([draw.choice([2, 5]), *(files[0].level + 1 for files in runs)])
        names = [file.name for files in runs for file in files]
        vectors = draw.sample(names, draw.randrange(len(names) + 1)) if draw.random() < 0.5 else None
        cases.append((levels, runs, vectors, draw.random() < 0.3))
    kinds = set()
    for (levels, runs, vectors, forced), their in zip(cases, java.run(pick_full, cases), strict=True):
        ours = [LevelRun(files[0].level, tuple(map(our_file, files))) for files in runs]
        options = {"num-levels": str(levels), "compaction.force-rewrite-all-files": str(forced).lower()}
        unit = compaction_pick.pick_full(ours, compaction_rules(TableSettings(options)), vectors or ())
        ours_text = unit and ((unit.output_level, [file.file_name for file in unit.files]), unit.each_alone)
        assert ours_text == their, (levels, runs, vectors, forced)
        kinds.add(unit and unit.each_alone)
    assert kinds == {None, False, True}


def test_any_order(java: Genuine, tmp_path: Path) -> None:
    options = {"bucket": "-1", "deletion-vectors.enabled": "true", "compaction.min.file-num": "3",
               "target-file-size": "1000 b", "source.split.open-file-cost": "10 b"}  # fmt: skip
    path = table_path(tmp_path)
    java.create(path, {"v": "INT"}, options=options)
    rules, draw, cases = append_rules(TableSettings(options)), random.Random(5), []
    for _ in range(200):
        sizes = draw.sample(
            range(draw.choice([50, 300, 1200])), draw.randrange(25)
        )  # Java leaves equal sizes to chance
        files = [PickedFile(f"f{i}", size, created=i) for i, size in enumerate(sizes)]
        marked = draw.sample(files, draw.randrange(len(files) + 1)) if draw.random() < 0.5 else []
        vectors = {f.name: (draw.choice("ijk"), draw.choice([None, 5, 20, 21, 100])) for f in marked}
        cases.append((files, vectors, draw.random() < 0.5))
    sums = set()
    for (files, vectors, few), their in zip(cases, java.run(pick_any_order, path, cases), strict=True):
        places = {name: FileVector(*place) for name, place in vectors.items()}
        groups = append_picks.pick_any_order(map(our_file, files), rules, places, few)
        ours = [[file.file_name for file in group] for group in groups]
        assert sorted(map(sorted, ours)) == sorted(map(sorted, their)), (files, vectors, few)
        sums.add(len(groups))
    assert len(sums) > 3


def test_neighbours(java: Genuine) -> None:
    """Java gets the files in order: else a full compaction sees them as its priority queue stores them."""
    draw, cases = random.Random(9), []
    for _ in range(300):
        limit = draw.choice([30, 150, 500])
        files = [
            PickedFile(f"f{i}", draw.randrange(limit), sequences=(10 * i, 10 * i + 9))
            for i in range(draw.randrange(12))
        ]
        cases.append((files, draw.randrange(2, 6), 100, 70, draw.random() < 0.2))
    found = set()
    for (files, min_files, target, small, forced), theirs in zip(cases, java.run(pick_neighbours, cases), strict=True):
        rules = AppendRules(target, small, 0, min_files, 0.2, forced)
        shuffled = draw.sample(files, len(files))
        ours = (
            append_picks.pick_neighbours(map(our_file, shuffled), rules),
            append_picks.pick_all_neighbours(map(our_file, shuffled), rules),
        )
        names = tuple([file.file_name for file in group or ()] for group in ours)
        assert names == theirs, (files, min_files, forced)
        found.add((bool(ours[0]), bool(ours[1])))
    assert len(found) == 4
