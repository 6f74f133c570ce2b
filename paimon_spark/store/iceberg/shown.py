"""Which data files of a table readers of Iceberg see, and what manifests tell of them.

Java: IcebergCommitCallback.shouldAddFileToIceberg, IcebergDataFileMeta. Readers of Iceberg merge no rows: of a table
with a primary key they see the files of the highest level, or, with deletion vectors that Iceberg has too, all but
those of level 0. Unlike Java, metadata that are made anew show no other files either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from paimon_spark.format.binary_row import decode_arity_row, row_decoder
from paimon_spark.format.iceberg.manifests import Entry, Status, partition_record
from paimon_spark.format.iceberg.types import bound_pair, changed_fields, has_bounds
from paimon_spark.format.manifest import DataFileMeta, IndexManifestEntry, ManifestEntry
from paimon_spark.format.paths import data_file_path, file_format_of, index_file_path
from paimon_spark.format.rules.iceberg_tables import shows_vectors
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.types import DataField
from paimon_spark.store.metadata.live_files import canonical_partitions, fold
from paimon_spark.store.metadata.manifest_files import (
    read_data_manifests,
    read_index_manifest,
    read_manifest_columns,
    read_manifest_list,
)
from paimon_spark.store.metadata.messages import DELETION_VECTORS

if TYPE_CHECKING:
    from paimon_spark.store.iceberg.directory import IcebergDirectory

_PUFFIN = "puffin"
_DATA, _POSITION_DELETES = 0, 1


class ShownFiles:
    """Makes entries of Iceberg manifests for one snapshot of a table."""

    def __init__(
        self, directory: IcebergDirectory, snapshot: Snapshot, bucket_directory: Callable[[bytes, int], str]
    ) -> None:
        """Reads nothing.

        Args:
            directory: of the metadata.
            snapshot: the snapshot.
            bucket_directory: returns the directory of a partition and bucket.
        """
        self._here = directory
        self._table = table = directory.table
        self._snapshot = snapshot
        settings = table.settings
        self.with_vectors: bool = shows_vectors(settings)
        self._max_level = (settings.compaction.num_levels or settings.compaction.trigger + 1) - 1
        self._schema = cache(table.schemas.load)
        self._bucket = cache(bucket_directory)
        self._decoders: dict[tuple[int, tuple[str, ...] | None], _Stats | None] = {}

    def shows(self, file: DataFileMeta) -> bool:
        """True if readers of Iceberg see a live file."""
        if not self._table.schema.primary_keys:
            return True
        if file.delete_row_count:
            return False
        return file.level > 0 if self.with_vectors else file.level == self._max_level

    def path(self, entry: ManifestEntry) -> str:
        """The path of a data file as Iceberg manifests record it."""
        return self._here.spelled(data_file_path(self._bucket(entry.partition, entry.bucket), entry.file))

    def live(self) -> Iterator[ManifestEntry]:
        """The live files of the snapshot that readers of Iceberg see."""
        table = self._table
        manifests = read_data_manifests(table.file_io, table.location, self._snapshot)
        columns = read_manifest_columns(table.file_io, table.location, manifests)
        canonical = canonical_partitions(columns, table.schema.partition_types)
        alive = fold(columns, canonical[columns.partition_code], np.arange(len(columns), dtype=np.int64))
        return (entry for entry in columns.entries(alive) if self.shows(entry.file))

    def delta(self) -> list[ManifestEntry]:
        """The changes of data files that the snapshot has made."""
        table, snapshot = self._table, self._snapshot
        lists = snapshot.delta_manifest_list, snapshot.delta_manifest_list_size
        columns = read_manifest_columns(
            table.file_io, table.location, read_manifest_list(table.file_io, table.location, *lists)
        )
        return columns.entries(range(len(columns)))

    def added(self, entry: ManifestEntry) -> Entry:
        """The entry of a data file that the snapshot shows first."""
        file = entry.file
        lower, upper, nulls = self._stats(file)
        return self._entry(
            entry.partition,
            {
                "content": _DATA,
                "file_path": self.path(entry),
                "file_format": file_format_of(file.file_name),
                "record_count": file.row_count,
                "file_size_in_bytes": file.file_size,
                "null_value_counts": nulls,
                "lower_bounds": lower,
                "upper_bounds": upper,
            },
        )

    def vectors(self) -> Iterator[Entry]:
        """The entries of all deletion vectors of the snapshot. None, if one does not tell how many rows it deletes."""
        table = self._table
        for index in read_index_manifest(table.file_io, table.location, self._snapshot.index_manifest):
            if index.index_type == DELETION_VECTORS:
                yield from self._vectors(index)

    def _vectors(self, index: IndexManifestEntry) -> Iterator[Entry]:
        bucket = self._bucket(index.partition, index.bucket)
        path = index_file_path(self._table.location, bucket, index, self._table.settings)
        for vector in index.deletion_ranges or ():
            if vector.cardinality is None:
                raise ValueError(f"the deletion vector of {vector.data_file} does not tell how many rows it deletes")
            yield self._entry(
                index.partition,
                {
                    "content": _POSITION_DELETES,
                    "file_path": self._here.spelled(path),
                    "file_format": _PUFFIN,
                    "record_count": vector.cardinality,
                    "file_size_in_bytes": index.file_size,
                    "referenced_data_file": self._here.spelled(f"{bucket}/{vector.data_file}"),
                    "content_offset": vector.offset,
                    "content_size_in_bytes": vector.length,
                },
            )

    def _entry(self, partition: bytes, file: dict[str, Any]) -> Entry:
        fields, number = self._table.schema.partition_fields, self._snapshot.id
        values = decode_arity_row(partition, self._table.schema.partition_types)
        return Entry(Status.ADDED, number, number, number, {**file, "partition": partition_record(values, fields)})

    def _stats(self, file: DataFileMeta) -> tuple[list[Any], list[Any], list[Any]]:
        columns = file.value_stats_cols if file.value_stats_cols is not None else file.write_cols
        key = (file.schema_id, columns)
        if key not in self._decoders:
            self._decoders[key] = _decoder(self._schema(file.schema_id), columns, self._table.schema)
        decoder = self._decoders[key]
        return ([], [], []) if decoder is None else decoder(file)


_Stats = Callable[[DataFileMeta], tuple[list[Any], list[Any], list[Any]]]


def _decoder(written: TableSchema, columns: tuple[str, ...] | None, read: TableSchema) -> _Stats | None:
    """Returns the lower bounds, upper bounds and counts of nulls of files, each as pairs of column id and value.

    Readers take bounds for values of the column's type of today: those of a type that cannot become it are left out.
    """
    stored: Iterable[DataField]
    if columns is None:
        stored = written.fields
    elif all(name in written.by_name for name in columns):
        stored = [written.by_name[name] for name in columns]
    else:
        return None
    fields = list(stored)
    changed = changed_fields(written, read)
    ordered = [i for i, field in enumerate(fields) if has_bounds(field.type) and field.id not in changed]
    decode = row_decoder([field.type for field in fields], ordered)
    arity = len(fields).to_bytes(4, "big")

    def stats(file: DataFileMeta) -> tuple[list[Any], list[Any], list[Any]]:
        found = file.value_stats
        lower: list[Any] = []
        upper: list[Any] = []
        nulls: list[Any] = []
        if found.min_values[:4] != arity or found.max_values[:4] != arity:
            return lower, upper, nulls
        counts = found.null_counts
        if counts is None or len(counts) != len(fields):
            counts = (None,) * len(fields)
        values = zip(ordered, decode(found.min_values[4:]), decode(found.max_values[4:]), strict=True)
        for i, low, high in values:
            field, count = fields[i], counts[i]
            pair = None if count is not None and count < 0 else bound_pair(low, high, field.type)
            if pair is not None:
                lower.append({"key": field.id, "value": pair[0]})
                upper.append({"key": field.id, "value": pair[1]})
        known = ((field, count) for field, count in zip(fields, counts, strict=True) if count is not None)
        nulls += [{"key": field.id, "value": count} for field, count in known if count >= 0]
        return lower, upper, nulls

    return stats
