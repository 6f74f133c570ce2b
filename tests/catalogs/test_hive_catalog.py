"""The catalog in a Hive metastore, which the tests start once."""

from __future__ import annotations

import dataclasses
import pickle
import random
from pathlib import Path

import pyarrow as pa
import pytest
from support.long_runs import tries
from support.oracles.catalog_model import CatalogModel, apply, draw_change, state_of
from support.tables.catalog_tables import ORDERS, append, ids_of, schema
from support.tables.hive_names import hive_change

from paimon_spark import open_catalog
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.create import new_schema
from paimon_spark.catalogs.file_catalog import FileCatalog
from paimon_spark.catalogs.hive.names import HiveNames, renamed
from paimon_spark.catalogs.identifier import Identifier, Missing
from paimon_spark.catalogs.views import AddDialect, RemoveViewOption, SetViewOption, UpdateViewComment, View
from paimon_spark.catalogs.warehouse import find_warehouse_table
from paimon_spark.errors import (
    CatalogUnavailable,
    DatabaseAlreadyExists,
    DatabaseNotEmpty,
    DatabaseNotFound,
    OptionError,
    SchemaError,
    TableAlreadyExists,
    TableNotFound,
    UnsupportedFeature,
    ViewAlreadyExists,
    ViewNotFound,
)
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.evolution.changes import AddColumn, UnsetOption
from paimon_spark.store.metadata.alter import set_option
from paimon_spark.tables.open import open_table

HISTORIES = tries("PAIMON_CATALOG_HISTORIES", ci=2, long=70)
pytestmark = pytest.mark.interop

VIEW = View((DataField(0, "id", DataType(Root.BIGINT)),), "SELECT id FROM orders", {"spark": "SELECT id FROM orders"})
BIG = Identifier("shop", "big")


@pytest.fixture
def hive(hive_options: dict[str, str]) -> FileCatalog:
    """A catalog with the empty database `shop`."""
    made = open_catalog(hive_options)
    assert isinstance(made.names, HiveNames)
    made.create_database("shop")
    return made


def add_table_of_hive(hive: FileCatalog, name: Identifier, parameters: dict[str, str] | None = None) -> None:
    """A table of Hive, in text files."""
    hive.create_table(name, schema())
    told = hive.names.hive_table(name)
    hive.drop_table(name)
    told.sd.inputFormat = "org.apache.hadoop.mapred.TextInputFormat"
    told.sd.outputFormat = "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"
    told.parameters = parameters or {}
    hive.names.metastore.create_table(told)


def test_the_life_of_databases(hive_options: dict[str, str], tmp_path: Path) -> None:
    hive, place = open_catalog(hive_options), f"{tmp_path}/other place"
    hive.create_database("shop", {"comment": "c", "owner": "us", "a": "1", "location": place})
    found = hive.load_database("shop")
    assert (found.comment, dict(found.properties)) == ("c", {"a": "1", "owner": "us"})
    assert found.location == f"file:{place}"
    with pytest.raises(DatabaseAlreadyExists):
        hive.create_database("SHOP")
    hive.create_database("shop", ignore_if_exists=True)
    hive.alter_database("shop", {"b": "2"}, ("a",))
    found = hive.load_database("shop")
    assert (found.comment, dict(found.properties)) == ("c", {"b": "2", "owner": "us"}), "Java loses comment and owner"
    hive.alter_database("shop", {"comment": "c"}, ("owner",))
    with pytest.raises(UnsupportedFeature, match="the metastore keeps the comment"):
        hive.alter_database("shop", {"comment": "d", "b": "3"})
    assert (hive.load_database("shop").comment, dict(hive.load_database("shop").properties)) == ("c", {"b": "3"})
    with pytest.raises(OptionError, match="its location cannot be changed"):
        hive.alter_database("shop", {"location": "/x"})
    hive.create_table(ORDERS, schema())
    assert hive.table_location(ORDERS) == f"file:{place}/orders"
    with pytest.raises(DatabaseNotEmpty, match=r"1 tables \(orders\)"):
        hive.drop_database("shop")
    hive.drop_database("shop", cascade=True)
    assert hive.list_databases() == ["default"]
    assert not (tmp_path / "other place").exists()
    with pytest.raises(DatabaseNotFound):
        hive.drop_database("shop")
    hive.drop_database("shop", ignore_if_not_exists=True)
    for call in (hive.load_database, hive.list_tables, hive.list_views):
        with pytest.raises(DatabaseNotFound, match="there is no database 'shop'"):
            call("shop")


def test_the_life_of_a_table(hive: FileCatalog, tmp_path: Path) -> None:
    columns = pa.schema([("id", pa.int64()), ("day", pa.string())])
    made = new_schema(columns, ["day", "id"], ["day"], {"bucket": "1", "file.format": "orc"}, "all orders")
    hive.create_table(ORDERS, made)
    told = hive.names.hive_table(ORDERS)
    assert {k: told.parameters[k] for k in ("primary-key", "partition", "bucket-key", "file.format", "comment")} == {
        "primary-key": "day,id",
        "partition": "day",
        "bucket-key": "id",
        "file.format": "orc",
        "comment": "all orders",
    }
    assert (told.tableType, told.parameters["table_type"]) == ("MANAGED_TABLE", "PAIMON")
    assert [(column.name, column.type) for column in told.sd.cols] == [("id", "bigint"), ("day", "string")]
    with pytest.raises(TableAlreadyExists):
        hive.create_table(ORDERS, schema())
    assert hive.create_table(ORDERS, schema(), ignore_if_exists=True).primary_keys == ("day", "id")
    set_option(hive.load_table(ORDERS), "snapshot.num-retained.max", "50")
    assert hive.names.hive_table(ORDERS).parameters["snapshot.num-retained.max"] == "50"
    alter_table(hive.load_table(ORDERS), [UnsetOption("snapshot.num-retained.max")])
    assert "snapshot.num-retained.max" not in hive.names.hive_table(ORDERS).parameters
    decimals = DataType(Root.DECIMAL, precision=9, scale=2)
    alter_table(hive.load_table(ORDERS), [AddColumn(("total",), decimals, "in EUR")])
    columns = [(column.name, column.type, column.comment) for column in hive.names.hive_table(ORDERS).sd.cols]
    assert columns[2:] == [("total", "decimal(9,2)", "in EUR")]
    new = Identifier("archive", "old_orders")
    hive.create_database("archive")
    hive.rename_table(ORDERS, new)
    assert hive.list_tables("shop") == []
    assert hive.table_location(new) == f"file:{tmp_path}/lake/archive.db/old_orders"
    assert hive.find_table(new) is not None
    assert hive.find_table(ORDERS) is None
    for wrong in (lambda: hive.load_table(ORDERS), lambda: hive.drop_table(ORDERS), lambda: hive.check_table(ORDERS)):
        with pytest.raises(TableNotFound, match=r"there is no table shop\.orders"):
            wrong()
    hive.drop_table(new)
    assert list((tmp_path / "lake" / "archive.db").iterdir()) == []
    hive.drop_table(new, ignore_if_not_exists=True)
    hive.rename_table(new, ORDERS, ignore_if_not_exists=True)


def test_rows_in_any_letter_case_and_in_another_process(hive: FileCatalog) -> None:
    hive.create_table(ORDERS, schema())
    append(hive.load_table(ORDERS), 1, 2)
    assert ids_of(hive.load_table(Identifier("SHOP", "Orders"))) == [1, 2]
    again = pickle.loads(pickle.dumps(hive))
    append(again.load_table(ORDERS), 3)
    assert ids_of(open_table(hive.table_location(ORDERS), dict(hive.table_options()))) == [1, 2, 3]
    upper = Identifier("shop", "Upper")
    hive.create_table(upper, schema())
    assert hive.list_tables("shop") == ["orders", "upper"]
    assert hive.table_location(Identifier("shop", "upper")).endswith("/Upper"), "as by Java"


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_any_history(hive_options: dict[str, str], seed: int) -> None:
    catalog, model, draw = open_catalog(hive_options), CatalogModel({}), random.Random(seed)
    for _ in range(25):
        change = hive_change(draw_change(draw))
        assert apply(catalog, change) is model.apply(change), change
        assert catalog.list_databases() == sorted([*model.databases, "default"])
    assert {k: tables for k, tables in state_of(catalog).items() if k != "default"} == model.databases


def test_a_table_that_others_drop_while_it_is_renamed(hive: FileCatalog) -> None:
    """The metastore refuses the change of a table that it does not have any more."""
    hive.create_table(ORDERS, schema())
    found, io = hive.names.metastore.table(ORDERS), hive.names.file_io_of(hive.warehouse)
    assert found is not None
    hive.drop_table(ORDERS)
    with pytest.raises(Missing, match=r"there is no table shop\.orders any more"):
        renamed(hive.names.metastore, io, ORDERS, BIG, found, (f"{hive.warehouse}/orders", f"{hive.warehouse}/big"))
    assert hive.list_tables("shop") == []


def test_a_database_that_others_drop_concurrently(hive: FileCatalog) -> None:
    """The metastore names the database and nothing more; a list of tables of it is not an answer that is cut off."""
    hive.create_table(ORDERS, schema())
    told = hive.names.metastore.table(ORDERS)
    assert told is not None
    hive.drop_database("shop", cascade=True)
    with pytest.raises(Missing, match=r"creating shop\.orders"):
        hive.names.metastore.create_table(told)
    with pytest.raises(Missing):
        hive.names.metastore.some_tables("shop", ["orders"])
    assert hive.names.metastore.tables("shop") == []


def test_external_tables_keep_their_files(hive: FileCatalog, tmp_path: Path) -> None:
    place = str(tmp_path / "elsewhere")
    hive.create_table(ORDERS, schema(path=place))
    append(hive.load_table(ORDERS), 7)
    assert (hive.names.hive_table(ORDERS).tableType, hive.names.hive_table(ORDERS).parameters["EXTERNAL"]) == (
        "EXTERNAL_TABLE",
        "TRUE",
    )
    set_option(hive.load_table(ORDERS), "file.format", "orc")
    assert hive.names.hive_table(ORDERS).parameters["file.format"] == "orc", "found by its place"
    new = Identifier("shop", "renamed")
    hive.rename_table(ORDERS, new)
    assert ids_of(hive.load_table(new)) == [7]
    hive.drop_table(new)
    hive.create_table(ORDERS, schema(path=place))
    assert ids_of(hive.load_table(ORDERS)) == [7]
    other = new_schema(pa.schema([("name", pa.string())]), options={"path": place, "bucket": "3"})
    with pytest.raises(SchemaError, match=r"the table at .*elsewhere differs in columns, bucket"):
        hive.create_table(new, other)
    hive.drop_database("shop", cascade=True)
    assert (tmp_path / "elsewhere" / "schema" / "schema-0").exists()


def test_a_catalog_of_external_tables(hive_options: dict[str, str], tmp_path: Path) -> None:
    hive = open_catalog({**hive_options, "table.type": "external"})
    hive.create_database("shop")
    hive.create_table(ORDERS, schema())
    hive.drop_table(ORDERS)
    assert (tmp_path / "lake" / "shop.db" / "orders" / "schema" / "schema-0").exists()


def test_locations_in_properties(hive_options: dict[str, str], tmp_path: Path) -> None:
    hive = open_catalog({**hive_options, "location-in-properties": "true"})
    hive.create_database("shop")
    assert hive.load_database("shop").location == f"{tmp_path}/lake/shop.db"
    hive.create_table(ORDERS, schema())
    append(hive.load_table(ORDERS), 1)
    new = Identifier("shop", "new")
    hive.rename_table(ORDERS, new)
    assert hive.table_location(new) == f"{tmp_path}/lake/shop.db/new"
    assert ids_of(hive.load_table(new)) == [1]
    hive.drop_table(new)
    assert not (tmp_path / "lake" / "shop.db" / "new").exists()


def test_without_all_properties(hive_options: dict[str, str]) -> None:
    hive = open_catalog({**hive_options, "sync-all-properties": "false"})
    assert isinstance(hive.names, HiveNames)
    hive.create_database("shop")
    hive.create_table(ORDERS, schema(**{"file.format": "orc", "hive.note": "n"}))
    told = hive.names.hive_table(ORDERS).parameters
    assert ("file.format" in told, told["note"]) == (False, "n")


@pytest.mark.parametrize("is_hidden", [True, False])
def test_tables_of_hive_that_are_no_format_tables(hive_options: dict[str, str], is_hidden: bool) -> None:
    """Those in other formats; and all where the options hide them."""
    hive = open_catalog({**hive_options, "format-table.enabled": str(not is_hidden)})
    assert isinstance(hive.names, HiveNames)
    hive.create_database("shop")
    add_table_of_hive(hive, ORDERS)
    if not is_hidden:
        told = hive.names.hive_table(ORDERS)
        told.sd.inputFormat = "org.apache.hadoop.mapred.SequenceFileInputFormat"
        hive.names.metastore.alter_table(ORDERS, told, {})
    assert hive.list_tables("shop") == []
    for call in (hive.load_table, hive.find_table, hive.drop_table, hive.check_table):
        with pytest.raises(UnsupportedFeature, match="a table of Hive without snapshots"):
            call(ORDERS)
    with pytest.raises(UnsupportedFeature):
        hive.create_table(ORDERS, schema(), ignore_if_exists=True)
    hive.create_table(Identifier("shop", "t"), schema())
    with pytest.raises(TableAlreadyExists):
        hive.rename_table(Identifier("shop", "t"), ORDERS)
    with pytest.raises(DatabaseNotEmpty):
        hive.drop_database("shop")
    hive.drop_database("shop", cascade=True)


def test_the_life_of_views(hive: FileCatalog) -> None:
    hive.create_table(ORDERS, schema())
    hive.create_view(BIG, dataclasses.replace(VIEW, comment="c", options={"k": "v"}))
    found = hive.load_view(BIG)
    assert (found.query, found.comment, found.options["k"], dict(found.dialects)) == (VIEW.query, "c", "v", {})
    assert [(f.name, f.type) for f in found.fields] == [("id", DataType(Root.BIGINT))]
    assert (hive.list_views("shop"), hive.list_tables("shop")) == (["big"], ["orders"])
    hive.alter_view(BIG, [SetViewOption("l", "w"), RemoveViewOption("k"), UpdateViewComment(None)])
    assert (hive.load_view(BIG).comment, hive.load_view(BIG).options.get("k")) == (None, None)
    assert hive.load_view(BIG).options["l"] == "w"
    with pytest.raises(UnsupportedFeature, match="one query for a view, and no dialects"):
        hive.alter_view(BIG, [AddDialect("flink", "SELECT 1")])
    with pytest.raises(UnsupportedFeature, match="a query of its own for flink"):
        hive.create_view(Identifier("shop", "v"), dataclasses.replace(VIEW, dialects={"flink": "SELECT 1"}))
    for wrong in (lambda: hive.create_view(BIG, VIEW), lambda: hive.create_view(ORDERS, VIEW)):
        with pytest.raises(ViewAlreadyExists):
            wrong()
    hive.create_view(BIG, VIEW, ignore_if_exists=True)
    with pytest.raises(TableAlreadyExists, match="there is a view"):
        hive.create_table(BIG, schema())
    with pytest.raises(TableNotFound, match="is a view and no table"):
        hive.load_table(BIG)
    new = Identifier("shop", "bigger")
    with pytest.raises(ViewAlreadyExists):
        hive.rename_view(BIG, ORDERS)
    hive.rename_view(BIG, new)
    assert hive.find_view(BIG) is None
    hive.drop_view(new)
    for call in (hive.load_view, hive.drop_view):
        with pytest.raises(ViewNotFound):
            call(new)
    hive.drop_view(new, ignore_if_not_exists=True)


def test_the_system_database_knows_the_places(hive: FileCatalog, tmp_path: Path) -> None:
    hive.create_table(ORDERS, schema(path=str(tmp_path / "elsewhere")))
    table = find_warehouse_table(hive.table_location(Identifier("sys", "tables")), dict(hive.table_options()))
    assert table is not None
    assert hive.list_tables("sys") == ["all_table_options", "partitions", "tables"]
    found = table.scan(["database_name", "table_name"]).to_arrow().to_pylist()
    assert found == [{"database_name": "shop", "table_name": "orders"}]


def test_what_the_metastore_does_not_take(hive: FileCatalog, tmp_path: Path) -> None:
    with pytest.raises(CatalogUnavailable, match="the Hive metastore refuses it"):
        hive.create_table(Identifier("shop", "a-b"), schema())
    assert list((tmp_path / "lake" / "shop.db").iterdir()) == [], "the files are gone, as by Java"


def test_repair_of_all(hive_options: dict[str, str], tmp_path: Path) -> None:
    files = open_catalog(hive_options["warehouse"])
    files.create_database("shop")
    files.create_table(ORDERS, schema(bucket="1", **{"bucket-key": "id"}))
    hive = open_catalog(hive_options)
    assert isinstance(hive.names, HiveNames)
    assert hive.list_databases() == ["default"]
    hive.repair()
    append(hive.load_table(ORDERS), 1)
    assert hive.names.hive_table(ORDERS).parameters["bucket-key"] == "id"
    with pytest.raises(DatabaseNotFound, match="there is no directory"):
        hive.repair("none")
    with pytest.raises(TableNotFound, match="no files of a table"):
        hive.repair("shop", "none")


def test_the_catalog_is_quiet_about_what_it_has(hive: Catalog) -> None:
    with pytest.raises(UnsupportedFeature, match="only a REST catalog stores functions"):
        hive.list_functions("shop")
    assert (hive.case_sensitive, hive.can_rename_tables, hive.default_database) == (False, True, "default")
