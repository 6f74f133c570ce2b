"""The index files of the next snapshot (format sections 4.3, 4.4; Java: IndexManifestFileHandler)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from paimon_spark.errors import CommitConflict
from paimon_spark.format.manifest import FileKind, IndexManifestEntry
from paimon_spark.store.metadata.commit_changes import DELETION_VECTORS

HASH = "HASH"


def combine_index_entries(
    previous: Sequence[IndexManifestEntry],
    changes: Sequence[IndexManifestEntry],
    unaware: bool,
    canonical: Callable[[bytes], bytes],
) -> list[IndexManifestEntry]:
    """The complete list of live index files after some changes.

    HASH files, and deletion vectors of tables with buckets, exist once per (partition, bucket). Deletion vectors of
    unaware append tables and all other indexes are identified by their file names. A new HASH file replaces the old one
    of its bucket. New deletion vectors must delete the old file by name: they were made from it, and if another job has
    written newer ones since then, the rows that these delete would come back.

    Args:
        previous: the live index files, all of kind ADD.
        changes: kind ADD or DELETE, in any order.
        unaware: whether the table is an append table without buckets.
        canonical: gives all rows of one partition the same bytes.

    Raises:
        CommitConflict: a deleted index file is no longer live, an added one already is, a bucket has other deletion
            vectors now, or two files hold the deletion vector of one data file.
    """

    def place(entry: IndexManifestEntry) -> tuple[bytes, int, str] | str:
        if entry.index_type == HASH or (entry.index_type == DELETION_VECTORS and not unaware):
            return canonical(entry.partition), entry.bucket, entry.index_type
        return entry.file_name

    live = {place(entry): entry for entry in previous}
    for entry in {e.file_name: e for e in changes if e.kind == FileKind.DELETE}.values():
        known = live.pop(place(entry), None)
        if known is None or known.file_name != entry.file_name:
            raise CommitConflict(
                f"the index file {entry.file_name}, which this commit replaces, was removed by another commit; "
                "run the job again on the new state of the table"
            )
    for entry in (e for e in changes if e.kind == FileKind.ADD):
        known = live.get(place(entry))
        if known is not None and entry.index_type != HASH:
            raise CommitConflict(_added_before(entry, known))
        live[place(entry)] = entry
    combined = list(live.values())
    _check_one_vector_a_file(combined)
    return combined


def _added_before(entry: IndexManifestEntry, known: IndexManifestEntry) -> str:
    if entry.file_name == known.file_name:
        return f"the index file {entry.file_name} was added by another commit already"
    return (
        f"the deletion vectors {entry.file_name} were written without those of {known.file_name}, which another commit "
        f"has added to bucket {entry.bucket}; run the job again on the new state of the table"
    )


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
