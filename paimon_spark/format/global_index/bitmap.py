"""The files of ``bitmap`` indexes of a whole table (Java: BitmapGlobalIndexFormat, release 2.0).

A bitmap of rows for each key; then blocks of keys, each with the place of its bitmap; the rows that are NULL, and those
that are not; a block with the first key of each block, and a footer. Numbers of the footer are big-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cached_property

from pyroaring import BitMap64

from paimon_spark.format.file_index.byte_reader import Bytes
from paimon_spark.format.file_index.keys import CodedKeys, Key
from paimon_spark.format.global_index.blocks import packed_block, read_block, read_rows, row_numbers, rows_bytes, take
from paimon_spark.format.global_index.btree import key_bounds, sorted_rows
from paimon_spark.format.global_index.file_meta import KeyBounds
from paimon_spark.format.global_index.keys import GlobalKeyForm, Interval
from paimon_spark.format.global_index.numbers import Ints, damaged, varint

BITMAP = "bitmap"
_FOOTER = struct.Struct(">qiqiqiiii")
_VERSION, _MAGIC = 1, 0x42474958


class _Numbers:
    """Numbers and bytes of a block, one after the other."""

    def __init__(self, data: bytes, where: str) -> None:
        self._data, self._where, self._place = data, where, 0

    def number(self) -> int:
        found = shift = 0
        while True:
            if self._place >= len(self._data) or shift > 62:
                raise damaged(self._where, "a number does not end")
            byte = self._data[self._place]
            self._place += 1
            found |= (byte & 127) << shift
            if byte < 128:
                return found
            shift += 7

    def key(self) -> bytes:
        length = self.number()
        found = take(self._data, self._place, length, self._where)
        self._place += length
        return found

    def entries(self) -> list[tuple[bytes, int, int]]:
        """Keys, each with a place and a length."""
        return [(self.key(), self.number(), self.number()) for _ in range(self.number())]


class BitmapFile:
    """An index file, whose blocks are read when they are asked for."""

    def __init__(self, data: Bytes, form: GlobalKeyForm, where: str) -> None:
        """See BTreeFile."""
        self._data, self._form, self._where = data, form, where
        footer = take(data, len(data) - _FOOTER.size, _FOOTER.size, where)
        *places, _, version, magic = _FOOTER.unpack(footer)
        if magic != _MAGIC or version != _VERSION:
            raise damaged(where, f"it does not end as a bitmap index of version {_VERSION} does")
        self._nulls, self._present, self._index = places[:2], places[2:4], places[4:6]

    def nulls(self) -> BitMap64:
        """The rows that are NULL."""
        return self._rows(*self._nulls)

    def present(self) -> BitMap64:
        """The rows that are not NULL."""
        return self._rows(*self._present)

    def rows(self, wanted: Interval) -> BitMap64:
        """The rows whose keys lie between two bounds."""
        found = BitMap64()
        for offset, size in self._bitmaps(wanted):
            found |= self._rows(offset, size)
        return found

    def share(self, wanted: Interval) -> float:
        """See BTreeFile. A bitmap is read as fast whether it has many rows or few."""
        return 0.0

    def _bitmaps(self, wanted: Interval) -> Iterator[tuple[int, int]]:
        blocks = self._blocks
        keys: list[Key] = [self._form.loaded(raw) for raw, _, _ in blocks]
        for number, (_, offset, size) in enumerate(blocks):
            if wanted.is_before(keys[number]):
                return
            if number + 1 < len(blocks) and wanted.is_after(keys[number + 1]):
                continue
            block = read_block(self._data, offset, size, self._where)
            for raw, place, length in _Numbers(block, self._where).entries():
                key = self._form.loaded(raw)
                if not wanted.is_after(key) and not wanted.is_before(key):
                    yield place, length

    @cached_property
    def _blocks(self) -> list[tuple[bytes, int, int]]:
        """The first key of each block, with the place of the block."""
        return _Numbers(read_block(self._data, self._index[0], self._index[1], self._where), self._where).entries()

    def _rows(self, offset: int, size: int) -> BitMap64:
        return read_rows(take(self._data, offset, size, self._where), self._where)


def write_bitmap(
    coded: CodedKeys, numbers: Ints, form: GlobalKeyForm, block_size: int, codec: str
) -> tuple[bytes, KeyBounds]:
    """An index file; see write_btree. A bitmap is made for each key."""
    nulls, rows, counts = sorted_rows(coded, numbers)
    pieces: list[bytes] = []
    size, first = 0, 0
    blocks: list[list[bytes]] = [[]]
    starts, index, filled = list[bytes](), list[bytes](), 0
    for number, count in enumerate(counts.tolist()):
        raw = rows_bytes(row_numbers(rows[first : first + count]))
        key, first = form.stored(coded.key_at(number)), first + count
        entry = varint(len(key)) + key + varint(size) + varint(len(raw))
        if blocks[-1] and filled + len(entry) > block_size:
            blocks.append([])
            filled = 0
        if not blocks[-1]:
            starts.append(key)
        blocks[-1].append(entry)
        filled += len(entry)
        pieces.append(raw)
        size += len(raw)
    for start, entries in zip(starts, blocks, strict=False):
        packed, length = packed_block(varint(len(entries)) + b"".join(entries), codec)
        index.append(varint(len(start)) + start + varint(size) + varint(length))
        pieces.append(packed)
        size += len(packed)
    places: list[int] = []
    for each in (nulls, rows):
        raw = rows_bytes(row_numbers(each))
        places += [size, len(raw)]
        pieces.append(raw)
        size += len(raw)
    packed, length = packed_block(varint(len(index)) + b"".join(index), codec)
    footer = _FOOTER.pack(*places, size, length, len(counts), _VERSION, _MAGIC)
    return b"".join([*pieces, packed, footer]), key_bounds(coded, form, len(nulls) > 0)
