"""Writes the data files of one bucket, rolled at a target size (Java: RollingFileWriter, KeyValueDataFileWriter)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.formats.data_file import open_writer
from paimon_spark.arrow.formats.file_access import FileWriter
from paimon_spark.arrow.raw_values import to_numpy
from paimon_spark.arrow.types import to_internal
from paimon_spark.errors import StorageError
from paimon_spark.file_io import FileIO, OutputStream
from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.blob_file import BLOB
from paimon_spark.format.managed_blobs import LIST_SUFFIX, PACK, Pack, encode_packs
from paimon_spark.format.manifest import EMPTY_ROW, DataFileMeta
from paimon_spark.format.paths import INDEX_SUFFIX, marked_name
from paimon_spark.format.row_kind import DELETE, UPDATE_BEFORE
from paimon_spark.format.schema import SEQUENCE_NUMBER, VALUE_KIND
from paimon_spark.store.metadata.file_paths import BucketPlaces, FilePlace
from paimon_spark.store.storage.local_time import local_wall_millis, now_millis
from paimon_spark.store.storage.parallel import Background
from paimon_spark.store.storage.referenced import packs_of
from paimon_spark.store.write.blob_writer import BlobPacks, BlobWriter
from paimon_spark.store.write.file_layout import FileLayout, Numbering

if TYPE_CHECKING:
    from paimon_spark.arrow.file_index.builder import FileIndexBuilder

SLICE_ROWS = 1 << 16
_LEAST_SLICE_ROWS = 1 << 10
SHORT_BYTES = 1 << 18
"""Rows of so many bytes are encoded, and a file of so many is made durable, in about the time that a thread starts."""
MOST_SHORT = 8
"""Of jobs that encode so few rows."""


class _Indexing:
    """Makes the index of a file in a thread of its own, while the rows are encoded."""

    def __init__(self, builder: FileIndexBuilder) -> None:
        self._builder = builder
        self._thread = Background(limit=2)

    def add(self, part: pa.RecordBatch) -> None:
        self._thread.run(partial(self._builder.add, part))

    def finish(self) -> bytes:
        """The index of all rows. Raises what the thread raised."""
        try:
            self._thread.wait()
            return self._builder.to_bytes()
        finally:
            self._thread.stop()

    def stop(self) -> None:
        """Abandons the index."""
        self._thread.stop()


@dataclass
class _OpenFile:
    """A file being written, and the metadata of its rows so far."""

    name: str
    place: FilePlace
    stream: OutputStream
    writer: FileWriter
    index: _Indexing | None
    rows: int = 0
    min_sequence: int = 2**63 - 1
    max_sequence: int = -(2**63)
    has_unnumbered: bool = False
    deletes: int = 0
    min_key: bytes = EMPTY_ROW
    max_key: bytes = EMPTY_ROW
    packs: set[Pack] = field(default_factory=set)


class BucketWriter:
    """Writes the rows of one (partition, bucket) in order, into files of about the target size.

    Attributes:
        files: the metadata of the completed files, in order; they are durable when ``closing`` has done its jobs.
        begun: the path of every file, appended before the file is made.
    """

    def __init__(
        self,
        file_io: FileIO,
        layout: FileLayout,
        places: BucketPlaces,
        new_name: Callable[[str], str],
        closing: Background,
        first_sequence: int = 0,
    ) -> None:
        """Creates no file yet.

        Args:
            file_io: where to write.
            layout: of the files.
            places: of the files of the bucket.
            new_name: gives a file name that no file has, for the format of the file.
            closing: makes finished files durable concurrently.
            first_sequence: the number of the first row; only for files without sequence numbers of their own.
        """
        self.files: list[DataFileMeta] = []
        self.begun: list[str] = []
        self._file_io = file_io
        self._layout = layout
        self._places = places
        self._settings = layout.settings.of_one_writer()
        self._new_name = new_name
        self._closing = closing
        self._sequence = first_sequence
        self._file: _OpenFile | None = None
        self._blobs = [
            BlobWriter(file_io, places.location, blob, partial(self._begin, BLOB), closing) for blob in layout.blobs
        ]
        self._packs: BlobPacks | None = None
        if layout.fills_packs:
            self._packs = BlobPacks(file_io, places.location, layout.packs, partial(self._begin, PACK), closing)
        self._vectors: BucketWriter | None = None
        if layout.vectors is not None:
            self._vectors = BucketWriter(file_io, layout.vectors, places, new_name, closing)
            self._vectors.begun = self.begun

    def write(self, batch: pa.RecordBatch) -> None:
        """Appends rows.

        Args:
            batch: in the columns of ``layout.file_fields``; sorted by key if the layout has keys, also across calls.
                Also the columns of ``layout.blobs`` and ``layout.vectors``, where there are some, anywhere among them.

        Raises:
            CorruptFile, MissingFile, UnsupportedFeature, DataError: as of BlobWriter.write.
        """
        if self._packs is not None:
            batch = self._packs.with_references(batch)
        names = self._layout.arrow.names
        is_wider = bool(self._blobs) or self._vectors is not None
        start, at_once = 0, self._rows_at_once(batch.select(names) if is_wider else batch)
        while start < batch.num_rows:
            file = self._file or self._open()
            part = batch.slice(start, min(at_once, self._layout.target_rows - file.rows))
            for layout, blob in zip(self._layout.blobs, self._blobs, strict=True):
                blob.write(part.column(layout.column))
            if self._vectors is not None and self._layout.vectors is not None:
                self._vectors.write(part.select(self._layout.vectors.arrow.names))
            part = part.select(names) if is_wider else part
            if file.index is not None:
                file.index.add(part)
            file.writer.write(part)
            self._note(file, part)
            start += part.num_rows
            if file.rows >= self._layout.target_rows or file.writer.bytes_estimate >= self._layout.target_bytes:
                self._finish(file)

    def end_file(self) -> None:
        """Completes the open file, if there is one; the next rows begin another."""
        if self._packs is not None:
            self._packs.end_files()
        if self._file is not None:
            self._finish(self._file)

    def discard(self) -> None:
        """Abandons the open file. Raises nothing: the caller deletes all files by name, and reports errors."""
        for blob in (*self._blobs, *(() if self._packs is None else (self._packs,))):
            blob.discard()
        if self._vectors is not None:
            self._vectors.discard()
        if self._file is not None:
            if self._file.index is not None:
                self._file.index.stop()
            with suppress(StorageError):
                self._file.stream.discard()
            self._file = None

    def _open(self) -> _OpenFile:
        name, place = self._begin(self._layout.file_format)
        stream = self._file_io.open_output(place.path)
        try:
            writer = open_writer(stream, self._layout.file_format, self._layout.file_fields, self._settings)
        except BaseException:
            stream.discard()
            raise
        self._file = _OpenFile(name, place, stream, writer, self._new_index())
        return self._file

    def _begin(self, file_format: str) -> tuple[str, FilePlace]:
        """Name and place of a new file."""
        name = self._new_name(file_format)
        if self._layout.mark:
            name = marked_name(name, self._layout.prefix, self._layout.mark)
        place = self._places.data_file(name)
        self.begun.append(place.path)
        return name, place

    def _rows_at_once(self, batch: pa.RecordBatch) -> int:
        """The number of rows to write before checking the size of the file: for wide rows at most those of one file."""
        if batch.num_rows <= _LEAST_SLICE_ROWS:
            return SLICE_ROWS
        fill = self._layout.target_bytes * batch.num_rows // max(int(batch.nbytes), 1)
        return min(SLICE_ROWS, max(_LEAST_SLICE_ROWS, int(fill)))

    def _note(self, file: _OpenFile, part: pa.RecordBatch) -> None:
        if self._layout.keys:
            if file.rows == 0:
                file.min_key = self._key(part, 0)
            file.max_key = self._key(part, part.num_rows - 1)
            file.deletes += int(np.isin(to_numpy(part.column(VALUE_KIND)), (UPDATE_BEFORE, DELETE)).sum())
        self._note_sequences(file, part)
        for column in self._layout.packs:
            file.packs.update(packs_of(part.column(column.column), f"column '{column.column}' of {file.name}"))
        file.rows += part.num_rows

    def _note_sequences(self, file: _OpenFile, part: pa.RecordBatch) -> None:
        match self._layout.numbering:
            case Numbering.COUNTED:
                first, last = self._sequence, self._sequence + part.num_rows - 1
                self._sequence = last + 1
            case Numbering.BY_COMMIT:
                first = last = 0
            case _:
                sequences = part.column(SEQUENCE_NUMBER)
                if sequences.null_count:
                    file.has_unnumbered = True
                    sequences = sequences.drop_null()
                if not len(sequences):
                    return
                numbers = to_numpy(sequences)
                first, last = int(numbers.min()), int(numbers.max())
        file.min_sequence = min(file.min_sequence, first)
        file.max_sequence = max(file.max_sequence, last)

    def _key(self, part: pa.RecordBatch, row: int) -> bytes:
        """The key of a row, or where the rows are sorted by other columns the values of these."""
        fields = self._layout.sorted_by or self._layout.keys
        names = [field.name for field in fields] if self._layout.sorted_by else self._layout.key_names
        return encode_arity_row([to_internal(part.column(name)[row]) for name in names], [f.type for f in fields])

    def _finish(self, file: _OpenFile) -> None:
        file.writer.close()
        size = file.stream.tell()
        self._closing.run(file.stream.close, is_short=size <= SHORT_BYTES)
        self._file = None
        self.files.append(self._with_packs(file, self._with_index(file, self._meta(file, size))))
        parts: list[BlobWriter | BucketWriter] = [*self._blobs]
        if self._vectors is not None:
            parts.append(self._vectors)
        for part in parts:
            part.end_file()  # its rows are those of this file
            self.files += part.files
            part.files.clear()

    def _new_index(self) -> _Indexing | None:
        """Makes the indexes of one file; None: it gets none. Most tables have none, so this is imported late."""
        if not self._layout.indexes:
            return None
        from paimon_spark.arrow.file_index.builder import FileIndexBuilder

        fields = {field.name: field for field in self._layout.values}
        return _Indexing(FileIndexBuilder(self._layout.indexes, fields))

    def _with_index(self, file: _OpenFile, meta: DataFileMeta) -> DataFileMeta:
        """The metadata with the index of the file, or with the name of the file that gets it."""
        if file.index is None:
            return meta
        data = file.index.finish()
        if len(data) <= self._layout.most_embedded:
            return meta._replace(embedded_index=data)
        return self._with_file_beside(file, meta, INDEX_SUFFIX, data)

    def _with_packs(self, file: _OpenFile, meta: DataFileMeta) -> DataFileMeta:
        """The metadata with the name of the list of packs, which each file of a table with packs has."""
        if not self._layout.packs:
            return meta
        return self._with_file_beside(file, meta, LIST_SUFFIX, encode_packs(file.packs))

    def _with_file_beside(self, file: _OpenFile, meta: DataFileMeta, suffix: str, data: bytes) -> DataFileMeta:
        """The metadata with one more file, which is written concurrently."""
        path = f"{file.place.path}{suffix}"
        self.begun.append(path)
        self._closing.run(partial(self._file_io.write_bytes, path, data))
        return meta._replace(extra_files=(*meta.extra_files, f"{file.name}{suffix}"))

    def _meta(self, file: _OpenFile, size: int) -> DataFileMeta:
        found = file.writer.stats()
        value_stats, value_columns = self._layout.value_stats(found)
        return DataFileMeta(
            file_name=file.name,
            file_size=size,
            row_count=file.rows,
            min_key=file.min_key,
            max_key=file.max_key,
            key_stats=self._layout.key_stats(found),
            value_stats=value_stats,
            min_sequence_number=0 if file.min_sequence > file.max_sequence else file.min_sequence,
            max_sequence_number=0 if file.has_unnumbered else file.max_sequence,
            schema_id=self._layout.schema_id,
            level=self._layout.level,
            creation_time=local_wall_millis(now_millis()),
            delete_row_count=file.deletes,
            file_source=self._layout.source,
            value_stats_cols=value_columns,
            external_path=file.place.external_path,
            write_cols=self._layout.write_cols,
        )


def file_batch(layout: FileLayout, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Rows in the columns of a file with keys; nothing is copied.

    Args:
        layout: has keys.
        rows: all table columns, then ``_SEQUENCE_NUMBER`` and ``_VALUE_KIND``.
    """
    *values, sequences, kinds = rows.columns
    keys = [] if layout.thin else [rows.column(field.name) for field in layout.keys]
    return pa.RecordBatch.from_arrays([*keys, sequences, kinds, *values], schema=layout.arrow)
