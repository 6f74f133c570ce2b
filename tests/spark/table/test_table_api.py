"""PaimonTable: reading, the road with a shuffle, what it tells of a table, and declaring one."""

from __future__ import annotations

import shutil
from pathlib import Path
from weakref import WeakKeyDictionary

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st

import paimon_spark
from paimon_spark import PaimonTable, open_table
from paimon_spark.catalogs.create import create_table
from paimon_spark.errors import (
    DatabaseNotFound,
    DataError,
    OptionError,
    SchemaError,
    TableAlreadyExists,
    TableNotFound,
    UnsupportedFeature,
)
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.spark.adapters import open_catalogs

pytestmark = pytest.mark.spark
COLUMNS = "id bigint, dt string, v bigint"


def made(spark: SparkSession, path: Path, **properties: str) -> PaimonTable:
    builder = PaimonTable.create(spark).location(str(path)).addColumns(st.StructType.fromDDL(COLUMNS))
    for key, value in properties.items():
        builder.property(key.replace("_", "-"), value)
    return builder.execute()


def files_of(table: PaimonTable) -> Row:
    row = table.detail().first()
    assert row is not None
    return row


def test_append_upserts_with_one_file_a_bucket_and_says_what_it_did(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path / "t", primary_key="id", bucket="4")
    frame = spark.range(4000, numPartitions=5).selectExpr("id % 1000 id", "'d' dt", "id v")
    first = table.append(frame)
    assert (first.rows, first.files, first.snapshot_id) == (1000, 4, 1)
    assert first.bytes == sum(p.stat().st_size for p in tmp_path.rglob("data-*"))
    assert 0 < first.millis < 600_000
    assert table.toDF().agg(sf.count("*"), sf.min("v"), sf.max("v")).collect() == [Row(1000, 3000, 3999)]
    assert table.append(frame.where("id < 10").withColumn("v", sf.lit(0))).snapshot_id == 2
    assert table.toDF(where="v = 0").count() == 10


def test_columns_that_differ_in_letter_case_alone_need_a_session_that_tells_them_apart(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, columns = tmp_path / "t", st.StructType.fromDDL("id bigint, v bigint, ID bigint")
    alike = spark.range(1).selectExpr("id", "id v").selectExpr("id", "v", "v ID")
    refusal = "columns id and ID differ in letter case alone, and spark.sql.caseSensitive is off"
    with pytest.raises(PySparkException, match=refusal):
        alike.write.format("paimon").mode("append").save(str(path))
    with pytest.raises(SchemaError, match=refusal):
        PaimonTable.create(spark).location(str(path)).addColumns(columns).execute()
    with pytest.raises(SchemaError, match="'id' stands there twice"):
        PaimonTable.create(spark).location(str(path)).addColumn("id", "INT").addColumn("id", "INT").execute()
    assert not path.exists()
    table = made(spark, tmp_path / "other")
    with pytest.raises(SchemaError, match=refusal):
        table.overwrite(alike, options={"overwrite-schema": "true"})
    assert table.toDF().columns == ["id", "dt", "v"]
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        twins = PaimonTable.create(spark).location(str(path)).addColumns(columns).execute()
        twins.append(alike)
        assert twins.toDF(columns=["id", "ID"]).collect() == [Row(id=0, ID=0)]
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_a_table_is_not_declared_at_a_path_that_is_a_name(spark: SparkSession) -> None:
    with pytest.raises(OptionError, match=r"'shop\.no_such_directory' looks like the name of a table"):
        PaimonTable.create(spark).location("shop.no_such_directory").addColumn("id", "INT").execute()


def test_the_later_row_wins_across_tasks_and_batches(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path / "t", primary_key="id", bucket="2")
    before = spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
    try:
        table.append(spark.range(600, numPartitions=6).selectExpr("id % 5 id", "'d' dt", "id v"))
    finally:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(before))
    assert sorted(r.v for r in table.toDF().collect()) == [595, 596, 597, 598, 599]


def test_a_table_is_checked(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path / "t", primary_key="id", bucket="2")
    table.append(spark.range(10).selectExpr("id", "'d' dt", "id v"))
    report = table.check()
    assert report.is_good
    assert (report.live_rows, report.files_read) == (10, 2)
    assert table.check(read_files=False, latest_only=True).files_read == 0
    for file in (tmp_path / "t" / "bucket-0").iterdir():
        file.unlink()
    assert not table.check().is_good


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_partitioned_tables_have_one_file_a_bucket(spark: SparkSession, tmp_path: Path, adaptive: str) -> None:
    table = made(spark, tmp_path / "t", primary_key="dt,id", partition="dt", bucket="2")
    frame = spark.range(600, numPartitions=4).selectExpr("id % 200 id", "concat('d', id % 3) dt", "id v")
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        done = table.append(frame)
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
    assert (done.rows, done.files) == (600, 6)
    assert table.toDF(where="dt = 'd1'").count() == 200


def test_append_tables_need_no_shuffle_or_keep_the_order_in_a_bucket(spark: SparkSession, tmp_path: Path) -> None:
    plain = made(spark, tmp_path / "plain")
    frame = spark.range(100, numPartitions=3).selectExpr("id", "'d' dt", "id v")
    done = plain.append(frame)
    assert (done.rows, done.files) == (100, 3)
    assert plain.append(frame.where("false")).snapshot_id is None
    keyed = made(spark, tmp_path / "keyed", bucket="2", bucket_key="dt")
    assert keyed.append(frame).files == 1
    stored = open_table(str(tmp_path / "keyed")).scan(columns=["v"]).to_arrow()
    assert stored.column(0).to_pylist() == list(range(100))


def test_partitions_without_buckets_go_to_one_task_each_on_request(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(90, numPartitions=3).selectExpr("id", "concat('d', id % 3) dt", "id v")
    assert made(spark, tmp_path / "any", partition="dt").append(frame).files == 9
    by_day = PaimonTable.forPath(spark, str(tmp_path / "any"), {"partition.sink-strategy": "hash"})
    assert by_day.append(frame).files == 3
    assert by_day.toDF().count() == 180


def test_keys_that_are_missing_defaulted_or_oddly_named_find_their_bucket(spark: SparkSession, tmp_path: Path) -> None:
    columns = (DataField(0, "a.`b", DataType(Root.INT), default_value="7"), DataField(1, "v", DataType(Root.BIGINT)))
    options = {"bucket": "4", "bucket-key": "a.`b"}
    create_table(str(tmp_path / "t"), TableSchema(0, columns, 1, options=options))
    table = PaimonTable.forPath(spark, str(tmp_path / "t"))
    frame = spark.range(100, numPartitions=2)
    assert table.append(frame.selectExpr("id v", "if(id % 2 = 0, null, 7) `a.``b`")).files == 1
    assert table.append(frame.selectExpr("id V")).files == 1
    assert table.append(frame.selectExpr("id v", "cast(id as short) `A.``B`")).files == 4
    found = open_table(str(tmp_path / "t")).scan(where="`a.``b` = 7").to_arrow()
    assert found.num_rows == 201


def test_overwrites(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path / "t", primary_key="dt,id", partition="dt", bucket="1")
    table.append(spark.range(9).selectExpr("id", "concat('d', id % 3) dt", "0L v"))
    new = spark.sql("select 100L id, 'd1' dt, 1L v")
    assert table.overwrite(new, where="dt = 'd1'").files == 1
    assert table.toDF().where("dt = 'd1'").collect() == [Row(100, "d1", 1)]
    assert table.dynamic_partition_overwrite(new.withColumn("dt", sf.lit("d2"))).rows == 1
    assert sorted(r.dt for r in table.toDF().collect()) == ["d0", "d0", "d0", "d1", "d2"]
    with pytest.raises(DataError, match="not among the partitions to replace"):
        table.overwrite(new, where="dt = 'd0'")
    with pytest.raises(OptionError, match="v is no partition column"):
        table.overwrite(new, where="v = 0")
    assert table.overwrite(new).rows == 1
    assert table.toDF().count() == 1
    assert [r.commit_kind for r in table.history().collect()] == ["OVERWRITE"] * 3 + ["APPEND"]
    whole = made(spark, tmp_path / "u")
    whole.append(new)
    with pytest.raises(OptionError, match=r"the table has no partitions; overwrite\(df\) replaces all its rows"):
        whole.dynamic_partition_overwrite(new)
    assert whole.toDF().count() == 1


def test_an_overwrite_heeds_the_mode_of_the_session(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path / "t", primary_key="dt,id", partition="dt", bucket="1")
    old, new = (
        spark.sql("select 1L id, 'd1' dt, 1L v union all select 2L, 'd2', 2L"),
        spark.sql("select 3L id, 'd2' dt, 3L v"),
    )
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "DYNAMIC")
    try:
        table.append(old)
        table.overwrite(new)
        assert sorted(r.id for r in table.toDF().collect()) == [1, 3]
        table.overwrite(old.where("id = 2"), where="dt = 'd1' or dt = 'd2'")
        assert [r.id for r in table.toDF().collect()] == [2]
        table.append(old)
        table.overwrite(new, options={"Dynamic-Partition-Overwrite": "false"})
        assert [r.id for r in table.toDF().collect()] == [3]
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    table.append(old)
    table.overwrite(new)
    assert [r.id for r in table.toDF().collect()] == [3]


@pytest.mark.parametrize(
    ("column", "properties", "message"),
    [
        ("GEOMETRY", {}, "column 'c' has the type GEOMETRY"),
        ("BLOB", {}, "column 'c' has the type BLOB"),
        ("INT", {"type": "object-table"}, "the columns of an object table are always path"),
        ("INT", {"upsert-key": "id, d"}, "names 'd', which is not a column"),
        ("INT", {"merge-engine": "aggregation", "fields.c.aggregate-function": "none"}, "no aggregate function 'none'"),
    ],
)
def test_a_declaration_that_is_refused_leaves_nothing(
    spark: SparkSession, tmp_path: Path, column: str, properties: dict[str, str], message: str
) -> None:
    for builder in (PaimonTable.create(spark), PaimonTable.createIfNotExists(spark)):
        builder.location(str(tmp_path / "t")).addColumn("id", "BIGINT").addColumn("c", column)
        if "merge-engine" in properties:
            builder.primaryKey("id").property("bucket", "1")
        with pytest.raises((UnsupportedFeature, SchemaError), match=message):
            builder.properties(properties).execute()
        assert list(tmp_path.iterdir()) == []


def test_an_option_that_only_others_heed_may_be_declared(spark: SparkSession, tmp_path: Path) -> None:
    path, index = tmp_path / "t", {"pk-btree.index.columns": "v"}
    table = made(spark, path, **index)
    assert table.append(spark.sql("select 1L id, 'd' dt, 2L v")).rows == 1
    with pytest.raises(OptionError, match=r"'pk-btree\.index\.columns' = 'v' would do nothing in this call"):
        table.append(spark.sql("select 1L id, 'd' dt, 2L v"), index)
    with pytest.raises(PySparkException, match="would do nothing in this call"):
        spark.range(1).write.format("paimon").mode("append").options(**{"pk-btree.index.columns": "id"}).save(
            f"{path}2"
        )
    assert not (tmp_path / "t2").exists()


def test_row_kinds_and_other_options_of_a_write(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path / "t", primary_key="id", bucket="2")
    table.append(spark.range(4).selectExpr("id", "'d' dt", "id v"))
    gone = spark.range(2).selectExpr("id", "'d' dt", "0L v", "'-D' kind")
    table.append(gone, {"row-kind-column": "kind", "file.format": "orc"})
    assert sorted(r.id for r in table.toDF().collect()) == [2, 3]
    assert {p.suffix for p in tmp_path.rglob("data-*")} == {".parquet", ".orc"}


def test_to_df_projects_filters_and_travels(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path / "t", primary_key="id", bucket="1")
    table.append(spark.range(5).selectExpr("id", "'d' dt", "id v"))
    table.append(spark.range(5).selectExpr("id", "'e' dt", "id v"))
    assert table.toDF(["v"], "id > 3 or v = 0").columns == ["v"]
    assert sorted(table.toDF(["v"], "id > 3 or v = 0").collect()) == [Row(0), Row(4)]
    assert table.toDF(where=sf.col("id") == 1).collect() == [Row(1, "e", 1)]
    assert {r.dt for r in table.toDF(options={"scan.snapshot-id": "1"}).collect()} == {"d"}
    first = PaimonTable.forPath(spark, str(tmp_path / "t"), {"scan.snapshot-id": "1"})
    assert first.toDF().where("dt = 'd'").count() == 5


def test_detail_and_history(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path / "t", primary_key="dt,id", partition="dt", bucket="2", comment="x")
    empty = files_of(table)
    assert (empty.snapshot_id, empty.files, empty.bytes, empty.rows) == (None, 0, 0, 0)
    assert table.history().count() == 0
    for value in (1, 2):
        table.append(spark.range(3).selectExpr("id", "'d' dt", f"{value}L v"))
    detail = files_of(table)
    assert detail.location == str(tmp_path / "t")
    assert (list(detail.primary_keys), list(detail.partition_keys)) == (["dt", "id"], ["dt"])
    assert (detail.bucket_mode, detail.options["bucket"], detail.snapshot_id, detail.schema_id) == (
        "HASH_FIXED",
        "2",
        2,
        0,
    )
    assert (detail.rows, detail.bytes) == (6, sum(p.stat().st_size for p in tmp_path.rglob("data-*")))
    history = table.history().collect()
    assert [(r.snapshot_id, r.total_record_count, r.delta_record_count) for r in history] == [(2, 6, 3), (1, 3, 3)]
    assert [r.snapshot_id for r in table.history(limit=1).collect()] == [2]
    recorded = open_table(str(tmp_path / "t")).snapshots.load(2).time_millis
    assert table.history(1).selectExpr("unix_millis(cast(commit_time as timestamp)) m").collect() == [Row(recorded)]


def test_declaring_a_table(spark: SparkSession, tmp_path: Path) -> None:
    def declare(ignore: bool) -> PaimonTable:
        builder = PaimonTable.createIfNotExists(spark) if ignore else PaimonTable.create(spark)
        builder.option("Warehouse", str(tmp_path)).tableName("shop.orders").comment("all orders")
        builder.addColumn("id", "BIGINT NOT NULL").addColumn("at", "TIMESTAMP(9)", comment="when")
        builder.addColumn("dt", st.StringType(), nullable=False).addColumn("tags", "ARRAY<STRING NOT NULL>")
        builder.primaryKey("dt", "id").partitionedBy("dt").properties({"bucket": "2", "File.Format": "orc"})
        return builder.execute()

    declare(ignore=False)
    schema = open_table(str(tmp_path / "shop.db" / "orders")).schema
    assert (schema.comment, schema.primary_keys, schema.partition_keys) == ("all orders", ("dt", "id"), ("dt",))
    assert schema.options == {"bucket": "2", "file.format": "orc"}
    assert [(f.name, f.type.root, f.type.nullable, f.type.precision, f.description) for f in schema.fields] == [
        ("id", Root.BIGINT, False, None, None),
        ("at", Root.TIMESTAMP, True, 9, "when"),
        ("dt", Root.VARCHAR, False, None, None),
        ("tags", Root.ARRAY, True, None, None),
    ]
    with pytest.raises(TableAlreadyExists):
        declare(ignore=False)
    assert declare(ignore=True).toDF().columns == ["id", "at", "dt", "tags"]


def test_a_declaration_that_is_not_enough_says_what_is_missing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_catalogs, "_OPEN", WeakKeyDictionary())  # other tests leave theirs
    with pytest.raises(OptionError, match=r"has no catalog.*paimon_spark\.catalog\(spark, .*or give the path"):
        PaimonTable.create(spark.newSession()).tableName("shop.orders").addColumn("id", "INT").execute()
    with pytest.raises(OptionError, match="not said where"):
        PaimonTable.create(spark).addColumn("id", "INT").execute()
    with pytest.raises(OptionError, match=r"expected <table> or <database>\.<table>"):
        PaimonTable.create(spark).option("warehouse", str(tmp_path)).tableName("a.b.c").addColumn("id", "INT").execute()
    with pytest.raises(SchemaError, match="at least one column"):
        PaimonTable.create(spark).location(str(tmp_path / "t")).execute()
    with pytest.raises(UnsupportedFeature, match="'NUMBER OF THINGS' is not known"):
        PaimonTable.create(spark).location(str(tmp_path / "t")).addColumn("id", "NUMBER OF THINGS")
    assert list(tmp_path.iterdir()) == []


def test_a_declared_name_is_one_of_the_catalog_of_the_session(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    cat = paimon_spark.catalog(session, str(tmp_path))
    cat.create_database("shop")
    made = PaimonTable.create(session).tableName("shop.orders").addColumn("id", "INT").primaryKey("id").execute()
    assert cat["shop.orders"].detail().first() == made.detail().first()
    assert open_table(str(tmp_path / "shop.db" / "orders")).schema.primary_keys == ("id",)
    PaimonTable.createIfNotExists(session).tableName("shop.orders").addColumn("x", "INT").execute()
    PaimonTable.create(session).tableName("plain").addColumn("id", "INT").execute()
    assert cat.tables("default") == ["plain"]
    with pytest.raises(TableAlreadyExists):
        PaimonTable.create(session).tableName("shop.orders").addColumn("id", "INT").execute()
    with pytest.raises(DatabaseNotFound):
        PaimonTable.create(session).tableName("shpo.orders").addColumn("id", "INT").execute()
    both = PaimonTable.create(session).tableName("shop.placed").location(str(tmp_path / "placed"))
    with pytest.raises(OptionError, match=r"shop\.placed at \S*placed: the catalog of a name decides where"):
        both.addColumn("id", "INT").execute()
    assert not (tmp_path / "placed").exists()
    with pytest.raises(OptionError, match="a new table has no branch"):
        PaimonTable.create(session).tableName("shop.orders$branch_b").addColumn("id", "INT").execute()


def test_for_path_and_is_paimon_table(spark: SparkSession, tmp_path: Path) -> None:
    assert not PaimonTable.isPaimonTable(spark, str(tmp_path))
    with pytest.raises(TableNotFound):
        PaimonTable.forPath(spark, str(tmp_path))
    made(spark, tmp_path / "t")
    assert PaimonTable.isPaimonTable(spark, str(tmp_path / "t"))


def test_a_branch_is_read_and_written_apart(spark: SparkSession, tmp_path: Path) -> None:
    main = made(spark, tmp_path / "t")
    shutil.copytree(tmp_path / "t" / "schema", tmp_path / "t" / "branch" / "branch-b" / "schema")
    branch = PaimonTable.forPath(spark, str(tmp_path / "t$branch_b"))
    branch.append(spark.sql("select 1L id, 'd' dt, 2L v"))
    assert branch.toDF().count() == 1
    assert main.toDF().count() == 0


def test_a_failing_job_shows_the_reason_and_commits_nothing(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path / "t", primary_key="id", bucket="2")
    with pytest.raises(DataError, match=r"(?s)'id'.*null"):
        table.append(spark.sql("select nullif(id, 3) id, 'd' dt, id v from range(5)"))
    assert table.history().count() == 0
