"""Partition rows: their statistics in manifest lists, and their equality (format sections 4.1, 5.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from paimon_spark.format.binary_row import decode_arity_row, encode_arity_row
from paimon_spark.format.bucket import Partition
from paimon_spark.format.manifest import EMPTY_ROW, SimpleStats
from paimon_spark.format.types import DataField, DataType
from paimon_spark.merge.keys.key_order import sort_key_of
from paimon_spark.store.metadata.live_files import canonical_row


def partition_stats(partitions: Sequence[bytes], fields: Sequence[DataField]) -> SimpleStats:
    """Minimum, maximum and null count of every partition column over entries; the bounds are not truncated.

    Args:
        partitions: the partition row of each entry, arity-prefixed.
        fields: the partition columns.
    """
    if not fields:
        return SimpleStats(EMPTY_ROW, EMPTY_ROW, ())
    types = tuple(f.type for f in fields)
    counted = [(decode_arity_row(row, types), count) for row, count in Counter(partitions).items()]
    low, high, nulls = [], [], []
    for position, data_type in enumerate(types):
        order = _value_order(data_type)
        values = [row[position] for row, _ in counted if row[position] is not None]
        low.append(min(values, key=order, default=None))
        high.append(max(values, key=order, default=None))
        nulls.append(sum(count for row, count in counted if row[position] is None))
    return SimpleStats(encode_arity_row(low, types), encode_arity_row(high, types), tuple(nulls))


def joined_stats(parts: Sequence[SimpleStats], fields: Sequence[DataField]) -> SimpleStats:
    """The statistics of all entries together, from the statistics of parts of them."""
    if not fields:
        return SimpleStats(EMPTY_ROW, EMPTY_ROW, ())
    types = tuple(f.type for f in fields)
    lows = [decode_arity_row(part.min_values, types) for part in parts]
    highs = [decode_arity_row(part.max_values, types) for part in parts]
    low, high, nulls = [], [], []
    for position, data_type in enumerate(types):
        order = _value_order(data_type)
        low.append(min((row[position] for row in lows if row[position] is not None), key=order, default=None))
        high.append(max((row[position] for row in highs if row[position] is not None), key=order, default=None))
        counts = [part.null_counts[position] if part.null_counts else None for part in parts]
        nulls.append(None if None in counts else sum(filter(None, counts)))
    return SimpleStats(encode_arity_row(low, types), encode_arity_row(high, types), tuple(nulls))


def _value_order(data_type: DataType) -> Callable[[Any], Any]:
    order = sort_key_of((data_type,))
    return lambda value: order((value,))


def same_partition(types: tuple[DataType, ...]) -> Callable[[bytes], Partition]:
    """A function that gives all rows of one partition the same bytes; it encodes each distinct row once."""

    @lru_cache(maxsize=1 << 16)
    def canonical(row: bytes) -> Partition:
        return canonical_row(row, types)

    return canonical
