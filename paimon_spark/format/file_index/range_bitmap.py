"""The ``range-bitmap`` index: a sorted dictionary and bit slices of its codes (format section 9; Java: RangeBitmap)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from paimon_spark.format.file_index.bit_slices import BitSlices
from paimon_spark.format.file_index.byte_reader import ByteReader, bitmap_bytes
from paimon_spark.format.file_index.keys import CodedKeys, Key, KeyForm, KeyList, key_form
from paimon_spark.format.file_index.row_sets import Ints, RowSet, row_set, rows_until
from paimon_spark.format.file_index.settings import RANGE_BITMAP
from paimon_spark.format.types import DataType, Root

VERSION = 1
DEFAULT_CHUNK_SIZE = 16 * 1024
_ONE_KEY_A_CHUNK = {Root.BOOLEAN, Root.TINYINT, Root.SMALLINT}


@dataclass(frozen=True)
class RangeBitmap:
    """For every row that is not null the number of its key among the distinct ones, which are ascending.

    Attributes:
        form: of the keys.
        row_count: of the data file.
        cardinality: how many distinct keys there are.
        ends: the least and the greatest key; None: there is no key.
        dictionary_bytes, slices_bytes: the parts, which are decoded when they are asked for.
    """

    form: KeyForm
    row_count: int
    cardinality: int
    ends: tuple[Any, Any] | None
    dictionary_bytes: ByteReader
    slices_bytes: ByteReader
    _places: dict[Key, tuple[int, bool]] = field(default_factory=dict, compare=False)

    @property
    def present(self) -> RowSet:
        """The rows that are not null."""
        return RowSet() if self.ends is None else self._rows

    @property
    def nulls(self) -> RowSet:
        return rows_until(self.row_count) - self.present

    def equal(self, key: Key) -> RowSet:
        """The rows with this key."""
        if self.ends is None or key < self.ends[0] or key > self.ends[1]:
            return RowSet()
        code, found = self._place(key)
        return self.slices.equal(code) if found else RowSet()

    def below(self, key: Key) -> RowSet:
        """The rows with a lesser key."""
        if self.ends is None or key <= self.ends[0]:
            return RowSet()
        if key > self.ends[1]:
            return self.present
        return self.slices.below(self._place(key)[0])

    def until(self, key: Key, greatest: bool) -> RowSet:
        """The rows with this key, and with all lesser or all greater ones."""
        return self.present - self.below(key) if greatest else self.below(key) | self.equal(key)

    def first_keys(self, count: int, greatest: bool) -> list[Key]:
        """The least keys ascending, or the greatest ones descending, as many as are wanted or as there are."""
        return [] if self.ends is None else self.dictionary.first_keys(count, greatest)

    def first_rows(self, count: int, greatest: bool, among: RowSet) -> tuple[RowSet, RowSet]:
        """The rows with the least or the greatest keys, as BitSlices.first_rows."""
        return (RowSet(), RowSet()) if self.ends is None else self.slices.first_rows(count, greatest, among)

    def may_hold(self, low: Any, high: Any) -> bool:
        """False: no row has a key from low to high. None: there is no such bound."""
        if self.ends is None or (low is not None and high is not None and low > high):
            return False
        least, greatest = self.ends
        if (low is not None and low > greatest) or (high is not None and high < least):
            return False
        if low is None or low <= least or high is None or high >= greatest:
            return True
        upto, found = self._place(high)
        return upto + found > self._place(low)[0]

    def _place(self, key: Key) -> tuple[int, bool]:
        if key not in self._places:
            self._places[key] = self.dictionary.place(key)
        return self._places[key]

    @cached_property
    def dictionary(self) -> RangeDictionary:
        return open_dictionary(self.dictionary_bytes, self.form)

    @cached_property
    def _rows(self) -> RowSet:
        """The rows that are not null; of the slices no more is read."""
        if "slices" in self.__dict__:
            return self.slices.rows
        self.slices_bytes.position = 0
        _, rows_length, _ = _slices_header(self.slices_bytes)
        return self.slices_bytes.part(self.slices_bytes.position, rows_length).last_bitmap()

    @cached_property
    def slices(self) -> BitSlices:
        """The codes of the rows."""
        return _decode_codes(self.slices_bytes)


def open_range_bitmap(reader: ByteReader, data_type: DataType) -> RangeBitmap:
    """The index that begins at the reader's position; only its head is read.

    Raises:
        CorruptFile: the head is damaged.
        UnsupportedFeature: a type that the index cannot hold.
    """
    form = key_form(data_type, RANGE_BITMAP)
    header = _header(reader)
    header.version(VERSION)
    row_count, cardinality = header.int32(), header.int32()
    ends = (form.decode(header), form.decode(header)) if cardinality > 0 else None
    length = header.int32()
    dictionary = reader.part(reader.position, length)
    start = reader.position + length
    slices = reader.part(start, reader.rest - length)
    return RangeBitmap(form, row_count, cardinality, ends, dictionary, slices)


def write_range_bitmap(column: CodedKeys, chunk_size: int | None = None) -> bytes:
    """The index of a column.

    Args:
        column: the keys of all rows.
        chunk_size: option ``chunk-size`` in bytes: how many bytes of keys follow the first key of a chunk.
    """
    form, count = column.form, len(column.keys)
    if chunk_size is None:
        chunk_size = 0 if form.data_type.root in _ONE_KEY_A_CHUNK else DEFAULT_CHUNK_SIZE
    dictionary = encode_dictionary(form, column.keys, chunk_size)
    ends = b"".join(form.encode(key) for key in (column.key_at(0), column.key_at(-1))) if count else b""
    header = bytes([VERSION]) + _int32(column.row_count) + _int32(count) + ends + _int32(len(dictionary))
    # without a value the Java writer has the greatest code -1, which takes all 64 slices
    slice_count = max(1, (count - 1).bit_length()) if count else 64
    return _with_length(header) + dictionary + _encode_codes(column, slice_count)


def _int32(value: int) -> bytes:
    return value.to_bytes(4, "big", signed=True)


def _with_length(header: bytes) -> bytes:
    return _int32(len(header)) + header


def _header(reader: ByteReader) -> ByteReader:
    """The header that begins here, after its length; the reader then stands behind it."""
    length = reader.int32()
    header = reader.part(reader.position, length)
    reader.position += length
    return header


def _decode_codes(reader: ByteReader) -> BitSlices:
    reader.position = 0
    reader = reader.loaded()  # all of it is needed
    slice_count, rows_length, header = _slices_header(reader)
    body = reader.position
    rows = reader.part(body, rows_length).last_bitmap()
    slices = []
    for _ in range(slice_count):
        offset, length = header.int32(), header.int32()
        slices.append(reader.part(body + rows_length + offset, length).last_bitmap())
    return BitSlices(rows, slices)


def _slices_header(reader: ByteReader) -> tuple[int, int, ByteReader]:
    """How many slices there are, and of which length the bitmap of all rows; what tells where the slices are."""
    header = _header(reader)
    header.version(VERSION)
    slice_count, rows_length = header.byte(), header.int32()
    header.int32()
    return slice_count, rows_length, header


def _encode_codes(column: CodedKeys, slice_count: int) -> bytes:
    rows = bitmap_bytes(row_set(np.flatnonzero(column.codes >= 0)))
    slices = [bitmap_bytes(members) for members in column.slices(slice_count)]
    places, offset = bytearray(), 0
    for raw in slices:
        places += _int32(offset) + _int32(len(raw))
        offset += len(raw)
    header = bytes([VERSION, slice_count]) + _int32(len(rows)) + _int32(len(places)) + bytes(places)
    return _with_length(header) + rows + b"".join(slices)


@dataclass(frozen=True)
class RangeDictionary:
    """Finds the numbers of keys; of the chunks only those are read that are looked into.

    Attributes:
        form: of the keys.
        offsets: where the header of each chunk begins.
        chunks: the headers of the chunks.
        area: the keys of all chunks but their first ones.
    """

    form: KeyForm
    offsets: Sequence[int]
    chunks: ByteReader
    area: ByteReader
    _decoded: dict[int, Ints] = field(default_factory=dict, compare=False)

    def place(self, key: Key) -> tuple[int, bool]:
        """How many keys are less than the key, and whether it is there itself."""
        number = bisect_right(self._first_keys, key) - 1
        if number < 0:
            return 0, False
        first, code, offset, further, rest = self._header(number)
        if key == first:
            return code, True
        if self.form.width is None:
            others: Any = self._texts(offset, further, rest)
            before = bisect_left(others, key)
        else:
            others = self._decoded.get(number)  # both ends of a range are often in one chunk
            if others is None:
                others = self.form.decode_all(self.area.part(offset, rest.int32()).take(further * self.form.width))
                self._decoded[number] = others
            before = int(np.searchsorted(others, key))
        return code + 1 + before, before < further and bool(others[before] == key)

    def keys(self) -> list[Key]:
        """All keys. Raises CorruptFile if the chunks do not follow each other."""
        keys: list[Key] = []
        for number in range(len(self.offsets)):
            code = self._header(number)[1]
            if code != len(keys):
                raise self.chunks.corrupt(f"a chunk of its dictionary begins with code {code}, not {len(keys)}")
            keys.extend(self.keys_of(number))
        return keys

    def first_keys(self, count: int, greatest: bool) -> list[Key]:
        """The least keys ascending, or the greatest ones descending, as many as are wanted or as there are."""
        keys: list[Key] = []
        for number in reversed(range(len(self.offsets))) if greatest else range(len(self.offsets)):
            if len(keys) >= count:
                break
            of_chunk = self.keys_of(number)
            keys += reversed(of_chunk) if greatest else of_chunk
        return keys[:count]

    def first_key(self, number: int) -> Key:
        """The first key of a chunk."""
        return self.form.decode(self._chunk(number))

    def keys_of(self, number: int) -> list[Any]:
        """The keys of a chunk, ascending."""
        first, _, offset, further, rest = self._header(number)
        if self.form.width is None:
            return [first, *self._texts(offset, further, rest)]
        raw = self.area.part(offset, rest.int32()).take(further * self.form.width)
        return [first, *self.form.decode_all(raw).tolist()]

    @cached_property
    def _first_keys(self) -> _FirstKeys:
        return _FirstKeys(self)

    def _texts(self, offset: int, further: int, rest: ByteReader) -> _Texts:
        """The further keys of a chunk, whose key area begins at offset; rest: of the header."""
        places_length, keys_length = rest.int32(), rest.int32()
        places = self.area.part(offset, places_length).take(further * 4)
        return _Texts(self.form, np.frombuffer(places, ">i4"), self.area.part(offset + places_length, keys_length))

    def _header(self, number: int) -> tuple[Key, int, int, int, ByteReader]:
        """The first key of a chunk, its number, where its further keys begin, how many, and what follows."""
        chunk = self._chunk(number)
        return self.form.decode(chunk), chunk.int32(), chunk.int32(), chunk.int32(), chunk

    def _chunk(self, number: int) -> ByteReader:
        """The header of a chunk, from its first key on."""
        chunk = self.chunks.after(self.offsets[number])
        chunk.version(VERSION)
        return chunk


@dataclass(frozen=True)
class _Texts(Sequence[Any]):
    """Keys of any length, decoded when they are asked for."""

    form: KeyForm
    places: np.ndarray[tuple[int], np.dtype[np.int32]]
    area: ByteReader

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, number: Any) -> Any:
        place = int(self.places[number])
        return self.form.decode(self.area.part(place, self.area.rest - place))


@dataclass(frozen=True)
class _FirstKeys:
    """The first keys of the chunks as a sequence to search in."""

    dictionary: RangeDictionary
    _known: dict[int, Key] = field(default_factory=dict, compare=False)  # searches look at the same ones first

    def __len__(self) -> int:
        return len(self.dictionary.offsets)

    def __getitem__(self, number: int) -> Any:
        if number not in self._known:
            self._known[number] = self.dictionary.first_key(number)
        return self._known[number]


def open_dictionary(reader: ByteReader, form: KeyForm) -> RangeDictionary:
    """The dictionary that the reader holds. Raises CorruptFile if its head is damaged."""
    length = reader.int32()
    header = reader.part(reader.position, length)
    reader.position += length
    header.version(VERSION)
    count, offsets_length, chunks_length = header.int32(), header.int32(), header.int32()
    places = reader.part(reader.position, offsets_length)
    offsets = np.frombuffer(places.take(4 * count), ">i4").tolist()
    chunks = reader.part(reader.position + offsets_length, chunks_length).loaded()
    start = reader.position + offsets_length + chunks_length
    return RangeDictionary(form, offsets, chunks, reader.part(start, reader.rest - (start - reader.position)))


def encode_dictionary(form: KeyForm, keys: KeyList, chunk_size: int) -> bytes:
    """Chunks of keys: the first in the chunk's header, the others in an area behind all headers.

    Args:
        form: of the keys.
        keys: ascending.
        chunk_size: how many bytes of keys, and of their places, follow the first key of a chunk.
    """
    if isinstance(keys, np.ndarray) and form.width is not None:
        return _of_fixed_width(form, keys, chunk_size)
    offsets, chunks, area = bytearray(), bytearray(), bytearray()
    code = 0
    while code < len(keys):
        places, further = bytearray(), bytearray()
        first = code
        code += 1
        while code < len(keys):
            key = form.encode(keys[code])
            if len(further) + len(key) > chunk_size or len(places) + 4 > chunk_size:
                break
            places += _int32(len(further))
            further += key
            code += 1
        offsets += _int32(len(chunks))
        chunks += bytes([VERSION]) + form.encode(keys[first]) + _int32(first) + _int32(len(area))
        chunks += _int32(code - first - 1) + _int32(len(places)) + _int32(len(further))
        area += places + further
    return _joined(offsets, chunks, area)


def _of_fixed_width(form: KeyForm, keys: np.ndarray[tuple[int], np.dtype[np.int64]], chunk_size: int) -> bytes:
    width = form.width or 1
    raw = form.encode_all(keys)
    offsets, chunks, area = bytearray(), bytearray(), bytearray()
    of_chunk = 1 + chunk_size // width
    for first in range(0, len(keys), of_chunk):
        end = min(first + of_chunk, len(keys))
        further = raw[(first + 1) * width : end * width]
        offsets += _int32(len(chunks))
        chunks += bytes([VERSION]) + raw[first * width : (first + 1) * width] + _int32(first) + _int32(len(area))
        chunks += _int32(end - first - 1) + _int32(len(further)) + _int32(width)
        area += further
    return _joined(offsets, chunks, area)


def _joined(offsets: bytearray, chunks: bytearray, area: bytearray) -> bytes:
    header = bytes([VERSION]) + _int32(len(offsets) // 4) + _int32(len(offsets)) + _int32(len(chunks))
    return b"".join((_int32(len(header)), header, offsets, chunks, area))
