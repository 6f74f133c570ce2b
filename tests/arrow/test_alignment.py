"""Rows of a DataFrame brought to the columns of a table as Spark's ANSI store assignment does it."""

from __future__ import annotations

import datetime as dt
import re
import time
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as hs
from support.draws.typed_batches import batches, rows_of
from support.long_runs import examples

from paimon_spark.arrow.alignment import StoreRules, align_batch
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import DataError
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField, has_char

LTZ = "TIMESTAMP(6) WITH LOCAL TIME ZONE"
UTC_MICROS, MICROS, MILLIS = pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.timestamp("ms")


def fields_of(**columns: Any) -> tuple[DataField, ...]:
    return tuple(DataField(i, name, parse_type(t)) for i, (name, t) in enumerate(columns.items()))


def stored(array: pa.Array, target: Any, zone: str | None = "UTC") -> list[Any]:
    fields = fields_of(c=target)
    batch = align_batch(pa.record_batch([array], ["c"]), fields, rules=StoreRules(zone))
    assert batch.schema.equals(arrow_schema(fields))
    batch.validate(full=True)
    return [row[0] for row in rows_of(batch)]


@settings(max_examples=examples(200))
@given(
    zone=hs.sampled_from(("Europe/Berlin", "America/Toronto", "Pacific/Apia", "Australia/Lord_Howe", "-04:30", "PST")),
    moments=hs.lists(
        hs.none()
        | hs.datetimes(dt.datetime(1, 1, 3), dt.datetime(9999, 12, 29))
        | hs.datetimes(dt.datetime(2011, 12, 28), dt.datetime(2012, 1, 1))  # Apia left a day out
        | hs.datetimes(dt.datetime(2026, 3, 28), dt.datetime(2026, 4, 6))
        | hs.datetimes(dt.datetime(2026, 10, 3), dt.datetime(2026, 10, 26)),
        max_size=8,
    ),
    unit=hs.sampled_from(("s", "ms", "us")),
)
def test_times_are_those_of_a_clock_in_the_zone(zone: str, moments: list[dt.datetime | None], unit: str) -> None:
    """Python's own zones say what they are: a time that the clock has twice is the first one."""
    known: dt.tzinfo = dt.timezone(-dt.timedelta(hours=4, minutes=30))
    if not zone.startswith("-"):
        known = ZoneInfo("America/Los_Angeles" if zone == "PST" else zone)
    given_times = pa.array(moments, MICROS).cast(pa.timestamp(unit), safe=False)
    times = [m and m.replace(tzinfo=None) for m in given_times.cast(MICROS).to_pylist()]
    there = [m and m.replace(tzinfo=known).astimezone(dt.UTC) for m in times]
    here = [m and m.replace(tzinfo=dt.UTC).astimezone(known).replace(tzinfo=None) for m in times]
    epoch = dt.datetime(1970, 1, 1)

    def nanos(moments: list[dt.datetime | None]) -> list[int | None]:
        return [m and (m.replace(tzinfo=None) - epoch) // dt.timedelta(microseconds=1) * 1000 for m in moments]

    assert stored(given_times, LTZ, zone) == nanos(there)
    instants = given_times.cast(pa.timestamp(unit, "UTC"))
    assert stored(instants, "TIMESTAMP(6)", zone) == nanos(here)
    assert stored(instants, "DATE", zone) == [m and (m - epoch).days for m in here]


def floats(array: pa.Array, target: str) -> list[float]:
    fields = fields_of(c=target)
    values: list[float] = align_batch(pa.record_batch([array], ["c"]), fields).column(0).to_pylist()
    return values


@settings(max_examples=examples(300))
@given(hs.data())
def test_a_decimal_becomes_the_nearest_float(data: hs.DataObject) -> None:
    """As BigDecimal.doubleValue and floatValue of Java, which Spark casts with."""
    precision = data.draw(hs.integers(1, 38))
    scale = data.draw(hs.integers(0, precision))
    unscaled = hs.integers(1 - 10**precision, 10**precision - 1)
    near = hs.floats(-0.875, 0.875, width=32).map(lambda part: int(part * 10.0**scale))
    with localcontext(prec=60):
        numbers = [Decimal(n).scaleb(-scale) for n in data.draw(hs.lists(unscaled | near, max_size=5))]
        column = pa.array(numbers, pa.decimal128(precision, scale))
    assert floats(column, "DOUBLE") == [float(number) for number in numbers]
    for number, value in zip(numbers, floats(column, "FLOAT"), strict=True):
        around = [value, *(float(np.nextafter(np.float32(value), np.float32(to))) for to in (-np.inf, np.inf))]
        assert min(around, key=lambda other: abs(Fraction(other) - Fraction(number))) == value


def test_a_decimal_in_a_column_of_doubles_is_found_again() -> None:
    decimals = pa.array([Decimal(text) for text in ("-0.3", "0.7", "1.1", "0.1")], pa.decimal128(10, 1))
    assert floats(decimals, "DOUBLE") == [-0.3, 0.7, 1.1, 0.1]


def test_a_day_begins_behind_a_gap() -> None:
    """In Toronto the clocks went from 23:30 to 00:30 in the night to 31 March 1919 (java.time: atStartOfDay)."""
    day = dt.date(1919, 3, 31)
    assert stored(pa.array([day]), LTZ, "America/Toronto") == [
        (dt.datetime(1919, 3, 31, 4, 30) - dt.datetime(1970, 1, 1)) // dt.timedelta(seconds=1) * 10**9
    ]


def test_a_zone_that_is_not_known_is_an_error_where_a_value_needs_it() -> None:
    for array, target in (
        (pa.array([5], MICROS), LTZ),
        (pa.array([[5]], pa.list_(UTC_MICROS)), "ARRAY<DATE>"),
        (pa.array([5], UTC_MICROS), "STRING"),
    ):
        with pytest.raises(
            DataError, match=r"column 'c': .*set it, with spark\.conf\.set\('spark.sql.session.timeZone'"
        ):
            stored(array, target, None)
        assert stored(pa.nulls(2, array.type), target, None) == [None, None]
        assert stored(array.slice(1), target, None) == []
    assert stored(pa.array([5], UTC_MICROS), LTZ, None) == [5000]


@settings(max_examples=examples(40))
@given(batches(max_rows=6))
def test_rows_of_the_right_types_stay_as_they_are(data: Any) -> None:
    fields, batch = data
    assume(not any(has_char(field.type) for field in fields))  # which is padded
    turned = batch.select(list(reversed(range(batch.num_columns))))
    aligned = align_batch(turned, fields)
    assert aligned.schema.equals(arrow_schema(fields))
    assert rows_of(aligned) == rows_of(batch)


@pytest.mark.parametrize(
    ("array", "target", "expected"),
    [
        (pa.array([1, None, -1], pa.int8()), "BIGINT", [1, None, -1]),
        (pa.array([2**31 - 1, -(2**31)]), "INT", [2**31 - 1, -(2**31)]),
        (pa.array([1.9, -1.9, None]), "INT", [1, -1, None]),
        (pa.array([Decimal("1.9"), Decimal("-1.9")]), "TINYINT", [1, -1]),
        (pa.array([Decimal("0.99"), Decimal("-0.5")], pa.decimal128(2, 2)), "INT", [0, 0]),
        (pa.array([12, -999], pa.int32()), "DECIMAL(5, 2)", [Decimal("12.00"), Decimal("-999.00")]),
        (pa.array([Decimal("1.005"), Decimal("-1.005")]), "DECIMAL(5, 2)", [Decimal("1.01"), Decimal("-1.01")]),
        (pa.array([Decimal("1.5")]), "DECIMAL(38, 10)", [Decimal("1.5000000000")]),
        (pa.array([1.005, 0.1]), "DECIMAL(5, 2)", [Decimal("1.01"), Decimal("0.10")]),
        (pa.array([2**40 + 1]), "DOUBLE", [(float(2**40 + 1), 1.0)]),
        (pa.array([1e300, -0.0]), "FLOAT", [(float("inf"), 1.0), (-0.0, -1.0)]),
        (pa.array([Decimal("0.1")]), "DOUBLE", [(0.1, 1.0)]),
        (pa.array([1, None]), "STRING", ["1", None]),
        (pa.array([True, False]), "STRING", ["true", "false"]),
        (pa.array([1e10, 0.1]), "STRING", ["1.0E10", "0.1"]),
        (pa.array([Decimal("1.50")]), "STRING", ["1.50"]),
        (pa.array([0, -1], pa.date32()), "STRING", ["1970-01-01", "1969-12-31"]),
        (pa.array([10**15, 10**15 + 100], MICROS), "STRING", ["2001-09-09 01:46:40", "2001-09-09 01:46:40.0001"]),
        (pa.array([b"\xc3\xa9"]), "STRING", ["é"]),
        (pa.array([1, -1], pa.date32()), "TIMESTAMP(3)", [86_400 * 10**9, -86_400 * 10**9]),
        (pa.array([0, -1], MICROS), "DATE", [0, -1]),
        (pa.array([1_999, -1], MICROS), "TIMESTAMP(3)", [10**6, -(10**6)]),
        (pa.array([5], UTC_MICROS), "TIMESTAMP(6)", [5000]),
        (pa.array([5], MILLIS), "TIMESTAMP(6) WITH LOCAL TIME ZONE", [5 * 10**6]),
        (pa.array(["ab", "", "\u00e9", None]), "CHAR(3)", ["ab ", "   ", "\u00e9  ", None]),
        (pa.array(["ab     ", "abc   "]), "CHAR(3)", ["ab ", "abc"]),
        (pa.array(["abc   "]), "VARCHAR(3)", ["abc"]),
        (pa.array(["ab     ", "ab "]), "VARCHAR(4)", ["ab  ", "ab "]),
        (pa.array([["a", None], None]), "ARRAY<CHAR(2)>", [["a ", None], None]),
        (pa.array([[("k", "v")]], pa.map_(pa.string(), pa.string())), "MAP<CHAR(2), CHAR(3)>", [[["k ", "v  "]]]),
        (pa.array([{"x": "a"}, None]), "ROW<x CHAR(2)>", [["a "], None]),
        (pa.array(["é😀z"]), "VARCHAR(3)", ["é😀z"]),
        (pa.array([None, None]), "DECIMAL(9, 2)", [None, None]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), "STRING", ["a", "b", "a"]),
        (pa.array(["x"], pa.large_string()), "STRING", ["x"]),
    ],
)
def test_what_may_be_stored(array: pa.Array, target: str, expected: list[Any]) -> None:
    assert stored(array, target) == expected


@pytest.mark.parametrize(
    ("array", "target", "told"),
    [
        (pa.array([1, None, 3_000_000_000, 4_000_000_000, 2]), "INT", "the value 3000000000 does not fit into INT"),
        (pa.array([1.0, float("nan")]), "BIGINT", "the value nan does not fit into BIGINT"),
        (pa.array([Decimal("1.25"), Decimal("12345.67")]), "DECIMAL(5, 2)", "the value 12345.67 does not fit into DEC"),
        (pa.array([123, 123456]), "DECIMAL(5, 2)", "the value 123456 does not fit into DECIMAL(5, 2)"),
        (
            pa.array(["abc", None, "abcd", "abcde"]),
            "VARCHAR(3)",
            "the value 'abcd' of length 4 does not fit into VARCHAR",
        ),
        (pa.array(["x" * 50]), "CHAR(3)", f"the value '{'x' * 40}'... of length 50 does not fit into CHAR(3)"),
        (pa.array([b"abc", b"abcd"]), "VARBINARY(3)", "the value b'abcd' of length 4 does not fit into VARBINARY(3)"),
        (pa.array([[1, 300]]), {"type": "ARRAY", "element": "TINYINT"}, "the value 300 does not fit into TINYINT"),
    ],
)
def test_the_first_value_that_does_not_fit_is_reported(array: pa.Array, target: Any, told: str) -> None:
    with pytest.raises(DataError, match=rf"column 'c': {re.escape(told)}.*; correct it, .*type-widening"):
        stored(array, target)


def test_lists_in_which_nothing_is_are_lists_of_the_column() -> None:
    """Arrow and pandas give their elements no type."""
    array = {"type": "ARRAY", "element": "INT"}
    assert stored(pa.array([[], None, [None]]), array) == [[], None, [None]]
    assert stored(pa.array([[[]], [[None]], []]), {"type": "ARRAY", "element": array}) == [[[]], [[None]], []]
    with pytest.raises(DataError, match="the table has ARRAY<INT>: cast it first"):
        stored(pa.array([["a"]]), array)


def test_bytes_that_are_no_text_are_told_with_the_column() -> None:
    assert stored(pa.array([b"a", None]), "STRING") == ["a", None]
    with pytest.raises(DataError, match="column 'c': bytes are not UTF-8 and cannot become STRING"):
        stored(pa.array([b"\xff"]), "STRING")


@pytest.mark.parametrize(
    ("array", "target"),
    [
        (pa.array([128]), "TINYINT"),
        (pa.array([2**31]), "INT"),
        (pa.array([3e9]), "INT"),
        (pa.array([float("nan")]), "BIGINT"),
        (pa.array([Decimal("128")]), "TINYINT"),
        (pa.array([1000]), "DECIMAL(5, 2)"),
        (pa.array([Decimal("999.995")]), "DECIMAL(5, 2)"),
        (pa.array([1e10]), "DECIMAL(5, 2)"),
        (pa.array([float("inf")]), "DECIMAL(5, 2)"),
        (pa.array([2**60], MICROS), "TIMESTAMP(9)"),
        (pa.array(["abcd"]), "VARCHAR(3)"),
        (pa.array(["abcd"]), "CHAR(3)"),
        (pa.array([b"abcd"]), "VARBINARY(3)"),
        (pa.array([12345]), "VARCHAR(4)"),
        (pa.array([b"\xff"]), "STRING"),
    ],
)
def test_values_that_do_not_fit_name_the_column(array: pa.Array, target: str) -> None:
    with pytest.raises(DataError, match=r"column 'c'"):
        stored(array, target)


@pytest.mark.parametrize(
    ("array", "target"),
    [
        (pa.array(["1"]), "INT"),
        (pa.array(["2024-01-01"]), "DATE"),
        (pa.array([True]), "INT"),
        (pa.array([1]), "BOOLEAN"),
        (pa.array([1]), "DATE"),
        (pa.array([0], pa.date32()), "INT"),
        (pa.array(["x"]), "BYTES"),
        (pa.array([[1]]), "INT"),
        (pa.array([1]), {"type": "ARRAY", "element": "INT"}),
        (pa.array([["x"]]), {"type": "ARRAY", "element": "INT"}),
        (pa.array([{"a": 1}]), {"type": "ROW", "fields": [{"id": 1, "name": "b", "type": "INT"}]}),
        (pa.array([{"a": 1, "b": 2}]), {"type": "ROW", "fields": [{"id": 1, "name": "a", "type": "INT"}]}),
    ],
)
def test_types_that_may_not_be_stored_name_both_types(array: pa.Array, target: Any) -> None:
    with pytest.raises(DataError, match=r"column 'c' is .*, the table has .*: cast it first"):
        stored(array, target)


ROW = {
    "type": "ROW",
    "fields": [{"id": 1, "name": "b", "type": "STRING"}, {"id": 2, "name": "a", "type": "INT NOT NULL"}],
}


COUNTED = {"type": "MAP", "key": "STRING", "value": "INT NOT NULL"}


def test_nested_values_are_matched_by_name_and_cast() -> None:
    structs = pa.array([{"A": 1, "b": "x"}, None], pa.struct([("A", pa.int64()), ("b", pa.large_string())]))
    assert stored(structs, ROW) == [["x", 1], None]
    assert stored(pa.array([[2, None], None, []]), {"type": "ARRAY", "element": "STRING"}) == [["2", None], None, []]
    maps = pa.array([[(1, 2)], None], pa.map_(pa.int8(), pa.int64()))
    assert stored(maps, {"type": "MAP", "key": "BIGINT", "value": "INT"}) == [[[1, 2]], None]
    assert stored(maps, {"type": "MULTISET", "element": "INT"}) == [[[1, 2]], None]
    assert stored(pa.array([[1], [2, 3]], pa.large_list(pa.int32())), {"type": "ARRAY", "element": "INT"}) == [
        [1],
        [2, 3],
    ]


@pytest.mark.parametrize(
    ("array", "target"),
    [
        (pa.array([{"a": None, "b": "x"}], pa.struct([("a", pa.int32()), ("b", pa.string())])), ROW),
        (pa.array([[1, None]]), {"type": "ARRAY", "element": "INT NOT NULL"}),
        (pa.array([[("k", None)]], pa.map_(pa.string(), pa.int32())), COUNTED),
    ],
)
def test_nulls_inside_not_null_types_are_refused(array: pa.Array, target: Any) -> None:
    with pytest.raises(DataError, match=r"column 'c'.*NOT NULL.* is null in some rows"):
        stored(array, target)


def test_parts_of_nested_values_that_are_always_null() -> None:
    """Arrow gives them no type, as pandas and dictionaries come to it."""
    deep = {"type": "ARRAY", "element": ROW}
    assert stored(pa.array([{"a": 1, "b": None}, None]), ROW) == [[None, 1], None]
    assert stored(pa.array([[{"B": None, "a": 2}], []]), deep) == [[[None, 2]], []]
    maps = pa.array([[("k", None)]], pa.map_(pa.string(), pa.null()))
    assert stored(maps, {"type": "MAP", "key": "STRING", "value": {"type": "ARRAY", "element": "INT"}}) == [
        [["k", None]]
    ]
    assert stored(pa.array([[], None]), {"type": "MAP", "key": "STRING", "value": "INT"}) == [[], None]
    with pytest.raises(DataError, match="lists of NULL are no maps"):
        stored(pa.array([[None]]), {"type": "MAP", "key": "STRING", "value": "INT"})
    with pytest.raises(DataError, match=r"NOT NULL.* is null in some rows"):
        stored(pa.array([[None]]), {"type": "ARRAY", "element": "INT NOT NULL"})


def test_nulls_outside_the_slice_or_behind_a_null_do_not_count() -> None:
    lists = pa.array([[None], [1], None, [2]]).slice(1)
    assert stored(lists, {"type": "ARRAY", "element": "INT NOT NULL"}) == [[1], None, [2]]
    maps = pa.array([[("k", None)], [("k", 1)]], pa.map_(pa.string(), pa.int32())).slice(1)
    assert stored(maps, {"type": "MAP", "key": "STRING", "value": "INT NOT NULL"}) == [[["k", 1]]]
    structs = pa.array([None, {"a": 1, "b": "x"}], pa.struct([("a", pa.int64()), ("b", pa.string())]))
    assert stored(structs, ROW) == [None, ["x", 1]]


def test_columns_are_matched_by_name_then_in_any_case() -> None:
    fields = fields_of(id="INT", Name="STRING")
    batch = pa.record_batch({"NAME": ["x"], "id": [1]})
    assert rows_of(align_batch(batch, fields)) == [[1, "x"]]
    both = fields_of(a="INT", A="INT")
    assert rows_of(align_batch(pa.record_batch({"A": [1], "a": [2]}), both)) == [[2, 1]]
    assert rows_of(align_batch(pa.record_batch({"a": [2]}), both, {"A"})) == [[2, None]]
    with pytest.raises(DataError, match="column 'A' INT is missing"):
        align_batch(pa.record_batch({"a": [2]}), both)


def test_fields_of_structs_are_matched_as_columns_are() -> None:
    twins = {"type": "ROW", "fields": [{"id": 1, "name": "a", "type": "INT"}, {"id": 2, "name": "A", "type": "INT"}]}
    assert stored(pa.array([{"a": 1, "A": 2}]), twins) == [[1, 2]]
    assert stored(pa.array([{"A": 2, "a": 1}]), twins) == [[1, 2]]
    with pytest.raises(DataError, match="cast it first"):
        stored(pa.array([{"a": 1, "b": 2}]), twins)


def test_absent_columns_are_null_where_they_may_be() -> None:
    default = DataField(1, "d", parse_type("INT NOT NULL"), default_value="7")
    fields = (*fields_of(a="INT"), default, DataField(2, "n", parse_type("STRING")))
    rows = align_batch(pa.record_batch({"a": [1]}), fields, {"d", "n"})
    assert rows_of(rows) == [[1, None, None]]  # defaults come later
    with pytest.raises(DataError, match=r"'d' INT NOT NULL, whose default value is 7, is missing.*'n' STRING is miss"):
        align_batch(pa.record_batch({"a": [1]}), fields)
    with pytest.raises(DataError, match=r"column 'n' STRING is missing\. Write all columns.*'write.missing-columns'"):
        align_batch(pa.record_batch({"a": [1]}), fields, {"d"})
    with pytest.raises(DataError, match=r"column 'a' INT NOT NULL is missing and must not be null$"):
        align_batch(pa.record_batch({"b": [1]}), fields_of(a="INT NOT NULL", b="BIGINT"), {"a"})


def test_all_differences_are_reported_at_once_and_nothing_else() -> None:
    fields = fields_of(a="INT NOT NULL", b="STRING", c="DATE")
    batch = pa.record_batch({"x": [1], "b": ["fine"], "c": [1.5], "y": [2]})
    with pytest.raises(DataError) as caught:
        align_batch(batch, fields)
    text = str(caught.value)
    for part in ("'a' INT NOT NULL is missing", "'c' is DOUBLE, the table has DATE", "'x' is not in", "'y' is not in"):
        assert part in text
    assert "'b'" not in text


def test_the_time_grows_as_the_columns_do() -> None:
    """And not as their square: a table of 10,000 columns took a minute for 100 rows."""

    def seconds(columns: int) -> float:
        fields = fields_of(**{f"c{number}": "BIGINT" for number in range(columns)})
        rows = pa.RecordBatch.from_pydict({field.name: pa.array([1]) for field in fields})
        best = float("inf")
        for _ in range(2):
            began = time.process_time()
            align_batch(rows, fields)
            best = min(best, time.process_time() - began)
        return best

    assert seconds(6000) < 25 * seconds(600), "10 by the columns, 100 by their square"


def test_a_column_given_twice() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(DataError, match="'a' appears more than once"):
        align_batch(batch, fields_of(a="BIGINT"))


def test_nulls_in_a_not_null_column_are_counted() -> None:
    batch = pa.record_batch({"a": pa.array([1, None, None], pa.int32())})
    with pytest.raises(DataError, match=re.escape("'a' is null in at least 2 of the rows")):
        align_batch(batch, fields_of(a="INT NOT NULL"))


def test_no_rows() -> None:
    batch = pa.record_batch({"a": pa.array([], pa.int64())})
    assert align_batch(batch, fields_of(a="INT NOT NULL", b="STRING"), {"b"}).num_rows == 0


VECTOR = {"type": "VECTOR", "element": "FLOAT", "length": 2}


@pytest.mark.parametrize(
    "array",
    [
        pa.array([[1, 2], None, [3, 4]]),
        pa.array([[9, 9], [1, 2], None, [3, 4]], pa.list_(pa.float64(), 2)).slice(1),
        pa.array([[1.0, 2.0], None, [3.0, 4.0]], pa.large_list(pa.float32())),
    ],
    ids=["list", "slice of vectors", "large list"],
)
def test_lists_become_vectors(array: pa.Array) -> None:
    """Their values are those of the lists, null rows too."""
    found = align_batch(pa.record_batch([array], ["c"]), fields_of(c=VECTOR)).column(0)
    found.validate(full=True)
    assert found.to_pylist() == [[1.0, 2.0], None, [3.0, 4.0]]
    assert stored(pa.array([None, None], pa.list_(pa.int32())), VECTOR) == [None, None]
    assert stored(pa.array([], pa.list_(pa.int32())), VECTOR) == []
    assert stored(pa.array([None, []]), {**VECTOR, "type": "ARRAY"}) == [None, []]


@pytest.mark.parametrize(
    ("value", "message"),
    [([1.0], "of 1 elements is no VECTOR of 2"), ([1.0, None], "is null"), ([], "of 0 elements")],
)
def test_what_is_no_vector_is_refused(value: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=f"writing column 'c': .*{message}"):
        stored(pa.array([[1.0, 2.0], value], pa.list_(pa.float64())), VECTOR)
    with pytest.raises(DataError, match="the table has VECTOR"):
        stored(pa.array(["[1, 2]"]), VECTOR)
