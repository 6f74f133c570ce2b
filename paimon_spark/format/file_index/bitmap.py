"""The ``bitmap`` index: the rows of every value (format section 9; Java: BitmapFileIndex, BitmapFileIndexMetaV2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyroaring import BitMap

from paimon_spark.errors import OptionError
from paimon_spark.format.file_index.byte_reader import ByteReader, bitmap_bytes
from paimon_spark.format.file_index.keys import Key, KeyForm, key_form
from paimon_spark.format.types import FLOATS, INTEGERS, STRINGS, TIMESTAMPS, DataType, Root

BITMAP = "bitmap"
NEWEST_VERSION = 2
DEFAULT_BLOCK_SIZE = 16 * 1024

_ROOTS = INTEGERS | FLOATS | STRINGS | TIMESTAMPS | {Root.BOOLEAN, Root.DATE, Root.TIME}
_UNKNOWN_LENGTH = -1


@dataclass(frozen=True)
class BitmapIndex:
    """The rows of each key (see ``KeyForm``), and those that are null."""

    form: KeyForm
    row_count: int
    rows: Mapping[Key, BitMap]
    nulls: BitMap

    def rows_of(self, value: Any) -> BitMap:
        """The rows that hold the value, or null for None. For a timestamp finer than the index, candidates only."""
        return self.nulls if value is None else self.rows.get(self.form.key(value), BitMap())

    def values(self) -> list[Any]:
        """The value of every row."""
        values: list[Any] = [None] * self.row_count
        for key, rows in self.rows.items():
            for row in rows:
                values[row] = self.form.value(key)
        return values


@dataclass(frozen=True)
class _Entry:
    """Where the bitmap of a key lies: at offset in the body, or the single row -1 - offset."""

    key: Key
    offset: int
    length: int


def decode_bitmap(data: bytes, data_type: DataType, where: str) -> BitmapIndex:
    """Raises CorruptFile where the bytes are no index, UnsupportedFeature for a type that it cannot hold."""
    form = key_form(data_type, _ROOTS, BITMAP)
    reader = ByteReader(data, f"the {BITMAP} index of {where}")
    version = reader.version(NEWEST_VERSION)
    row_count, count = reader.int32(), reader.int32()
    nulls = None
    if reader.flag():
        nulls = _Entry(b"", reader.int32(), reader.int32() if version > 1 else _UNKNOWN_LENGTH)
    entries = _decode_entries(reader, form, count) if version == 1 else _decode_blocks(reader, form)
    if len(entries) != count:
        raise reader.corrupt(f"{count} values are announced, {len(entries)} are there")
    body = reader.part(reader.position, reader.rest)
    rows = {entry.key: _decode_rows(body, entry, row_count) for entry in entries}
    return BitmapIndex(form, row_count, rows, BitMap() if nulls is None else _decode_rows(body, nulls, row_count))


def encode_bitmap(
    values: Iterable[Any], data_type: DataType, version: int = NEWEST_VERSION, block_size: int = DEFAULT_BLOCK_SIZE
) -> bytes:
    """The index of the values of all rows, keys ascending. (Java has them in the order of a hash map.)

    Args:
        version: 2, or 1 for readers before 1.1.
        block_size: option ``index-block-size`` in bytes; version 2 only.

    Raises:
        UnsupportedFeature: a type that the index cannot hold.
        OptionError: a key that is bigger than a block.
    """
    form = key_form(data_type, _ROOTS, BITMAP)
    rows: dict[Key, BitMap] = {}
    nulls = BitMap()
    row_count = 0
    for row, value in enumerate(values):
        row_count += 1
        (nulls if value is None else rows.setdefault(form.key(value), BitMap())).add(row)
    null_bytes = bitmap_bytes(nulls)
    body = bytearray(null_bytes if len(nulls) > 1 else b"")
    entries = []
    for key in sorted(rows):
        if len(rows[key]) == 1:
            entries.append(_Entry(key, -1 - rows[key].min(), _UNKNOWN_LENGTH))
        else:
            raw = bitmap_bytes(rows[key])
            entries.append(_Entry(key, len(body), len(raw)))
            body += raw
    out = bytearray([version]) + _int32(row_count) + _int32(len(entries)) + bytes([bool(nulls)])
    if nulls:
        out += _int32(-1 - nulls.min() if len(nulls) == 1 else 0)
        out += _int32(len(null_bytes)) if version > 1 else b""
    if version > 1:
        return bytes(out + _encode_blocks(form, entries, block_size) + body)
    for entry in entries:
        out += form.encode(entry.key) + _int32(entry.offset)
    return bytes(out + body)


def _int32(value: int) -> bytes:
    return value.to_bytes(4, "big", signed=True)


def _decode_entries(reader: ByteReader, form: KeyForm, count: int) -> list[_Entry]:
    return [_Entry(form.decode(reader), reader.int32(), _UNKNOWN_LENGTH) for _ in range(count)]


def _decode_blocks(reader: ByteReader, form: KeyForm) -> list[_Entry]:
    """The entries of all blocks; reader then stands behind the last."""
    offsets = []
    for _ in range(reader.int32()):
        form.decode(reader)
        offsets.append(reader.int32())
    length = reader.int32()
    blocks = reader.part(reader.position, length)
    entries: list[_Entry] = []
    for offset in offsets:
        blocks.part(offset, 0)
        blocks.position = offset
        for _ in range(blocks.int32()):
            entries.append(_Entry(form.decode(blocks), blocks.int32(), blocks.int32()))
    reader.take(length)
    return entries


def _encode_blocks(form: KeyForm, entries: list[_Entry], block_size: int) -> bytes:
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


def _decode_rows(body: ByteReader, entry: _Entry, row_count: int) -> BitMap:
    if entry.offset < 0:
        rows = BitMap([-1 - entry.offset])
    else:
        body.part(entry.offset, 0)
        body.position = entry.offset
        rows = body.bitmap()
    if rows and rows.max() >= row_count:
        raise body.corrupt(f"it names row {rows.max()} of {row_count}")
    return rows
