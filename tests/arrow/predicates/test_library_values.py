"""Conditions of ``col(...)`` take the values and lists of NumPy, pandas and Arrow as those of Python."""

from __future__ import annotations

import datetime as dt
import operator
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from paimon_spark.arrow.predicates.evaluate import evaluate
from paimon_spark.arrow.predicates.expressions import Expr, bind, col
from paimon_spark.arrow.predicates.sql_text import parse_predicate
from paimon_spark.arrow.types import arrow_type
from paimon_spark.errors import PredicateError
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root

FIELDS = [
    DataField(0, "n", DataType(Root.INT)),
    DataField(1, "s", DataType(Root.VARCHAR, length=MAX_LENGTH)),
    DataField(2, "t", DataType(Root.TIMESTAMP, precision=6)),
    DataField(3, "x", DataType(Root.DOUBLE)),
    DataField(4, "d", DataType(Root.DATE)),
    DataField(5, "z", DataType(Root.TIMESTAMP_LTZ, precision=6)),
    DataField(6, "b", DataType(Root.BOOLEAN)),
]
DAYS = ["2020-01-01", "1969-12-31"]
LOCAL = "TIMESTAMP_NTZ'2020-01-01'"


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (col("n").isin(np.array([1, 2])), "n IN (1, 2)"),
        (col("s").isin(np.array(["a", "b"])), "s IN ('a', 'b')"),
        (col("s").isin(np.array(["a", None, np.nan], dtype=object)), "s IN ('a', NULL)"),
        (col("x").isin(np.array([1.5, np.nan])), "x IN (1.5D, double('NaN'))"),
        (col("d").isin(np.array(DAYS, "datetime64[D]")), "d IN (date'2020-01-01', date'1969-12-31')"),
        (col("t").isin(np.array(["2020-01-01", "NaT"], "datetime64[ns]")), f"t IN ({LOCAL}, NULL)"),
        (col("n") == np.int64(3), "n = 3"),
        (np.int64(3) < col("n"), "n > 3"),
        (col("n") == np.array(3), "n = 3"),
        (col("b") == np.bool_(True), "b = true"),
        (col("t") < np.datetime64("1969-12-31T23:59:59.999999900"), "t < TIMESTAMP_NTZ'1970-01-01'"),
        (col("d") >= np.datetime64("2020-01"), "d >= date'2020-01-01'"),
        (col("t") == np.datetime64("NaT"), "t = NULL"),
        (col("n").between(np.int8(1), np.uint16(3)), "n BETWEEN 1 AND 3"),
        (col("n").isin(pd.Series([1, 2])), "n IN (1, 2)"),
        (col("n").isin(pd.Series([1, None], dtype="Int64")), "n IN (1, NULL)"),
        (col("s").isin(pd.Series(["a", np.nan])), "s IN ('a', NULL)"),
        (col("s").isin(pd.Series(["a", "b"], dtype="category")), "s IN ('a', 'b')"),
        (col("t").isin(pd.to_datetime(pd.Series(["2020-01-01", None]))), f"t IN ({LOCAL}, NULL)"),
        (col("z").isin(pd.to_datetime(pd.Series(["2020-01-01"]), utc=True)), "z IN (TIMESTAMP'2020-01-01 00:00:00Z')"),
        (col("d").isin(pd.date_range("2020-01-01", periods=1)), f"d IN ({LOCAL})"),
        (col("n").isin(pd.Index([1, 2])), "n IN (1, 2)"),
        (col("t") == pd.Timestamp("2020-01-01"), f"t = {LOCAL}"),
        (pd.Timestamp("2020-01-01") < col("t"), f"t > {LOCAL}"),
        (col("t") == pd.NaT, "t = NULL"),
        (col("n").eq_null_safe(pd.NA), "n <=> NULL"),
        (col("n").isin([1, pd.NA, pd.NaT]), "n IN (1, NULL)"),
        (col("n").isin(pa.array([1, None])), "n IN (1, NULL)"),
        (col("n").isin(pa.chunked_array([[1], [2]])), "n IN (1, 2)"),
        (col("d").isin(pa.array([dt.date(2020, 1, 1)])), "d IN (date'2020-01-01')"),
        (col("n") == pa.scalar(1), "n = 1"),
        (col("n").isin(pa.scalar(1)), "n IN (1)"),
        (col("n").isin(range(1, 3)), "n IN (1, 2)"),
        (col("n").isin({1}), "n IN (1)"),
        (col("n").isin({1: "a"}.keys()), "n IN (1)"),
        (col("s").isin("ab"), "s IN ('ab')"),
        (col("n").isin(None), "n IN (NULL)"),
    ],
)
def test_a_value_means_what_its_text_does(expr: Expr, text: str) -> None:
    assert repr(bind(expr, FIELDS, "UTC")) == repr(parse_predicate(text, FIELDS, "UTC"))
    assert repr(bind(pickle.loads(pickle.dumps(expr)), FIELDS, "UTC")) == repr(parse_predicate(text, FIELDS, "UTC"))


NANOS = pd.Timestamp("1969-12-31T23:59:59.123456789")
MOMENTS = {
    "pandas": NANOS,
    "pandas with a zone": NANOS.tz_localize("UTC").tz_convert("Asia/Tokyo"),
    "numpy": NANOS.to_datetime64(),
    "arrow": pa.scalar(NANOS.value, pa.timestamp("ns")),
    "arrow with a zone": pa.scalar(NANOS.value, pa.timestamp("ns", "Asia/Tokyo")),
}


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=list(MOMENTS))
@pytest.mark.parametrize("root", [Root.TIMESTAMP, Root.TIMESTAMP_LTZ])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_a_time_with_nanoseconds_is_compared_with_all_of_them(moment: Any, root: Root, unit: str) -> None:
    """One that a column cannot hold equals no value, and lies between two of them."""
    nanos = {"ms": 10**6, "us": 10**3, "ns": 1}[unit]
    field = DataField(0, "t", DataType(root, precision={"ms": 3, "us": 6, "ns": 9}[unit]))
    counts = [NANOS.value // nanos + step for step in (-1, 0, 1)]
    column = pa.array(counts, arrow_type(field.type))
    for compare in (operator.lt, operator.le, operator.eq, operator.ne, operator.ge, operator.gt):
        found = evaluate(bind(compare(col("t"), moment), [field], "UTC"), pa.record_batch({"t": column}))
        assert found.to_pylist() == [compare(count * nanos, NANOS.value) for count in counts]
    listed = evaluate(bind(col("t").isin([moment, None]), [field], "UTC"), pa.record_batch({"t": column}))
    assert listed.to_pylist() == [(count * nanos == NANOS.value) or None for count in counts]


def test_a_time_without_nanoseconds_equals_all_times_of_its_microsecond_as_in_spark() -> None:
    field = DataField(0, "t", DataType(Root.TIMESTAMP, precision=9))
    rows = pa.record_batch({"t": pa.array([-1000, -1, 0, 999, 1000], pa.timestamp("ns"))})
    expected = [False, False, True, True, False]
    assert evaluate(bind(col("t") == pd.Timestamp("1970-01-01"), [field], None), rows).to_pylist() == expected


def test_an_iterator_serves_more_than_one_read() -> None:
    expr = col("n").isin(number for number in (1, 2))
    assert [bind(expr, FIELDS, None) for _ in range(2)] == [parse_predicate("n IN (1, 2)", FIELDS, None)] * 2


@pytest.mark.parametrize("nothing", [[], (), np.array([]), pd.Series([], dtype=object), pa.array([], pa.int32())])
def test_of_no_values_no_row_is_one(nothing: Any) -> None:
    rows = pa.record_batch({"n": pa.array([1, None], pa.int32())})
    assert evaluate(bind(col("n").isin(nothing), FIELDS, None), rows).to_pylist() == [False, None]
    assert evaluate(bind(~col("n").isin(nothing), FIELDS, None), rows).to_pylist() == [True, None]


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: col("n") == np.array([1, 2]), r"array\(\[1, 2\]\) of type ndarray: .*isin\(\.\.\.\)"),
        (lambda: np.array([1, 2]) == col("n"), r"of type ndarray: .*isin\(\.\.\.\)"),
        (lambda: col("n") == pd.Series([1, 2]), r"of type Series: .*isin\(\.\.\.\)"),
        (lambda: col("n").isin(np.array([[1, 2]])), "of type ndarray"),
        (lambda: col("n").isin(pd.DataFrame({"n": [1]})), "of type DataFrame"),
        (lambda: col("n").isin({1: 2}), "of type dict"),
        (lambda: col("n").isin(pd.DataFrame({"n": [1]})), r"isin\(rows\['n'\]\) takes the values of one column"),
        (lambda: col("n").isin(pa.table({"n": [1]})), r"of type Table: .*isin\(rows\['n'\]\) takes the values of one"),
        (lambda: col("n").isin([1], [2]), r"\[1\] of type list: .*isin\(\.\.\.\)"),
        (lambda: col("n").isin(range(10**9)), r"use between\(low, high\)"),
        (lambda: col("t") < np.timedelta64(1, "s"), "of type timedelta64"),
        (lambda: col("t") < pd.Timedelta("1s"), "of type Timedelta"),
        (lambda: col("s") == np.bytes_(b"a"), "write the literal as text in quotes"),
    ],
)
def test_what_is_no_value_is_refused_in_one_line(ask: Any, told: str) -> None:
    with pytest.raises(PredicateError, match=told) as caught:
        bind(ask(), FIELDS, "UTC")
    assert "\n" not in str(caught.value)
