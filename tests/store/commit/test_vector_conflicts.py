"""Data files and deletion vectors change together (Java: ConflictDetection, SimpleFileEntryWithDV)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.tables.files_by_hand import entry, file

from paimon_spark.errors import CommitConflict
from paimon_spark.format.manifest import EMPTY_ROW, DeletionRange, FileKind, IndexManifestEntry, ManifestEntry
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.commit.conflicts import ConflictRules, check_vectors
from paimon_spark.store.metadata.partition_stats import same_partition

ADD, DELETE = FileKind.ADD, FileKind.DELETE
RULES = ConflictRules("/t", (), same_partition(()), lambda row: "the table")
SNAPSHOT = Snapshot(4, 0, "b", "d", "other", 1, "APPEND", 0, 0, 0)


def add(*names: str, level: int = 0) -> list[ManifestEntry]:
    return [entry(ADD, file(name, level=level)) for name in names]


def gone(*names: str) -> list[ManifestEntry]:
    return [entry(DELETE, file(name)) for name in names]


def vectors(name: str, *files: str, kind: FileKind = ADD, index_type: str = "DELETION_VECTORS") -> IndexManifestEntry:
    ranges = tuple(DeletionRange(f, 1, 10) for f in files)
    return IndexManifestEntry(kind, EMPTY_ROW, 0, index_type, name, 100, len(files), ranges)


def check(
    live: list[ManifestEntry],
    delta: list[ManifestEntry],
    index: list[IndexManifestEntry],
    index_delta: list[IndexManifestEntry],
) -> None:
    check_vectors(RULES, SNAPSHOT, live, delta, index, index_delta)


V = vectors("v", "a", "b")
NOT_V = replace(V, kind=DELETE)


def test_a_first_vector_of_a_live_file() -> None:
    check(add("a"), [], [], [vectors("v", "a")])


def test_a_vector_that_grows() -> None:
    check(add("a", "b"), [], [V], [NOT_V, vectors("w", "a", "b")])


def test_a_file_goes_with_its_vector() -> None:
    check(add("a", "b"), [*gone("a"), *add("c")], [V], [NOT_V, vectors("w", "b")])


def test_a_file_without_a_vector_goes_alone() -> None:
    check(add("a", "b", "c"), gone("c"), [V], [])


def test_a_file_goes_while_another_job_has_deleted_rows_of_it() -> None:
    with pytest.raises(CommitConflict, match=r"snapshot 4 of user other: rows of 1 of the files .* a; run"):
        check(add("a", "b"), [*gone("a"), *add("c")], [V], [])


def test_only_deletion_vectors_count() -> None:
    check(add("a"), gone("a"), [vectors("h", "a", index_type="HASH")], [])


def test_a_file_that_changes_its_level_keeps_its_vector() -> None:
    check(add("a", "b"), [*gone("a"), *add("a", level=5)], [V], [])


def test_a_vector_for_a_file_that_another_job_has_replaced() -> None:
    with pytest.raises(CommitConflict, match="deletes rows of 1 files that are no longer live: a"):
        check(add("b"), [], [], [vectors("v", "a", "b")])


def test_a_vector_for_a_file_that_goes_in_the_same_commit() -> None:
    with pytest.raises(CommitConflict, match="no longer live: a"):
        check(add("a", "b"), gone("a"), [V], [NOT_V, vectors("w", "a", "b")])


def test_a_vector_for_a_file_that_comes_in_the_same_commit() -> None:
    check([], add("a"), [], [vectors("v", "a")])


def test_a_vector_that_was_dangling_before_may_be_carried_on() -> None:
    check(add("b"), [], [V], [NOT_V, vectors("w", "a", "b")])
