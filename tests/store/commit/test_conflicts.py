"""Which changes fit the live files (Java: ConflictDetection)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.tables.files_by_hand import BIGINT, STRING, entry, file, partition

from paimon_spark.errors import CommitConflict
from paimon_spark.format.manifest import EMPTY_ROW, FileKind, ManifestEntry
from paimon_spark.format.snapshot import CommitKind, Snapshot
from paimon_spark.store.commit.conflicts import ConflictRules, check_conflicts, check_total_buckets
from paimon_spark.store.metadata.live_files import AddedTwice, fold_entries, record_count
from paimon_spark.store.metadata.partition_stats import same_partition

ADD, DELETE = FileKind.ADD, FileKind.DELETE
RULES = ConflictRules("/t", (BIGINT,), same_partition(()), lambda row: "the table")
SNAPSHOT = Snapshot(4, 0, "b", "d", "other", 1, "APPEND", 0, 0, 0)


def check(live: list[ManifestEntry], delta: list[ManifestEntry], kind: str = CommitKind.COMPACT) -> None:
    check_conflicts(RULES, SNAPSHOT, live, delta, kind)


def test_replacing_live_files_is_fine() -> None:
    old = file("a", keys=(1, 5))
    check([entry(ADD, old)], [entry(DELETE, old), entry(ADD, file("b", level=5, keys=(1, 5)))])


def test_an_upgrade_without_rewriting_is_fine() -> None:
    old = file("a", keys=(1, 5))
    check([entry(ADD, old)], [entry(DELETE, old), entry(ADD, old._replace(level=5))])


def test_deleting_a_file_that_is_gone() -> None:
    with pytest.raises(CommitConflict, match=r"snapshot 4 of user other: 1 of the files .* a \(the table, bucket 0\)"):
        check([entry(ADD, file("b", keys=(1, 5)))], [entry(DELETE, file("a", keys=(1, 5)))])


@pytest.mark.parametrize("change", [{"part": partition("x")}, {"bucket": 1}])
def test_a_file_of_another_bucket_or_partition_is_another_file(change: dict[str, object]) -> None:
    a = file("a", keys=(1, 5))
    rules = replace(RULES, canonical=same_partition((STRING,)))
    live = entry(ADD, a, part=partition("y"))
    with pytest.raises(CommitConflict, match="no longer live"):
        check_conflicts(rules, SNAPSHOT, [live], [live._replace(kind=DELETE, **_named(change))], CommitKind.COMPACT)


def _named(change: dict[str, object]) -> dict[str, object]:
    return {"partition" if name == "part" else name: value for name, value in change.items()}


def test_a_file_of_another_level_is_another_file() -> None:
    a = file("a", keys=(1, 5))
    with pytest.raises(CommitConflict, match="no longer live"):
        check([entry(ADD, a)], [entry(DELETE, a._replace(level=3))])


def test_adding_a_file_that_is_there() -> None:
    a = entry(ADD, file("a", keys=(1, 5)))
    with pytest.raises(CommitConflict, match="there already"):
        check([a], [a])
    with pytest.raises(CommitConflict, match="there already"):
        check([], [a, a])


def test_deleting_and_adding_one_file_in_one_commit() -> None:
    a = entry(ADD, file("a", keys=(1, 5)))
    with pytest.raises(CommitConflict):
        check([a], [a._replace(kind=DELETE), a])


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [((1, 5), (6, 9), False), ((1, 5), (5, 9), True), ((1, 9), (3, 4), True), ((-3, -1), (0, 0), False)],
)
def test_key_ranges_of_a_level_must_not_meet(one: tuple[int, int], other: tuple[int, int], overlap: bool) -> None:
    live = [entry(ADD, file("a", level=5, keys=one))]
    delta = [entry(ADD, file("b", level=5, keys=other))]
    if overlap:
        with pytest.raises(CommitConflict, match="key ranges of"):
            check(live, delta)
    else:
        check(live, delta)


def test_key_ranges_of_other_levels_buckets_and_of_level_zero_may_meet() -> None:
    live = [
        entry(ADD, file("a", level=5, keys=(1, 9))),
        entry(ADD, file("z", level=0, keys=(1, 9))),
    ]
    check(
        live,
        [
            entry(ADD, file("b", level=4, keys=(1, 9))),
            entry(ADD, file("c", level=5, keys=(1, 9)), bucket=1),
            entry(ADD, file("d", level=0, keys=(1, 9))),
        ],
    )


def test_append_tables_have_no_key_ranges() -> None:
    rules = replace(RULES, key_types=())
    check_conflicts(rules, SNAPSHOT, [entry(ADD, file("a", level=5))], [entry(ADD, file("b", level=5))], "COMPACT")


def test_the_number_of_buckets_changes_only_by_overwrite() -> None:
    live = [entry(ADD, file("a", keys=(1, 5)), total=2)]
    delta = [entry(ADD, file("b", keys=(1, 5)), total=4)]
    with pytest.raises(CommitConflict, match="has 2 buckets, and this job wrote for 4"):
        check(live, delta, CommitKind.APPEND)
    check(live, delta, CommitKind.OVERWRITE)
    check_total_buckets(RULES, None, [*live, entry(ADD, file("c"), total=-1)])


def test_partitions_may_have_different_numbers_of_buckets() -> None:
    rules = replace(RULES, canonical=same_partition((STRING,)))
    entries = [entry(ADD, file(p), part=partition(p), total=t) for p, t in (("x", 2), ("y", 4))]
    check_total_buckets(rules, None, entries)


def test_fold() -> None:
    a, b = entry(ADD, file("a")), entry(ADD, file("b"))
    gone = entry(DELETE, file("elsewhere"))
    assert fold_entries([a, b, a._replace(kind=DELETE), gone]) == [b, gone]
    assert fold_entries([]) == []
    with pytest.raises(AddedTwice):
        fold_entries([a, a])
    assert record_count([a, b, a._replace(kind=DELETE)]) == 10
    assert a.partition == EMPTY_ROW
