"""Puts the columns of rows together that lie in several files, in tables with data evolution.

Java: DataEvolutionSplitRead, DataEvolutionFileReader. The files are read side by side, in the order of their rows; no
file leaves out rows by itself, because the others would not. A deletion vector is of the rows of a whole section.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow.conform import batch_of
from paimon_spark.arrow.formats.file_access import empty_batches
from paimon_spark.arrow.predicates.evaluate import filter_batch
from paimon_spark.arrow.predicates.predicate import Predicate, restrict
from paimon_spark.arrow.types import arrow_schema, from_internal
from paimon_spark.errors import CorruptFile
from paimon_spark.format.file_index.row_sets import decode_rows
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.paths import data_file_path
from paimon_spark.format.schema import POSITION, ROW_ID
from paimon_spark.format.types import DataField
from paimon_spark.merge.keys.row_ids import ColumnFiles, column_files, end_id, first_id, is_blob_file, newest_first
from paimon_spark.merge.keys.sections import Section
from paimon_spark.store.holds.expired import translate_missing_files
from paimon_spark.store.metadata.schemas import schema_of_file
from paimon_spark.store.read.blob_column import BlobColumn, BlobFile
from paimon_spark.store.read.deletion_files import read_deleted_positions
from paimon_spark.store.read.file_rows import FileRequest, StoredFile, read_file
from paimon_spark.store.read.file_statistics import ids_of_file
from paimon_spark.store.read.lenient_read import tolerate
from paimon_spark.store.read.split_files import SplitFiles
from paimon_spark.store.read.splits import Split, selection_name

Ints = npt.NDArray[np.int64]
_POSITION_FIELD = pa.field(POSITION, pa.int64(), nullable=False)


@dataclass(frozen=True)
class Sources:
    """Which files of a section have the wanted columns; a column that none of them has is NULL.

    Attributes:
        wide: files of all rows, each with the columns that are read of it.
        parts: columns of which some files have some rows each; the newest file of a row counts.
        blobs: BLOB columns with files of their own.
    """

    wide: Sequence[tuple[DataFileMeta, tuple[DataField, ...]]]
    parts: Sequence[tuple[DataField, tuple[DataFileMeta, ...]]]
    blobs: Sequence[tuple[DataField, tuple[DataFileMeta, ...]]]


@dataclass(frozen=True)
class ColumnMerge:
    """Reads sections of files that hold columns of the same rows; picklable.

    Attributes:
        files: reads single files.
        fields: the wanted columns, in order.
        predicate: rows that cannot satisfy it may be left out; it is over fields.
        tracking: columns of row tracking, which follow.
        positions: whether the batches end with the column POSITION, the number of each row in the section.
    """

    files: SplitFiles
    fields: tuple[DataField, ...]
    predicate: Predicate
    tracking: tuple[DataField, ...] = ()
    positions: bool = False

    def section(self, split: Split, section: Section, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """The rows of a section that are not deleted, in the order of their ids.

        Args:
            split: has the section.
            section: the files.
            batch_rows: the most rows of a batch.

        Raises:
            CorruptFile: a file or the deletion vector is missing or damaged.
            SnapshotNotFound: a file is missing because the snapshot has expired since it was planned.
            TableChanged: a file has a newer schema, in which a wanted column was dropped or changed its type.
        """
        group = column_files(section)
        path = data_file_path(split.bucket_path, (group.wide or group.parts)[0])
        with translate_missing_files(self.files.table, split.snapshot_id):
            rows = self._rows(split, group, _wanted_rows(split, section, group), batch_rows)
            yield from tolerate(rows, path, self.files.tolerance)

    def requests(self, section: Section) -> Iterator[tuple[DataFileMeta, FileRequest]]:
        """The files that a read of a section decodes, and what it asks of each; not those of BLOB columns."""
        sources = self._sources(column_files(section))
        for file, fields in sources.wide:
            yield file, FileRequest(fields)
        for field, files in sources.parts:
            yield from ((file, FileRequest((field,))) for file in files)

    def _rows(self, split: Split, group: ColumnFiles, wanted: Ints, batch_rows: int) -> Iterator[pa.RecordBatch]:
        sources, deleted = self._sources(group), self._deleted(split, group)
        blobs = {field.name for field, _ in sources.blobs}
        plain = tuple(field for field in self.fields if field.name not in blobs)
        schema = pa.schema([*arrow_schema(plain), _POSITION_FIELD])
        nowhere = {field.name: _constant(field, self.files.partition(split)) for field in plain}
        condition = restrict(self.predicate, {field.name for field in plain})
        some = None if len(wanted) == group.row_count else wanted
        with ExitStack() as closing:
            columns = {f.name: self._blob_column(split, group, f, files, closing) for f, files in sources.blobs}
            streams = [self._wide(split, file, fields, batch_rows, some) for file, fields in sources.wide]
            streams += [self._part(split, group, field, files, batch_rows, wanted) for field, files in sources.parts]
            for first, arrays in _side_by_side(streams, len(wanted), batch_rows):
                count = len(next(iter(arrays.values()))) if arrays else min(batch_rows, len(wanted) - first)
                made = [arrays[f.name] if f.name in arrays else pa.repeat(nowhere[f.name], count) for f in plain]
                batch = batch_of([*made, pa.array(wanted[first : first + count])], schema, count)
                batch = filter_batch(condition, _without(batch, deleted))
                for piece in _pieces(batch, columns):
                    yield self._complete(piece, columns, group)

    def _complete(self, batch: pa.RecordBatch, blobs: Mapping[str, BlobColumn], group: ColumnFiles) -> pa.RecordBatch:
        rows = batch.column(POSITION).to_numpy()
        arrays = [blobs[f.name].values(rows) if f.name in blobs else batch.column(f.name) for f in self.fields]
        for field in self.tracking:
            if field.name == ROW_ID:
                arrays.append(pa.array(rows + group.first_row_id))
            else:  # the number of the newest file, whichever columns it has (Java: DataEvolutionSplitRead)
                newest = group.wide[0].max_sequence_number if group.wide else 0
                arrays.append(pa.repeat(pa.scalar(newest, pa.int64()), len(rows)))
        schema = arrow_schema((*self.fields, *self.tracking))
        if self.positions:
            schema, arrays = schema.append(_POSITION_FIELD), [*arrays, batch.column(POSITION)]
        return batch_of(arrays, schema, batch.num_rows)

    def _sources(self, group: ColumnFiles) -> Sources:
        wide: dict[str, tuple[DataFileMeta, list[DataField]]] = {}
        parts: list[tuple[DataField, tuple[DataFileMeta, ...]]] = []
        blobs: list[tuple[DataField, tuple[DataFileMeta, ...]]] = []
        table = self.files.table
        held = {f.file_name: ids_of_file(f, table.schema, table.schemas.load) for f in (*group.wide, *group.parts)}
        for field in self.fields:
            file = next((file for file in group.wide if field.id in held[file.file_name]), None)
            if file is not None:
                wide.setdefault(file.file_name, (file, []))[1].append(field)
                continue
            files = tuple(file for file in group.parts if field.id in held[file.file_name])
            if files:
                (blobs if is_blob_file(files[0]) else parts).append((field, files))
        return Sources([(file, tuple(fields)) for file, fields in wide.values()], parts, blobs)

    def _deleted(self, split: Split, group: ColumnFiles) -> Ints | None:
        anchor = group.anchor
        deletion = None if anchor is None else split.deletions.get(anchor.file_name)
        if deletion is None:
            return None
        deleted = read_deleted_positions(self.files.table.file_io, deletion)
        if len(deleted) and deleted[-1] >= group.row_count:
            raise CorruptFile(
                f"reading the deletion vector in {deletion.path}: it deletes row {deleted[-1]} of {group.row_count}; "
                "the index file is damaged and must be restored"
            )
        return deleted

    def _wide(
        self, split: Split, file: DataFileMeta, fields: tuple[DataField, ...], batch_rows: int, some: Ints | None
    ) -> Iterator[pa.RecordBatch]:
        request = FileRequest(fields)
        return read_file(self.files.table.file_io, self._stored(split, file, request, some), request, batch_rows)

    def _part(
        self,
        split: Split,
        group: ColumnFiles,
        field: DataField,
        files: Sequence[DataFileMeta],
        batch_rows: int,
        wanted: Ints,
    ) -> Iterator[pa.RecordBatch]:
        """A column of which the newest file of each row has the value; NULL where none has."""
        owner = np.full(group.row_count, -1, np.int32)
        aged = newest_first(files)[::-1]
        for number, file in enumerate(aged):
            owner[first_id(file) - group.first_row_id : end_id(file) - group.first_row_id] = number
        owner = owner[wanted]
        cuts = [0, *(np.flatnonzero(np.diff(owner)) + 1).tolist(), len(wanted)]
        request = FileRequest((field,))
        for start, end in pairwise(cuts):
            if owner[start] < 0:
                yield from empty_batches(arrow_schema((field,)), end - start, batch_rows)
                continue
            file = aged[owner[start]]
            rows = wanted[start:end] - (first_id(file) - group.first_row_id)
            stored = self._stored(split, file, request, None if len(rows) == file.row_count else rows)
            yield from read_file(self.files.table.file_io, stored, request, batch_rows)

    def _stored(
        self, split: Split, file: DataFileMeta, request: FileRequest, selected: Ints | None = None
    ) -> StoredFile:
        table = self.files.table
        schema = schema_of_file(table.schema, table.schemas, file.schema_id, request.fields)
        legacy_ltz = table.settings.files.orc_legacy_ltz
        path = data_file_path(split.bucket_path, file)
        return StoredFile(path, file, schema, self.files.partition(split), None, legacy_ltz, None, selected)

    def _blob_column(
        self, split: Split, group: ColumnFiles, field: DataField, files: Sequence[DataFileMeta], closing: ExitStack
    ) -> BlobColumn:
        placed = [
            BlobFile(
                data_file_path(split.bucket_path, file),
                file.file_size,
                first_id(file) - group.first_row_id,
                file.row_count,
            )
            for file in newest_first(files)[::-1]
        ]
        table, as_descriptors = self.files.table, self.files.table.settings.blob_as_descriptor
        return BlobColumn(table.file_io, placed, group.row_count, as_descriptors, closing, field.type)


def _constant(field: DataField, partition: Mapping[str, Any]) -> pa.Scalar:
    """The value of a column that no file has: that of the partition, of files that were imported from Hive, or NULL."""
    return from_internal([partition.get(field.name)], field.type)[0]


def _side_by_side(
    streams: Sequence[Iterator[pa.RecordBatch]], row_count: int, batch_rows: int
) -> Iterator[tuple[int, dict[str, pa.Array]]]:
    """The columns of several streams of the same rows, in pieces that all of them have; the number of the first row.

    Raises:
        CorruptFile: a stream ends early.
    """
    held: list[pa.RecordBatch | None] = [None] * len(streams)
    first = 0
    while first < row_count:
        for number, stream in enumerate(streams):
            while (batch := held[number]) is None or not batch.num_rows:
                held[number] = next(stream, None)
                if held[number] is None:
                    raise CorruptFile(f"reading columns of {row_count} rows: one of their files ends after {first}")
        count = min([row_count - first, batch_rows, *(batch.num_rows for batch in held if batch is not None)])
        arrays: dict[str, pa.Array] = {}
        for number, batch in enumerate(held):
            if batch is not None:
                arrays |= dict(zip(batch.schema.names, batch.slice(0, count).columns, strict=True))
                held[number] = batch.slice(count)
        yield first, arrays
        first += count
    for stream in streams:
        next(stream, None)  # whoever promised so many rows checks it at the end


def _wanted_rows(split: Split, section: Section, group: ColumnFiles) -> Ints:
    """The numbers of the rows of a section that may be wanted, as an index has them, or of all."""
    selection = split.selections.get(selection_name(section))
    return np.arange(group.row_count) if selection is None else decode_rows(selection)


def _without(batch: pa.RecordBatch, deleted: Ints | None) -> pa.RecordBatch:
    rows = batch.column(POSITION).to_numpy()
    if deleted is None or not len(rows):
        return batch
    near = deleted[np.searchsorted(deleted, rows[0]) : np.searchsorted(deleted, rows[-1], "right")]
    if not len(near):
        return batch
    places = np.searchsorted(near, rows)
    return batch.filter(pa.array(near[np.minimum(places, len(near) - 1)] != rows))


def _pieces(batch: pa.RecordBatch, blobs: Mapping[str, BlobColumn]) -> Iterator[pa.RecordBatch]:
    """A batch in pieces whose blobs may be held at once."""
    pieces = [batch] if batch.num_rows else []
    for column in blobs.values():
        pieces = [
            piece.slice(int(np.searchsorted(rows, some[0])), len(some))
            for piece in pieces
            for rows in (piece.column(POSITION).to_numpy(),)
            for some in column.cut(rows)
        ]
    yield from pieces
