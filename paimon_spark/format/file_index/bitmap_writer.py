"""Writes ``bitmap`` indexes (format section 9; Java: BitmapFileIndex, BitmapFileIndexMetaV2)."""

from __future__ import annotations

from paimon_spark.errors import OptionError
from paimon_spark.format.file_index.bitmap import UNKNOWN_LENGTH, Entry
from paimon_spark.format.file_index.byte_reader import bitmap_bytes
from paimon_spark.format.file_index.coded_keys import CodedKeys
from paimon_spark.format.file_index.keys import KeyForm
from paimon_spark.format.file_index.kinds import BITMAP, DEFAULT_BLOCK_SIZE, NEWEST_BITMAP
from paimon_spark.format.file_index.row_sets import row_set


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
