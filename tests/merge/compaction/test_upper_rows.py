"""Rows of higher levels found by key, against dictionaries; and how little of the levels is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.errors import CorruptFile
from paimon_spark.merge.compaction.upper_rows import UpperRows, matching_keys
from paimon_spark.merge.keys.key_words import key_columns

TYPES = {"int": pa.int32(), "text": pa.string(), "both": None}
TEXTS = ["", "a", "a\0", "ab", "b", "é", "x" * 30, "x" * 31, "\U0001f600"]


def keys_batch(keys: Sequence[tuple[Any, ...]], kind: str) -> pa.RecordBatch:
    """Keys of one column, or of two."""
    types = [pa.int32(), pa.string()] if kind == "both" else [TYPES[kind]]
    columns = [pa.array([key[i] for key in keys], t) for i, t in enumerate(types)]
    return pa.RecordBatch.from_arrays(columns, [f"k{i}" for i in range(len(types))])


@st.composite
def key_sets(draw: st.DrawFn) -> tuple[str, list[list[tuple[Any, ...]]]]:
    """Sorted keys, of the rows that are looked for and of two levels."""
    kind = draw(st.sampled_from(sorted(TYPES)))
    ints, texts = st.integers(-3, 40), st.sampled_from(TEXTS)
    one = {"int": st.tuples(ints), "text": st.tuples(texts), "both": st.tuples(ints, texts)}[kind]
    return kind, [sorted(draw(st.sets(one, max_size=30)), key=in_key_order) for _ in range(3)]


def in_key_order(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(value.encode() if isinstance(value, str) else value for value in key)


class Level:
    """A level in batches; keeps what it was asked, and skips what it may if it is told to."""

    def __init__(self, batches: list[pa.RecordBatch], skips: bool = False) -> None:
        self._batches: Iterator[pa.RecordBatch] = iter(batches)
        self._skips = skips
        self.asked: list[list[Any]] = []
        self.reads = 0

    def next_from(self, key: pa.RecordBatch) -> pa.RecordBatch | None:
        self.asked.append(list(key.to_pylist()[0].values()))
        for batch in self._batches:
            last = list(batch.slice(batch.num_rows - 1).to_pylist()[0].values()) if batch.num_rows else []
            if self._skips and last and last < self.asked[-1]:
                continue
            self.reads += 1
            return batch
        return None


@given(key_sets())
def test_matching_keys(drawn: tuple[str, list[list[tuple[Any, ...]]]]) -> None:
    kind, (wanted, others, _) = drawn
    if not wanted:
        return
    names = keys_batch([], kind).schema.names
    which, places = matching_keys(*(key_columns(keys_batch(keys, kind), names) for keys in (wanted, others)))
    expected = [(i, others.index(key)) for i, key in enumerate(wanted) if key in others]
    assert list(zip(which.tolist(), places.tolist(), strict=True)) == expected


@given(key_sets(), st.integers(1, 9), st.integers(1, 9), st.booleans())
def test_rows_of_two_levels(
    drawn: tuple[str, list[list[tuple[Any, ...]]]], batch_rows: int, window: int, skips: bool
) -> None:
    kind, (wanted, low, high) = drawn
    names = keys_batch([], kind).schema.names

    def level(keys: list[tuple[Any, ...]], label: str) -> Level:
        batch = keys_batch(keys, kind).append_column("v", pa.array([f"{label} {key}" for key in keys], pa.string()))
        empty = batch.slice(0, 0)
        parts = [batch.slice(i, batch_rows) for i in range(0, batch.num_rows, batch_rows)]
        return Level([empty, *parts, empty], skips and kind == "int")

    upper = UpperRows([level(low, "low"), level(high, "high")], names)
    found: dict[tuple[Any, ...], str] = {}
    for start in range(0, len(wanted), window):
        part = wanted[start : start + window]
        batch = keys_batch(part, kind)
        for rows in upper.find(key_columns(batch, names), lambda i, batch=batch: batch.slice(i, 1)):
            keys = [part[number] for number in rows.keys.tolist()]
            assert keys == [tuple(row.values()) for row in rows.rows.select(names).to_pylist()]
            found.update(zip(keys, rows.rows.column("v").to_pylist(), strict=True))
    expected = {k: f"low {k}" if k in low else f"high {k}" for k in wanted if k in low or k in high}
    assert found == expected


def int_level(*ranges: range, skips: bool = True) -> Level:
    return Level([keys_batch([(key,) for key in keys], "int") for keys in ranges], skips)


def find(upper: UpperRows, keys: Sequence[int]) -> list[int]:
    batch = keys_batch([(key,) for key in keys], "int")
    found = upper.find(key_columns(batch, ["k0"]), lambda i: batch.slice(i, 1))
    return sorted(key for rows in found for key in rows.rows.column("k0").to_pylist())


def test_batches_that_no_key_falls_into_are_not_read() -> None:
    level = int_level(*(range(start, start + 10) for start in range(0, 1000, 10)))
    upper = UpperRows([level], ["k0"])
    assert find(upper, [13, 15, 501, 502]) == [13, 15, 501, 502]
    assert level.reads == 2
    assert find(upper, [503]) == [503]
    assert level.reads == 2
    assert level.asked == [[13], [501]]


def test_levels_are_asked_only_for_what_no_lower_one_has() -> None:
    low, high = int_level(range(0, 10)), int_level(range(0, 5), range(5, 20))
    upper = UpperRows([low, high], ["k0"])
    assert find(upper, [2, 9]) == [2, 9]
    assert high.reads == 0
    assert find(upper, [15, 16]) == [15, 16]
    assert high.asked == [[15]]


def test_a_level_that_has_ended_is_not_asked_again() -> None:
    level = int_level(range(0, 3))
    upper = UpperRows([level], ["k0"])
    assert find(upper, [1, 5]) == [1]
    assert find(upper, [6]) == []
    assert level.asked == [[1], [5]]


def test_no_levels() -> None:
    assert not UpperRows([], ["k0"])
    assert find(UpperRows([], ["k0"]), [1]) == []


def test_a_null_key_is_damage() -> None:
    damaged = Level([pa.record_batch({"k0": pa.array([1, None], pa.int32())})])
    with pytest.raises(CorruptFile, match="k0"):
        find(UpperRows([damaged], ["k0"]), [1])


def test_keys_without_bits_in_common() -> None:
    numbers = np.array([-(2**63), -1, 0, 2**63 - 1])
    which, places = matching_keys([numbers[[0, 3]]], [numbers])
    assert (which.tolist(), places.tolist()) == ([0, 1], [0, 3])
