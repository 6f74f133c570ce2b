"""Tables of a database that follow those of a source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from support.change_messages.batches import values_batch

import paimon_spark
from paimon_spark import PaimonTable
from paimon_spark.cdc import TableNames
from paimon_spark.errors import DataError, SchemaError
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

pytestmark = pytest.mark.spark

ORDERS = {"id": "bigint", "total": "decimal(10,2)"}
USERS = {"id": "int", "name": "varchar(20)"}


@pytest.fixture
def catalog(spark: SparkSession, tmp_path: Path) -> SessionCatalog:
    return paimon_spark.catalog(spark, str(tmp_path / "lake"))


def frame(spark: SparkSession, *values: Any) -> DataFrame:
    return spark.createDataFrame(pa.Table.from_batches([values_batch(*values)]))


def message(table: str, types: dict[str, str], *row: Any, kind: str = "INSERT", **more: Any) -> dict[str, Any]:
    data = [dict(zip(types, row, strict=True))]
    told = {"data": data, "type": kind, "mysqlType": types, "pkNames": ["id"], "table": table, "database": "shop1"}
    return {**told, **more}


def rows_of(catalog: SessionCatalog, name: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in catalog.table(name).collect())


def test_tables_are_made_and_follow(spark: SparkSession, catalog: SessionCatalog) -> None:
    from decimal import Decimal

    names = TableNames(including="orders|users", prefix="ods_")
    first = frame(
        spark,
        message("orders", ORDERS, "1", "9.50"),
        message("users", USERS, "1", "ann"),
        message("orders", ORDERS, "2", "1.00", database="shop2"),
        message("secrets", USERS, "1", "x"),
        {"isDdl": True, "type": "CREATE", "table": "users"},
    )
    options = {"bucket": "1"}
    done = catalog.sync_database(first, "canal-json", "mirror", tables=names, table_options=options)
    assert sorted(done) == ["ods_orders", "ods_users"]
    assert catalog.tables("mirror") == ["ods_orders", "ods_users"]
    assert rows_of(catalog, "mirror.ods_orders") == [(1, Decimal("9.50")), (2, Decimal("1.00"))]
    detail = catalog["mirror.ods_orders"].detail().collect()[0]
    assert (detail["primary_keys"], detail["options"]["bucket"]) == (["id"], "1")
    wider = {**USERS, "age": "int"}
    second = frame(
        spark,
        message("users", wider, "2", "bob", "33"),
        message("orders", ORDERS, "1", "9.50", kind="DELETE"),
        message("users", USERS, "1", "anna", kind="UPDATE", old=[{"name": "ann"}]),
    )
    catalog.sync_database(second, "canal-json", "mirror", tables=names)
    assert rows_of(catalog, "mirror.ods_orders") == [(2, Decimal("1.00"))]
    assert rows_of(catalog, "mirror.ods_users") == [(1, "anna", None), (2, "bob", 33)]


def test_keys_of_messages_that_tell_none(spark: SparkSession, catalog: SessionCatalog) -> None:
    def insert(table: str, **row: Any) -> dict[str, Any]:
        return {"type": "insert", "database": "shop", "table": table, "data": row}

    messages = frame(spark, insert("a", id=1, x=1), insert("b", k=1, day="2020-01-01"))
    with pytest.raises(SchemaError, match="making the table a: its messages tell no primary key"):
        catalog.sync_database(messages, "maxwell-json", "m")
    keys = {"*": ["id"], "b": ["k", "day"]}
    catalog.sync_database(
        messages, "maxwell-json", "m", primary_keys=keys, partition_keys=["day"], metadata=["table_name"]
    )
    assert rows_of(catalog, "m.a") == [("1", "1", "a")]
    found = {name: catalog[f"m.{name}"].detail().collect()[0] for name in ("a", "b")}
    assert found["a"]["partition_keys"] == []
    assert (found["b"]["primary_keys"], found["b"]["partition_keys"]) == (["k", "day"], ["day"])


def test_messages_that_cannot_be_placed(spark: SparkSession, catalog: SessionCatalog, tmp_path: Path) -> None:
    good = message("orders", ORDERS, "1", "1.00")
    nowhere = message("orders", ORDERS, "2", "1.00", database=None)
    with pytest.raises(DataError, match="does not say of which database and table it is"):
        catalog.sync_database(frame(spark, good, nowhere), "canal-json", "m")
    with pytest.raises(PySparkException, match="offset 1 cannot be decoded"):
        catalog.sync_database(frame(spark, good, "{"), "canal-json", "m")
    bad = message("orders", ORDERS, "x", "1.00")
    letters = str(tmp_path / "letters")
    catalog.sync_database(frame(spark, good, nowhere, "{", bad), "canal-json", "m", dead_letters=letters)
    assert [row["id"] for row in catalog.table("m.orders").collect()] == [1]
    kept = PaimonTable.forPath(spark, letters).toDF().sort("offset").collect()
    assert [row["offset"] for row in kept] == [1, 2, 3]
    assert [row["topic"] for row in kept] == ["shop.orders"] * 3


def test_a_stream(spark: SparkSession, catalog: SessionCatalog, tmp_path: Path) -> None:
    folder = tmp_path / "messages"
    frame(spark, message("orders", ORDERS, "1", "1.00"), message("users", USERS, "1", "x")).write.parquet(str(folder))
    stream = spark.readStream.schema(spark.read.parquet(str(folder)).schema).parquet(str(folder))
    writer = catalog.sync_database(stream, "canal-json", "m", checkpoint=str(tmp_path / "ck"))
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    assert catalog.tables("m") == ["orders", "users"]
    assert rows_of(catalog, "m.users") == [(1, "x")]
