"""Unions of opaque bytes: ``rbm32`` and ``rbm64`` of Roaring bitmaps, ``hll_sketch`` and ``theta_sketch`` of sketches.

Java: FieldRoaringBitmap32Agg, FieldRoaringBitmap64Agg, FieldHllSketchAgg, FieldThetaSketchAgg. ``rbm32`` has the
portable format of 32-bit bitmaps, ``rbm64`` the bytes of the Java class Roaring64Bitmap.

The bytes of sketches are those of the Java library in its compact form. The estimates of a HyperLogLog union equal
Java's if all sketches of a key have the same size (lgK); otherwise they may differ in the third digit.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from datasketches import compact_theta_sketch, hll_sketch, hll_union, tgt_hll_type, theta_union
from pyroaring import BitMap, BitMap64

from paimon_spark.errors import DataError
from paimon_spark.format.art_bitmap import decode_art_bitmap, encode_art_bitmap
from paimon_spark.format.types import DataType, Root
from paimon_spark.merge.aggregates.frame import AggregateSpec, FieldOptions, Fold, Specs
from paimon_spark.merge.keys.winners import Rows

Union: TypeAlias = Callable[[Sequence[bytes]], bytes]
"""The bytes of the union of two values or more. ValueError: one cannot be read; the message says why."""
_PREAMBLE_LONGS = 0x3F  # low bits of the first byte
_UPDATABLE_FAMILY, _COMPACT_FAMILY = 2, 3
_UPDATABLE_PREAMBLE = 24
_FLAGS, _EMPTY, _SINGLE = 5, 0x04, 0x20
_COMPACT_FLAGS = 0x02 | 0x08 | 0x10  # read-only, compact, ordered
_SAMPLING = struct.pack("<f", 1.0)


def fold_unions(fold: Fold, union: Union, what: str) -> pa.Array:
    """One value per key: nulls do not count, and the only value of a key is returned unchanged.

    Args:
        fold: the fold of a column of bytes; no retractions.
        union: computes the union of the values of one key.
        what: the kind of value, for the message.

    Raises:
        DataError: a value is not of this kind; the message names column and function.
    """
    counting = np.arange(fold.count) if fold.valid is None else np.flatnonzero(fold.valid)
    counts = np.bincount(fold.keys_of_rows()[counting], minlength=fold.keys)
    first = np.full(fold.keys, -1, np.intp)
    first[counts > 0] = counting[(np.cumsum(counts) - counts)[counts > 0]]
    several = counts > 1
    if not several.any():
        return fold.take(first)
    merged = _unite(fold, counting[np.repeat(several, counts)], counts[several], union, what)
    rows = first if fold.rows is None else np.where(first < 0, -1, fold.rows[first])
    rows[several] = len(fold.source) + np.arange(len(merged))
    return pa.concat_arrays([fold.source, merged]).take(pa.array(rows, mask=rows < 0))


def _unite(fold: Fold, places: Rows, counts: Rows, union: Union, what: str) -> pa.Array:
    """One union for each run of values, whose lengths are counts."""
    values = fold.take(places).to_pylist()  # opaque to Arrow: each value is an object of a library
    ends = np.cumsum(counts)
    try:
        merged = [union(values[end - count : end]) for end, count in zip(ends.tolist(), counts.tolist(), strict=True)]
    except ValueError as error:
        raise DataError(
            f"column '{fold.column}', aggregate function '{fold.function}': a value is no {what}: {error}; correct "
            "the rows, or set another aggregate function on the column"
        ) from None
    return pa.array(merged, fold.source.type)


def needs_bytes(data_type: DataType, options: FieldOptions) -> str | None:
    """Objection to any type but VARBINARY."""
    return None if data_type.root is Root.VARBINARY else "needs BYTES or a VARBINARY"


def bitmaps_32(fold: Fold) -> pa.Array:
    """The union of the bitmaps of each key."""
    return fold_unions(fold, _union_32, "Roaring bitmap of 32-bit numbers in the portable format")


def bitmaps_64(fold: Fold) -> pa.Array:
    """The union of the bitmaps of each key."""
    return fold_unions(fold, _union_64, "Roaring bitmap of 64-bit numbers as Java's Roaring64Bitmap writes it")


def _union_32(values: Sequence[bytes]) -> bytes:
    merged = BitMap.union(*[_decode_32(value) for value in values])
    merged.run_optimize()
    return bytes(merged.serialize())


def _decode_32(value: bytes) -> BitMap:
    if not value:
        raise ValueError("it has no bytes")  # the library would read a first byte anyway
    return BitMap.deserialize(value)


def _union_64(values: Sequence[bytes]) -> bytes:
    return encode_art_bitmap(BitMap64.union(*[decode_art_bitmap(value) for value in values]))


def hll_sketches(fold: Fold) -> pa.Array:
    """The union of the sketches of each key."""
    return fold_unions(fold, _union_of_hlls, "HyperLogLog sketch")


def theta_sketches(fold: Fold) -> pa.Array:
    """The union of the sketches of each key."""
    return fold_unions(fold, _union_of_thetas, "theta sketch")


def _union_of_hlls(values: Sequence[bytes]) -> bytes:
    """Two at a time, in a union as big as the second: the estimates depend on it."""
    merged = _decode_hll(values[0])
    for value in values[1:]:
        sketch = _decode_hll(value)
        union = hll_union(sketch.lg_config_k)
        union.update(sketch)
        union.update(merged)
        merged = union.get_result(tgt_hll_type.HLL_4)
    return bytes(merged.serialize_compact())


def _decode_hll(value: bytes) -> hll_sketch:
    try:
        return hll_sketch.deserialize(value)
    except IndexError as error:  # of bytes that end too early
        raise ValueError(str(error)) from None


def _union_of_thetas(values: Sequence[bytes]) -> bytes:
    union = theta_union()
    for value in values:
        union.update(_decode_theta(value))
    return _as_java(bytes(union.get_result().serialize()))


def _decode_theta(value: bytes) -> compact_theta_sketch:
    if len(value) >= _UPDATABLE_PREAMBLE and value[2] == _UPDATABLE_FAMILY:
        value = _compact(value)
    try:
        return compact_theta_sketch.deserialize(value)
    except IndexError as error:
        raise ValueError(str(error)) from None


def _compact(value: bytes) -> bytes:
    """The compact form of an updatable sketch: its hash table in order, without the empty places."""
    head, theta = value[:_UPDATABLE_PREAMBLE], value[16:24]
    limit = int.from_bytes(theta, "little")
    table = np.frombuffer(value, np.int64, offset=_UPDATABLE_PREAMBLE)
    hashes = np.sort(table[(table > 0) & (table < limit)])
    flags = bytes([head[_FLAGS] & _EMPTY | _COMPACT_FLAGS])
    start = bytes([3, head[1], _COMPACT_FAMILY, 0, 0]) + flags + head[6:8]
    return start + struct.pack("<i", len(hashes)) + _SAMPLING + theta + hashes.tobytes()


def _as_java(value: bytes) -> bytes:
    """The sketch with the bytes that the Java library sets and the C++ library leaves unset."""
    data = bytearray(value)
    if data[0] & _PREAMBLE_LONGS > 1:
        data[12:16] = _SAMPLING
    elif data[_FLAGS] & _EMPTY:
        data[6:8] = b"\0\0"
    else:
        data[_FLAGS] |= _SINGLE
    return bytes(data)


SPECS: Specs = {
    "rbm32": AggregateSpec(bitmaps_32, needs_bytes, commutative=True, starts_plain=True),
    "rbm64": AggregateSpec(bitmaps_64, needs_bytes, commutative=True, starts_plain=True),
    "hll_sketch": AggregateSpec(hll_sketches, needs_bytes, commutative=True, starts_plain=True),
    "theta_sketch": AggregateSpec(theta_sketches, needs_bytes, commutative=True, starts_plain=True),
}
