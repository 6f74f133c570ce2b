"""MERGE that changes the schema (Java: MergeIntoAlignmentTest, WriteMergeSchemaTest, the merge-schema cases of
MergeIntoTableTestBase and MergeIntoNotMatchedBySourceTest)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import paimon_spark
from paimon_spark import PaimonTable
from paimon_spark.errors import DataError, SchemaError, SqlError
from paimon_spark.tables.open import open_table

pytestmark = pytest.mark.spark
KEYED = {"primary-key": "id", "bucket": "1"}
TABLES = {
    "append": {},
    "vectors": {"deletion-vectors.enabled": "true"},
    "keyed": KEYED,
    "dynamic": {"primary-key": "id", "bucket": "-1"},
    "keyed-vectors": {**KEYED, "deletion-vectors.enabled": "true"},
    "changelog": {**KEYED, "changelog-producer": "input"},
}


def made(spark: SparkSession, path: Path, rows: str, **options: str) -> PaimonTable:
    """A table with the rows of a query."""
    frame = spark.sql(rows).coalesce(1)
    frame.write.format("paimon").mode("append").options(**options).save(str(path / "t"))
    return PaimonTable.forPath(spark, str(path / "t"))


def rows(table: PaimonTable) -> list[tuple[object, ...]]:
    return sorted((tuple(row) for row in table.toDF().collect()), key=repr)


def plain(value: object) -> object:
    """Rows as tuples, at any depth."""
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    return {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def schemas(path: Path) -> int:
    return len(list((path / "t/schema").iterdir()))


@contextmanager
def setting(spark: SparkSession, key: str, value: str) -> Iterator[None]:
    spark.conf.set(key, value)
    try:
        yield
    finally:
        spark.conf.unset(key)


@pytest.mark.parametrize("kind", TABLES)
def test_columns_of_the_source_are_added(quick_spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """merge-schema with star update and insert, and with not matched by source, on every kind of table."""
    spark = quick_spark
    table = made(spark, tmp_path, "select * from values (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c') as v(id, n, s)",
                 **TABLES[kind])  # fmt: skip
    source = spark.sql("select * from values (1, 11L, 1.5D), (9, 99L, 9.5D) as v(ID, n, more)").alias("q")
    merge = table.alias("t").merge(source, "t.id = q.id").whenMatchedUpdateAll().whenNotMatchedInsertAll()
    by_source = merge.whenNotMatchedBySourceUpdate("t.id = 2", {"n": "t.n + 1"})
    done = by_source.withSchemaEvolution().execute()
    assert (done.rows_updated, done.rows_inserted) == (2, 1)
    assert table.toDF().schema.simpleString() == "struct<id:int,n:int,s:string,more:double>"
    assert rows(table) == [(1, 11, "a", 1.5), (2, 21, "b", None), (3, 30, "c", None), (9, 99, None, 9.5)]
    assert schemas(tmp_path) == 2
    assert table.check().is_good
    repeated = table.alias("t").merge(source, "t.id = q.id").whenMatchedUpdateAll().withSchemaEvolution().execute()
    assert repeated.rows_updated == 2
    assert schemas(tmp_path) == 2


def test_types_widen_where_the_options_say_so(spark: SparkSession, tmp_path: Path) -> None:
    """Merge into with type-widening=true: INT to BIGINT; the elements of an array widen too, which Java refuses."""
    made(spark, tmp_path, "select 1 as id, 1 as n, array(1) as a, '2026-11-01' as d", **KEYED)
    source = spark.sql("select 1 as id, 5000000000L as n, array(5000000000L) as a, date'2026-11-02' as d").alias("s")
    options = {"write.merge-schema": "true", "write.merge-schema.type-widening": "true"}
    table = PaimonTable.forPath(spark, str(tmp_path / "t"), options).alias("t")
    with pytest.raises(SchemaError, match="column 'd' is STRING and cannot become DATE"):
        table.merge(source, "t.id = s.id").whenMatchedUpdateAll().execute()
    table.merge(source.drop("d").alias("s"), "t.id = s.id").whenMatchedUpdateAll().execute()
    assert rows(table) == [(1, 5_000_000_000, [5_000_000_000], "2026-11-01")]
    casts = {"write.merge-schema.type-widening": "true", "write.merge-schema.explicit-cast": "true"}
    table = PaimonTable.forPath(spark, str(tmp_path / "t"), casts).alias("t")
    table.merge(source, "t.id = s.id").whenMatchedUpdateAll().withSchemaEvolution().execute()
    assert table.toDF().schema.simpleString() == "struct<id:int,n:bigint,a:array<bigint>,d:date>"
    assert schemas(tmp_path) == 3


NESTED = (
    "select 1 as id, named_struct('a', 1, 'in', named_struct('x', 1, 'y', 2)) as s, "
    "array(named_struct('p', 1, 'q', 2)) as l, map('k', named_struct('p', 1, 'q', 2)) as m"
)


@pytest.mark.parametrize("options", [{}, KEYED], ids=["append", "keyed"])
def test_fields_of_structs_are_added_and_kept(spark: SparkSession, tmp_path: Path, options: dict[str, str]) -> None:
    """An UPDATE * keeps fields of structs that the source lacks, at any depth, but not in arrays and maps."""
    table = made(spark, tmp_path, NESTED, **options).alias("t")
    source = spark.sql(
        "select id, named_struct('IN', named_struct('y', 20, 'z', 30)) as s, "
        "array(named_struct('new', 'n', 'q', 20)) as l, map('k', named_struct('q', 20)) as m "
        "from values (1), (2) as v(id)"
    ).alias("q")
    merge = table.merge(source, "t.id = q.id").whenMatchedUpdateAll().whenNotMatchedInsertAll()
    with pytest.raises(DataError, match="has the fields"):
        merge.execute()
    merge.withSchemaEvolution().execute()
    assert plain(rows(table)) == [
        (1, (1, (1, 20, 30)), [(None, 20, "n")], {"k": (None, 20)}),
        (2, (None, (None, 20, 30)), [(None, 20, "n")], {"k": (None, 20)}),
    ]
    nothing = spark.sql("select 1 as id, cast(null as struct<a: int>) as s, cast(null as struct<a: int>) as r")
    table.merge(nothing.alias("q"), "t.id = q.id").whenMatchedUpdateAll().withSchemaEvolution().execute()
    assert plain(rows(table))[0][1] == (None, (1, 20, 30))  # type: ignore[index]  # plain() tells no type
    assert rows(table)[0][4] is None
    explicit = spark.sql("select 2 as id, named_struct('a', 5) as s").alias("q")
    table.merge(explicit, "t.id = q.id").whenMatchedUpdate(set={"s": "q.s"}).withSchemaEvolution().execute()
    assert plain(rows(table))[1][1] == (5, None)  # type: ignore[index]  # plain() tells no type
    assert schemas(tmp_path) == 3


def test_named_columns_are_added_one_by_one(spark: SparkSession, tmp_path: Path) -> None:
    """Explicit INSERT (new) and SET new = s.x: only the columns that clauses assign, from the source alone."""
    table = made(spark, tmp_path, "select 1 as id, 10 as n").alias("t")
    source = spark.sql("select id, 5 as new, 6 as other, 7 as unused from values (1), (2) as v(id)").alias("s")
    merge = table.merge(source, "t.id = s.id")
    for wrong in (
        merge.whenMatchedUpdate(set={"new": "s.new"}),
        merge.whenMatchedUpdate(set={"nope": "s.new"}).withSchemaEvolution(),
        merge.whenNotMatchedBySourceUpdate(set={"new": "t.n"}).withSchemaEvolution(),
    ):
        with pytest.raises(SqlError, match="no column of the table"):
            wrong.execute()
    assert schemas(tmp_path) == 1
    clauses = merge.whenMatchedUpdate(set={"t.NEW": "s.new + t.n"}).whenNotMatchedInsert(
        values={"id": "s.id", "other": "s.other"}
    )
    clauses.withSchemaEvolution().execute()
    assert table.toDF().columns == ["id", "n", "new", "other"]
    assert rows(table) == [(1, 10, 15, None), (2, None, None, 6)]


def test_sql_takes_the_words_and_the_setting(spark: SparkSession, tmp_path: Path) -> None:
    """Columns that the source lacks: kept by UPDATE *, NULL or the default by INSERT *; refused without evolution."""
    cat = paimon_spark.catalog(spark, str(tmp_path))
    cat.create_database("d")
    cat.use("d")
    cat.sql("CREATE TABLE t (id INT, v STRING DEFAULT 'none', w INT) TBLPROPERTIES ('primary-key' = 'id')")
    cat.sql("INSERT INTO t VALUES (1, 'kept', 1)")
    spark.sql("SELECT * FROM VALUES (1, 11, 'x'), (2, 22, 'y') AS q(id, W, op)").createOrReplaceTempView("evolving")
    rest = "INTO t USING evolving s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    with pytest.raises(SqlError, match=r"no column 'v', which \* assigns"):
        cat.sql(f"MERGE {rest}")
    cat.sql(f"MERGE WITH SCHEMA EVOLUTION {rest}")
    found = cat.sql("SELECT id, v, w, op FROM t ORDER BY id").collect()
    assert [tuple(row) for row in found] == [(1, "kept", 11, "x"), (2, "none", 22, "y")]
    with setting(spark, "spark.paimon.write.merge-schema", "true"):
        cat.sql("MERGE INTO t USING (SELECT 2 AS id, 5 AS more) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *")
    found = cat.sql("SELECT id, v, more FROM t ORDER BY id").collect()
    assert [tuple(row) for row in found] == [(1, "kept", None), (2, "none", 5)]
    spark.catalog.dropTempView("evolving")


def test_letter_case_counts_where_the_session_says_so(spark: SparkSession, tmp_path: Path) -> None:
    """Case-sensitive mode treats different case as new columns; otherwise only case differs, no schema change."""
    table = made(spark, tmp_path, "select 1 as id, 'a' as name").alias("t")
    source = spark.sql("select 1 as id, 'b' as NAME").alias("s")
    merge = table.merge(source, "t.id = s.id").whenMatchedUpdateAll()
    merge.withSchemaEvolution().execute()
    assert (rows(table), schemas(tmp_path)) == ([(1, "b")], 1)
    with setting(spark, "spark.sql.caseSensitive", "true"):
        with pytest.raises(SqlError, match="no column 'name'"):
            merge.execute()
        with pytest.raises(SqlError, match="NAME is no column of the table"):
            table.update("true", {"NAME": "'c'"})
        merge.withSchemaEvolution().execute()
        assert table.toDF().columns == ["id", "name", "NAME"]
        assert rows(table) == [(1, "b", "b")]


def test_a_merge_that_fails_leaves_no_schema(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path, "select 1 as id, 10 as n").alias("t")
    source = spark.sql("select id, 5 as new from values (1), (1) as v(id)").alias("s")
    with pytest.raises(Exception, match="several rows of the source match"):
        table.merge(source, "t.id = s.id").whenMatchedUpdateAll().withSchemaEvolution().execute()
    assert schemas(tmp_path) == 1
    assert open_table(str(tmp_path / "t")).snapshots.latest_id() == 1
    untyped = spark.sql("select 1 as id, 2 as n, null as none").alias("s")
    with pytest.raises(SchemaError, match="column 'none' has no type"):
        table.merge(untyped, "t.id = s.id").whenMatchedUpdateAll().withSchemaEvolution().execute()
    assert schemas(tmp_path) == 1


def test_a_merge_that_changes_no_row_still_adds_columns(spark: SparkSession, tmp_path: Path) -> None:
    """As the official connector does, which publishes the schema before it looks for rows."""
    table = made(spark, tmp_path, "select 1 as id").alias("t")
    source = spark.sql("select 2 as id, 5 as new").alias("s")
    done = table.merge(source, "t.id = s.id").whenMatchedUpdateAll().withSchemaEvolution().execute()
    assert (done.rows_matched, done.snapshot_id) == (0, None)
    assert table.toDF().columns == ["id", "new"]
