"""System tables as DataFrames: by path and by the methods of PaimonTable."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from support.tables.golden_tables import GoldenTable

from paimon_spark import PaimonTable, open_table
from paimon_spark.errors import TableNotFound
from paimon_spark.spark.adapters.types import spark_schema
from paimon_spark.store.system_tables.table import METADATA_TABLES

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> PaimonTable:
    """Two partitions, a key written twice, two files a partition."""
    path = tmp_path_factory.mktemp("lake") / "shop.db" / "t"
    builder = PaimonTable.create(spark).location(str(path)).addColumns(st.StructType.fromDDL("id bigint, dt string"))
    options = {"primary-key": "dt,id", "partition": "dt", "bucket": "1", "write-only": "true"}
    for key, value in options.items():
        builder.property(key, value)
    made = builder.execute()
    for _ in range(2):
        made.append(spark.range(4).selectExpr("id", "concat('d', id % 2) dt"))
    return made


def load(table: PaimonTable, spark: SparkSession, suffix: str, **options: str) -> DataFrame:
    path = table.detail().first()
    assert path is not None
    return spark.read.format("paimon").options(**options).load(f"{path.location}${suffix}")


def test_by_path(table: PaimonTable, spark: SparkSession) -> None:
    found = load(table, spark, "snapshots")
    assert found.schema == spark_schema(METADATA_TABLES["snapshots"].fields)
    assert found.schema["commit_time"].dataType == st.TimestampNTZType()
    assert sorted(r.snapshot_id for r in found.where("commit_kind = 'APPEND'").collect()) == [1, 2]
    assert load(table, spark, "options", columns="value,KEY", filter="key = 'bucket'").collect() == [Row("1", "bucket")]
    assert load(table, spark, "buckets").select(sf.sum("record_count")).collect() == [Row(8)]


def test_rows_in_another_shape(table: PaimonTable, spark: SparkSession) -> None:
    found = load(table, spark, "audit_log")
    assert found.columns == ["rowkind", "id", "dt"]
    assert sorted(map(tuple, found.collect())) == [("+I", i, f"d{i % 2}") for i in range(4)]
    packed = load(table, spark, "binlog", filter="rowkind = '+I'", columns="dt,id")
    assert sorted(map(tuple, packed.collect())) == sorted(([f"d{i % 2}"], [i]) for i in range(4))
    assert load(table, spark, "ro").count() == 0


def test_methods(table: PaimonTable) -> None:
    assert [r.partition for r in table.partitions().orderBy("partition").collect()] == ["dt=d0", "dt=d1"]
    assert table.files("partition = '{d1}'").count() == 2
    assert [r.bucket for r in table.buckets("partition = '{d0}'").collect()] == [0]
    assert [r.schema_id for r in table.schemas().collect()] == [0]
    assert [table.tags().count(), table.branches().count(), table.consumers().count()] == [0, 0, 0]
    assert [r.snapshot_id for r in table.history().collect()] == [2, 1]
    (newest,) = table.history(1).collect()
    assert newest.snapshot_id == 2
    assert isinstance(newest.commit_time, dt.datetime)
    found = table.system_table("manifests", ["num_added_files"])
    assert sum(r.num_added_files for r in found.collect()) == 4


def test_of_a_past_state(table: PaimonTable, spark: SparkSession) -> None:
    assert load(table, spark, "files", **{"scan.snapshot-id": "1"}).count() == 2


def test_of_a_table_that_cannot_be_read(spark: SparkSession, tmp_path: Path) -> None:
    path = GoldenTable("java-2.1", "vector").unpack(tmp_path)
    assert spark.read.format("paimon").load(f"{path}$files").count() == 1


def test_of_all_tables_of_a_warehouse(table: PaimonTable, spark: SparkSession) -> None:
    location = open_table(table._path).location
    found = spark.read.format("paimon").load(f"{Path(location).parents[1]}/sys.db/tables")
    assert [(r.database_name, r.table_name) for r in found.collect()] == [("shop", "t")]


def test_wrong_names(table: PaimonTable, spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match=r"did you mean \$snapshots\? The system tables are"):
        load(table, spark, "snapshot")
    with pytest.raises(PySparkException, match="has no row kinds"):
        load(table, spark, "files", **{"row-kinds": "true"})
    with pytest.raises(TableNotFound):
        open_table(f"{table._path}$nothing")
