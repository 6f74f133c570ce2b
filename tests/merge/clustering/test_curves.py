"""The bytes of z-orders and Hilbert curves are those of a bit-by-bit model, and their order is that of the values."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.merge.clustering.curves import curve_values, hilbert_positions, interleave
from paimon_spark.merge.clustering.strategy import Clustering, Strategy


def naive_interleave(columns: Sequence[bytes]) -> bytes:
    """Java's loop over bits, on one row."""
    bits = [[byte >> shift & 1 for byte in column for shift in range(7, -1, -1)] for column in columns]
    mixed = [column[at] for at in range(max(map(len, bits))) for column in bits if at < len(column)]
    return bytes(int("".join(map(str, mixed[at : at + 8])), 2) for at in range(0, len(mixed), 8))


def naive_hilbert(point: Sequence[int], bits: int) -> int:
    """Skilling's algorithm on one point."""
    x = list(point)
    q = 1 << (bits - 1)
    while q > 1:
        for i in range(len(x)):
            if x[i] & q:
                x[0] ^= q - 1
            else:
                t = (x[0] ^ x[i]) & (q - 1)
                x[0] ^= t
                x[i] ^= t
        q >>= 1
    for i in range(1, len(x)):
        x[i] ^= x[i - 1]
    t, q = 0, 1 << (bits - 1)
    while q > 1:
        if x[-1] & q:
            t ^= q - 1
        q >>= 1
    text = "".join(str((v ^ t) >> bit & 1) for bit in range(bits - 1, -1, -1) for v in x)
    return int(text, 2)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_interleaved_bits(data: st.DataObject) -> None:
    widths = data.draw(st.lists(st.integers(1, 11), min_size=1, max_size=11))
    rows = data.draw(st.integers(1, 3))
    columns = [data.draw(st.lists(st.binary(min_size=w, max_size=w), min_size=rows, max_size=rows)) for w in widths]
    ours = interleave([np.frombuffer(b"".join(c), np.uint8).reshape(rows, -1) for c in columns])
    assert [bytes(row) for row in ours] == [naive_interleave(row) for row in zip(*columns, strict=True)]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_positions_on_the_hilbert_curve(data: st.DataObject) -> None:
    bits = data.draw(st.sampled_from([1, 2, 5, 20, 63]))
    number = st.one_of(st.integers(0, 2**bits - 1), st.integers(0, min(9, 2**bits - 1)))
    points = data.draw(st.integers(2, 5).flatmap(lambda k: st.lists(st.tuples(*[number] * k), min_size=1, max_size=4)))
    ours = hilbert_positions([np.array(axis, np.uint64) for axis in zip(*points, strict=True)], bits)
    spare = len(points[0]) * (64 - bits)
    assert [int.from_bytes(bytes(row), "big") >> spare for row in ours] == [naive_hilbert(p, bits) for p in points]


def test_neighbours_on_the_hilbert_curve_are_neighbours_in_space() -> None:
    points = list(itertools.product(range(16), repeat=2))
    places = hilbert_positions([np.array(axis, np.uint64) for axis in zip(*points, strict=True)], 4)
    order = sorted(range(len(points)), key=lambda i: bytes(places[i]))
    steps = [math.dist(points[a], points[b]) for a, b in itertools.pairwise(order)]
    assert steps == [1.0] * 255


MIDNIGHT = dt.datetime(1970, 1, 1)
ASCENDING: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int8(), [-128, -1, 0, 5, 127]),
    (pa.int16(), [-32768, -1, 0, 7]),
    (pa.int32(), [-(2**31), -5, 0, 2**31 - 1]),
    (pa.int64(), [-(2**62) + 1, -1, 0, 2, 2**62]),
    (pa.float32(), [-math.inf, -2.5, -0.0, 0.0, 1e-30, 3.0, math.inf, math.nan]),
    (pa.float64(), [-math.inf, -2.5, -1e-300, -0.0, 0.0, 1e-300, 3.0, math.inf, math.nan]),
    (pa.decimal128(9, 2), [Decimal("-99.10"), Decimal("0.00"), Decimal("0.01"), Decimal("77.00")]),
    (pa.decimal128(38, 0), [Decimal(-(10**30)), Decimal(-5), Decimal(0), Decimal(3), Decimal(10**37)]),
    (pa.string(), ["", "a", "aa", "ab", "b", "é", "😀"]),
    (pa.binary(), [b"", b"\x00\x01", b"\x7f", b"\x80", b"\xff\xff"]),
    (pa.bool_(), [False, True]),
    (pa.date32(), [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(2026, 11, 1)]),
    (pa.time32("ms"), [dt.time(0), dt.time(0, 0, 1), dt.time(23, 59)]),
    (pa.timestamp("s"), [dt.datetime(1900, 1, 1), MIDNIGHT, dt.datetime(2026, 11, 1)]),
    (pa.timestamp("us"), [dt.datetime(1900, 1, 1), MIDNIGHT, dt.datetime(2026, 11, 1, 0, 0, 0, 1000)]),
    (pa.timestamp("ns"), [dt.datetime(1900, 1, 1), MIDNIGHT, dt.datetime(2026, 11, 1)]),
]


def by(strategy: Strategy, *names: str) -> Clustering:
    return Clustering(strategy, tuple(DataField(0, name, DataType(Root.INT)) for name in names), 8)


@pytest.mark.parametrize(("arrow", "values"), ASCENDING, ids=str)
def test_a_column_of_a_z_order_is_in_order_and_nulls_are_first(arrow: pa.DataType, values: list[Any]) -> None:
    """Alone, and where the other column is the same in all rows; sliced arrays too."""
    batch = pa.record_batch(
        [pa.array([values[-1], None, *values], arrow), pa.array([4] * (len(values) + 2))], ["v", "w"]
    )
    for names in (["v"], ["v", "w"], ["w", "v"]):
        places = [bytes(row) for row in curve_values(batch.slice(1), by(Strategy.ZORDER, *names))]
        assert places == sorted(places)
        assert len(set(places[1:])) == len(values)


@pytest.mark.parametrize(("arrow", "values"), ASCENDING, ids=str)
def test_values_keep_their_distance_on_a_hilbert_curve(arrow: pa.DataType, values: list[Any]) -> None:
    """Each value has its own place; nulls have the last coordinate."""
    batch = pa.record_batch([pa.array([*values, None], arrow), pa.array([0] * (len(values) + 1))], ["v", "w"])
    places = [bytes(row) for row in curve_values(batch, by(Strategy.HILBERT, "v", "w"))]
    assert len(set(places[:-1])) == len(values)
    last = curve_values(
        pa.record_batch([pa.array([2**63 - 1]), pa.array([0])], ["v", "w"]), by(Strategy.HILBERT, "v", "w")
    )
    assert places[-1] == bytes(last[0])


def test_texts_take_part_with_their_first_bytes() -> None:
    batch = pa.record_batch([pa.array(["abcdefgh-1", "abcdefgh-2", "abc", None])], ["v"])
    eight = curve_values(batch, by(Strategy.ZORDER, "v"))
    assert [bytes(row) for row in eight] == [b"abcdefgh", b"abcdefgh", b"abc".ljust(8, b"\0"), bytes(8)]
    ten = curve_values(batch, Clustering(Strategy.ZORDER, by(Strategy.ZORDER, "v").fields, 10))
    assert [bytes(row) for row in ten][:2] == [b"abcdefgh-1", b"abcdefgh-2"]
