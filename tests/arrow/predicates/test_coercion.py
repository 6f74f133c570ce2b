"""Comparisons with literals of other types: the bound that is found must decide as casting every value would."""

import contextlib
import datetime as dt
import math
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.long_runs import examples

from paimon_spark.arrow.predicates.coercion import Column, bind_comparison, common_type
from paimon_spark.arrow.predicates.literal_text import (
    parse_boolean,
    parse_date,
    parse_float,
    parse_local_timestamp,
    parse_time,
    parse_timestamp,
)
from paimon_spark.arrow.predicates.literals import (
    BIGINT,
    DATE,
    DOUBLE,
    INSTANT,
    INT,
    LOCAL_TIMESTAMP,
    STRING,
    Literal,
    cast_literal,
    decimal_literal,
    integer_literal,
    literal_of,
)
from paimon_spark.arrow.predicates.predicate import NULL, Compare, IsNull, Op, UnlessNull
from paimon_spark.arrow.predicates.pruning import compare_values, match_values
from paimon_spark.arrow.zones import DAY, SECOND, to_instant
from paimon_spark.errors import PredicateError
from paimon_spark.format.types import DataType, Root

T = DataType
NEW_YORK = ZoneInfo("America/New_York")
KATHMANDU = ZoneInfo("Asia/Kathmandu")
APIA = ZoneInfo("Pacific/Apia")  # has no 2011-12-30
C = ("c",)
HOUR = 3600 * SECOND
NUMERIC = [
    T(Root.TINYINT), T(Root.SMALLINT), T(Root.INT), T(Root.BIGINT), T(Root.FLOAT), T(Root.DOUBLE),
    T(Root.DECIMAL, precision=3, scale=1), T(Root.DECIMAL, precision=20, scale=0),
    T(Root.DECIMAL, precision=38, scale=0), T(Root.DECIMAL, precision=38, scale=18),
    T(Root.DECIMAL, precision=38, scale=38),
]  # fmt: skip
MOMENTS = [T(Root.DATE), *(T(r, precision=p) for r in (Root.TIMESTAMP, Root.TIMESTAMP_LTZ) for p in (3, 6, 9))]


def numbers(t: DataType) -> st.SearchStrategy[Any]:
    if t.root in (Root.FLOAT, Root.DOUBLE):
        width = 32 if t.root is Root.FLOAT else 64
        near = st.sampled_from([0.0, -0.0, 0.5, 1.5, 2.0**53, 2.0**24, math.inf, -math.inf, math.nan])
        return near | st.floats(width=width)
    if t.root is Root.DECIMAL:
        limit = 10 ** (t.precision or 0) - 1
        unscaled = st.integers(-limit, limit) | st.integers(-min(limit, 30), min(limit, 30))
        return unscaled.map(lambda u: Decimal(f"{u}e-{t.scale}"))
    bits = {Root.TINYINT: 7, Root.SMALLINT: 15, Root.INT: 31, Root.BIGINT: 63}[t.root]
    return st.integers(-(2**bits), 2**bits - 1) | st.integers(-20, 20) | st.sampled_from([2**bits - 1, -(2**bits)])


def literals() -> st.SearchStrategy[Literal]:
    whole = (st.integers(-20, 20) | st.integers(-(2**70), 2**70)).map(integer_literal)
    digits = st.tuples(st.integers(-(10**20), 10**20) | st.integers(-300, 300), st.integers(0, 20))
    fractions = digits.map(lambda p: decimal_literal(Decimal(f"{p[0]}e-{p[1]}")))
    floats = numbers(DOUBLE).map(lambda v: Literal(v, DOUBLE)) | numbers(T(Root.FLOAT)).map(
        lambda v: Literal(v, T(Root.FLOAT))
    )
    return whole | fractions | floats


def cast_then_compare(value: Any, source: DataType, literal: Literal, zone: dt.tzinfo) -> int | None:
    """The order that Spark finds: both sides in the common type. None where that cast of the column overflows."""
    if literal.type is not None and literal.type.root in (Root.INT, Root.BIGINT) and source.root is Root.DECIMAL:
        literal = decimal_literal(Decimal(int(literal.value or 0)))
    common = common_type(source, literal.type)
    assert common is not None
    wanted = cast_literal(literal, common, zone).value
    found = cast_literal(Literal(floor_to_micros(value, source), source), common, zone).value
    return compare_values(found, wanted)


def floor_to_micros(value: Any, source: DataType) -> Any:
    return value // 1000 * 1000 if source.root in (Root.TIMESTAMP, Root.TIMESTAMP_LTZ) else value


HOLDS = {
    Op.EQ: lambda o: o == 0, Op.NULL_SAFE_EQ: lambda o: o == 0, Op.NE: lambda o: o != 0, Op.LT: lambda o: o < 0,
    Op.LE: lambda o: o <= 0, Op.GT: lambda o: o > 0, Op.GE: lambda o: o >= 0,
}  # fmt: skip


def check(column: DataType, value: Any, literal: Literal, zone: dt.tzinfo) -> None:
    try:
        order = cast_then_compare(value, column, literal, zone)
    except PredicateError:
        assume(False)  # the literal does not fit the common type: refused, see below
    for op, holds in HOLDS.items():
        bound = bind_comparison(Column(C, column), op, literal, zone)
        assert match_values(bound, {"c": value}) is holds(order), (op, bound)
        assert match_values(bound, {"c": None}) is (False if op is Op.NULL_SAFE_EQ else None)


@settings(max_examples=examples(500))
@given(st.data(), st.sampled_from(NUMERIC), literals())
def test_numbers(data: st.DataObject, column: DataType, literal: Literal) -> None:
    value = data.draw(numbers(column))
    if literal.value == literal.value and data.draw(st.booleans()):  # often just beside the literal
        with contextlib.suppress(PredicateError):
            value = cast_literal(literal, column, dt.UTC).value
    check(column, value, literal, dt.UTC)


def moments(t: DataType) -> st.SearchStrategy[Any]:
    changes = st.sampled_from([20_520, 20_758, 15_338, 2_932_896, -719_162])  # days of clock changes, and the last ones
    day = st.integers(-800_000, 2_900_000) | changes.flatmap(lambda d: st.integers(d - 3, d + 3))
    if t.root is Root.DATE:
        return day
    step = {3: 10**6, 6: 10**3, 9: 1}[t.precision or 0]
    times = st.integers(0, 23 * 60 + 59).map(lambda minutes: minutes * 60 * SECOND) | st.integers(0, DAY - 1)
    return st.tuples(day, times).map(lambda p: (p[0] * DAY + p[1]) // step * step)


@settings(max_examples=examples(500))
@given(st.data(), st.sampled_from(MOMENTS), st.sampled_from([DATE, LOCAL_TIMESTAMP, INSTANT]))
def test_moments(data: st.DataObject, column: DataType, kind: DataType) -> None:
    zone = data.draw(st.sampled_from([dt.UTC, NEW_YORK, KATHMANDU, APIA]))
    value = data.draw(moments(column))
    near = st.sampled_from([0, 1000, -1000, HOUR, -HOUR]).map(lambda d: d + data.draw(moments(LOCAL_TIMESTAMP)))
    literal = Literal(data.draw(moments(kind) if kind is DATE else near), kind)
    check(column, value, literal, zone)


def test_an_instant_that_two_local_times_mean() -> None:
    gap = to_instant(parse_local_timestamp("2026-03-08 02:30:00"), NEW_YORK)  # clocks go from 02:00 to 03:00
    skipped, shown = (parse_local_timestamp(f"2026-03-08 0{hour}:30:00") for hour in (2, 3))
    assert to_instant(shown, NEW_YORK) == gap
    column = Column(C, T(Root.TIMESTAMP, precision=6))

    def matches(op: Op) -> list[bool | None]:
        bound = bind_comparison(column, op, Literal(gap, INSTANT), NEW_YORK)
        minute = 60 * SECOND
        return [match_values(bound, {"c": v + d * minute}) for v in (skipped, shown) for d in (-1, 0, 1)]

    assert matches(Op.EQ) == [False, True, False, False, True, False]
    assert matches(Op.LT) == [True, False, False, True, False, False]
    assert matches(Op.GE) == [False, True, True, False, True, True]


@pytest.mark.parametrize(
    ("column", "op", "value", "expected"),
    [
        (T(Root.TINYINT), Op.EQ, 1000, UnlessNull(C, False)),
        (T(Root.TINYINT), Op.NE, 1000, UnlessNull(C, True)),
        (T(Root.TINYINT), Op.LT, 1000, UnlessNull(C, True)),
        (T(Root.TINYINT), Op.GE, -129, UnlessNull(C, True)),
        (T(Root.TINYINT), Op.LE, 127, UnlessNull(C, True)),
        (T(Root.TINYINT), Op.LT, -128, UnlessNull(C, False)),
        (T(Root.TINYINT), Op.GT, 126, Compare(C, Op.GT, 126)),
        (T(Root.INT), Op.LT, Decimal("7.5"), Compare(C, Op.LT, 8)),
        (T(Root.INT), Op.GT, Decimal("7.5"), Compare(C, Op.GT, 7)),
        (T(Root.INT), Op.EQ, "7", Compare(C, Op.EQ, 7)),
        (T(Root.INT), Op.EQ, None, NULL),
        (T(Root.INT), Op.NULL_SAFE_EQ, None, IsNull(C)),
        (T(Root.DATE), Op.EQ, "2026-11-01", Compare(C, Op.EQ, 20_758)),
        (STRING, Op.EQ, "2026-11-01", Compare(C, Op.EQ, "2026-11-01")),
        (T(Root.DOUBLE), Op.EQ, math.inf, Compare(C, Op.EQ, math.inf)),
        (T(Root.TIMESTAMP, precision=3), Op.GT, dt.datetime(1970, 1, 1, 0, 0, 0, 1500), Compare(C, Op.GT, 10**6)),
        (T(Root.TIMESTAMP, precision=3), Op.EQ, dt.datetime(1970, 1, 1, 0, 0, 0, 1500), UnlessNull(C, False)),
        (T(Root.TIME, precision=3), Op.EQ, "12:30", Compare(C, Op.EQ, 45_000_000)),
        (T(Root.TIME, precision=0), Op.EQ, dt.time(12, 30), Compare(C, Op.EQ, 45_000_000)),
    ],
)
def test_known_bounds(column: DataType, op: Op, value: Any, expected: Any) -> None:
    assert bind_comparison(Column(C, column), op, literal_of(value), dt.UTC) == expected


def test_nanoseconds_count_as_the_microsecond_spark_sees() -> None:
    column = Column(C, T(Root.TIMESTAMP, precision=9))
    bound = bind_comparison(column, Op.EQ, Literal(1000, LOCAL_TIMESTAMP), dt.UTC)
    assert [match_values(bound, {"c": v}) for v in (999, 1000, 1999, 2000)] == [False, True, True, False]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (STRING, 5), (STRING, dt.date(2026, 11, 1)), (STRING, True), (T(Root.INT), "x"), (T(Root.INT), "7.5"),
        (T(Root.INT), True), (T(Root.BOOLEAN), 1), (T(Root.DATE), 5), (T(Root.INT), b"a"),
        (T(Root.INT), dt.date(1, 1, 1)), (T(Root.ARRAY, element=T(Root.INT)), "a"),
        (T(Root.TIME, precision=3), "12:30:00.0001"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(column: DataType, value: Any) -> None:
    with pytest.raises(PredicateError):
        bind_comparison(Column(C, column), Op.EQ, literal_of(value), dt.UTC)


def test_python_values_as_literals() -> None:
    assert literal_of(2**31 - 1).type == INT
    assert literal_of(2**31).type == BIGINT
    assert literal_of(2**63) == Literal(Decimal(2**63), T(Root.DECIMAL, precision=19, scale=0))
    assert literal_of(Decimal("0.010")).type == T(Root.DECIMAL, precision=3, scale=3)
    assert literal_of(Decimal("1E+3")) == Literal(Decimal(1000), T(Root.DECIMAL, precision=4, scale=0))
    assert literal_of(np.int64(5)) == Literal(5, INT)
    assert literal_of(np.bool_(True)).value is True
    assert literal_of(bytearray(b"a")).value == b"a"
    assert literal_of(dt.datetime(1970, 1, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2)))) == Literal(0, INSTANT)
    assert literal_of(dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)) == Literal(-1000, LOCAL_TIMESTAMP)
    for bad in (object(), [1], 1j, np.timedelta64(1, "s"), Decimal("NaN"), Decimal(10**38)):
        with pytest.raises(PredicateError):
            literal_of(bad)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-01", 20_758), ("2026-11", 20_758), (" 2026-1-1\n", 20_454), ("1970", 0), ("0001-01-01", -719_162),
        ("-0001-01-01", -719_893), ("0000-02-29", -719_469), ("12026-11-01", 3_673_183), ("2026-11-01T99", 20_758),
    ],
)  # fmt: skip
def test_dates(text: str, expected: int) -> None:
    assert parse_date(text) == expected


@pytest.mark.parametrize(
    "text", ["", "x", "2026-02-29", "2026-13-01", "26-11-01", "2026-11-01x", "now", "20261101", "\uff12026"]
)
def test_no_dates(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_date(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01 00:00:00", -HOUR),
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01 00:00:00.1234567", -HOUR + 123_456_000),
        ("1970-01-01 1:2:3+1:30", 3723 * SECOND - 90 * 60 * SECOND),
        ("1970-01-01 00:00:00 UTC-3", 3 * HOUR),
        ("1970-01-01 00:00:00 America/New_York", 5 * HOUR),
        ("1970", -HOUR),
    ],
)
def test_timestamps_in_a_zone(text: str, expected: int) -> None:
    assert parse_timestamp(text, dt.timezone(dt.timedelta(hours=1))) == expected


def test_other_texts() -> None:
    assert [parse_float(t) for t in ("1.5f", " -Inf ", "1e3", ".5", "5.")] == [1.5, -math.inf, 1000.0, 0.5, 5.0]
    assert math.isnan(parse_float("nan"))
    assert [parse_boolean(t) for t in (" T ", "yes", "0", "False")] == [True, True, False, False]
    assert parse_time("23:59:59.999") == 86_399_999
    for parse, text in ((parse_float, "1_000"), (parse_float, "0x10"), (parse_boolean, "2"), (parse_time, "24:00")):
        with pytest.raises(ValueError, match=r".+"):
            parse(text)
