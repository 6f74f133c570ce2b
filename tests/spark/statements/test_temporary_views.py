"""Temporary views over tables of a catalog show new rows in its statements, as those of the official connector do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import paimon_spark
from paimon_spark.errors import SqlError, TableNotFound
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

pytestmark = pytest.mark.spark


@pytest.fixture
def cat(quick_spark: SparkSession, tmp_path: Path) -> Iterator[SessionCatalog]:
    """A table ``default.t`` with a key, and no temporary view afterwards."""
    made = paimon_spark.catalog(quick_spark, str(tmp_path / "lake"))
    made.create_database("default")
    made.sql("CREATE TABLE t (id INT, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    made.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    yield made
    for name in ("tv", "`of that`", "top", "over", "moved", "behind", "t", "star", "again", "x_t", "kept"):
        quick_spark.catalog.dropTempView(name)


def rows(cat: SessionCatalog, text: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in cat.sql(text).collect())


def test_a_view_shows_what_each_statement_has_changed(cat: SessionCatalog) -> None:
    cat.sql("CREATE TEMPORARY VIEW tv AS SELECT id, v FROM t")
    cat.sql("CREATE TEMPORARY VIEW `of that` (k COMMENT 'a key') COMMENT 'of tv' AS SELECT id + 10 FROM tv")
    cat.sql("CREATE GLOBAL TEMPORARY VIEW paimon_gv AS SELECT max(id) AS m FROM t")
    for change, expected in {
        "INSERT INTO t VALUES (3, 'c')": [(1, "a"), (2, "b"), (3, "c")],
        "UPDATE t SET v = 'z' WHERE id = 2": [(1, "a"), (2, "z"), (3, "c")],
        "DELETE FROM t WHERE id = 1": [(2, "z"), (3, "c")],
        "MERGE INTO t USING (SELECT 4 AS id, 'd' AS v) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *": [
            (2, "z"), (3, "c"), (4, "d"),
        ],
        "INSERT OVERWRITE t VALUES (8, 'o')": [(8, "o")],
    }.items():  # fmt: skip
        cat.sql(change)
        assert rows(cat, "SELECT * FROM tv") == expected, change
        assert rows(cat, "SELECT k - 10 FROM `Of That`") == [(key,) for key, _ in expected]
        assert rows(cat, "SELECT m FROM global_temp.paimon_gv") == [(expected[-1][0],)]
    cat["t"].delete("id = 8")
    assert rows(cat, "WITH q AS (SELECT * FROM IDENTIFIER('tv')) SELECT count(*) FROM q") == [(0,)]
    cat["t"].append(cat.sql("SELECT 9 AS id, 'n' AS v"))
    assert rows(cat, "SELECT x.v, y.k FROM tv AS x, (SELECT k FROM `of that`) AS y") == [("n", 19)]
    assert [tuple(row) for row in cat.sql("DESCRIBE `of that`").collect()] == [("k", "int", "a key")]
    cat.sql("DROP VIEW global_temp.paimon_gv")


def test_a_view_tells_states_apart_that_have_one_id(cat: SessionCatalog) -> None:
    """The first snapshot of a table that was made anew, and a commit after a rollback, have the ids of older ones."""
    cat.sql("CREATE TEMPORARY VIEW tv AS SELECT id, v FROM t")
    cat.sql("INSERT INTO t VALUES (3, 'c')")
    cat.sql("CREATE TEMPORARY VIEW top AS SELECT max(id) AS m FROM t")
    assert (rows(cat, "SELECT * FROM tv"), rows(cat, "SELECT * FROM top")) == ([(1, "a"), (2, "b"), (3, "c")], [(3,)])
    cat.sql("CALL sys.rollback(table => 't', version => '1')")
    cat.sql("INSERT INTO t VALUES (4, 'd')")
    assert (rows(cat, "SELECT * FROM tv"), rows(cat, "SELECT * FROM top")) == ([(1, "a"), (2, "b"), (4, "d")], [(4,)])
    cat.sql("DROP TABLE t")
    cat.sql("CREATE TABLE t (id INT, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    cat.sql("INSERT INTO t VALUES (1, 'a'), (2, 'new')")
    cat.sql("INSERT INTO t VALUES (5, 'e')")
    assert (rows(cat, "SELECT * FROM tv"), rows(cat, "SELECT * FROM top")) == ([(1, "a"), (2, "new"), (5, "e")], [(5,)])


def test_views_in_changes_of_rows(cat: SessionCatalog) -> None:
    cat.sql("CREATE TEMPORARY VIEW top AS SELECT max(id) AS m FROM t")
    cat.sql("INSERT INTO t SELECT m + 1, 'inserted' FROM top")
    cat.sql("MERGE INTO t USING top ON t.id = top.m WHEN MATCHED THEN UPDATE SET v = 'merged'")
    assert rows(cat, "SELECT * FROM t") == [(1, "a"), (2, "b"), (3, "merged")]
    cat.sql("UPDATE t SET v = (SELECT concat('top is ', m) FROM top) WHERE id < 2")
    cat.sql("DELETE FROM t WHERE id IN (SELECT m FROM top)")
    cat.sql("CREATE TABLE u AS SELECT * FROM top")
    assert rows(cat, "SELECT m, v FROM u, t WHERE id = 1") == [(2, "top is 3")]


def test_the_life_of_a_view(cat: SessionCatalog) -> None:
    cat.sql("CREATE TEMPORARY VIEW tv AS SELECT id, v FROM t")
    cat.sql("CREATE TEMPORARY VIEW over AS SELECT id FROM tv")
    with pytest.raises(AnalysisException, match="TEMP_TABLE_OR_VIEW_ALREADY_EXISTS"):
        cat.sql("CREATE TEMPORARY VIEW tv AS SELECT 1 AS one FROM t")
    cat.sql("CREATE OR REPLACE TEMPORARY VIEW tv AS SELECT id + 5 AS id FROM t")
    assert rows(cat, "SELECT * FROM over") == [(6,), (7,)]
    cat.sql("ALTER VIEW tv AS SELECT id + 7 AS id FROM t WHERE id = 1")
    cat.sql("ALTER VIEW tv RENAME TO moved")
    cat.sql("INSERT INTO t VALUES (3, 'c')")
    assert rows(cat, "SELECT * FROM moved") == [(8,)]
    with pytest.raises(AnalysisException, match="tv"):
        rows(cat, "SELECT * FROM over")
    for text in ("CREATE OR REPLACE TEMPORARY VIEW moved AS SELECT * FROM moved", "ALTER VIEW moved AS TABLE moved"):
        with pytest.raises(SqlError, match="moved: its query reads the view itself"):
            cat.sql(text)
    cat.sql("CREATE TEMPORARY VIEW behind AS SELECT * FROM moved")
    with pytest.raises(SqlError, match="moved: its query reads the view itself"):
        cat.sql("CREATE OR REPLACE TEMPORARY VIEW moved AS SELECT * FROM behind")
    cat.sql("DROP VIEW moved")
    with pytest.raises(TableNotFound, match="moved"):
        cat.sql("SELECT * FROM moved")
    cat.sql("CREATE TEMPORARY VIEW t AS SELECT id AS shadow FROM t")  # the table, for there was no view
    cat.sql("INSERT INTO paimon.default.t VALUES (9, 'n')")
    assert rows(cat, "SELECT max(shadow) FROM t") == [(9,)]


def test_a_view_keeps_its_columns(cat: SessionCatalog) -> None:
    cat.sql("CREATE TEMPORARY VIEW star AS SELECT * FROM t")
    cat.sql("ALTER TABLE t ADD COLUMN n INT FIRST")
    cat.sql("INSERT INTO t VALUES (7, 3, 'c')")
    assert rows(cat, "SELECT * FROM star") == [(1, "a"), (2, "b"), (3, "c")]
    cat.sql("ALTER TABLE t RENAME COLUMN v TO w")
    with pytest.raises(SqlError, match="view star was made with a column v, which its query does not have now"):
        cat.sql("SELECT * FROM star")
    assert rows(cat, "SELECT id, 'star' AS star FROM t WHERE id = 3") == [(3, "star")]
    cat.sql("DROP TABLE t")
    with pytest.raises(TableNotFound, match=r"default\.t"):
        cat.sql("SELECT * FROM star")
    cat.sql("DROP VIEW star")


def test_views_of_other_hands_stay_as_they_are(cat: SessionCatalog, quick_spark: SparkSession) -> None:
    for name in ("tv", "again"):
        cat.sql(f"CREATE TEMPORARY VIEW {name} AS SELECT id FROM t")
    quick_spark.range(5, 6).select("id").createOrReplaceTempView("tv")
    cat.sql("INSERT INTO t VALUES (3, 'c')")
    assert rows(cat, "SELECT * FROM tv") == [(5,)]
    other = paimon_spark.catalog(quick_spark, cat.catalog.warehouse, name="other")
    assert rows(other, "SELECT count(*) FROM again") == [(3,)]
    cat.sql("INSERT INTO t VALUES (4, 'd')")
    assert quick_spark.table("again").count() == 3  # no statement of a catalog has named it
    other.use(None)
    assert rows(other, "SELECT count(*) FROM again") == [(4,)]
    assert cat.create_views(prefix="x_") == ["x_t"]
    cat.sql("DELETE FROM t WHERE id > 1")
    assert rows(cat, "SELECT * FROM x_t") == [(1, "a")]


def test_cached_rows_go_with_the_state_of_the_table(cat: SessionCatalog, quick_spark: SparkSession) -> None:
    cat.sql("CACHE TABLE kept AS SELECT id FROM t")
    assert rows(cat, "SELECT * FROM kept") == [(1,), (2,)]
    assert "InMemoryRelation" in str(cat.sql("EXPLAIN SELECT * FROM kept").first())
    cat.sql("INSERT INTO t VALUES (3, 'c')")
    assert rows(cat, "SELECT * FROM kept") == [(1,), (2,), (3,)]
    assert "InMemoryRelation" in str(cat.sql("EXPLAIN SELECT * FROM kept").first())
    cat.sql("UNCACHE TABLE kept")
    assert not quick_spark.catalog.isCached("kept")
