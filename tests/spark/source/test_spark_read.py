"""Reading through Spark: schema, projection, filters, time travel, views, errors."""

from __future__ import annotations

import datetime as dt
import pickle
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.datasource import EqualTo, GreaterThan, InputPartition, IsNotNull

from paimon_spark import PaimonTable, open_table, register
from paimon_spark.spark.adapters.batches import MAX_BATCH_ROWS, MIN_BATCH_ROWS, rebatch
from paimon_spark.spark.adapters.options import ReadOptions
from paimon_spark.spark.adapters.readable_columns import readable_schema
from paimon_spark.spark.adapters.types import spark_schema
from paimon_spark.spark.source.reader import PaimonReader

pytestmark = pytest.mark.spark
NONE: Mapping[str, str] = {}
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


@contextmanager
def setting(spark: SparkSession, key: str, value: str) -> Iterator[None]:
    before = spark.conf.get(key, None)
    spark.conf.set(key, value)
    yield
    if before is None:
        spark.conf.unset(key)
    else:
        spark.conf.set(key, before)


def load(spark: SparkSession, path: str, options: Mapping[str, str | int] = NONE) -> DataFrame:
    return spark.read.format("paimon").options(**options).load(path)


@pytest.fixture(scope="module")
def orders(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table with a primary key in two partitions and three snapshots."""
    path = str(tmp_path_factory.mktemp("read") / "shop.db" / "orders")
    columns = "id int, dt string, total double, vip boolean"
    commits = [
        [(1, "2026-11-01", 1.0, True), (2, "2026-11-01", 2.0, None), (3, "2026-11-02", float("nan"), False)],
        [(2, "2026-11-01", 20.0, False), (4, "2026-11-02", 40.0, True)],
        [(1, "2026-11-01", None, None)],
    ]
    for rows in commits:
        writer = spark.createDataFrame(rows, columns).coalesce(1).write.format("paimon").mode("append")
        writer.option("primary-key", "dt,id").option("partition", "dt").option("bucket", "2").save(path)
    return path


LATEST = [(1, None), (2, 20.0), (4, 40.0)]


def test_the_schema_is_the_tables(spark: SparkSession, orders: str) -> None:
    found = load(spark, orders).schema
    assert found.simpleString() == "struct<id:int,dt:string,total:double,vip:boolean>"
    assert [f.nullable for f in found] == [False, False, True, True]


CONDITIONS = [
    ("id in (1, 2, 4)", [1, 2, 4]),
    ("dt = '2026-11-01' and id = 2", [2]),
    ("total is null", [1]),
    ("total > 20", [3, 4]),  # NaN is greater than all
    ("not(vip) and dt < '2026-11-02'", [2]),
    ("vip <=> null", [1]),
    ("dt like '%02' and (id = 4 or total < 0)", [4]),
    ("dt = 'nowhere'", []),
]


@pytest.mark.parametrize("setting_on", ["true", "false"])
@pytest.mark.parametrize("push", ["true", "false"])
def test_filters_give_the_same_rows_however_they_are_evaluated(
    spark: SparkSession, orders: str, setting_on: str, push: str
) -> None:
    with setting(spark, PUSHDOWN, setting_on):
        for condition, ids in CONDITIONS if push == setting_on else CONDITIONS[:2]:
            once = load(spark, orders, {"push-filters": push}).where(condition)
            assert sorted(r.id for r in once.collect()) == ids, condition


def test_a_dataframe_used_twice_is_read_right_with_pushdown_on(spark: SparkSession, orders: str) -> None:
    """Spark plans a loaded DataFrame once and would read each of its scans with the filters pushed last."""
    with setting(spark, PUSHDOWN, "true"):
        rows = load(spark, orders)
        twice = rows.where("id < 2").union(rows.where("id > 3"))
        assert sorted(r.id for r in twice.collect()) == [1, 4]
        assert rows.count() == 4


def test_pushed_filters_prune_splits(orders: str) -> None:
    table = open_table(orders)
    reader = PaimonReader(table, spark_schema(table.schema.fields), None, push_filters=True)
    everything = len(reader.partitions())
    assert list(reader.pushFilters([EqualTo(("dt",), "2026-11-02"), IsNotNull(("dt",))])) == []
    assert 0 < len(reader.partitions()) < everything
    left = [EqualTo(("total",), "text")]
    assert list(reader.pushFilters([*left, GreaterThan(("id",), 100)])) == left
    assert reader.partitions() == []


def test_a_reader_travels_without_the_table_and_reads_the_same(orders: str) -> None:
    table = open_table(orders)
    reader = PaimonReader(table, spark_schema(table.schema.fields), "id >= 2", push_filters=True)
    reader.pushFilters([EqualTo(("vip",), True)])
    splits = reader.partitions()
    copy = pickle.loads(pickle.dumps(reader))
    assert not hasattr(copy, "_table")
    rows = [row for split in splits for batch in copy.read(split) for row in batch.to_pylist()]
    assert rows == [{"id": 4, "dt": "2026-11-02", "total": 40.0, "vip": True}]
    assert list(copy.read(InputPartition(None))) == []


def test_projection_by_schema_and_by_option(spark: SparkSession, orders: str) -> None:
    by_schema = spark.read.format("paimon").schema("total double, ID int").load(orders)
    assert by_schema.columns == ["total", "ID"]
    assert sorted(by_schema.where("id < 3").collect(), key=lambda r: r.ID) == [Row(None, 1), Row(20.0, 2)]
    by_option = load(spark, orders, {"columns": "Total, id", "FILTER": "DT = '2026-11-01' or id = 4"})
    assert by_option.columns == ["total", "id"]
    assert sorted((r.id, r.total) for r in by_option.collect()) == LATEST
    assert load(spark, orders, {"columns": "id"}).count() == 4


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("id long", "column 'id' .* is int, the schema of the read says bigint"),
        ("nope int", "column 'nope' .* is not in the table; its columns are id, dt, total, vip"),
        ("total double not null", "may hold NULL"),
    ],
)
def test_a_schema_that_does_not_fit_is_refused(spark: SparkSession, orders: str, schema: str, message: str) -> None:
    with pytest.raises(AnalysisException, match=message):
        spark.read.format("paimon").schema(schema).load(orders).collect()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": "id,ID"}, "names id more than once"),
        ({"columns": "idx"}, "'idx'.*is not in the table"),
        ({"filter": "nope = 1"}, "nope"),
        ({"filter": "id ="}, "PredicateError"),
        ({"scan.snapshot-id": "99"}, "snapshots 1 to 3"),
        ({"scan.snapshot-id": "one"}, "scan.snapshot-id.*one"),
        ({"scan.snapshot-ids": "1"}, "scan.snapshot-ids.*did you mean.*scan.snapshot-id"),
        ({"bucket": "7"}, "bucket.*contradicts"),
    ],
)
def test_errors_keep_their_text_in_sparks_exception(
    spark: SparkSession, orders: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(AnalysisException, match=f"(?s){message}"):
        load(spark, orders, options).collect()


def test_no_table_and_no_path(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(AnalysisException, match="TableNotFound: no Paimon table at"):
        load(spark, str(tmp_path / "none"))
    with pytest.raises(AnalysisException, match="no path was given"):
        spark.read.format("paimon").load()
    with pytest.raises(AnalysisException, match="several paths"):
        spark.read.format("paimon").load([str(tmp_path), str(tmp_path / "b")])


def test_time_travel(spark: SparkSession, orders: str) -> None:
    def totals(key: str, value: str | int) -> dict[int, float | None]:
        return {r.id: r.total for r in load(spark, orders, {"filter": "id <> 3", key: value}).collect()}

    first, latest = {1: 1.0, 2: 2.0}, dict(LATEST)
    assert totals("scan.snapshot-id", 1) == first
    assert totals("SCAN.Snapshot-Id", 2) == {1: 1.0, 2: 20.0, 4: 40.0}
    millis = open_table(orders).snapshots.load(1).time_millis
    assert totals("scan.timestamp-millis", millis) == first
    assert totals("scan.mode", "latest-full") == latest


def test_temporary_views_keep_their_options(spark: SparkSession, orders: str) -> None:
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW orders_v USING paimon OPTIONS (path '{orders}')")
    assert spark.sql("SELECT count(*) c, max(id) m FROM orders_v").collect() == [Row(4, 4)]
    options = f"path '{orders}', 'scan.snapshot-id' '1', columns 'id', filter 'id < 3'"
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW orders_v USING paimon OPTIONS ({options})")
    assert spark.sql("SELECT * FROM orders_v ORDER BY id").collect() == [Row(1), Row(2)]


def test_an_empty_table_reads_as_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    spark.createDataFrame([], "id int, s string").write.format("paimon").mode("append").save(path)
    assert open_table(path).snapshots.latest_id() is None
    assert load(spark, path).collect() == []
    assert load(spark, path).count() == 0


def test_all_types_and_nulls_come_through(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    schema = (
        "b boolean, i1 tinyint, i2 smallint, i4 int, i8 bigint, f float, d double, n decimal(38, 10), s string, "
        "x binary, dt date, ts timestamp, nt timestamp_ntz, a array<int>, m map<string, array<int>>, "
        "r struct<p: int, q: struct<z: timestamp>>"
    )
    moment = dt.datetime(1901, 2, 3, 4, 5, 6, 789_123)
    row = Row(
        True, -128, -32768, -(2**31), 2**63 - 1, 0.5, float("-inf"), Decimal("-1.0000000001"), "ba\0é", b"\0\xff",
        dt.date(1, 1, 1), moment, moment, [1, None, 2], {"": [], "k": None}, Row(p=None, q=Row(z=moment)),
    )  # fmt: skip
    frame = spark.createDataFrame([row, Row(*([None] * 16))], schema)
    frame.write.format("paimon").mode("append").save(path)
    read = load(spark, path)
    assert read.schema == frame.schema
    assert sorted(read.collect(), key=lambda r: r.b is None) == frame.collect()
    with setting(spark, "spark.sql.session.timeZone", "America/New_York"), setting(spark, PUSHDOWN, "true"):
        instant = "ts = timestamp'1901-02-03 04:05:06.789123 UTC' and nt = timestamp_ntz'1901-02-03 04:05:06.789123'"
        assert load(spark, path, {"push-filters": "true"}).where(instant).count() == 1
        assert load(spark, path, {"filter": instant}).count() == 1


def test_a_null_struct_whose_fields_are_not_null_goes_to_arrow(spark: SparkSession, tmp_path: Path) -> None:
    table = PaimonTable.create(spark).location(str(tmp_path / "t")).addColumn("id", "BIGINT NOT NULL")
    table.addColumn("p", "ROW<a INT NOT NULL, b STRING>").addColumn("l", "ARRAY<ROW<a INT NOT NULL>>").execute()
    rows = [(1, None, [(7,), None]), (2, (5, "x"), None)]
    given = spark.createDataFrame(rows, "id long, p struct<a: int, b: string>, l array<struct<a: int>>")
    given.write.format("paimon").mode("append").save(str(tmp_path / "t"))
    found = load(spark, str(tmp_path / "t"))
    assert found.toArrow().sort_by("id").to_pylist() == [
        {"id": 1, "p": None, "l": [{"a": 7}, None]},
        {"id": 2, "p": {"a": 5, "b": "x"}, "l": None},
    ]
    found.write.format("paimon").mode("append").save(str(tmp_path / "t"))  # its schema says less than that of the table
    assert load(spark, str(tmp_path / "t")).count() == 4


def test_batches_are_evened_out() -> None:
    sizes = [3, MIN_BATCH_ROWS, 5, 7, 3 * MAX_BATCH_ROWS + 1, 2]
    given = [pa.RecordBatch.from_arrays([pa.array(range(size))], names=["v"]) for size in sizes]
    got = list(rebatch(given))
    assert all(MIN_BATCH_ROWS <= batch.num_rows < MIN_BATCH_ROWS + MAX_BATCH_ROWS for batch in got[:-1])
    assert pa.Table.from_batches(got).equals(pa.Table.from_batches(given))
    assert list(rebatch([])) == []


def test_the_columns_option_keeps_its_order(orders: str) -> None:
    table = open_table(orders)
    assert readable_schema(table, ReadOptions(orders, ("vip", "ID"))).names == ["vip", "id"]


def test_a_new_thread_writes_after_a_registration(spark: SparkSession, tmp_path: Path) -> None:
    """Spark looks for sources in the active session of the thread, and a new thread has none."""

    def write() -> None:
        register(spark)
        spark.range(3).write.format("paimon").mode("append").save(f"{tmp_path}/t")

    with ThreadPoolExecutor(1) as threads:
        threads.submit(write).result()
    assert open_table(f"{tmp_path}/t").scan().count() == 3
