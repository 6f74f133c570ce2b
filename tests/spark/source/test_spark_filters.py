"""Spark's pushed filters as predicates."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from paimon_spark.arrow.predicates import predicate as p
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.spark.source.filters import push_filters

ROW = DataType(Root.ROW, fields=(DataField(9, "x", DataType(Root.INT)),))
TYPES = {
    "b": DataType(Root.BOOLEAN),
    "i": DataType(Root.INT),
    "f": DataType(Root.FLOAT),
    "dec": DataType(Root.DECIMAL, precision=5, scale=2),
    "s": DataType(Root.VARCHAR, length=4),
    "padded": DataType(Root.CHAR, length=4),
    "bin": DataType(Root.BINARY, length=4),
    "d": DataType(Root.DATE),
    "t": DataType(Root.TIME, precision=3),
    "ts": DataType(Root.TIMESTAMP, precision=3),
    "ltz": DataType(Root.TIMESTAMP_LTZ, precision=6),
    "ns": DataType(Root.TIMESTAMP, precision=9),
    "arr": DataType(Root.ARRAY, element=DataType(Root.INT)),
    "row": ROW,
}
COLUMNS = {name: DataField(i, name, t) for i, (name, t) in enumerate(TYPES.items())}
EAST = dt.timezone(dt.timedelta(hours=2))


def pushed(*filters: Filter) -> p.Predicate:
    predicate, left = push_filters(filters, COLUMNS)
    assert left == []
    return predicate


@pytest.mark.parametrize(
    ("column", "literal", "internal"),
    [
        ("b", False, False),
        ("i", -(2**31), -(2**31)),
        ("f", -0.0, -0.0),
        ("dec", Decimal("1.50"), Decimal("1.5")),
        ("s", "ba\0", "ba\0"),
        ("bin", b"\xff", b"\xff"),
        ("d", dt.date(1969, 12, 31), -1),
        ("d", dt.date(1, 1, 1), -719162),
        ("t", 86_399_999, 86_399_999),
        ("ts", dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), -1000),
        ("ltz", dt.datetime(2026, 11, 1, 2, tzinfo=EAST), 1_793_491_200 * 10**9),
    ],
)
def test_literals_become_internal_values(column: str, literal: Any, internal: Any) -> None:
    assert pushed(EqualTo((column,), literal)) == p.Compare((column,), p.Op.EQ, internal)


def test_every_filter_of_spark_has_its_predicate() -> None:
    i, s = ("i",), ("s",)
    assert pushed(
        EqualTo(i, 1),
        EqualNullSafe(i, 1),
        GreaterThan(i, 1),
        GreaterThanOrEqual(i, 1),
        LessThan(i, 1),
        LessThanOrEqual(i, 1),
        In(i, (1, 2)),
        In(i, (1, None)),
        IsNull(i),
        IsNotNull(("arr",)),
        Not(EqualTo(i, 1)),
        StringStartsWith(s, "a"),
        StringEndsWith(s, "a"),
        StringContains(s, ""),
        EqualTo(("row", "x"), 3),
    ) == p.And(
        (
            *(p.Compare(i, op, 1) for op in (p.Op.EQ, p.Op.NULL_SAFE_EQ, p.Op.GT, p.Op.GE, p.Op.LT, p.Op.LE)),
            p.In(i, (1, 2)),
            p.In(i, (1,), has_null=True),
            p.IsNull(i),
            p.IsNotNull(("arr",)),
            p.Not(p.Compare(i, p.Op.EQ, 1)),
            p.StartsWith(s, "a"),
            p.EndsWith(s, "a"),
            p.Contains(s, ""),
            p.Compare(("row", "x"), p.Op.EQ, 3),
        )
    )


@pytest.mark.parametrize(
    "left",
    [
        EqualTo(("ns",), dt.datetime(2020, 1, 1)),  # Spark sees the column rounded, the file does not
        EqualTo(("arr",), [1]),
        EqualTo(("i",), 1.5),
        EqualTo(("i",), True),
        EqualTo(("i",), None),
        EqualTo(("dec",), Decimal("NaN")),
        EqualTo(("ts",), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
        EqualTo(("d",), dt.datetime(2020, 1, 1)),
        EqualTo(("unknown",), 1),
        EqualTo(("row", "y"), 1),
        StringStartsWith(("i",), "1"),
        EqualTo(("padded",), "a"),  # only Spark knows whether it pads
        Not(EqualTo(("arr",), [1])),
    ],
    ids=str,
)
def test_what_is_not_understood_goes_back_to_spark(left: Filter) -> None:
    taken = GreaterThan(("i",), 0)
    assert push_filters([left, taken], COLUMNS) == (p.Compare(("i",), p.Op.GT, 0), [left])


def test_no_filter_is_always_true() -> None:
    assert push_filters([], COLUMNS) == (p.TRUE, [])


def test_names_of_the_query_lead_to_names_of_the_table() -> None:
    predicate, _ = push_filters([IsNull(("ID",))], {"ID": DataField(0, "Id", DataType(Root.INT))})
    assert predicate == p.IsNull(("Id",))
