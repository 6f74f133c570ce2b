"""``hll_sketch`` and ``theta_sketch`` (Java: FieldHllSketchAgg, FieldThetaSketchAgg): the union of DataSketches.

The bytes are those of the Java library in its compact form. The estimates of a HyperLogLog union equal Java's if all
sketches of a key have the same size (lgK); otherwise they may differ in the third digit.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from datasketches import compact_theta_sketch, hll_sketch, hll_union, tgt_hll_type, theta_union

from paimon_spark.merge.aggregates.frame import AggregateSpec, Fold, Specs
from paimon_spark.merge.aggregates.unions import fold_unions, needs_bytes

_PREAMBLE_LONGS = 0x3F  # low bits of the first byte
_UPDATABLE_FAMILY, _COMPACT_FAMILY = 2, 3
_UPDATABLE_PREAMBLE = 24
_FLAGS, _EMPTY, _SINGLE = 5, 0x04, 0x20
_COMPACT_FLAGS = 0x02 | 0x08 | 0x10  # read-only, compact, ordered
_SAMPLING = struct.pack("<f", 1.0)


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
    "hll_sketch": AggregateSpec(hll_sketches, needs_bytes, commutative=True, starts_plain=True),
    "theta_sketch": AggregateSpec(theta_sketches, needs_bytes, commutative=True, starts_plain=True),
}
