"""``rbm32`` and ``rbm64`` (Java: FieldRoaringBitmap32Agg, FieldRoaringBitmap64Agg): the union of Roaring bitmaps.

``rbm32`` has the portable format of 32-bit bitmaps, ``rbm64`` the bytes of the Java class Roaring64Bitmap.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyroaring import BitMap, BitMap64

from paimon_spark.format.art_bitmap import decode_art_bitmap, encode_art_bitmap
from paimon_spark.merge.aggregates.frame import AggregateSpec, Fold, Specs
from paimon_spark.merge.aggregates.unions import fold_unions, needs_bytes


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


SPECS: Specs = {
    "rbm32": AggregateSpec(bitmaps_32, needs_bytes, commutative=True, starts_plain=True),
    "rbm64": AggregateSpec(bitmaps_64, needs_bytes, commutative=True, starts_plain=True),
}
