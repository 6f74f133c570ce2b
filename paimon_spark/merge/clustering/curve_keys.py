"""Values of columns as bytes of a z-order, and as coordinates of a Hilbert curve (Java: ZIndexer, HilbertIndexer).

Whole numbers, dates, times, timestamps (their milliseconds), booleans and the first bytes of texts are those of Java
2.0.0. Java's bytes of fractions, decimals and short texts are not in the order of the values; these are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow.raw_values import valid_mask
from paimon_spark.merge.clustering.hilbert import hilbert_positions
from paimon_spark.merge.clustering.strategy import Clustering, Strategy
from paimon_spark.merge.clustering.zorder import Bytes, interleave
from paimon_spark.merge.keys.key_words import Words, ordered_columns

_SIGN = np.uint64(1 << 63)
_COORDINATE = np.uint64(2**63 - 1)
_TRUE = 0x81 << 56  # Java's byte of true in a z-order, the first of eight
_TICKS = {"s": (1000, 1), "ms": (1, 1), "us": (1, 1000), "ns": (1, 1_000_000)}  # to milliseconds: times, divided by


def curve_values(batch: pa.RecordBatch, clustering: Clustering) -> Bytes:
    """The place of each row on the curve, as bytes in order: a null is the first value of a z-order, the last of a
    Hilbert curve, as in Java.

    Args:
        batch: holds the columns.
        clustering: by a curve.
    """
    columns = [batch.column(name) for name in clustering.names]
    if clustering.strategy is Strategy.ZORDER:
        return interleave([_z_bytes(column, clustering.text_bytes) for column in columns])
    return hilbert_positions([_coordinate(column) for column in columns])


def _z_bytes(column: pa.Array, text_bytes: int) -> Bytes:
    if _is_bytes(column.type):
        return _first_bytes(column, text_bytes)
    if pt.is_boolean(column.type):
        word: Words = _integers(column).view(np.uint64) * np.uint64(_TRUE)
    else:
        word = _integers(column).view(np.uint64) ^ _SIGN
    return _with(word, column, 0).astype(">u8").view(np.uint8).reshape(-1, 8)


def _coordinate(column: pa.Array) -> Words:
    if _is_bytes(column.type):
        word: Words = _first_bytes(column, 8).view(">u8").reshape(-1).astype(np.uint64) >> np.uint64(1)
    elif pt.is_boolean(column.type):
        word = _integers(column).view(np.uint64) * _COORDINATE
    elif pt.is_floating(column.type) or _is_wide(column.type):
        word = (_integers(column).view(np.uint64) ^ _SIGN) >> np.uint64(1)
    else:
        # A negative number comes after the greatest one, as in Java: the cells are turned, each as small as before.
        word = _integers(column).view(np.uint64) & _COORDINATE
    return _with(word, column, int(_COORDINATE))


def _is_bytes(arrow: pa.DataType) -> bool:
    return bool(pt.is_string(arrow) or pt.is_binary(arrow) or pt.is_large_string(arrow) or pt.is_large_binary(arrow))


def _is_wide(arrow: pa.DataType) -> bool:
    """True if it is a decimal of more than 64 bits, which counts as the nearest fraction."""
    return bool(pt.is_decimal(arrow) and arrow.precision > 18)


def _integers(column: pa.Array) -> npt.NDArray[np.int64]:
    """Signed numbers in the order of the values; those at nulls are arbitrary."""
    arrow = column.type
    if pt.is_float32(arrow) or _is_wide(arrow):
        column = column.cast(pa.float64(), safe=False)
    [values] = ordered_columns(column, "")
    numbers: npt.NDArray[np.int64] = values.astype(np.int64, copy=False)
    if pt.is_timestamp(arrow) or pt.is_time(arrow):
        times, divided_by = _TICKS[arrow.unit]
        numbers = numbers * times // divided_by
    return numbers


def _with(words: Words, column: pa.Array, null: int) -> Words:
    if not column.null_count:
        return words
    found: Words = np.where(valid_mask(column), words, np.uint64(null))
    return found


def _first_bytes(column: pa.Array, width: int) -> Bytes:
    """The first bytes of each value, followed by zeros; all zeros for null."""
    if column.null_count:
        column = column.fill_null("" if pt.is_string(column.type) or pt.is_large_string(column.type) else b"")
    binary = column.cast(pa.large_binary())
    offsets = np.frombuffer(binary.buffers()[1], np.int64, len(binary) + 1, binary.offset * 8)
    data = np.frombuffer(binary.buffers()[2] or b"\0", np.uint8)
    places = np.arange(width)
    taken: Bytes = data.take(np.minimum(offsets[:-1, None] + places, max(len(data) - 1, 0)))
    taken[places >= (offsets[1:] - offsets[:-1])[:, None]] = 0
    return taken
