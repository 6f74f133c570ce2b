"""The files of ``btree`` indexes (Java: BTreeIndexWriter, BTreeIndexReader, SstFileWriter; release 2.0).

Blocks of entries, each a key and the numbers of its rows; behind them the rows that are NULL, then a block with the
last key of each block, and a footer.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from pyroaring import BitMap64

from paimon_spark.format.file_index.byte_reader import Bytes
from paimon_spark.format.file_index.keys import CodedKeys, Key
from paimon_spark.format.global_index.blocks import packed_block, read_block, read_rows, row_numbers, rows_bytes, take
from paimon_spark.format.global_index.file_meta import KeyBounds
from paimon_spark.format.global_index.keys import GlobalKeyForm, Interval
from paimon_spark.format.global_index.numbers import (
    Ints,
    Octets,
    damaged,
    decode_varints,
    encode_varints,
    number_at,
    numbers_at,
    varint,
)
from paimon_spark.format.spans import expand

BTREE = "btree"
_FOOTER = struct.Struct("<qiqqiqiii")
_VERSION, _MAGIC = 1, 0x50425449
_ALIGNED, _UNALIGNED = 0, 1
_MOST_VERSIONS = 1
_MANY_BLOCKS = 16


class _Block:
    """Entries of ascending keys."""

    def __init__(self, raw: bytes, where: str) -> None:
        """
        Raises:
            CorruptFile: the block does not say where its entries are.
        """
        self._where = where
        if len(raw) < 5 or raw[-1] not in (_ALIGNED, _UNALIGNED):
            raise damaged(where, "a block has no end")
        (number,) = struct.unpack_from("<i", raw, len(raw) - 5)
        if raw[-1] == _ALIGNED:
            end = len(raw) - 5
            if number <= 0 or end % number:
                raise damaged(where, f"a block of {end} bytes has entries of {number} bytes")
            self._starts = np.arange(0, end, number)
        else:
            end = len(raw) - 5 - 4 * number
            if number < 0 or end < 0:
                raise damaged(where, f"a block of {len(raw)} bytes has {number} entries")
            self._starts = np.frombuffer(raw, "<i4", number, end).astype(np.int64)
        self._raw = raw[:end]
        self._data = np.frombuffer(self._raw, np.uint8)

    def __len__(self) -> int:
        return len(self._starts)

    def key(self, number: int) -> bytes:
        """The bytes of a key."""
        length, start = number_at(self._raw, int(self._starts[number]), self._where)
        return take(self._raw, start, length, self._where)

    def value(self, number: int) -> bytes:
        """The bytes that belong to a key."""
        starts, ends = self._values(number, number + 1)
        return self._raw[int(starts[0]) : int(ends[0])]

    def rows(self, first: int, end: int) -> Ints:
        """The rows of some entries."""
        starts, ends = self._values(first, end)
        counts, starts = self._numbers(starts)
        if (starts > ends).any():
            raise damaged(self._where, "an entry ends before its rows")
        found = decode_varints(self._data[expand(starts, ends - starts)], self._where)
        if len(found) != counts.sum():
            raise damaged(self._where, f"{counts.sum()} rows are announced, and {len(found)} are there")
        return found

    def _values(self, first: int, end: int) -> tuple[Ints, Ints]:
        lengths, after = self._numbers(self._starts[first:end])
        lengths, after = self._numbers(after + lengths)
        ends = after + lengths
        if len(ends) and ends.max() > len(self._raw):
            raise damaged(self._where, "an entry is longer than its block")
        return after, ends

    def _numbers(self, places: Ints) -> tuple[Ints, Ints]:
        return numbers_at(self._data, places, self._where)


class BTreeFile:
    """An index file, whose blocks are read when they are asked for."""

    def __init__(self, data: Bytes, form: GlobalKeyForm, where: str) -> None:
        """
        Args:
            data: of the file.
            form: of the keys.
            where: the file, for errors.

        Raises:
            CorruptFile: it has no footer of such a file.
        """
        self._data, self._form, self._where = data, form, where
        footer = take(data, len(data) - _FOOTER.size, _FOOTER.size, where)
        *_, offset, size, null_offset, null_size, version, magic = _FOOTER.unpack(footer)
        if magic != _MAGIC or not 1 <= version <= _MOST_VERSIONS:
            raise damaged(where, f"it does not end as a btree index of version {_MOST_VERSIONS} does")
        self._index, self._nulls = (offset, size), (null_offset, null_size)
        self._last: tuple[int, _Block] | None = None

    def nulls(self) -> BitMap64:
        """The rows that are NULL."""
        offset, size = self._nulls
        if not offset and not size:
            return BitMap64()
        raw = take(self._data, offset, size + 4, self._where)
        if zlib.crc32(raw[:size]) != int.from_bytes(raw[size:], "little"):
            raise damaged(self._where, "the checksum of the rows that are NULL is wrong")
        return read_rows(raw[:size], self._where)

    def present(self) -> BitMap64:
        """The rows that are not NULL."""
        return self.rows(Interval())

    def rows(self, wanted: Interval) -> BitMap64:
        """The rows whose keys lie between two bounds."""
        found = [block.rows(first, end) for block, first, end in self._parts(wanted)]
        return row_numbers(np.concatenate(found)) if found else BitMap64()

    def share(self, wanted: Interval) -> float:
        """Which part of the blocks, about, may have such keys; little is read for it. 0: there are few blocks."""
        index = self._blocks
        if len(index) < _MANY_BLOCKS:
            return 0.0
        start = _first(index, lambda raw: not wanted.is_after(self._form.loaded(raw)))
        end = _first(index, lambda raw: wanted.is_before(self._form.loaded(raw)))
        return (end - start) / len(index)

    def _parts(self, wanted: Interval) -> Iterator[tuple[_Block, int, int]]:
        """The blocks that have such keys, and which of their entries."""
        index = self._blocks
        number = _first(index, lambda raw: not wanted.is_after(self._form.loaded(raw)))
        while number < len(index):
            handle = index.value(number)
            offset, size = decode_varints(np.frombuffer(handle, np.uint8), self._where)[:2]
            block = self._block(int(offset), int(size))
            first = _first(block, lambda raw: not wanted.is_after(self._form.loaded(raw)))
            end = _first(block, lambda raw: wanted.is_before(self._form.loaded(raw)))
            if first < end:
                yield block, first, end
            if end < len(block):
                return
            number += 1

    def _block(self, offset: int, size: int) -> _Block:
        """A block of entries; the last one is kept, because keys that are asked for one after the other are near."""
        if self._last is None or self._last[0] != offset:
            self._last = offset, _Block(read_block(self._data, offset, size, self._where), self._where)
        return self._last[1]

    @cached_property
    def _blocks(self) -> _Block:
        """The last key of each block, with the place of the block."""
        return _Block(read_block(self._data, *self._index, self._where), self._where)


def _first(block: _Block, holds: Callable[[bytes], bool]) -> int:
    """The first entry for whose key something holds, as it does for all that follow."""
    low, high = 0, len(block)
    while low < high:
        middle = (low + high) // 2
        if holds(block.key(middle)):
            high = middle
        else:
            low = middle + 1
    return low


def write_btree(
    coded: CodedKeys, numbers: Ints, form: GlobalKeyForm, block_size: int, codec: str
) -> tuple[bytes, KeyBounds]:
    """An index file.

    Args:
        coded: the keys of the rows.
        numbers: of the rows in the range of the file, ascending.
        form: of the keys.
        block_size: bytes of a block.
        codec: none, zstd or lz4.
    """
    nulls, rows, counts = sorted_rows(coded, numbers)
    pieces: list[bytes] = []
    size, index = 0, list[tuple[bytes, bytes]]()
    if len(coded.keys):
        entries, ends = _entries(coded, form, rows, counts)
        first = 0
        while first < len(ends):
            start = 0 if not first else int(ends[first - 1])
            last = max(int(np.searchsorted(ends, start + block_size, "right")), first + 1)
            places = np.append(start, ends[first : last - 1]) - start
            packed, length = packed_block(_block(entries[start : int(ends[last - 1])].tobytes(), places), codec)
            index.append((form.stored(coded.key_at(last - 1)), varint(size) + varint(length)))
            pieces.append(packed)
            size += len(packed)
            first = last
    null_place = (0, 0)
    if len(nulls):
        raw = rows_bytes(row_numbers(nulls))
        pieces.append(raw + zlib.crc32(raw).to_bytes(4, "little"))
        null_place, size = (size, len(raw)), size + len(raw) + 4
    each = [varint(len(key)) + key + varint(len(value)) + value for key, value in index]
    places = np.cumsum([0, *(len(entry) for entry in each)])[:-1]
    packed, length = packed_block(_block(b"".join(each), places), codec)
    footer = _FOOTER.pack(0, 0, 0, size, length, *null_place, _VERSION, _MAGIC)
    bounds = key_bounds(coded, form, len(nulls) > 0)
    return b"".join([*pieces, packed, footer]), bounds


def sorted_rows(coded: CodedKeys, numbers: Ints) -> tuple[Ints, Ints, Ints]:
    """The rows that are NULL, the other rows in the order of their keys, and how many rows each key has."""
    order = numbers[np.argsort(coded.codes, kind="stable")]
    counts = np.bincount(coded.codes + 1, minlength=len(coded.keys) + 1)
    return order[: counts[0]], order[counts[0] :], counts[1:]


def key_bounds(coded: CodedKeys, form: GlobalKeyForm, has_nulls: bool) -> KeyBounds:
    """What the manifest says of the keys of a file."""
    if not len(coded.keys):
        return KeyBounds(None, None, has_nulls)
    return KeyBounds(form.stored(coded.key_at(0)), form.stored(coded.key_at(-1)), has_nulls)


def _block(entries: bytes, places: Ints) -> bytes:
    count = len(places).to_bytes(4, "little")
    return entries + places.astype("<i4").tobytes() + count + bytes([_UNALIGNED])


def _entries(coded: CodedKeys, form: GlobalKeyForm, rows: Ints, counts: Ints) -> tuple[Octets, Ints]:
    """The entries of all keys one after the other, and where each ends."""
    keys, lengths = form.stored_all(coded.keys)
    key_sizes = np.broadcast_to(np.asarray(lengths, np.int64), len(counts))
    ids, id_sizes = encode_varints(rows)
    starts = np.cumsum(counts) - counts
    rows_sizes = np.add.reduceat(id_sizes, starts)
    count_parts = encode_varints(counts)
    value_sizes = count_parts[1] + rows_sizes
    parts = [
        encode_varints(key_sizes),
        (keys, key_sizes),
        encode_varints(value_sizes),
        count_parts,
        (ids, rows_sizes),
    ]
    ends = np.cumsum(sum(sizes for _, sizes in parts))
    found = np.empty(int(ends[-1]), np.uint8)
    at = ends - sum(sizes for _, sizes in parts)
    for octets, sizes in parts:
        found[expand(at, sizes)] = octets
        at = at + sizes
    return found, ends


def bounds_keys(bounds: KeyBounds, form: GlobalKeyForm) -> tuple[Key, Key] | None:
    """The least and the greatest key of a file; None: it has none."""
    if bounds.first is None or bounds.last is None:
        return None
    return form.loaded(bounds.first), form.loaded(bounds.last)
