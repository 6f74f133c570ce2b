"""The cases of Java's DeleteFromTableTestBase and UpdateTableTestBase, in our words.

Those that are statements alone are also in the scripts 06_deletes and 07_updates of official statements. CI runs them
for one of the kinds of tables, and each run for another; ``PAIMON_LONG=1`` runs all.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.long_runs import LONG, draws

import paimon_spark
from paimon_spark import PaimonTable
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.tables.open import open_table

pytestmark = pytest.mark.spark
VECTORS = {"deletion-vectors.enabled": "true"}
PARTITIONED = {
    "append": {"partition": "dt,h"},
    "vectors": {"partition": "dt,h", **VECTORS},
    "keyed": {"partition": "dt,h", "primary-key": "id,dt,h", "bucket": "1"},
}
DRAWN = list(PARTITIONED) if LONG else draws().sample(list(PARTITIONED), 1)
ROWS = (
    "select * from values (1, 'a', '24', 1), (2, 'b', '24', 1), (3, null, '24', 2), (4, 'a', '24', 2), "
    "(5, 'a', '25', 1), (6, null, '25', 1), (7, 'x', '25', 2), (8, 'y', '25', 2), (9, 'a', '26', 1), "
    "(10, 'z', '30', 1) as v(id, n, dt, h)"
)
KEYS = "select * from values (2), (4), (6) as v(key)"


def made(spark: SparkSession, path: Path, rows: str, **options: str) -> PaimonTable:
    """A table with the rows of a query, in one file of each partition."""
    frame = spark.sql(rows).coalesce(1)
    frame.write.format("paimon").mode("append").options(**options).save(str(path / "t"))
    return PaimonTable.forPath(spark, str(path / "t"))


def rows(path: Path, columns: str | None = None) -> list[tuple[object, ...]]:
    """The rows of the table, sorted; they are read without Spark."""
    found = open_table(str(path / "t")).scan(columns).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def ids(path: Path) -> list[int]:
    return sorted(open_table(str(path / "t")).scan("id").to_arrow().column(0).to_pylist())


def commits(path: Path) -> list[str]:
    """The kinds of all snapshots."""
    snapshots = open_table(str(path / "t")).snapshots
    return [str(snapshots.load(number).commit_kind) for number in snapshots.ids()]


@pytest.mark.parametrize("kind", DRAWN)
def test_conditions_of_deletes(quick_spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Append tables with and without partitions, by key and by other columns, NULL in a condition; IN, NOT IN, EXISTS
    and NOT EXISTS; partitions that are dropped, and some that are not; a condition that no filter can express."""
    table = made(quick_spark, tmp_path, ROWS, **PARTITIONED[kind])
    quick_spark.sql(KEYS).createOrReplaceTempView("keys")
    left = list(range(1, 11))
    for condition, gone in (
        ("n = 'nobody' or exists (select * from keys where key > 7)", []),
        ("not exists (select * from keys where key > 5)", []),
        ("n = 'a' and h = 1 and dt < '26'", [1, 5]),
        ("id in (select key from keys where key < 4) or id = (select max(key) + 2 from keys)", [2, 8]),
        ("id not in (select key + key % 3 from keys) and dt = '24'", [3]),
        ("dt in ('26', '27') or dt < '23'", [9]),
        ("dt >= date_format(date_sub('2026-01-26', 1), 'dd') and dt < '26' and h = 2", [7]),
        ("dt = '30' or dt is null", [10]),
        ("not exists (select * from keys where key > 7)", [4, 6]),
    ):
        done = table.delete(condition)
        left = [number for number in left if number not in gone]
        assert ids(tmp_path) == left, condition
        assert done.rows_deleted == len(gone) or kind != "append", condition  # metadata counts rows in files
        assert (done.snapshot_id is None) == (not gone), condition
    quick_spark.catalog.dropTempView("keys")
    assert table.check().is_good


@pytest.mark.parametrize("kind", DRAWN)
def test_conditions_and_values_of_updates(quick_spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Append tables with and without partitions, an empty commit, sub-queries, IN and NOT IN, no condition, other
    columns as they were before."""
    options = {**PARTITIONED[kind], "partition": "dt"}
    values = "values (1, 'a', '24'), (2, 'b', '24'), (3, null, '25'), (4, 'd', '25') as v(id, n, dt)"
    key = {"primary-key": "id,dt"} if kind == "keyed" else {}
    table = made(quick_spark, tmp_path, f"select *, id as c, id * 10 as h from {values}", **{**options, **key})
    quick_spark.sql(KEYS).createOrReplaceTempView("keys")
    for suffix, condition, expected in (
        ("0", "id > 100", "a b - d"),
        ("1", "id % 2 = 0", "a b1 - d1"),
        ("2", "dt <= '24'", "a2 b12 - d1"),
        ("3", "dt = '25' and id % 2 = 1", "a2 b12 - d1"),  # of NULL comes NULL
        ("4", "id < (select min(key) from keys)", "a24 b12 - d1"),
        ("5", "exists (select * from keys where key > 5) and id not in (select key from keys)", "a245 b12 - d1"),
        ("6", "not exists (select * from keys where key > 5)", "a245 b12 - d1"),
        ("7", "id in (select key from keys) and n not in ('d1')", "a245 b127 - d1"),
    ):
        done = table.update(condition, {"n": f"concat(n, '{suffix}')"})
        assert " ".join(str(row[1] or "-") for row in rows(tmp_path, "id, n")) == expected, condition
        assert (done.snapshot_id is None) == (suffix in "06"), condition
    quick_spark.catalog.dropTempView("keys")
    assert table.update("true", {"c": "h + c", "h": "1000"}).rows_updated == 4
    assert rows(tmp_path, "id, c, h") == [(1, 11, 1000), (2, 22, 1000), (3, 33, 1000), (4, 44, 1000)]
    assert table.check().is_good


ENGINES = [
    ("deduplicate", {"write-only": "true"}),
    ("partial-update", {"write-only": "true"}),
    ("aggregation", {"write-only": "true"}),
    ("first-row", {"write-only": "true", "changelog-producer": "lookup"}),
    ("deduplicate", {"changelog-producer": "lookup"}),
    ("partial-update", {"changelog-producer": "lookup", "partial-update.remove-record-on-delete": "true"}),
    ("aggregation", {"changelog-producer": "lookup", "aggregation.remove-record-on-delete": "true"}),
    ("first-row", {"changelog-producer": "lookup"}),
]


@pytest.mark.parametrize(("engine", "options"), ENGINES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_key_goes_with_all_its_rows(
    quick_spark: SparkSession, tmp_path: Path, engine: str, options: dict[str, str]
) -> None:
    """Deletes with each merge engine, with rows that no compaction has merged yet, and with lookup.

    Java refuses to delete uncompacted rows of three engines; here that is so only where they are not visible before.
    """
    first = "select * from values (1, 'a', cast(null as int)), (2, 'b', null) as v(id, n, age)"
    keyed = {"primary-key": "id", "bucket": "1", "merge-engine": engine, **options}
    table = made(quick_spark, tmp_path, first, **keyed)
    table.append(quick_spark.sql("select 1 as id, cast(null as string) as n, 16 as age"))
    if engine == "first-row" and "write-only" in options:
        with pytest.raises(UnsupportedFeature, match="wait for a compaction"):
            table.delete("id = 1")
        table.optimize().executeCompaction()
    assert table.delete("id = 1").rows_deleted == 1
    assert rows(tmp_path) == [(2, "b", None)]


@pytest.mark.parametrize("options", [{}, VECTORS], ids=["append", "vectors"])
def test_changes_of_append_tables_are_overwrites(
    quick_spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    """Commit kinds of deletes, updates and merges; a range of 50,000 rows; nothing is deleted where rows only come."""
    table = made(quick_spark, tmp_path, "select id, id as v from range(1, 50000)", **options)
    assert table.delete("id >= 111 and id <= 444").rows_deleted == 334
    assert table.update("id = 7", {"v": "0"}).rows_updated == 1
    merge = table.alias("t").merge(quick_spark.sql("select -1L as id, 1L as v").alias("s"), "t.id = s.id")
    merge.whenNotMatchedInsert(values={"id": "s.id", "v": "s.v"}).execute()
    merge.whenMatchedUpdate(set={"v": "s.v + t.v"}).execute()
    assert commits(tmp_path) == ["APPEND", "OVERWRITE", "OVERWRITE", "APPEND", "OVERWRITE"]
    assert open_table(str(tmp_path / "t")).scan("v", "id < 8").to_arrow().num_rows == 8
    assert table.toDF().count() == 49_999 - 334 + 1


def test_changes_of_key_tables_with_vectors_are_compacted(quick_spark: SparkSession, tmp_path: Path) -> None:
    """Commit kinds of tables with keys and deletion vectors."""
    table = made(quick_spark, tmp_path, "select id, id as v from range(1, 4)", **VECTORS, **{"primary-key": "id"})
    table.delete("id = 1")
    table.update("id = 2", {"v": "111"})
    assert commits(tmp_path) == ["APPEND", "COMPACT"] * 3
    assert rows(tmp_path) == [(2, 111), (3, 3)]


def test_texts_that_are_too_long(quick_spark: SparkSession, tmp_path: Path) -> None:
    """CHAR and VARCHAR in updates, as in inserts."""
    cat = paimon_spark.catalog(quick_spark, str(tmp_path))
    for text in ("USE paimon", "CREATE DATABASE d", "USE d"):
        cat.sql(text)
    cat.sql("CREATE TABLE t (id INT, c CHAR(2), v VARCHAR(2))")
    cat.sql("INSERT INTO t VALUES (1, 'aa', 'bb')")
    cat.sql("CREATE TABLE k (id INT, c CHAR(2), v VARCHAR(2)) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    cat.sql("INSERT INTO k VALUES (1, 'aa', 'bb')")
    for column, kind in (("c", "CHAR"), ("v", "VARCHAR")):
        message = rf"column '{column}': the value 'abc' of length 3 does not fit into {kind}\(2\)"
        for table in ("t", "k"):
            for text in (
                f"UPDATE {table} SET {column} = 'abc' WHERE id = 1",
                f"MERGE INTO {table} USING (SELECT 1 AS i) s ON id = i WHEN MATCHED THEN UPDATE SET {column} = 'abc'",
            ):
                with pytest.raises(DataError, match=message):
                    cat.sql(text)
    cat.sql("UPDATE t SET c = 'b', v = 'c' WHERE id = 1")
    assert [tuple(row) for row in cat.sql("SELECT id, trim(c), v FROM t").collect()] == [(1, "b", "c")]


def test_statements_tell_how_many_rows_have_changed(quick_spark: SparkSession, tmp_path: Path) -> None:
    """By the names of Delta Lake; NULL where nobody has counted."""
    cat = paimon_spark.catalog(quick_spark, str(tmp_path))
    cat.sql("CREATE DATABASE paimon.d")
    for name, options in (("k", "'primary-key' = 'id,p', 'bucket' = '1'"), ("a", "'bucket' = '-1'")):
        table = f"paimon.d.{name}"
        cat.sql(f"CREATE TABLE {table} (id INT, v INT, p STRING) PARTITIONED BY (p) TBLPROPERTIES ({options})")
        cat.sql(f"INSERT INTO {table} VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b')")
        given = "SELECT * FROM VALUES (1, 11, 'a'), (2, 0, 'a'), (9, 90, 'b'), (8, 0, 'c') AS v(id, v, p)"
        merge = f"MERGE INTO {table} t USING ({given}) s"
        merged = f"""{merge} ON t.id = s.id AND t.p = s.p WHEN MATCHED AND s.v = 0 THEN DELETE
            WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"""
        four = [f"num_{what}_rows" for what in ("affected", "updated", "deleted", "inserted")]
        for text, numbers in (
            (f"UPDATE {table} SET v = v + 1 WHERE id < 3", (2,)),
            (f"UPDATE {table} SET v = 0 WHERE id > 99", (0,)),
            (merged, (4, 1, 1, 2)),
            (f"DELETE FROM {table} WHERE id = 1", (1,)),
            (f"DELETE FROM {table} WHERE p = 'b'", (2 if name == "a" else None,)),
            (f"DELETE FROM {table} WHERE p = 'none'", (0,)),
        ):
            found = cat.sql(text)
            assert found.columns == four[: len(numbers)]
            assert [tuple(row) for row in found.collect()] == [numbers]
            assert {kind for _, kind in found.dtypes} == {"bigint"}
    both = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    new = "(SELECT 7 AS id, 7 AS v, 'x' AS p) s"
    found = cat.sql(f"MERGE INTO paimon.d.k t USING {new} ON t.id = s.id AND t.p = s.p {both}")
    assert [tuple(row) for row in found.collect()] == [(1, None, 0, None)]


def test_a_condition_that_is_cut_off_changes_nothing(quick_spark: SparkSession, tmp_path: Path) -> None:
    """Of ``id = 1 AND`` Spark's function for expressions takes AND for the name of the column."""
    table = made(quick_spark, tmp_path, "select id, 'a' as n from range(3)", **{"primary-key": "id", "bucket": "1"})
    cat, source = paimon_spark.catalog(quick_spark, str(tmp_path)), quick_spark.range(3).alias("s")
    merged, name = table.alias("t"), f"paimon.`{tmp_path}/t`"
    for condition in (
        "id = 1 AND",
        "id = 1 OR",
        "id = 1 xyz",
        "id = 1 AND -- id > 5",
        "id = 1 LIMIT",
        "id = 1) OR (id = 2",
    ):
        for change in (
            lambda text=condition: table.delete(text),
            lambda text=condition: table.update(text, {"n": "'b'"}),
            lambda text=condition: cat.sql(f"DELETE FROM {name} WHERE {text}"),
            lambda text=condition: cat.sql(f"UPDATE {name} SET n = 'b' WHERE {text}"),
            lambda text=condition: merged.merge(source, f"t.id = s.id AND t.{text}").whenMatchedDelete().execute(),
        ):
            with pytest.raises(Exception, match=r"PARSE_SYNTAX_ERROR|Syntax error|syntax|expected|should end here"):
                change()
    with pytest.raises(Exception, match=r"PARSE_SYNTAX_ERROR|Syntax error|syntax"):
        table.update("id = 1", {"n": "'b' AS z"})
    assert table.delete("id = 2 -- the last one").rows_deleted == 1
    assert rows(tmp_path) == [(0, "a"), (1, "a")]
