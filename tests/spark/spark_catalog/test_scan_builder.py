"""Reads by Spark's own SQL and DataFrames have the rows of ``SessionCatalog.sql``, whoever reads the files."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import functions as F
from support.long_runs import LONG, draws, examples

from conftest import Lake

COLUMNS = (
    "id INT, k CHAR(3), v VARCHAR(4), n DECIMAL(10,2), day DATE, ts TIMESTAMP, tn TIMESTAMP_NTZ, f FLOAT, x DOUBLE, "
    "a ARRAY<INT>, m MAP<STRING, INT>, s STRUCT<p: INT, q: STRING>, b BINARY, fl BOOLEAN, dt STRING"
)
VALUES = (
    "(1, 'a', 'vv', 1.25, DATE'2020-01-01', TIMESTAMP'2020-01-01 00:00:00', TIMESTAMP_NTZ'2020-01-01 00:00:00', "
    "1.5, double('NaN'), array(1, 2), map('a', 1), named_struct('p', 1, 'q', 'z'), X'01', true, 'x')",
    "(2, 'bb', NULL, 1.5, NULL, NULL, NULL, float('NaN'), -0.0D, array(), map(), named_struct('p', NULL, 'q', 'ü'), "
    "NULL, NULL, 'y')",
    "(3, NULL, '', -1.0, DATE'0001-01-01', TIMESTAMP'9999-12-31 23:59:59.999999', "
    "TIMESTAMP_NTZ'1582-10-10 00:00:00', -0.0F, 0.0D, NULL, NULL, NULL, X'', false, 'x')",
    "(4, 'abc', 'a%b', 99999999.99, DATE'1970-01-01', TIMESTAMP'1970-01-01 00:00:00', "
    "TIMESTAMP_NTZ'1969-12-31 23:59:59', 0.1F, 0.1D, array(NULL), map('b', NULL), NULL, X'00FF', true, 'y')",
)
CONDITIONS = """
k = 'a' | k IN ('a', 'bb') | k > 'a' | v LIKE 'v%' | v LIKE '%b' | v = '' | v IS NULL | n > 1.3 | n = 1.5 | n < 0
day = '2020-01-01' | day < '1970-01-02' | ts >= '2019-12-31' | ts < '1970-01-01 00:00:01' | f = 0.1
tn < TIMESTAMP_NTZ'2020-01-01 00:00:01' | x = double('NaN') | x = 0.0 | x > 1 | f <> 0 | NOT f > 0 | x IN (0.0, 0.1)
b = X'01' | b > X'00' | fl | NOT fl | fl IS NULL | s.p = 1 | s.q = 'ü' | s IS NULL | dt = 'x' | dt <> 'x' | dt IS NULL
id IN (1, 3) | id = 2 | id <=> 4 | id % 2 = 0 | k = v | length(v) = 2 | id IN (1, NULL) | NOT id IN (1, 2)
size(a) = 2 | dt = 'x' AND n > 0 | dt = 'x' OR n > 1.3
id % 3 <> 1 | 2 > id % 3 | -id % 2 = -1 | id % 2 = id | id <= s.p | NOT id <= s.p | s.p <=> id | v < dt | s.q <> v
f < x
"""
KINDS = {
    "keys": "TBLPROPERTIES ('primary-key' = 'id, dt', 'bucket' = '1')",
    "append": "",
    "vectors": "TBLPROPERTIES ('deletion-vectors.enabled' = 'true')",
}


def make(lake: Lake, kind: str, reads_local: bool) -> None:
    """A table with VALUES, each row in a file of its own."""
    lake.spark.conf.set("spark.paimon.read.local", str(reads_local).lower())
    columns = COLUMNS.replace("id INT", "id INT NOT NULL").replace("dt STRING", "dt STRING NOT NULL")
    lake.sql(f"CREATE TABLE t ({columns if kind == 'keys' else COLUMNS}) PARTITIONED BY (dt) {KINDS[kind]}")
    for values in VALUES:
        lake.sql(f"INSERT INTO t VALUES {values}")
    if kind == "keys":
        lake.sql(f"INSERT INTO t VALUES {VALUES[1]}")  # rows of two files are merged
    if kind == "vectors":
        lake.sql(f"INSERT INTO t VALUES {VALUES[0]}")
        lake.sql("DELETE FROM t WHERE id = 1")
        lake.sql(f"INSERT INTO t VALUES {VALUES[0]}")


@pytest.mark.parametrize("reads_local", [True, False], ids=["driver", "tasks"])
@pytest.mark.parametrize("kind", KINDS)
def test_conditions_keep_the_rows_that_plain_spark_keeps(lake: Lake, kind: str, reads_local: bool) -> None:
    make(lake, kind, reads_local)
    plain = lake.sql(f"SELECT * FROM VALUES {', '.join(VALUES)} AS t({', '.join(n.split()[0] for n in _columns())})")
    typed = plain.select(*(F.col(name).cast(_stored(kind)).alias(name) for name, kind in map(_split, _columns())))
    padded = typed.withColumn("k", F.rpad("k", 3, " "))
    padded.createOrReplaceTempView("model")
    assert lake.rows("SELECT * FROM t") == lake.rows(padded)
    every = [part.strip() for line in CONDITIONS.strip().splitlines() for part in line.split("|")]
    drawn = every if LONG else draws().sample(every, examples(len(every)))
    for condition in drawn:
        expected = lake.rows(f"SELECT id FROM model WHERE {_of_model(condition)}")
        assert lake.rows(f"SELECT id FROM t WHERE {condition}") == expected, condition
        assert lake.rows(lake.spark.table("lake.d.t").where(condition).select("id")) == expected, condition


DECIDED = [
    "id % 2 = 1",
    "id % 2 <> 0",
    "1 <= id % 3",
    "v < dt OR id = 2",
    "id = s.p",
    "NOT s.p <=> id",
    "v = 'vv' OR s.q <> v",
]
LEFT = ["id + 1 = 2", "k = v", "f < x", "length(v) = 2"]


def test_spark_looks_at_no_row_again_that_a_condition_has_left(lake: Lake) -> None:
    make(lake, "keys", reads_local=False)  # no condition leaves out all files of one of the rows of a key
    for condition in (*DECIDED, *LEFT):
        plan = lake.spark.sql(f"SELECT id FROM lake.d.t WHERE {condition}")._jdf.queryExecution().optimizedPlan()
        assert ("Filter" in str(plan.toString())) == (condition in LEFT), condition


def _columns() -> list[str]:
    found, depth, at = [], 0, 0
    for number, letter in enumerate(f"{COLUMNS},"):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and not depth:
            found.append(COLUMNS[at:number].strip())
            at = number + 1
    return found


def _split(column: str) -> tuple[str, str]:
    name, _, kind = column.partition(" ")
    return name, kind


def _stored(kind: str) -> str:
    return "STRING" if kind.startswith(("CHAR", "VARCHAR")) else kind


def _of_model(condition: str) -> str:
    """Spark pads the texts that a CHAR column is compared with; the model has texts alone."""
    for text in ("'a'", "'bb'"):
        condition = condition.replace(f"k = {text}", f"k = rpad({text}, 3, ' ')")
    return condition.replace("k IN ('a', 'bb')", "k IN ('a  ', 'bb ')").replace("k > 'a'", "k > 'a  '")


@pytest.mark.parametrize("kind", KINDS)
def test_aggregates_and_first_rows_are_those_of_all_rows(lake: Lake, kind: str) -> None:
    make(lake, kind, False)
    assert lake.rows("SELECT count(*) FROM t") == [(4,)]
    assert lake.rows("SELECT count(*) FROM t WHERE dt = 'x'") == [(2,)]
    assert lake.rows("SELECT count(*), min(id), max(id), max(n) FROM t") == [(4, 1, 4, Decimal("99999999.99"))]
    assert lake.rows("SELECT dt, count(*), max(n) FROM t GROUP BY dt") == [
        ("x", 2, Decimal("1.25")),
        ("y", 2, Decimal("99999999.99")),
    ]
    assert lake.rows("SELECT min(day), max(day) FROM t") == [(dt.date(1, 1, 1), dt.date(2020, 1, 1))]
    assert lake.rows("SELECT max(x) FROM t") == [("NaN",)]
    assert lake.rows("SELECT dt FROM t GROUP BY dt HAVING count(*) > 1") == [("x",), ("y",)]
    for order in ("n", "n DESC", "n NULLS LAST", "day", "day DESC", "x DESC, id"):
        first = [row.id for row in lake.sql(f"SELECT id FROM t ORDER BY {order} LIMIT 2").collect()]
        every = [row.id for row in lake.sql(f"SELECT id FROM t ORDER BY {order}").collect()]
        assert first == every[:2], order


def test_spark_reads_the_files_itself_where_none_is_merged(lake: Lake) -> None:
    make(lake, "append", False)
    plan = lake.sql("EXPLAIN SELECT id FROM t WHERE n > 1").collect()[0][0]
    assert "files by Spark" in plan or "ParquetScan" in plan or "parquet" in plan.lower(), plan
    lake.sql("CREATE TABLE k (id INT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'id')")
    lake.sql("INSERT INTO k SELECT id, 'a' FROM range(100)")
    lake.sql("INSERT INTO k SELECT id, 'b' FROM range(50)")
    assert "splits" in lake.sql("EXPLAIN SELECT v FROM k").collect()[0][0]
    assert lake.rows("SELECT v, count(*) FROM k GROUP BY v") == [("a", 50), ("b", 50)]


def test_spark_makes_the_readers_of_a_scan_once(lake: Lake) -> None:
    """A factory that it made again would broadcast the configuration of Hadoop again."""
    lake.sql("CREATE TABLE t (id BIGINT, v STRING)")
    lake.sql("INSERT INTO t SELECT id, 'a' FROM range(100)")
    lake.spark.conf.set("spark.paimon.read.local", "false")
    try:
        plan = lake.sql("SELECT v FROM t WHERE id > 1")._jdf.queryExecution().sparkPlan()
    finally:
        lake.spark.conf.unset("spark.paimon.read.local")
    (scan,) = (leaf for leaf in _leaves(plan))
    assert scan.getClass().getSimpleName() == "BatchScanExec"
    factory = scan.batch().createReaderFactory()
    assert factory.getClass().getSimpleName() == "ParquetPartitionReaderFactory"
    assert factory.equals(scan.batch().createReaderFactory())


def _leaves(node: Any) -> Iterator[Any]:
    leaves = node.collectLeaves()
    return (leaves.apply(number) for number in range(leaves.size()))


def test_spark_knows_how_few_rows_the_driver_has_read(lake: Lake) -> None:
    """Else a join would sort both its sides."""
    make(lake, "append", True)
    lake.spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        for side, column in (("t", "id"), ("`t$files`", "record_count"), ("(SELECT count(*) AS n FROM t)", "n")):
            joined = lake.sql(f"SELECT * FROM range(1000) r JOIN {side} x ON r.id = x.{column}")
            plan = str(joined._jdf.queryExecution().executedPlan().toString())
            assert ("BroadcastHashJoin" in plan, "LocalTableScan" in plan) == (True, True), plan
    finally:
        lake.spark.conf.unset("spark.sql.adaptive.enabled")


def test_no_rows_and_no_columns(lake: Lake) -> None:
    lake.sql(f"CREATE TABLE t ({COLUMNS}) PARTITIONED BY (dt)")
    assert lake.rows("SELECT * FROM t") == []
    assert lake.rows("SELECT count(*), min(id) FROM t") == [(0, None)]
    assert lake.rows("SELECT dt, count(*) FROM t GROUP BY dt") == []
    lake.sql(f"INSERT INTO t VALUES {VALUES[0]}")
    assert lake.rows("SELECT 7 FROM t") == [(7,)]
    assert lake.rows("SELECT id FROM t WHERE dt = 'nothing'") == []
    assert lake.rows("SELECT count(*) FROM t WHERE id = 77") == [(0,)]


def test_an_aggregate_without_columns_has_its_row(lake: Lake) -> None:
    """Spark leaves out the columns of an aggregate of which it counts the rows alone."""
    lake.sql(f"CREATE TABLE t ({COLUMNS}) PARTITIONED BY (dt)")
    for _ in range(2):  # without rows, then with two files
        assert lake.rows("SELECT 7 FROM t HAVING true") == [(7,)]
        assert lake.sql("SELECT min(id), sum(n) FROM t").count() == 1
        assert lake.rows("SELECT count(*) FROM (SELECT count(*) FROM t WHERE dt = 'x')") == [(1,)]
        lake.sql(f"INSERT INTO t VALUES {VALUES[0]}")


def test_states_system_tables_and_metadata_columns(lake: Lake) -> None:
    lake.sql("CREATE TABLE t (id INT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    lake.sql("INSERT INTO t VALUES (1, 'a')")
    lake.sql("ALTER TABLE t CREATE TAG one")
    lake.sql("INSERT INTO t VALUES (1, 'b'), (2, 'c')")
    assert lake.rows("SELECT * FROM t VERSION AS OF 1") == [(1, "a")]
    assert lake.rows("SELECT * FROM t VERSION AS OF 'one'") == [(1, "a")]
    assert lake.rows("SELECT * FROM t TIMESTAMP AS OF current_timestamp()") == [(1, "b"), (2, "c")]
    assert lake.rows(lake.spark.read.option("scan.snapshot-id", 1).table("lake.d.t")) == [(1, "a")]
    assert lake.rows("SELECT snapshot_id FROM `t$snapshots`") == [(1,), (2,)]
    assert lake.rows("SELECT rowkind, id, v FROM `t$audit_log`") == [("+I", 1, "b"), ("+I", 2, "c")]
    assert lake.rows("SELECT id, __paimon_bucket FROM t") == [(1, 0), (2, 0)]
    lake.sql("CALL lake.sys.create_branch(table => 'd.t', branch => 'b', tag => 'one')")
    assert lake.rows("SELECT * FROM `t$branch_b`") == [(1, "a")]


def test_a_query_sees_new_rows_and_a_cached_one_is_refreshed(lake: Lake) -> None:
    lake.sql("CREATE TABLE t AS SELECT 1 id")
    lake.spark.table("t").createOrReplaceTempView("v")
    assert lake.rows("SELECT * FROM v") == [(1,)]
    lake.sql("INSERT INTO t VALUES (2)")
    assert lake.rows("SELECT * FROM v") == [(1,), (2,)]
    assert lake.spark.table("t").cache().count() == 2
    lake.sql("INSERT INTO t VALUES (3)")
    assert lake.rows("SELECT * FROM t") == [(1,), (2,), (3,)]
    lake.sql("DELETE FROM t WHERE id = 1")
    assert lake.rows("SELECT * FROM t") == [(2,), (3,)]
    lake.sql("CALL lake.sys.rollback(table => 'd.t', version => '2')")
    assert lake.rows("SELECT * FROM t") == [(1,), (2,)]
    lake.spark.range(5, 6).selectExpr("int(id) id").writeTo("lake.d.t").append()
    assert lake.rows("SELECT * FROM t") == [(1,), (2,), (5,)]
    lake.spark.catalog.clearCache()


def test_options_of_a_read_are_checked(lake: Lake) -> None:
    lake.sql("CREATE TABLE t AS SELECT 1 id")
    with pytest.raises(Exception, match=r"'scan.snapshotid' is not known; did you mean 'scan.snapshot-id'"):
        lake.spark.read.option("scan.snapshotid", "1").table("t").collect()
    lake.sql("CREATE TABLE p (id INT, dt STRING) PARTITIONED BY (dt)")
    lake.sql("INSERT INTO p VALUES (1, 'x'), (2, 'y')")
    lake.spark.conf.set("spark.paimon.read.allow.fullScan", "false")
    try:
        assert lake.rows("SELECT id FROM p WHERE dt = 'x'") == [(1,)]
        with pytest.raises(Exception, match="forbids a read of all files"):
            lake.rows("SELECT id FROM p")
    finally:
        lake.spark.conf.unset("spark.paimon.read.allow.fullScan")


def test_a_state_with_other_columns_is_chosen_by_what_spark_asks_the_catalog_for(lake: Lake) -> None:
    """The options of a reader come after Spark has been told of the columns: it would read values by other types."""
    lake.sql("CREATE TABLE t (id INT, a INT)")
    lake.sql("INSERT INTO t VALUES (-1, -2)")
    lake.sql("CALL lake.sys.create_tag(table => 'd.t', tag => 'before')")
    read = lake.spark.read.option("scan.snapshot-id", "1")
    assert [tuple(row) for row in read.table("lake.d.t").collect()] == [(-1, -2)]
    lake.sql("ALTER TABLE t ALTER COLUMN a TYPE BIGINT")
    for key, value in (("scan.snapshot-id", "1"), ("scan.tag-name", "before")):
        with pytest.raises(Exception, match=rf"option {key}: the columns of that state are id, a with .*versionAsOf"):
            lake.spark.read.option(key, value).table("lake.d.t").collect()
    for version in ("1", "before"):
        found = lake.spark.read.option("versionAsOf", version).table("lake.d.t")
        assert [tuple(row) for row in found.collect()] == [(-1, -2)]
        assert found.schema["a"].dataType.simpleString() == "int"
