"""Indexes of data files, and files of deletion vectors, of single values: what tests write and read of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from pyroaring import BitMap, BitMap64

from paimon_spark.format.deletion_vector import (
    EncodedVector,
    Positions,
    decode_vector,
    encode_vector,
    join_vectors,
    range_to_read,
)
from paimon_spark.format.file_index.bit_slices import BitSlices
from paimon_spark.format.file_index.bitmap import BitmapIndex, open_bitmap, write_bitmap
from paimon_spark.format.file_index.bloom import BloomBuilder, BloomFilter, hash64, open_bloom
from paimon_spark.format.file_index.bsi import BsiIndex, open_bsi, write_bsi
from paimon_spark.format.file_index.byte_reader import ByteReader
from paimon_spark.format.file_index.keys import CodedKeys, Key, key_form
from paimon_spark.format.file_index.range_bitmap import RangeBitmap, open_range_bitmap, write_range_bitmap
from paimon_spark.format.file_index.settings import (
    BITMAP,
    BLOOM_FILTER,
    BSI,
    DEFAULT_BLOCK_SIZE,
    DEFAULT_FALSE_POSITIVES,
    DEFAULT_ITEMS,
    NEWEST_BITMAP,
    RANGE_BITMAP,
)
from paimon_spark.format.manifest import DeletionRange
from paimon_spark.format.types import DataType


def _coded(values: Iterable[Any], data_type: DataType, kind: str) -> CodedKeys:
    form = key_form(data_type, kind)
    by_row: list[Key | None] = [None if value is None else form.key(value) for value in values]
    keys = sorted({key for key in by_row if key is not None})
    code_of = {key: code for code, key in enumerate(keys)}
    codes = np.fromiter((-1 if key is None else code_of[key] for key in by_row), np.int64, len(by_row))
    return CodedKeys(form, [k for k in keys if isinstance(k, bytes)] or np.array(keys, np.int64), codes)


def encode_bitmap(
    values: Iterable[Any], data_type: DataType, version: int = NEWEST_BITMAP, block_size: int = DEFAULT_BLOCK_SIZE
) -> bytes:
    return write_bitmap(_coded(values, data_type, BITMAP), version, block_size)


def decode_bitmap(data: bytes, data_type: DataType, where: str) -> BitmapIndex:
    """The index, of which every part has been read."""
    reader = ByteReader(data, f"the {BITMAP} index of {where}")
    index = open_bitmap(reader, data_type)
    count = sum(1 for _ in index.entries())
    if count != index.key_count:
        raise reader.corrupt(f"{index.key_count} values are announced, {count} are there")
    row_values(index)
    index.present  # noqa: B018  # the rows that are null are decoded
    return index


def encode_range_bitmap(values: Iterable[Any], data_type: DataType, chunk_size: int | None = None) -> bytes:
    return write_range_bitmap(_coded(values, data_type, RANGE_BITMAP), chunk_size)


def decode_range_bitmap(data: bytes, data_type: DataType, where: str) -> RangeBitmap:
    """The index, of which every part has been read."""
    reader = ByteReader(data, f"the {RANGE_BITMAP} index of {where}")
    index = open_range_bitmap(reader, data_type)
    keys, codes = index.dictionary.keys(), _numbers(index.slices)
    known = index.cardinality
    if len(keys) != known or (codes and (max(codes) >= index.row_count or max(codes.values()) >= known)):
        raise reader.corrupt(f"{index.row_count} rows and {known} values are announced, which it does not hold")
    return index


def encode_bsi(values: Iterable[Any], data_type: DataType) -> bytes:
    """Raises ValueError for a key of more than 63 bits."""
    form = key_form(data_type, BSI)
    keys = [None if value is None else int(form.key(value)) for value in values]
    if any(key is not None and abs(key) >= 2**63 for key in keys):
        raise ValueError(f"a {BSI} index holds keys of 63 bits")
    valid = np.fromiter((key is not None for key in keys), np.bool_, len(keys))
    return write_bsi(np.fromiter((key or 0 for key in keys), np.int64, len(keys)), valid)


def decode_bsi(data: bytes, data_type: DataType, where: str) -> BsiIndex:
    return open_bsi(ByteReader(data, f"the {BSI} index of {where}"), data_type)


def row_values(index: BitmapIndex | BsiIndex | RangeBitmap) -> list[Any]:
    """The value of every row."""
    keys: dict[int, Key]
    if isinstance(index, BitmapIndex):
        keys = {row: entry.key for entry in index.entries() for row in index.rows_of_key(entry.key)}
    elif isinstance(index, BsiIndex):
        keys = {row: index.positive.low + number for row, number in _numbers(index.positive.slices).items()}
        keys |= {row: -index.negative.low - number for row, number in _numbers(index.negative.slices).items()}
    else:
        known, codes = index.dictionary.keys(), _numbers(index.slices)
        keys = {row: known[code] for row, code in codes.items()}
    return [index.form.value(keys[row]) if row in keys else None for row in range(index.row_count)]


def _numbers(slices: BitSlices) -> dict[int, int]:
    """The number of each of the rows."""
    numbers = dict.fromkeys(slices.rows, 0)
    for bit, members in enumerate(slices.slices):
        for row in members & slices.rows:
            numbers[row] |= 1 << bit
    return numbers


def encode_bloom(
    values: Iterable[Any],
    data_type: DataType,
    items: int = DEFAULT_ITEMS,
    false_positives: float = DEFAULT_FALSE_POSITIVES,
) -> bytes:
    key_form(data_type, BLOOM_FILTER)
    builder = BloomBuilder(items, false_positives)
    hashed = [hash64(value, data_type) & (2**64 - 1) for value in values if value is not None]
    builder.add(np.array(hashed, np.uint64))
    return builder.to_bytes()


def decode_bloom(data: bytes, where: str) -> BloomFilter:
    return open_bloom(ByteReader(data, f"the {BLOOM_FILTER} index of {where}"))


def encode_vectors(vectors: Mapping[str, Positions], bits: int = 32) -> tuple[bytes, tuple[DeletionRange, ...]]:
    """A whole index file of the vectors by data file name, and where each lies in it."""
    return join_vectors(EncodedVector(name, encode_vector(p, bits), len(p)) for name, p in vectors.items())


def decode_vectors(data: bytes, ranges: Sequence[DeletionRange], where: str) -> dict[str, BitMap | BitMap64]:
    """The vectors of a whole index file by data file name."""
    vectors = {}
    for r in ranges:
        start, end = range_to_read(r.offset, r.length)
        vectors[r.data_file] = decode_vector(data[max(start, 0) : end], f"of {r.data_file} in {where}", r.length)
    return vectors
