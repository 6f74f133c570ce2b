"""Partial aggregates of batches, merged as Spark merges them, are the aggregates of all rows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from support.long_runs import examples

from paimon_spark.spark.native import partial_aggregates
from paimon_spark.spark.native.partial_aggregates import PartialAggregates
from paimon_spark.sql.queries.aggregate_calls import COUNT, COUNT_ROWS, MAX, MIN, SUM

LONG, SHORT = pa.int64(), pa.decimal128(4, 2)
ROWS = pa.schema([("g", pa.string()), ("h", pa.int32()), ("v", LONG), ("d", SHORT), ("w", pa.decimal128(38, 0))])
FUNCTIONS = {
    (COUNT_ROWS, ""): LONG,
    (COUNT, "g"): LONG,
    (SUM, "v"): LONG,
    (SUM, "d"): SHORT,
    (SUM, "w"): pa.decimal128(38, 0),
    (MIN, "v"): LONG,
    (MAX, "d"): SHORT,
    (MIN, "h"): pa.int32(),
}
Row = tuple[Any, ...]
numbers = some.one_of(some.none(), some.integers(-3, 3), some.integers(-(2**63), 2**63 - 1))
rows = some.tuples(
    some.sampled_from([None, "", "a", "a\0", "ü"]),
    some.one_of(some.none(), some.integers(-(2**31), 2**31 - 1)),
    numbers,
    some.one_of(some.none(), some.decimals(-99, 99, places=2)),
    some.one_of(some.none(), some.integers(-(10**38) + 1, 10**38 - 1).map(Decimal)),
)


def made(groups: tuple[str, ...], functions: tuple[tuple[str, str], ...]) -> PartialAggregates:
    fields = [(f"c{at}", ROWS.field(name).type) for at, name in enumerate(groups)]
    fields += [(f"c{len(groups) + at}", FUNCTIONS[function]) for at, function in enumerate(functions)]
    return PartialAggregates(groups, functions, pa.schema(fields))


def batch(of: list[Row]) -> pa.RecordBatch:
    columns = [list(column) for column in zip(*of, strict=True)] if of else [[]] * len(ROWS)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, ROWS, strict=True)], schema=ROWS
    )


def model(of: list[Row], groups: tuple[str, ...], functions: tuple[tuple[str, str], ...]) -> dict[Row, Row]:
    found: dict[Row, list[Row]] = {} if groups else {(): []}
    for row in of:
        found.setdefault(tuple(row[ROWS.names.index(name)] for name in groups), []).append(row)
    return {key: tuple(_one(rows, *function) for function in functions) for key, rows in found.items()}


def _one(of: list[Row], function: str, name: str) -> Any:
    if function == COUNT_ROWS:
        return len(of)
    values = [value for row in of if (value := row[ROWS.names.index(name)]) is not None]
    if function == COUNT:
        return len(values)
    return {SUM: exact_sum, MIN: min, MAX: max}[function](values) if values else None


def exact_sum(values: list[Any]) -> Fraction:
    return sum(map(Fraction, values), Fraction(0))


def finished(batches: Iterator[pa.RecordBatch], asked: PartialAggregates) -> dict[Row, Row]:
    """What Spark makes of partial aggregates."""
    found: dict[Row, list[Row]] = {}
    for each in batches:
        assert each.schema.equals(asked.schema)
        for row in zip(*(column.to_pylist() for column in each.columns), strict=True):
            found.setdefault(row[: len(asked.groups)], []).append(row[len(asked.groups) :])
    return {
        key: tuple(_merged(*pair) for pair in zip(asked.functions, zip(*of, strict=True), strict=True))
        for key, of in found.items()
    }


def _merged(function: tuple[str, str], column: tuple[Any, ...]) -> Any:
    values = [value for value in column if value is not None]
    return {MIN: min, MAX: max}.get(function[0], exact_sum)(values) if values else None


@given(
    some.lists(some.lists(rows, max_size=12), max_size=5),
    some.lists(some.sampled_from(["g", "h", "v"]), unique=True, max_size=2).map(tuple),
    some.lists(some.sampled_from(list(FUNCTIONS)), unique=True, min_size=1).map(tuple),
    some.sampled_from([1, 7, 100_000]),
)
@settings(max_examples=examples(2000), deadline=None)
def test_they_are_those_of_all_rows(
    of: list[list[Row]], groups: tuple[str, ...], functions: tuple[tuple[str, str], ...], held: int
) -> None:
    asked = made(groups, functions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partial_aggregates, "HELD_ROWS", held)
        found = finished(asked.of(map(batch, of)), asked)
    assert found == model([row for rows in of for row in rows], groups, functions)


def test_rows_of_few_groups_become_few() -> None:
    draw = random.Random(1)
    of = [[(str(draw.randrange(5)), 1, draw.randrange(1000), Decimal("0.01"), Decimal(1)) for _ in range(500)]] * 20
    asked = made(("g",), ((COUNT_ROWS, ""), (SUM, "v"), (SUM, "d")))
    (found,) = asked.of(map(batch, of))
    assert found.num_rows == 5


def test_no_more_than_some_are_held() -> None:
    """Groups that are as many as rows are given to Spark batch by batch."""
    of = [[(str(number), number, number, None, None) for number in range(first, first + 2000)] for first in range(3)]
    asked = made(("h",), ((COUNT_ROWS, ""),))
    taken = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal taken
        for each in of:
            taken += 1
            yield batch(each)

    found = asked.of(batches())
    assert next(found).num_rows == 2000
    assert taken == 2, "the first batch showed that there are as many groups"


def test_without_rows_there_is_one_of_nothing() -> None:
    asked = made((), ((COUNT_ROWS, ""), (COUNT, "g"), (SUM, "v"), (MAX, "d")))
    for of in ([], [[]], [[], []]):
        (found,) = asked.of(map(batch, of))
        assert found.to_pylist() == [{"c0": 0, "c1": 0, "c2": None, "c3": None}]
    assert list(made(("g",), ((COUNT_ROWS, ""),)).of([])) == []
