"""Partitions of format tables that a REST server keeps: ADD, DROP PARTITION and MSCK REPAIR TABLE change them."""

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


def kept(catalog: SessionCatalog, table: str = "t") -> list[str]:
    return sorted("/".join(one["spec"].values()) for one in catalog.catalog.api.list_partitions("k", table))  # type: ignore[attr-defined]  # of a REST catalog


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


def test_partitions_are_dropped_with_their_files(catalog: SessionCatalog) -> None:
    """What the server does not know is left; a part of the columns may stand for many, or none."""
    run = catalog.sql
    run("CREATE TABLE paimon.k.d (id INT, dt STRING, h INT) USING csv PARTITIONED BY (dt, h) "
        "TBLPROPERTIES ('metastore.partitioned-table' = 'true')")  # fmt: skip
    run("INSERT INTO paimon.k.d VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 1), (4, 'c', 1)")
    place = Path(catalog.catalog.load_any_table(Identifier("k", "d")).location.removeprefix("file:"))
    shutil.copytree(place / "dt=a" / "h=1", place / "dt=a" / "h=9")
    with pytest.raises(SqlError, match=r"there is no PARTITION \(dt = 'b', h = '7'\), and no partition was dropped"):
        run("ALTER TABLE paimon.k.d DROP PARTITION (dt = 'b', h = 1), PARTITION (dt = 'b', h = 7)")
    assert kept(catalog, "d") == ["a/1", "a/2", "b/1", "c/1"]
    run("ALTER TABLE paimon.k.d DROP IF EXISTS PARTITION (dt = 'b', h = 1), PARTITION (dt = 'b', h = 7)")
    assert kept(catalog, "d") == ["a/1", "a/2", "c/1"]
    assert not (place / "dt=b" / "h=1").exists()
    run("ALTER TABLE paimon.k.d DROP PARTITION (dt = 'a')")
    run("ALTER TABLE paimon.k.d DROP PARTITION (dt = 'z')")
    assert kept(catalog, "d") == ["c/1"]
    assert [path.name for path in (place / "dt=a").iterdir()] == ["h=9"]
    with pytest.raises(UnsupportedFeature, match="with PURGE"):
        run("ALTER TABLE paimon.k.d DROP PARTITION (dt = 'c', h = 1) PURGE")
    run("CREATE TABLE paimon.k.plain (id INT, dt STRING) USING csv PARTITIONED BY (dt)")
    with pytest.raises(UnsupportedFeature, match="no server of a catalog keeps them"):
        run("ALTER TABLE paimon.k.plain DROP PARTITION (dt = 'c')")


def test_repairs_forget_partitions_without_directories(catalog: SessionCatalog) -> None:
    """DROP only forgets, SYNC also tells of new ones; no file is touched."""
    run = catalog.sql
    run("CREATE TABLE paimon.k.r (id INT, dt STRING) USING csv PARTITIONED BY (dt) "
        "TBLPROPERTIES ('metastore.partitioned-table' = 'true')")  # fmt: skip
    run("INSERT INTO paimon.k.r VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    place = Path(catalog.catalog.load_any_table(Identifier("k", "r")).location.removeprefix("file:"))
    shutil.move(place / "dt=a", place / "dt=x")
    run("MSCK REPAIR TABLE paimon.k.r DROP PARTITIONS")
    assert kept(catalog, "r") == ["b", "c"]
    shutil.rmtree(place / "dt=b")
    run("MSCK REPAIR TABLE paimon.k.r SYNC PARTITIONS")
    assert kept(catalog, "r") == ["c", "x"]
    assert sorted(row[0] for row in run("SELECT id FROM paimon.k.r").collect()) == [1, 3]


def test_statistics_are_refused(catalog: SessionCatalog) -> None:
    """As by the official connector, which stores none of format tables."""
    with pytest.raises(UnsupportedFeature, match="format table"):
        catalog.sql("ANALYZE TABLE paimon.k.t COMPUTE STATISTICS")


def test_other_tables_have_nothing_to_repair(catalog: SessionCatalog) -> None:
    catalog.sql("CREATE TABLE paimon.k.own (id INT)")
    with pytest.raises(UnsupportedFeature, match="so there is nothing to repair"):
        catalog.sql("MSCK REPAIR TABLE paimon.k.own")
