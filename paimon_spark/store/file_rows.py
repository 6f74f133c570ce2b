"""The rows of one data file in the columns of today's schema, less deleted rows and row groups that cannot match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.column_stats import ColumnStats
from paimon_spark.arrow.data_file import FileReader, open_reader
from paimon_spark.arrow.evaluate import evaluate
from paimon_spark.arrow.evolution import ReadMapping, map_fields
from paimon_spark.arrow.predicate import AlwaysTrue, Predicate, columns_of
from paimon_spark.arrow.pruning import may_match
from paimon_spark.errors import CorruptFile
from paimon_spark.file_io import FileIO
from paimon_spark.spec.manifest import DataFileMeta
from paimon_spark.spec.paths import file_format_of
from paimon_spark.spec.schema import TableSchema
from paimon_spark.spec.types import DataField

Positions = np.ndarray[tuple[int], np.dtype[np.int64]]
TRUE = AlwaysTrue()
_PROBES = 4  # row groups looked at before deciding whether a predicate is selective


@dataclass(frozen=True)
class FileRequest:
    """What is read of every file of a section.

    Attributes:
        fields: columns of the read schema.
        system: `_SEQUENCE_NUMBER`, `_VALUE_KIND`, or none; they follow the fields in the batches.
        prunes: a predicate over fields: row groups that cannot satisfy it are skipped.
        probes: whether its columns are read first, to skip row groups in which no row satisfies it.
    """

    fields: tuple[DataField, ...]
    system: tuple[DataField, ...] = ()
    prunes: Predicate = TRUE
    probes: bool = False


def read_file(
    file_io: FileIO,
    path: str,
    meta: DataFileMeta,
    data_schema: TableSchema,
    request: FileRequest,
    deleted: Positions | None = None,
    batch_rows: int = 65536,
) -> Iterator[pa.RecordBatch]:
    """Batches in the fields of the request, then its system columns, in file order.

    Args:
        path: where the file lies.
        meta: what the manifest says of it.
        data_schema: the schema the file was written with.
        deleted: ascending row numbers to leave out.

    Raises:
        CorruptFile: the file is missing, damaged, or has another number of rows than the manifest says.
    """
    mapping = map_fields(request.fields, data_schema.fields)
    try:
        reader = open_reader(file_io.open_input(path, meta.file_size), file_format_of(meta.file_name), path)
    except FileNotFoundError:
        raise CorruptFile(
            f"reading the data file {path}: it does not exist. If the snapshot that names it has just expired, read a "
            f"newer one; else the table is damaged: restore the file, or travel to a snapshot that does not use it"
        ) from None
    try:
        _check_file(reader, path, meta, request.system, deleted)
        file = _OpenFile(reader, mapping, request, {field.id: field for field in data_schema.fields})
        groups = file.matching_groups()
        if groups:
            for first_row, batch in file.read(batch_rows, groups):
                yield batch if deleted is None else _without(batch, first_row, deleted)
    finally:
        reader.close()


def _check_file(
    reader: FileReader, path: str, meta: DataFileMeta, system: Sequence[DataField], deleted: Positions | None
) -> None:
    if reader.row_count != meta.row_count:
        raise CorruptFile(
            f"reading the data file {path}: it holds {reader.row_count} rows, the manifest says {meta.row_count}; "
            f"restore the file"
        )
    for field in system:
        if field.name not in reader.names:
            raise CorruptFile(f"reading the data file {path}: it has no column {field.name}, only {reader.names}")
    if deleted is not None and len(deleted) and deleted[-1] >= meta.row_count:
        raise CorruptFile(
            f"reading the data file {path}: its deletion vector deletes row {deleted[-1]}, it has {meta.row_count} rows"
        )


def _without(batch: pa.RecordBatch, first_row: int, deleted: Positions) -> pa.RecordBatch:
    start, end = np.searchsorted(deleted, (first_row, first_row + batch.num_rows))
    if start == end:
        return batch
    keep = np.ones(batch.num_rows, np.bool_)
    keep[deleted[start:end] - first_row] = False
    return batch.filter(pa.array(keep))


@dataclass(frozen=True)
class _OpenFile:
    """A file and how its columns become those of the request."""

    reader: FileReader
    mapping: ReadMapping
    request: FileRequest
    data_fields: dict[int, DataField]

    def read(self, batch_rows: int, groups: Sequence[int]) -> Iterator[tuple[int, pa.RecordBatch]]:
        file_fields, system = self.mapping.file_fields, self.request.system
        width = len(file_fields)
        for first_row, batch in self.reader.read([*file_fields, *system], batch_rows, groups):
            values = self.mapping.apply(batch.select(range(width)) if system else batch)
            for i, field in enumerate(system):
                values = values.append_column(field.name, batch.column(width + i))
            yield first_row, values

    def matching_groups(self) -> list[int]:
        """The row groups that may hold a row that satisfies the predicate."""
        predicate, groups = self.request.prunes, range(len(self.reader.row_groups))
        if predicate == TRUE:
            return list(groups)
        left = [group for group in groups if self._may_match(predicate, group)]
        columns = columns_of(predicate)
        if not self.request.probes or len(columns) >= len(self.request.fields):
            return left
        return self._probe(predicate, left)

    def _may_match(self, predicate: Predicate, group: int) -> bool:
        row_group = self.reader.row_groups[group]
        now = {field.name: field for field in self.request.fields}

        def stats(column: str) -> ColumnStats | None:
            field = now[column]
            then = self.data_fields.get(field.id)
            if then is None:
                return ColumnStats(None, None, row_group.row_count)  # the column came later: all null
            if then.type.with_nullable(True) != field.type.with_nullable(True):
                return None
            return row_group.stats(then.name)

        return may_match(predicate, stats, row_group.row_count)

    def _probe(self, predicate: Predicate, groups: list[int]) -> list[int]:
        """The groups with a row that satisfies the predicate, by reading its columns; gives up where most have one."""
        columns = columns_of(predicate)
        fields = tuple(field for field in self.request.fields if field.name in columns)
        narrow = _OpenFile(
            self.reader, map_fields(fields, tuple(self.data_fields.values())), FileRequest(fields), self.data_fields
        )
        found: list[int] = []
        for done, group in enumerate(groups):
            if done >= _PROBES and len(found) * 2 > done:
                return found + groups[done:]
            rows = self.reader.row_groups[group].row_count
            if any(evaluate(predicate, batch).true_count for _, batch in narrow.read(max(rows, 1), [group])):
                found.append(group)
        return found
