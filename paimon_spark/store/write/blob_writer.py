"""Writes the values of one BLOB column to files of their own (format section 10; Java: MultipleBlobFileWriter)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.errors import CorruptFile, DataError, StorageError
from paimon_spark.file_io import FileIO, OutputStream
from paimon_spark.format.blob_file import (
    FRAME,
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
from paimon_spark.format.types import Root
from paimon_spark.store.metadata.file_paths import FilePlace
from paimon_spark.store.storage.local_time import local_wall_millis, now_millis
from paimon_spark.store.storage.parallel import Background
from paimon_spark.store.storage.referenced import CHUNK, ReferencedFiles
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
        if self._file is not None:
            self._file.flush()  # what waits is a view of these values

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
            parts = _parts(values)
            return lambda file, row: self._add(file, parts[row])
        ends = values.offsets.to_pylist()
        if self._layout.data_type.root is Root.ARRAY:
            parts, has = _parts(values.values), values.values.is_valid().to_pylist()

            def add_array(file: _OpenFile, row: int) -> None:
                numbers = range(ends[row], ends[row + 1])
                elements = [parts[number] if has[number] else None for number in numbers]
                self._add_nested(file, begin_array(len(elements)), elements, end_array)

            return add_array
        keys, key_type = values.keys.to_pylist(), self._layout.data_type.key_type
        parts, has = _parts(values.items), values.items.is_valid().to_pylist()

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
        self.files.append(replace(meta, external_path=file.place.external_path))


def _parts(values: pa.Array) -> list[memoryview]:
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
