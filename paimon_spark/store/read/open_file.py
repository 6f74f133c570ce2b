"""One open data file whose columns are those of a request."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.evolution import ReadMapping, map_fields
from paimon_spark.arrow.formats.data_file import FileReader
from paimon_spark.arrow.formats.file_access import RowRange
from paimon_spark.arrow.predicates.predicate import AlwaysTrue, Predicate, columns_of
from paimon_spark.arrow.predicates.pruning import may_match
from paimon_spark.arrow.statistics.column_stats import ColumnStats
from paimon_spark.arrow.types import from_internal
from paimon_spark.errors import CorruptFile
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField

if TYPE_CHECKING:
    from paimon_spark.arrow.shredding.paths import PathColumn

Positions = np.ndarray[tuple[int], np.dtype[np.int64]]
TRUE = AlwaysTrue()
Stats = Callable[[str], ColumnStats | None]


def within(rows: Positions, first: int, end: int) -> Positions:
    """Those of ascending row numbers that are from first to before end, counted from first."""
    begin, stop = np.searchsorted(rows, (first, end))
    return rows[begin:stop] - first


@dataclass(frozen=True)
class FileRequest:
    """The columns and filters for reading every file of a section.

    Attributes:
        fields: columns of the read schema.
        system: `_SEQUENCE_NUMBER`, `_VALUE_KIND`, or none; they follow the fields in the batches.
        prunes: a predicate over fields: row groups that cannot satisfy it are skipped.
        probes: whether the columns of the predicate are read first, to skip row groups in which no row satisfies it.
        positions: whether a column `_POSITION` follows.
        tracking: columns of row tracking, with which the batches end.
        parts: columns that are made of fields, which are parts of VARIANT values.
        prunes_parts: a predicate over parts: row groups that cannot satisfy it are skipped.
    """

    fields: tuple[DataField, ...]
    system: tuple[DataField, ...] = ()
    prunes: Predicate = TRUE
    probes: bool = False
    positions: bool = False
    tracking: tuple[DataField, ...] = ()
    parts: tuple[PathColumn, ...] = ()
    prunes_parts: Predicate = TRUE


@dataclass(frozen=True)
class StoredFile:
    """One data file.

    Attributes:
        path: the path of the file.
        meta: its metadata in the manifest.
        schema: the schema that it was written with.
        partition: internal values of the partition columns, for files without these columns (imported from Hive).
        deleted: ascending row numbers that a deletion vector deletes, or None.
        orc_legacy_ltz: the table option `orc.timestamp-ltz.legacy.type`.
        sequence: the sequence number of all rows, if it replaces those in the file (see ``snapshot_sequence``).
        selected: ascending row numbers, of which alone rows are read; None: of all.
    """

    path: str
    meta: DataFileMeta
    schema: TableSchema
    partition: Mapping[str, Any]
    deleted: Positions | None = None
    orc_legacy_ltz: bool = True
    sequence: int | None = None
    selected: Positions | None = None

    def columns(self) -> tuple[DataField, ...]:
        """The columns in the file, as its metadata tell them. For errors see TableSchema.stored_columns."""
        return self.schema.stored_columns(self.meta.write_cols)


def open_file(reader: FileReader, stored: StoredFile, request: FileRequest) -> OpenFile:
    """The open file, with the values for columns that it lacks.

    Files of append tables that were imported from Hive may lack partition columns, or columns that were added later.
    Files of primary-key tables are written by writers that know the schema, so a missing column is damage.
    """
    mapping, known = map_fields(request.fields, stored.schema.fields), set(reader.names)
    lacking = {field.id: field for field in mapping.file_fields if field.name not in known}
    constants = {
        position: from_internal([stored.partition[field.name]], field.type)[0]
        for position, field in enumerate(request.fields)
        if field.id in lacking and field.name in stored.partition
    }
    needed = [field.name for field in request.system if field.name not in known]
    if stored.schema.primary_keys and stored.meta.write_cols is None:
        needed += [field.name for field in lacking.values() if field.name not in stored.partition]
    if needed:
        raise CorruptFile(
            f"reading the data file {stored.path}: it lacks the columns {', '.join(needed)} of schema "
            f"{stored.schema.id}, it has {', '.join(reader.names)}; the file or that schema is damaged: restore it"
        )
    return OpenFile(reader, mapping, request, {field.id: field for field in stored.schema.fields}, constants)


@dataclass(frozen=True)
class OpenFile:
    """An open file, and the mapping of its columns to those of the request."""

    reader: FileReader
    mapping: ReadMapping
    request: FileRequest
    data_fields: dict[int, DataField]
    constants: dict[int, pa.Scalar]

    def read(
        self, batch_rows: int, groups: Sequence[int], rows: Sequence[RowRange] | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Batches of row groups, as those of ``FileReader.read``, in the columns of the request."""
        file_fields, system = self.mapping.file_fields, self.request.system
        width = len(file_fields)
        for first_row, batch in self.reader.read([*file_fields, *system], batch_rows, groups, rows):
            values = self.mapping.apply(batch.select(range(width)) if system else batch)
            for position, constant in self.constants.items():
                values = values.set_column(position, values.schema.field(position), pa.repeat(constant, len(batch)))
            for i in range(width, batch.num_columns):
                values = values.append_column(batch.schema.field(i), batch.column(i))
            yield first_row, values

    def may_match(self, predicate: Predicate, group: int) -> bool:
        """True if a row of the row group may satisfy the predicate."""
        row_group = self.reader.row_groups[group]
        return self.some_may_match(predicate, row_group.stats, row_group.row_count)

    def parts_may_match(self, group: int) -> bool:
        """True if a row of the row group may satisfy the predicate over parts."""
        row_group = self.reader.row_groups[group]
        fields = {field.name: field for field in self.request.fields}
        parts = {part.field.name: part for part in self.request.parts}

        def stats(name: str) -> ColumnStats | None:
            part = parts[name]
            then = self.data_fields.get(fields[part.column].id)
            if then is None or then.name not in self.reader.names:
                return None
            return row_group.part(part, then.name)

        return may_match(self.request.prunes_parts, stats, row_group.row_count)

    def some_may_match(self, predicate: Predicate, stats: Stats, row_count: int) -> bool:
        """True if one of some rows may satisfy the predicate.

        Args:
            predicate: over the fields of the request.
            stats: gives the statistics of these rows by the name of a column in the file.
            row_count: how many rows they are.
        """
        stored = self.stored_columns(predicate)

        def now(column: str) -> ColumnStats | None:
            if column not in stored:
                return None
            then = stored[column]
            return ColumnStats(None, None, row_count) if then is None else stats(then)

        return may_match(predicate, now, row_count)

    def stored_columns(self, predicate: Predicate) -> dict[str, str | None]:
        """The names in the file of columns of a predicate; None: the column was added later, all its values are null.

        A column that has changed its type is left out: its statistics are of other values.
        """
        found: dict[str, str | None] = {}
        fields = {field.name: field for field in self.request.fields}
        for column in columns_of(predicate):
            field = fields[column]
            then = self.data_fields.get(field.id)
            if then is None:
                found[column] = None
            elif then.type == field.type or then.type.with_nullable(True) == field.type.with_nullable(True):
                found[column] = then.name
        return found

    def narrowed(self, columns: Collection[str]) -> OpenFile:
        """The same file with some fields of the request only, and no system columns."""
        places = [i for i, field in enumerate(self.request.fields) if field.name in columns]
        fields = tuple(self.request.fields[i] for i in places)
        constants = {new: self.constants[old] for new, old in enumerate(places) if old in self.constants}
        mapping = map_fields(fields, tuple(self.data_fields.values()))
        return OpenFile(self.reader, mapping, FileRequest(fields), self.data_fields, constants)
