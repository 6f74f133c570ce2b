"""Tables with Iceberg metadata that a Hive metastore knows by name, read by pyiceberg through the metastore."""

from __future__ import annotations

import logging
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

from paimon_spark import create_table, open_catalog, open_table
from paimon_spark.catalogs.hive.metastore import Metastore
from paimon_spark.catalogs.hive.settings import read_settings
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.tables.open import WritableTable

pytestmark = pytest.mark.interop
COLUMNS = {"id": "INT", "name": "STRING"}


def made(options: dict[str, str], place: str, more: dict[str, str] | None = None) -> WritableTable:
    """An append table whose Iceberg metadata the metastore of a catalog is told of."""
    chosen = {"metadata.iceberg.storage": "hive-catalog", "metadata.iceberg.uri": options["uri"]}
    return create_table(place, COLUMNS, options={**chosen, **(more or {})})


def by_name(options: dict[str, str], name: str) -> Any:
    """The table of Iceberg, as pyiceberg loads it by its name."""
    return load_catalog("lake", type="hive", uri=options["uri"]).load_table(name)


def ids(options: dict[str, str], name: str) -> list[int]:
    return sorted(by_name(options, name).scan().to_arrow().column("id").to_pylist())


def properties(options: dict[str, str], name: str) -> dict[str, str]:
    database, _, table = name.partition(".")
    found = Metastore(read_settings(options)).table(Identifier(database, table))
    assert found is not None
    return dict(found.parameters)


def test_each_commit_is_read_by_name(hive_options: dict[str, str], tmp_path: Path) -> None:
    table = made(hive_options, f"{tmp_path}/w/shop.db/t")
    table.append({"id": [1, 2], "name": ["a", "b"]})
    assert ids(hive_options, "shop.t") == [1, 2]
    first = properties(hive_options, "shop.t")
    assert first["table_type"] == "ICEBERG"
    assert "previous_metadata_location" not in first
    table.delete("id = 1")
    table.append({"id": [3], "name": ["c"]})
    assert ids(hive_options, "shop.t") == [2, 3]
    later = properties(hive_options, "shop.t")
    assert later["metadata_location"].endswith("/v3.metadata.json")
    assert later["previous_metadata_location"].endswith("/v2.metadata.json")


def test_columns_that_were_added_later(hive_options: dict[str, str], tmp_path: Path) -> None:
    table = made(hive_options, f"{tmp_path}/w/shop.db/t")
    table.append({"id": [1], "name": ["a"]})
    with table.update_schema() as schema:
        schema.add_column("amount", "DOUBLE", comment="of money\nin euros" + "!" * 300)
    open_table(table.location).append({"id": [2], "name": ["b"], "amount": [0.5]})
    assert by_name(hive_options, "shop.t").scan().to_arrow().column("amount").to_pylist() in ([None, 0.5], [0.5, None])
    column = Metastore(read_settings(hive_options)).table(Identifier("shop", "t")).sd.cols[-1]
    assert column.comment == ("of money in euros" + "!" * 300)[:252] + "..."


def test_other_names_and_several_databases(hive_options: dict[str, str], tmp_path: Path) -> None:
    more = {"metadata.iceberg.database": "a; b", "metadata.iceberg.table": "seen"}
    more["metadata.iceberg.storage-location"] = "table-location"
    table = made(hive_options, f"{tmp_path}/anywhere/t", more)
    table.append({"id": [7], "name": ["x"]})
    assert ids(hive_options, "a.seen") == ids(hive_options, "b.seen") == [7]


def test_a_table_of_the_same_metastore_stays_a_table_of_paimon(hive_options: dict[str, str]) -> None:
    catalog = open_catalog(hive_options)
    catalog.create_database("shop")
    table = catalog.new_table("shop.t", COLUMNS, options={"metadata.iceberg.storage": "hive-catalog"})
    table.append({"id": [1], "name": ["a"]})  # type: ignore[union-attr]
    assert ids(hive_options, "shop.t") == [1]
    assert catalog.list_tables("shop") == ["t"]
    assert catalog.table("shop.t").scan().to_arrow().num_rows == 1  # type: ignore[union-attr]
    with table.update_schema() as schema:  # type: ignore[union-attr]
        schema.add_column("more", "INT")
    catalog.table("shop.t").append({"id": [2], "name": ["b"], "more": [5]})  # type: ignore[union-attr]
    assert ids(hive_options, "shop.t") == [1, 2]


def test_first_commits_at_once(hive_options: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = made(hive_options, f"{tmp_path}/w/shop.db/t")
    together = Barrier(8)

    def append(number: int) -> None:
        writer = open_table(table.location)
        together.wait()
        writer.append({"id": [number], "name": ["a"]})

    with caplog.at_level(logging.WARNING), ThreadPoolExecutor(8) as pool:
        list(pool.map(append, range(8)))
    assert "its Iceberg metadata are not" not in caplog.text
    assert ids(hive_options, "shop.t") == list(range(8))


def test_another_table_of_paimon_is_left_alone(
    hive_options: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    catalog = open_catalog(hive_options)
    catalog.create_database("shop")
    catalog.new_table("shop.t", COLUMNS)
    table = made(hive_options, f"{tmp_path}/w/shop.db/t")
    with caplog.at_level(logging.WARNING):
        table.append({"id": [1], "name": ["a"]})
    assert f"has a table shop.t of Paimon at file:{tmp_path}/lake/shop.db/t: set" in caplog.text
    assert "metadata_location" not in properties(hive_options, "shop.t")


def test_a_metastore_that_does_not_answer_is_told_by_the_next_commit(
    hive_options: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = made(hive_options, f"{tmp_path}/w/shop.db/t")
    table.append({"id": [1], "name": ["a"]})
    away = table.with_options({"metadata.iceberg.uri": "thrift://127.0.0.1:1"})
    with caplog.at_level(logging.WARNING):
        away.append({"id": [2], "name": ["b"]}, {"metadata.iceberg.uri": "thrift://127.0.0.1:1"})
    assert "its Iceberg metadata are not" in caplog.text
    assert ids(hive_options, "shop.t") == [1], "the metadata that the metastore names are still there"
    table.append({"id": [3], "name": ["c"]})
    assert ids(hive_options, "shop.t") == [1, 2, 3]


def test_a_rollback_is_told(hive_options: dict[str, str], tmp_path: Path) -> None:
    table = made(hive_options, f"{tmp_path}/w/shop.db/t")
    for number in range(3):
        table.append({"id": [number], "name": ["a"]})
    table.rollback(2)
    assert ids(hive_options, "shop.t") == [0, 1]


def test_a_table_of_another_kind_is_left_alone(
    hive_options: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from pymetastore.hive_metastore import ttypes

    metastore = Metastore(read_settings(hive_options))
    metastore.create_database(ttypes.Database(name="shop", locationUri=f"{tmp_path}/shop"))
    storage = ttypes.StorageDescriptor(
        cols=[ttypes.FieldSchema(name="a", type="int")], location=f"{tmp_path}/shop/t", serdeInfo=ttypes.SerDeInfo()
    )
    metastore.create_table(ttypes.Table(tableName="t", dbName="shop", sd=storage, partitionKeys=[], parameters={}))
    table = made(hive_options, f"{tmp_path}/w/shop.db/t")
    with caplog.at_level(logging.WARNING):
        table.append({"id": [1], "name": ["a"]})
    assert "has a table shop.t of another kind: set 'metadata.iceberg.database'" in caplog.text
    assert "metadata_location" not in properties(hive_options, "shop.t")


def test_a_table_that_a_catalog_of_iceberg_made_is_left_alone(
    hive_options: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = f"file://{tmp_path}/ice/shop.db"
    catalog = load_catalog("lake", type="hive", uri=hive_options["uri"])
    catalog.create_namespace("shop", {"location": place})
    rows = pa.table({"id": pa.array([77], pa.int32())})
    catalog.create_table("shop.t", rows.schema, location=f"{place}/t").append(rows)
    table = made(hive_options, f"{tmp_path}/w/shop.db/t")
    with caplog.at_level(logging.WARNING):
        table.append({"id": [1], "name": ["a"]})
    assert "has a table shop.t of Iceberg that another system writes: set 'metadata.iceberg.database'" in caplog.text
    assert ids(hive_options, "shop.t") == [77]


def test_a_renamed_table_goes_on_under_the_name_of_its_options(hive_options: dict[str, str], tmp_path: Path) -> None:
    table = made(hive_options, f"{tmp_path}/w/shop.db/t", {"metadata.iceberg.table": "seen"})
    table.append({"id": [1], "name": ["a"]})
    open_catalog(f"{tmp_path}/w").rename_table(Identifier("shop", "t"), Identifier("shop", "u"))
    open_table(f"{tmp_path}/w/shop.db/u").append({"id": [2], "name": ["b"]})
    assert ids(hive_options, "shop.seen") == [1, 2]


def test_nothing_tells_which_metastore(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    options = {"metadata.iceberg.storage": "hive-catalog"}
    table = create_table(f"{tmp_path}/shop.db/t", COLUMNS, options=options)
    with caplog.at_level(logging.WARNING):
        table.append({"id": [1], "name": ["a"]})
    assert "no option tells which metastore; set 'metadata.iceberg.uri'" in caplog.text


def test_a_wrong_address_is_told_by_the_option_of_the_table(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    options = {"metadata.iceberg.storage": "hive-catalog", "metadata.iceberg.uri": "localhost:9083"}
    table = create_table(f"{tmp_path}/shop.db/t", COLUMNS, options=options)
    with caplog.at_level(logging.WARNING):
        table.append({"id": [1], "name": ["a"]})
    assert "has 'localhost:9083': expected thrift://<host>:<port>" in caplog.text
    assert "of a table with Iceberg metadata these are the options 'metadata.iceberg.uri' and" in caplog.text


def test_a_package_that_is_missing_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "paimon_spark.catalogs.hive.iceberg", raising=False)
    monkeypatch.setitem(sys.modules, "pymetastore.hive_metastore", None)
    options = {"metadata.iceberg.storage": "hive-catalog", "metadata.iceberg.uri": "thrift://localhost:1"}
    table = create_table(f"{tmp_path}/shop.db/t", COLUMNS, options=options)
    with caplog.at_level(logging.WARNING):
        table.append({"id": [1], "name": ["a"]})
    assert "needs the package pymetastore: run pip install 'paimon-spark[hive]'" in caplog.text


def test_other_clients_and_servers_are_refused(tmp_path: Path) -> None:
    for key, value in (
        ("metadata.iceberg.hive-client-class", "com.amazonaws.glue.catalog.metastore.AWSCatalogMetastoreClient"),
        ("metadata.iceberg.storage", "rest-catalog"),
    ):
        options = {"metadata.iceberg.storage": "hive-catalog", key: value}
        with pytest.raises(UnsupportedFeature, match=key):
            create_table(f"{tmp_path}/{value}.db/t", COLUMNS, options=options).append({"id": [1], "name": ["a"]})
