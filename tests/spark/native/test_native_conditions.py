"""Conditions in Spark's own scan keep the rows that our reader keeps: all types, NULL, NaN, -0.0, edges of ranges."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from support.tables.compacting import make, write

from paimon_spark import open_table
from paimon_spark.arrow.predicates.predicate import Compare, Op
from paimon_spark.arrow.predicates.sql_text import parse_predicate
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.spark.native.conditions import NotExpressible, spark_condition
from paimon_spark.spark.native.read_table import ReadRequest, read_table

COLUMNS = pa.schema(
    [
        ("id", pa.int32()),
        ("b", pa.bool_()),
        ("i1", pa.int8()),
        ("i8", pa.int64()),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("n", pa.decimal128(9, 2)),
        ("big", pa.decimal128(38, 10)),
        ("s", pa.string()),
        ("x", pa.binary()),
        ("day", pa.date32()),
        ("t3", pa.timestamp("ms")),
        ("t6", pa.timestamp("us")),
        ("l", pa.timestamp("us", "UTC")),
        ("r", pa.struct([("f", pa.float64()), ("s", pa.string())])),
    ]
)
NAN = float("nan")
ZZ = {"f": 1.0, "s": "zz"}
NOON = dt.datetime(2026, 3, 29, 2, 30, 0, 123456)
OLD = dt.datetime(1, 1, 1)
MILLIS = NOON.replace(microsecond=123000)
FIRST_ID, SECOND_ID = 1, 3  # of the rows that are in a file of their own too, of -0.0 and NaN alone
E27, LAST, GREGORY = Decimal("1e27"), dt.datetime(9999, 12, 30), dt.datetime(1582, 10, 10)
MIN, MAX, INF = -(2**63), 2**63 - 1, float("inf")
CENT, LARGEST = Decimal("0.10"), Decimal("9999999.99")
ROWS = [
    (1, True, -128, MIN, -0.0, -0.0, CENT, Decimal("1.5"), "", b"", OLD.date(), OLD, OLD, OLD, {"f": NAN, "s": "a"}),
    (2, False, 127, MAX, 0.0, NAN, -CENT, Decimal(-1), "a%b", b"\x00", dt.date(1970, 1, 1), MILLIS, NOON, NOON, None),
    (3, None, 0, 0, NAN, 1.5, LARGEST, E27, "ü_😀", b"\xff\x01", LAST.date(), None, None, None, {"f": -0.0, "s": None}),
    (4, True, None, None, 0.1, 0.1, None, None, None, None, None, LAST, LAST, LAST, {"f": None, "s": "ü"}),
    (5, None, 1, 1, INF, -INF, Decimal(1), Decimal(1), "A\\b", b"a", GREGORY.date(), GREGORY, GREGORY, GREGORY, ZZ),
]
CONDITIONS = """
b | not b | b is null | b <=> false | b in (true, null) | b is not true
i1 = 127 | i1 > 126 | i1 < 1000 | not i1 < 1000 | i1 <=> null | i1 in (0, 1, null) | i1 not in (0, 1) | i1 between -128 and 0
i8 = 9223372036854775807 | i8 <= -9223372036854775808 | i8 != 0 | i8 in (1) | i8 > 0.5 | i8 < 1.5
f = 0.0 | f = 0 | f > 1 | f < 0.1 | f = 0.1 | f >= 0.1 | isnan(f) | f in (0, 2) | f not in (0, 1) | f != 0.0 | f <=> -0.0 | f = cast(0.1 as float)
d = 0 | d > 5 | d >= 1.5 | not d > 5 | isnan(d) | d = cast('NaN' as double) | d < cast('NaN' as double) | d in (-0.0, 1.5) | d <= -0.0
n = 0.1 | n > 0 | n in (1, -1) | n < 9999999.99 | n >= 1.000 | n = 1e0 | big = 1.5 | big > 1 | big in (1, 1.5)
s = '' | s = 'a%b' | s > 'a' | s like 'a\\\\%%' | s like '_\\\\__' | s like '%b' | s like '%' | s in ('', 'ü_😀') | startswith(s, 'ü') | endswith(s, 'b') | contains(s, '%') | s not like 'a%' | s like 'a_b'
x = X'' | x > X'61' | x in (X'FF01', X'00') | x is not null
day = date '1970-01-01' | day < '1582-10-15' | day = '9999-12-30' | day in (date '0001-01-01', date '1582-10-10') | day > '1970-01-01'
t3 = timestamp_ntz '2026-03-29 02:30:00.123' | t3 < '1900-01-02' | t3 > '2026-03-29 02:30:00.122'
t6 = timestamp_ntz '2026-03-29 02:30:00.123456' | t6 >= '2026-03-29 02:30:00.123456' | t6 < timestamp_ntz '1582-10-15 00:00:00' | t6 in (timestamp_ntz '0001-01-01 00:00:00') | t6 = '9999-12-30'
l = timestamp '2026-03-29 02:30:00.123456+00:00' | l < timestamp '1582-10-15 00:00:00Z' | l > '2026-03-29 04:30:00' | l <= '2026-03-29 04:30:00.123456' | l in (timestamp '2026-03-29 02:30:00.123456Z')
r.f > 5 | r.f = 0.0 | isnan(r.f) | r.s = 'ü' | r.s is null | r is null | r.s > 'a' and r.f is not null
id = 1 or d > 5 | not (id = 1 and s = '') | id in (1, 2, 3) and not b
"""  # noqa: E501
TEXTS = [text.strip() for line in CONDITIONS.strip().splitlines() for text in line.split("|")]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    table = make(tmp_path_factory.mktemp("conditions") / "t", COLUMNS, (), {"bucket": "-1"})
    write(table, ROWS)
    write(table, [(row[0] + 10, *row[1:]) for row in ROWS if row[0] in (FIRST_ID, SECOND_ID)])
    return table.location


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_every_condition_keeps_the_rows_that_our_reader_keeps(spark: SparkSession, path: str, zone: str) -> None:
    """All conditions are columns of one query, and each that differs is named."""
    table = open_table(path, time_zone=zone)
    frame = read_table(spark, ReadRequest(path, native=True)).frame
    bound = [parse_predicate(text, table.schema.fields, zone) for text in TEXTS]
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    try:
        conditions = [spark_condition(p, table.schema.fields).alias(f"c{i}") for i, p in enumerate(bound)]
        rows = frame.select("id", *conditions).collect()
        # As Spark itself understands the text, where it is a filter of the DataFrame.
        own = frame.select("id", *(sf.expr(text).alias(f"c{i}") for i, text in enumerate(TEXTS))).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
        spark.conf.unset("spark.sql.codegen.wholeStage")
    for number, text in enumerate(TEXTS):
        mine = set(table.scan(["id"], where=text).to_arrow().column("id").to_pylist())
        assert {row.id for row in rows if row[f"c{number}"]} == mine, text
        assert {row.id for row in own if row[f"c{number}"]} == mine, text


@pytest.mark.parametrize("text", ["d > 5", "d = 0.0", "f = 0.0", "r.f > 5", "r.f = 0.0", "isnan(f)", "d in (0.0)"])
def test_no_row_group_is_skipped_for_its_nan_or_minus_zero(spark: SparkSession, path: str, text: str) -> None:
    """By a condition of the read, and by Spark's own filter on the DataFrame, which it would push to the files."""
    mine = sorted(open_table(path).scan(["id"], where=text).to_arrow().column("id").to_pylist())
    frame = read_table(spark, ReadRequest(path, native=True)).frame
    assert sorted(row.id for row in frame.where(text).select("id").collect()) == mine
    given = read_table(spark, ReadRequest(path, columns=("id",), where=text, native=True)).frame
    assert sorted(row.id for row in given.collect()) == mine


def test_filters_on_other_types_reach_the_files(spark: SparkSession, path: str) -> None:
    plan = read_table(spark, ReadRequest(path, columns=("id",), where="i8 = 1 and s = 'a'", native=True)).frame
    told = plan._jdf.queryExecution().toString()
    assert "PushedFilters: [IsNotNull(i8), IsNotNull(s), EqualTo(i8,1), EqualTo(s,a)]" in told
    assert "ReadSchema: struct<id:int,i8:bigint,s:string>" in told


@pytest.mark.usefixtures("spark")  # a Column needs a session
@pytest.mark.parametrize(
    ("root", "value"), [(Root.TINYINT, 128), (Root.TIMESTAMP, 1), (Root.TIMESTAMP, 10**21), (Root.DECIMAL, 0.5)]
)
def test_literals_that_the_column_cannot_hold_have_no_condition(root: Root, value: object) -> None:
    field = DataField(0, "c", DataType(root, precision=6))
    with pytest.raises(NotExpressible, match="the condition compares a"):
        spark_condition(Compare(("c",), Op.EQ, value), (field,))  # type: ignore[arg-type]  # bad ones, too
