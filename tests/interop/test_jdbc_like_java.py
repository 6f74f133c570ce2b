"""Java's JdbcCatalog and ours change one database in turns: both see the same, and err in the same cases.

``PAIMON_JDBC_HISTORIES`` sets how many histories of names are tried, ``PAIMON_CATALOG_LIVES`` how many of names and
data (each by its number as seed). ``PAIMON_CATALOG_SERVERS=1`` and ``PAIMON_LONG=1`` add PostgreSQL and MariaDB.
"""

from __future__ import annotations

import dataclasses
import os
import random
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import java_jdbc
import pytest
from catalog_lives import Life, Step, live
from genuine import Genuine, java_process
from genuine_jars import JavaUnavailable
from readers import telling
from support.long_runs import LONG, tries
from support.oracles.catalog_model import CatalogModel, Change, apply, begin, draw_change, state_of
from support.programs.database_servers import database_server
from support.tables.catalog_tables import ORDERS, append, ids_of, schema
from test_catalog_like_java import JAVA_ERRORS, needs_a_missing_database, words

from paimon_spark import open_catalog
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.views import AddDialect, SetViewOption, View
from paimon_spark.errors import CatalogUnavailable, PaimonError
from paimon_spark.format.type_text import format_field
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.metadata.alter import set_option

pytestmark = pytest.mark.interop

COUNT = tries("PAIMON_JDBC_HISTORIES", ci=5, long=200)
STEPS = 25
LIVES, LIFE_STEPS = tries("PAIMON_CATALOG_LIVES", ci=1, long=200), 20
SERVERS = LONG or os.environ.get("PAIMON_CATALOG_SERVERS") == "1"
KINDS = ("sqlite", "postgresql", "mysql") if SERVERS else ("sqlite",)
VIEW = View((DataField(0, "id", DataType(Root.BIGINT)),), "SELECT id FROM orders", {"spark": "SELECT id FROM orders"})


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The options of a database that both sides can use."""
    with ExitStack() as running:
        if request.param == "sqlite":
            uri = f"jdbc:sqlite:{tmp_path_factory.mktemp('sqlite')}/catalog.db"
            yield {"metastore": "jdbc", "uri": uri, "jdbc.busy_timeout": "20000"}
        else:
            yield running.enter_context(database_server(request.param)).options


@pytest.fixture(scope="module")
def java() -> Iterator[Genuine]:
    """Java Paimon 2.0.0 with drivers of databases."""
    drivers = (java_jdbc.SQLITE, java_jdbc.POSTGRESQL, java_jdbc.MYSQL) if SERVERS else (java_jdbc.SQLITE,)
    try:
        with java_process("2.0.0", *drivers) as served:
            yield served
    except JavaUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture
def options(server: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """Of an empty catalog. Java's lock is on where it can be: in a SQLite file whose table of locks is there, Java's
    catalog leaves a cursor open when it looks for that table, which keeps all others from writing."""
    locked = "false" if "sqlite" in server["uri"] else "true"
    more = {"warehouse": f"{tmp_path}/lake", "catalog-key": uuid4().hex[:8], "lock.enabled": locked}
    more["cache-enabled"] = "false"  # Java would show an older state
    return {**server, **more}


@pytest.mark.parametrize("seed", range(COUNT))
def test_any_history(seed: int, java: Genuine, options: dict[str, str], tmp_path: Path) -> None:
    draw = random.Random(seed)
    ours, model, log = open_catalog(options), CatalogModel({}), [str(options["uri"])]
    begin(ours)
    with telling(log):
        for _ in range(STEPS):
            change = draw_change(draw)
            in_one_case = "mysql" in options["uri"]  # which takes names of another letter case for equal
            if in_one_case and {"Shop", "T"} & {*vars(change.table).values(), *vars(change.to).values()}:
                continue
            if needs_a_missing_database(change, model):
                continue
            by_java = draw.random() < 0.5
            log.append(f"{'Java' if by_java else 'we'}: {change}")
            expected = model.apply(change)
            if by_java:
                error = java.run(java_jdbc.change, options, change.kind, words(change))
                assert error == (expected and JAVA_ERRORS[expected.__name__])
                if change.kind == "drop_database" and change.cascade and expected is None:
                    shutil.rmtree(
                        tmp_path / "lake" / f"{change.table.database}.db", ignore_errors=True
                    )  # Java leaves it
            else:
                assert apply(ours, change) is expected
            assert ours.list_databases() == sorted(model.databases)
        assert state_of(ours) == model.databases
        assert java.run(java_jdbc.state, options) == model.databases


@pytest.mark.parametrize("seed", range(LIVES))
def test_any_life(seed: int, java: Genuine, options: dict[str, str], tmp_path: Path) -> None:
    """Names, options, columns, rows, partitions and views, seen alike by both after each step."""

    def remove_files(step: Step) -> None:
        if step.kind == "drop_database":  # Java leaves them
            shutil.rmtree(tmp_path / "lake" / f"{step.name.database}.db", ignore_errors=True)

    live(Life(random.Random(seed), {}), open_catalog(options), java, options, LIFE_STEPS, after=remove_files)


def named(error: type[PaimonError] | None) -> str | None:
    java = {"ViewAlreadyExists": "ViewAlreadyExistException", "ViewNotFound": "ViewNotExistException"}
    others = {"NameTaken": "DialectAlreadyExistException", "DatabaseNotFound": "DatabaseNotExistException"}
    return None if error is None else {**java, **others}[error.__name__]


def change_view(
    catalog: Catalog, kind: str, view: Identifier, to: Identifier, ignore: bool, tag: str
) -> type[PaimonError] | None:
    """The type of our error."""
    try:
        match kind:
            case "create":
                catalog.create_view(view, dataclasses.replace(VIEW, query=tag), ignore)
            case "drop":
                catalog.drop_view(view, ignore)
            case "rename":
                catalog.rename_view(view, to, ignore)
            case "add":
                catalog.alter_view(view, [AddDialect("flink", tag)], ignore)
            case "option":
                catalog.alter_view(view, [SetViewOption("k", tag)], ignore)
    except PaimonError as error:
        return type(error)
    return None


def seen(catalog: Catalog, database: str) -> dict[str, object]:
    """As java_jdbc.views."""
    found = {}
    for name in catalog.list_views(database):
        view = catalog.load_view(Identifier(database, name))
        columns = [(f.name, format_field(f)["type"], f.id) for f in view.fields]
        found[name] = (view.query, dict(view.dialects), columns, view.comment, dict(view.options))
    return found


@pytest.mark.parametrize("seed", range(COUNT))
def test_any_history_of_views(seed: int, java: Genuine, options: dict[str, str], tmp_path: Path) -> None:
    """Both sides do each change, each on a catalog of its own, and both catalogs are seen alike by both sides."""
    draw, log = random.Random(seed), []
    one, two = options, {**options, "catalog-key": uuid4().hex[:8], "warehouse": str(tmp_path / "other")}
    ours, theirs = open_catalog(one), open_catalog(two)
    for catalog in (ours, theirs):
        catalog.create_database("d")
        catalog.create_table(Identifier("d", "t"), schema())
    with telling(log):
        for step in range(STEPS):
            kind = draw.choice(["create", "create", "drop", "rename", "add", "option"])
            view, to = (Identifier("d", draw.choice(["t", "v", "w", "größe"])) for _ in range(2))
            ignore, tag = draw.random() < 0.3, f"SELECT {step} -- 'ü' \"x\""
            log.append(f"{kind} {view} {to} {ignore}")
            json = {
                "fields": [format_field(f) for f in VIEW.fields],
                "query": tag,
                "dialects": dict(VIEW.dialects),
                "options": {},
            }
            told = {"view": json, "ignore": ignore, "to": str(to), "dialect": "flink" if kind == "add" else "k"}
            error = change_view(ours, kind, view, to, ignore, tag)
            assert java.run(java_jdbc.change_view, two, kind, str(view), {**told, "query": tag}) == named(error)
            if draw.random() < 0.3:  # the sides change places
                one, two, ours, theirs = two, one, theirs, ours
        assert seen(ours, "d") == seen(theirs, "d")
        assert java.run(java_jdbc.views, one, "d") == java.run(java_jdbc.views, two, "d") == seen(ours, "d")


def test_properties_rows_and_repair(java: Genuine, options: dict[str, str], tmp_path: Path) -> None:
    ours = open_catalog(options)
    ours.create_database("shop", {"comment": "c", "a": "1"})
    ours.create_table(ORDERS, schema())
    append(ours.load_table(ORDERS), 1)
    told = java.run(java_jdbc.database_properties, options, "shop")
    assert told == {"comment": "c", "a": "1", "location": f"{tmp_path}/lake/shop.db"}
    java.run(java_jdbc.alter_database, options, "shop", "a", "2")
    java.run(java_jdbc.alter_database, options, "shop", "b", "3")
    java.run(java_jdbc.alter_database, options, "shop", "comment", None)
    assert (ours.load_database("shop").properties, ours.load_database("shop").comment) == ({"a": "2", "b": "3"}, None)
    java.run(java_jdbc.set_option, options, "shop.orders", "file.format", "orc")
    java.run(java_jdbc.add_rows, options, "shop.orders", 10, 2)
    set_option(ours.load_table(ORDERS), "snapshot.num-retained.max", "50")
    append(ours.load_table(ORDERS), 2)
    assert ids_of(ours.load_table(ORDERS)) == [1, 2, 10, 11]
    wanted = {"file.format": "orc", "snapshot.num-retained.max": "50"}
    assert java.run(java_jdbc.state, options) == {"shop": {"orders": wanted}} == state_of(ours)
    java.run(java_jdbc.repair, options)
    ours.repair()
    assert java.run(java_jdbc.state, options) == {"shop": {"orders": wanted}} == state_of(ours)


def test_each_heeds_the_lock_of_the_other(java: Genuine, options: dict[str, str], tmp_path: Path) -> None:
    if "sqlite" in options["uri"]:
        options = {**options, "uri": f"jdbc:sqlite:{tmp_path}/locks.db", "lock.enabled": "true"}
    assert java.run(java_jdbc.state, options) == {}, "Java makes the tables"
    short = open_catalog({**options, "lock-acquire-timeout": "1 s", "lock-check-max-sleep": "50 ms"})
    short.create_database("shop")
    short.create_table(ORDERS, schema())
    key = f"{options['catalog-key']}.shop.orders"
    assert java.run(java_jdbc.acquire, options, key, 480_000)
    with pytest.raises(CatalogUnavailable, match="others have held the lock"):
        short.drop_table(ORDERS)
    java.run(java_jdbc.release, options, key)
    with short.names.connection.lock(ORDERS):
        assert not java.run(java_jdbc.acquire, options, key, 480_000)
    assert java.run(java_jdbc.acquire, options, key, 480_000)
    java.run(java_jdbc.release, options, key)
    assert java.run(java_jdbc.acquire, options, key, 0), "a lock that lives no second"
    append(open_catalog(options).load_table(ORDERS), 1)
    assert ids_of(short.load_table(ORDERS)) == [1]


def test_names_of_java_are_ours(java: Genuine, options: dict[str, str]) -> None:
    """What Java's catalog makes, on tables that it has made itself."""
    change = Change("create_database", ORDERS, ORDERS, False, False, ())
    assert java.run(java_jdbc.change, options, change.kind, words(change)) is None
    change = dataclasses.replace(change, kind="create_table", options=(("bucket", "2"), ("bucket-key", "id")))
    assert java.run(java_jdbc.change, options, change.kind, words(change)) is None
    ours = open_catalog(options)
    assert state_of(ours) == {"shop": {"orders": {"bucket": "2", "bucket-key": "id"}}}
    append(ours.load_table(ORDERS), 5)
    assert ids_of(ours.load_table(ORDERS)) == [5]
