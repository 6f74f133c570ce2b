"""Many processes create, drop, rename, alter and commit in one catalog: each change happens once, all tables are whole.

``PAIMON_CATALOG_SECONDS=60`` lets them do it for so long in a catalog of each kind. A run of the whole suite tries two.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from support.long_runs import LONG, tries
from support.paths import ROOT
from support.programs import catalog_jobs
from support.programs.catalog_jobs import cascade, change_databases, change_tables, commit_and_die, live
from support.programs.database_servers import database_server, mariadb_program
from support.programs.four_catalogs import FILES, HIVE, REST, catalog_options
from support.programs.hive_metastore import FORGETS_LOCKS, NoMetastore, hive_metastore
from support.shares import some_of
from support.tables.catalog_tables import ORDERS, append, ids_of, schema

from paimon_spark import open_catalog
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.create import new_schema
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import PaimonError

PROCESSES = 16
SECONDS = tries("PAIMON_CATALOG_SECONDS", ci=1, long=60)
DATABASES = ("jdbc", "postgresql", "mysql") if LONG or mariadb_program() else ("jdbc", "postgresql")
TOGETHER = PROCESSES if SECONDS > 10 else 5
OF_CATALOGS = (
    "paimon_spark.catalogs.jdbc.publisher",
    "pg8000.dbapi",
    "pymysql",
    "paimon_spark.catalogs.hive.publisher",
)
RETRIES = {"commit.max-retries": "1000", "commit.min-retry-wait": "1 ms", "commit.max-retry-wait": "20 ms"}
KINDS = (FILES, *DATABASES, HIVE, REST)
STEPS = tries("PAIMON_CATALOG_STEPS", ci=60, long=1000)


@pytest.fixture(scope="module")
def context() -> Iterator[ForkServerContext]:
    """How processes start, which know the tests."""
    made = multiprocessing.get_context("forkserver")
    here = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    made.set_forkserver_preload([catalog_jobs.__name__, *OF_CATALOGS])  # imported once, not 16 times
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", here)
        yield made


@pytest.fixture(scope="module")
def pool(context: ForkServerContext) -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(PROCESSES, mp_context=context) as made:
        yield made


@pytest.mark.parametrize("names", [1, 5])
def test_tables(pool: ProcessPoolExecutor, tmp_path: Path, names: int) -> None:
    """With few names nearly every call meets others."""
    catalog = open_catalog(str(tmp_path))
    catalog.create_database("d")
    jobs = [pool.submit(change_tables, str(tmp_path), seed, STEPS, names) for seed in range(PROCESSES)]
    done = sum((job.result(timeout=600) for job in jobs), Counter())
    tables = catalog.list_tables("d")
    assert done["create"] - done["drop"] == len(tables), done
    assert done["create"] > 0
    assert done["drop"] > 0
    for name in tables:
        assert catalog.load_table(Identifier("d", name)).schema.comment
    hidden = [path.name for path in (tmp_path / "d.db").iterdir() if path.name.startswith(".")]
    assert hidden == [], "what is left of drops"
    catalog.drop_database("d", cascade=True)
    assert list(tmp_path.iterdir()) == []


def _marked(kind: str) -> ParameterSet:
    """The metastore runs in the worker of the genuine Java."""
    return pytest.param(kind, marks=pytest.mark.interop) if kind == HIVE else pytest.param(kind)


@pytest.fixture(params=map(_marked, some_of(KINDS, 2)))
def options(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Of an empty catalog with locks, where it has any."""
    locks = {"lock.enabled": "true", "lock-check-max-sleep": "100 ms", "lock-acquire-timeout": "2 min"}
    with ExitStack() as running:
        match request.param:
            case "postgresql" | "mysql" as kind:
                server = running.enter_context(database_server(kind)).options
                yield {**server, "warehouse": f"{tmp_path}/lake", **locks}
            case kind:
                made = running.enter_context(catalog_options(kind, tmp_path, request))
                yield made if kind in (FILES, REST) else {**made, **locks}


def test_each_catalog(pool: ProcessPoolExecutor, options: dict[str, str]) -> None:
    """No table is lost, no commit, no change of columns, and no process waits for ever; PAIMON_CATALOG_SECONDS long."""
    catalog = open_catalog(options)
    for name in ("d", "kept"):
        catalog.create_database(name)
    for name in ("rows", "columns"):
        catalog.create_table(Identifier("kept", name), new_schema(catalog_jobs.COLUMNS, options=RETRIES))
    jobs = [pool.submit(live, options, seed, SECONDS, 3) for seed in range(TOGETHER)]
    lives = [job.result(timeout=SECONDS + 240) for job in jobs]
    done = sum((one.done for one in lives), Counter())
    tables = catalog.list_tables("d")
    print(options.get("metastore", "filesystem"), options.get("uri", "").partition("//")[0], dict(done))
    assert done["create"] - done["drop"] == len(tables), done
    what = ("create", "alter", "commit", *(("drop", "rename") if SECONDS > 10 else ()))
    assert min(done[kind] for kind in what) > 0, done
    for name in tables:
        assert catalog.load_table(Identifier("d", name)).schema.comment
    kept = catalog.load_table(Identifier("kept", "rows"))
    assert ids_of(kept) == sorted(row for one in lives for row in one.rows)
    columns = set(catalog.load_table(Identifier("kept", "columns")).schema.names)
    assert columns == {"id", *(name for one in lives for name in one.columns)}


def test_databases_with_all_they_hold(pool: ProcessPoolExecutor, options: dict[str, str]) -> None:
    """DROP DATABASE CASCADE beside CREATE TABLE: what is left is a table, or nothing that keeps a name from use."""
    jobs = [pool.submit(cascade, options, seed, SECONDS) for seed in range(TOGETHER)]
    done = sum((job.result(timeout=SECONDS + 240) for job in jobs), Counter())
    print(options.get("metastore", "filesystem"), options.get("uri", "").partition("//")[0], dict(done))
    assert min(done[what] for what in ("create database", "drop database", "create table")) > 0, done
    catalog = open_catalog(options)
    catalog.create_database("e", ignore_if_exists=True)
    for name in catalog.list_tables("e"):
        append(catalog.load_table(Identifier("e", name)), 1)
    catalog.drop_database("e", cascade=True)
    assert "e" not in catalog.list_databases()
    catalog.create_database("e")
    for number in range(5):
        catalog.create_table(Identifier("e", f"t{number}"), schema())
    assert len(catalog.list_tables("e")) == 5


def die_with_a_lock(context: ForkServerContext, catalog: Catalog) -> None:
    """Makes a table, and has a process killed that holds the lock of it."""
    catalog.create_database("shop")
    catalog.create_table(ORDERS, schema())
    child = context.Process(target=commit_and_die, args=(catalog.options, str(ORDERS)))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL


@pytest.mark.parametrize("options", some_of(DATABASES, 1), indirect=True)
def test_a_killed_holder_of_a_lock(context: ForkServerContext, options: dict[str, str]) -> None:
    """Others wait until its lock has expired, and no longer: Java's rule, which each client applies to the rows."""
    catalog = open_catalog({**options, "lock-acquire-timeout": "2 s"})
    die_with_a_lock(context, catalog)
    began = time.monotonic()
    append(open_catalog(options).load_table(ORDERS), 1)
    waited = time.monotonic() - began
    assert 0.5 < waited < 5, "the lock lives 2 s, in whole seconds of the database; then comes one pause at most"
    assert ids_of(catalog.load_table(ORDERS)) == [1]


@pytest.mark.interop
def test_a_killed_holder_of_a_lock_of_hive(context: ForkServerContext, tmp_path: Path) -> None:
    """Others give up after ``lock-acquire-timeout``, or get the lock when the metastore forgets it: its own rule."""
    with ExitStack() as running:
        try:
            uri = running.enter_context(hive_metastore(FORGETS_LOCKS)).uri
        except NoMetastore as reason:
            pytest.skip(str(reason))
        options = {"metastore": "hive", "uri": uri, "warehouse": f"{tmp_path}/lake", "lock.enabled": "true"}
        catalog = open_catalog({**options, "lock-check-max-sleep": "100 ms"})
        die_with_a_lock(context, catalog)
        began = time.monotonic()
        with pytest.raises((PaimonError, OSError), match="others have held the lock"):
            append(open_catalog({**catalog.options, "lock-acquire-timeout": "300 ms"}).load_table(ORDERS), 1)
        append(catalog.load_table(ORDERS), 2)
        assert 0.3 < time.monotonic() - began < 4 + 5, "4 s, then come a look of the metastore and one of ours"
        assert ids_of(catalog.load_table(ORDERS)) == [2]


def test_databases(pool: ProcessPoolExecutor, tmp_path: Path) -> None:
    """A database is dropped only while it is empty, so no table that somebody has created is lost."""
    catalog = open_catalog(str(tmp_path))
    jobs = [pool.submit(change_databases, str(tmp_path), seed, min(STEPS, 100)) for seed in range(PROCESSES)]
    done = sum((job.result(timeout=600) for job in jobs), Counter())
    assert done["create database"] > 0
    tables = catalog.list_tables("e") if "e" in catalog.list_databases() else []
    assert len(tables) == done["create table"], done
