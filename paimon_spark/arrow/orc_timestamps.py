"""ORC timestamps beyond 1677..2262, which Arrow's reader refuses, or wraps around in older releases.

Arrow counts every ORC timestamp in 64-bit nanoseconds. Where the statistics of a column leave that range, the column is
read as LONG, which gives the stored seconds at any depth of nesting; the nanoseconds are decoded here.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pt

from paimon_spark.arrow.conform import list_of, map_of, rescale, struct_of
from paimon_spark.arrow.orc_footer import LIST, MAP, STRUCT, TIMESTAMP, TIMESTAMP_INSTANT, OrcTail
from paimon_spark.arrow.orc_streams import nanoseconds, read_nanos, read_stripe_footer
from paimon_spark.arrow.protobuf import Message, decode_message, first, zigzag
from paimon_spark.arrow.raw_values import Int64s, int64_array, int64_values, valid_mask
from paimon_spark.arrow.types import NANOS_PER_UNIT

_UTC_EPOCH = 1420070400  # stored seconds count from 2015-01-01, in the zone of the writer
_UTC_ZONES = ("", "UTC", "GMT", "Etc/UTC")
_SAFE_MILLIS = (2**63 - 1) // 10**6 - 3 * 86_400_000  # a margin for zones
_VALUES, _TIMESTAMP_STATISTICS = 1, 9


def far_columns(tail: OrcTail, column: int) -> list[int]:
    """The timestamp columns, at or below this one, that may hold values beyond 64-bit nanoseconds."""
    found = []
    for each in tail.below(column):
        if tail.types[each].kind in (TIMESTAMP, TIMESTAMP_INSTANT):
            statistics = tail.statistics[each] if each < len(tail.statistics) else None
            if statistics is None or _is_far(statistics):
                found.append(each)
    return found


def _is_far(statistics: Message) -> bool:
    if first(statistics, _VALUES) == 0:
        return False
    raw = first(statistics, _TIMESTAMP_STATISTICS)
    bounds = [zigzag(value) for field, _, value in decode_message(raw) if field <= 4] if raw else []
    return len(bounds) < 2 or any(abs(bound) > _SAFE_MILLIS for bound in bounds)


class FarTimestamps:
    """Puts seconds read as LONG and nanoseconds together, batch after batch of one stripe."""

    def __init__(self, source: pa.NativeFile, tail: OrcTail, stripe: int, far: Collection[int]) -> None:
        footer = read_stripe_footer(source, tail, tail.stripes[stripe])
        self._types = tail.types
        self._zone = footer.writer_zone
        self._nanos = {column: read_nanos(source, tail, footer, column) for column in far}

    def restore(self, array: pa.Array, column: int, target: pa.DataType) -> pa.Array:
        """The array of a column read with its far timestamps as LONG, with timestamps in the units of the target.

        Raises:
            DataError: the target counts in nanoseconds and a value is beyond them.
            ValueError: the file is damaged.
        """
        node = self._types[column]
        if column in self._nanos:
            return self._timestamps(array, column, target)
        if node.kind == STRUCT:
            steps = enumerate(node.children)
            children = [self.restore(array.field(i), child, target.field(i).type) for i, child in steps]
            fields = [pa.field(name, child.type) for name, child in zip(node.names, children, strict=True)]
            return struct_of(array, children, fields)
        if node.kind == LIST:
            values = self.restore(array.values, node.children[0], target.value_type)
            return list_of(array, values, pa.list_(values.type))
        if node.kind == MAP:
            keys = self.restore(array.keys, node.children[0], target.key_type)
            items = self.restore(array.items, node.children[1], target.item_type)
            return map_of(array, keys, items, pa.map_(keys.type, items.type))
        return array

    def _timestamps(self, array: pa.Array, column: int, target: pa.DataType) -> pa.Array:
        if not pt.is_timestamp(target):
            raise ValueError(f"the column holds timestamps, not {target}")
        valid = valid_mask(array)
        nanos = np.zeros(len(array), np.int64)
        nanos[valid] = nanoseconds(self._nanos[column].take(int(np.count_nonzero(valid))))
        stored = np.where(valid, int64_values(array), 0)
        instant = self._types[column].kind == TIMESTAMP_INSTANT
        seconds = stored + _UTC_EPOCH if instant or self._zone in _UTC_ZONES else _wall_clock(stored, self._zone)
        seconds = seconds - ((seconds < 0) & (nanos > 999_999))  # the rule of all ORC readers for values before 1970
        unit = NANOS_PER_UNIT[target.unit]
        naive = pa.timestamp(target.unit)
        if unit > 1:
            return int64_array(seconds * (10**9 // unit) + nanos // unit, array, naive)
        whole = rescale(int64_array(seconds, array, pa.timestamp("s")), 10**9, 1, pa.int64())
        return int64_array(int64_values(whole) + nanos, array, naive)


def _wall_clock(stored: Int64s, zone: str) -> Int64s:
    """Seconds since 2015 in the writer's zone as what its clock showed, read as if UTC."""
    start = pc.assume_timezone(pa.scalar(_UTC_EPOCH, pa.timestamp("s")), zone).cast(pa.int64()).as_py()
    instants = pa.array(stored + start).cast(pa.timestamp("s", zone))
    return int64_values(pc.local_timestamp(instants))
