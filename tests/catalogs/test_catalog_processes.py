"""Many processes create, drop and rename in one warehouse: each change happens once, and every table is whole."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from support.long_runs import tries
from support.paths import ROOT
from support.programs import catalog_jobs
from support.programs.catalog_jobs import change_databases, change_tables
from support.tables.catalog_tables import ids_of

from paimon_spark import open_catalog
from paimon_spark.catalogs.create import new_schema
from paimon_spark.catalogs.identifier import Identifier

PROCESSES = 16
SQLITE_STEPS = tries("PAIMON_CATALOG_STEPS", ci=5, long=300)
STEPS = tries("PAIMON_CATALOG_STEPS", ci=60, long=1000)


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    context = multiprocessing.get_context("forkserver")
    here = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    context.set_forkserver_preload([catalog_jobs.__name__])  # imported once, not 16 times
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", here)
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


def test_a_catalog_in_sqlite(pool: ProcessPoolExecutor, tmp_path: Path) -> None:
    """Names and files change together under the lock, and no commit is lost."""
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/c.db", "warehouse": f"{tmp_path}/lake"}
    options |= {"lock.enabled": "true", "lock-check-max-sleep": "100 ms"}
    catalog, kept = open_catalog(options), Identifier("kept", "t")
    for name in ("d", "kept"):
        catalog.create_database(name)
    catalog.create_table(kept, new_schema(catalog_jobs.COLUMNS))
    half = PROCESSES // 2
    jobs = [pool.submit(change_tables, options, seed, SQLITE_STEPS, 3) for seed in range(half)]
    writers = [pool.submit(catalog_jobs.append_rows, options, str(kept), seed, 2) for seed in range(half)]
    done = sum((job.result(timeout=600) for job in jobs), Counter())
    for writer in writers:
        writer.result(timeout=600)
    tables = catalog.list_tables("d")
    assert done["create"] - done["drop"] == len(tables), done
    for name in tables:
        assert catalog.load_table(Identifier("d", name)).schema.comment
    wanted = sorted(seed * 100 + number for seed in range(half) for number in (0, 1))
    assert ids_of(catalog.load_table(kept)) == wanted


def test_databases(pool: ProcessPoolExecutor, tmp_path: Path) -> None:
    """A database is dropped only while it is empty, so no table that somebody has created is lost."""
    catalog = open_catalog(str(tmp_path))
    jobs = [pool.submit(change_databases, str(tmp_path), seed, min(STEPS, 100)) for seed in range(PROCESSES)]
    done = sum((job.result(timeout=600) for job in jobs), Counter())
    assert done["create database"] > 0
    tables = catalog.list_tables("e") if "e" in catalog.list_databases() else []
    assert len(tables) == done["create table"], done
