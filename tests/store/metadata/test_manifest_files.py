"""The live index files after a commit (Java: IndexManifestFileHandler)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.tables.files_by_hand import STRING, partition

from paimon_spark.errors import CommitConflict
from paimon_spark.format.manifest import DeletionRange, FileKind, IndexManifestEntry
from paimon_spark.store.metadata.manifest_files import combine_index_entries
from paimon_spark.store.metadata.partition_stats import same_partition


def index(
    name: str, kind: str = "HASH", part: str = "x", bucket: int = 0, files: tuple[str, ...] = ()
) -> IndexManifestEntry:
    ranges = tuple(DeletionRange(f, 1, 10) for f in files) if kind == "DELETION_VECTORS" else None
    return IndexManifestEntry(FileKind.ADD, partition(part), bucket, kind, name, 100, 1, ranges)


def delete(entry: IndexManifestEntry) -> IndexManifestEntry:
    return replace(entry, kind=FileKind.DELETE)


def combine(previous: list[IndexManifestEntry], changes: list[IndexManifestEntry], unaware: bool = False) -> set[str]:
    combined = combine_index_entries(previous, changes, unaware, same_partition((STRING,)))
    assert all(entry.kind == FileKind.ADD for entry in combined)
    assert len({e.file_name for e in combined}) == len(combined)
    return {e.file_name for e in combined}


@pytest.mark.parametrize("kind", ["HASH", "DELETION_VECTORS"])
def test_one_file_to_a_bucket(kind: str) -> None:
    previous = [index("a", kind), index("b", kind, bucket=1), index("c", kind, part="y")]
    assert combine(previous, [index("new", kind), delete(previous[0])]) == {"new", "b", "c"}
    assert combine(previous, [delete(previous[1])]) == {"a", "c"}


def test_new_hashes_replace_the_old_ones_unasked() -> None:
    assert combine([index("a"), index("b", bucket=1)], [index("new")]) == {"new", "b"}


@pytest.mark.parametrize("kind", ["HASH", "DELETION_VECTORS"])
def test_a_bucket_whose_index_file_another_commit_has_replaced(kind: str) -> None:
    with pytest.raises(CommitConflict, match="removed by another commit"):
        combine([index("other", kind)], [delete(index("a", kind)), index("new", kind)])


def test_new_vectors_must_know_the_old_ones_of_their_bucket() -> None:
    old = index("a", "DELETION_VECTORS", files=("f1",))
    with pytest.raises(CommitConflict, match="without those of a"):
        combine([old], [index("new", "DELETION_VECTORS", files=("f2",))])


def test_an_index_file_deleted_for_two_reasons_is_deleted_once() -> None:
    old = index("a", "DELETION_VECTORS", files=("f1",))
    assert combine([old], [delete(old), index("new", "DELETION_VECTORS", files=("f1",)), delete(old)]) == {"new"}


def test_hash_and_deletion_vectors_of_a_bucket_are_apart() -> None:
    assert combine([index("a")], [index("v", "DELETION_VECTORS")]) == {"a", "v"}


def test_unaware_deletion_vectors_go_by_name() -> None:
    old = index("a", "DELETION_VECTORS", files=("f1", "f2"))
    other = index("b", "DELETION_VECTORS", files=("f3",))
    new = index("new", "DELETION_VECTORS", files=("f1", "f2", "f4"))
    assert combine([old, other], [new, delete(old)], unaware=True) == {"new", "b"}
    with pytest.raises(CommitConflict, match="removed by another commit"):
        combine([other], [new, delete(old)], unaware=True)
    with pytest.raises(CommitConflict, match="two index files hold a deletion vector of f3"):
        combine([other], [index("n", "DELETION_VECTORS", files=("f3",))], unaware=True)
    with pytest.raises(CommitConflict, match="already"):
        combine([other], [other], unaware=True)


def test_other_indexes_go_by_name() -> None:
    assert combine([index("a", "lumina"), index("b", "lumina")], [index("c", "lumina")]) == {"a", "b", "c"}
    assert combine([index("a", "lumina")], [delete(index("a", "lumina"))]) == set()
