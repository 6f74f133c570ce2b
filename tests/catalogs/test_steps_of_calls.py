"""Each request of each call to a database, a metastore or a server that fails before it is done, or whose answer is
lost, or at which the process is killed. Then nothing is half done that a second call, `repair` or a drop does not mend.

The same for the operations on files is in test_catalog_faults, test_jdbc_catalog and test_rest_faults. CI draws some of
the requests; ``PAIMON_LONG=1`` or ``PAIMON_CATALOG_STEPS=1000`` tries all.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

import pytest
from _pytest.mark import ParameterSet
from support.faults.cut_connections import CuttingProxy, cutting_proxy
from support.faults.faulty_store import ENDED
from support.long_runs import draws, tries
from support.programs.database_servers import database_server
from support.programs.four_catalogs import HIVE, REST, catalog_options
from support.shares import some_of
from support.tables.catalog_tables import append, ids_of, schema

from paimon_spark import open_catalog
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.views import SetViewOption, View
from paimon_spark.errors import (
    DatabaseAlreadyExists,
    DatabaseNotFound,
    PaimonError,
    SchemaError,
    TableAlreadyExists,
    TableNotFound,
    UnsupportedFeature,
    ViewAlreadyExists,
    ViewNotFound,
)
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.evolution.schema_update import SchemaUpdate

STEPS = tries("PAIMON_CATALOG_STEPS", ci=2, long=1000)
"""How many requests of each call are tried."""
T, U, V, W = (Identifier("d", name) for name in "tuvw")
VIEW = View((DataField(0, "id", DataType(Root.BIGINT)),), "SELECT 1")
DONE = (
    *(DatabaseAlreadyExists, DatabaseNotFound, TableAlreadyExists, TableNotFound, ViewAlreadyExists, ViewNotFound),
    SchemaError,  # a column that is there
)
"""What a second call may say if the first one was done."""

Work = Callable[[Catalog], object]


def add_column(catalog: Catalog) -> None:
    alter_table(catalog.load_table(T), SchemaUpdate().add_column("more", "INT").changes)


CALLS: dict[str, tuple[Work, Callable[[Catalog], bool]]] = {
    "create_database": (lambda c: c.create_database("new"), lambda c: "new" in c.list_databases()),
    "alter_database": (
        lambda c: c.alter_database("d", {"a": "b"}),
        lambda c: c.load_database("d").properties.get("a") == "b",
    ),
    "drop_database": (lambda c: c.drop_database("d", cascade=True), lambda c: "d" not in c.list_databases()),
    "create_table": (lambda c: c.create_table(U, schema()), lambda c: "u" in c.list_tables("d")),
    "rename_table": (
        lambda c: c.rename_table(T, U),
        lambda c: c.list_tables("d") == ["u"] and ids_of(c.load_table(U)) == [1],
    ),
    "drop_table": (lambda c: c.drop_table(T), lambda c: c.list_tables("d") == []),
    "alter_table": (add_column, lambda c: c.load_table(T).schema.names == ("id", "more")),
    "create_view": (lambda c: c.create_view(W, VIEW), lambda c: c.list_views("d") == ["v", "w"]),
    "rename_view": (lambda c: c.rename_view(V, W), lambda c: c.list_views("d") == ["w"]),
    "alter_view": (
        lambda c: c.alter_view(V, [SetViewOption("k", "w")]),
        lambda c: c.load_view(V).options.get("k") == "w",
    ),
    "drop_view": (lambda c: c.drop_view(V), lambda c: c.list_views("d") == []),
}
"""Each call, and how it is seen that it was done."""


@dataclass
class Stage:
    """A catalog, once as others see it and once through a proxy."""

    catalog: Catalog
    through: Catalog
    proxy: CuttingProxy

    def prepare(self) -> None:
        """The table `t` of one row and the view `v` in the database `d`, and nothing else."""
        self.proxy.heal()
        for name in self.catalog.list_databases():
            if name != "default":
                self.catalog.drop_database(name, cascade=True)
        self.catalog.create_database("d")
        self.catalog.create_table(T, schema())
        append(self.catalog.load_table(T), 1)
        self.catalog.create_view(V, VIEW)
        self.through.list_databases()  # a connection that is there
        self.proxy.heal()


def _marked(kind: str) -> ParameterSet:
    return pytest.param(kind, marks=pytest.mark.interop) if kind == HIVE else pytest.param(kind)


@pytest.fixture(scope="module", params=map(_marked, some_of(("postgresql", "mysql", HIVE, REST), 1)))
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    place = tmp_path_factory.mktemp("lake")
    with ExitStack() as running:
        if request.param in (HIVE, REST):
            options = running.enter_context(catalog_options(request.param, place, request))
        else:
            server = running.enter_context(database_server(request.param))
            options = {**server.options, "warehouse": f"{place}/lake"}
        port = urlsplit(options["uri"].removeprefix("jdbc:")).port
        assert port is not None
        proxy = running.enter_context(cutting_proxy(port))
        uri = options["uri"].replace(str(port), str(proxy.port)).replace("127.0.0.1", "localhost")
        yield Stage(open_catalog(options), open_catalog({**options, "uri": uri}), proxy)


def points(stage: Stage, work: Work) -> list[tuple[int, bool]]:
    """(piece, late) of each request of a call, or of as many as are tried."""
    stage.prepare()
    work(stage.through)
    found = [(piece, late) for piece in range(stage.proxy.pieces) for late in (False, True)]
    return found if len(found) <= STEPS else sorted(draws().sample(found, STEPS))


def mended(catalog: Catalog, work: Work, is_done: Callable[[Catalog], bool]) -> None:
    """Whatever there is: a second call, after `repair` where there is one, does all."""
    for name in catalog.list_tables("d") if "d" in catalog.list_databases() else []:
        try:
            catalog.load_table(Identifier("d", name))
        except SchemaError:  # a name without files; the error says what to do
            catalog.drop_table(Identifier("d", name))
    with suppress(UnsupportedFeature, DatabaseNotFound):
        catalog.repair("d")
    with suppress(*DONE):
        work(catalog)
    assert is_done(catalog)
    for name in catalog.list_tables("d") if "d" in catalog.list_databases() else []:
        assert ids_of(catalog.load_table(Identifier("d", name))) in ([1], [])


@pytest.mark.parametrize("call", CALLS)
def test_a_connection_that_breaks(stage: Stage, call: str) -> None:
    work, is_done = CALLS[call]
    for piece, late in points(stage, work):
        stage.prepare()
        stage.proxy.cut_piece(piece, late)
        with suppress(PaimonError, OSError):  # else a read was done again
            work(stage.through)
        stage.proxy.heal()
        mended(stage.catalog, work, is_done)


@pytest.mark.parametrize("call", CALLS)
def test_a_process_that_is_killed(stage: Stage, call: str) -> None:
    work, is_done = CALLS[call]
    for piece, late in points(stage, work):
        stage.prepare()
        begins, begin = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.read(begins, 1)  # until the proxy knows whom to kill
                work(stage.through)
            finally:
                os._exit(ENDED)
        stage.proxy.cut_piece(piece, late, partial(os.kill, child, signal.SIGKILL))
        os.write(begin, b".")
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.close(begin)
        os.close(begins)
        assert code in (ENDED, -signal.SIGKILL)
        stage.proxy.heal()
        mended(stage.catalog, work, is_done)
