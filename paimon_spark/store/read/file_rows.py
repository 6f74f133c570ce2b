"""Reads the rows of one data file in the columns of the current schema, without deleted rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_spark.arrow import kernels as pc
from paimon_spark.arrow.evolution import map_fields
from paimon_spark.arrow.formats.data_file import FileReader, open_reader
from paimon_spark.arrow.formats.file_access import RowRange
from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.arrow.types import arrow_field, from_internal
from paimon_spark.errors import CorruptFile, MissingFile, UnsupportedFeature
from paimon_spark.file_io import FileIO
from paimon_spark.format.manifest import DataFileMeta, FileSource
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.paths import file_format_of
from paimon_spark.format.schema import POSITION, SEQUENCE_NUMBER, TableSchema
from paimon_spark.format.types import DataField
from paimon_spark.store.read.open_file import FileRequest, OpenFile, Positions, StoredFile, open_file, within
from paimon_spark.store.read.rows_to_read import rows_to_read

__all__ = [
    "FileRequest",
    "Positions",
    "StoredFile",
    "missing_data_file",
    "read_file",
    "read_plain_file",
    "snapshot_sequence",
]

_POSITION_FIELD = pa.field(POSITION, pa.int64(), nullable=False)


def snapshot_sequence(settings: TableSettings, path: str, meta: DataFileMeta) -> int | None:
    """The sequence number of all rows of a file under `sequence.snapshot-ordering`: that of its snapshot.

    The commit has stored it in the manifest. Compacted files hold the number of every row (Java:
    KeyValueFileReaderFactory). None: the numbers in the file are valid.

    Raises:
        UnsupportedFeature: the file was written by a release before 0.9, which did not record whether a writer or a
            compaction wrote it.
    """
    if not settings.sequence_snapshot_ordering:
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
    """Batches in the columns of the request, in file order.

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
        file_format, legacy = file_format_of(meta.file_name), stored.orc_legacy_ltz
        reader = open_reader(source, file_format, path, orc_legacy_ltz=legacy, fields=stored.columns)
        try:
            yield from _read(reader, stored, request, batch_rows, still)
        finally:
            reader.close()
    except FileNotFoundError:  # object stores report it only when reading
        raise missing_data_file(path) from None


def read_plain_file(
    reader: FileReader,
    schema: TableSchema,
    partition: Mapping[str, Any],
    request: FileRequest,
    batch_rows: int = 65536,
) -> Iterator[pa.RecordBatch]:
    """Batches in the fields of the request of a file that no manifest names, in file order.

    Args:
        reader: of the file; the caller closes it.
        schema: of the table. A column that the file lacks is NULL.
        partition: the internal values of the partition columns, which the file need not have.
        request: the columns and filters.
        batch_rows: the most rows of a batch.

    Raises:
        CorruptFile: the file is damaged, or a column is not of its type.
    """
    constants = {
        place: from_internal([partition[field.name]], field.type)[0]
        for place, field in enumerate(request.fields)
        if field.name in partition
    }
    known = {field.id: field for field in schema.fields}
    file = OpenFile(reader, map_fields(request.fields, schema.fields), request, known, constants)
    for groups, ranges in _parts(file, rows_to_read(file, None), None):
        for _, batch in file.read(batch_rows, groups, ranges):
            yield batch


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
    asked = request if not request.tracking else _with_held(request, stored.meta)
    file = open_file(reader, stored, asked)
    for groups, ranges in _parts(file, rows_to_read(file, stored.selected), still):
        for first_row, batch in file.read(batch_rows, groups, ranges):
            rows = _placed(batch, first_row) if asked.positions else batch
            rows = _left(rows, first_row, stored)
            rows = rows if stored.sequence is None else _numbered(rows, stored.sequence)
            yield rows if asked is request else _tracked(rows, request, stored)


def _with_held(request: FileRequest, meta: DataFileMeta) -> FileRequest:
    """What is read of a file for a request with columns of row tracking: those of them that the file holds."""
    held = tuple(field for field in request.tracking if field.name in (meta.write_cols or ()))
    return replace(request, system=(*request.system, *held), positions=True, tracking=())


def _tracked(rows: pa.RecordBatch, request: FileRequest, stored: StoredFile) -> pa.RecordBatch:
    """Rows with their columns of row tracking; what the file does not hold is as the commit noted it (Java:
    DataFileRecordReader, ColumnarRowIterator.assignRowTracking)."""
    tracking = [_tracking_column(rows, field, stored) for field in request.tracking]
    plain = [*(f.name for f in (*request.fields, *request.system)), *([POSITION] if request.positions else [])]
    fields = [*(rows.schema.field(name) for name in plain), *map(arrow_field, request.tracking)]
    return pa.RecordBatch.from_arrays([*(rows.column(name) for name in plain), *tracking], schema=pa.schema(fields))


def _tracking_column(rows: pa.RecordBatch, field: DataField, stored: StoredFile) -> pa.Array:
    place = rows.schema.get_field_index(field.name)
    held = None if place < 0 else rows.column(place)
    if held is not None and not held.null_count:
        return held
    if field.name == SEQUENCE_NUMBER:
        noted = pa.repeat(pa.scalar(stored.meta.max_sequence_number, pa.int64()), len(rows))
    elif stored.meta.first_row_id is None:
        raise CorruptFile(
            f"reading the data file {stored.path}: neither its manifest nor the file itself says which row ids it has; "
            "it was written before 'row-tracking.enabled' was set, or the table is damaged"
        )
    else:
        noted = pa.array(rows.column(POSITION).to_numpy() + stored.meta.first_row_id)
    return noted if held is None else pc.coalesce(held, noted)


def _parts(
    file: OpenFile, left: Mapping[int, Sequence[RowRange]], still: Callable[[], Predicate] | None
) -> Iterator[tuple[list[int], Sequence[RowRange] | None]]:
    """What to read at once: row groups, and rows of a row group of which not all are read."""
    whole: list[int] = []
    for group, rows in left.items():
        is_whole = list(rows) == [file.reader.row_groups[group].rows]
        if is_whole and still is None:
            whole.append(group)
            continue
        if whole:
            yield whole, None
            whole = []
        if still is None or file.may_match(still(), group):
            yield [group], None if is_whole else rows
    if whole:
        yield whole, None


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
    return None if rows is None else within(rows, first_row, first_row + count)


def _placed(batch: pa.RecordBatch, first_row: int) -> pa.RecordBatch:
    return batch.append_column(_POSITION_FIELD, pa.array(np.arange(first_row, first_row + batch.num_rows)))


def _numbered(batch: pa.RecordBatch, sequence: int) -> pa.RecordBatch:
    position = batch.schema.get_field_index(SEQUENCE_NUMBER)
    if position < 0:
        return batch
    return batch.set_column(
        position, batch.schema.field(position), pa.repeat(pa.scalar(sequence, pa.int64()), len(batch))
    )
