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
from paimon_spark.arrow.formats.orc_footer import LIST, MAP, STRUCT, TIMESTAMP, TIMESTAMP_INSTANT, OrcTail, Stripe
from paimon_spark.arrow.formats.protobuf import (
    VARINT,
    Message,
    decode_message,
    maybe_bytes,
    maybe_number,
    number,
    repeated,
    zigzag,
)
from paimon_spark.arrow.raw_values import Int64s, int64_array, int64_values, valid_mask
from paimon_spark.arrow.types import NANOS_PER_UNIT

_UTC_EPOCH = 1420070400  # stored seconds count from 2015-01-01, TIMESTAMP in the zone of the writer
_UTC_ZONES = frozenset({"", "UTC", "GMT", "Etc/UTC", "Etc/GMT", "Zulu", "UCT", "Z"})
_DAY_MILLIS = 86_400_000
_SAFE_MILLIS = (2**63 - 1) // 10**6 - 3 * _DAY_MILLIS  # a margin for zones
_VALUES, _TIMESTAMP_STATISTICS = 1, 9
_SECONDARY = 5
_DIRECT, _DIRECT_V2 = 0, 2
_WIDTHS = (*range(1, 25), 26, 28, 30, 32, 40, 48, 56, 64)
_SHORT_REPEAT, _DIRECT_RUN, _PATCHED_BASE, _DELTA = range(4)


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


@dataclass(frozen=True)
class StripeFooter:
    """The footer of one stripe.

    Attributes:
        streams: (kind, column, offset in the file, length) of each stream.
        encodings: by column id.
    """

    streams: tuple[tuple[int, int, int, int], ...]
    encodings: tuple[int, ...]
    writer_zone: str


def read_stripe_footer(source: pa.NativeFile, tail: OrcTail, stripe: Stripe) -> StripeFooter:
    """The footer of a stripe.

    Raises:
        ValueError: it is damaged.
    """
    start = stripe.offset + stripe.index_length + stripe.data_length
    message = decode_message(tail.decompress(source.read_at(stripe.footer_length, start)))
    streams, offset = [], stripe.offset
    for raw in repeated(message, 1):
        stream = decode_message(raw)
        length = number(stream, 3)
        streams.append((number(stream, 1), number(stream, 2), offset, length))
        offset += length
    if offset > start:
        raise ValueError("the streams are longer than their stripe")
    encodings = tuple(number(decode_message(raw), 1) for raw in repeated(message, 2))
    return StripeFooter(tuple(streams), encodings, (maybe_bytes(message, 3) or b"").decode())


def read_nanos(source: pa.NativeFile, tail: OrcTail, footer: StripeFooter, column: int) -> Runs:
    """The nanoseconds of the second of a timestamp column in one stripe, of the values that are not null.

    Raises:
        ValueError: the stream is damaged or of an unknown encoding.
    """
    data = b""
    for kind, stream_column, offset, length in footer.streams:
        if kind == _SECONDARY and stream_column == column:
            data = tail.decompress(source.read_at(length, offset))
    encoding = footer.encodings[column] if column < len(footer.encodings) else -1
    if encoding not in (_DIRECT, _DIRECT_V2):
        raise ValueError(f"timestamp encoding {encoding} is unknown")
    return Runs(data, version=2 if encoding == _DIRECT_V2 else 1)


def nanoseconds(stored: Int64s) -> Int64s:
    """Nanoseconds from their stored form: the low 3 bits count the trailing decimal zeros cut off, less one."""
    zeros = stored & 7
    return (stored >> 3) * np.where(zeros == 0, 1, 10 ** (zeros + 1))


class Runs:
    """Unsigned integers in run-length encoding, version 1 or 2, taken in order, as the signed integers of their bits.

    Arrow writes the fraction of a second before 1970 as a negative number.
    """

    def __init__(self, data: bytes, version: int) -> None:
        self._data = data
        self._at = 0
        self._next = self._run_v2 if version == 2 else self._run_v1
        self._left: Int64s = np.empty(0, np.int64)

    def take(self, count: int) -> Int64s:
        """The next values.

        Raises:
            ValueError: there are fewer.
        """
        parts, missing = [self._left[:count]], count - len(self._left)
        self._left = self._left[count:]
        while missing > 0:
            if self._at >= len(self._data):
                raise ValueError("a run-length encoded stream ends early")
            try:
                run = self._next()
            except IndexError:
                raise ValueError("a run-length encoded stream ends early") from None
            parts.append(run[:missing])
            self._left = run[missing:]
            missing -= len(run)
        return np.concatenate(parts)

    def _byte(self) -> int:
        value = self._data[self._at]
        self._at += 1
        return value

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return _signed(value, 64)
            shift += 7

    def _signed_varint(self) -> int:
        value = self._varint()
        return (value >> 1 & (2**63 - 1)) ^ -(value & 1)

    def _big_endian(self, size: int) -> int:
        if self._at + size > len(self._data):
            raise IndexError
        value = int.from_bytes(self._data[self._at : self._at + size], "big")
        self._at += size
        return value

    def _bits(self, count: int, width: int) -> Int64s:
        """Numbers of width bits each, highest bit first, padded to whole bytes."""
        size = (count * width + 7) // 8
        if self._at + size > len(self._data):
            raise IndexError
        raw = np.frombuffer(self._data, np.uint8, size, self._at)
        self._at += size
        bits = np.unpackbits(raw)[: count * width].reshape(count, width).astype(np.int64)
        return bits @ (np.int64(1) << np.arange(width - 1, -1, -1, dtype=np.int64))

    def _run_v1(self) -> Int64s:
        head = self._byte()
        if head >= 128:
            return np.array([self._varint() for _ in range(256 - head)], np.int64)
        count, step = head + 3, self._byte()
        step -= 256 if step > 127 else 0
        return self._varint() + step * np.arange(count, dtype=np.int64)

    def _run_v2(self) -> Int64s:
        head = self._byte()
        kind = head >> 6
        if kind == _SHORT_REPEAT:
            value = self._big_endian((head >> 3 & 7) + 1)
            return np.full((head & 7) + 3, _signed(value, 64), np.int64)
        width = head >> 1 & 31
        count = ((head & 1) << 8 | self._byte()) + 1
        if kind == _DIRECT_RUN:
            return self._bits(count, _WIDTHS[width])
        if kind == _DELTA:
            return self._delta(count, _WIDTHS[width] if width else 0)
        return self._patched(count, _WIDTHS[width])

    def _delta(self, count: int, width: int) -> Int64s:
        base, step = self._varint(), self._signed_varint()
        if not width:
            return base + step * np.arange(count, dtype=np.int64)
        rest = self._bits(count - 2, width) * (1 if step >= 0 else -1) if count > 2 else np.empty(0, np.int64)
        return np.cumsum(np.concatenate((np.array([base, step][:count], np.int64), rest)))

    def _patched(self, count: int, width: int) -> Int64s:
        third, fourth = self._byte(), self._byte()
        base_size, patch_width = (third >> 5) + 1, _WIDTHS[third & 31]
        gap_width, patches = (fourth >> 5) + 1, fourth & 31
        base = self._big_endian(base_size)
        sign = 1 << (base_size * 8 - 1)
        base = -(base & ~sign) if base & sign else base
        values = self._bits(count, width)
        entry_width = next(w for w in _WIDTHS if w >= patch_width + gap_width)
        at = 0
        for entry in self._bits(patches, entry_width):
            at += int(entry) >> patch_width
            values[at] |= (int(entry) & ((1 << patch_width) - 1)) << width
        return values + base


def _signed(value: int, bits: int) -> int:
    """The signed integer with the same lowest bits."""
    return value - (1 << bits) if value >> (bits - 1) & 1 else value
