"""Decodes streams of ORC stripes that Arrow's reader cannot: the nanoseconds of timestamps beyond 1677..2262."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.formats.orc_footer import OrcTail, Stripe
from paimon_spark.arrow.formats.protobuf import decode_message, maybe_bytes, number, repeated
from paimon_spark.arrow.raw_values import Int64s

_SECONDARY = 5
_DIRECT, _DIRECT_V2 = 0, 2
_WIDTHS = (*range(1, 25), 26, 28, 30, 32, 40, 48, 56, 64)
_SHORT_REPEAT, _DIRECT_RUN, _PATCHED_BASE, _DELTA = range(4)


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
