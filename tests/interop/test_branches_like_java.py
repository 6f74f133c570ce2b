"""Branches as Java has them: written by one and read by the other, merged, and read through each other.

``PAIMON_BRANCH_HISTORIES`` sets how many are tried (each by its number as seed).
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import java_branches
import our_engine
import pytest
from genuine import Genuine
from java_system_tables import java_tables
from readers import java_change, java_read, our_change, telling
from support.long_runs import tries
from support.oracles.comparing import comparable

from paimon_spark import open_table
from paimon_spark.errors import PaimonError
from paimon_spark.store.history.branch_merge import merge_branch
from paimon_spark.store.history.branches import create_branch
from paimon_spark.store.history.rollback_as_latest import rollback_to_as_latest
from paimon_spark.store.history.tags import create_tag

pytestmark = pytest.mark.interop

SEEDS = range(tries("PAIMON_BRANCH_HISTORIES", ci=2, long=4))
COLUMNS = {"p": "INT NOT NULL", "k": "INT NOT NULL", "v": "STRING"}
KINDS: list[tuple[tuple[str, ...], Mapping[str, str]]] = [
    (("p", "k"), {"bucket": "1"}),
    (("p", "k"), {"bucket": "2", "merge-engine": "partial-update"}),
    (("p", "k"), {"bucket": "1", "deletion-vectors.enabled": "true"}),
    (("p", "k"), {"bucket": "1", "merge-engine": "first-row"}),
    (("p", "k"), {"bucket": "-1"}),
    ((), {"bucket": "-1"}),
    ((), {"bucket": "2", "bucket-key": "k"}),
]
BRANCH = {"branch": "b"}


class _Life:
    """A partitioned table with a branch b, written by us and by Java."""

    def __init__(self, java: Genuine, path: str, seed: int) -> None:
        self.java, self.path, self.draw, self.log = java, path, random.Random(seed), [f"seed {seed}"]
        self.keys, options = self.draw.choice(KINDS)
        self.options = dict(options)
        our_engine.create(path, COLUMNS, self.keys, ["p"], {**options, "write-only": "true"})
        if self.draw.random() < 0.5:
            self.write({})
            create_tag(open_table(path), "began", 1)
            create_branch(open_table(path), "b", tag="began")
        else:
            java.run(java_branches.create_branch, path, "b")
        for step in range(self.draw.randrange(2, 8)):
            self.step(step)

    def step(self, step: int) -> None:
        where = self.draw.choice([{}, BRANCH])
        deed = self.draw.choice(["write", "write", "write", "compact", "tag"])
        self.log.append(f"{step}: {deed} {where}")
        table = open_table(self.path, where)
        if deed == "write":
            self.write(where)
        elif table.snapshots.latest_id() is None:
            return
        elif deed == "compact":
            our_engine.compact(self.path, full=True, options=where)
        else:
            create_tag(table, f"t{step}", time_retained=None)

    def write(self, where: Mapping[str, str]) -> None:
        draw = self.draw
        rows = [(draw.randrange(4), draw.randrange(5), f"v{draw.random()}") for _ in range(draw.randrange(1, 5))]
        rows = list({row[:2]: row for row in rows}.values())
        if draw.random() < 0.5:
            self.java.write(self.path, rows, options={**where, "write-only": "true"})
        else:
            our_engine.write(self.path, [(rows, None)], where)

    def reads(self) -> list[Mapping[str, str]]:
        """Options of reads, of the latest state and of older ones."""
        found: list[Mapping[str, str]] = [{}]
        snapshots = open_table(self.path).snapshots
        for number in snapshots.ids():
            found += [{"scan.snapshot-id": str(number)}]
            found += [{"scan.timestamp-millis": str(snapshots.load(number).time_millis)}]
        return [*found, *({"scan.tag-name": name} for name in snapshots.tag_names())]


def assert_alike(java: Genuine, path: str, options: Mapping[str, str]) -> None:
    """Both read the same, or neither can."""
    try:
        theirs = java_read(java, path, options)
    except RuntimeError:
        with pytest.raises(PaimonError):
            our_engine.read(path, options)
    else:
        assert our_engine.read(path, options) == theirs


@pytest.mark.parametrize("seed", SEEDS)
def test_each_branch_is_the_same_for_both(seed: int, java: Genuine, tmp_path: Path) -> None:
    life = _Life(java, str(tmp_path / "t"), seed)
    with telling(life.log):
        for options in ({}, BRANCH):
            assert our_engine.read(life.path, options) == java_read(java, life.path, options)
            assert our_change(life.path, options) == java_change(java, life.path, options)
        assert our_engine.read(f"{life.path}$branch_b") == our_engine.read(life.path, BRANCH)


@pytest.mark.parametrize("option", ["scan.fallback-branch", "scan.primary-branch"])
@pytest.mark.parametrize("seed", SEEDS)
def test_read_through_the_other_branch(seed: int, option: str, java: Genuine, tmp_path: Path) -> None:
    life = _Life(java, str(tmp_path / "t"), seed)
    java.alter(life.path, ("setOption", option, "b"))
    with telling([*life.log, option, str(life.options)]):
        for options in life.reads():
            life.log.append(str(options))
            assert_alike(java, life.path, options)
        table = open_table(life.path)
        rows = our_engine.read(life.path)
        for p in range(4):
            assert our_engine.read(life.path, where=f"p = {p}") == +Counter(
                {r: n for r, n in rows.items() if r[0] == p}
            )
        for k in range(5):
            assert our_engine.read(life.path, where=f"k = {k}") == +Counter(
                {r: n for r, n in rows.items() if r[1] == k}
            )
        assert table.scan().count() == table.scan(["k"]).count() == rows.total()
        audit = comparable(table.system_table("audit_log").to_arrow())
        assert audit == java_change(java, life.path, {})
        if life.options.get("bucket") != "-1" or not life.keys:
            assert table.system_table("ro").to_arrow().num_rows == java.run(java_branches.read_optimized, life.path, {})
        if life.options.get("deletion-vectors.enabled") != "true" and life.options.get("merge-engine") != "first-row":
            theirs = java.run(java_tables, life.path, ["partitions"])["partitions"]
            assert not isinstance(theirs, str), theirs
            ours = table.system_table("partitions", ["partition", "record_count", "file_count"]).to_arrow()
            wanted = [(row[0], row[1], row[3]) for row in theirs[1]]
            assert sorted(tuple(row.values()) for row in ours.to_pylist()) == sorted(wanted)
        alone = our_engine.read(life.path, {option: ""})
        assert alone == comparable(table.without_fallback.scan().to_arrow())


@pytest.mark.parametrize("options", [{"bucket": "-1"}, {"bucket": "2", "bucket-key": "k"}])
def test_merged_as_java_does(options: dict[str, str], java: Genuine, tmp_path: Path) -> None:
    """In two copies of a table the merge of each puts the same files, which the other reads."""
    mine, javas = str(tmp_path / "mine"), str(tmp_path / "javas")
    our_engine.create(mine, COLUMNS, (), ["p"], options)
    our_engine.write(mine, [([(1, 1, "a")], None)])
    create_tag(open_table(mine), "one", 1)
    create_branch(open_table(mine), "b", tag="one")
    our_engine.write(mine, [([(1, 2, "main")], None)])
    for n in range(3):
        our_engine.write(mine, [([(n, 10 + n, "b")], None)], BRANCH)
    shutil.copytree(mine, javas)
    done = merge_branch(open_table(mine), "b")
    java.run(java_branches.merge_branch, javas, "b", "main")
    assert done.rows == 3
    assert sorted(java.files(mine)) == sorted(java.files(javas))
    for path in (mine, javas):
        assert our_engine.read(path) == java_read(java, path)
    made = [open_table(path).snapshots.latest() for path in (mine, javas)]
    told = [(s.id, s.commit_kind, s.commit_identifier, s.delta_record_count, s.total_record_count) for s in made if s]
    assert told[0] == told[1]
    back = merge_branch(open_table(javas), "main", "b")
    java.run(java_branches.merge_branch, mine, "main", "b")
    assert back.rows == 1
    assert our_engine.read(mine, BRANCH) == our_engine.read(javas, BRANCH) == java_read(java, mine, BRANCH)


def test_an_old_state_as_the_latest(java: Genuine, tmp_path: Path) -> None:
    """Two copies, one taken back by Java, one by us: the same live files and rows, also after Java's expiry."""
    mine, javas = str(tmp_path / "mine"), str(tmp_path / "javas")
    our_engine.create(mine, COLUMNS, ("p", "k"), ["p"], {"bucket": "1"})
    for n in range(3):
        our_engine.write(mine, [([(1, n, "x"), (2, 0, f"y{n}")], None)])
    create_tag(open_table(mine), "two", 2)
    our_engine.compact(mine, full=True)
    shutil.copytree(mine, javas)
    rollback_to_as_latest(open_table(mine), tag="two")
    java.run(java_branches.rollback_as_latest, javas, "two")
    made: list[Any] = [open_table(path).snapshots.latest() for path in (mine, javas)]
    assert made[0].id == made[1].id
    assert sorted(java.files(mine)) == sorted(java.files(javas))
    assert (made[0].delta_record_count, made[0].total_record_count) == (
        made[1].delta_record_count,
        made[1].total_record_count,
    )
    for path in (mine, javas):
        java.expire_snapshots(path, 1)
        assert our_engine.read(path) == java_read(java, path) == our_engine.read(path, {"scan.tag-name": "two"})
