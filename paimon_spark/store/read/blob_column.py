"""The values of one BLOB column of some rows, which lie in files of their own (Java: BlobFallbackRecordReader)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow import kernels as pc
from paimon_spark.arrow.types import arrow_type
from paimon_spark.errors import CorruptFile, DataError, MissingFile
from paimon_spark.file_io import FileIO
from paimon_spark.file_io.base import check_size
from paimon_spark.format.blob_file import (
    FRAME,
    HEAD,
    NULL,
    PLACEHOLDER,
    TAIL,
    BlobDescriptor,
    check_entries,
    decode_index,
    index_length,
)
from paimon_spark.format.blob_nested import Place, ReadValue, decode_array, decode_map
from paimon_spark.format.options.option import MB
from paimon_spark.format.types import DataType, Root

Ints = npt.NDArray[np.int64]
_AT_ONCE = 32 * MB
"""Bytes of values in one batch, unless one value has more."""
_LARGEST = 2**31 - 1
_BLOB = DataType(Root.BLOB)
_DESCRIPTOR_PLACE = np.dtype([("offset", "<i8"), ("length", "<i8")])


@dataclass(frozen=True)
class BlobFile:
    """A file of the column.

    Attributes:
        path: of the file.
        size: its bytes.
        first: which of the rows its first one is.
        row_count: how many rows it has.
    """

    path: str
    size: int
    first: int
    row_count: int


@dataclass(frozen=True)
class BlobColumn:
    """The values of a column. The bytes of a value are read when they are asked for; keeps its files open.

    Attributes:
        file_io: the store of the files.
        files: those of the column, the oldest first.
        row_count: how many rows there are. A row that no file has is NULL.
        as_descriptors: whether the values are references to the bytes instead of them.
        closing: closes the files.
        data_type: of the column: BLOB, or an array or map of them.
    """

    file_io: FileIO
    files: Sequence[BlobFile]
    row_count: int
    as_descriptors: bool
    closing: ExitStack
    data_type: DataType = _BLOB

    def cut(self, rows: Ints) -> Iterator[Ints]:
        """Rows in pieces whose values have about as many bytes as may be held at once."""
        if self.as_descriptors:
            yield rows
            return
        of_file, _, lengths = self.places
        sizes = np.where(of_file[rows] < 0, 0, lengths[rows])
        start, ends = 0, np.cumsum(sizes)
        while start < len(rows):
            before = ends[start - 1] if start else 0
            stop = max(int(np.searchsorted(ends, before + _AT_ONCE, "right")), start + 1)
            yield rows[start:stop]
            start = stop

    def values(self, rows: Ints) -> pa.Array:
        """The values of some ascending rows.

        Raises:
            CorruptFile: a file is damaged.
            DataError: a value is too long for memory.
        """
        if self.data_type.root is Root.BLOB:
            return self._plain(rows)
        made = self._nested_places(rows) if self.as_descriptors else self._nested_values(rows)
        return pa.array(list(made), arrow_type(self.data_type))

    def _nested_values(self, rows: Ints) -> Iterator[Any]:
        """Arrays or maps of the bytes, whose entries are read together."""
        of_file = self.places[0]
        for number, value in zip(of_file[rows].tolist(), self._plain(rows), strict=True):
            if not value.is_valid:
                yield None
                continue
            data = memoryview(value.as_buffer())

            def part(start: int, size: int, data: memoryview = data) -> bytes:
                return bytes(data[start : start + size])

            def element(place: Place, data: memoryview = data) -> bytes:
                return bytes(data[place[0] : place[0] + place[1]])

            yield self._decoded(part, len(data), self.files[number].path, element)

    def _nested_places(self, rows: Ints) -> Iterator[Any]:
        """Arrays or maps of references: only what tells the places of the bytes is read."""
        of_file, starts, lengths = (array[rows].tolist() for array in self.places)
        for number, start, length in zip(of_file, starts, lengths, strict=True):
            if number < 0:
                yield None
                continue
            path, begin = self.files[number].path, start + HEAD

            def part(offset: int, size: int, number: int = number, begin: int = begin) -> bytes:
                check_size(size, self.files[number].path)
                return self.read(number, begin + offset, size) if size else b""

            def reference(place: Place, path: str = path, begin: int = begin) -> bytes:
                return BlobDescriptor(path, begin + place[0], place[1]).encode()

            yield self._decoded(part, length - FRAME, path, reference)

    def _decoded(self, read: ReadValue, size: int, path: str, element: Callable[[Place], bytes]) -> Any:
        if self.data_type.root is Root.ARRAY:
            return [None if place is None else element(place) for place in decode_array(read, size, path)]
        entries = decode_map(read, size, self.data_type.key_type, path)
        return [(key, None if place is None else element(place)) for key, place in entries]

    def _plain(self, rows: Ints) -> pa.Array:
        """The bytes of the entries of some ascending rows, or references to them."""
        of_file, starts, lengths = self.places
        found = of_file[rows]
        pieces: list[pa.Array] = []
        order: list[Ints] = []
        for number in np.unique(found[found >= 0]).tolist():
            mine = np.flatnonzero(found == number)
            of_mine = rows[mine]
            pieces += self._of_file(number, starts[of_mine], lengths[of_mine])
            order.append(mine)
        if not pieces:
            return pa.nulls(len(rows), pa.binary())
        joined = pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)
        places = np.full(len(rows), -1, np.int64)
        places[np.concatenate(order)] = np.arange(len(joined))
        return joined.take(pa.array(places, mask=places < 0))

    def _of_file(self, number: int, starts: Ints, lengths: Ints) -> list[pa.Array]:
        if self.as_descriptors and self.data_type.root is Root.BLOB:
            return [_descriptors(self.files[number].path, starts + HEAD, lengths - FRAME)]
        if len(lengths) and lengths.max() > _LARGEST:
            raise DataError(
                f"reading the blob file {self.files[number].path}: a value has {lengths.max() - FRAME:,} bytes, too "
                "many to be one value; read with 'blob-as-descriptor' = 'true', which gives the places of the bytes"
            )
        gaps = np.flatnonzero(starts[1:] != starts[:-1] + lengths[:-1]) + 1
        bounds = [0, *gaps.tolist(), len(starts)]
        return [self._entries(number, starts[a:b], lengths[a:b]) for a, b in pairwise(bounds)]

    def _entries(self, number: int, starts: Ints, lengths: Ints) -> pa.Array:
        """The values of neighbouring entries, in one read."""
        size = int(lengths.sum())
        data = self.read(number, int(starts[0]), size)
        check_entries(data, lengths, self.files[number].path)
        offsets = np.concatenate((starts - starts[0], [size]))
        whole = pa.Array.from_buffers(
            pa.large_binary(), len(starts), [None, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(data)]
        )
        return pc.binary_slice(whole, HEAD, HEAD - FRAME).cast(pa.binary())

    @cached_property
    def _opened(self) -> dict[int, IO[bytes]]:
        return {}

    def read(self, number: int, offset: int, size: int) -> bytes:
        """Some bytes of one of the files.

        Raises:
            MissingFile, CorruptFile: it does not have them.
        """
        file = self.files[number]
        try:
            if number not in self._opened:
                self._opened[number] = self.closing.enter_context(self.file_io.open_input(file.path, file.size))
            source = self._opened[number]
            source.seek(offset)
            data = source.read(size)
        except FileNotFoundError:  # object stores report it only when reading
            raise MissingFile(
                f"reading the blob file {file.path}: it does not exist. If the snapshot that names it has just "
                "expired, read a newer one; else the table is damaged: restore the file",
                file.path,
            ) from None
        if len(data) != size:
            raise CorruptFile(
                f"reading the blob file {file.path}: it ends within the {size} bytes from {offset} on; restore it from "
                "a copy"
            )
        return bytes(data)

    @cached_property
    def places(self) -> tuple[npt.NDArray[np.int32], Ints, Ints]:
        """For each row the number of the file that has its value, or -1 for NULL, and where its entry is there."""
        of_file = np.full(self.row_count, -1, np.int32)
        starts, lengths = np.zeros(self.row_count, np.int64), np.zeros(self.row_count, np.int64)
        for number, file in enumerate(self.files):
            of_rows = slice(file.first, file.first + file.row_count)
            new_lengths, new_starts = self._index(number, file)
            known = new_lengths != PLACEHOLDER
            of_file[of_rows][known] = np.where(new_lengths[known] == NULL, -1, number)
            starts[of_rows][known], lengths[of_rows][known] = new_starts[known], new_lengths[known]
        return of_file, starts, lengths

    def _index(self, number: int, file: BlobFile) -> tuple[Ints, Ints]:
        if file.size < TAIL:
            raise CorruptFile(f"reading the blob file {file.path}: it has {file.size} bytes; restore it from a copy")
        length = index_length(self.read(number, file.size - TAIL, TAIL), file.path)
        check_size(length, file.path)
        start = file.size - TAIL - length
        if start < 0:
            raise CorruptFile(f"reading the blob file {file.path}: its index is longer than the file; restore it")
        return decode_index(self.read(number, start, length), start, file.row_count, file.path)


def _descriptors(path: str, offsets: Ints, lengths: Ints) -> pa.Array:
    """References to bytes in one file: only offset and length differ, at their ends."""
    first = BlobDescriptor(path, 0, 0).encode()
    places = np.empty(len(offsets), _DESCRIPTOR_PLACE)
    places["offset"], places["length"] = offsets, lengths
    raw = np.tile(np.frombuffer(first, np.uint8), (len(offsets), 1))
    raw[:, -_DESCRIPTOR_PLACE.itemsize :] = places.view(np.uint8).reshape(len(offsets), -1)
    ends = np.arange(len(offsets) + 1, dtype=np.int32) * len(first)
    return pa.Array.from_buffers(pa.binary(), len(offsets), [None, pa.py_buffer(ends), pa.py_buffer(raw.tobytes())])
