"""Sections and sorted runs against brute force over small key ranges."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.format.binary_row import decode_arity_row, encode_arity_row
from paimon_spark.format.manifest import EMPTY_STATS, DataFileMeta
from paimon_spark.format.types import DataType, Root
from paimon_spark.merge.keys.sections import Section, partition_sections, runs_by_age

TYPES = [DataType(Root.INT, nullable=False)]


def make_file(name: str, first: int, last: int, sequences: tuple[int, int] = (0, 0), level: int = 0) -> DataFileMeta:
    low, high = (encode_arity_row([key], TYPES) for key in (first, last))
    return DataFileMeta(name, 1, 1, low, high, EMPTY_STATS, EMPTY_STATS, *sequences, 0, level)


def key_range(file: DataFileMeta) -> tuple[int, int]:
    return decode_arity_row(file.min_key, TYPES)[0], decode_arity_row(file.max_key, TYPES)[0]


def meet(a: DataFileMeta, b: DataFileMeta) -> bool:
    (a0, a1), (b0, b1) = key_range(a), key_range(b)
    return a0 <= b1 and b0 <= a1


def names(section: Section) -> list[list[str]]:
    return [[file.file_name for file in run.files] for run in section]


@st.composite
def file_lists(draw: st.DrawFn) -> list[DataFileMeta]:
    files = []
    for i in range(draw(st.integers(0, 12))):
        first = draw(st.integers(-20, 20))
        low = draw(st.integers(0, 60))
        file = make_file(f"f{i}", first, first + draw(st.integers(0, 8)), (low, low + draw(st.integers(0, 3))))
        files.append(file)
    return files


def most_files_at_one_key(files: list[DataFileMeta]) -> int:
    return max(sum(a <= key <= b for a, b in map(key_range, files)) for key in range(-20, 30))


@given(file_lists())
def test_sections_are_disjoint_ordered_and_need_the_fewest_runs(files: list[DataFileMeta]) -> None:
    sections = partition_sections(files, TYPES)
    assert sorted(f.file_name for s in sections for r in s for f in r) == sorted(f.file_name for f in files)
    reach = None
    for section in sections:
        members = [file for run in section for file in run]
        first, last = min(key_range(f)[0] for f in members), max(key_range(f)[1] for f in members)
        assert reach is None or reach < first
        reach = last
        assert len(section) == most_files_at_one_key(members)
        for run in section:
            bounds = [bound for file in run for bound in key_range(file)]
            assert bounds == sorted(bounds)
            assert all(not meet(a, b) for a, b in zip(run.files, run.files[1:], strict=False))


@given(file_lists())
def test_no_section_could_be_cut_further(files: list[DataFileMeta]) -> None:
    for section in partition_sections(files, TYPES):
        members = sorted((file for run in section for file in run), key=key_range)
        for i in range(1, len(members)):
            assert max(key_range(f)[1] for f in members[:i]) >= key_range(members[i])[0]


@given(file_lists())
def test_runs_by_age_are_sorted_and_newer_lies_above_older(files: list[DataFileMeta]) -> None:
    for section in partition_sections(files, TYPES):
        members = [file for run in section for file in run]
        aged = runs_by_age(section, TYPES)
        clash = any(
            meet(a, b)
            and a.min_sequence_number <= b.max_sequence_number
            and b.min_sequence_number <= a.max_sequence_number
            for i, a in enumerate(members)
            for b in members[i + 1 :]
        )
        if aged is None:
            assert clash or len(members) > 2 * len(section)
            continue
        assert not clash
        assert len(aged) <= 2 * len(section)
        assert sorted(f.file_name for r in aged for f in r) == sorted(f.file_name for f in members)
        for i, run in enumerate(aged):
            bounds = [bound for file in run for bound in key_range(file)]
            assert bounds == sorted(bounds)
            for newer in aged[i + 1 :]:
                for a in run:
                    for b in newer:
                        assert not meet(a, b) or a.max_sequence_number < b.min_sequence_number


def test_one_level_and_two_upserts_give_three_runs_in_age_order() -> None:
    files = [
        make_file("new", 5, 30, (40, 49)),
        make_file("low-a", 0, 9, (0, 9), level=5),
        make_file("low-b", 10, 40, (3, 12), level=5),
        make_file("mid", 0, 40, (20, 29)),
        make_file("far", 50, 60, (0, 60), level=5),
    ]
    first, second = partition_sections(files, TYPES)
    assert names(second) == [["far"]]
    aged = runs_by_age(first, TYPES)
    assert aged is not None
    assert names(aged) == [["low-a", "low-b"], ["mid"], ["new"]]


def test_a_touching_key_joins_two_files() -> None:
    assert len(partition_sections([make_file("a", 0, 5), make_file("b", 5, 9)], TYPES)) == 1
    assert len(partition_sections([make_file("a", 0, 4), make_file("b", 5, 9)], TYPES)) == 2


def test_overlapping_sequence_numbers_give_no_age() -> None:
    (section,) = partition_sections([make_file("a", 0, 5, (0, 7)), make_file("b", 3, 9, (7, 9))], TYPES)
    assert runs_by_age(section, TYPES) is None


def test_a_long_staircase_is_not_opened_all_at_once() -> None:
    stairs = [make_file(f"f{i}", 10 * i, 10 * i + 12, (10 * i, 10 * i + 9)) for i in range(20)]
    (section,) = partition_sections(stairs, TYPES)
    assert len(section) == 2
    assert runs_by_age(section, TYPES) is None


def test_no_files_no_sections() -> None:
    assert partition_sections([], TYPES) == []
