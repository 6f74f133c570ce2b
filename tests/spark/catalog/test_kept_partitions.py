"""Partitions of format tables that a REST server keeps: ADD PARTITION and MSCK REPAIR TABLE tell it of some."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.registered_catalogs import forget_catalogs
from support.rest_server import RestServer, rest_server

import paimon_spark
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import SqlError, UnsupportedFeature
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    with rest_server(tmp_path_factory.mktemp("lake")) as server:
        yield server


@pytest.fixture
def catalog(spark: SparkSession, server: RestServer) -> SessionCatalog:
    made = paimon_spark.catalog(spark, server.options)
    made.create_database("k", ignore_if_exists=True)
    made.sql(
        "CREATE TABLE IF NOT EXISTS paimon.k.t (id INT, dt STRING, h INT) USING csv PARTITIONED BY (dt, h) "
        "TBLPROPERTIES ('metastore.partitioned-table' = 'true')"
    )
    return made


def kept(catalog: SessionCatalog) -> list[str]:
    return sorted("/".join(one["spec"].values()) for one in catalog.catalog.api.list_partitions("k", "t"))  # type: ignore[attr-defined]  # of a REST catalog


def rows(catalog: SessionCatalog) -> list[int]:
    return sorted(row[0] for row in catalog.sql("SELECT id FROM paimon.k.t").collect())


def test_the_server_is_told(spark: SparkSession, server: RestServer, catalog: SessionCatalog) -> None:
    run = catalog.sql
    run("INSERT INTO paimon.k.t VALUES (1, '20260101', 1)")
    run("ALTER TABLE paimon.k.t ADD PARTITION (dt = '20260102', h = 2) PARTITION (dt = '20260103', h = 3)")
    assert kept(catalog) == ["20260101/1", "20260102/2", "20260103/3"]
    with pytest.raises(SqlError, match=r"there is PARTITION \(dt = '20260101', h = '1'\) already"):
        run("ALTER TABLE paimon.k.t ADD PARTITION (dt = '20260104', h = 4) PARTITION (dt = '20260101', h = 1)")
    run("ALTER TABLE paimon.k.t ADD IF NOT EXISTS PARTITION (dt = '20260101', h = 1)")
    assert len(kept(catalog)) == 3
    assert rows(catalog) == [1]
    place = Path(catalog.catalog.load_any_table(Identifier("k", "t")).location.removeprefix("file:"))
    shutil.copytree(place / "dt=20260101" / "h=1", place / "dt=20260105" / "h=07")
    assert rows(catalog) == [1]
    try:
        paimon_spark.register_catalog(spark, "kept", server.options)
        spark.sql("MSCK REPAIR TABLE kept.k.t")
    finally:
        forget_catalogs(spark)
    assert kept(catalog)[-1] == "20260105/07"  # as the directory has it
    assert rows(catalog) == [1, 1]
    for word in ("DROP", "SYNC"):
        with pytest.raises(UnsupportedFeature, match="takes no partitions away from a server"):
            run(f"MSCK REPAIR TABLE paimon.k.t {word} PARTITIONS")


def test_other_tables_have_nothing_to_repair(catalog: SessionCatalog) -> None:
    catalog.sql("CREATE TABLE paimon.k.own (id INT)")
    with pytest.raises(UnsupportedFeature, match="so there is nothing to repair"):
        catalog.sql("MSCK REPAIR TABLE paimon.k.own")
