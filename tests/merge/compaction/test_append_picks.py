"""Which files of append tables are compacted together: text cases, and what must always hold."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tables.pick_cases import PickCase, PickCheck, a_file, load_pick_cases

from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.options.option import MB
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.merge.compaction.append_picks import (
    AppendRules,
    FileVector,
    append_rules,
    in_written_order,
    is_candidate,
    pick_all_neighbours,
    pick_any_order,
    pick_neighbours,
)


def unordered_files(check: PickCheck) -> list[DataFileMeta]:
    files: list[DataFileMeta] = []
    for word in check.words("files"):
        many, _, size = word.rpartition("*")
        name, _, size = size.rpartition("=")
        names = [name] if name else [f"#{i}" for i in range(len(files), len(files) + int(many))]
        files += [a_file(n, int(size), rows=100, created=len(files) + i) for i, n in enumerate(names)]
    return files


def vectors_of(check: PickCheck) -> dict[str, FileVector]:
    parts = (word.split(":") for word in check.words("vectors"))
    return {name: FileVector(index, None if count == "?" else int(count)) for name, index, count in parts}


def lines_of(groups: tuple[tuple[DataFileMeta, ...], ...]) -> list[str]:
    shown = []
    for group in groups:
        named = not any(file.file_name.startswith("#") for file in group)
        shown.append(" ".join(file.file_name for file in group) if named else f"{len(group)} files")
    lines = []
    for line, repeats in itertools.groupby(shown):
        times = len(list(repeats))
        lines.append(line if times == 1 else f"{line}, {times} times")
    return lines or ["nothing"]


@pytest.mark.parametrize("case", load_pick_cases("append_any_order.txt"), ids=lambda case: case.title)
def test_any_order(case: PickCase) -> None:
    for check in case.checks:
        rules, few = append_rules(check.settings), check.last("few") == "yes"
        files = unordered_files(check)
        assert lines_of(pick_any_order(reversed(files), rules, vectors_of(check), few)) == check.expected, check.inputs


@pytest.mark.parametrize("case", load_pick_cases("append_buckets.txt"), ids=lambda case: case.title)
def test_in_buckets(case: PickCase) -> None:
    for check in case.checks:
        rules, files = append_rules(check.settings), []
        for word in check.words("files"):
            first, last = map(int, word.split("-"))
            files.append(a_file(word, last - first + 1, sequences=(first, last)))
        if check.last("pick") == "full":
            has_vectors = check.settings.deletion_vectors_enabled
            group = pick_all_neighbours(files, rules, check.words("vectors"), has_vectors)
        else:
            group = pick_neighbours(files, rules)
        assert lines_of(() if group is None else (group,)) == check.expected, check.inputs


def test_few_files_and_vectors_count_only_if_asked_for() -> None:
    rules = append_rules(TableSettings())
    files = [a_file("a"), a_file("b", sequences=(1, 1))]
    assert pick_any_order(files, rules) == ()
    assert pick_all_neighbours(files, rules) is None


def test_defaults() -> None:
    rules = append_rules(TableSettings())
    assert rules == AppendRules(256 * MB, int(256 * MB * 0.7), 4 * MB, 5, 0.2, False)


# ---------------------------------------------------------------------------------------------------------- properties


@st.composite
def partitions(draw: st.DrawFn) -> tuple[list[DataFileMeta], AppendRules, dict[str, FileVector]]:
    sizes = draw(st.lists(st.integers(0, 120), max_size=25))
    files = [a_file(f"f{i}", size, sequences=(i, i), rows=10, created=0) for i, size in enumerate(sizes)]
    names = st.sampled_from([file.file_name for file in files]) if files else st.nothing()
    vector = st.builds(FileVector, st.sampled_from(["i", "j", "k"]), st.sampled_from([None, 0, 1, 2, 3, 10]))
    vectors = draw(st.dictionaries(names, vector, max_size=6)) if files else {}
    rules = AppendRules(100, 70, draw(st.integers(0, 20)), draw(st.integers(1, 6)), 0.2, False)
    return files, rules, vectors


@given(partitions(), st.booleans(), st.randoms(use_true_random=False))
def test_groups_hold_candidates_once(
    case: tuple[list[DataFileMeta], AppendRules, dict[str, FileVector]], few: bool, chance: st.DataObject
) -> None:
    files, rules, vectors = case
    shuffled = list(files)
    chance.shuffle(shuffled)
    groups = pick_any_order(shuffled, rules, vectors, few)
    assert groups == pick_any_order(files, rules, vectors, few)
    names = [file.file_name for group in groups for file in group]
    assert len(set(names)) == len(names)
    wanted = {file.file_name for file in files if is_candidate(file, rules, vectors.get(file.file_name))}
    assert set(names) <= wanted
    assert wanted & vectors.keys() <= set(names)
    waiting = wanted - set(names)
    assert len(waiting) < max(2, rules.min_files)
    for index in {vector.index_file for vector in vectors.values()}:
        holders = [
            g for g in groups if any(f.file_name in vectors and vectors[f.file_name].index_file == index for f in g)
        ]
        assert len(holders) <= 1
    for group in groups:
        assert list(group) == sorted(group, key=lambda f: f.min_sequence_number)
        assert len(group) > 1 or group[0].file_name in vectors


@given(partitions(), st.booleans())
def test_neighbours_keep_the_order(
    case: tuple[list[DataFileMeta], AppendRules, dict[str, FileVector]], has_vectors: bool
) -> None:
    files, rules, vectors = case
    for group in (pick_neighbours(files, rules), pick_all_neighbours(files, rules, vectors, has_vectors)):
        if group is not None:
            start = files.index(group[0])
            assert list(group) == files[start : start + len(group)]


@given(partitions())
def test_no_window_before_the_picked_one_would_do(
    case: tuple[list[DataFileMeta], AppendRules, dict[str, FileVector]],
) -> None:
    """Whatever is picked, is the first run of neighbours whose first files, one fewer, stay below two targets."""
    files, rules, _ = case
    sizes = [file.file_size for file in files]
    count = rules.min_files
    group = pick_neighbours(files, rules)
    if group is not None:
        assert len(group) == count
        assert sum(file.file_size for file in group[:-1]) < 2 * rules.target_size
    elif len(files) >= count > 1:
        assert all(sum(sizes[i : i + count - 1]) >= 2 * rules.target_size for i in range(len(files) - count + 1))


def test_equal_sequence_numbers_stand_by_time_and_name() -> None:
    files = [a_file("b", created=1), a_file("a", created=1), a_file("c", created=None), a_file("d", created=0)]
    assert [file.file_name for file in in_written_order(files)] == ["c", "d", "a", "b"]
