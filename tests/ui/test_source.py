"""What a path and options name: a table, the tables of a catalog, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_spark import open_catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import OptionError, TableNotFound
from paimon_spark.ui.command import find_source
from paimon_spark.ui.source import CatalogTables, OneTable


def test_a_warehouse_has_the_tables_of_its_databases(lake: Path) -> None:
    source = find_source({"warehouse": str(lake)})
    assert isinstance(source, CatalogTables)
    assert source.tables() == {"shop": ["clicks", "many", "nothing", "orders"]}
    assert source.place("shop.orders").location == f"{lake}/shop.db/orders"


def test_a_table_is_shown_alone(lake: Path) -> None:
    source = find_source({"warehouse": f"{lake}/shop.db/orders/"})
    assert isinstance(source, OneTable)
    assert source.tables() == {"": ["orders"]}
    assert source.place("orders").location == f"{lake}/shop.db/orders/"
    with pytest.raises(TableNotFound, match=r"shows the table 'orders' alone; '\.\./clicks' is not there"):
        source.place("../clicks")


def test_a_catalog_of_a_metastore(tmp_path: Path) -> None:
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/c.db", "warehouse": str(tmp_path / "lake")}
    catalog = open_catalog(options)
    catalog.create_database("shop")
    catalog.new_table("shop.t", {"a": "INT"})
    source = find_source(options)
    assert source.tables() == {"shop": ["t"]}
    assert source.place("shop.t").location == catalog.table_location(Identifier("shop", "t"))
    with pytest.raises(TableNotFound):
        source.place("shop.u")


def test_nothing_is_there(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="neither a table nor a database at"):
        find_source({"warehouse": str(tmp_path)})


def test_credentials_are_not_shown(lake: Path) -> None:
    source = find_source({"warehouse": str(lake), "s3.secret-key": "hush"})
    assert "hush" not in repr(source.place("shop.orders"))
