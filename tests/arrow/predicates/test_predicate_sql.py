"""Filters as SQL text and as Python expressions: what they mean, and what is refused in which words."""

import datetime as dt
import math
import pickle
from decimal import Decimal
from typing import Any

import pytest

from paimon_spark.arrow.predicates.expressions import as_predicate, bind, col
from paimon_spark.arrow.predicates.predicate import (
    FALSE,
    TRUE,
    And,
    Compare,
    Contains,
    EndsWith,
    In,
    IsNotNull,
    IsNull,
    Like,
    Not,
    Op,
    Or,
    StartsWith,
    UnlessNull,
    Wildcard,
)
from paimon_spark.arrow.predicates.sql_text import parse_predicate
from paimon_spark.errors import OptionError, PredicateError
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root

T = DataType
TEXT = T(Root.VARCHAR, length=MAX_LENGTH)
FIELDS = [
    DataField(0, "id", T(Root.INT)),
    DataField(1, "dt", TEXT),
    DataField(2, "vip", T(Root.BOOLEAN)),
    DataField(3, "amount", T(Root.DOUBLE)),
    DataField(4, "ts", T(Root.TIMESTAMP_LTZ, precision=6)),
    DataField(5, "we ird.name", T(Root.INT)),
    DataField(6, "address", T(Root.ROW, fields=(DataField(7, "Zip", TEXT), DataField(8, "no", T(Root.INT))))),
    DataField(9, "tags", T(Root.ARRAY, element=TEXT)),
    DataField(10, "same", T(Root.INT)),
    DataField(11, "SAME", T(Root.INT)),
    DataField(12, "day", T(Root.DATE)),
    DataField(13, "loc", T(Root.TIMESTAMP, precision=6)),
]
ID, DT = ("id",), ("dt",)


def sql(text: str, zone: str | None = "UTC") -> Any:
    return parse_predicate(text, FIELDS, zone)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dt = '2026-11-01' and ID = 7", And((Compare(DT, Op.EQ, "2026-11-01"), Compare(ID, Op.EQ, 7)))),
        ("7 >= id", Compare(ID, Op.LE, 7)),
        ("id in (1, null)", In(ID, (1,), has_null=True)),
        ("id in (1, 7.5)", In(ID, (1,))),
        ("id in (7.5)", UnlessNull(ID, False)),
        ("dt like 'a%'", StartsWith(DT, "a")),
        ("dt like '%a'", EndsWith(DT, "a")),
        ("dt like '%a%'", Contains(DT, "a")),
        ("dt like 'a'", Compare(DT, Op.EQ, "a")),
        ("dt like ''", Compare(DT, Op.EQ, "")),
        ("dt like '%%'", UnlessNull(DT, True)),
        ("dt like 'a%b_%'", Like(DT, ("a", Wildcard.ANY, "b", Wildcard.ONE, Wildcard.ANY))),
        ("dt like '100!%' escape '!'", Compare(DT, Op.EQ, "100%")),
        ("dt not like 'a%'", Not(StartsWith(DT, "a"))),
        ("vip or amount > 10", Or((Compare(("vip",), Op.EQ, True), Compare(("amount",), Op.GT, 10.0)))),
        ("isnan(amount)", Compare(("amount",), Op.NULL_SAFE_EQ, math.nan)),
        ("address.zip = 'x'", Compare(("address", "Zip"), Op.EQ, "x")),
        ("`we ird.name` = 1", Compare(("we ird.name",), Op.EQ, 1)),
        ("`address`.`no` is null", IsNull(("address", "no"))),
        ("tags is not null", Not(IsNull(("tags",)))),
        ("isnotnull(tags)", IsNotNull(("tags",))),
        ("dt = 'it''s' -- a comment", Compare(DT, Op.EQ, "it's")),
        ('dt = "a""b"', Compare(DT, Op.EQ, 'a"b')),
        ("1 = 1 or id = 1", TRUE),
        ("1 = 2", FALSE),
    ],
)
def test_meaning_of_texts(text: str, expected: Any) -> None:
    found = sql(text)
    assert repr(found) == repr(expected)  # repr, for NaN is not equal to itself


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nope = 1", r"no column 'nope'.*id, dt"),
        ("address.nope = 1", r"'address.nope'.*address has: Zip, no"),
        ("id.x = 1", r"'id' has no fields"),
        ("same = 1", r"ambiguous.*same, SAME"),
        ("id = dt", r"cannot compare the columns id .* and dt"),
        ("id = amount", r"cannot compare the columns"),
        ("tags = tags", r"cannot compare the columns"),
        ("dt = 20261101", r"dt \(STRING\).*in quotes"),
        ("id + 1 = 2", r"'id' stands where a literal must"),
        ("day = date'2026-11-01' + interval '1-2' year to month", r"is no interval of one unit"),
        ("day = date'2026-11-01' + interval 1.5 days", r"is no interval of one unit"),
        ("day = date'2026-11-01' + interval 1 hour", r"cannot add this interval"),
        ("day = date'9999-12-31' + interval 1 day", r"not between the years 1 and 9999"),
        ("ts = timestamp'2026-11-01' + interval 1 month", r"months to dates only"),
        ("id = 1 + null", r"with NULL"),
        ("id < 12345678901234567890123456789.5 * 1234567890.12", r"more than 38 digits"),
        ("id = 4 / 2", r"is not supported"),
        ("id", r"id \(INT\) is not a condition"),
        ("tags = 'a'", r"tags \(ARRAY<STRING>\)"),
        ("id = 'seven'", r"'seven'.*BIGINT"),
        ("day = 'x'", r"'x'.*DATE"),
        ("id in (select 1)", r"not supported"),
        ("id in (1, dt)", r"'dt' stands where a literal must"),
        ("1 in (1, 2)", r"stands where a column must"),
        ("id between symmetric 1 and 2", r"not supported"),
        ("dt rlike 'a'", r"not supported"),
        ("dt ilike 'a'", r"not supported"),
        ("dt like any ('a', 'b')", r"not supported"),
        ("dt like 'a\\\\b'", r"escape"),
        ("id like '1'", r"LIKE needs a text column, found id \(INT\)"),
        ("startswith(dt, 5)", r"needs a text in quotes"),
        ("isnan(dt)", r"needs a column of numbers"),
        ("upper(dt) = 'A'", r"column must|not supported"),
        ("ts > current_timestamp()", r"not supported"),
        ("day = 'today'", r"not a date"),
        ("cast(id as string) = '1'", r"'id' stands where a literal must"),
        ("dt = cast('a' as array<int>)", r"cannot cast to"),
        ("id = cast(interval '1' day as int)", r"not supported"),
        ("(id, id) = (1, 2)", r"not supported"),
        ("id = 1; id = 2", r"not supported|exactly one"),
        ("id = ", r"not a condition in SQL: something is missing at '=' in line 1, column 4$"),
        ("id between\n 1", r"something is missing at '1' in line 2, column 2$"),
        ("(id = 1", r"'\)' is missing behind '1' in line 1, column 7$"),
        ("id = 1 2", r"'2' is unexpected in line 1, column 8$"),
        ("dt = 'a", r"a quote or a comment is not closed$"),
        ("", r"it is empty; write one such as"),
        (" -- none", r"it is empty; write one such as"),
        ("k = 1; k = 2", r"exactly one condition"),
        ("id = 1 limit 3", r"not a condition in SQL"),
        ("select 1", r"not supported"),
        ("id = :x", r"not supported"),
        ("(id = 1) < true", r"not supported"),
        ("address.* = 1", r"not supported"),
        ("id = 123456789012345678901234567890123456789", r"39 digits"),
    ],
)
def test_refused_texts(text: str, words: str) -> None:
    with pytest.raises(PredicateError, match=words) as caught:
        sql(text)
    assert repr(text) in str(caught.value)


def test_deep_and_long_texts() -> None:
    assert isinstance(sql(" or ".join(f"id = {i}" for i in range(5000))), Or)
    with pytest.raises(PredicateError, match=r"nested too deeply|not a condition"):
        sql("not (" * 5000 + "vip" + ")" * 5000)


def test_instants_without_a_zone_are_read_in_that_of_the_session() -> None:
    hour = 3600 * 10**9
    assert sql("ts = '1970-01-01'", "+02:00") == Compare(("ts",), Op.EQ, -2 * hour)
    assert sql("ts = timestamp'1970-01-01 00:00:00'", "Europe/Paris") == Compare(("ts",), Op.EQ, -hour)
    assert sql("ts = '1970-01-01T00:00:00Z'", "+02:00") == Compare(("ts",), Op.EQ, 0)
    with pytest.raises(OptionError, match="Nowhere"):
        sql("id = 1", "Nowhere")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ts >= '2026-11-01'", r"ts \(TIMESTAMP\(6\) WITH LOCAL TIME ZONE\) with '2026-11-01'"),
        ("'2026-11-01 10:00:00' < ts", r"ts .* with '2026-11-01 10:00:00'"),
        ("ts = date'2026-11-01'", r"ts .* with DATE '2026-11-01'"),
        ("ts = timestamp_ntz'2026-11-01'", r"ts .* with TIMESTAMP_NTZ '2026-11-01 00:00:00'"),
        ("ts in ('2026-11-01T00:00:00Z', '2026-11-02')", r"ts .* with '2026-11-02'"),
        ("ts between '2026-11-01T00:00:00Z' and '2026-11-02'", r"ts .* with '2026-11-02'"),
        ("id = 1 or not (ts > timestamp'2026-11-01')", r"'2026-11-01' as TIMESTAMP\(6\) WITH LOCAL"),
        ("ts > try_cast('2026-11-01' as timestamp)", r"'2026-11-01' as TIMESTAMP\(6\) WITH LOCAL"),
        ("day = timestamp'2026-11-01 00:00:00Z'", r"day \(DATE\) with TIMESTAMP '2026-11-01 00:00:00 UTC'"),
        ("loc < timestamp'2026-11-01 00:00:00Z'", r"loc \(TIMESTAMP\(6\)\) with TIMESTAMP '2026-11-01 00:00:00 UTC'"),
        ("day = cast(timestamp'2026-11-01 00:00:00Z' as date)", r"TIMESTAMP '2026-11-01 00:00:00 UTC' as DATE"),
        ("date'2026-11-01' = timestamp'2026-11-01 00:00:00Z'", r"DATE '2026-11-01' with TIMESTAMP '2026-11-01"),
    ],
)
def test_what_depends_on_a_zone_is_refused_without_one(text: str, words: str) -> None:
    with pytest.raises(PredicateError, match=words) as caught:
        sql(text, None)
    assert "'time-zone'" in str(caught.value)
    assert ("TIMESTAMP_NTZ '" if text[:3] in ("day", "loc") and "cast" not in text else "+01:00") in str(caught.value)
    sql(text, "Europe/Berlin")


@pytest.mark.parametrize(
    "text",
    [
        "ts = '2026-11-01 00:00:00+01:00'", "ts = timestamp'2026-11-01 00:00:00 Europe/Berlin'", "ts is null",
        "ts = null", "ts in ('2026-11-01T00:00:00Z', null)", "day = '2026-11-01'",
        "day < timestamp_ntz'2026-11-01 10:00:00'", "loc >= '2026-11-01 00:00:00'", "loc = date'2026-11-01'",
        "loc <=> timestamp_ntz'2026-11-01'", "id = '7'",
        "loc = '2026-11-01 00:00:00+05:00'", "day = cast('2026-11-01' as date)",
    ],
)  # fmt: skip
def test_what_depends_on_no_zone_needs_none(text: str) -> None:
    found = [repr(sql(text, zone)) for zone in (None, "UTC", "Asia/Tokyo", "America/New_York")]
    assert len(set(found)) == 1


def test_expressions_depend_on_a_zone_as_texts_do() -> None:
    instant, local = dt.datetime(2026, 11, 1, tzinfo=dt.UTC), dt.datetime(2026, 11, 1)
    assert bind(col("ts") == instant, FIELDS, None) == sql("ts = '2026-11-01T00:00:00Z'", None)
    with pytest.raises(PredicateError, match=r"ts .* with TIMESTAMP_NTZ '2026-11-01 00:00:00'"):
        bind(col("ts") == local, FIELDS, None)
    assert bind(col("ts") == local, FIELDS, "+01:00") == sql("ts = '2026-11-01 00:00:00'", "+01:00")
    assert as_predicate(col("ts") == local, FIELDS, dt.UTC) == sql("ts = '2026-11-01 00:00:00'", "UTC")


# --------------------------------------------------------------------------------------------------------- expressions


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (col("id") == 7, "id = 7"),
        (col("id") != 7, "id != 7"),
        (3 < col("id"), "id > 3"),  # noqa: SIM300  # the mirrored operator
        ((col("id") > 1) & (col("id") <= 5) & col("vip"), "id > 1 and id <= 5 and vip"),
        ((col("id") < 1) | ~(col("id") >= 5), "id < 1 or not id >= 5"),
        (col("id") == None, "id = null"),  # noqa: E711  # builds an expression
        (col("id").eq_null_safe(None), "id <=> null"),
        (col("id").isin(1, 2, None), "id in (1, 2, null)"),
        (col("id").isin([1, 2]), "id in (1, 2)"),
        (col("id").between(1, Decimal("3.5")), "id between 1 and 3.5"),
        (col("dt").startswith("a"), "startswith(dt, 'a')"),
        (col("dt").endswith("a"), "endswith(dt, 'a')"),
        (col("dt").contains("a"), "contains(dt, 'a')"),
        (col("dt").like("a!%%", "!"), "dt like 'a!%%' escape '!'"),
        (col("ID").is_null(), "id is null"),
        (col("id").is_not_null(), "isnotnull(id)"),
        (col("amount").is_nan(), "isnan(amount)"),
        (col("address").field("zip") == "x", "address.zip = 'x'"),
        (col("address", "no") == 1, "address.no = 1"),
        (col("we ird.name") == 1, "`we ird.name` = 1"),
        (col("day") == dt.date(2026, 11, 1), "day = date'2026-11-01'"),
        (col("ts") > dt.datetime(2026, 11, 1, tzinfo=dt.UTC), "ts > timestamp'2026-11-01'"),
        (col("vip"), "vip"),
    ],
)
def test_expressions_mean_what_the_text_does(expr: Any, text: str) -> None:
    assert repr(bind(expr, FIELDS, "UTC")) == repr(sql(text))
    assert repr(bind(pickle.loads(pickle.dumps(expr)), FIELDS, "UTC")) == repr(sql(text))


def test_long_chains_of_expressions() -> None:
    expr = col("id") == 0
    for i in range(1, 5000):
        expr = expr | (col("id") == i)
    assert len(bind(expr, FIELDS, "UTC").parts) == 5000


def test_refused_expressions() -> None:
    with pytest.raises(PredicateError, match="brackets"):
        bool(col("id") == 1)
    with pytest.raises(PredicateError, match="brackets"):
        _ = 1 < col("id") < 5
    with pytest.raises(PredicateError, match="is not a condition"):
        _ = (col("id") == 1) & True
    with pytest.raises(PredicateError, match="name of a column"):
        col()
    with pytest.raises(PredicateError, match="cannot compare the columns"):
        bind(col("id") == col("dt"), FIELDS, "UTC")
    fine = [DataField(number, name, DataType(Root.TIMESTAMP, precision=9)) for number, name in enumerate("ab")]
    with pytest.raises(
        PredicateError, match="Spark compares no more than their microseconds, and they have more digits"
    ):
        bind(col("a") == col("b"), fine, "UTC")
    with pytest.raises(PredicateError, match="cannot compare with"):
        bind(col("id") == object(), FIELDS, "UTC")
    with pytest.raises(TypeError):
        hash(col("id"))


def test_any_form_of_condition() -> None:
    bound = Compare(ID, Op.EQ, 7)
    assert as_predicate(None, FIELDS, None) == TRUE
    assert as_predicate("id = 7", FIELDS, None) == bound
    assert as_predicate(col("id") == 7, FIELDS, None) == bound
    assert as_predicate(bound, FIELDS, None) is bound
    with pytest.raises(PredicateError, match="give SQL text"):
        as_predicate(7, FIELDS, None)  # type: ignore[arg-type]  # what a user may do


def test_columns_finer_than_microseconds_are_not_compared() -> None:
    """Spark sees microseconds: two values of one microsecond are equal there."""
    for root in (Root.TIMESTAMP, Root.TIMESTAMP_LTZ):
        digits = {"a": 9, "b": 9, "c": 6, "d": 6}
        fields = [DataField(n, name, DataType(root, precision=digits[name])) for n, name in enumerate(digits)]
        assert parse_predicate("c = d", fields, None)
        with pytest.raises(PredicateError):
            parse_predicate("a = b", fields, None)
