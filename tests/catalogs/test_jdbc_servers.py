"""The catalog in PostgreSQL, which the tests start, and where PAIMON_LONG=1 in MariaDB too."""

from __future__ import annotations

import logging
import pickle
import random
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import sqlalchemy as sa
from support.long_runs import LONG, tries
from support.oracles.catalog_model import CatalogModel, apply, draw_change, state_of
from support.programs.database_servers import PASSWORD, Server, database_server
from support.tables.catalog_tables import ORDERS, append, ids_of, schema

from paimon_spark import open_catalog
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.jdbc.addresses import address_of
from paimon_spark.catalogs.views import AddDialect, View
from paimon_spark.errors import CatalogUnavailable, DatabaseAlreadyExists, PaimonError, TableAlreadyExists
from paimon_spark.store.metadata.alter import set_option

KINDS = ("postgresql", "mysql") if LONG else ("postgresql",)
HISTORIES = tries("PAIMON_CATALOG_HISTORIES", ci=2, long=70)


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """One server for all tests of a kind."""
    with database_server(request.param) as running:
        yield running


@pytest.fixture
def options(server: Server, tmp_path: Path) -> dict[str, str]:
    """Of a catalog with a key of its own."""
    return {
        **server.options,
        "warehouse": str(tmp_path / "lake"),
        "catalog-key": uuid4().hex[:8],
        "lock.enabled": "true",
        "lock-check-max-sleep": "200 ms",
        "lock-acquire-timeout": "2 min",
    }


@pytest.fixture
def catalog(options: dict[str, str]) -> Catalog:
    made = open_catalog(options)
    made.create_database("shop")
    return made


def execute(options: dict[str, str], text: str) -> None:
    """What another client of the database does."""
    properties = {key.removeprefix("jdbc."): value for key, value in options.items() if key.startswith("jdbc.")}
    address = address_of(options["uri"], properties)
    engine = sa.create_engine(address.url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.execute(sa.text(text))


def test_the_life_of_everything(catalog: Catalog) -> None:
    catalog.alter_database("shop", {"owner": "us", "ü": "ä" * 1000})
    catalog.alter_database("shop", {"owner": "them"}, ("ü",))
    assert catalog.load_database("shop").properties == {"owner": "them"}
    catalog.create_table(ORDERS, schema(bucket="1", **{"bucket-key": "id"}))
    append(catalog.load_table(ORDERS), 1)
    set_option(catalog.load_table(ORDERS), "file.format", "orc")
    with pytest.raises(TableAlreadyExists):
        catalog.create_table(ORDERS, schema())
    new, big = Identifier("archive", "neu"), Identifier("shop", "big")
    catalog.create_database("archive")
    catalog.rename_table(ORDERS, new)
    append(catalog.load_table(new), 2)
    assert ids_of(catalog.load_table(new)) == [1, 2]
    catalog.create_view(big, View((), "SELECT 1 -- größer"))
    catalog.alter_view(big, [AddDialect("flink", "SELECT 2")])
    assert catalog.load_view(big).dialects == {"flink": "SELECT 2"}
    assert (catalog.list_databases(), catalog.list_views("shop")) == (["archive", "shop"], ["big"])
    catalog.drop_view(big)
    catalog.drop_table(new)
    catalog.drop_database("archive")
    assert catalog.list_databases() == ["shop"]
    with pytest.raises(DatabaseAlreadyExists):
        catalog.create_database("shop")


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_any_history(options: dict[str, str], seed: int) -> None:
    """Against dictionaries. MySQL takes names that differ in letter case for equal, so these are left out there."""
    draw, model, catalog = random.Random(seed), CatalogModel({}), open_catalog(options)
    for _ in range(20):
        change = draw_change(draw)
        if "mysql" in options["uri"] and {"Shop", "T"} & {*vars(change.table).values(), *vars(change.to).values()}:
            continue
        assert apply(catalog, change) is model.apply(change), change
    assert state_of(catalog) == model.databases


def test_a_dropped_connection_is_replaced(server: Server, catalog: Catalog, options: dict[str, str]) -> None:
    assert catalog.list_tables("shop") == []
    if server.kind == "postgresql":
        execute(options, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    else:
        _kill_others(options)
    catalog.create_table(ORDERS, schema())
    assert catalog.list_tables("shop") == ["orders"]


def _kill_others(options: dict[str, str]) -> None:
    properties = {"user": options["jdbc.user"], "password": options["jdbc.password"]}
    engine = sa.create_engine(address_of(options["uri"], properties).url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        mine = connection.scalar(sa.text("SELECT CONNECTION_ID()"))
        for number in connection.scalars(sa.text("SELECT id FROM information_schema.processlist")).all():
            if number != mine:
                connection.execute(sa.text(f"KILL {number}"))


def test_what_is_reported_of_a_server_that_refuses(server: Server, options: dict[str, str]) -> None:
    cases = [
        ({"jdbc.password": "wrong-wrong"}, "refuses the user or the password; see to 'jdbc.user'"),
        ({"jdbc.user": "nobody"}, "refuses the user or the password"),
        ({"uri": options["uri"].replace(str(server.port), "1")}, "opening the catalog in .* can be reached"),
    ]
    if server.kind == "postgresql":
        cases.append(({"uri": options["uri"].replace("/lake", "/none")}, "has no database of that name"))
    for changed, words in cases:
        with pytest.raises(CatalogUnavailable, match=words) as raised:
            open_catalog({**options, **changed}).list_databases()
        assert "wrong-wrong" not in str(raised.value)
        assert PASSWORD not in str(raised.value)


def test_no_secret_is_reported(
    catalog: Catalog, options: dict[str, str], caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Not in texts, logs, options of tables or pickles; and the file that has it is the user's alone."""
    caplog.set_level(logging.DEBUG)
    catalog.create_table(ORDERS, schema())
    table = catalog.load_table(ORDERS)
    append(table, 1)
    told = [repr(catalog), str(catalog.table_options()), repr(table), repr(catalog.load_database("shop"))]
    for made in (catalog, table, catalog.table_options()):
        told.append(pickle.dumps(made).decode("latin-1"))
    try:
        catalog.create_table(ORDERS, schema())
    except PaimonError as error:
        told.append(f"{error!r} {error.__cause__!r} {error.__context__!r}")
    told += [caplog.text, *capfd.readouterr()]
    assert not [text for text in told if PASSWORD in text or "hush" in text]
    again = pickle.loads(pickle.dumps(catalog))
    assert again.list_tables("shop") == ["orders"]
    (path,) = {part for part in str(catalog.table_options()).split('"') if part.endswith(".json")}
    assert PASSWORD in Path(path).read_text()
    assert (Path(path).stat().st_mode & 0o777, Path(path).parent.stat().st_mode & 0o777) == (0o600, 0o700)
