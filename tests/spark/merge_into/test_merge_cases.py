"""The cases of Java's MergeIntoTableTestBase and MergeIntoNotMatchedBySourceTest without evolution, in our words.

Those with clauses of all kinds are also in the script 08_merges of official statements, and in the model of MERGEs. CI
runs them for one of the kinds of tables, and each run for another; ``PAIMON_LONG=1`` runs all.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.long_runs import LONG, draws

import paimon_spark
from paimon_spark.errors import DataError, SqlError

pytestmark = pytest.mark.spark
Sql = Callable[[str], list[tuple[object, ...]]]
PROPERTIES = {
    "append": "'bucket' = '-1'",
    "buckets": "'bucket' = '2', 'bucket-key' = 'a'",
    "keyed": "'bucket' = '2', 'primary-key' = 'a'",
    "dynamic": "'bucket' = '-1', 'primary-key' = 'a'",
}
DRAWN = list(PROPERTIES) if LONG else draws().sample(list(PROPERTIES), 1)


@pytest.fixture
def sql(quick_spark: SparkSession, tmp_path: Path) -> Sql:
    """Runs a statement in a database of its own; its rows, sorted."""
    catalog = paimon_spark.catalog(quick_spark, str(tmp_path))
    for text in ("USE paimon", "CREATE DATABASE d", "USE d"):
        catalog.sql(text)
    return lambda text: sorted((tuple(row) for row in catalog.sql(text).collect()), key=repr)


def merge(sql: Sql, text: str, *expected: tuple[object, ...]) -> None:
    """Checks the rows of t after a MERGE INTO t."""
    sql(f"MERGE INTO t {text}")
    assert sql("SELECT * FROM t") == sorted(expected, key=repr), text


@pytest.mark.parametrize("kind", DRAWN)
def test_single_clauses(sql: Sql, kind: str) -> None:
    """Only update, delete or insert; defaults; columns in another order, and left out; empty sides; a data directory;
    a source that is a table or a query; a condition the other way round."""
    columns = "a INT, b INT DEFAULT 6, c STRING DEFAULT 'new'"
    sql(f"CREATE TABLE t ({columns}) TBLPROPERTIES ({PROPERTIES[kind]}, 'data-file.path-directory' = 'data')")
    sql("CREATE TABLE s (a INT, b INT, c VARCHAR(9))")
    merge(sql, "USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET a = s.a, b = s.b WHEN NOT MATCHED THEN INSERT *")
    sql("INSERT INTO s VALUES (1, 100, 'p'), (3, 300, 'q')")
    sql("INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y')")
    merge(
        sql,
        "USING s ON t.a = s.a WHEN NOT MATCHED THEN INSERT (a) VALUES (a)",
        (1, 10, "x"), (2, 20, "y"), (3, 6, "new"),
    )  # fmt: skip
    merge(
        sql,
        "USING s ON s.a = t.a WHEN MATCHED THEN UPDATE SET c = s.c, b = s.b, a = s.a",
        (1, 100, "p"), (2, 20, "y"), (3, 300, "q"),
    )  # fmt: skip
    merge(
        sql,
        "USING (SELECT a FROM s WHERE a % 2 = 1 AND b > 200) r ON t.a = r.a WHEN MATCHED THEN DELETE",
        (1, 100, "p"), (2, 20, "y"),
    )  # fmt: skip
    merge(
        sql,
        "USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET c = 'm' "
        "WHEN NOT MATCHED THEN INSERT (t.b, t.c, t.a) VALUES (s.b * 1.1, s.c, s.a)",
        (1, 100, "m"), (2, 20, "y"), (3, 330, "q"),
    )  # fmt: skip
    merge(
        sql,
        "USING (SELECT a + 1 AS a, b, c FROM s) r ON t.a = r.a "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *",
        (1, 100, "m"), (3, 330, "q"), (4, 300, "q"),
    )  # fmt: skip


@pytest.mark.parametrize("kind", DRAWN)
def test_conditions_of_clauses(sql: Sql, kind: str) -> None:
    """Conditional updates, deletes and inserts; values of both sides; a filter in ON; only not matched by source."""
    sql(f"CREATE TABLE t (a INT, b INT, c STRING) TBLPROPERTIES ({PROPERTIES[kind]})")
    sql("CREATE TABLE s (a INT, b INT, c STRING) TBLPROPERTIES ('primary-key' = 'a')")
    sql("INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, NULL), (5, 50, 'z')")
    sql("INSERT INTO s VALUES (1, 100, ''), (3, 300, 'q'), (7, 700, 'r'), (8, 800, 's')")
    merge(
        sql,
        "AS o USING s AS n ON o.a = n.a WHEN MATCHED AND (nullif(cast(n.c AS STRING), '') IS NOT NULL) "
        "THEN UPDATE SET o.c = coalesce(nullif(n.c, ''), o.c), o.b = n.b + o.b "
        "WHEN NOT MATCHED AND b < 800 THEN INSERT (a, b, c) VALUES (n.a, n.b, n.c)",
        (1, 10, "x"), (2, 20, "y"), (3, 330, "q"), (5, 50, "z"), (7, 700, "r"),
    )  # fmt: skip
    merge(
        sql,
        "USING s ON t.a = s.a WHEN MATCHED AND t.c < 'r' AND s.c >= 'r' THEN DELETE "
        "WHEN NOT MATCHED AND s.a > 8 THEN INSERT *",
        (1, 10, "x"), (2, 20, "y"), (3, 330, "q"), (5, 50, "z"), (7, 700, "r"),
    )  # fmt: skip
    merge(
        sql,
        "USING (SELECT a, b FROM s WHERE c = 'r') r ON t.a = r.a AND t.b = r.b AND t.c = 'r' WHEN MATCHED THEN DELETE",
        (1, 10, "x"), (2, 20, "y"), (3, 330, "q"), (5, 50, "z"),
    )  # fmt: skip
    merge(
        sql,
        "USING s ON t.a = s.a WHEN NOT MATCHED BY SOURCE AND a % 2 = 0 THEN UPDATE SET b = b * 10 "
        "WHEN NOT MATCHED BY SOURCE THEN DELETE",
        (1, 10, "x"), (2, 200, "y"), (3, 330, "q"),
    )  # fmt: skip
    merge(
        sql,
        "USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT * "
        "WHEN NOT MATCHED BY SOURCE THEN DELETE",
        (1, 100, ""), (3, 300, "q"), (7, 700, "r"), (8, 800, "s"),
    )  # fmt: skip
    for wrong in (
        "WHEN MATCHED THEN UPDATE SET a = s.a, b = s.b, b = 7 WHEN NOT MATCHED THEN INSERT *",
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT (a, a, c) VALUES (a, b, c)",
    ):
        with pytest.raises(SqlError, match=r"assigned twice|3 different columns"):
            sql(f"MERGE INTO t USING s ON t.a = s.a {wrong}")


@pytest.mark.parametrize("kind", DRAWN)
def test_fields_of_structs_in_any_order(sql: Sql, kind: str) -> None:
    """Nested columns with and without a partner; structs, and those in arrays and maps, by the names of their fields;
    NULL for a struct; rows with narrower or wider structs. Nothing of it changes the schema."""
    items = "m MAP<STRING, STRUCT<p: INT, q: STRING>>"
    sql(f"CREATE TABLE t (a INT, s STRUCT<x: INT, y: STRING>, {items}) TBLPROPERTIES ({PROPERTIES[kind]})")
    sql("INSERT INTO t VALUES (1, struct(1, 'one'), map('k', struct(1, 'v'))), (2, struct(2, 'two'), NULL)")
    merge(
        sql,
        "USING (SELECT 1 AS a, 7 AS x) n ON t.a = n.a WHEN MATCHED THEN UPDATE SET s.x = n.x * 10 "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET s.y = 'alone'",
        (1, (70, "one"), {"k": (1, "v")}), (2, (2, "alone"), None),
    )  # fmt: skip
    moved = "map('k', named_struct('q', 'w', 'p', a)) AS m, named_struct('Y', 'z', 'X', a) AS s"
    merge(
        sql,
        f"USING (SELECT a, {moved} FROM VALUES (1), (3) AS v(a)) n ON t.a = n.a "
        "WHEN MATCHED THEN UPDATE SET m = n.m, t.s = n.s WHEN NOT MATCHED THEN INSERT (a, m) VALUES (n.a, n.m)",
        (1, (1, "z"), {"k": (1, "w")}), (2, (2, "alone"), None), (3, None, {"k": (3, "w")}),
    )  # fmt: skip
    merge(
        sql,
        "USING (SELECT 1 AS a, CAST(NULL AS STRUCT<y: STRING, x: INT>) AS s, map() AS m) n ON t.a = n.a "
        "WHEN MATCHED THEN UPDATE SET s = n.s",
        (1, None, {"k": (1, "w")}), (2, (2, "alone"), None), (3, None, {"k": (3, "w")}),
    )  # fmt: skip
    for wrong in ("named_struct('x', 1)", "named_struct('x', 1, 'y', 'y', 'z', 1)"):
        for clause in ("WHEN MATCHED THEN UPDATE SET *", "WHEN NOT MATCHED THEN INSERT *"):
            with pytest.raises(DataError, match=r"'s' has the fields x, y, and the value x"):
                sql(f"MERGE INTO t USING (SELECT 1 AS a, {wrong} AS s, NULL AS m) n ON t.a = n.a {clause}")


def test_keys_are_not_updated(sql: Sql) -> None:
    """The primary key, where ON compares another column."""
    sql(f"CREATE TABLE t (a INT, b INT, c STRING) TBLPROPERTIES ({PROPERTIES['keyed']})")
    sql("INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y')")
    source = "USING (SELECT * FROM VALUES (101, 10, 'p'), (103, 30, 'q') AS v(a, b, c)) s ON t.b = s.b"
    with pytest.raises(SqlError, match="'a' belongs to the primary key"):
        merge(sql, f"{source} WHEN MATCHED THEN UPDATE SET a = s.a, c = s.c")
    merge(
        sql,
        f"{source} WHEN MATCHED THEN UPDATE SET c = s.c WHEN NOT MATCHED THEN INSERT *",
        (1, 10, "p"), (103, 30, "q"), (2, 20, "y"),
    )  # fmt: skip


def test_texts_are_stored_as_numbers_unless_the_session_is_strict(quick_spark: SparkSession, sql: Sql) -> None:
    """Java casts texts to numbers in every MERGE; here the store assignment STRICT refuses that."""
    sql("CREATE TABLE t (a INT, b INT)")
    sql("INSERT INTO t VALUES (1, 10)")
    text = (
        "USING (SELECT * FROM VALUES (1, '111'), (4, '400') AS v(a, b)) s ON t.a = s.a "
        "WHEN MATCHED THEN UPDATE SET b = s.b WHEN NOT MATCHED THEN INSERT (a, b) VALUES (s.a, s.b)"
    )
    quick_spark.conf.set("spark.sql.storeAssignmentPolicy", "STRICT")
    try:
        with pytest.raises(DataError, match="string cannot be stored in the column 'b', which is int"):
            merge(sql, text)
    finally:
        quick_spark.conf.unset("spark.sql.storeAssignmentPolicy")
    merge(sql, text, (1, 111), (4, 400))


def test_a_text_that_equals_a_number_is_another_key(sql: Sql) -> None:
    """Spark takes '007' to equal 7: the row is updated. An upsert by keys would add a row of the key '7'."""
    sql("CREATE TABLE t (id STRING, v INT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    sql("INSERT INTO t VALUES ('007', 1)")
    values = "USING (SELECT 7 AS id, 2 AS v) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET"
    merge(sql, f"{values} v = s.v WHEN NOT MATCHED THEN INSERT *", ("007", 2))


@pytest.mark.parametrize("kind", [*PROPERTIES, "vectors"])
def test_several_rows_of_the_source_may_delete_one_row_once(sql: Sql, kind: str) -> None:
    """A lone DELETE without a condition says the same for each of them; other clauses do not."""
    of_kind = {**PROPERTIES, "vectors": "'bucket' = '-1', 'deletion-vectors.enabled' = 'true'"}
    sql(f"CREATE TABLE t (a INT, b INT) TBLPROPERTIES ({of_kind[kind]})")
    sql("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)")
    source = "USING (SELECT * FROM VALUES (1, 1), (1, 2), (2, 3), (5, 6) AS v(a, b)) s ON t.a = s.a"
    for other in ("THEN UPDATE SET b = s.b", "AND s.b < 9 THEN DELETE"):
        with pytest.raises(DataError, match="several rows of the source match"):
            sql(f"MERGE INTO t {source} WHEN MATCHED {other}")
    merge(sql, f"{source} WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *", (3, 30), (5, 6))
    kept = "USING (SELECT * FROM VALUES (3), (3) AS v(a)) s ON t.a = s.a WHEN MATCHED THEN DELETE"
    merge(sql, kept, (5, 6))


def test_rows_of_the_source_without_a_key_are_not_several_of_one(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, v INT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    sql("INSERT INTO t VALUES (1, 1)")
    source = "USING (SELECT * FROM VALUES (NULL, 2), (NULL, 3), (1, 4), (5, 5) AS v(id, v)) s ON t.id = s.id"
    clauses = "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED AND s.id IS NOT NULL THEN INSERT *"
    merge(sql, f"{source} {clauses}", (1, 4), (5, 5))


@pytest.mark.parametrize("more", ["1", "repeat('x', 10000)"], ids=["held here", "kept by Spark"])
def test_values_that_python_or_arrow_do_not_have_are_merged(sql: Sql, more: str) -> None:
    """A text that is no UTF-8 and a date after 9999 among the compared ones; fields of a struct with one name.

    What Python makes of the former is less than the text of the table, which begins with four bytes.
    """
    sql(f"CREATE TABLE t (a STRING, b INT, day DATE) TBLPROPERTIES ({PROPERTIES['append']})")
    sql("INSERT INTO t VALUES ('😀', 1, DATE'2026-01-01'), ('y', 2, NULL)")
    sources = (
        "SELECT a, id AS b, DATE'2026-01-01' AS day FROM range(2) JOIN VALUES ('😀'), (CAST(X'FF' AS STRING)) "
        "AS v(a) ON (id = 1) = (a = '😀')",
        "SELECT '😀' AS a, CAST(id AS INT) + 1 AS b, date_add(DATE'2026-01-01', CAST(id AS INT) * 4000000) "
        "AS day FROM range(2)",
        "SELECT '😀' AS a, 1 AS b, DATE'2026-01-01' AS day, named_struct('f', id, 'f', id) AS q FROM range(1)",
    )
    for number, source in enumerate(sources):
        merge(
            sql,
            f"USING (SELECT *, {more} AS more FROM ({source})) s ON t.a = s.a AND t.day = s.day "
            "WHEN MATCHED THEN UPDATE SET b = t.b + 10 WHEN NOT MATCHED AND s.b > 99 THEN INSERT *",
            ("😀", 11 + 10 * number, dt.date(2026, 1, 1)), ("y", 2, None),
        )  # fmt: skip
