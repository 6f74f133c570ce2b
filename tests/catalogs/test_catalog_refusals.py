"""What a catalog in files refuses: names that lead elsewhere, what the system owns, what directories cannot hold."""

from __future__ import annotations

import re
from pathlib import Path
from uuid import uuid4

import pytest
from support.tables.catalog_tables import ORDERS, append, ids_of, schema

from paimon_spark import open_catalog
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.views import View
from paimon_spark.catalogs.warehouse import find_warehouse_table
from paimon_spark.errors import DatabaseNotFound, OptionError, TableNotFound, UnsupportedFeature
from paimon_spark.store.history.branches import create_branch


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"path": "/elsewhere"}, UnsupportedFeature, "the option 'path'"),
        ({"type": "format-table"}, UnsupportedFeature, "'type' = 'format-table'"),
        ({"type": "iceberg-table"}, UnsupportedFeature, "'type' = 'iceberg-table'"),
        ({"auto-create": "true"}, OptionError, "'auto-create' must be false"),
        ({"file.format": "csv"}, UnsupportedFeature, "^creating shop.orders: its option 'file.format' is 'csv', and"),
        ({"file.format": "Lance"}, UnsupportedFeature, "other than parquet, orc, avro and row"),
        ({"file.compression": "lzo"}, UnsupportedFeature, "^creating shop.orders: the option 'file.compression' is"),
        ({"file.format": "orc", "file.compression": "Brotli"}, UnsupportedFeature, "choose one of zstd, none"),
        ({"manifest.format": "orc"}, UnsupportedFeature, "manifests of another format than Avro"),
    ],
)
def test_tables_that_it_cannot_hold(
    local: Catalog, options: dict[str, str], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        local.create_table(ORDERS, schema(**options))
    assert local.list_tables("shop") == []


def test_default_options_of_the_catalog_are_those_of_a_table(local: Catalog, lake: Path) -> None:
    defaults = open_catalog({"warehouse": str(lake), "table-default.file.format": "csv"})
    with pytest.raises(UnsupportedFeature, match=r"'file\.format' is 'csv'"):
        defaults.create_table(ORDERS, schema())
    assert local.list_tables("shop") == []


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/", "a\0b", "a:b"])
def test_names_that_lead_elsewhere(local: Catalog, name: str) -> None:
    with pytest.raises(OptionError, match="name"):
        local.create_table(Identifier("shop", name), schema())
    with pytest.raises(OptionError, match="name"):
        local.create_database(name)
    assert local.list_databases() == ["shop"]
    assert local.list_tables("shop") == []


@pytest.mark.parametrize(
    "name", ["a b", " a", "a.b", "ä", "日本", "a%20b", "a#b?c", "a*b", "a\\b", "it's", ".h", "_u", "x.db"]
)
def test_names_of_all_kinds(catalog: Catalog, name: str) -> None:
    catalog.create_database(name)
    identifier = Identifier(name, name)
    catalog.create_table(identifier, schema())
    append(catalog.load_table(identifier), 5)
    assert (catalog.list_databases(), catalog.list_tables(name)) == ([name], [name])
    assert ids_of(catalog.load_table(identifier)) == [5]
    catalog.drop_database(name, cascade=True)
    assert catalog.list_databases() == []


def test_names_with_a_suffix(local: Catalog) -> None:
    local.create_table(ORDERS, schema())
    create_branch(local.load_table(ORDERS), "b")
    branch = Identifier("shop", "orders$branch_b")
    assert local.load_table(branch).branch == "b"
    assert local.find_table(branch) == local.find_table(ORDERS)
    with pytest.raises(TableNotFound, match="system table"):
        local.load_table(Identifier("shop", "orders$files"))
    for action in (
        lambda: local.create_table(branch, schema()),
        lambda: local.drop_table(branch),
        lambda: local.rename_table(branch, ORDERS),
        lambda: local.rename_table(ORDERS, branch),
    ):
        with pytest.raises(OptionError, match=r"a branch or a system table of 'orders'"):
            action()


def test_the_system_database(local: Catalog, lake: Path) -> None:
    assert local.list_databases() == ["shop"]
    assert local.load_database("sys").location is None
    assert local.list_tables("sys") == ["all_table_options", "partitions", "tables"]
    shown = open_catalog({"warehouse": str(lake), "catalog-options-table.enabled": "true"})
    assert "catalog_options" in shown.list_tables("sys")
    tables = Identifier("sys", "tables")
    assert find_warehouse_table(local.table_location(tables)) is not None
    assert local.find_table(tables) is None
    with pytest.raises(TableNotFound, match="a system table of the whole warehouse"):
        local.load_table(tables)
    for action in (
        lambda: local.create_database("sys"),
        lambda: local.drop_database("sys", cascade=True),
        lambda: local.create_table(tables, schema()),
        lambda: local.drop_table(tables),
        lambda: local.rename_table(ORDERS, tables),
    ):
        with pytest.raises(OptionError, match="system"):
            action()


def test_what_it_does_not_store(local: Catalog) -> None:
    for action, words in {
        "properties of databases": lambda: local.alter_database("shop", {"a": "b"}),
        "views": lambda: local.list_views("shop"),
        "no views": lambda: local.load_view(ORDERS),
        "stores no views": lambda: local.create_view(ORDERS, View((), "SELECT 1")),
        "files stores no views": lambda: local.drop_view(ORDERS),
        "functions": lambda: local.list_functions("shop"),
    }.items():
        with pytest.raises(UnsupportedFeature, match=action):
            words()
    with pytest.raises(UnsupportedFeature, match="'new' with a location"):
        local.create_database("new", {"location": "/x", "comment": "y"})
    assert local.list_databases() == ["shop"]
    local.create_database("told", {"comment": "y", "k": "v"})  # as Java, which drops them
    assert local.load_database("told").properties == {}
    local.drop_database("told")
    local.drop_function(ORDERS, ignore_if_not_exists=True)
    with pytest.raises(UnsupportedFeature, match="only a REST catalog stores functions"):
        local.drop_function(ORDERS)
    assert (local.find_view(ORDERS), local.has_views) == (None, False)
    local.refresh()


def test_near_names(local: Catalog) -> None:
    for name in ("orders", "customers"):
        local.create_table(Identifier("shop", name), schema())
    with pytest.raises(TableNotFound, match="did you mean 'orders'"):
        local.load_table(Identifier("shop", "ORDER"))
    with pytest.raises(TableNotFound, match="it has customers, orders"):
        local.load_table(Identifier("shop", "zzz"))


def test_a_warehouse_that_is_not_there(tmp_path: Path) -> None:
    """Java makes it when it opens the catalog; here the first database does, and a typing error can be seen."""
    catalog = open_catalog(f"{tmp_path}/lkae")
    told = f"warehouse {tmp_path}/lkae .*does not exist.* create a database, which makes it"
    with pytest.raises(DatabaseNotFound, match=f"^the {told}"):
        catalog.list_databases()
    with pytest.raises(DatabaseNotFound, match=f"no database 'shop' .*{told}"):
        catalog.list_tables("shop")
    with pytest.raises(TableNotFound, match=f"no table shop.orders: .*{told}"):
        catalog.load_table(Identifier("shop", "orders"))
    catalog.drop_database("shop", ignore_if_not_exists=True)
    assert not (tmp_path / "lkae").exists()
    catalog.create_database("shop")
    assert catalog.list_databases() == ["shop"]
    catalog.drop_database("shop")
    assert catalog.list_databases() == []


def test_an_object_store_has_no_empty_warehouse(caplog: pytest.LogCaptureFixture) -> None:
    """A warehouse without databases is as one that is not there: a read of it is no error, and the log tells of it."""
    catalog = open_catalog(f"memory://{uuid4().hex}/lake")
    assert catalog.list_databases() == []
    assert re.search(
        "the warehouse memory://.*/lake of the catalog 'paimon' does not exist: check the path", caplog.text
    )
    caplog.clear()
    catalog.create_database("shop")
    assert catalog.list_databases() == ["shop"]
    assert caplog.text == ""


def test_what_is_no_table_and_no_database(local: Catalog, lake: Path) -> None:
    (lake / "shop.db" / "empty" / "schema").mkdir(parents=True)
    (lake / "shop.db" / "file").write_text("")
    (lake / "file.db").write_text("")
    (lake / "folder").mkdir()
    (lake / ".db").mkdir()
    assert (local.list_databases(), local.list_tables("shop")) == (["shop"], [])
    assert local.find_table(Identifier("shop", "empty")) is None
