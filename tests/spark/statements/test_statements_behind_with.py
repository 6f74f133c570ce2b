"""WITH before changes of rows, INSERTs behind FROM, and key columns that are set to themselves.

The results are those of the official connector (paimon-spark-4.1_2.13-2.0.0), but where several INSERTs stand behind
one FROM, of which it does the first alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import paimon_spark
from paimon_spark.errors import SqlError, TableNotFound, UnsupportedFeature
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

pytestmark = pytest.mark.spark
INSERTS = "INSERT INTO t SELECT id + 10, v INSERT INTO t SELECT id + 20, v INSERT OVERWRITE b SELECT *"


@pytest.fixture
def cat(quick_spark: SparkSession, tmp_path: Path) -> SessionCatalog:
    """A table t with a key, and tables a and b without."""
    made = paimon_spark.catalog(quick_spark, str(tmp_path / "lake"))
    made.create_database("default")
    made.sql("CREATE TABLE t (id INT, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    made.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    made.sql("CREATE TABLE a (id INT, v STRING)")
    made.sql("CREATE TABLE b (id INT, v STRING)")
    return made


def rows(cat: SessionCatalog, table: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in cat.sql(f"SELECT * FROM {table}").collect())


def test_with_before_changes_of_rows(cat: SessionCatalog) -> None:
    cat.sql(
        "WITH q AS (SELECT id, 'm' AS v FROM t WHERE id = 1 UNION ALL SELECT 3, 'n'), r AS (SELECT 1 AS id) "
        "MERGE INTO t USING q ON t.id = q.id WHEN MATCHED AND t.id IN (SELECT id FROM r) THEN UPDATE SET v = q.v "
        "WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows(cat, "t") == [(1, "m"), (2, "b"), (3, "n")]
    cat.sql(
        "WITH q (x) AS (SELECT 2) UPDATE t SET v = (SELECT concat('w', max(x)) FROM q) WHERE id IN (SELECT x FROM q)"
    )
    assert rows(cat, "t") == [(1, "m"), (2, "w2"), (3, "n")]
    cat.sql("WITH q AS (SELECT max(id) - :less AS id FROM t) DELETE FROM t WHERE id = (SELECT id FROM q)", {"less": 1})
    assert rows(cat, "t") == [(1, "m"), (3, "n")]
    with pytest.raises(SqlError, match="t is a common table expression here"):
        cat.sql("WITH t AS (SELECT 1 AS id) DELETE FROM t")
    with pytest.raises(UnsupportedFeature, match="parameters with names"):
        cat.sql("WITH q AS (SELECT ? AS id) DELETE FROM t WHERE id IN (SELECT id FROM q)", [1])
    assert rows(cat, "t") == [(1, "m"), (3, "n")]


def test_inserts_behind_from(cat: SessionCatalog, quick_spark: SparkSession) -> None:
    cat.sql("FROM t INSERT INTO a SELECT id, v WHERE id > 1 INSERT INTO b (v, id) SELECT 'b', id")
    assert (rows(cat, "a"), rows(cat, "b")) == ([(2, "b")], [(1, "b"), (2, "b")])
    for local in ("true", "false"):
        quick_spark.conf.set("spark.paimon.read.local", local)
        try:
            cat.sql(f"FROM t {INSERTS}")
        finally:
            quick_spark.conf.unset("spark.paimon.read.local")
        assert rows(cat, "b") == [(1, "a"), (2, "b")], "the state before the first INSERT"
        assert [key for key, _ in rows(cat, "t")] == [1, 2, 11, 12, 21, 22]
        cat.sql("DELETE FROM t WHERE id > 2")
    inserts = "INSERT OVERWRITE a SELECT q.id, v INSERT OVERWRITE b SELECT 8, v"
    cat.sql(f"WITH q AS (SELECT 7 AS id) FROM q JOIN t ON t.id + 6 = q.id {inserts}")
    assert (rows(cat, "a"), rows(cat, "b")) == ([(7, "a")], [(8, "a")])
    with pytest.raises(TableNotFound, match="nope"):
        cat.sql("FROM t INSERT INTO a SELECT * INSERT INTO nope SELECT *")
    with pytest.raises(SqlError, match="INSERT INTO b: the query has 1 columns"):
        cat.sql("FROM t INSERT INTO a SELECT * INSERT INTO b SELECT id")
    with pytest.raises(UnsupportedFeature, match="parameters with names"):
        cat.sql("FROM t INSERT INTO a SELECT id, ? INSERT INTO b SELECT id, ?", ["x", "y"])
    assert rows(cat, "a") == [(7, "a")], "a statement that is refused writes nothing"


def test_key_columns_that_keep_their_values(cat: SessionCatalog) -> None:
    cat.sql("UPDATE t SET id = id")
    cat.sql("UPDATE t AS x SET x.id = x.id, v = concat(v, '1') WHERE id = 1")
    cat.sql("UPDATE t SET `ID` = t.id, v = concat(v, '2') WHERE id = 2")
    cat["t"].update("id = 1", {"id": "id", "v": "upper(v)"})
    assert rows(cat, "t") == [(1, "A1"), (2, "b2")]
    cat.sql(
        "MERGE INTO t USING (SELECT 1 AS k, 'm' AS v) s ON t.id = s.k WHEN MATCHED THEN UPDATE SET id = id, v = s.v "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET id = id, v = 'no source'"
    )
    assert rows(cat, "t") == [(1, "m"), (2, "no source")]
    merge = "MERGE INTO t USING (SELECT 2 AS id, 'n' AS v) s ON t.id = s.id + 0 WHEN MATCHED THEN UPDATE SET"
    cat.sql(f"{merge} t.id = t.id, v = s.v")
    assert rows(cat, "t") == [(1, "m"), (2, "n")]
    for text in (
        "UPDATE t SET id = id + 0",
        "UPDATE t SET id = 1",
        f"{merge} id = s.id",
        f"{merge} id = id",
    ):
        with pytest.raises(SqlError, match="'id' belongs to the primary key"):
            cat.sql(text)
