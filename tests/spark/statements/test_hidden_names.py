"""Errors of Spark about statements of ours have the names that the user typed, and name the column of a value."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import paimon_spark
from paimon_spark.errors import DataError, SqlError
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

pytestmark = pytest.mark.spark
HIDDEN = re.compile(r"_paimon_|_pyspark_|paimon_[0-9a-f]{8}|\.py\b|#\d")
MERGE = "MERGE INTO {t} t USING (SELECT 1 AS id, 'x' AS v) s ON t.id = s.id "


@pytest.fixture
def cat(quick_spark: SparkSession, tmp_path: Path) -> SessionCatalog:
    found = paimon_spark.catalog(quick_spark, str(tmp_path))
    columns = "(id INT, name STRING, code CHAR(4), n TINYINT, w STRUCT<x: INT>)"
    found.sql(f"CREATE TABLE plain {columns}")
    found.sql(f"CREATE TABLE keyed {columns} TBLPROPERTIES ('primary-key' = 'id')")
    for table in ("plain", "keyed"):
        found.sql(f"INSERT INTO {table} VALUES (1, 'a', 'c', 1, NULL), (2, 'b', 'd', 2, NULL)")
    return found


def suggested(error: AnalysisException) -> set[str]:
    return set(re.findall(r"`[^`]+`(?:\.`[^`]+`)?", (error.getMessageParameters() or {})["proposal"]))


COLUMNS = {"`id`", "`name`", "`code`", "`n`", "`w`"}
OF_T = {f"`t`.{name}" for name in COLUMNS}
OF_S = {"`s`.`id`", "`s`.`v`"}
UNKNOWN = [
    ("DELETE FROM {t} WHERE nmae = 'x'", COLUMNS),
    ("UPDATE {t} SET n = 2 WHERE nmae = 'x'", COLUMNS),
    ("DELETE FROM {t} AS t WHERE t.nmae = 'x'", OF_T),
    ("DELETE FROM {t} WHERE id IN (SELECT idd FROM keyed)", COLUMNS),
    ("UPDATE {t} SET n = (SELECT max(idd) FROM keyed)", COLUMNS),
    (MERGE + "AND t.nmae = 'x' WHEN MATCHED THEN DELETE", OF_T | OF_S),
    (MERGE + "WHEN MATCHED AND t.nmae = 'x' THEN DELETE", OF_T | OF_S),
    (MERGE + "WHEN MATCHED THEN UPDATE SET name = upper(nmae)", OF_T | OF_S),
    (MERGE + "WHEN NOT MATCHED THEN INSERT (id) VALUES (t.id)", OF_S),
    (MERGE + "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (t.id)", OF_S),
    (MERGE + "WHEN NOT MATCHED BY SOURCE AND t.nmae = 'x' THEN DELETE", OF_T),
    (MERGE + "WHEN NOT MATCHED BY SOURCE AND s.v = 'x' THEN DELETE", OF_T),
]


@pytest.mark.parametrize("table", ["plain", "keyed"])
def test_columns_that_are_not_there_are_answered_with_those_of_the_tables(cat: SessionCatalog, table: str) -> None:
    for sql, names in UNKNOWN:
        with pytest.raises(AnalysisException) as caught:
            cat.sql(sql.format(t=table))
        error = caught.value
        assert (error.getCondition() or "").startswith("UNRESOLVED_COLUMN"), sql
        assert not HIDDEN.search(str(error)), f"{sql}: {error}"
        assert suggested(error) <= names, sql
        assert len(suggested(error)) == min(5, len(names)), sql  # Spark shows five
    assert cat.table(table).count() == 2


def test_methods_of_a_table_suggest_its_columns_too(cat: SessionCatalog) -> None:
    for table in (cat["plain"], cat["keyed"]):
        for call in (lambda: table.delete(F.col("nmae") == "x"), lambda: table.update("nmae = 'x'", {"n": "2"})):  # noqa: B023
            with pytest.raises(AnalysisException) as caught:
                call()
            assert suggested(caught.value) == COLUMNS
            assert not HIDDEN.search(str(caught.value))


@pytest.mark.parametrize("table", ["plain", "keyed"])
def test_no_plan_stands_behind_other_errors(cat: SessionCatalog, table: str) -> None:
    for sql in ("UPDATE {t} SET n = max(n)", "DELETE FROM {t} WHERE id", "DELETE FROM {t} WHERE array(id) = 1"):
        with pytest.raises(AnalysisException) as caught:
            cat.sql(sql.format(t=table))
        assert not HIDDEN.search(str(caught.value)), sql


def test_errors_of_jobs_show_no_view_that_stands_for_a_table(cat: SessionCatalog) -> None:
    for sql in (
        "DELETE FROM plain WHERE id = (SELECT id FROM keyed)",
        "UPDATE keyed SET n = (SELECT id FROM plain)",
        "UPDATE keyed SET n = (SELECT max(id / 0) FROM plain)",
        "INSERT INTO plain (id) SELECT CAST(name AS INT) FROM keyed",
    ):
        with pytest.raises(SqlError, match=r"^(DELETE of|UPDATE of|INSERT INTO) (plain|keyed): ") as caught:
            cat.sql(sql)
        assert not HIDDEN.search(str(caught.value)), sql


NO_FIT = [
    ("INSERT INTO plain (n) VALUES (300)", "300", "tinyint into the column 'n'"),
    ("INSERT INTO plain (id) VALUES ('q')", "'q'", "int into the column 'id'"),
    ("INSERT INTO plain BY NAME SELECT 'q' AS id", "'q'", "int into the column 'id'"),
    ("INSERT INTO plain (id, name) SELECT 5000000000, name FROM keyed", "5000000000L", "int into the column 'id'"),
    ("INSERT INTO plain (n, id) SELECT 'q', '1'", "'q'", "tinyint into the column 'n'"),
    ("INSERT INTO plain (w) VALUES (named_struct('x', 'q'))", "'q'", "int into the column 'w'"),
    ("UPDATE plain SET id = 5000000000", "5000000000L", "int into the column 'id'"),
    ("UPDATE keyed SET n = name", "'[ab]'", "tinyint into the column 'n'"),
    ("UPDATE plain SET w.x = 'q'", "'q'", "int into the column 'w.x'"),
    (MERGE.format(t="keyed") + "WHEN MATCHED THEN UPDATE SET n = s.v", "'x'", "tinyint into the column 'n'"),
    (MERGE.format(t="plain") + "WHEN MATCHED THEN UPDATE SET n = s.v", "'x'", "tinyint into the column 'n'"),
    (
        "MERGE INTO keyed t USING (SELECT 7 AS id, 'x' AS name, 'c' AS code, 300 AS n, NULL AS w) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        "300",
        "tinyint into the column 'n'",
    ),
]  # fmt: skip


def test_a_value_that_cannot_be_cast_is_reported_with_its_column(cat: SessionCatalog) -> None:
    for sql, value, place in NO_FIT:
        with pytest.raises(DataError, match=rf": the value {value} of the type \w+ does not fit as {place};") as caught:
            cat.sql(sql)
        assert not HIDDEN.search(str(caught.value)), sql
    assert (cat.table("plain").count(), cat.table("keyed").count()) == (2, 2)


def test_the_columns_that_may_be_meant_are_all_reported(cat: SessionCatalog) -> None:
    cat.sql("CREATE TABLE two (a INT, b INT, c BIGINT)")
    with pytest.raises(DataError, match="does not fit as int into one of the columns 'a', 'b';"):
        cat.sql("INSERT INTO two VALUES (5000000000, 5000000000, 5000000000)")


def test_a_cast_that_the_user_wrote_is_not_taken_for_one_of_a_column(cat: SessionCatalog) -> None:
    wrong: list[Callable[[], object]] = [
        lambda: cat.sql("UPDATE plain SET n = CAST(name AS TINYINT)"),
        lambda: cat["plain"].update("true", {"n": F.col("name").cast("tinyint")}),
        lambda: cat.sql("DELETE FROM plain WHERE name = 1"),
    ]
    for call in wrong:
        with pytest.raises(Exception, match="CAST_INVALID_INPUT") as caught:
            call()
        assert not isinstance(caught.value, DataError)
