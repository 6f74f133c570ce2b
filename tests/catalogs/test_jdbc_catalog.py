"""The catalog in a relational database, on SQLite: what is in which row, and what is left of interrupted calls."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from support.faults.faulty_store import FaultyFileIO, InjectedFault, When
from support.long_runs import LONG, draws
from support.tables.catalog_rows import properties, query
from support.tables.catalog_tables import ORDERS, append, ids_of, schema, with_store

from paimon_spark import open_catalog
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.create import create_table
from paimon_spark.catalogs.file_catalog import FileCatalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.views import AddDialect, DropDialect, SetViewOption, UpdateDialect, UpdateViewComment, View
from paimon_spark.catalogs.warehouse import find_warehouse_table
from paimon_spark.errors import (
    CatalogUnavailable,
    DatabaseNotEmpty,
    DatabaseNotFound,
    NameTaken,
    OptionError,
    PaimonError,
    SchemaError,
    StorageError,
    TableAlreadyExists,
    TableNotFound,
    UnsupportedFeature,
    ViewAlreadyExists,
    ViewNotFound,
)
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.metadata.alter import set_option
from paimon_spark.tables.open import open_table

BIG = Identifier("shop", "big")
VIEW = View((DataField(0, "id", DataType(Root.BIGINT)),), "SELECT id FROM orders", {"spark": "SELECT id FROM orders"})


# ------------------------------------------------------------------------------------------------------------ databases


def test_properties_of_databases(jdbc: Catalog, tmp_path: Path) -> None:
    jdbc.create_database("archive", {"comment": "old rows", "owner": "us"})
    found = jdbc.load_database("archive")
    assert (found.comment, found.properties, found.location) == (
        "old rows",
        {"owner": "us"},
        f"{tmp_path}/lake/archive.db",
    )
    jdbc.alter_database("archive", {"owner": "them", "x": "1"}, ("comment", "not there"))
    assert jdbc.load_database("archive").properties == {"owner": "them", "x": "1"}
    assert jdbc.load_database("archive").comment is None
    stored = query(tmp_path, "SELECT * FROM paimon_database_properties WHERE database_name = 'archive' ORDER BY 3")
    assert [row[2:] for row in stored] == [
        ("exists", "true"),
        ("location", f"{tmp_path}/lake/archive.db"),
        ("owner", "them"),
        ("x", "1"),
    ]
    with pytest.raises(UnsupportedFeature, match="with a location of its own"):
        jdbc.create_database("far", {"location": "/far"})
    with pytest.raises(OptionError, match="belong to the catalog"):
        jdbc.alter_database("archive", {"exists": "false"})
    with pytest.raises(OptionError, match="a value of 1001 characters"):
        jdbc.alter_database("archive", {"long": "x" * 1001})
    with pytest.raises(DatabaseNotFound, match="no database 'none'"):
        jdbc.alter_database("none", {"a": "b"})


def test_a_database_is_there_through_what_is_in_it(jdbc: Catalog, tmp_path: Path) -> None:
    query(tmp_path, "INSERT INTO paimon_tables VALUES ('jdbc', 'by_table', 't'), ('other', 'hidden', 't')")
    jdbc.create_view(BIG, VIEW)
    assert jdbc.list_databases() == ["by_table", "shop"]
    query(tmp_path, "DELETE FROM paimon_database_properties")
    assert jdbc.list_databases() == ["by_table", "shop"]
    assert jdbc.load_database("shop").location == f"{tmp_path}/lake/shop.db"
    with pytest.raises(DatabaseNotEmpty, match=r"0 tables and 1 views \(big\)"):
        jdbc.drop_database("shop")
    jdbc.drop_database("shop", cascade=True)
    assert jdbc.list_databases() == ["by_table"]


def test_catalogs_of_two_keys_share_a_database(jdbc: FileCatalog, tmp_path: Path) -> None:
    other = open_catalog({**jdbc.options, "catalog-key": "other", "warehouse": f"{tmp_path}/else"})
    assert other.list_databases() == []
    other.create_database("shop")
    other.create_table(ORDERS, schema())
    assert jdbc.list_tables("shop") == []


# --------------------------------------------------------------------------------------------------------------- tables


def test_the_options_of_a_table_are_copied(jdbc: FileCatalog, tmp_path: Path) -> None:
    jdbc.create_table(ORDERS, schema(bucket="2", **{"bucket-key": "id"}))
    assert properties(tmp_path) == {"bucket": "2", "bucket-key": "id"}
    set_option(jdbc.load_table(ORDERS), "file.format", "orc")
    assert properties(tmp_path) == {"bucket": "2", "bucket-key": "id", "file.format": "orc"}
    with pytest.raises(OptionError, match="'sync-all-properties' = 'false'"):
        set_option(jdbc.load_table(ORDERS), "data-file.external-paths", "/" + "x" * 1000)
    assert jdbc.load_table(ORDERS).schema.id == 1, "nothing was published"
    jdbc.rename_table(ORDERS, Identifier("shop", "new"))
    assert query(tmp_path, "SELECT DISTINCT table_name FROM paimon_table_properties") == [("new",)]
    jdbc.drop_table(Identifier("shop", "new"))
    assert properties(tmp_path) == {}
    quiet = open_catalog({**jdbc.options, "sync-all-properties": "false"})
    quiet.create_table(ORDERS, schema(bucket="2", **{"bucket-key": "id"}))
    set_option(quiet.load_table(ORDERS), "file.format", "orc")
    assert properties(tmp_path) == {}


def test_only_rows_make_tables(jdbc: FileCatalog) -> None:
    """Files that the database does not know are no table, until it is repaired."""
    create_table(jdbc.table_location(ORDERS), schema(), jdbc.names.file_io)
    assert (jdbc.list_tables("shop"), jdbc.find_table(ORDERS)) == ([], None)
    for action in (lambda: jdbc.load_table(ORDERS), lambda: jdbc.check_table(ORDERS), lambda: jdbc.drop_table(ORDERS)):
        with pytest.raises(TableNotFound, match=r"no table shop\.orders in the catalog"):
            action()
    with pytest.raises(SchemaError, match=r"does not know it.*CALL sys\.repair\('shop\.orders'\)"):
        jdbc.create_table(ORDERS, schema())
    jdbc.create_table(BIG, schema())
    with pytest.raises(SchemaError, match="repair that table, or delete"):
        jdbc.rename_table(BIG, ORDERS)
    assert jdbc.list_tables("shop") == ["big"]
    jdbc.repair("shop", "orders")
    assert jdbc.list_tables("shop") == ["big", "orders"]
    assert ids_of(jdbc.load_table(ORDERS)) == []


def test_rows_without_files(jdbc: FileCatalog, tmp_path: Path) -> None:
    query(tmp_path, "INSERT INTO paimon_tables VALUES ('jdbc', 'shop', 'orders')")
    for action in (lambda: jdbc.find_table(ORDERS), lambda: jdbc.load_table(ORDERS)):
        with pytest.raises(SchemaError, match="there are no files of it"):
            action()
    jdbc.drop_table(ORDERS)
    assert jdbc.list_tables("shop") == []


def test_repair_of_all(jdbc: FileCatalog, tmp_path: Path) -> None:
    jdbc.create_table(ORDERS, schema(**{"file.format": "orc"}))
    create_table(f"{tmp_path}/lake/new.db/t", schema(), jdbc.names.file_io)
    (tmp_path / "lake" / "other").mkdir()
    query(tmp_path, "DELETE FROM paimon_tables")
    query(tmp_path, "UPDATE paimon_table_properties SET property_value = 'avro'")
    jdbc.repair()
    assert {name: jdbc.list_tables(name) for name in jdbc.list_databases()} == {"new": ["t"], "shop": ["orders"]}
    assert properties(tmp_path) == {"file.format": "orc"}
    with pytest.raises(DatabaseNotFound, match="no directory"):
        jdbc.repair("none")
    with pytest.raises(TableNotFound, match="no files of a table"):
        jdbc.repair("shop", "none")


def test_the_system_database_knows_the_rows(jdbc: FileCatalog) -> None:
    jdbc.create_table(ORDERS, schema())
    create_table(jdbc.table_location(BIG), schema(), jdbc.names.file_io)
    found = find_warehouse_table(jdbc.table_location(Identifier("sys", "tables")), jdbc.table_options())
    assert found is not None
    assert found.scan(["table_name"]).to_arrow().to_pydict() == {"table_name": ["orders"]}


def test_letter_case(jdbc: FileCatalog) -> None:
    """Java's catalog says that it does not tell letter case apart, whatever the option says, and changes no name."""
    assert not open_catalog({**jdbc.options, "case-sensitive": "true"}).case_sensitive
    jdbc.create_database("Shop")
    assert jdbc.list_databases() == ["Shop", "shop"]


# ---------------------------------------------------------------------------------------------------------------- views


def test_the_life_of_a_view(jdbc: Catalog, tmp_path: Path) -> None:
    jdbc.create_view(BIG, VIEW)
    assert (jdbc.load_view(BIG), jdbc.list_views("shop"), jdbc.list_tables("shop")) == (VIEW, ["big"], [])
    with pytest.raises(ViewAlreadyExists, match=r"shop\.big already"):
        jdbc.create_view(BIG, VIEW)
    jdbc.create_view(BIG, replace(VIEW, query="other"), ignore_if_exists=True)
    assert jdbc.load_view(BIG) == VIEW
    jdbc.alter_view(BIG, [AddDialect("flink", "f"), UpdateViewComment("c"), SetViewOption("a", "b")])
    assert jdbc.load_view(BIG) == replace(
        VIEW, dialects={**VIEW.dialects, "flink": "f"}, comment="c", options={"a": "b"}
    )
    with pytest.raises(NameTaken, match="'flink' already"):
        jdbc.alter_view(BIG, [DropDialect("spark"), AddDialect("flink", "f")])
    with pytest.raises(OptionError, match="no query for the dialect 'trino'; those with a query are flink, spark"):
        jdbc.alter_view(BIG, [UpdateDialect("trino", "f")])
    assert jdbc.load_view(BIG).query_for("spark") == "SELECT id FROM orders"
    jdbc.create_database("archive")
    new = Identifier("archive", "old")
    jdbc.rename_view(BIG, new)
    with pytest.raises(ViewNotFound, match=r"no view shop\.big in the catalog 'paimon'"):
        jdbc.load_view(BIG)
    assert jdbc.list_views("archive") == ["old"]
    jdbc.drop_view(new)
    for action in (
        lambda: jdbc.drop_view(new),
        lambda: jdbc.alter_view(new, [DropDialect("x")]),
        lambda: jdbc.rename_view(new, BIG),
    ):
        with pytest.raises(ViewNotFound):
            action()
    jdbc.drop_view(new, ignore_if_not_exists=True)
    jdbc.rename_view(new, BIG, ignore_if_not_exists=True)
    jdbc.alter_view(new, [DropDialect("x")], ignore_if_not_exists=True)
    with pytest.raises(DatabaseNotFound):
        jdbc.create_view(Identifier("none", "v"), VIEW)
    query(tmp_path, "INSERT INTO paimon_views VALUES ('jdbc', 'shop', 'bad', '{}')")
    with pytest.raises(PaimonError, match=r"the view shop\.bad of the catalog 'paimon'"):
        jdbc.load_view(Identifier("shop", "bad"))


def test_views_and_tables_share_the_names(jdbc: Catalog) -> None:
    jdbc.create_table(ORDERS, schema())
    jdbc.create_view(BIG, VIEW)
    with pytest.raises(ViewAlreadyExists):
        jdbc.create_view(ORDERS, VIEW)
    with pytest.raises(ViewAlreadyExists):
        jdbc.rename_view(BIG, ORDERS)
    for action in (lambda: jdbc.create_table(BIG, schema()), lambda: jdbc.rename_table(ORDERS, BIG)):
        with pytest.raises(TableAlreadyExists, match="view"):
            action()
    with pytest.raises(TableNotFound, match=r"shop\.big is a view and no table"):
        jdbc.load_table(BIG)
    with pytest.raises(UnsupportedFeature, match="only a REST catalog stores functions"):
        jdbc.list_functions("shop")


# ---------------------------------------------------------------------------------------------------------------- locks


def locked_by_another(place: Path, seconds_ago: int, lives: int) -> None:
    query(
        place,
        "INSERT INTO paimon_distributed_locks VALUES "
        f"('jdbc.shop.orders', datetime('now', '-{seconds_ago} seconds'), {lives})",
    )


def test_a_lock_of_others_is_waited_for(jdbc: FileCatalog, tmp_path: Path) -> None:
    short = open_catalog({**jdbc.options, "lock-acquire-timeout": "300 ms"})
    jdbc.create_table(ORDERS, schema())
    table = short.load_table(ORDERS)
    locked_by_another(tmp_path, 0, 480)
    with pytest.raises(StorageError, match=r"locking shop\.orders .* others have held the lock"):
        append(table, 1)
    assert table.snapshots.ids() == []
    with pytest.raises(CatalogUnavailable, match="'lock-acquire-timeout'"):
        short.drop_table(ORDERS)
    done = threading.Thread(target=append, args=(jdbc.load_table(ORDERS), 2))
    done.start()
    query(tmp_path, "DELETE FROM paimon_distributed_locks")
    done.join()
    assert ids_of(jdbc.load_table(ORDERS)) == [2]
    assert query(tmp_path, "SELECT * FROM paimon_distributed_locks") == []


def test_the_lock_of_a_killed_job_expires(jdbc: FileCatalog, tmp_path: Path) -> None:
    jdbc.create_table(ORDERS, schema())
    locked_by_another(tmp_path, 481, 480)
    append(jdbc.load_table(ORDERS), 1)
    assert ids_of(jdbc.load_table(ORDERS)) == [1]


def test_commits_and_schemas_take_the_lock_of_their_branch(jdbc: FileCatalog, tmp_path: Path) -> None:
    jdbc.create_table(ORDERS, schema())
    query(tmp_path, "CREATE TABLE taken (lock_id)")
    insertion = "INSERT INTO taken VALUES (NEW.lock_id)"
    query(tmp_path, f"CREATE TRIGGER told AFTER INSERT ON paimon_distributed_locks BEGIN {insertion}; END")
    append(jdbc.load_table(ORDERS), 1)
    set_option(jdbc.load_table(ORDERS), "file.format", "orc")
    assert query(tmp_path, "SELECT lock_id FROM taken") == [("jdbc.shop.orders",)] * 2
    unlocked = open_catalog({**jdbc.options, "lock.enabled": "false"})
    append(unlocked.load_table(ORDERS), 2)
    assert len(query(tmp_path, "SELECT * FROM taken")) == 2


def test_a_password_that_a_file_does_not_need_is_not_shown(tmp_path: Path) -> None:
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/c.db", "warehouse": str(tmp_path / "w")}
    catalog = open_catalog({**options, "jdbc.password": "sesame"})
    catalog.create_database("shop")
    catalog.create_table(ORDERS, schema())
    table = catalog.load_table(ORDERS)
    told = [repr(catalog), str(catalog.table_options()), repr(table), pickle.dumps(table).decode("latin-1")]
    assert not [text for text in told if "sesame" in text]


def test_a_table_that_is_opened_by_its_path_keeps_the_lock(jdbc: FileCatalog, tmp_path: Path) -> None:
    """The options of a catalog travel with the path, through pickles too."""
    jdbc.create_table(ORDERS, schema())
    options = {**jdbc.table_options(), "catalog.connection": jdbc.table_options()["catalog.connection"]}
    table = pickle.loads(pickle.dumps(open_table(jdbc.table_location(ORDERS), options)))
    set_option(table, "file.format", "orc")
    assert properties(tmp_path) == {"file.format": "orc"}
    outside = create_table(f"{tmp_path}/outside", schema())
    set_option(open_table(f"{tmp_path}/outside", options), "file.format", "orc")
    assert outside.id == 0
    assert properties(tmp_path) == {"file.format": "orc"}


# --------------------------------------------------------------------------------------------------------------- faults


def broken_in_each_step(
    prepared: Callable[[], FileCatalog], work: Callable[[FileCatalog], object]
) -> list[FileCatalog]:
    """The catalogs after a fault of the files in each step of some work."""
    watched = prepared()
    store = FaultyFileIO(watched.names.file_io, lasting=True)
    work(with_store(watched, store))
    points = [(n, when) for n, name in enumerate(store.log) for when in (When if name[0] == "!" else [When.BEFORE])]
    found = []
    for at, when in points if LONG else draws().sample(points, min(len(points), 8)):
        catalog = prepared()
        with suppress(InjectedFault, PaimonError):
            work(with_store(catalog, FaultyFileIO(catalog.names.file_io, lasting=True, at=at, when=when)))
        found.append(catalog)
    return found


def test_faults_between_the_database_and_the_files(tmp_path: Path) -> None:
    """A table is whole, or none; and create, repair or drop makes good what is left."""
    number = iter(range(1000))
    new = Identifier("shop", "new")

    def prepared() -> FileCatalog:
        place = tmp_path / str(next(number))
        place.mkdir()
        made = open_catalog({"metastore": "jdbc", "uri": f"sqlite:///{place}/c.db", "warehouse": f"{place}/lake"})
        assert isinstance(made, FileCatalog)
        made.create_database("shop")
        made.create_table(ORDERS, schema())
        append(made.load_table(ORDERS), 1)
        return made

    for catalog in broken_in_each_step(prepared, lambda broken: broken.rename_table(ORDERS, new)):
        (name,) = catalog.list_tables("shop")
        other = Identifier("shop", {"orders": "new", "new": "orders"}[name])
        try:
            assert ids_of(catalog.load_table(Identifier("shop", name))) == [1]
        except SchemaError:  # a kill between row and files: the row has the new name, the files the old one
            catalog.drop_table(Identifier("shop", name))
            catalog.repair("shop", other.table)
            assert ids_of(catalog.load_table(other)) == [1]
    for catalog in broken_in_each_step(prepared, lambda broken: broken.create_table(new, schema())):
        if "new" not in catalog.list_tables("shop"):
            try:
                catalog.create_table(new, schema())
            except SchemaError:
                catalog.repair("shop", "new")
        assert ids_of(catalog.load_table(new)) == []
    for catalog in broken_in_each_step(prepared, lambda broken: broken.drop_table(ORDERS)):
        assert catalog.list_tables("shop") in ([], ["orders"])
        catalog.drop_table(ORDERS, ignore_if_not_exists=True)
        try:
            catalog.create_table(ORDERS, schema())
        except SchemaError:  # the row is gone and the files are there
            catalog.repair("shop", "orders")
            assert ids_of(catalog.load_table(ORDERS)) == [1]
            catalog.drop_table(ORDERS)
            catalog.create_table(ORDERS, schema())
        assert ids_of(catalog.load_table(ORDERS)) == []


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """SQLite makes a file that is opened: a typing error in its path would seem an empty catalog, and leave a file."""
    file, lake = tmp_path / "catalgo.db", tmp_path / "lake"
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{file}", "warehouse": str(lake), "lock.enabled": "true"}
    catalog = open_catalog(options)
    uses: dict[str, Callable[[], object]] = {
        "list databases": catalog.list_databases,
        "list tables": lambda: catalog.list_tables("shop"),
        "load": lambda: catalog.load_table(ORDERS),
        "find": lambda: catalog.find_table(ORDERS),
        "create a table": lambda: catalog.create_table(ORDERS, schema()),
        "drop a table": lambda: catalog.drop_table(ORDERS, ignore_if_not_exists=True),
        "rename": lambda: catalog.rename_table(ORDERS, BIG),
        "alter": lambda: catalog.alter_database("shop", {"a": "b"}),
        "drop": lambda: catalog.drop_database("shop"),
        "views": lambda: catalog.list_views("shop"),
        "create a view": lambda: catalog.create_view(BIG, VIEW),
    }
    told = f"SQLite database {file}: there is no such file; check the path in 'uri', or create a database"
    for name, use in uses.items():
        with pytest.raises(CatalogUnavailable, match=told):
            use()
        assert not file.exists(), name
    catalog.create_database("shop")
    catalog.create_table(ORDERS, schema())
    append(catalog.load_table(ORDERS), 1)
    table = catalog.load_table(ORDERS)
    file.unlink()
    with pytest.raises(StorageError, match=told):
        append(table, 2)
    with pytest.raises(CatalogUnavailable, match=told):
        catalog.list_databases()
    assert not file.exists()
    catalog.repair("shop", "orders")
    assert ids_of(catalog.load_table(ORDERS)) == [1], "a repair may make the file: the tables are there"


def test_a_user_that_the_driver_needs() -> None:
    uris = ("jdbc:postgresql://127.0.0.1:1/lake", "postgresql+pg8000://127.0.0.1:1/lake")
    for uri in uris:
        with pytest.raises(OptionError, match=r"the PostgreSQL database .* the option 'jdbc.user' is missing"):
            open_catalog({"metastore": "jdbc", "uri": uri, "warehouse": "/lake"}).list_databases()


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "junk.db").write_bytes(b"something else, " * 100)
    options = {"metastore": "jdbc", "uri": f"sqlite:///{tmp_path}/junk.db", "warehouse": f"{tmp_path}/lake"}
    with pytest.raises(CatalogUnavailable, match="the file there is no database of SQLite; give another path as 'uri'"):
        open_catalog(options).list_databases()
