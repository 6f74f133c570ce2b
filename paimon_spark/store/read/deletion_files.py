"""Deletion vectors of a snapshot: where they lie, and the row numbers they delete (format section 8.1)."""

from __future__ import annotations

import os
from typing import TypeAlias

import numpy as np

from paimon_spark.errors import CorruptFile, MissingFile
from paimon_spark.file_io import FileIO
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.deletion_vector import decode_vector, deleted_positions, range_to_read
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.paths import bucket_path, index_file_path, partition_path
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.metadata.live_files import canonical_row
from paimon_spark.store.metadata.manifest_files import read_index_manifest
from paimon_spark.store.metadata.messages import DELETION_VECTORS
from paimon_spark.store.read.splits import DeletionFile

DeletionFiles: TypeAlias = dict[tuple[bytes, int], dict[str, DeletionFile]]
"""(canonical partition, bucket) -> data file name -> its deletion vector."""


def partition_directory(schema: TableSchema, settings: TableSettings, partition: bytes) -> str:
    """The directories of a partition under the table, with a slash at the end; empty without partition columns."""
    fields = schema.partition_fields
    values = decode_arity_row(partition, [field.type for field in fields])
    return partition_path(values, fields, settings.partitions.default_name, settings.partitions.legacy_name)


def find_deletion_files(
    file_io: FileIO, location: str, schema: TableSchema, settings: TableSettings, snapshot: Snapshot
) -> DeletionFiles:
    """The deletion vectors of all data files of a snapshot.

    Raises:
        CorruptFile: the index manifest is missing or damaged.
    """
    types = schema.partition_types
    found: DeletionFiles = {}
    for entry in read_index_manifest(file_io, location, snapshot.index_manifest):
        if entry.index_type != DELETION_VECTORS or not entry.deletion_ranges:
            continue
        partition = partition_directory(schema, settings, entry.partition)
        bucket = bucket_path(location, partition, entry.bucket, settings)
        path = index_file_path(location, bucket, entry, settings)
        vectors = found.setdefault((canonical_row(entry.partition, types), entry.bucket), {})
        for place in entry.deletion_ranges:
            vectors[place.data_file] = DeletionFile(path, place.offset, place.length, place.cardinality)
    return found


def read_deleted_positions(file_io: FileIO, deletion: DeletionFile) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The row numbers that a deletion vector deletes, ascending.

    Raises:
        CorruptFile: the index file is missing, truncated or damaged, or the vector is not the one recorded.
    """
    where = f"at {deletion.offset} of {deletion.path}"
    start, end = range_to_read(deletion.offset, deletion.length)
    try:
        with file_io.open_input(deletion.path) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(min(start, size))
            data = file.read(end - start)
    except FileNotFoundError:
        raise MissingFile(
            f"reading the deletion vector {where}: the file does not exist. If the snapshot that names it has just "
            f"expired, read a newer one; else the table is damaged and the file must be restored",
            deletion.path,
        ) from None
    positions = deleted_positions(decode_vector(data, where, deletion.length))
    if deletion.cardinality is not None and deletion.cardinality != len(positions):
        raise CorruptFile(
            f"reading the deletion vector {where}: it deletes {len(positions)} rows, the index manifest recorded "
            f"{deletion.cardinality}; the index file is damaged and must be restored"
        )
    return positions
