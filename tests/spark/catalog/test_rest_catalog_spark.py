"""A REST catalog in Spark: statements, DataFrames, streams and procedures reach its tables by their names."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support.rest_server import RestServer, rest_server

import paimon_spark
from paimon_spark import PaimonTable
from paimon_spark.errors import OptionError
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    with rest_server(tmp_path_factory.mktemp("lake")) as server:
        yield server


@pytest.fixture
def catalog(spark: SparkSession, server: RestServer) -> SessionCatalog:
    return paimon_spark.catalog(spark, server.options)


def commits(server: RestServer) -> int:
    return sum(path.endswith("/commit") for _, path, _ in server.requests)


def rows_of(catalog: SessionCatalog, name: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in catalog.table(name).collect())


def test_statements(catalog: SessionCatalog, server: RestServer) -> None:
    run = catalog.sql
    run("CREATE DATABASE paimon.shop COMMENT 'of the shop'")
    run("CREATE TABLE paimon.shop.orders (id BIGINT, total INT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    run("INSERT INTO paimon.shop.orders VALUES (1, 10), (2, 20)")
    run("ALTER TABLE paimon.shop.orders ADD COLUMNS (note STRING)")
    run("INSERT INTO paimon.shop.orders VALUES (2, 21, 'more')")
    run("DELETE FROM paimon.shop.orders WHERE id = 1")
    assert rows_of(catalog, "shop.orders") == [(2, 21, "more")]
    assert catalog.sql("SELECT total FROM paimon.shop.orders VERSION AS OF 1 ORDER BY id").collect()[0][0] == 10
    run("CALL paimon.sys.create_tag(table => 'shop.orders', tag => 'done')")
    run("CREATE VIEW paimon.shop.big AS SELECT id, total + 1 AS more FROM paimon.shop.orders")
    assert [tuple(row) for row in run("SELECT * FROM paimon.shop.big").collect()] == [(2, 22)]
    assert catalog.catalog.list_views("shop") == ["big"]
    run("DROP VIEW paimon.shop.big")
    run("CALL paimon.sys.rollback(table => 'shop.orders', version => '1')")
    assert rows_of(catalog, "shop.orders") == [(1, 10, None), (2, 20, None)]
    run("ALTER TABLE paimon.shop.orders RENAME TO paimon.shop.old")
    assert catalog.tables("shop") == ["old"]
    assert commits(server) == 3
    run("DROP DATABASE paimon.shop CASCADE")
    assert "shop" not in catalog.databases()


def test_data_frames_and_streams(
    spark: SparkSession, catalog: SessionCatalog, server: RestServer, tmp_path: Path
) -> None:
    catalog.create_database("st")
    catalog.sql("CREATE TABLE paimon.st.events (id BIGINT)")
    before = commits(server)
    spark.range(3).toDF("id").write.format("paimon").mode("append").options(**catalog.catalog.table_options()).save(
        "rest://paimon/st/events"
    )
    with pytest.raises(PySparkException, match="a catalog makes tables by the statement CREATE TABLE only"):
        spark.range(1).write.format("paimon").mode("append").options(**catalog.catalog.table_options()).save(
            "rest://paimon/st/nothing"
        )
    session = spark.newSession()
    paimon_spark.catalog(session, catalog.catalog.options)  # type: ignore[attr-defined]  # of the catalogs of this package
    table = PaimonTable.forName(session, "st.events")
    table.append(session.range(3, 5).toDF("id"))
    assert commits(server) == before + 2
    stream = (
        spark.readStream.format("paimon")
        .options(**catalog.catalog.table_options())
        .load("rest://paimon/st/events")
        .writeStream.format("paimon")
        .options(**catalog.catalog.table_options())
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
    )
    catalog.sql("CREATE TABLE paimon.st.copy (id BIGINT)")
    stream.start("rest://paimon/st/copy").awaitTermination(120)
    assert rows_of(catalog, "st.copy") == [(number,) for number in range(5)]
    assert commits(server) > before + 2


def test_the_token_is_shown_nowhere(
    spark: SparkSession, catalog: SessionCatalog, server: RestServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    catalog.create_database("hidden")
    catalog.sql("CREATE TABLE paimon.hidden.t (id BIGINT)")
    frame = catalog.table("hidden.t")
    plan = "" if not hasattr(frame, "_jdf") else frame._jdf.queryExecution().toString()
    shown = [
        repr(catalog),
        repr(catalog["hidden.t"]),
        catalog.explain("SELECT * FROM paimon.hidden.t"),
        plan,
        caplog.text,
    ]
    with pytest.raises(OptionError, match="would stand as plain text") as info:
        catalog.publish("hidden.t", "default.hidden")
    token = server.options["token"]
    assert not [text for text in [*shown, str(info.value)] if token in text]
