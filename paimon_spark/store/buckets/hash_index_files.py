"""HASH index files on storage: the key hashes of each dynamic bucket (format 8.2; Java: HashIndexFile)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

import numpy as np
import numpy.typing as npt

from paimon_spark.errors import CorruptFile
from paimon_spark.format.bucket import decode_hashes, encode_hashes
from paimon_spark.format.manifest import FileKind, IndexManifestEntry
from paimon_spark.format.paths import index_file_path, index_name
from paimon_spark.store.buckets.bucket_assigner import Hashes, KnownHashes
from paimon_spark.store.metadata.file_paths import BucketPlaces, bucket_directory
from paimon_spark.store.metadata.live_files import canonical_row
from paimon_spark.store.metadata.manifest_files import HASH, read_index_manifest
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.files import discard

HashFiles = Mapping[bytes, Mapping[int, IndexManifestEntry]]
"""canonical partition -> bucket -> its HASH index file."""


def read_hash_files(table: Table, index_manifest: str | None) -> HashFiles:
    """The HASH index files that an index manifest names.

    Raises:
        CorruptFile: the manifest is missing or damaged.
    """
    types = table.schema.partition_types
    found: dict[bytes, dict[int, IndexManifestEntry]] = {}
    for entry in read_index_manifest(table.file_io, table.location, index_manifest):
        if entry.index_type == HASH:
            found.setdefault(canonical_row(entry.partition, types), {})[entry.bucket] = entry
    return found


def read_hashes(table: Table, entry: IndexManifestEntry) -> Hashes:
    """The key hashes of a bucket, in any order.

    Raises:
        CorruptFile: the file is missing, or its number of hashes differs from its entry.
    """
    path = hash_file_path(table, entry)
    try:
        data = table.file_io.read_bytes(path)
    except FileNotFoundError:
        raise CorruptFile(
            f"cannot read the HASH index file {path} of bucket {entry.bucket}: it does not exist. If the snapshot that "
            "the job was planned on has expired meanwhile, run the job again; else the file must be restored"
        ) from None
    hashes = decode_hashes(data, path)
    if len(hashes) != entry.row_count:
        raise CorruptFile(f"the HASH index file {path} holds {len(hashes)} hashes, its entry says {entry.row_count}")
    return hashes


def read_known(
    table: Table,
    entries: Sequence[IndexManifestEntry],
    keep: Callable[[Hashes], npt.NDArray[np.bool_]] | None = None,
) -> KnownHashes:
    """The mapping from hash to bucket, of some buckets of one partition.

    Args:
        table: the table.
        entries: the HASH index files of the buckets.
        keep: returns which hashes of an array to keep; None: all.

    Raises:
        CorruptFile: a file is missing, or its number of hashes differs from its entry.
    """
    hashes, buckets = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for entry in entries:
        found = read_hashes(table, entry)
        if keep is not None:
            found = found[keep(found)]
        hashes.append(found)
        buckets.append(np.full(len(found), entry.bucket, np.int32))
    return KnownHashes(np.concatenate(hashes), np.concatenate(buckets))


def create_hash_file(table: Table, partition: bytes, bucket: int, hashes: Hashes) -> IndexManifestEntry:
    """Writes the hashes of a bucket to a new file; its entry is of kind ADD.

    Args:
        partition: arity-prefixed row.
        hashes: all hashes of the bucket, each once.
    """
    data = encode_hashes(hashes)
    name = index_name(str(uuid.uuid4()), 0)
    path, external = BucketPlaces(table, partition, bucket).index_file(name)
    entry = IndexManifestEntry(
        FileKind.ADD, partition, bucket, HASH, name, len(data), len(hashes), external_path=external
    )
    with ExitStack() as undo:
        undo.callback(delete_hash_files, table, [entry])  # a failed write may leave a file too
        table.file_io.write_bytes(path, data)
        undo.pop_all()
    return entry


def hash_file_path(table: Table, entry: IndexManifestEntry) -> str:
    """The path of a HASH index file."""
    directory = ""
    if table.settings.files.index_in_data_dir:
        directory = bucket_directory(table, entry.partition, entry.bucket)
    return index_file_path(table.location, directory, entry, table.settings)


def delete_hash_files(table: Table, entries: Sequence[IndexManifestEntry]) -> None:
    """Deletes files that no snapshot names; one that cannot be deleted is logged."""
    discard(table.file_io, (hash_file_path(table, entry) for entry in entries))
