"""Rows are sorted as Python sorts them, and cut into ranges that hold neither order nor balance back."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.merge.clustering.sort_keys import choose_bounds, keys_in, ranges_of, sort_keys, sorted_rows, with_keys
from paimon_spark.merge.clustering.strategy import Clustering, Strategy

TEXTS = st.sampled_from(["", "a", "a\0", "https://example.org/long/prefix/1", "https://example.org/long/prefix/2", "é"])
FLOATS = st.sampled_from([-math.inf, -1.5, -0.0, 0.0, 2.0, math.inf, math.nan])
NUMBERS = st.integers(-3, 3) | st.sampled_from([-(2**63), 2**63 - 1])
ROWS = st.lists(
    st.tuples(st.none() | NUMBERS, st.none() | TEXTS, st.none() | FLOATS),
    max_size=40,
)
NAMES = ["i", "t", "f"]


def batch_of(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    types = (pa.int64(), pa.string(), pa.float64())
    return pa.RecordBatch.from_arrays([pa.array(list(c), t) for c, t in zip(columns, types, strict=True)], names=NAMES)


def by(strategy: Strategy, *names: str) -> Clustering:
    return Clustering(strategy, tuple(DataField(0, name, DataType(Root.INT)) for name in names), 8)


def python_key(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Nulls first; texts by their bytes; NaN last; -0.0 before 0.0."""
    number, text, fraction = row
    is_nan = fraction is not None and math.isnan(fraction)
    plain = 0.0 if fraction is None or is_nan else fraction
    return (
        (number is not None, number or 0),
        (text is not None, (text or "").encode()),
        (fraction is not None, is_nan, plain, math.copysign(1, plain)),
    )


@given(ROWS, st.permutations(NAMES), st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_rows_are_in_the_order_of_columns(rows: list[tuple[Any, ...]], names: list[str], count: int) -> None:
    chosen = names[:count]
    batch = batch_of([(9, "x", 9.0), *rows]).slice(1)
    order = sorted_rows(sort_keys(batch, by(Strategy.ORDER, *chosen)))
    places = [NAMES.index(name) for name in chosen]

    def key(row: int) -> list[Any]:
        whole = python_key(rows[row])
        return [whole[place] for place in places]

    assert order.tolist() == sorted(range(len(rows)), key=key)


@pytest.mark.parametrize("strategy", Strategy)
@given(rows=ROWS, ranges=st.integers(1, 9), seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_ranges_follow_each_other(strategy: Strategy, rows: list[tuple[Any, ...]], ranges: int, seed: int) -> None:
    """Sorting each range by itself gives the order of all rows, whatever was drawn for the bounds."""
    clustering = by(strategy, "i", "t", "f")
    batch = with_keys(batch_of(rows), clustering)
    keys = keys_in(batch, clustering)
    drawn = np.flatnonzero(np.random.default_rng(seed).random(len(rows)) < 0.5)
    places = ranges_of(keys, choose_bounds(keys.take(pa.array(drawn)), ranges))
    assert set(places.tolist()) <= set(range(ranges))
    found: list[dict[str, Any]] = []
    for place in range(ranges):
        part = keys.filter(pa.array(places == place))
        found += part.take(pa.array(sorted_rows(part))).to_pylist()
    assert repr(found) == repr(keys.take(pa.array(sorted_rows(keys))).to_pylist())


@pytest.mark.parametrize("strategy", [Strategy.ORDER, Strategy.ZORDER])
def test_a_key_that_many_rows_have_is_spread_over_ranges(strategy: Strategy) -> None:
    numbers = [7] * 900 + list(range(100))
    batch = pa.record_batch([pa.array(numbers), pa.array(["https://example.org"] * 1000)], ["i", "t"])
    keys = sort_keys(batch, by(strategy, "t", "i"))
    sizes = np.bincount(ranges_of(keys, choose_bounds(keys, 10)), minlength=10)
    assert sizes.max() <= 200


MANY = 20_000
SPREADS: Mapping[str, Callable[[np.random.Generator], npt.NDArray[np.int64]]] = {
    "even": lambda draw: draw.integers(-(2**62), 2**62, MANY),
    "small": lambda draw: draw.integers(0, 50_000, MANY),
    "close together, and one far away": lambda draw: np.append(draw.integers(0, 40, MANY - 1), 2**60),
    "few": lambda draw: draw.integers(0, 3, MANY),
    "one": lambda draw: np.full(MANY, 7),
}


def are_as_searched(found: list[int], keys: list[Any], bounds: list[Any]) -> bool:
    """Whether each range is the one that a search of the ascending bounds finds; of a key that is a bound, either."""
    pairs = zip(found, keys, strict=True)
    return all(bisect_left(bounds, key) <= place <= bisect_right(bounds, key) for place, key in pairs)


@pytest.mark.parametrize("count", [1, 2, 17, 300])
@pytest.mark.parametrize("name", SPREADS)
def test_the_ranges_of_many_rows_are_those_of_a_search_for_each(name: str, count: int) -> None:
    """Of many rows most are found by a table; the model searches the bounds of each."""
    draw = np.random.default_rng(count)
    numbers = SPREADS[name](draw)
    bounds = np.unique(draw.choice(numbers, count) + draw.integers(-1, 2, count))
    keys, cuts = (pa.record_batch({"i": pa.array(values, pa.int64())}) for values in (numbers, bounds))
    assert are_as_searched(ranges_of(keys, cuts).tolist(), numbers.tolist(), bounds.tolist())


@pytest.mark.parametrize("limits", [[2**60], [10, 2**60], [-(2**60)], [-5, 49_999]])
def test_bounds_that_lie_beyond_the_keys_of_many_rows(limits: list[int]) -> None:
    numbers = list(range(MANY))
    keys, cuts = (pa.record_batch({"i": pa.array(values, pa.int64())}) for values in (numbers, limits))
    assert are_as_searched(ranges_of(keys, cuts).tolist(), numbers, limits)


@pytest.mark.parametrize("strategy", [Strategy.ZORDER, Strategy.HILBERT])
def test_the_ranges_of_many_rows_on_a_curve(strategy: Strategy) -> None:
    draw = np.random.default_rng(5)
    batch = pa.record_batch({name: draw.integers(-9, 2**30, MANY) for name in "ij"})
    keys = sort_keys(batch, by(strategy, "i", "j"))
    cuts = choose_bounds(keys.slice(0, 500), 40)
    found = ranges_of(keys, cuts).tolist()
    assert are_as_searched(found, keys.column(0).to_pylist(), cuts.column(0).to_pylist())
