"""The road of df.write: creation, alignment, overwrites, row kinds, failures."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, IllegalArgumentException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

from paimon_spark import PaimonTable, open_table
from paimon_spark.errors import CommitStateUnknown, DataError, PaimonError
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.types import Root
from paimon_spark.spark.adapters.batches import FrameColumns
from paimon_spark.spark.adapters.options import write_options
from paimon_spark.spark.source.writer import PaimonWriter, open_writer
from paimon_spark.writes.open_write import open_job

pytestmark = pytest.mark.spark
NONE: Mapping[str, str] = {}
KEYED = {"primary-key": "id", "bucket": "2"}
BY_DAY = {"primary-key": "dt,id", "partition": "dt", "bucket": "1"}


def save(frame: DataFrame, path: Path, options: Mapping[str, str] = NONE, mode: str = "append") -> None:
    frame.write.format("paimon").mode(mode).options(**options).save(str(path))


def rows(path: Path, where: str | None = None) -> list[tuple[Any, ...]]:
    table = open_table(str(path)).scan(where=where).to_arrow()
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


def data_files(path: Path) -> set[Path]:
    return {p for p in path.rglob("*") if p.parent.name.startswith("bucket-")}


def snapshots(path: Path) -> int:
    return open_table(str(path)).snapshots.latest_id() or 0


def test_a_missing_table_is_created_from_the_dataframe_and_the_options(spark: SparkSession, tmp_path: Path) -> None:
    schema = StructType.fromDDL("ID bigint, Day date, note string COMMENT 'free text', tags array<string>")
    frame = spark.createDataFrame([(1, None, "a", ["x"])], schema).withColumn("Day", sf.lit("2026-11-01").cast("date"))
    options = {
        "PRIMARY-KEY": "day,id",
        "Partition": "DAY",
        "bucket": "3",
        "fields.NOTE.stats-mode": "full",
        "File.Format": "orc",
    }
    save(frame, tmp_path / "t", options)
    table = open_table(str(tmp_path / "t"))
    assert table.schema.primary_keys == ("Day", "ID")
    assert table.schema.partition_keys == ("Day",)
    assert table.schema.options == {"bucket": "3", "fields.note.stats-mode": "full", "file.format": "orc"}
    shown = [(f.id, f.name, f.type.root, f.type.nullable, f.description) for f in table.schema.fields]
    assert shown == [
        (0, "ID", Root.BIGINT, False, None),
        (1, "Day", Root.DATE, False, None),
        (2, "note", Root.VARCHAR, True, "free text"),
        (3, "tags", Root.ARRAY, True, None),
    ]
    assert [p.suffix for p in data_files(tmp_path / "t")] == [".orc"]


def test_columns_of_a_new_table_may_be_null_whatever_the_dataframe_says(spark: SparkSession, tmp_path: Path) -> None:
    save(spark.range(1).selectExpr("id", "array(id) a", "struct(id as x) s"), tmp_path / "t")
    fields = open_table(str(tmp_path / "t")).schema.fields
    assert all(f.type.nullable for f in fields)
    assert fields[1].type.inner.nullable
    assert fields[2].type.fields[0].type.nullable


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"primary-key": "nope", "bucket": "1"}, "nope"),
        ({"bucket": "0"}, "bucket"),
        ({"buckets": "2"}, "'buckets' is not known"),
        ({"bucket": "abc"}, "option 'bucket' has the value 'abc': expected a whole number such as 4"),
        ({"spark.paimon.write-only": "true"}, "session setting of the official connector; give 'write-only'"),
        ({"columns": "id"}, "option of reads"),
        ({"scan.snapshot-id": "1"}, "on top of the latest snapshot"),
        ({"overwrite-where": "id = 1"}, r"mode\('overwrite'\)"),
        ({"row-kind-column": "op"}, "must name one string column"),
        ({"branch": "b"}, "a new table has no branch"),
    ],
)
def test_a_refused_creation_leaves_nothing(
    spark: SparkSession, tmp_path: Path, options: dict[str, str], message: str
) -> None:
    with pytest.raises(AnalysisException, match=message):
        save(spark.range(3), tmp_path / "t", options)
    assert not (tmp_path / "t").exists()


def test_a_path_within_a_table_is_not_written_on_any_road(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(1, "a")], "id int, d string")
    save(frame, tmp_path / "t", {"partition": "d"})
    before = data_files(tmp_path)
    for path, words in (("t/d=b", "it is within the table"), ("t$files", "a system table, which cannot be written")):
        place = str(tmp_path / path)
        stream = spark.readStream.format("rate").load().selectExpr("cast(value as int) id", "'b' d").writeStream
        stream = stream.format("paimon").option("checkpointLocation", f"{tmp_path}/ck{path[1]}")
        for mode in ("append", "overwrite"):
            with pytest.raises(PySparkException, match=words):
                save(frame, Path(place), mode=mode)
        with pytest.raises(PaimonError, match=words):
            PaimonTable.create(spark).location(place).addColumn("id", "int").execute()
        with pytest.raises(PySparkException, match=words):
            stream.trigger(availableNow=True).start(place).awaitTermination()
        assert not Path(place).exists()
    assert data_files(tmp_path) == before


def test_calls_that_spark_cannot_pass_on_say_what_to_do(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(2)
    with pytest.raises(AnalysisException, match=r"no path was given.*save\('<path of the table>'\)"):
        frame.write.format("paimon").mode("append").save()
    with pytest.raises(AnalysisException, match=r"no path was given.*saveAsTable"):
        frame.write.format("paimon").mode("append").saveAsTable("nowhere_t")
    save(frame, tmp_path / "there")
    for mode, name in itertools.product(("ignore", "errorifexists", "error", "default", None), ("t", "there")):
        with pytest.raises(AnalysisException, match=r'SAVE_MODE.*use either the "Append" or "Overwrite" mode'):
            frame.write.format("paimon").mode(mode).save(str(tmp_path / name))
    with pytest.raises(IllegalArgumentException, match="partitioning or clustering columns"):
        frame.write.format("paimon").mode("append").partitionBy("id").save(str(tmp_path / "t"))
    with pytest.raises(AnalysisException, match="does not support bucketBy"):
        frame.write.format("paimon").mode("append").bucketBy(2, "id").save(str(tmp_path / "t"))


def test_rows_are_aligned_by_name_and_cast(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(spark.createDataFrame([(1, 2.5, "x")], "id bigint, v double, s string"), path, KEYED)
    save(spark.createDataFrame([("y", 2, 7)], "S string, ID int, v short"), path)
    save(spark.createDataFrame([(3,)], "id int"), path, {"write.missing-columns": "null"})
    assert rows(path) == [(1, 2.5, "x"), (2, 7.0, "y"), (3, None, None)]


@pytest.mark.parametrize("mode", ["append", "overwrite"])
@pytest.mark.parametrize("options", [KEYED, {}], ids=["key", "append"])
def test_a_forgotten_column_is_an_error_on_every_road(
    spark: SparkSession, tmp_path: Path, mode: str, options: dict[str, str]
) -> None:
    path = tmp_path / "t"
    save(spark.createDataFrame([(1, "a", 10.0)], "id bigint, name string, price double"), path, options)
    forgotten = spark.createDataFrame([(1, "A")], "id bigint, name string")
    message = r"column 'price' DOUBLE is missing\. Write all columns.*'write\.missing-columns'"
    with pytest.raises(PySparkException, match=message):
        save(forgotten, path, mode=mode)
    table = PaimonTable.forPath(spark, str(path))
    write = table.append if mode == "append" else table.overwrite
    with pytest.raises(DataError, match=message):
        write(forgotten)
    with pytest.raises(DataError, match=message):
        table.overwrite(forgotten, options={"dynamic-partition-overwrite": "true"})
    assert rows(path) == [(1, "a", 10.0)]
    write(forgotten, options={"Write.Missing-Columns": "NULL"})
    assert (1, "A", None) in rows(path)


def test_sql_fills_a_list_of_columns_before_the_table_sees_it(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(spark.createDataFrame([(1, "a", 10.0)], "id bigint, name string, price double"), path, KEYED)
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW listed USING paimon OPTIONS (path '{path}')")
    spark.sql("INSERT INTO listed (price, id) VALUES (2.5D, 2)")
    assert rows(path) == [(1, "a", 10.0), (2, None, 2.5)]


def test_partial_update_rows_tell_only_what_they_change(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    options = {**KEYED, "merge-engine": "partial-update"}
    save(spark.createDataFrame([(1, "a", 10.0)], "id bigint, name string, price double"), path, options)
    save(spark.createDataFrame([(1, "A")], "id bigint, name string"), path)
    assert rows(path) == [(1, "A", 10.0)]
    with pytest.raises(PySparkException, match="column 'price' DOUBLE is missing"):
        save(spark.createDataFrame([(1, "B")], "id bigint, name string"), path, mode="overwrite")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ("select 1L id, 'x' v, 1 more", r"'v' is STRING, the table has INT.*'more' is not in the table"),
        ("select 1 v", r"'id' .*is missing and must not be null"),
        ("select 1L id, 1 v, 2 V", "column 'V' is not in the table.*'write.merge-schema' = 'true'"),
        ("select 1L id, 1 v, 2 v", r"the table: column 'v' appears more than once; rename or drop one of them\s"),
        ("select 1L id, interval 1 day v", "'v'.*interval day.*: cast it to STRING"),
    ],
)
def test_a_dataframe_that_does_not_fit_fails_before_any_task(
    spark: SparkSession, tmp_path: Path, frame: str, message: str
) -> None:
    path = tmp_path / "t"
    save(spark.sql("select 1L id, 1 v"), path, KEYED)
    with pytest.raises(PySparkException, match=f"(?s){message}"):
        save(spark.sql(frame), path)
    assert rows(path) == [(1, 1)]
    assert snapshots(path) == 1


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ("select id, id * 4000000000 v from range(4)", "v.*does not fit into INT"),
        ("select nullif(id, 3) id, 1 v from range(4)", "'id'.*null"),
    ],
)
def test_a_bad_row_fails_the_job_and_leaves_no_file_of_its_task(
    spark: SparkSession, tmp_path: Path, frame: str, message: str
) -> None:
    path = tmp_path / "t"
    save(spark.sql("select 1L id, 1 v"), path, KEYED)
    before = data_files(path)
    with pytest.raises(PySparkException, match=f"(?s){message}"):
        save(spark.sql(frame).coalesce(1), path)
    assert data_files(path) == before
    assert snapshots(path) == 1


def test_the_later_row_of_the_dataframe_wins(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(4000, numPartitions=3).selectExpr("id % 10 id", "id v").coalesce(2)
    save(frame, tmp_path / "t", KEYED)
    assert rows(tmp_path / "t") == [(k, 3990 + k) for k in range(10)]
    save(spark.createDataFrame([(1, 1), (1, 2)], "id bigint, v bigint").coalesce(1), tmp_path / "t")
    assert rows(tmp_path / "t", "id = 1") == [(1, 2)]


def test_options_of_a_write_hold_for_that_write_only(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(spark.range(2), path, KEYED)
    save(spark.range(2, 4), path, {**KEYED, "File.Format": "avro"})
    assert {p.suffix for p in data_files(path)} == {".parquet", ".avro"}
    assert "file.format" not in open_table(str(path)).schema.options
    assert [r[0] for r in rows(path)] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("option", "value"),
    [("primary-key", "id,v"), ("partition", "id"), ("bucket", "3"), ("bucket-key", "v"), ("merge-engine", "first-row")],
)
def test_an_option_that_contradicts_the_table_is_refused(
    spark: SparkSession, tmp_path: Path, option: str, value: str
) -> None:
    path = tmp_path / "t"
    save(spark.sql("select 1L id, 1 v"), path, KEYED)
    with pytest.raises(AnalysisException, match=f"(?s){option}.*(contradicts|cannot)"):
        save(spark.sql("select 2L id, 1 v"), path, {option: value})
    assert snapshots(path) == 1


def test_overwrite_replaces_the_whole_table(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    days = spark.sql("select id, concat('d', id % 3) dt, 'old' v from range(6)")
    save(days, path, BY_DAY)
    save(spark.sql("select 9L id, 'd9' dt, 'new' v"), path, mode="overwrite")
    assert rows(path) == [(9, "d9", "new")]
    save(days.where("false"), path, mode="overwrite")
    assert rows(path) == []
    assert snapshots(path) == 3


def test_static_and_dynamic_partition_overwrite(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(spark.sql("select id, concat('d', id % 3) dt, 'old' v from range(6)"), path, BY_DAY)
    new = spark.sql("select 0L id, 'd1' dt, 'new' v")
    save(new, path, {"dynamic-partition-overwrite": "true"}, "overwrite")
    assert rows(path, "dt = 'd1'") == [(0, "d1", "new")]
    assert len(rows(path)) == 5
    save(new.where("false"), path, {"dynamic-partition-overwrite": "true"}, "overwrite")
    assert len(rows(path)) == 5
    save(new, path, {"Overwrite-Where": "dt in ('d0', 'd1')"}, "overwrite")
    assert rows(path) == [(0, "d1", "new"), (2, "d2", "old"), (5, "d2", "old")]
    before = data_files(path)
    with pytest.raises(AnalysisException, match=r"d1.*not among the partitions to replace"):
        save(new, path, {"overwrite-where": "dt = 'd2'"}, "overwrite")
    assert data_files(path) == before
    with pytest.raises(AnalysisException, match="v is no partition column"):
        save(new, path, {"overwrite-where": "v = 'new'"}, "overwrite")
    with pytest.raises(AnalysisException, match="expected the values of partition columns"):
        save(new, path, {"overwrite-where": "dt > 'd1'"}, "overwrite")
    assert len(rows(path)) == 3


def test_the_session_says_which_partitions_an_overwrite_replaces(spark: SparkSession, tmp_path: Path) -> None:
    """As for Spark's own sources; an option of the write comes before."""
    path, plain = tmp_path / "t", tmp_path / "plain"
    save(spark.sql("select id, concat('d', id % 3) dt, 'old' v from range(6)"), path, BY_DAY)
    save(spark.sql("select id from range(6)"), plain)
    new = spark.sql("select 0L id, 'd1' dt, 'new' v")
    setting = "spark.sql.sources.partitionOverwriteMode"
    before = spark.conf.get(setting)
    spark.conf.set(setting, "DYNAMIC")
    try:
        save(new, path, mode="overwrite")
        assert rows(path, "dt = 'd1'") == [(0, "d1", "new")]
        assert len(rows(path)) == 5
        save(new.where("false"), path, mode="overwrite")
        assert len(rows(path)) == 5
        once = {"once.application": "job", "once.version": "1"}
        save(spark.sql("select 7L id, 'd2' dt, 'new' v"), path, once, "overwrite")
        assert [row for row in rows(path) if row[2] == "new"] == [(0, "d1", "new"), (7, "d2", "new")]
        save(new, path, {"overwrite-where": "dt in ('d1', 'd2')"}, "overwrite")
        assert rows(path) == [(0, "d0", "old"), (0, "d1", "new"), (3, "d0", "old")]
        with pytest.raises(PySparkException, match="'dynamic-partition-overwrite' = 'false' too"):
            save(new, path, {"overwrite-schema": "true"}, "overwrite")
        save(new, path, {"dynamic-partition-overwrite": "false"}, "overwrite")
        assert rows(path) == [(0, "d1", "new")]
        save(spark.sql("select 9L id"), plain, mode="overwrite")
        assert rows(plain) == [(9,)]
    finally:
        spark.conf.set(setting, before or "static")


def test_row_kinds_in_a_column_that_is_not_stored(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(spark.sql("select id, 'old' v, '+I' op from range(4)"), path, {**KEYED, "row-kind-column": "OP"})
    assert open_table(str(path)).schema.names == ("id", "v")
    changes = [(0, None, "-D"), (1, "before", "-U"), (1, "after", "+U"), (9, "new", "+I")]
    frame = spark.createDataFrame(changes, "id bigint, v string, op string").coalesce(1)
    save(frame, path, {"row-kind-column": "op"})
    assert rows(path) == [(1, "after"), (2, "old"), (3, "old"), (9, "new")]
    bad = spark.createDataFrame([(0, "x", "D"), (1, "x", None)], frame.schema).coalesce(1)
    with pytest.raises(PySparkException, match="'op' holds 'D', None; expected"):
        save(bad, path, {"row-kind-column": "op"})
    save(spark.range(1), tmp_path / "append")
    with pytest.raises(AnalysisException, match="needs a primary key"):
        save(spark.sql("select 1L id, '-D' op"), tmp_path / "append", {"row-kind-column": "op"})


def test_a_deletion_that_no_merge_takes_is_not_committed(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(spark.sql("select 1L id, 'a' v"), path, {**KEYED, "merge-engine": "partial-update"})
    with pytest.raises(PySparkException, match=r"found 1 rows of kind -D.*'partial-update.remove-record-on-delete'"):
        save(spark.sql("select 2L id, 'b' v, '-D' op"), path, {"row-kind-column": "op"})
    assert snapshots(path) == 1
    save(spark.sql("select 2L id, 'c' v"), path)
    assert rows(path) == [(1, "a"), (2, "c")]


def test_no_rows_commit_nothing(spark: SparkSession, tmp_path: Path) -> None:
    save(spark.range(0), tmp_path / "t")
    assert snapshots(tmp_path / "t") == 0


def test_jobs_that_create_one_table_at_the_same_moment_all_have_their_rows(spark: SparkSession, tmp_path: Path) -> None:
    path, together, schema = tmp_path / "t", threading.Barrier(4), spark.range(0).schema

    def run(start: int) -> None:
        together.wait()
        writer = open_writer(write_options({"path": str(path), **KEYED}), schema, overwrite=False)
        writer.commit([written(writer, range(start, start + 10))])

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(run, range(0, 40, 10)))
    assert sorted(r[0] for r in rows(path)) == list(range(40))
    assert snapshots(path) == 4
    assert [p.name for p in (path / "schema").iterdir()] == ["schema-0"]


def test_insert_into_and_overwrite_a_temporary_view(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(spark.sql("select 1L id, cast('a' as varchar(3)) v, 1 n"), path, {**KEYED})
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW into_v USING paimon OPTIONS (path '{path}')")
    spark.sql("INSERT INTO into_v VALUES (2, 'b', 2), (3, NULL, NULL)")
    spark.sql("INSERT INTO into_v SELECT id + 10, v, n FROM into_v WHERE id = 1")
    assert rows(path) == [(1, "a", 1), (11, "a", 1), (2, "b", 2), (3, None, None)]
    spark.sql("INSERT OVERWRITE into_v VALUES (5, 'e', 5)")
    assert rows(path) == [(5, "e", 5)]


def test_types_that_spark_shows_differently_are_written_back_as_they_are_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    made = PaimonTable.create(spark).location(str(path)).addColumn("id", "INT NOT NULL").addColumn("t", "TIME(3)")
    made.addColumn("c", "CHAR(3)").addColumn("v", "VARCHAR(3)").property("bucket", "1").primaryKey("id").execute()
    save(
        spark.createDataFrame([(1, 86_399_999, "a", "b"), (2, None, None, None)], "id int, t int, c string, v string"),
        path,
    )
    back = spark.read.format("paimon").load(str(path))
    assert sorted(back.collect()) == [(1, 86_399_999, "a  ", "b"), (2, None, None, None)]
    save(back.withColumn("id", sf.col("id") + 10), path)
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW types_v USING paimon OPTIONS (path '{path}')")
    with pytest.raises(PySparkException, match=r"(?i)insert"):  # Spark pads its CHAR
        spark.sql("INSERT INTO types_v VALUES (3, 0, 'c', 'd')")
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    late = spark.read.format("paimon").option("push-filters", "true").load(str(path)).where("t > 86399998 and c = 'a'")
    assert sorted(late.collect()) == [(1, 86_399_999, "a  ", "b"), (11, 86_399_999, "a  ", "b")]
    spark.conf.unset("spark.sql.python.filterPushdown.enabled")
    with pytest.raises(PySparkException, match=r"'c'.*does not fit into CHAR"):
        save(spark.sql("select 9 id, 0 t, 'abcd' c, 'b' v"), path)


def writer_for(spark: SparkSession, path: Path, overwrite: bool = False) -> PaimonWriter:
    return open_writer(write_options({"path": str(path)}), spark.range(0).schema, overwrite)


def written(writer: PaimonWriter, values: range) -> WriterCommitMessage:
    return writer.write(iter([pa.RecordBatch.from_arrays([pa.array(values, pa.int64())], names=["id"])]))


def test_abort_after_a_failed_task_deletes_the_files_of_the_others(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(spark.range(3), path, KEYED)
    before = data_files(path)
    writer = writer_for(spark, path)
    message = written(writer, range(5))
    assert data_files(path) > before
    writer.abort([message, None])
    assert data_files(path) == before


def test_a_first_write_that_fails_says_that_its_table_stays(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, warning = tmp_path / "t", f"the table at {tmp_path / 't'}, which a write makes where there is none"
    first, second = writer_for(spark, path), writer_for(spark, path)
    first.abort([written(first, range(5)), None])
    assert warning in caplog.text
    assert not data_files(path)
    caplog.clear()
    second.commit([written(second, range(3))])  # a job that had opened the table
    assert len(rows(path)) == 3
    writer_for(spark, path).abort([None])
    assert not caplog.text


def test_abort_after_a_commit_that_was_made_deletes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(spark.range(3), path, KEYED)
    writer = writer_for(spark, path)
    message = written(writer, range(5))
    writer.commit([message])
    after = data_files(path)
    writer.abort([message])  # as Spark does when the answer of the commit was lost
    writer.abort([message, None])
    assert data_files(path) == after
    assert len(rows(path)) == 5
    writer.commit([message])  # the job's driver tries once more
    assert snapshots(path) == 2


class NoAnswer(LocalFileIO):
    """A store that takes data files but never answers when a snapshot is published."""

    def create_if_absent(self, path: str, data: bytes) -> bool:
        raise TimeoutError(path)


def test_an_uncertain_commit_deletes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(spark.range(3), path, KEYED)
    job = open_job(write_options({"path": str(path)}), FrameColumns(spark.range(0).schema), overwrite=False)
    writer = PaimonWriter(replace(job, table=replace(job.table, file_io=NoAnswer())))
    message = written(writer, range(5))
    after = data_files(path)
    with pytest.raises(CommitStateUnknown, match="Nothing was deleted"):
        writer.commit([message])
    writer.abort([message])
    assert data_files(path) == after
    PaimonWriter(job).commit([message])  # the store answers again
    assert len(rows(path)) == 5


@pytest.mark.parametrize(("options", "told"), [({"write.create-table": "false"}, 1), ({}, 0)])
def test_an_insert_into_a_view_tells_of_its_old_plan(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture, options: dict[str, str], told: int
) -> None:
    frame = spark.sql("select 1L id")
    save(frame, tmp_path / "t")
    given = write_options({"path": str(tmp_path / "t"), **options})
    writer = open_writer(given, frame.schema, overwrite=False)
    writer.commit([writer.write(iter([pa.RecordBatch.from_pydict({"id": [2]})]))])
    assert rows(tmp_path / "t") == [(1,), (2,)]
    assert caplog.text.count("a view that was queried before shows the state of its first query") == told
