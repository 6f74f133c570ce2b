"""Few rows that the driver writes itself: tables are as those that Spark's tasks write."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Observation, SparkSession
from pyspark.sql import functions as sf
from support.oracles.checker import check_table
from support.oracles.comparing import comparable

import paimon_spark
from paimon_spark import PaimonTable, open_table
from paimon_spark.errors import DataError, OptionError
from paimon_spark.spark.adapters.dataframes import MOST_ROWS, estimated_bytes
from paimon_spark.spark.catalog.session_catalog import SessionCatalog
from paimon_spark.spark.write.bucket_routing import few_rows, listed_rows, rows_here

pytestmark = pytest.mark.spark
SETTING = "spark.paimon.write.local"
KINDS: dict[str, dict[str, str]] = {
    "append": {},
    "append of buckets": {"bucket": "2", "bucket-key": "id"},
    "keys": {"primary-key": "id", "bucket": "2"},
    "keys and partitions": {"primary-key": "id,p", "bucket": "2", "partition": "p"},
    "sums": {"primary-key": "id", "bucket": "1", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
    "lookup": {"primary-key": "id", "bucket": "1", "changelog-producer": "lookup"},
    "input": {"primary-key": "id", "bucket": "1", "changelog-producer": "input"},
    "vectors": {"primary-key": "id", "bucket": "1", "deletion-vectors.enabled": "true"},
    "postponed": {"primary-key": "id", "bucket": "-2", "postpone.batch-write-fixed-bucket": "true"},
    "dynamic": {"primary-key": "id", "bucket": "-1"},
}
TYPES = """i INT, l BIGINT, f FLOAT, n DECIMAL(20, 4), s STRING, c CHAR(3), vc VARCHAR(5), b BINARY, day DATE,
  at TIMESTAMP, wall TIMESTAMP_NTZ, flag BOOLEAN, a ARRAY<STRING>, m MAP<STRING, INT>,
  st STRUCT<x: INT, `y z`: STRING>"""
VALUES = """VALUES
  (1, 9223372036854775807L, CAST('NaN' AS FLOAT), 0.0001, 'ba', 'ab', 'vwxyz', X'00FF', DATE'2026-03-08',
   TIMESTAMP'2026-03-08 02:30:00', TIMESTAMP_NTZ'2026-11-01 01:30:00', true, array('a', NULL), map('k', NULL),
   named_struct('x', 1, 'y z', 'é')),
  (NULL, -1, CAST('-0.0' AS FLOAT), NULL, '', NULL, '', X'', NULL, TIMESTAMP'1969-12-31 23:59:59.999999', NULL, NULL,
   array(), map(), NULL)"""


@pytest.fixture
def local(spark: SparkSession) -> Iterator[SparkSession]:
    spark.conf.set(SETTING, "true")
    yield spark
    spark.conf.set(SETTING, "false")


@pytest.fixture
def cat(local: SparkSession, tmp_path: Path) -> SessionCatalog:
    cat = paimon_spark.catalog(local, str(tmp_path), name="here")
    cat.create_database("d")
    return cat


def started_jobs(spark: SparkSession, run: Any) -> int:
    """How many jobs of Spark a call starts."""
    group = str(uuid.uuid4())
    spark.sparkContext.setJobGroup(group, "counted")
    try:
        run()
        return len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))
    finally:
        spark.sparkContext.setJobGroup("", "")


def rows_of(path: Path) -> Any:
    check_table(str(path))
    return comparable(open_table(str(path)).scan().to_arrow())


def batches() -> list[pa.Table]:
    """Upserts of keys that come twice in one batch too: the later row is the newer one."""
    made = []
    for first in (0, 3):
        ids = [*range(first, first + 6), first, first + 1]
        columns = {
            "id": pa.array(ids, pa.int64()),
            "p": [f"p{i % 2}" for i in ids],
            "v": pa.array(range(8), pa.int64()),
        }
        made.append(pa.table(columns))
    return made


def make(spark: SparkSession, path: Path, options: dict[str, str]) -> PaimonTable:
    """An empty table for the rows of ``batches``."""
    none = spark.createDataFrame(batches()[0]).limit(0)
    none.write.format("paimon").options(**options).mode("append").save(str(path))
    return PaimonTable.forPath(spark, str(path))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_those_that_tasks_write(kind: str, local: SparkSession, tmp_path: Path) -> None:
    for setting in ("true", "false"):
        local.conf.set(SETTING, setting)
        table = make(local, tmp_path / setting, KINDS[kind])
        for rows in batches():
            assert table.append(rows).rows >= 6
    assert rows_of(tmp_path / "true") == rows_of(tmp_path / "false")


def test_what_is_written_here(local: SparkSession, tmp_path: Path) -> None:
    small = batches()[0]
    table = make(local, tmp_path / "t", KINDS["keys"] | {"write-only": "true"})

    def jobs(rows: Any) -> int:
        return started_jobs(local, lambda: table.append(rows))

    local.conf.set(SETTING, "false")
    by_tasks = jobs(small)
    local.conf.set(SETTING, "true")
    large = pa.concat_tables([small] * (MOST_ROWS // small.num_rows + 1))
    assert jobs(small) < by_tasks
    assert jobs(small.to_pandas()) < by_tasks
    assert jobs(local.createDataFrame(small)) < by_tasks
    assert jobs(large) >= by_tasks
    local.conf.set(SETTING, "perhaps")
    with pytest.raises(OptionError, match=r"'spark\.paimon\.write\.local' has the value 'perhaps'"):
        table.append(small)


def test_values_of_all_types(cat: SessionCatalog, local: SparkSession, tmp_path: Path) -> None:
    before = local.conf.get("spark.sql.session.timeZone")
    local.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        for setting in ("true", "false"):
            local.conf.set(SETTING, setting)
            cat.sql(f"CREATE TABLE here.d.t_{setting} ({TYPES})")
            cat.sql(f"INSERT INTO here.d.t_{setting} {VALUES}")
        found = [cat.sql(f"SELECT * FROM here.d.t_{setting}").toArrow() for setting in ("true", "false")]
    finally:
        local.conf.set("spark.sql.session.timeZone", before or "UTC")
    assert comparable(found[0]) == comparable(found[1])
    assert found[0].column("at").to_pylist()[0] == dt.datetime(2026, 3, 8, 7, 30, tzinfo=dt.timezone.utc)  # noqa: UP017
    assert found[0].column("n").to_pylist()[0] == Decimal("0.0001")


FLAT = """SELECT CAST(a AS TINYINT) a, CAST(b AS SMALLINT) b, CAST(c AS INT) c, CAST(d AS BIGINT) d, CAST(e AS FLOAT) e,
  CAST(f AS DOUBLE) f, CAST(g AS DECIMAL(38, 18)) g, CAST(h AS BOOLEAN) h, CAST(i AS STRING) i, CAST(j AS BINARY) j
  FROM (VALUES
    (-128, -32768, -2147483648, -9223372036854775808L, 'NaN', 'NaN', '-99999999999999999999.999999999999999999', true,
     'ba', X'00'),
    (127, 32767, 2147483647, 9223372036854775807L, '-0.0', '-0.0', '0.000000000000000001', false, 'ba\\0', X''),
    (1, 1, 1, 1L, '3.4028235e38', '4.9e-324', '1', NULL, '{text}', X'FF'),
    (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)) AS t(a, b, c, d, e, f, g, h, i, j)"""


def test_listed_rows_are_those_of_arrow(local: SparkSession) -> None:
    listed = local.sql(FLAT.replace("{text}", "\U0001f600é"))
    assert comparable(listed_rows(listed)) == comparable(rows_here(listed))
    assert listed_rows(listed).schema == rows_here(listed).schema


def test_listed_text_that_is_no_utf8_keeps_its_bytes(local: SparkSession) -> None:
    listed = local.sql("SELECT CAST(b AS STRING) AS v FROM (VALUES (X'FF41'), (X'42')) AS t(b)")
    kept = [value.as_buffer().to_pybytes() for value in listed_rows(listed).column("v")]
    assert kept == [b"\xffA", b"B"]


def test_values_of_plain_types_start_no_job(cat: SessionCatalog, local: SparkSession) -> None:
    cat.sql("CREATE TABLE here.d.t (id INT, v STRING, n DECIMAL(10, 2)) TBLPROPERTIES ('write-only' = 'true')")
    assert started_jobs(local, lambda: cat.sql("INSERT INTO here.d.t VALUES (1, 'a', 1.5), (2, NULL, NULL)")) == 0
    rows = cat.sql("SELECT * FROM here.d.t ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [(1, "a", Decimal("1.50")), (2, None, None)]


def test_values_that_do_not_fit_leave_nothing(cat: SessionCatalog, tmp_path: Path) -> None:
    cat.sql("CREATE TABLE here.d.t (id INT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    with pytest.raises(DataError, match="id"):
        cat["d.t"].append(pa.table({"id": pa.array([1, None], pa.int32()), "v": ["a", "b"]}))
    assert cat["d.t"].detail().first()["snapshot_id"] is None
    assert not list((tmp_path / "d.db/t").rglob("*.parquet"))


def test_rows_found_by_key_change_without_tasks(cat: SessionCatalog, local: SparkSession) -> None:
    """An UPDATE and a DELETE of one key; with the producer input the changelog has the rows before, too."""
    local.conf.set("spark.paimon.read.local", "true")
    try:
        columns = "id INT NOT NULL, v BIGINT"
        options = "'primary-key' = 'id', 'bucket' = '2', 'changelog-producer' = 'input'"
        cat.sql(f"CREATE TABLE here.d.k ({columns}) TBLPROPERTIES ({options})")
        cat.sql("INSERT INTO here.d.k VALUES " + ", ".join(f"({i}, {i * 10})" for i in range(20)))
        changed = cat["d.k"].update("id = 7", {"v": "v + 1"})
        assert (changed.rows_updated, changed.rows_deleted) == (1, 0)
        removed = cat["d.k"].delete("id IN (8, 9, 99) OR v = 100")
        assert (removed.rows_updated, removed.rows_deleted) == (0, 3)
        assert cat["d.k"].delete("id = 12345").rows_deleted == 0
        kept = {i: i * 10 for i in range(20) if i not in (8, 9, 10)} | {7: 71}
        assert {row[0]: row[1] for row in cat.sql("SELECT * FROM here.d.k").collect()} == kept
        log = cat.sql("SELECT rowkind, id, v FROM here.d.`k$audit_log` WHERE id IN (7, 8)").collect()
        assert {tuple(row) for row in log} >= {("+U", 7, 71), ("-D", 8, 80)}
    finally:
        local.conf.set("spark.paimon.read.local", "false")
    check_table(cat["d.k"].detail().first()["location"])


def test_a_query_of_few_rows_is_written_here_in_its_order(local: SparkSession, tmp_path: Path) -> None:
    """Later rows of a key come last, from whatever partition of Spark."""
    query = local.range(6, numPartitions=3).selectExpr("id % 2 AS id", "'p' AS p", "id AS v")
    assert not query.isLocal()
    table = make(local, tmp_path / "t", KINDS["keys"] | {"write-only": "true"})
    assert started_jobs(local, lambda: table.append(query)) == 1
    found = open_table(str(tmp_path / "t")).scan(columns=["id", "v"]).to_arrow().to_pylist()
    assert sorted(map(tuple, map(dict.values, found))) == [(0, 4), (1, 5)]


def test_more_rows_than_spark_estimates_are_all_written(local: SparkSession, tmp_path: Path) -> None:
    many = local.sql(f"SELECT explode(sequence(1, {MOST_ROWS + 5})) AS id, 'p' AS p, 1L AS v")
    assert few_rows(many) is None
    assert few_rows(local.range(10**9)) is None
    assert few_rows(local.createDataFrame(pa.table({"id": range(MOST_ROWS + 1)}))) is None
    seen = Observation()
    counted = many.observe(seen, sf.count("*").alias("n"))
    assert few_rows(counted) is None
    assert counted.count() == seen.get["n"] == MOST_ROWS + 5  # nothing was counted before
    table = make(local, tmp_path / "t", KINDS["append"])
    assert table.append(many.selectExpr("CAST(id AS LONG) AS id", "p", "v")).rows == MOST_ROWS + 5
    assert open_table(str(tmp_path / "t")).scan().count() == MOST_ROWS + 5


LARGE = {
    "text": "repeat('x', 10000)",
    "bytes": "CAST(repeat('x', 10000) AS BINARY)",
    "items": "array_repeat(id, 2000)",
    "nested": "map('k', array(NULL, named_struct('a', 1, 'b.c', repeat('x', 10000))))",
    "alike": "named_struct('a', 1, 'A', repeat('x', 10000))",
    "variant": "parse_json(concat('\"', repeat('x', 10000), '\"'))",
}


@pytest.mark.parametrize("value", LARGE.values(), ids=LARGE)
def test_large_values_do_not_come_to_this_process(local: SparkSession, value: str) -> None:
    """Spark estimates rows of 10 KB to have as few bytes as those of short texts."""
    rows = local.range(1000, numPartitions=2).selectExpr("id", f"{value} AS v")
    assert estimated_bytes(rows) < 2**22
    assert few_rows(rows) is None


def test_null_texts_are_small(local: SparkSession) -> None:
    found = few_rows(local.range(1000, numPartitions=2).selectExpr("id", "IF(id < 0, 'x', NULL) AS v", "NULL AS n"))
    assert found is not None
    assert found.column("id").to_pylist() == [*range(1000)]
    assert found.column("v").null_count == found.column("n").null_count == 1000


def test_a_struct_with_a_field_that_is_not_null_may_be_null_itself(local: SparkSession) -> None:
    rows = rows_here(local.range(2).selectExpr("id", "IF(id = 0, named_struct('a', id), NULL) AS v"))
    assert rows.to_pylist() == [{"id": 0, "v": {"a": 0}}, {"id": 1, "v": None}]


def test_a_merge_of_few_rows_leaves_large_rows_of_the_table_to_tasks(local: SparkSession, tmp_path: Path) -> None:
    """This process would hold the whole rows that change."""
    jobs = []
    for length in (1, 1000):
        path = tmp_path / f"t{length}"
        table = make(local, path, {"primary-key": "id", "bucket": "1", "write-only": "true"})
        table.append(local.range(700).selectExpr("id", f"repeat(CAST(rand() AS STRING), {length}) AS p", "id AS v"))
        source = local.range(680, 710).selectExpr("id", "'n' AS p", "7L AS v").alias("s")
        merge = table.alias("t").merge(source, "t.id = s.id").whenMatchedUpdate(set={"v": "s.v"})
        jobs.append(started_jobs(local, merge.whenNotMatchedInsertAll().execute))
        found = {row.id: (len(row.p), row.v) for row in table.toDF().collect()}
        assert [found[i][0] > 1 for i in range(710)] == [i < 700 for i in range(710)]
        assert [found[i][1] for i in range(710)] == [7 if i >= 680 else i for i in range(710)]
    assert jobs[0] < jobs[1]


MERGE = """MERGE INTO here.d.{table} t USING (SELECT 2 AS id, 'n' AS v UNION ALL SELECT 9, 'm') s ON t.id = s.id
  WHEN MATCHED THEN UPDATE SET v = concat(t.v, s.v) WHEN NOT MATCHED THEN INSERT *"""


@pytest.mark.parametrize("keys", ["", "'primary-key' = 'id', 'bucket' = '2', "])
def test_a_merge_of_few_rows_runs_no_python_in_tasks(
    cat: SessionCatalog, local: SparkSession, tmp_path: Path, keys: str
) -> None:
    local.conf.set("spark.paimon.read.local", "true")
    started = {}
    try:
        for setting in ("true", "false"):
            local.conf.set(SETTING, setting)
            cat.sql(f"CREATE TABLE here.d.t_{setting} (id INT, v STRING) TBLPROPERTIES ({keys}'write-only' = 'true')")
            cat.sql(f"INSERT INTO here.d.t_{setting} VALUES (1, 'a'), (2, 'b')")
            started[setting] = started_jobs(local, lambda name=f"t_{setting}": cat.sql(MERGE.format(table=name)))
    finally:
        local.conf.set("spark.paimon.read.local", "false")
    found = [sorted(map(tuple, cat.sql(f"SELECT * FROM here.d.t_{name}").collect())) for name in started]
    assert found == [[(1, "a"), (2, "bn"), (9, "m")]] * 2
    assert started["true"] == 2  # the source, and what becomes of it
    assert started["false"] > 2


@pytest.mark.parametrize("keys", ["", "'primary-key' = 'id', 'bucket' = '2', "])
def test_texts_of_any_length_where_the_session_takes_varchar_for_string(
    cat: SessionCatalog, local: SparkSession, keys: str
) -> None:
    local.conf.set("spark.sql.legacy.charVarcharAsString", "true")
    local.conf.set("spark.paimon.read.local", "true")
    try:
        for setting in ("true", "false"):
            local.conf.set(SETTING, setting)
            table = f"here.d.t_{setting}"
            cat.sql(f"CREATE TABLE {table} (id INT, v VARCHAR(2)) TBLPROPERTIES ({keys}'write-only' = 'true')")
            cat.sql(f"INSERT INTO {table} VALUES (1, 'abc'), (2, 'abc')")
            cat.sql(MERGE.format(table=f"t_{setting}"))
            cat.sql(f"UPDATE {table} SET v = 'abcde' WHERE id = 1")
            rows = sorted(map(tuple, cat.sql(f"SELECT * FROM {table}").collect()))
            assert rows == [(1, "abcde"), (2, "abcn"), (9, "m")]
    finally:
        local.conf.set("spark.paimon.read.local", "false")
        local.conf.unset("spark.sql.legacy.charVarcharAsString")
