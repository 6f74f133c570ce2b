"""Corrects ORC timestamps that Arrow's reader gets wrong: beyond 64-bit nanoseconds, or not written in UTC.

Arrow counts every ORC timestamp in nanoseconds, which end in 1677 and 2262; it refuses others, or wraps them around in
older releases. Around 1970 it applies a rule for instants to what the clock of the writer's zone showed. Such columns
are read as LONG, which gives the stored seconds at any depth of nesting; the nanoseconds are decoded here.

Java stores TIMESTAMP_LTZ as if its UTC fields were local time (``orc.timestamp-ltz.legacy.type``), and reads them back
in its own zone. The file names the zone of its writer, so the shift is undone here in whatever zone this process runs.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pt

from paimon_spark.arrow.conform import list_of, map_of, rescale, struct_of
from paimon_spark.arrow.formats.orc_footer import LIST, MAP, STRUCT, TIMESTAMP, TIMESTAMP_INSTANT, OrcTail
from paimon_spark.arrow.formats.orc_streams import nanoseconds, read_nanos, read_stripe_footer
from paimon_spark.arrow.formats.protobuf import VARINT, Message, decode_message, maybe_bytes, maybe_number, zigzag
from paimon_spark.arrow.raw_values import int64_array, int64_values, valid_mask
from paimon_spark.arrow.types import NANOS_PER_UNIT

_UTC_EPOCH = 1420070400  # stored seconds count from 2015-01-01, TIMESTAMP in the zone of the writer
_UTC_ZONES = frozenset({"", "UTC", "GMT", "Etc/UTC", "Etc/GMT", "Zulu", "UCT", "Z"})
_DAY_MILLIS = 86_400_000
_SAFE_MILLIS = (2**63 - 1) // 10**6 - 3 * _DAY_MILLIS  # a margin for zones
_VALUES, _TIMESTAMP_STATISTICS = 1, 9


@dataclass(frozen=True)
class TimestampPlan:
    """The corrections that the timestamps of some columns of a file need.

    Attributes:
        zone: the zone of the writer, "" for UTC.
        exact: the columns to read as LONG.
        shifted: the TIMESTAMP_LTZ columns that are stored as local time.
    """

    zone: str = ""
    exact: frozenset[int] = frozenset()
    shifted: frozenset[int] = frozenset()


def plan_timestamps(
    source: pa.NativeFile, tail: OrcTail, columns: Collection[int], legacy_ltz: bool
) -> TimestampPlan | None:
    """The plan for reading these top-level columns (all stripes have one writer); None if nothing needs correction.

    Raises:
        ValueError: the file is damaged.
    """
    kinds = (TIMESTAMP, TIMESTAMP_INSTANT)
    found = [each for column in columns for each in tail.below(column) if tail.types[each].kind in kinds]
    if not found or not tail.stripes:
        return None
    zone = read_stripe_footer(source, tail, tail.stripes[0]).writer_zone
    zone = "" if zone in _UTC_ZONES else zone
    exact = frozenset(each for each in found if _must_be_exact(tail, each, zone))
    shifted = frozenset(each for each in found if zone and legacy_ltz and tail.types[each].kind == TIMESTAMP_INSTANT)
    return TimestampPlan(zone, exact, shifted) if exact or shifted else None


def _must_be_exact(tail: OrcTail, column: int, zone: str) -> bool:
    statistics = tail.statistics[column] if column < len(tail.statistics) else []
    if maybe_number(statistics, _VALUES) == 0:
        return False
    bounds = _bounds(statistics)
    if len(bounds) < 2:
        return True
    around_epoch = min(bounds) < 2 * _DAY_MILLIS and max(bounds) > -2 * _DAY_MILLIS
    far = any(abs(bound) > _SAFE_MILLIS for bound in bounds)
    return far or (around_epoch and bool(zone) and tail.types[column].kind == TIMESTAMP)


def _bounds(statistics: Message) -> list[int]:
    """Minimum and maximum in milliseconds, in one or both of the two forms the statistics have."""
    raw = maybe_bytes(statistics, _TIMESTAMP_STATISTICS)
    return [zigzag(value) for field, wire, value in decode_message(raw) if field <= 4 and wire == VARINT] if raw else []


class StripeTimestamps:
    """Carries out a plan, batch after batch of one stripe (of any stripes where no column is exact)."""

    def __init__(self, source: pa.NativeFile, tail: OrcTail, stripe: int, plan: TimestampPlan) -> None:
        self._types = tail.types
        self._plan = plan
        footer = read_stripe_footer(source, tail, tail.stripes[stripe])
        self._nanos = {column: read_nanos(source, tail, footer, column) for column in plan.exact}

    def restore(self, array: pa.Array, column: int, target: pa.DataType) -> pa.Array:
        """The array of a column, whose exact timestamps were read as LONG, with all timestamps corrected.

        Raises:
            DataError: the target counts in nanoseconds and a value is beyond them.
            ValueError: the file is damaged.
        """
        node = self._types[column]
        if node.kind in (TIMESTAMP, TIMESTAMP_INSTANT):
            if column in self._nanos:
                array = self._exact(array, column, target)
            return _local(array, self._plan.zone) if column in self._plan.shifted else array
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

    def _exact(self, array: pa.Array, column: int, target: pa.DataType) -> pa.Array:
        """Stored seconds as timestamps in the unit of the target, without a zone."""
        if not pt.is_timestamp(target):
            raise ValueError(f"the column holds timestamps, not {target}")
        valid = valid_mask(array)
        nanos = np.zeros(len(array), np.int64)
        nanos[valid] = nanoseconds(self._nanos[column].take(int(np.count_nonzero(valid))))
        stored = np.where(valid, int64_values(array), 0)
        local = bool(self._plan.zone) and self._types[column].kind == TIMESTAMP
        seconds = stored + (_epoch_in(self._plan.zone) if local else _UTC_EPOCH)
        seconds = seconds - ((seconds < 0) & (nanos > 999_999))  # the rule of all ORC readers for values before 1970
        if local:
            seconds = int64_values(_local(pa.array(seconds).view(pa.timestamp("s")), self._plan.zone))
        unit = NANOS_PER_UNIT[target.unit]
        naive = pa.timestamp(target.unit)
        if unit > 1:
            return int64_array(seconds * (10**9 // unit) + nanos // unit, array, naive)
        whole = rescale(int64_array(seconds, array, pa.timestamp("s")), 10**9, 1, pa.int64())
        return int64_array(int64_values(whole) + nanos, array, naive)


def _epoch_in(zone: str) -> int:
    """The instant of 2015-01-01 in a zone, in seconds."""
    midnight = pa.scalar(_UTC_EPOCH, pa.timestamp("s"))
    return int(pc.assume_timezone(midnight, zone).cast(pa.int64()).as_py())


def _local(array: pa.Array, zone: str) -> pa.Array:
    """Instants as what a clock in the zone shows."""
    return pc.local_timestamp(array.view(pa.timestamp(array.type.unit, zone)))
