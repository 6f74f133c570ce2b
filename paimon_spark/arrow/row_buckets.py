"""Finds the bucket and the partition of each row of a batch (format section 5.4; Java: BucketFunction).

Every row gets the bucket that ``format/bucket.py``, the rule for one row, gives it. Hive's hash is that of
``bucket-function.type`` = ``hive`` (Java: HiveBucketFunction).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.row_hash import (
    SECTION,
    Hashes,
    byte_spans,
    decimal_halves,
    fixed_values,
    float_bits,
    hash_rows,
    key_column,
    valid_mask,
    zero_nulls,
)
from paimon_spark.arrow.types import to_internal
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.bucket import Partition
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import BINARIES, FLOATS, STRINGS, DataField, DataType, Root

Buckets = npt.NDArray[np.int32]
Indices = npt.NDArray[np.int64]
_RADIX_LIMIT = 1 << 16  # numpy sorts 16-bit integers by radix: linear, and stable
_CODE_LIMIT = 1 << 62
_FACTOR = np.uint32(31)
_SIGNED: dict[Root, type[np.generic]] = {
    Root.TINYINT: np.int8,
    Root.SMALLINT: np.int16,
    Root.INT: np.int32,
    Root.DATE: np.int32,
    Root.TIME: np.int32,
}


def assign_buckets(batch: pa.RecordBatch, fields: Sequence[DataField], buckets: int, function: str) -> Buckets:
    """The bucket of each row.

    Args:
        batch: holds the bucket key columns.
        fields: the bucket key, in its order.
        buckets: the number of buckets, at least 1.
        function: ``bucket-function.type``: default, mod or hive.

    Raises:
        UnsupportedFeature: an unknown function, or a key that it does not take.
    """
    match function:
        case "default":
            # Both C and Java truncate the remainder towards zero; its absolute value is below the number of buckets.
            rest: Buckets = np.fmod(hash_rows(batch, fields), np.int32(buckets))
            return np.abs(rest)
        case "hive":
            out: Buckets = np.empty(batch.num_rows, np.int32)
            for start in range(0, batch.num_rows, SECTION):
                hashes = hive_hash(batch.slice(start, SECTION), fields) & np.uint32(0x7FFFFFFF)
                out[start : start + SECTION] = hashes % np.uint32(buckets)
            return out
        case "mod":
            return _floor_mod(batch, fields, buckets)
    raise UnsupportedFeature(f"bucket-function.type = {function} is unknown: use default, mod or hive")


def _floor_mod(batch: pa.RecordBatch, fields: Sequence[DataField], buckets: int) -> Buckets:
    if len(fields) != 1 or fields[0].type.root not in (Root.INT, Root.BIGINT):
        key = ", ".join(f"{f.name} {f.type.root}" for f in fields)
        raise UnsupportedFeature(
            f"bucket-function.type = mod needs one bucket key column of type INT or BIGINT, found: {key}"
        )
    column = key_column(batch, fields[0])
    if not len(column):
        return np.empty(0, np.int32)
    values = fixed_values(column, np.int32 if fields[0].type.root is Root.INT else np.int64)
    rest: Buckets = np.mod(zero_nulls(values, valid_mask(column)), values.dtype.type(buckets)).astype(np.int32)
    return rest


def group_rows(
    batch: pa.RecordBatch, partition_fields: Sequence[DataField], buckets: Buckets | None
) -> list[tuple[Partition, int, Indices]]:
    """The rows of a batch by partition and bucket.

    Args:
        batch: holds the partition columns.
        partition_fields: the partition keys in their order; empty for a table without partitions.
        buckets: the bucket of each row; None puts all rows into bucket 0.

    Returns:
        (partition as an arity row, bucket, ascending positions of its rows), by partition in order of first
        appearance, then by bucket. -0.0 and 0.0 are two partitions, all NaN are one: partitions differ by their bytes.
    """
    if batch.num_rows == 0:
        return []
    columns = [_encode_distinct(key_column(batch, field), field) for field in partition_fields]
    codes, count = _codes(columns, batch.num_rows)
    if buckets is not None:
        codes, count = _combine(codes, count, buckets, int(buckets.max()) + 1)
    groups = [
        (_partition_row(columns, partition_fields, int(rows[0])), 0 if buckets is None else int(buckets[rows[0]]), rows)
        for rows in _split(codes, count)
    ]
    first_seen: dict[Partition, int] = {}
    for partition, _, rows in groups:
        first_seen[partition] = min(int(rows[0]), first_seen.get(partition, batch.num_rows))
    return sorted(groups, key=lambda group: (first_seen[group[0]], group[1]))


def row_codes(batch: pa.RecordBatch, fields: Sequence[DataField]) -> Indices:
    """A number for each row; rows have equal numbers if group_rows would put them into one partition."""
    return _codes([_encode_distinct(key_column(batch, field), field) for field in fields], batch.num_rows)[0]


def _codes(columns: Sequence[pa.DictionaryArray], rows: int) -> tuple[Indices, int]:
    """The combined codes of the rows, and a number above them."""
    codes, count = np.zeros(rows, np.int64), 1
    for column in columns:
        codes, count = _combine(codes, count, fixed_values(column.indices, np.int32), len(column.dictionary))
    return codes, count


def _encode_distinct(column: pa.Array, field: DataField) -> pa.DictionaryArray:
    """Codes and distinct values; null has a code. Floats are compared by their bits."""
    if field.type.root in FLOATS:
        valid = valid_mask(column)
        column = pa.array(float_bits(column), mask=None if valid is None else ~valid)
    return pc.dictionary_encode(column, null_encoding="encode")


def _combine(codes: Indices, count: int, more: npt.NDArray[np.int32], more_count: int) -> tuple[Indices, int]:
    if count * more_count >= _CODE_LIMIT:
        distinct, codes = np.unique(codes, return_inverse=True)
        count = len(distinct)
    return codes * more_count + more, count * more_count


def _split(codes: Indices, count: int) -> list[Indices]:
    """The positions of each distinct code, ascending."""
    if count == 1:
        return [np.arange(len(codes))]
    if count <= _RADIX_LIMIT:
        order = np.argsort(codes.astype(np.uint16), kind="stable")
    else:
        order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    return np.split(order, np.flatnonzero(ordered[1:] != ordered[:-1]) + 1)


def _partition_row(columns: Sequence[pa.DictionaryArray], fields: Sequence[DataField], row: int) -> Partition:
    values = []
    for column, field in zip(columns, fields, strict=True):
        distinct = column.dictionary[column.indices[row].as_py()]
        if field.type.root in FLOATS and distinct.is_valid:
            width = np.float32 if field.type.root is Root.FLOAT else np.float64
            bits = np.array([distinct.as_py()], np.uint32 if field.type.root is Root.FLOAT else np.uint64)
            values.append(float(bits.view(width)[0]))
        else:
            values.append(to_internal(distinct))
    return Partition(encode_arity_row(values, [field.type for field in fields]))


def hive_hash(batch: pa.RecordBatch, fields: Sequence[DataField]) -> Hashes:
    """The 32 bits of Hive's hash of some columns of each row: 31 * hash + hash of the column, in order; null is 0.

    Raises:
        UnsupportedFeature: TIMESTAMP, TIMESTAMP_LTZ or a nested type.
    """
    hashes = np.zeros(batch.num_rows, np.uint32)
    for field in fields:
        column = key_column(batch, field)
        hashes *= _FACTOR
        hashes += zero_nulls(_hash_column(column, field.type), valid_mask(column))
    return hashes


def _hash_column(column: pa.Array, data_type: DataType) -> Hashes:
    """The hash of each value; undefined where it is null."""
    root = data_type.root
    if root is Root.BOOLEAN:
        return _bits32(fixed_values(column.cast(pa.uint8()), np.uint8))
    if root in _SIGNED:
        return _bits32(fixed_values(column, _SIGNED[root]))
    if root is Root.BIGINT:
        return _fold(fixed_values(column, np.uint64))
    if root in FLOATS:
        bits = float_bits(column)
        negative_zero = bits == bits.dtype.type(1 << (8 * bits.itemsize - 1))
        if negative_zero.any():
            bits = bits * ~negative_zero
        return bits.astype(np.uint32) if bits.itemsize == 4 else _fold(bits)
    if root in STRINGS or root in BINARIES:
        return _hash_bytes(column)
    if root is Root.DECIMAL:
        return _hash_decimal(column, data_type.scale or 0)
    raise UnsupportedFeature(
        f"bucket-function.type = hive cannot hash a bucket key of type {type_sql(data_type)}: "
        "choose another bucket key or the default bucket function"
    )


def _bits32(values: npt.NDArray[Any]) -> Hashes:
    bits: Hashes = values.astype(np.int32).view(np.uint32)
    return bits


def _fold(values: npt.NDArray[np.uint64]) -> Hashes:
    return (values ^ (values >> np.uint64(32))).astype(np.uint32)


def _hash_bytes(column: pa.Array) -> Hashes:
    """The sum of byte * 31 ** (bytes after it), modulo 2**32, bytes being signed."""
    starts, lengths, data = byte_spans(column)
    longest = int(lengths.max(initial=0))
    if longest == 0:
        return np.zeros(len(column), np.uint32)
    powers = np.full(longest, _FACTOR, np.uint32)
    powers[0] = 1
    powers = np.cumprod(powers, dtype=np.uint32)
    filled = np.flatnonzero(lengths)
    starts, lengths = starts[filled], lengths[filled]
    firsts = np.cumsum(lengths) - lengths  # where each value begins when they are laid end to end
    position = np.arange(int(lengths.sum())) - np.repeat(firsts, lengths)
    signed = data.view(np.int8)[np.repeat(starts, lengths) + position].astype(np.int32).view(np.uint32)
    out = np.zeros(len(column), np.uint32)
    out[filled] = np.add.reduceat(signed * powers[np.repeat(lengths, lengths) - 1 - position], firsts, dtype=np.uint32)
    return out


def _hash_decimal(column: pa.Array, scale: int) -> Hashes:
    """Java's BigDecimal.hashCode of the value without trailing zeros, its scale at least 0."""
    low, high = (zero_nulls(half, valid_mask(column)) for half in decimal_halves(column))
    negative = high.view(np.int64) < 0
    low, high = (half ^ np.where(negative, ~np.uint64(0), np.uint64(0)) for half in (low, high))
    low = low + negative
    high = high + (negative & (low == 0))
    shifts = (np.uint64(32), np.uint64(0))
    limbs = [half >> shift & np.uint64(0xFFFFFFFF) for half in (high, low) for shift in shifts]
    scales = np.full(len(column), scale, np.int64)
    rows = np.flatnonzero(low | high)
    scales[(low | high) == 0] = 0
    for _ in range(scale):
        shorter, rest = _divide_by_ten([limb[rows] for limb in limbs])
        whole = rest == 0
        rows = rows[whole]
        if not rows.size:
            break
        scales[rows] -= 1
        for limb, divided in zip(limbs, shorter, strict=True):
            limb[rows] = divided[whole]
    hashes = np.zeros(len(column), np.uint32)
    for limb in limbs:
        hashes = hashes * _FACTOR + limb.astype(np.uint32)
    signed = hashes * np.where(negative, ~np.uint32(0), np.uint32(1))
    return signed * _FACTOR + scales.astype(np.uint32)


def _divide_by_ten(
    limbs: Sequence[npt.NDArray[np.uint64]],
) -> tuple[list[npt.NDArray[np.uint64]], npt.NDArray[np.uint64]]:
    """Quotient and remainder of numbers given as 32-bit limbs, the highest first."""
    quotient: list[npt.NDArray[np.uint64]] = []
    rest = np.zeros_like(limbs[0])
    for limb in limbs:
        whole, rest = np.divmod(limb + (rest << np.uint64(32)), np.uint64(10))
        quotient.append(whole)
    return quotient, rest
