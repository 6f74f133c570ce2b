"""The dictionary of a ``range-bitmap`` index: its keys ascending, in chunks (Java: ChunkedDictionary)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from paimon_spark.format.file_index.byte_reader import ByteReader
from paimon_spark.format.file_index.coded_keys import KeyList
from paimon_spark.format.file_index.keys import Key, KeyForm
from paimon_spark.format.file_index.row_sets import Ints

VERSION = 1


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


def _int32(value: int) -> bytes:
    return value.to_bytes(4, "big", signed=True)
