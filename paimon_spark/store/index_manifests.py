"""The index files of the next snapshot (format sections 4.3, 4.4; Java: IndexManifestFileHandler)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from paimon_spark.errors import CommitConflict
from paimon_spark.spec.manifest import FileKind, IndexManifestEntry
from paimon_spark.store.changes import DELETION_VECTORS

HASH = "HASH"


def combine_index_entries(
    previous: Sequence[IndexManifestEntry],
    changes: Iterable[IndexManifestEntry],
    unaware: bool,
    canonical: Callable[[bytes], bytes],
) -> list[IndexManifestEntry]:
    """The complete list of live index files after some changes.

    HASH files, and deletion vectors of tables with buckets, are one to a (partition, bucket): a new one replaces the
    old. Deletion vectors of unaware append tables and all other indexes are known by their file names.

    Args:
        previous: the live index files, all of kind ADD.
        changes: kind ADD or DELETE, in any order.
        unaware: whether the table is an append table without buckets.
        canonical: makes two rows of one partition the same bytes.

    Raises:
        CommitConflict: a deleted index file is gone already, or an added one is there, or two files hold the
            deletion vector of one data file.
    """
    by_bucket: dict[tuple[bytes, int, str], IndexManifestEntry] = {}
    by_name: dict[str, IndexManifestEntry] = {}

    def has_bucket(entry: IndexManifestEntry) -> bool:
        return entry.index_type == HASH or (entry.index_type == DELETION_VECTORS and not unaware)

    def bucket(entry: IndexManifestEntry) -> tuple[bytes, int, str]:
        return canonical(entry.partition), entry.bucket, entry.index_type

    for entry in previous:
        if has_bucket(entry):
            by_bucket[bucket(entry)] = entry
        else:
            by_name[entry.file_name] = entry
    for entry in sorted(changes, key=lambda e: e.kind == FileKind.ADD):  # deletions first
        if has_bucket(entry):
            if entry.kind == FileKind.ADD:
                by_bucket[bucket(entry)] = entry
            else:
                by_bucket.pop(bucket(entry), None)
        elif entry.kind == FileKind.ADD:
            if entry.file_name in by_name:
                raise CommitConflict(f"the index file {entry.file_name} was added by another commit already")
            by_name[entry.file_name] = entry
        elif by_name.pop(entry.file_name, None) is None:
            raise CommitConflict(
                f"the index file {entry.file_name}, which this commit replaces, was removed by another commit; "
                "run the job again on the new state of the table"
            )
    combined = [*by_bucket.values(), *by_name.values()]
    _check_one_vector_a_file(combined)
    return combined


def _check_one_vector_a_file(entries: Iterable[IndexManifestEntry]) -> None:
    holders: dict[str, str] = {}
    for entry in entries:
        for deletion in entry.deletion_ranges or () if entry.index_type == DELETION_VECTORS else ():
            other = holders.setdefault(deletion.data_file, entry.file_name)
            if other != entry.file_name:
                raise CommitConflict(
                    f"two index files hold a deletion vector of {deletion.data_file}: {other} and {entry.file_name}; "
                    "another commit deleted rows of the same file: run the job again on the new state of the table"
                )
