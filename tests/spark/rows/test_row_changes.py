"""Rows changed by the methods of PaimonTable; what SQL makes of the same is in the scripts of official statements."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from paimon_spark import PaimonTable
from paimon_spark.errors import DataError, OptionError, SqlError, UnsupportedFeature
from paimon_spark.tables.open import open_table

pytestmark = pytest.mark.spark
ROWS = [(i, 10 * i, "ab"[i % 2]) for i in range(6)]
SCHEMA = "id bigint, v bigint, p string"


def made(spark: SparkSession, path: Path, options: Mapping[str, str]) -> PaimonTable:
    frame = spark.createDataFrame(ROWS, SCHEMA).coalesce(1)
    frame.write.format("paimon").mode("append").options(**options).save(str(path / "t"))
    return PaimonTable.forPath(spark, str(path / "t"))


def rows(table: PaimonTable) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in table.toDF().collect())


def changelog_counts(path: Path) -> list[int]:
    """How many rows each snapshot has in the changelog."""
    snapshots = open_table(str(path / "t")).snapshots
    return [snapshots.load(number).changelog_record_count or 0 for number in range(1, (snapshots.latest_id() or 0) + 1)]


def source(spark: SparkSession, *given: tuple[int, int, str]) -> DataFrame:
    return spark.createDataFrame(list(given), SCHEMA)


KEYED = {"primary-key": "id", "bucket": "1"}
VECTORS = {"deletion-vectors.enabled": "true"}


@pytest.mark.parametrize("options", [{}, VECTORS, {"file.format": "orc"}], ids=["parquet", "vectors", "orc"])
def test_untouched_rows_of_an_append_table_keep_their_order(
    spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    table = made(spark, tmp_path, options)
    table.append(source(spark, (50, 0, "a")).coalesce(1))
    result = table.delete("v = 20 or upper(p) = 'NO'")
    assert (result.rows_deleted, result.rows_matched, result.files_read) == (1, 1, 2)
    assert result.files_rewritten == (0 if options == VECTORS else 1)
    first = [row for row in open_table(str(tmp_path / "t")).scan("id").to_arrow().column("id").to_pylist() if row < 10]
    assert first == [0, 1, 3, 4, 5]
    assert not table.check().problems
    if options != VECTORS:
        table.update("id = 3", {"v": "v + 1"})
        read = open_table(str(tmp_path / "t")).scan("id").to_arrow().column("id").to_pylist()
        assert [row for row in read if row < 10] == first


def test_files_that_cannot_match_are_not_looked_at(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path, {})
    table.append(source(spark, (100, 0, "a"), (101, 0, "a")).coalesce(1))
    result = table.delete("id >= 100")
    assert (result.files_read, result.files_rewritten, result.files_added) == (1, 1, 0)
    assert rows(table) == sorted(ROWS)
    assert table.delete("id > 1000").snapshot_id is None


def test_partitions_go_by_metadata(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path, {"partition": "p"})
    for file in (tmp_path / "t").glob("p=a/**/*.parquet"):
        file.write_bytes(b"not read")
    assert table.alias("t").delete("t.p = 'a'").rows_deleted == 3
    assert rows(table) == [row for row in ROWS if row[2] == "b"]
    assert table.delete("1 = 0").snapshot_id is None
    assert table.delete().rows_deleted == 3
    assert rows(table) == []


def test_an_update_may_move_rows_to_another_partition(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path, {"partition": "p"})
    assert table.update("id = 1", {"p": "concat('z', p)", "v": sf.col("v") * 2}).rows_updated == 1
    assert rows(table)[1] == (1, 20, "zb")
    assert not table.check().problems


def test_the_changelog_of_input_has_the_rows_before_an_update(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path, {**KEYED, "changelog-producer": "input"})
    before = open_table(str(tmp_path / "t")).snapshots.latest_id()
    table.update("id = 1", {"v": "11"})
    table.delete("id = 2")
    merged = table.alias("t").merge(source(spark, (3, 1, "m"), (9, 9, "m")).alias("s"), "t.id = s.id")
    merged.whenMatchedUpdate(set={"v": "s.v + t.v"}).whenNotMatchedInsertAll().execute()
    found = (
        spark.read.format("paimon")
        .option("incremental-between", f"{before},{before + 3}")
        .option("incremental-between-scan-mode", "changelog")
        .option("row-kinds", "true")
        .load(str(tmp_path / "t"))
        .collect()
    )
    assert sorted((row._row_kind, row.id, row.v) for row in found) == [
        ("+I", 9, 9), ("+U", 1, 11), ("+U", 3, 31), ("-D", 2, 20), ("-U", 1, 10), ("-U", 3, 30),
    ]  # fmt: skip


@pytest.mark.parametrize("engine", ["first-row", "aggregation", "partial-update"])
def test_engines_that_remove_no_rows_get_their_buckets_rewritten(
    spark: SparkSession, tmp_path: Path, engine: str
) -> None:
    table = made(spark, tmp_path, {**KEYED, "bucket": "2", "merge-engine": engine, "fields.v.aggregate-function": "sum"}
                 if engine == "aggregation" else {**KEYED, "bucket": "2", "merge-engine": engine})  # fmt: skip
    table.append(source(spark, (2, 1, "c"), (7, 7, "c")))
    before = rows(table)
    result = table.delete("v > 20 and v < 40 or v = 7")
    assert rows(table) == [row for row in before if not (20 < row[1] < 40 or row[1] == 7)]
    assert result.rows_deleted == len(before) - len(rows(table))
    assert not table.check().problems


SUMS = {**KEYED, "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}


@pytest.mark.parametrize("producer", ["input", "lookup", "full-compaction"])
def test_the_changelog_has_the_rows_that_a_rewrite_leaves_out(
    quick_spark: SparkSession, tmp_path: Path, producer: str
) -> None:
    table = made(quick_spark, tmp_path, {**SUMS, "changelog-producer": producer, "write-only": "true"})
    table.unset_options("write-only")  # the rows wait for a compaction to write them to the changelog
    table.delete("id in (2, 4)")
    counts = changelog_counts(tmp_path)
    assert counts[-1] == 2
    assert sum(counts) == len(ROWS) + 2
    assert rows(table) == [row for row in ROWS if row[0] not in (2, 4)]


def test_what_waits_for_a_compaction_does_not_matter_where_partitions_go(
    quick_spark: SparkSession, tmp_path: Path
) -> None:
    waiting = {"changelog-producer": "lookup", "write-only": "true", "partition": "p", "primary-key": "p,id"}
    table = made(quick_spark, tmp_path, {**SUMS, **waiting})
    with pytest.raises(UnsupportedFeature, match="wait for a compaction"):
        table.delete("id = 1")
    assert table.delete("p = 'a'").rows_deleted == 3


def test_a_rewrite_keeps_nulls_where_the_column_has_a_default(quick_spark: SparkSession, tmp_path: Path) -> None:
    table = made(quick_spark, tmp_path, {**SUMS, "bucket": "-2", "postpone.default-bucket-num": "1"})
    with table.update_schema() as change:
        change.add_column("d", "int")
    with table.update_schema() as change:
        change.set_default("d", "7")
    table.delete("id > 1")
    assert rows(table) == [(*row, None) for row in ROWS[:2]]


def test_a_group_without_its_sequence_field_is_not_changed(quick_spark: SparkSession, tmp_path: Path) -> None:
    group = {"fields.v.sequence-group": "p", "partial-update.remove-record-on-sequence-group": "v"}
    table = made(quick_spark, tmp_path, {**KEYED, "merge-engine": "partial-update", **group})
    table.append(quick_spark.createDataFrame([(9, None, None)], SCHEMA))
    for call in (lambda: table.update("id > 5", {"p": "'x'"}), lambda: table.delete("id > 5")):
        with pytest.raises(DataError, match="NULL"):
            call()
    table.update("id > 5", {"v": "1", "p": "'x'"})
    assert rows(table)[-1] == (9, 1, "x")
    assert table.delete("id > 5").rows_deleted == 1


def test_an_update_that_would_lose_to_the_stored_row_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path, {**KEYED, "sequence.field": "v"})
    with pytest.raises(DataError, match=r"^updating .*sequence field v is older"):
        table.update("id = 3", {"v": "v - 1", "p": "'x'"})
    table.update("id = 3", {"p": "'x'"})
    table.update("id = 4", {"v": "v + 1"})
    assert rows(table)[3:5] == [(3, 30, "x"), (4, 41, "a")]
    assert table.delete("id = 3").rows_deleted == 1
    assert len(rows(table)) == 5


def test_a_delete_removes_rows_where_rows_of_its_kind_are_ignored(quick_spark: SparkSession, tmp_path: Path) -> None:
    """The official connector writes rows of kind -D, which do nothing, and says nothing."""
    table = made(quick_spark, tmp_path, {**KEYED, "ignore-delete": "true", "changelog-producer": "input"})
    assert table.delete("id < 2").rows_deleted == 2
    with pytest.raises(UnsupportedFeature, match=r"'ignore-delete' = 'true' ignores .*; use DELETE"):
        table.alias("t").merge(source(quick_spark, (2, 0, "a")).alias("s"), "t.id = s.id").whenMatchedDelete().execute()
    assert changelog_counts(tmp_path) == [len(ROWS), 2]
    table.optimize().compact()
    assert rows(table) == ROWS[2:]
    assert table.update("id = 2", {"v": "7"}).rows_updated == 1
    assert not table.check().problems


def test_a_column_that_tells_row_kinds(quick_spark: SparkSession, tmp_path: Path) -> None:
    """Rows are updated and inserted while the column says so, as in Java; a DELETE rewrites files."""
    changelog = {"changelog-producer": "input", "rowkind.field": "p"}
    given = [(1, 10, "+I"), (2, 20, "+U"), (3, 30, "+I")]
    frame = source(quick_spark, *given).coalesce(1)
    frame.write.format("paimon").mode("append").options(**KEYED, **changelog).save(str(tmp_path / "t"))
    table = PaimonTable.forPath(quick_spark, str(tmp_path / "t"))
    assert table.update("id = 2", {"v": "21"}).rows_updated == 1
    assert table.update("id = 1", {"p": "'+U'"}).rows_updated == 1
    updates = source(quick_spark, (3, 31, "+I"), (4, 40, "+I")).alias("s")
    merge = table.alias("t").merge(updates, "t.id = s.id")
    done = merge.whenMatchedUpdate(set={"v": "s.v"}).whenNotMatchedInsertAll().execute()
    assert (done.rows_updated, done.rows_inserted) == (1, 1)
    after = [(1, 10, "+U"), (2, 21, "+U"), (3, 31, "+I"), (4, 40, "+I")]
    gone = source(quick_spark, (1, 0, "-D"), (5, 0, "-D")).alias("s")
    upsert = table.alias("t").merge(gone, "t.id = s.id").whenNotMatchedInsertAll()
    for call in (
        lambda: table.update("id = 2", {"p": "'-D'"}),
        lambda: table.update("id = 2", {"p": "NULL"}),
        upsert.execute,
        lambda: upsert.whenMatchedUpdateAll().execute(),
    ):
        with pytest.raises(DataError, match=r"^changing rows of .* the column 'p' .*must be \+I or \+U"):
            call()
    with pytest.raises(UnsupportedFeature, match=r"a column tells .*\('rowkind.field'\); use DELETE"):
        table.alias("t").merge(gone, "t.id = s.id").whenMatchedDelete().execute()
    assert rows(table) == after
    assert table.delete("id >= 3").rows_deleted == 2
    assert rows(table) == after[:2]
    assert changelog_counts(tmp_path) == [3, 1, 1, 2, 2]  # no row of kind -U before an update, as in Java
    assert not table.check().problems


def test_partial_update_cannot_set_null(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path, {**KEYED, "merge-engine": "partial-update"})
    with pytest.raises(DataError, match="'p' where a written one is NULL"):
        table.update("id = 3", {"p": "NULL"})
    assert table.update("id = 3", {"p": "'new'"}).rows_updated == 1
    assert rows(table)[3] == (3, 30, "new")


@pytest.mark.parametrize("options", [KEYED, {}], ids=["keyed", "append"])
def test_several_source_rows_for_one_row_show_its_key(
    spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    table = made(spark, tmp_path, options)
    merge = table.alias("t").merge(source(spark, (1, 1, "x"), (1, 2, "x"), (8, 8, "x")).alias("s"), "t.id = s.id")
    with pytest.raises(DataError, match=r'several rows of the source .*"id":1'):
        merge.whenMatchedUpdate(set={"v": "s.v"}).execute()
    with pytest.raises(DataError, match=r'several rows of the source .*"id":1'):
        merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert rows(table) == ROWS


def test_a_source_that_is_not_deterministic_is_computed_once(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path, {})
    drawn = spark.range(6).select("id", (sf.rand() * 1e9).cast("bigint").alias("v"), sf.lit("r").alias("p"))
    result = table.alias("t").merge(drawn.alias("s"), "t.id = s.id and s.v % 2 = 0").whenMatchedUpdateAll()
    done = result.whenNotMatchedInsertAll().execute()
    found = rows(table)
    assert done.rows_updated + done.rows_inserted == 6
    assert len(found) == 6 + done.rows_inserted
    # Drawn again, a row could be inserted with an even value, or replace one with an odd value.
    assert sum(row[1] % 2 == 0 and row[2] == "r" for row in found) == done.rows_updated


def test_the_target_may_be_the_source(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path, KEYED)
    merge = table.alias("t").merge(table.toDF(where="id < 2").alias("s"), "t.id = s.id + 1")
    result = merge.whenMatchedUpdate(set={"v": "s.v - 1"}).whenNotMatchedBySourceDelete("t.id > 3").execute()
    assert (result.rows_updated, result.rows_deleted) == (2, 2)
    assert rows(table) == [(0, 0, "a"), (1, -1, "b"), (2, 9, "a"), (3, 30, "b")]


def test_an_upsert_does_not_read_the_table(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path, KEYED)
    merge = table.alias("t").merge(source(spark, (1, 1, "x"), (8, 8, "x")).alias("s"), "t.id = s.id")
    result = merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert (result.files_read, result.rows_inserted) == (0, 2)
    assert rows(table) == sorted([*(row for row in ROWS if row[0] != 1), (1, 1, "x"), (8, 8, "x")])


@pytest.mark.parametrize(
    ("condition", "found"), [(None, "the argument 'condition' is None"), (" ", "the condition is empty")]
)
def test_an_update_of_all_rows_is_asked_for_by_a_condition(
    spark: SparkSession, tmp_path: Path, condition: str | None, found: str
) -> None:
    table = made(spark, tmp_path, KEYED)
    with pytest.raises(
        OptionError, match=rf"UPDATE of .*/t: {found}, and nothing was updated;.* call update\('true', "
    ):
        table.update(condition, {"v": "3"})
    assert rows(table) == ROWS


@pytest.mark.parametrize(
    ("condition", "name"),
    [
        ("id = nope", "`nope` cannot be resolved"),
        ("id = 1 AND (nope > DATE '2026-01-01')", "`nope` cannot be resolved"),
        ("NOT id = abs(id) OR source.nope IS NULL", "`source`.`nope` cannot be resolved"),
        ("id = id AND CASE WHEN id > abs(1) THEN TRUE ELSE NULL END", "`id` is ambiguous"),
        ("id IN (SELECT nope FROM VALUES (1) AS x(nope))", "`id` is ambiguous"),
    ],
)
def test_a_name_that_no_side_of_a_merge_has_is_named_before_one_that_both_have(
    spark: SparkSession, tmp_path: Path, condition: str, name: str
) -> None:
    merge = made(spark, tmp_path, KEYED).merge(source(spark, (1, 1, "x")), condition).whenMatchedDelete()
    with pytest.raises(AnalysisException, match=name):
        merge.execute()


def test_what_is_wrong_is_said_before_anything_is_written(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path, KEYED)
    updates = source(spark, (1, 1, "x")).alias("s")
    wrong = [
        (SqlError, "primary key", lambda: table.update("v = 1", {"ID": "3"})),
        (SqlError, "no column of the table", lambda: table.update("true", {"nope": "3"})),
        (SqlError, "more than once", lambda: table.update("true", {"v": "3", "`V`": "4"})),
        (SqlError, "no assignment", lambda: table.update("true", {})),
        (DataError, "cannot be stored", lambda: table.update("true", {"v": "date'2025-01-01'"})),
        (AnalysisException, "nope", lambda: table.delete("nope = 1")),
        (SqlError, "no clause", lambda: table.merge(updates, "id = s.id").execute()),
        (SqlError, "may have no condition", lambda: (
            table.alias("t").merge(updates, "t.id = s.id").whenMatchedDelete().whenMatchedUpdateAll().execute()
        )),
        (SqlError, r'src in the condition is the name of neither side.*source.alias\("src"\)', lambda: (
            table.alias("t").merge(source(spark, (1, 1, "x")), "t.id = src.id").whenMatchedUpdateAll().execute()
        )),
        (AnalysisException, r"could be: .*`source`\.`id`", lambda: (
            table.merge(source(spark, (1, 1, "x")), "id = id").whenMatchedDelete().execute()
        )),
        (OptionError, r"such as lit\(5\)", lambda: table.update("true", {"v": 5})),
        (OptionError, r"DELETE of .*/t: .*None, and nothing was deleted.*call delete\(\) without", lambda: (
            table.delete(None)
        )),
        (SqlError, r'UPDATE of .*/t: hello is no column.*"\'hello\'", or F.lit\("hello"\)', lambda: (
            table.update("id = 1", {"v": "1", "p": "hello"})
        )),
        (SqlError, "hello world is no column", lambda: (
            table.merge(updates, "target.id = s.id").whenMatchedUpdate(set={"p": "hello world"}).execute()
        )),
        (SqlError, r'DELETE of .*/t: .*Column of another DataFrame.*F.col\("id"\)', lambda: (
            table.delete(table.toDF()["id"] == 2)
        )),
        (SqlError, "UPDATE of .*Column of another DataFrame", lambda: table.update(updates.id == 1, {"v": "1"})),
        (SqlError, "UPDATE of .*Column of another DataFrame", lambda: table.update("id = 1", {"v": updates["v"]})),
        (SqlError, "MERGE INTO .*/t: .*Column of another DataFrame", lambda: (
            table.merge(updates, table.toDF()["id"] == updates["id"]).whenMatchedDelete().execute()
        )),
        (SqlError, r"belongs to the primary key.*: t\.id = s\.id$", lambda: (
            table.alias("t").merge(updates, "t.v = s.v").whenMatchedUpdateAll().execute()
        )),
        (SqlError, r"by = alone, with a column of the same type.*: t\.id = s\.id$", lambda: (
            table.alias("t").merge(updates, "t.id <=> s.id").whenMatchedUpdateAll().execute()
        )),
        (SqlError, r"as text, because a Column cannot be looked into: t\.id = s\.id$", lambda: (
            table.alias("t").merge(updates, sf.expr("t.id = s.id")).whenMatchedUpdateAll().execute()
        )),
        (SqlError, r"the condition 'id' is BIGINT, and no comparison; write 't\.id = s\.id'", lambda: (
            table.alias("t").merge(updates, "id", source_alias="s").whenMatchedUpdateAll().execute()
        )),
        (SqlError, r"the condition 'v' is BIGINT, and no comparison; write 'target\.v = source\.v'", lambda: (
            table.merge(updates, "v").whenMatchedDelete().execute()
        )),
        (OptionError, r"DELETE of .*/t: the condition is empty, and nothing was deleted.*delete\(\) without", lambda: (
            table.delete(" ")
        )),
    ]  # fmt: skip
    for error, message, call in wrong:
        with pytest.raises(error, match=message):
            call()
    assert rows(table) == ROWS


@pytest.mark.parametrize("options", [{}, {**KEYED, "merge-engine": "first-row"}], ids=["append", "first-row"])
def test_names_of_columns_with_dots_and_backquotes(
    quick_spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    frame = quick_spark.createDataFrame([(i, i, i) for i in range(4)], "id bigint, a bigint, b bigint")
    named = frame.toDF("id", "a.b", "`c`").coalesce(1)
    named.write.format("paimon").mode("append").options(**options).save(str(tmp_path / "t"))
    table = PaimonTable.forPath(quick_spark, str(tmp_path / "t"))
    table.delete("`a.b` = 1")
    if not options:
        table.update("```c``` = 2", {"`a.b`": "```c``` + 5"})
    assert rows(table) == [(0, 0, 0), (2, 2 if options else 7, 2), (3, 3, 3)]


def test_a_condition_that_varies_is_computed_once_where_buckets_are_rewritten(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.range(1000).selectExpr("id", "id v")
    options = {**KEYED, "merge-engine": "first-row"}
    frame.write.format("paimon").mode("append").options(**options).save(str(tmp_path / "t"))
    table = PaimonTable.forPath(spark, str(tmp_path / "t"))
    left = 1000
    for condition in ("rand() < 0.5", sf.rand() < 0.5):
        left -= table.delete(condition).rows_deleted
        assert len(rows(table)) == left
    assert 0 < left < 1000
    assert not table.check().problems


def test_a_function_that_keeps_older_values_cannot_set_null(quick_spark: SparkSession, tmp_path: Path) -> None:
    group = {"fields.v.sequence-group": "p", "fields.p.aggregate-function": "last_non_null_value"}
    table = made(quick_spark, tmp_path, {**KEYED, "merge-engine": "partial-update", **group})
    with pytest.raises(DataError, match="'p' where a written one is NULL"):
        table.update("id = 3", {"p": "NULL"})
    assert table.update("id = 3", {"p": "'new'"}).rows_updated == 1
    assert rows(table)[3] == (3, 30, "new")


def test_a_column_comes_before_a_field_where_the_table_is_called_as_another_column(
    quick_spark: SparkSession, tmp_path: Path
) -> None:
    """As Spark reads t.x in the expressions."""
    frame = quick_spark.sql("select 1 id, named_struct('x', 1, 'y', 2) t, 7 x")
    frame.write.format("paimon").mode("append").save(str(tmp_path / "t"))
    table = PaimonTable.forPath(quick_spark, str(tmp_path / "t")).alias("t")
    table.update("t.x = 7", {"t.x": "t.x + 1", "t.y": "5"})
    assert [(row.x, tuple(row.t)) for row in table.toDF().collect()] == [(8, (1, 5))]


@pytest.mark.parametrize("options", [{}, {**KEYED, "merge-engine": "first-row"}], ids=["append", "first-row"])
def test_names_of_columns_that_the_job_has_too(spark: SparkSession, tmp_path: Path, options: dict[str, str]) -> None:
    frame = spark.createDataFrame([(1, 10), (2, 20)], "id bigint, n bigint").toDF("id", "_Paimon_Bucket")
    frame.write.format("paimon").mode("append").options(**options).save(str(tmp_path / "t"))
    table = PaimonTable.forPath(spark, str(tmp_path / "t"))
    with pytest.raises(UnsupportedFeature, match=r"DELETE of .* has the column '_Paimon_Bucket'.* rename the column"):
        table.delete("_Paimon_Bucket = 10")
    other = made(spark, tmp_path / "other", {}).alias("t")
    with pytest.raises(UnsupportedFeature, match="MERGE INTO t: the source has the column '_Paimon_Bucket'"):
        other.merge(frame.alias("s"), "t.id = s.id").whenMatchedDelete().execute()


def test_an_upsert_of_floats_keeps_the_key_that_equals_another(quick_spark: SparkSession, tmp_path: Path) -> None:
    """-0.0 and 0.0 are two keys of a table, and equal in a condition."""
    frame = quick_spark.createDataFrame([(-0.0, 1), (1.0, 2)], "k double, v int")
    frame.write.format("paimon").mode("append").options(**{"primary-key": "k", "bucket": "1"}).save(str(tmp_path / "t"))
    table = PaimonTable.forPath(quick_spark, str(tmp_path / "t")).alias("t")
    new = quick_spark.createDataFrame([(0.0, 10), (3.0, 30)], "k double, v int").alias("s")
    done = table.merge(new, "t.k = s.k").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert (done.rows_updated, done.rows_inserted) == (1, 1)
    assert rows(table) == [(0.0, 10), (1.0, 2), (3.0, 30)]


@pytest.mark.parametrize("options", [{}, KEYED], ids=["append", "keyed"])
def test_rows_of_the_source_that_no_clause_takes_may_have_one_key(
    spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    table = made(spark, tmp_path, options).alias("t")
    new = source(spark, (7, 1, "no"), (7, 2, "no"), (7, 3, "in"), (8, 1, "no"), (8, 2, "no"), (1, 99, "up")).alias("s")
    merge = table.merge(new, "t.id = s.id").whenMatchedUpdate("s.p = 'up'", {"v": "s.v"})
    merge.whenNotMatchedInsert("s.p = 'in'", {"id": "s.id", "v": "s.v"}).execute()
    assert rows(table) == sorted([*(row for row in ROWS if row[0] != 1), (1, 99, "b"), (7, 3, None)])
    twice = source(spark, (9, 1, "in"), (9, 2, "in")).alias("s")
    merge = table.merge(twice, "t.id = s.id").whenMatchedDelete("s.p = 'no'")
    if options:
        with pytest.raises(DataError, match=r'several rows of the source match the row .*"id":9'):
            merge.whenNotMatchedInsertAll("s.p = 'in'").execute()
    else:
        assert merge.whenNotMatchedInsertAll("s.p = 'in'").execute().rows_inserted == 2


@pytest.mark.parametrize(
    ("key", "options"),
    [("at", {}), ("id", {"merge-engine": "first-row"})],
    ids=["key", "rewritten"],
)
def test_times_that_spark_cuts_are_not_written_back(
    quick_spark: SparkSession, tmp_path: Path, key: str, options: dict[str, str]
) -> None:
    """A row of kind -D would have another key and delete nothing; rows that stay would lose digits."""
    builder = PaimonTable.create(quick_spark).location(str(tmp_path / "t")).primaryKey(key).property("bucket", "1")
    builder = builder.addColumn("id", "BIGINT NOT NULL").addColumn("at", "TIMESTAMP(9)" + " NOT NULL" * (key == "at"))
    table = builder.properties(options).execute()
    with pytest.raises(UnsupportedFeature, match="the column 'at' has times finer than microseconds"):
        table.delete("id = 1")


@pytest.mark.parametrize("options", [{}, {"deletion-vectors.enabled": "true"}, {"bucket": "1", "primary-key": "id"}])
def test_an_update_that_would_cut_times_is_refused(
    quick_spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    """Columns that are not assigned go through Spark, which has no digits behind microseconds."""
    builder = PaimonTable.create(quick_spark).location(str(tmp_path / "t")).properties(options)
    builder = builder.addColumn("id", "BIGINT NOT NULL").addColumn("at", "TIMESTAMP(9)").addColumn("v", "INT")
    table = builder.execute()
    told = "the column 'at' has times finer than microseconds, whose last digits Spark cuts: the rows that are updated"
    with pytest.raises(UnsupportedFeature, match=told):
        table.update("id = 1", {"v": "2"})
    source = quick_spark.createDataFrame([(1, 2)], "id long, v int").alias("s")
    merge = table.alias("t").merge(source, "t.id = s.id")
    with pytest.raises(UnsupportedFeature, match=told):
        merge.whenMatchedUpdate(set={"v": "s.v"}).execute()
    assert table.update("id = 1", {"v": "2", "at": "NULL"}).rows_updated == 0
    assert table.delete("id = 1").rows_deleted == 0


@pytest.mark.parametrize(
    ("condition", "compacted", "stays"),
    [
        ("abs(v) >= 20", False, True),
        (lambda: sf.col("v") >= 20, False, False),
        ("v >= (select 20)", False, False),
        ("v >= 20", False, True),
        ("v >= 20", True, True),
        ("abs(v) >= 20", True, False),
    ],
    ids=["sql", "column", "sub-query", "decided", "decided, compacted", "read by Spark"],
)
def test_changed_rows_of_merged_buckets_stay_in_the_tasks_that_read_them(
    quick_spark: SparkSession, tmp_path: Path, condition: Any, compacted: bool, stays: bool
) -> None:
    """They are shuffled where Spark may have brought them to other tasks; each bucket gets one file at any rate."""
    condition = condition() if callable(condition) else condition  # a Column needs a session
    table = made(quick_spark, tmp_path, {"primary-key": "id", "bucket": "2", "write-only": "true"})
    newer = [(i, 10 * i + 1, "n") for i in range(len(ROWS))]
    table.append(source(quick_spark, *newer))
    if compacted:
        table.optimize().compact()
    before = set(tmp_path.glob("t/bucket-*/*.parquet"))
    tracker, context, group = quick_spark.sparkContext.statusTracker(), quick_spark.sparkContext, str(uuid.uuid4())
    quick_spark.conf.set("spark.paimon.read.local", "false")
    context.setJobGroup(group, "")
    try:
        updated = table.update(condition, {"v": "v + 1"})
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # the stub forgets None
        quick_spark.conf.unset("spark.paimon.read.local")
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    assert (max(len(job.stageIds) for job in jobs if job is not None) == 1) is stays
    chosen = {i for i, v, _ in newer if v >= 20}
    assert updated.rows_updated == len(chosen)
    assert rows(table) == [(i, v + (i in chosen), p) for i, v, p in newer]
    new = set(tmp_path.glob("t/bucket-*/*.parquet")) - before
    assert len({file.parent for file in new}) == len(new) == 2
    assert table.delete(condition).rows_deleted == len(chosen)
    assert rows(table) == [row for row in newer if row[0] not in chosen]
    assert not table.check().problems


@pytest.mark.parametrize("options", [{}, VECTORS], ids=["copied", "vectors"])
@pytest.mark.parametrize(
    "change",
    [lambda table: table.delete("id % 4000 = 7"), lambda table: table.update("id % 4000 = 7", {"v": "v + 1"})],
    ids=["delete", "update"],
)
def test_few_changes_of_a_larger_table_are_applied_by_this_process(
    quick_spark: SparkSession, tmp_path: Path, options: dict[str, str], change: Any
) -> None:
    """It has not read the rows itself, for they are more than it reads; it starts fewer jobs, and the rows are those
    of the jobs."""
    tracker, context, found = quick_spark.sparkContext.statusTracker(), quick_spark.sparkContext, []
    for here in ("true", "false"):
        frame = quick_spark.range(40_000).selectExpr("id", "id * 10 as v", "'a' as p").coalesce(1)
        path = str(tmp_path / here)
        frame.write.format("paimon").mode("append").options(**options).save(path)
        table, group = PaimonTable.forPath(quick_spark, path), str(uuid.uuid4())
        quick_spark.conf.set("spark.paimon.write.local", here)
        context.setJobGroup(group, "")
        try:
            result = change(table)
        finally:
            context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # the stub forgets None
            quick_spark.conf.unset("spark.paimon.write.local")
        assert result.rows_deleted + result.rows_updated == 10
        assert not table.check().problems
        changed = [row for row in rows(table) if row[0] % 4000 == 7 or row[1] != 10 * row[0]]
        found.append((len(tracker.getJobIdsForGroup(group)), len(rows(table)), changed))
    (jobs_here, *rows_here), (jobs, *rows_of_jobs) = found
    assert rows_here == rows_of_jobs
    assert jobs_here < jobs
