"""Writes the values of one BLOB column to files of their own (format section 10; Java: MultipleBlobFileWriter).

In tables with a primary key references take their place, to packs of bytes (Java: PrimaryKeyBlobExternalizer, release
2.0). Java fills packs before it merges the rows of a write, and here after it: a row that another one of the same write
replaces has no bytes in a pack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.raw_values import to_numpy
from paimon_spark.errors import CorruptFile, DataError, StorageError
from paimon_spark.file_io import FileIO, OutputStream
from paimon_spark.format.blob_file import (
    FRAME,
    HEAD,
    MAGIC,
    NULL,
    PLACEHOLDER,
    BlobDescriptor,
    EntryCheck,
    decode_descriptor,
    encode_index,
    entry_trailer,
    is_descriptor,
    is_view,
)
from paimon_spark.format.blob_nested import begin_array, begin_map, encode_key, end_array, end_map
from paimon_spark.format.manifest import EMPTY_ROW, EMPTY_STATS, DataFileMeta, FileSource
from paimon_spark.format.row_kind import is_retract
from paimon_spark.format.schema import VALUE_KIND
from paimon_spark.format.types import DataType, Root
from paimon_spark.store.metadata.file_paths import FilePlace
from paimon_spark.store.storage.local_time import local_wall_millis, now_millis
from paimon_spark.store.storage.parallel import Background
from paimon_spark.store.storage.referenced import CHUNK, ReferencedFiles, elements_of
from paimon_spark.store.write.file_layout import BlobLayout

Mask = npt.NDArray[np.bool_]


@dataclass
class _OpenFile:
    """A file being written: its entries so far, those at the end of them not yet in the stream."""

    name: str
    place: FilePlace
    stream: OutputStream
    size: int = 0
    lengths: list[int] = field(default_factory=list)
    waiting: list[bytes | memoryview] = field(default_factory=list)
    bytes_waiting: int = 0

    def add(self, value: memoryview) -> None:
        """Appends an entry."""
        self._put(MAGIC, value, entry_trailer(value))
        self._note(FRAME + len(value))
        if self.bytes_waiting >= CHUNK:
            self.flush()

    def begin(self) -> None:
        """Begins an entry whose value comes in pieces."""
        self._put(MAGIC)
        self.flush()

    def end(self, check: EntryCheck) -> None:
        """Ends that entry."""
        self._put(check.trailer())
        self._note(check.length)

    def flush(self) -> None:
        """Puts what waits into the stream."""
        for part in [b"".join(self.waiting)] if self.bytes_waiting < 2 * CHUNK else self.waiting:
            self.stream.write(part)
        self.waiting, self.bytes_waiting = [], 0

    def _put(self, *parts: bytes | memoryview) -> None:
        self.waiting += parts
        self.bytes_waiting += sum(map(len, parts))

    def _note(self, length: int) -> None:
        self.lengths.append(length)
        self.size += length


class BlobWriter:
    """Writes the values of one BLOB column of consecutive rows, in order, into files of about the target size.

    A value that is a reference (Java: BlobDescriptor) is written as the bytes that it leads to, which are copied in
    pieces.

    Attributes:
        files: the metadata of the completed files, in order; they are durable when ``closing`` has done its jobs.
    """

    def __init__(
        self, file_io: FileIO, location: str, layout: BlobLayout, create: Callable[[], tuple[str, FilePlace]],
        closing: Background,
    ) -> None:  # fmt: skip
        """Creates no file yet.

        Args:
            file_io: where to write, and where the bytes of references are.
            location: of the table.
            layout: of the files.
            create: gives name and place of a file that is not there.
            closing: makes finished files durable concurrently.
        """
        self.files: list[DataFileMeta] = []
        self._file_io = file_io
        self._location = location
        self._layout = layout
        self._create = create
        self._closing = closing
        self._sources = ReferencedFiles(file_io, location, writes=True)
        self._file: _OpenFile | None = None

    def write(self, values: pa.Array, kept: Mask | None = None) -> None:
        """Appends rows.

        Args:
            values: of the Arrow type of the column.
            kept: rows that keep the value that they have in older files; None: no row does.

        Raises:
            CorruptFile, MissingFile, UnsupportedFeature: the bytes of a reference cannot be read.
            DataError: a value names a row of another table, or is a reference that breaks off.
        """
        if not len(values):
            return
        there = values.is_valid().to_numpy(zero_copy_only=False).tolist()
        keeps = [False] * len(values) if kept is None else kept.tolist()
        add = self._adder(values)
        for row in range(len(values)):  # the format has an entry, and a checksum, for each value
            file = self._file or self._open()
            if keeps[row]:
                file.lengths.append(PLACEHOLDER)
            elif not there[row]:
                file.lengths.append(NULL)
            else:
                add(file, row)
            if file.size >= self._layout.target_bytes:
                self._finish(file)
        self.flush()  # what waits is a view of these values

    def add(self, value: memoryview) -> BlobDescriptor:
        """Appends one value, of a column of packs; the caller ends the file, and keeps the value until then.

        Returns:
            The reference to its bytes.

        Raises:
            CorruptFile, MissingFile, UnsupportedFeature, DataError: as of write.
        """
        file = self._file or self._open()
        start = file.size
        self._add(file, value)
        if file.size >= self._layout.target_bytes:
            self._finish(file)
        return BlobDescriptor(file.place.path, start + HEAD, file.lengths[-1] - FRAME)

    def flush(self) -> None:
        """Puts what waits into the stream, after which values that were given may go."""
        if self._file is not None:
            self._file.flush()

    def end_file(self) -> None:
        """Completes the open file, if there is one; the next rows begin another."""
        if self._file is not None:
            self._finish(self._file)

    def discard(self) -> None:
        """Abandons the open file. Raises nothing: the caller deletes all files by name, and reports errors."""
        self._sources.close()
        if self._file is not None:
            with suppress(StorageError):
                self._file.stream.discard()
            self._file = None

    def _adder(self, values: pa.Array) -> Callable[[_OpenFile, int], None]:
        """Appends the entry of one of the values to a file."""
        if self._layout.data_type.root is Root.BLOB:
            parts = value_parts(values)
            return lambda file, row: self._add(file, parts[row])
        ends = values.offsets.to_pylist()
        if self._layout.data_type.root is Root.ARRAY:
            parts, has = value_parts(values.values), values.values.is_valid().to_pylist()

            def add_array(file: _OpenFile, row: int) -> None:
                numbers = range(ends[row], ends[row + 1])
                elements = [parts[number] if has[number] else None for number in numbers]
                self._add_nested(file, begin_array(len(elements)), elements, end_array)

            return add_array
        keys, key_type = values.keys.to_pylist(), self._layout.data_type.key_type
        parts, has = value_parts(values.items), values.items.is_valid().to_pylist()

        def add_map(file: _OpenFile, row: int) -> None:
            numbers = range(ends[row], ends[row + 1])
            own = [encode_key(keys[number], key_type) for number in numbers]
            elements = [parts[number] if has[number] else None for number in numbers]
            self._add_nested(file, begin_map(own), elements, partial(end_map, own))

        return add_map

    def _add(self, file: _OpenFile, value: memoryview) -> None:
        if not self._is_reference(value):
            file.add(value)
            return
        check = EntryCheck()
        file.begin()
        self._copy(file, value, check)
        file.end(check)

    def _add_nested(
        self, file: _OpenFile, head: bytes, elements: Sequence[memoryview | None], end: Callable[[list[int]], bytes]
    ) -> None:
        """Appends an entry of several values; end makes what comes behind them of their lengths."""
        check, lengths = EntryCheck(), list[int]()
        file.begin()
        self._put(file, head, check)
        for element in elements:
            before = check.length
            if element is None:
                lengths.append(NULL)
                continue
            if self._is_reference(element):
                self._copy(file, element, check)
            else:
                self._put(file, element, check)
            lengths.append(check.length - before)
        self._put(file, end(lengths), check)
        file.end(check)

    def _put(self, file: _OpenFile, piece: bytes | memoryview, check: EntryCheck) -> None:
        check.add(piece)
        file.stream.write(piece)

    def _copy(self, file: _OpenFile, value: memoryview, check: EntryCheck) -> None:
        for piece in self._sources.chunks(self._reference(value)):
            self._put(file, piece, check)

    def _is_reference(self, value: memoryview) -> bool:
        if is_view(value):
            raise DataError(
                f"writing to {self._location}: a value of the column '{self._layout.column}' names a row of another "
                "table, which has its bytes, and only columns of 'blob-view-field' hold such values; write the bytes"
            )
        return is_descriptor(value)

    def _reference(self, value: memoryview) -> BlobDescriptor:
        try:
            return decode_descriptor(bytes(value), f"column '{self._layout.column}'")
        except CorruptFile as error:
            raise DataError(
                f"writing to {self._location}: a value begins as a reference to a blob does, and is none ({error}); "
                "correct the rows, or write the bytes that are meant"
            ) from None

    def _open(self) -> _OpenFile:
        name, place = self._create()
        self._file = _OpenFile(name, place, self._file_io.open_output(place.path))
        return self._file

    def _finish(self, file: _OpenFile) -> None:
        file.flush()
        file.stream.write(encode_index(np.array(file.lengths, np.int64)))
        size = file.stream.tell()
        self._closing.run(file.stream.close)
        self._file = None
        self._sources.close()
        meta = blob_meta(self._layout, file.name, size, len(file.lengths))
        self.files.append(meta._replace(external_path=file.place.external_path))


def value_parts(values: pa.Array) -> list[memoryview]:
    """The bytes of each of some values, which are not copied."""
    _, ends, data = values.buffers()
    offsets = np.frombuffer(ends, np.int32)[values.offset : values.offset + len(values) + 1].tolist() if ends else [0]
    whole = memoryview(b"" if data is None else data)
    return [whole[start:stop] for start, stop in pairwise(offsets)]


def blob_meta(layout: BlobLayout, name: str, size: int, rows: int) -> DataFileMeta:
    """The metadata of a new file of new rows.

    Args:
        layout: of the file.
        name, size, rows: of the file.
    """
    return DataFileMeta(
        file_name=name,
        file_size=size,
        row_count=rows,
        min_key=EMPTY_ROW,
        max_key=EMPTY_ROW,
        key_stats=EMPTY_STATS,
        value_stats=EMPTY_STATS,
        min_sequence_number=0,  # the commit numbers all rows
        max_sequence_number=0,
        schema_id=layout.schema_id,
        level=0,
        creation_time=local_wall_millis(now_millis()),
        delete_row_count=0,
        file_source=FileSource.APPEND,
        value_stats_cols=(),
        write_cols=(layout.column,),
    )


class BlobPacks:
    """The packs of one bucket that are being filled, one for each column."""

    def __init__(
        self, file_io: FileIO, location: str, columns: Iterable[BlobLayout],
        create: Callable[[], tuple[str, FilePlace]], closing: Background,
    ) -> None:  # fmt: skip
        """Creates no file yet; arguments as of BlobWriter."""
        self._writers = {
            column.column: BlobWriter(
                file_io, location, replace(column, data_type=DataType(Root.BLOB)), create, closing
            )
            for column in columns
        }

    def with_references(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows with references to bytes in packs in the place of these bytes, or of other references to them.

        Rows that retract others get none, but for columns that must have a value.

        Args:
            rows: with the column of their kinds.

        Raises:
            CorruptFile, MissingFile, UnsupportedFeature, DataError: as of BlobWriter.write.
        """
        retracts = is_retract(to_numpy(rows.column(VALUE_KIND)))
        for name, writer in self._writers.items():
            place = rows.schema.get_field_index(name)
            field, values = rows.schema.field(place), rows.column(place)
            if field.nullable and retracts.any():
                values = pc.if_else(pa.array(retracts), pa.scalar(None, field.type), values)
            rows = rows.set_column(place, field, _replaced(values, writer))
            writer.flush()
        return rows

    def end_files(self) -> None:
        """Completes the packs; the next values begin others."""
        for writer in self._writers.values():
            writer.end_file()
            writer.files.clear()  # no metadata name packs

    def discard(self) -> None:
        """Abandons the open packs. Raises nothing: the caller deletes all files by name, and reports errors."""
        for writer in self._writers.values():
            writer.discard()


def _replaced(values: pa.Array, writer: BlobWriter) -> pa.Array:
    """References in the place of bytes, also of the elements of arrays and maps."""
    if pa.types.is_binary(values.type):
        return _references(values, writer)
    *keys, elements = elements_of(values)
    entries = _references(elements, writer)
    if keys:
        fields = [values.type.key_field, values.type.item_field]
        entries = pa.StructArray.from_arrays([*keys, entries], fields=fields)
    there = to_numpy(values.is_valid())
    lengths = np.where(there, np.diff(to_numpy(values.offsets)), 0)
    ends = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    validity = pa.array(there).buffers()[1] if values.null_count else None
    buffers = [validity, pa.py_buffer(ends)]
    return pa.Array.from_buffers(values.type, len(values), buffers, values.null_count, 0, [entries])


def _references(values: pa.Array, writer: BlobWriter) -> pa.Array:
    there = values.is_valid().to_pylist()
    parts = value_parts(values)
    made = [writer.add(part).encode() if known else None for part, known in zip(parts, there, strict=True)]
    return pa.array(made, values.type)  # the format has an entry, and a checksum, for each value
