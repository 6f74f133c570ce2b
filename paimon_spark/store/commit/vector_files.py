"""Deletion vectors of a bucket after some of its rows or files have gone (format sections 4.3, 8.1).

Java: BucketedDvMaintainer (tables with buckets: one index file to a bucket, rewritten as a whole),
AppendDeleteFileMaintainer (append tables without buckets: several index files to a partition, each data file in one).
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from paimon_spark.errors import CorruptFile
from paimon_spark.file_io import FileIO
from paimon_spark.format.deletion_vector import (
    EncodedVector,
    decode_vector,
    deleted_positions,
    encode_vector,
    join_vectors,
    range_to_read,
)
from paimon_spark.format.manifest import FileKind, IndexManifestEntry
from paimon_spark.format.paths import index_file_path, index_name
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.metadata.file_paths import BucketPlaces, bucket_directory
from paimon_spark.store.metadata.live_files import canonical_row
from paimon_spark.store.metadata.manifest_files import read_index_manifest
from paimon_spark.store.metadata.messages import DELETION_VECTORS
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.storage.files import discard

VectorFiles: TypeAlias = Mapping[tuple[bytes, int], Sequence[IndexManifestEntry]]
"""(canonical partition, bucket) -> its live index files of deletion vectors."""


@dataclass(frozen=True)
class IndexChanges:
    """What happens to index files.

    Attributes:
        entries: of kind ADD and DELETE, for a CommitMessage.
        created: the paths of the new files, durable; whoever does not commit them deletes them.
    """

    entries: tuple[IndexManifestEntry, ...] = ()
    created: tuple[str, ...] = ()


def find_vector_files(table: Table, snapshot: Snapshot | None) -> VectorFiles:
    """The index files of deletion vectors that live in a snapshot; read once for all buckets of a job.

    Raises:
        CorruptFile: the index manifest is missing or damaged.
    """
    types = table.schema.partition_types
    found: dict[tuple[bytes, int], list[IndexManifestEntry]] = {}
    name = None if snapshot is None else snapshot.index_manifest
    for entry in read_index_manifest(table.file_io, table.location, name):
        if entry.index_type == DELETION_VECTORS:
            found.setdefault((canonical_row(entry.partition, types), entry.bucket), []).append(entry)
    return found


def vector_changes(
    table: Table,
    live: VectorFiles,
    partition: bytes,
    bucket: int,
    removed_files: Collection[str],
    superseded: Mapping[str, npt.NDArray[np.int64]],
) -> IndexChanges:
    """Writes the deletion vectors of one bucket as they are after a compaction or a DELETE.

    The entries delete the index files they replace, also those of tables with buckets, where Java lets the new file
    replace whatever is there: so a commit notices when another job has written vectors of the bucket concurrently. A
    bucket without any vector left has no index file (Java leaves one without entries).

    Args:
        table: its options say how vectors are encoded and where they lie.
        live: the index files of the snapshot that the job was planned on.
        partition: arity-prefixed row.
        bucket: 0 for append tables without buckets.
        removed_files: names of data files that are no longer live. A file that only moves to another level stays.
        superseded: data file name -> row numbers that are deleted now, in any order; those deleted before may be among
            them. Removed files are passed over.

    Returns:
        No entries when no vector changes.

    Raises:
        CorruptFile: an index file is missing or damaged.
        DataError: a row number does not fit the kind of vector.
        StorageError: the storage failed; what was written is deleted.
    """
    types = table.schema.partition_types
    old = live.get((canonical_row(partition, types), bucket), ())
    unaware = table.bucket_mode == BucketMode.BUCKET_UNAWARE
    directory = bucket_directory(table, partition, bucket)
    added = {name: rows for name, rows in superseded.items() if name not in removed_files and len(rows)}
    changed = [e for e in old if not _names(e).isdisjoint(added.keys() | set(removed_files))]
    touched = changed if unaware or not (changed or added) else old  # that of a bucket is rewritten as a whole
    before = {v.data_file: v for entry in touched for v in _read_vectors(table, directory, entry)}
    after = {name: vector for name, vector in before.items() if name not in removed_files}
    for name, rows in added.items():
        after[name] = _merge_vectors(table, name, before.get(name), rows)
    if after == before:
        return IndexChanges()
    target = table.settings.files.vector_index_target_size if unaware else None
    empty = IndexManifestEntry(FileKind.ADD, partition, bucket, DELETION_VECTORS, "", 0, 0)
    written = _write(table, BucketPlaces(table, partition, bucket), empty, rolled(list(after.values()), target))
    gone = tuple(replace(entry, kind=FileKind.DELETE) for entry in touched)
    paths = tuple(index_file_path(table.location, directory, entry, table.settings) for entry in written)
    return IndexChanges((*gone, *written), paths)


def rolled(vectors: Sequence[EncodedVector], target: int | None) -> Iterator[Sequence[EncodedVector]]:
    """Vectors in groups for one index file each, which ends with the vector that makes it larger than the target.

    Java: DeletionVectorIndexFileWriter. None: all in one file.
    """
    start, size = 0, 1
    for number, vector in enumerate(vectors):
        size += len(vector.entry)
        if target is not None and size > target:
            yield vectors[start : number + 1]
            start, size = number + 1, 1
    if start < len(vectors):
        yield vectors[start:]


def _names(entry: IndexManifestEntry) -> set[str]:
    return {r.data_file for r in entry.deletion_ranges or ()}


def _read_vectors(table: Table, directory: str, entry: IndexManifestEntry) -> Iterator[EncodedVector]:
    path = index_file_path(table.location, directory, entry, table.settings)
    data = _read(table.file_io, path)
    for r in entry.deletion_ranges or ():
        start, end = range_to_read(r.offset, r.length)
        whole = data[max(start, 0) : end]
        cardinality = len(decode_vector(whole, f"of {r.data_file} in {path}", r.length))
        yield EncodedVector(r.data_file, whole[: 8 + int.from_bytes(whole[:4], "big")], cardinality)


def _read(file_io: FileIO, path: str) -> bytes:
    try:
        return file_io.read_bytes(path)
    except FileNotFoundError:
        raise CorruptFile(
            f"reading the deletion vectors {path}: the file does not exist. If the snapshot that names it has just "
            "expired, run the job again; else the table is damaged and the file must be restored"
        ) from None


def _merge_vectors(table: Table, name: str, old: EncodedVector | None, rows: npt.NDArray[np.int64]) -> EncodedVector:
    """The old vector, as it is, when it deletes all the rows already."""
    bits = 64 if table.settings.deletion_vectors_bitmap64 else 32
    positions = np.unique(rows)
    if old is not None:
        positions = np.union1d(positions, deleted_positions(decode_vector(old.entry, f"of {name}")))
        if len(positions) == old.cardinality:
            return old
    return EncodedVector(name, encode_vector(positions, bits), len(positions))


def _write(
    table: Table, places: BucketPlaces, like: IndexManifestEntry, groups: Iterator[Sequence[EncodedVector]]
) -> tuple[IndexManifestEntry, ...]:
    """One index file for each group; all or none."""
    written: list[IndexManifestEntry] = []
    prefix = str(uuid.uuid4())
    with ExitStack() as undo:
        for number, group in enumerate(groups):
            data, ranges = join_vectors(group)
            name = index_name(prefix, number)
            path, external = places.index_file(name)
            entry = replace(
                like,
                file_name=name,
                file_size=len(data),
                row_count=len(ranges),
                deletion_ranges=ranges,
                external_path=external,
            )
            undo.callback(discard, table.file_io, [path])  # before the write: one that fails half-way leaves a file too
            table.file_io.write_bytes(path, data)
            written.append(entry)
        undo.pop_all()
    return tuple(written)
