"""Each call of the protocol on each of the four catalogs: done, or refused by name.

A run of the whole suite tries two of the four, each run others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from support.programs.four_catalogs import FILES, HIVE, JDBC, KINDS, REST, catalog_options
from support.shares import some_of
from support.tables.catalog_tables import append, ids_of, schema
from support.tables.hive_files import add_hive_table, write_file

from paimon_spark import open_catalog, open_table
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.functions import Function
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.views import SetViewOption, View
from paimon_spark.errors import DatabaseNotEmpty, DatabaseNotFound, TableNotFound, UnsupportedFeature
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.open import OpenTable, with_snapshots

FIELDS = (DataField(0, "id", DataType(Root.BIGINT)),)
VIEW = View(FIELDS, "SELECT 1", {"spark": "SELECT 1"}, "told", {"a": "b"})
FUNCTION = Function(FIELDS, FIELDS, True, {"spark": {"type": "sql", "definition": "id + 1"}})


@dataclass(frozen=True)
class Shop:
    """A catalog with a database that has a table of the rows 1 and 2.

    Attributes:
        kind: of the catalog.
        place: an empty directory.
    """

    kind: str
    catalog: Catalog
    table: Identifier
    place: Path

    @property
    def database(self) -> str:
        return self.table.database

    def named(self, name: str) -> Identifier:
        return Identifier(self.database, name)


# ---------------------------------------------------------------------------------------------------------------- calls


def list_databases(shop: Shop) -> None:
    assert shop.database in shop.catalog.list_databases()


def load_database(shop: Shop) -> None:
    assert shop.catalog.load_database(shop.database).name == shop.database
    with pytest.raises(DatabaseNotFound, match="no database 'nowhere'"):
        shop.catalog.load_database("nowhere")


def create_database(shop: Shop) -> None:
    shop.catalog.create_database("new")
    shop.catalog.create_database("new", ignore_if_exists=True)
    assert shop.catalog.list_tables("new") == []
    shop.catalog.drop_database("new")


def drop_database(shop: Shop) -> None:
    with pytest.raises(DatabaseNotEmpty):
        shop.catalog.drop_database(shop.database)
    assert ids_of(shop.catalog.load_table(shop.table)) == [1, 2]
    shop.catalog.drop_database(shop.database, cascade=True)
    assert shop.database not in shop.catalog.list_databases()


def alter_database(shop: Shop) -> None:
    shop.catalog.alter_database(shop.database, {"a": "1", "b": "2"})
    shop.catalog.alter_database(shop.database, {"a": "3"}, ("b",))
    found = shop.catalog.load_database(shop.database).properties
    assert (found["a"], found.get("b")) == ("3", None)


def create_table(shop: Shop) -> None:
    shop.catalog.create_table(shop.named("new"), schema(**{"file.format": "orc"}))
    assert shop.catalog.create_table(shop.named("new"), schema(), True).options["file.format"] == "orc"


def list_tables(shop: Shop) -> None:
    assert shop.catalog.list_tables(shop.database) == ["t"]


def drop_table(shop: Shop) -> None:
    shop.catalog.drop_table(shop.table)
    with pytest.raises(TableNotFound):
        shop.catalog.drop_table(shop.table)


def rename_table(shop: Shop) -> None:
    assert shop.catalog.can_rename_tables
    shop.catalog.rename_table(shop.table, shop.named("other"))
    assert shop.catalog.list_tables(shop.database) == ["other"]
    assert ids_of(shop.catalog.load_table(shop.named("other"))) == [1, 2]


def find_table(shop: Shop) -> None:
    found = shop.catalog.find_table(shop.table)
    assert found is not None
    assert (found.names, shop.catalog.find_table(shop.named("none"))) == (("id",), None)


def load_any_table(shop: Shop) -> None:
    assert ids_of(with_snapshots(shop.catalog.load_any_table(shop.table))) == [1, 2]


def load_table(shop: Shop) -> None:
    append(shop.catalog.load_table(shop.table), 3)
    assert ids_of(shop.catalog.load_table(shop.table, {"scan.snapshot-id": "1"})) == [1, 2]


def table(shop: Shop) -> None:
    name = f"{shop.table.database}.{shop.table.table}"
    assert ids_of(shop.catalog.table(name)) == ids_of(shop.catalog[name]) == [1, 2]


def new_table(shop: Shop) -> None:
    made = shop.catalog.new_table(f"{shop.database}.new", {"id": "BIGINT"}, options={"file.format": "orc"})
    assert (made.schema.names, made.schema.options["file.format"]) == (("id",), "orc")


def opening(shop: Shop) -> None:
    told = list[str]()

    def noted(table: OpenTable, place: str, given: Mapping[str, str]) -> OpenTable:
        told.append(place)
        return table

    shop.catalog.opening(noted).table(str(shop.table))
    assert told == [shop.catalog.table_location(shop.table)]


def check_table(shop: Shop) -> None:
    shop.catalog.check_table(shop.table)
    if shop.kind in (JDBC, HIVE):
        with pytest.raises(TableNotFound):
            shop.catalog.check_table(shop.named("none"))


def table_location(shop: Shop) -> None:
    opened = open_table(shop.catalog.table_location(shop.table), shop.catalog.table_options(shop.table))
    assert ids_of(opened) == [1, 2]


def repair(shop: Shop) -> None:
    shop.catalog.repair(shop.database)
    shop.catalog.repair(shop.database, "t")
    assert shop.catalog.list_tables(shop.database) == ["t"]


def tables_of_hive(shop: Shop) -> None:
    assert shop.catalog.tables_of_hive(shop.database) == []


def migrate_table(shop: Shop) -> None:
    write_file(shop.place / "part-0", "parquet", {"id": [7], "name": ["x"]})
    if shop.kind == HIVE:
        add_hive_table(shop.catalog.names.metastore, shop.named("old"), shop.place, "parquet")
    shop.catalog.migrate_table(shop.named("old"))
    assert ids_of(shop.catalog.load_table(shop.named("old"))) == [7]


def list_views(shop: Shop) -> None:
    shop.catalog.create_view(shop.named("v"), VIEW)
    assert shop.catalog.list_views(shop.database) == ["v"]
    assert shop.catalog.list_tables(shop.database) == ["t"]


def find_view(shop: Shop) -> None:
    assert shop.catalog.find_view(shop.named("none")) is None
    assert shop.catalog.find_view(shop.table) is None


def load_view(shop: Shop) -> None:
    shop.catalog.create_view(shop.named("v"), VIEW)
    found = shop.catalog.load_view(shop.named("v"))
    assert (found.query_for("spark"), found.comment, found.options["a"]) == ("SELECT 1", "told", "b")


def alter_view(shop: Shop) -> None:
    shop.catalog.create_view(shop.named("v"), VIEW)
    shop.catalog.alter_view(shop.named("v"), [SetViewOption("c", "d")])
    assert shop.catalog.load_view(shop.named("v")).options["c"] == "d"


def rename_view(shop: Shop) -> None:
    shop.catalog.create_view(shop.named("v"), VIEW)
    shop.catalog.rename_view(shop.named("v"), shop.named("w"))
    assert shop.catalog.list_views(shop.database) == ["w"]


def drop_view(shop: Shop) -> None:
    shop.catalog.create_view(shop.named("v"), VIEW)
    shop.catalog.drop_view(shop.named("v"))
    assert shop.catalog.list_views(shop.database) == []


def find_function(shop: Shop) -> None:
    assert shop.catalog.has_functions is (shop.kind == REST)
    assert shop.catalog.find_function(shop.named("none")) is None
    assert shop.catalog.find_function(shop.named("no/name")) is None


def load_function(shop: Shop) -> None:
    shop.catalog.create_function(shop.named("f"), FUNCTION)
    assert shop.catalog.load_function(shop.named("f")) == FUNCTION


def list_functions(shop: Shop) -> None:
    shop.catalog.create_function(shop.named("f"), FUNCTION)
    assert shop.catalog.list_functions(shop.database) == ["f"]


def alter_function(shop: Shop) -> None:
    shop.catalog.create_function(shop.named("f"), FUNCTION)
    shop.catalog.alter_function(shop.named("f"), [{"action": "updateComment", "comment": "c"}])
    assert shop.catalog.load_function(shop.named("f")).comment == "c"


def drop_function(shop: Shop) -> None:
    shop.catalog.create_function(shop.named("f"), FUNCTION)
    shop.catalog.drop_function(shop.named("f"))
    assert shop.catalog.list_functions(shop.database) == []


def constants(shop: Shop) -> None:
    """What features 9.1 says of each kind."""
    catalog = shop.catalog
    assert (catalog.name, catalog.default_database) == ("paimon", "default")
    assert catalog.case_sensitive is (shop.kind in (FILES, REST))
    assert catalog.has_views is (shop.kind != FILES)
    assert "warehouse" in catalog.options
    catalog.refresh()
    catalog.refresh(shop.table)


CALLS: dict[str, Callable[[Shop], None]] = {
    **{
        call.__name__: call
        for call in (
            *(list_databases, load_database, create_database, drop_database, alter_database),
            *(
                create_table,
                list_tables,
                drop_table,
                rename_table,
                find_table,
                load_any_table,
                load_table,
                table,
                new_table,
                opening,
                check_table,
                table_location,
            ),
            *(repair, tables_of_hive, migrate_table),
            *(list_views, find_view, load_view, alter_view, rename_view, drop_view),
            *(find_function, load_function, list_functions, alter_function, drop_function),
        )
    },
    **{"create_view": list_views, "create_function": list_functions, "table_options": table_location},
    **dict.fromkeys(
        ("name", "options", "default_database", "case_sensitive", "has_views", "has_functions", "refresh"), constants
    ),
    "can_rename_tables": rename_table,
}
"""What tries each call of the protocol."""
_OF_VIEWS = ("list_views", "load_view", "create_view", "alter_view", "rename_view", "drop_view")
_OF_FUNCTIONS = ("list_functions", "load_function", "create_function", "alter_function", "drop_function")
_OF_HIVE = ("tables_of_hive", "migrate_table")
REFUSED: dict[str, dict[str, str]] = {
    FILES: {
        **dict.fromkeys(_OF_VIEWS, "a catalog in files stores no views"),
        "alter_database": "a catalog in files stores no properties of databases",
        "repair": "which need no repair",
    },
    JDBC: {},
    HIVE: {},
    REST: {"repair": "a REST server keeps its tables itself"},
}
"""What a catalog cannot, and the words of its error."""
for _kind, _words in REFUSED.items():
    _words |= {} if _kind == REST else dict.fromkeys(_OF_FUNCTIONS, "only a REST catalog stores functions")
    _words |= {} if _kind == HIVE else dict.fromkeys(_OF_HIVE, "only a hive catalog has tables of Hive")


def _marked(kind: str) -> ParameterSet:
    """The metastore runs in the worker of the genuine Java."""
    return pytest.param(kind, marks=pytest.mark.interop) if kind == HIVE else pytest.param(kind)


@pytest.fixture(scope="module", params=map(_marked, some_of(KINDS, 2)))
def catalog(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Catalog]]:
    """A kind, and one catalog of it for all tests."""
    with catalog_options(request.param, tmp_path_factory.mktemp("lake"), request) as options:
        yield request.param, open_catalog(options)


class TestFourCatalogs:
    """Each test has a database of its own."""

    @pytest.mark.parametrize("call", sorted(CALLS))
    def test_each_call(self, catalog: tuple[str, Catalog], call: str, tmp_path: Path) -> None:
        (kind, opened), name = catalog, Identifier(f"of_{call}", "t")
        opened.create_database(name.database)
        opened.create_table(name, schema())
        append(opened.load_table(name), 1, 2)
        shop = Shop(kind, opened, name, tmp_path)
        if call in REFUSED[kind]:
            with pytest.raises(UnsupportedFeature, match=REFUSED[kind][call]):
                CALLS[call](shop)
        else:
            CALLS[call](shop)

    def test_every_call_is_tried(self) -> None:
        assert {name for name in dir(Catalog) if not name.startswith("_")} == set(CALLS)
