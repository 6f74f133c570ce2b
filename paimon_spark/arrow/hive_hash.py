"""Hive's hash of many rows at once: ``bucket-function.type = hive`` (format section 5.4; Java: HiveBucketFunction)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow.row_hash import (
    Hashes,
    byte_spans,
    decimal_halves,
    fixed_values,
    float_bits,
    key_column,
    valid_mask,
    zero_nulls,
)
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import BINARIES, FLOATS, STRINGS, DataField, DataType, Root

_FACTOR = np.uint32(31)
_SIGNED: dict[Root, type[np.generic]] = {
    Root.TINYINT: np.int8,
    Root.SMALLINT: np.int16,
    Root.INT: np.int32,
    Root.DATE: np.int32,
    Root.TIME: np.int32,
}


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
