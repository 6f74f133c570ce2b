"""The ``bitmap`` index: the rows of every value (format section 9; Java: BitmapFileIndex, BitmapFileIndexMetaV2)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from paimon_spark.errors import OptionError
from paimon_spark.format.file_index.byte_reader import ByteReader, bitmap_bytes
from paimon_spark.format.file_index.keys import CodedKeys, Key, KeyForm, key_form
from paimon_spark.format.file_index.row_sets import RowSet, row_set, rows_until
from paimon_spark.format.file_index.settings import BITMAP, DEFAULT_BLOCK_SIZE, NEWEST_BITMAP
from paimon_spark.format.types import DataType

UNKNOWN_LENGTH = -1


@dataclass(frozen=True)
class Entry:
    """Where the bitmap of a key lies: at offset in the body, or the single row -1 - offset."""

    key: Key
    offset: int
    length: int


@dataclass(frozen=True)
class _Blocks:
    """Blocks of entries in the order of their keys, of version 2."""

    form: KeyForm
    first_keys: Sequence[Any]
    offsets: Sequence[int]
    body: ByteReader

    def entry(self, key: Key) -> Entry | None:
        """The entry of a key. A block without the bytes of the key does not have it, and is not decoded."""
        number = bisect_right(self.first_keys, key) - 1
        block = self._block(number) if number >= 0 else None
        if block is None or (self.form.has_one_encoding and self.form.encode(key) not in block):
            return None
        return next((entry for entry in self._entries(block) if entry.key == key), None)

    def block(self, number: int) -> Iterator[Entry]:
        return self._entries(self._block(number))

    def _entries(self, block: ByteReader) -> Iterator[Entry]:
        return (Entry(self.form.decode(block), block.int32(), block.int32()) for _ in range(block.int32()))

    def _block(self, number: int) -> ByteReader:
        start, end = self.offsets[number], self.body.rest
        if number + 1 < len(self.offsets) and self.offsets[number + 1] > start:
            end = self.offsets[number + 1]
        return self.body.part(start, end - start).loaded()


@dataclass(frozen=True)
class BitmapIndex:
    """The rows of each key (see ``KeyForm``), and those that are null; what is needed is decoded when it is asked for.

    Attributes:
        form: of the keys.
        row_count: of the data file.
        key_count: how many keys the index says it has.
        head: the entries, in version 1 in no order.
        body: the bitmaps.
        null_entry: the place of the rows that are null; None: there are none.
    """

    form: KeyForm
    row_count: int
    key_count: int
    head: Sequence[Entry] | _Blocks
    body: ByteReader
    null_entry: Entry | None

    def rows_of_key(self, key: Key) -> RowSet:
        """The rows of a key, none if the index does not have it."""
        if isinstance(self.head, _Blocks):
            found = self.head.entry(key)
        else:
            found = next((entry for entry in self.head if entry.key == key), None)
        return RowSet() if found is None else self._rows(found)

    @property
    def nulls(self) -> RowSet:
        return RowSet() if self.null_entry is None else self._rows(self.null_entry)

    @property
    def present(self) -> RowSet:
        """The rows that are not null."""
        return rows_until(self.row_count) - self.nulls

    def entries(self) -> Iterator[Entry]:
        """The entries of all keys."""
        if not isinstance(self.head, _Blocks):
            yield from self.head
            return
        for number in range(len(self.head.offsets)):
            yield from self.head.block(number)

    def _rows(self, entry: Entry) -> RowSet:
        if entry.offset < 0:
            rows = RowSet([-1 - entry.offset])
        else:
            length = self.body.rest - entry.offset if entry.length < 0 else entry.length
            rows = self.body.part(entry.offset, length).last_bitmap()
        if rows and rows.max() >= self.row_count:
            raise self.body.corrupt(f"it names row {rows.max()} of {self.row_count}")
        return rows


def open_bitmap(reader: ByteReader, data_type: DataType) -> BitmapIndex:
    """The index that begins at the reader's position; only its head is read.

    Raises:
        CorruptFile: the head is damaged.
        UnsupportedFeature: a type that the index cannot hold.
    """
    form = key_form(data_type, BITMAP)
    version = reader.version(NEWEST_BITMAP)
    row_count, count = reader.int32(), reader.int32()
    nulls = None
    if reader.flag():
        nulls = Entry(b"", reader.int32(), reader.int32() if version > 1 else UNKNOWN_LENGTH)
    head = _read_entries(reader, form, count) if version == 1 else _read_blocks(reader, form)
    return BitmapIndex(form, row_count, count, head, reader.part(reader.position, reader.rest), nulls)


def _read_entries(reader: ByteReader, form: KeyForm, count: int) -> list[Entry]:
    return [Entry(form.decode(reader), reader.int32(), UNKNOWN_LENGTH) for _ in range(count)]


def _read_blocks(reader: ByteReader, form: KeyForm) -> _Blocks:
    """The places of the blocks; reader then stands behind the last."""
    keys, offsets = [], []
    for _ in range(reader.int32()):
        keys.append(form.decode(reader))
        offsets.append(reader.int32())
    length = reader.int32()
    blocks = reader.part(reader.position, length)
    reader.position += length
    return _Blocks(form, keys, offsets, blocks)


def write_bitmap(column: CodedKeys, version: int = NEWEST_BITMAP, block_size: int = DEFAULT_BLOCK_SIZE) -> bytes:
    """The index of a column, keys ascending. (Java has them in the order of a hash map.)

    Args:
        column: the keys of all rows.
        version: 2, or 1 for readers before 1.1.
        block_size: option ``index-block-size`` in bytes; version 2 only.

    Raises:
        OptionError: a key is bigger than a block.
    """
    nulls = column.nulls
    null_bytes = bitmap_bytes(nulls)
    parts, size = ([null_bytes], len(null_bytes)) if len(nulls) > 1 else ([], 0)
    entries = []
    for key, rows in zip(column.key_list, column.rows_by_key(), strict=True):
        if len(rows) == 1:
            entries.append(Entry(key, -1 - int(rows[0]), UNKNOWN_LENGTH))
        else:
            raw = bitmap_bytes(row_set(rows))
            entries.append(Entry(key, size, len(raw)))
            parts.append(raw)
            size += len(raw)
    out = bytearray([version]) + _int32(column.row_count) + _int32(len(entries)) + bytes([bool(nulls)])
    if nulls:
        out += _int32(-1 - nulls.min() if len(nulls) == 1 else 0)
        out += _int32(len(null_bytes)) if version > 1 else b""
    if version > 1:
        return b"".join((bytes(out), _encode_blocks(column.form, entries, block_size), *parts))
    heads = (column.form.encode(entry.key) + _int32(entry.offset) for entry in entries)
    return b"".join((bytes(out), *heads, *parts))


def _int32(value: int) -> bytes:
    return value.to_bytes(4, "big", signed=True)


def _encode_blocks(form: KeyForm, entries: list[Entry], block_size: int) -> bytes:
    """Blocks of entries, each at most block_size bytes, with the first key and the place of each before them."""
    blocks: list[list[bytes]] = []
    first_keys: list[bytes] = []
    size = block_size + 1
    for entry in entries:
        key = form.encode(entry.key)
        if 4 + len(key) + 8 > block_size:
            raise OptionError(
                f"writing a {BITMAP} index: a key of {len(key)} bytes is bigger than a block of {block_size} bytes; "
                f"raise file-index.{BITMAP}.<column>.index-block-size"
            )
        if size + len(key) + 8 > block_size:
            blocks.append([])
            first_keys.append(key)
            size = 4
        blocks[-1].append(key + _int32(entry.offset) + _int32(entry.length))
        size += len(key) + 8
    bodies = [_int32(len(block)) + b"".join(block) for block in blocks]
    out = bytearray(_int32(len(blocks)))
    offset = 0
    for key, body in zip(first_keys, bodies, strict=True):
        out += key + _int32(offset)
        offset += len(body)
    return bytes(out + _int32(offset) + b"".join(bodies))
