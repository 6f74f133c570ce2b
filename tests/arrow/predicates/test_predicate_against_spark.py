"""Filters in SQL against Spark itself: every truth value of every row, over adversarial values of all types."""

import datetime as dt
import itertools
import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from paimon_spark.arrow.predicates.dialect import Dialect
from paimon_spark.arrow.predicates.evaluate import evaluate
from paimon_spark.arrow.predicates.sql_text import parse_predicate
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import PredicateError
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root

pytestmark = pytest.mark.spark

T = DataType


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


# In New York clocks skip 02:00 to 03:00 on 2026-03-08 and show 01:00 to 02:00 twice on 2026-11-01.
INSTANT_VALUES = [
    "1969-12-31T23:59:59.999999", "2026-03-08T06:59:59", "2026-03-08T07:00:00", "2026-11-01T00:00:00",
    "2026-11-01T05:30:00", "2026-11-01T06:30:00", "2026-11-01T10:00:00", "2026-11-01T10:00:00.000001",
]  # fmt: skip
LOCAL_VALUES = [
    "1969-12-31T23:59:59.999999", "2026-03-08T01:59:59", "2026-03-08T02:30:00", "2026-03-08T03:00:00",
    "2026-11-01T00:00:00", "2026-11-01T01:30:00", "2026-11-01T10:00:00", "2026-11-01T10:00:00.000001",
]  # fmt: skip
COLUMNS: dict[str, tuple[DataType, list[Any]]] = {
    "tiny": (T(Root.TINYINT), [-128, -1, 0, 1, 7, 127]),
    "small": (T(Root.SMALLINT), [-32768, 0, 7, 1000, 32767]),
    "num": (T(Root.INT), [-(2**31), -7, 0, 1, 3, 7, 8, 2**31 - 1]),
    "big": (T(Root.BIGINT), [-(2**63), 0, 7, 2**53, 2**53 + 1, 10**18, 10**18 + 1, 2**63 - 1]),
    "single": (T(Root.FLOAT), [0.0, -0.0, 0.1, 1.5, 7.0, 16777216.0, math.inf, -math.inf, math.nan]),
    "double": (T(Root.DOUBLE), [0.0, -0.0, 0.1, 1.1, 1.5, 7.0, 2.0**53, math.inf, -math.inf, math.nan]),
    "price": (T(Root.DECIMAL, precision=5, scale=2), [Decimal(v) for v in ("0.00", "1.10", "1.11", "7.00", "-999.99")]),
    "wide": (T(Root.DECIMAL, precision=38, scale=0), [Decimal(v) for v in (0, 1, 7, 8, 2**53 + 1, 10**38 - 1)]),
    "fine": (
        T(Root.DECIMAL, precision=38, scale=18),
        [Decimal(v) for v in ("0", "0.1", "1.5", "0.123456789012345678", "12345678901234567890.000000000000000001")],
    ),
    "name": (
        T(Root.VARCHAR, length=MAX_LENGTH),
        ["", "a", "ab", "ab\0", "a%", "a_b", "a\\b", "it's", "A", "é", "\uffff", "😀", "7", "2026-11-01", "a\nb"],
    ),
    "data": (T(Root.VARBINARY, length=MAX_LENGTH), [b"", b"a", b"ab", b"\x7f", b"\x80", b"\xff"]),
    "day": (T(Root.DATE), [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(2026, 3, 8), dt.date(2026, 11, 1)]),
    "instant": (T(Root.TIMESTAMP_LTZ, precision=6), [at(f"{v}+00:00") for v in INSTANT_VALUES]),
    "local": (T(Root.TIMESTAMP, precision=6), [at(v) for v in LOCAL_VALUES]),
    "flag": (T(Root.BOOLEAN), [True, False]),
    "num2": (T(Root.INT), [0, 7, -7, 2**31 - 1, 3]),
    "price2": (T(Root.DECIMAL, precision=5, scale=2), [Decimal(v) for v in ("1.10", "0.00", "7.00", "-999.99")]),
    "name2": (T(Root.VARCHAR, length=9), ["ab", "", "ab\0", "é", "\uffff", "😀", "A"]),
    "data2": (T(Root.VARBINARY, length=MAX_LENGTH), [b"\x80", b"", b"ab", b"\xff", b"a"]),
    "day2": (T(Root.DATE), [dt.date(2026, 3, 8), dt.date(1, 1, 1), dt.date(2026, 11, 1)]),
    "instant2": (T(Root.TIMESTAMP_LTZ, precision=6), [at(f"{v}+00:00") for v in INSTANT_VALUES[2:5]]),
    "local2": (T(Root.TIMESTAMP, precision=6), [at(v) for v in LOCAL_VALUES[4:7]]),
    "flag2": (T(Root.BOOLEAN), [False, True, True]),
}
ROWS = 48
OPS = ["=", "<", "<=", ">", ">=", "<=>", "!="]

NUMBERS = [
    "7", "-128", "1000", "-1e0", "1.5", "7.5", "0.10", "1.105", "0.1D", "0.1F", "1.1D", "'7'", "' +7 '", "-0.0D",
    "double('NaN')", "double('-Infinity')", "9007199254740993", "9007199254740993D", "1e18", "9223372036854775807",
    "-9223372036854775808", "12345678901234567890.000000000000000001", "0.1234567890123456785", "1e300",
    "cast('7' as decimal(10,4))", "cast(7.6 as int)", "null",
]  # fmt: skip
# Of an integer column beyond these, Spark says true or false even where it is NULL, by a shortcut of its own
# (DecimalPrecisionTypeCoercion.integralAndDecimalLiteral). Here it stays NULL.
BEYOND = ["12345678901234567890.000000000000000001"]
FRACTIONS = ["'0.1'", "'1.10'", "'NaN'", "'1e18'", "'7f'", "' -inf '"]
TEXTS = ["'a'", "''", "'ab\\0'", "'é'", "'\\uffff'", "'it''s'", "'it' 's'", '"A"', "r'a\\b'", "'a\\nb'", "null"]
BYTES = ["X''", "X'80'", "X'7f'", "'ab'", "X'fff'", "null"]
DAYS = ["'2026-11-01'", "'2026-11'", "' 2026 '", "date'2026-11-1'", "'2026-11-01T99'", "date'0001-01-01'"]
INSTANTS = [
    "timestamp'2026-11-01 10:00:00'", "timestamp_ntz'2026-11-01 10:00:00'", "timestamp_ltz'2026-11-01'",
    "timestamp'2026-11-01 05:30:00 America/New_York'", "timestamp'2026-11-01 05:30:00Z'",
    "timestamp'2026-03-08 08:30:00Z'", "timestamp'2026-03-08 06:59:59Z'",
    "timestamp_ntz'2026-11-01'", "timestamp'2026-11-01T10:00:00Z'",
]  # fmt: skip
TIMES = [
    "'2026-11-01 10:00:00'", "'2026-11-01T10:00:00.0000019'", "'2026-11-01 10:00:00+05:30'", "'2026-11-1 10'",
    "'2026-03-08 02:30'", "'1969-12-31 23:59:59.999999'", "'2026-11-01 10:00:00 UTC-3'",
]  # fmt: skip
BOOLEANS = ["true", "false", "'true'", "' F '", "'1'", "null"]
COMPARED: list[tuple[Sequence[str], Sequence[str]]] = [
    (["tiny", "small", "num", "big", "single", "double", "price", "wide", "fine"], NUMBERS),
    (["single", "double", "price", "wide", "fine"], FRACTIONS),
    (["name"], TEXTS),
    (["data"], BYTES),
    (["day"], DAYS + INSTANTS),
    (["instant", "local"], [*INSTANTS, *TIMES, "date'2026-11-01'", "null"]),
    (["flag"], BOOLEANS),
]
CONDITIONS = [
    "num in (1, 3, 7)", "num in (1, 3, null)", "num not in (1, 3)", "num not in (1, null)", "num in (null)",
    "num in (1, '3')", "num in (1, 2.5, '3')", "num in (1, 7.5)", "tiny in (1, 1000)", "tiny in (1000)",
    "big in (9007199254740993, 1)", "big in (9007199254740993, 1D)", "single in (0.1, 1.5)", "single in (0.1F)",
    "double in (double('NaN'), 0.0D)", "double in (0.1, null)", "price in (1.1, 1.105)", "price in (1, 1.1D)",
    "wide in (7.5, 6.5)", "fine in (0.1, 1.5, 12345678901234567890123.5)", "name in ('a', 'é', null)",
    "data in (X'80', 'a')", "day in ('2026-11-01', date'1969-12-31')",
    "day in ('2026-11-01', timestamp'2026-11-01 00:00:00')", "instant in ('2026-11-01', '2026-11-01 10:00:00')",
    "local in (date'2026-11-01', '2026-11-01 10:00:00')", "flag in (true, null)", "flag in ('no')",
    "num between 1 and 7", "num not between 1 and 7", "num between 1 and 3.5", "num between 7 and 1",
    "num between null and 3", "day between '2026-01-01' and '2026-12'", "num between '1' and 3",
    "name like 'a%'", "name like '%b'", "name like '%b%'", "name like 'a_b'", "name like 'a\\\\_b'",
    "name like 'a\\_b'", "name like r'a\\\\b'", "name like 'a!%' escape '!'", "name not like 'a%'", "name like '%'",
    "name like '_'", "name like ''", "name like 'ab'", "name like '%a%b%'", "name like '__'", "name like null",
    "name like 'a%%b'", "name like '%_%'", "startswith(name, 'a')", "endswith(name, 'b')", "contains(name, 's')",
    "contains(name, '')", "startswith(name, null)", "startswith(name, 'a') = false",
    "isnan(double)", "not isnan(single)", "isnan(num)", "isnull(num)", "isnotnull(num)", "num is null",
    "num is not null", "not num is null", "flag", "not flag", "!flag", "flag is true", "flag is not true",
    "flag is false", "flag is not false", "flag is unknown", "flag = true", "flag <=> false", "flag and num > 1",
    "flag or num > 1", "not (flag and num > 1)", "not flag or num > 1 and name = 'a'",
    "num = 3 = true", "(num = 3) is true", "(num = 3) is not true", "(num = 3) is false", "(num = 3) is null",
    "(num in (3, null)) is unknown", "(num in (3, null)) is not unknown", "(num = 3) <=> false", "(num > 3) != true",
    "num is distinct from 3", "num is not distinct from 3", "num is distinct from null", "num <=> null", "num = null",
    "not num = null", "num = null or flag", "num = null and flag", "7 = num", "3 < num", "3 >= num", "null <=> num",
    "'7' = num", "true", "false", "null", "1 = 1", "1 = 2 or flag", "null = null", "null <=> null", "1 < '2'",
    "1 = 1.0", "'a' = 'A'", "not null", "num == 7", "num <> 7", "NUM = 7", "`num` = 7", "num = -7", "num = - 7",
    "tiny = 7Y and small = 7S and num = 7 and big = 7L", "price = 1.10BD", "num = (7)", "(num) = 7",
    "num = try_cast('x' as int)", "num <=> try_cast('x' as int)", "num = cast(null as int)", "num = int('7')",
    "day = date('2026-11-01')", "day = cast('2026-11-01 10:00:00' as date)",
    "day = cast(timestamp'2026-11-01 23:59:59' as date)", "instant = timestamp('2026-11-01 10:00:00')",
    "name = cast(7 as string)", "name = cast(date'2026-11-01' as string)", "price = cast(1.105 as decimal(5,2))",
    "price = cast('1.105' as decimal(10,2))", "double = cast(1.1 as float)", "num = cast(true as int)",
    "num > 1 -- comment", "/* comment */ num > 1", "num > 1 and num < 8 or num is null", "row.x = 1", "ROW.X > 0",
    "not num < num2", "(num = num2) is true", "(num = num2) is not true", "(num < num2) is false", "row.x = num2",
    "num = num2 or flag", "num between num2 and 8", "day < day2 and day2 > date'2000-01-01'",
    "day < date'2026-08-08' + interval '3' month", "day >= date'2026-01-31' + interval 1 month",
    "day > date'2024-02-29' + interval '1' year", "day > date'2026-02-01' - interval '90' day",
    "day = date'2026-10-25' + interval 1 week", "day = interval '7' days + date'2026-10-25'",
    "day = date'2026-10-31' + 1", "day = date'2026-11-02' - 1Y", "day <= date'2026-12-01' + interval -1 month",
    "day = date'2026-11-01' - interval '0' month - interval 0 days", "day = '2026-11-01' and num < 2 + 2 * 3",
    "price between 1.2 - 0.1 and 1 + 0.11", "price = 2.2 * 0.5", "price > -1.10 - 2", "num = 2 + 1", "num < 2 * 4",
    "num < 3.5 * 2", "big = 9223372036854775806 + 1L", "big > 1000000000000000000 - 1", "double > 1.0D + 0.1D",
    "double = 0.1D * 15D", "tiny > 100Y + 20Y", "num in (1 + 2, 7)", "1 + 2 = num", "num = -(3 + 4)",
    "instant >= timestamp'2026-11-01 05:00:00Z' + interval 30 minutes", "num = (1 + 2) * 1",
    "num = -cast('7' as int)", "num = -cast(' -7 ' as int)", "num = -cast('0' as int)",
    "double = -cast('-1.5' as double)",
    "price = -cast('-1.10' as decimal(5,2))", "price = -cast('-1.105' as decimal(5,2))", "num = -int('-8')",
    "wide = -cast('-9999999999999999999999999999999999999' as decimal(38,0))",
    "fine > -(cast('-12345678901234567889.9999999999' as decimal(38,10)))",
    "instant < timestamp'2026-11-01 00:00:00' + interval '36000' second",
    "local > timestamp_ntz'2026-10-31 10:00:00' + interval '1' day",
    "local > timestamp_ntz'2026-11-02' - interval 12 hours",
    "cast(day as date) = date'2026-11-01'", "cast(num as int) > cast(num2 as int)", "date(day) < date'2026-11-01'",
    "cast(name as string) < 'b'", "cast(price as decimal(5,2)) >= 1.10", "cast(flag as boolean) = true",
    "num % 3 = 1", "num % 3 = -1", "num % 3 != 1", "mod(num, 2) = 0", "(num % 8) >= 7", "tiny % 100 = -28",
    "small % 7 < 0", "big % 1000 = 807", "big % 1000 = -808", "big % 9223372036854775807 = -1", "tiny % 1000 <= 7",
    "num % 3L = 1Y", "not num % 3 = 1", "num % 3 = 1 and big % 2 = 0 or flag", "num % 2 = 1 = true",
    "(num % 3 = 1) is true", "(num % 3 = 1) is false", "(num % 3 = 1) is null", "row.x % 2 = 1", "num % 1 = 0",
    "num % 3 < 9223372036854775807",
    "row is null", "row.x is null", "row.s = 'b'", "(((num > 1)))", "num > 1 and (name < 'b' or not (double > 0.1))",
]  # fmt: skip
# What Spark refuses, when it reads the text or when it looks at the rows, is refused by us when we read the text.
REFUSED = [
    "num = 'x'", "num = '7.5'", "num = ''", "big = '99999999999999999999'", "day = 'x'", "day = '2026-13-01'",
    "day = '2026-11-01x'", "day = 5", "day = true", "instant = 'x'", "instant = '2026-11-01 25:00:00'",
    "instant = '2026-11-01 10:00:00 Nowhere/Land'", "instant = 5", "local = '10:00:00'", "flag = 1", "flag = 'x'",
    "num = true", "double = 'x'", "num = cast('x' as int)", "tiny = 128Y", "num = 1e500", "row = 1", "nope = 1",
    "row.y = 1", "num.x = 1", "num like", "name like 'a\\\\b'", "name like 'a\\\\'", "name like 'a' escape 'ab'",
    "num in ()", "num and true", "name and flag", "num = 1 num = 2", "num >", "date'2026-02-30' = day",
    "price = cast(1000 as decimal(5,2))", "num = 2147483647 + 1", "tiny = 100Y + 100Y", "num = data2",
    "day = date'2026-11-01' + true", "num = interval 1 day", "day = date'2026-11-01' * 2",
    "tiny = -cast('-128' as tinyint)", "tiny = -(-128Y)",
    "day = -cast('2026-11-01' as date)", "name = -cast('x' as string)",
    "flag = -cast('true' as boolean)", "instant = -cast('2026-11-01' as timestamp)", "num = -cast('x' as int)",
]  # fmt: skip


def comparisons() -> list[str]:
    return [
        f"{column} {op} {literal}"
        for columns, literals in COMPARED
        for column, literal in itertools.product(columns, literals)
        for op in OPS
        if not (column in ("tiny", "small", "num", "big") and literal in BEYOND and op in ("<", "<=", ">", ">="))
    ] + [f"{name.removesuffix('2')} {op} {name}" for name in COLUMNS if name.endswith("2") for op in OPS]


def fields() -> list[DataField]:
    row = T(
        Root.ROW, fields=(DataField(101, "x", T(Root.INT)), DataField(102, "s", T(Root.VARCHAR, length=MAX_LENGTH)))
    )
    types = {name: t for name, (t, _) in COLUMNS.items()} | {"row": row}
    return [DataField(i, name, t) for i, (name, t) in enumerate(types.items())]


def table() -> pa.RecordBatch:
    """Each column runs through its values and a null; the lengths of the runs differ."""
    columns: dict[str, list[Any]] = {}
    for name, (_, values) in COLUMNS.items():
        columns[name] = list(itertools.islice(itertools.cycle([*values, None]), ROWS))
    rows = [{"x": 1, "s": "a"}, {"x": None, "s": "b"}, None]
    columns["row"] = list(itertools.islice(itertools.cycle(rows), ROWS))
    schema = arrow_schema(fields())
    return pa.RecordBatch.from_pydict(columns, schema=schema)


@pytest.fixture(scope="module")
def batch(spark: SparkSession) -> Iterator[pa.RecordBatch]:
    found = table()
    schema = from_arrow_schema(found.schema, prefer_timestamp_ntz=True)
    spark.createDataFrame(pa.Table.from_batches([found]), schema).createOrReplaceTempView("adversarial")
    yield found
    spark.catalog.dropTempView("adversarial")


@pytest.fixture
def new_york(spark: SparkSession) -> Iterator[str]:
    before = spark.conf.get("spark.sql.session.timeZone") or "UTC"
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield "America/New_York"
    spark.conf.set("spark.sql.session.timeZone", before)


def spark_answers(spark: SparkSession, conditions: Sequence[str]) -> list[list[bool | None]]:
    columns = ", ".join(f"cast(({c.split(' -- ')[0]}) as boolean) as c{i}" for i, c in enumerate(conditions))
    found = spark.sql(f"select {columns} from adversarial").toArrow()
    return [column.to_pylist() for column in found.columns]


def differences(
    spark: SparkSession,
    batch: pa.RecordBatch,
    conditions: Sequence[str],
    zone: str,
    dialect: Dialect = Dialect.ANSI,
) -> list[Any]:
    """(condition, row, our truth value, Spark's) wherever they differ."""
    wrong = []
    for start in range(0, len(conditions), 200):
        part = conditions[start : start + 200]
        for condition, expected in zip(part, spark_answers(spark, part), strict=True):
            found = evaluate(parse_predicate(condition, fields(), zone, dialect), batch).to_pylist()
            pairs = enumerate(zip(found, expected, strict=True))
            wrong += [(condition, i, mine, theirs) for i, (mine, theirs) in pairs if mine is not theirs]
    return wrong


def test_conditions_are_true_where_spark_says_so(spark: SparkSession, batch: pa.RecordBatch) -> None:
    assert differences(spark, batch, CONDITIONS, "UTC") == []


def test_a_sample_of_all_comparisons(spark: SparkSession, batch: pa.RecordBatch) -> None:
    assert differences(spark, batch, comparisons()[::5], "UTC") == []  # 5 and the 7 operators share no factor


def test_moments_in_a_zone_with_summer_time(spark: SparkSession, batch: pa.RecordBatch, new_york: str) -> None:
    zoned = [c for c in comparisons() if c.split()[0] in ("day", "instant", "local")]
    assert differences(spark, batch, zoned, new_york) == []


# ANSI rules give each a meaning; with spark.sql.ansi.enabled = false it may have another one.
OTHERWISE_WITHOUT_ANSI = [
    "price not in ('1.105')", "wide = '9007199254740993.5'", "single = 16777217", "single != 0.1", "num in (1, '3')",
    "day not in ('2026-11-1')", "instant in ('2026-11-01')", "num = '7'", "flag = '1'", "data = 'ab'",
    "num in (1, 2.5, '3')", "single in (0.1, 1.5)", "day = '2026-11'", "local < '2026-11-1 10'",
]  # fmt: skip


@pytest.fixture
def lenient(spark: SparkSession) -> Iterator[Dialect]:
    spark.conf.set("spark.sql.ansi.enabled", "false")
    yield Dialect.LENIENT
    spark.conf.unset("spark.sql.ansi.enabled")


def is_read(condition: str, dialect: Dialect) -> bool:
    try:
        parse_predicate(condition, fields(), "UTC", dialect)
    except PredicateError:
        return False
    return True


def test_without_ansi_rules_conditions_are_true_where_spark_says_so(
    spark: SparkSession, batch: pa.RecordBatch, lenient: Dialect
) -> None:
    asked = [*CONDITIONS, *comparisons()[::5], *REFUSED, *OTHERWISE_WITHOUT_ANSI]
    read = [condition for condition in asked if is_read(condition, lenient)]
    assert len(read) > len(asked) // 2
    assert differences(spark, batch, read, "UTC", lenient) == []


@pytest.mark.parametrize("condition", OTHERWISE_WITHOUT_ANSI)
def test_without_ansi_rules_values_of_two_kinds_are_left_to_spark(condition: str) -> None:
    assert is_read(condition, Dialect.ANSI)
    assert not is_read(condition, Dialect.LENIENT)


def test_nothing_is_known_where_names_or_literals_are_read_otherwise() -> None:
    assert not is_read("num = 7", Dialect.OTHER)


@pytest.mark.parametrize("condition", REFUSED)
def test_what_spark_refuses_is_refused(spark: SparkSession, batch: pa.RecordBatch, condition: str) -> None:
    with pytest.raises(PredicateError):
        parse_predicate(condition, fields(), "UTC")
    with pytest.raises(PySparkException):
        spark.sql(f"select cast(({condition}) as boolean) from adversarial").toArrow()
