"""Reads the rows of one data file in the columns of the current schema, without deleted rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.evolution import ReadMapping, map_fields
from paimon_spark.arrow.formats.data_file import FileReader, open_reader
from paimon_spark.arrow.predicates.evaluate import evaluate
from paimon_spark.arrow.predicates.predicate import AlwaysTrue, Predicate, columns_of
from paimon_spark.arrow.predicates.pruning import may_match
from paimon_spark.arrow.statistics.column_stats import ColumnStats
from paimon_spark.arrow.types import from_internal
from paimon_spark.errors import CorruptFile, MissingFile, UnsupportedFeature
from paimon_spark.file_io import FileIO
from paimon_spark.format.manifest import DataFileMeta, FileSource
from paimon_spark.format.options import core_options as o
from paimon_spark.format.options.core_options import Options
from paimon_spark.format.paths import file_format_of
from paimon_spark.format.schema import POSITION, SEQUENCE_NUMBER, TableSchema
from paimon_spark.format.types import DataField

Positions = np.ndarray[tuple[int], np.dtype[np.int64]]
TRUE = AlwaysTrue()
_POSITION_FIELD = pa.field(POSITION, pa.int64(), nullable=False)
_PROBES = 4  # row groups looked at before deciding whether a predicate is selective


@dataclass(frozen=True)
class FileRequest:
    """The columns and filters for reading every file of a section.

    Attributes:
        fields: columns of the read schema.
        system: `_SEQUENCE_NUMBER`, `_VALUE_KIND`, or none; they follow the fields in the batches.
        prunes: a predicate over fields: row groups that cannot satisfy it are skipped.
        probes: whether the columns of the predicate are read first, to skip row groups in which no row satisfies it.
        positions: whether the batches end with a column `_POSITION`.
    """

    fields: tuple[DataField, ...]
    system: tuple[DataField, ...] = ()
    prunes: Predicate = TRUE
    probes: bool = False
    positions: bool = False


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


def snapshot_sequence(options: Options, path: str, meta: DataFileMeta) -> int | None:
    """The sequence number of all rows of a file under `sequence.snapshot-ordering`: that of its snapshot.

    The commit has stored it in the manifest. Compacted files hold the number of every row (Java:
    KeyValueFileReaderFactory). None: the numbers in the file are valid.

    Raises:
        UnsupportedFeature: the file was written by a release before 0.9, which did not record whether a writer or a
            compaction wrote it.
    """
    if not options.value(o.SEQUENCE_SNAPSHOT_ORDERING):
        return None
    if meta.file_source is None:
        raise UnsupportedFeature(
            f"reading the data file {path}: its manifest does not say whether it was written or compacted, so its rows "
            "cannot be ordered by snapshot; 'sequence.snapshot-ordering' is for tables that had it from the start"
        )
    return meta.min_sequence_number if meta.file_source == FileSource.APPEND else None


def read_file(
    file_io: FileIO,
    stored: StoredFile,
    request: FileRequest,
    batch_rows: int = 65536,
    still: Callable[[], Predicate] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Batches in the fields of the request, then its system columns, in file order.

    Args:
        file_io: the store of the file.
        stored: the file.
        request: the columns and filters.
        batch_rows: the most rows of a batch.
        still: called before each row group; returns a predicate over the fields. A group that cannot satisfy it is
            skipped. It serves readers that need fewer rows as the read proceeds.

    Raises:
        CorruptFile: the file is damaged, or differs from its metadata in the manifest.
        MissingFile: the file does not exist.
    """
    path, meta = stored.path, stored.meta
    try:
        source = file_io.open_input(path, meta.file_size)
        reader = open_reader(source, file_format_of(meta.file_name), path, orc_legacy_ltz=stored.orc_legacy_ltz)
        try:
            yield from _read(reader, stored, request, batch_rows, still)
        finally:
            reader.close()
    except FileNotFoundError:  # object stores report it only when reading
        raise missing_data_file(path) from None


def missing_data_file(path: str) -> MissingFile:
    """The error for a data file that a snapshot names and the store does not have."""
    return MissingFile(
        f"reading the data file {path}: it does not exist. If the snapshot that names it has just expired, read a "
        "newer one; else the table is damaged: restore the file, or travel to a snapshot that does not use it",
        path,
    )


def _read(
    reader: FileReader,
    stored: StoredFile,
    request: FileRequest,
    batch_rows: int,
    still: Callable[[], Predicate] | None,
) -> Iterator[pa.RecordBatch]:
    _check_rows(reader, stored)
    file = _open_file(reader, stored, request)
    groups = file.matching_groups(stored.selected)
    parts = [groups] if still is None else ([group] for group in groups if file.may_match(still(), group))
    for part in parts:
        for first_row, batch in file.read(batch_rows, part) if part else ():
            rows = _placed(batch, first_row) if request.positions else batch
            rows = _left(rows, first_row, stored)
            yield rows if stored.sequence is None else _numbered(rows, stored.sequence)


def _check_rows(reader: FileReader, stored: StoredFile) -> None:
    count, deleted = stored.meta.row_count, stored.deleted
    if reader.row_count != count:
        raise CorruptFile(
            f"reading the data file {stored.path}: it holds {reader.row_count} rows, the manifest says {count}; "
            f"it is not the file the manifest speaks of: restore that"
        )
    if deleted is not None and len(deleted) and deleted[-1] >= count:
        raise CorruptFile(
            f"reading the data file {stored.path}: its deletion vector deletes row {deleted[-1]}, it has {count} rows; "
            f"the index file is damaged and must be restored"
        )


def _open_file(reader: FileReader, stored: StoredFile, request: FileRequest) -> _OpenFile:
    """The open file, with the values for columns that it lacks.

    Files of append tables that were imported from Hive may lack partition columns, or columns that were added later.
    Files of primary-key tables are written by writers that know the schema, so a missing column is damage.
    """
    mapping = map_fields(request.fields, stored.schema.fields)
    lacking = {field.id: field for field in mapping.file_fields if field.name not in reader.names}
    constants = {
        position: from_internal([stored.partition[field.name]], field.type)[0]
        for position, field in enumerate(request.fields)
        if field.id in lacking and field.name in stored.partition
    }
    needed = [field.name for field in request.system if field.name not in reader.names]
    if stored.schema.primary_keys and stored.meta.write_cols is None:
        needed += [field.name for field in lacking.values() if field.name not in stored.partition]
    if needed:
        raise CorruptFile(
            f"reading the data file {stored.path}: it lacks the columns {', '.join(needed)} of schema "
            f"{stored.schema.id}, it has {', '.join(reader.names)}; the file or that schema is damaged: restore it"
        )
    return _OpenFile(reader, mapping, request, {field.id: field for field in stored.schema.fields}, constants)


def _left(batch: pa.RecordBatch, first_row: int, stored: StoredFile) -> pa.RecordBatch:
    """The rows that are not deleted, and that are selected if there is a selection."""
    count = batch.num_rows
    deleted = _within(stored.deleted, first_row, count)
    selected = _within(stored.selected, first_row, count)
    if selected is None and (deleted is None or not len(deleted)):
        return batch
    keep = np.ones(count, np.bool_) if selected is None else np.zeros(count, np.bool_)
    if selected is not None:
        keep[selected] = True
    if deleted is not None:
        keep[deleted] = False
    return batch.filter(pa.array(keep))


def _within(rows: Positions | None, first_row: int, count: int) -> Positions | None:
    """Those of ascending row numbers that are among count rows from first_row on, counted from there."""
    if rows is None:
        return None
    start, end = np.searchsorted(rows, (first_row, first_row + count))
    return rows[start:end] - first_row


def _placed(batch: pa.RecordBatch, first_row: int) -> pa.RecordBatch:
    return batch.append_column(_POSITION_FIELD, pa.array(np.arange(first_row, first_row + batch.num_rows)))


def _numbered(batch: pa.RecordBatch, sequence: int) -> pa.RecordBatch:
    position = batch.schema.get_field_index(SEQUENCE_NUMBER)
    if position < 0:
        return batch
    return batch.set_column(
        position, batch.schema.field(position), pa.repeat(pa.scalar(sequence, pa.int64()), len(batch))
    )


@dataclass(frozen=True)
class _OpenFile:
    """An open file, and the mapping of its columns to those of the request."""

    reader: FileReader
    mapping: ReadMapping
    request: FileRequest
    data_fields: dict[int, DataField]
    constants: dict[int, pa.Scalar]

    def read(self, batch_rows: int, groups: Sequence[int]) -> Iterator[tuple[int, pa.RecordBatch]]:
        file_fields, system = self.mapping.file_fields, self.request.system
        width = len(file_fields)
        for first_row, batch in self.reader.read([*file_fields, *system], batch_rows, groups):
            values = self.mapping.apply(batch.select(range(width)) if system else batch)
            for position, constant in self.constants.items():
                values = values.set_column(position, values.schema.field(position), pa.repeat(constant, len(batch)))
            for i in range(width, batch.num_columns):
                values = values.append_column(batch.schema.field(i), batch.column(i))
            yield first_row, values

    def matching_groups(self, selected: Positions | None) -> list[int]:
        """The row groups that may hold a row that satisfies the predicate, and hold one that is selected if any are."""
        predicate, groups = self.request.prunes, list(range(len(self.reader.row_groups)))
        if selected is not None:
            groups = [group for group in groups if self._holds_one(group, selected)]
        if predicate == TRUE:
            return groups
        left = [group for group in groups if self.may_match(predicate, group)]
        columns = columns_of(predicate)
        if not self.request.probes or selected is not None or len(columns) >= len(self.request.fields):
            return left
        return self._probe(predicate, left)

    def _holds_one(self, group: int, selected: Positions) -> bool:
        row_group = self.reader.row_groups[group]
        rows = _within(selected, row_group.first_row, row_group.row_count)
        return rows is not None and len(rows) > 0

    def may_match(self, predicate: Predicate, group: int) -> bool:
        """True if a row of the row group may satisfy the predicate."""
        row_group = self.reader.row_groups[group]
        now = {field.name: field for field in self.request.fields}

        def stats(column: str) -> ColumnStats | None:
            field = now[column]
            then = self.data_fields.get(field.id)
            if then is None:
                return ColumnStats(None, None, row_group.row_count)  # the column was added later: all null
            if then.type.with_nullable(True) != field.type.with_nullable(True):
                return None
            return row_group.stats(then.name)

        return may_match(predicate, stats, row_group.row_count)

    def _probe(self, predicate: Predicate, groups: list[int]) -> list[int]:
        """The groups with a row that satisfies the predicate, by reading its columns; stops if most groups have one."""
        columns = columns_of(predicate)
        fields = tuple(field for field in self.request.fields if field.name in columns)
        places = [i for i, field in enumerate(self.request.fields) if field.name in columns]
        constants = {new: self.constants[old] for new, old in enumerate(places) if old in self.constants}
        mapping = map_fields(fields, tuple(self.data_fields.values()))
        narrow = _OpenFile(self.reader, mapping, FileRequest(fields), self.data_fields, constants)
        found: list[int] = []
        for done, group in enumerate(groups):
            if done >= _PROBES and len(found) * 2 > done:
                return found + groups[done:]
            rows = self.reader.row_groups[group].row_count
            if any(evaluate(predicate, batch).true_count for _, batch in narrow.read(max(rows, 1), [group])):
                found.append(group)
        return found
