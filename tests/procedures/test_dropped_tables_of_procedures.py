"""A procedure works on the table that was opened, or on none (protocol C11)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from support.oracles.checker import check_table
from support.simulation.interleaved_store import InterleavedStore
from support.tables.compacted_tables import append, new_table

import paimon_spark
from paimon_spark.errors import TableChanged, TableNotFound
from paimon_spark.file_io import FileIO
from paimon_spark.procedures.catalogue import PROCEDURES
from paimon_spark.procedures.local_engine import LocalEngine
from paimon_spark.procedures.procedure import Kind, Procedure, arguments_of
from paimon_spark.store.expire.snapshots import expire_snapshots
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

VALUES = {Kind.NUMBER: 1, Kind.TEXT: "x", Kind.VERSION: 1, Kind.MOMENT: "2026-11-01", Kind.DURATION: "1 d"}
FUNCTIONS: dict[str, Callable[[Table], object]] = {
    "check": paimon_spark.check,
    "expire_snapshots": lambda table: paimon_spark.expire_snapshots(table, 1, 1),
    "expire_changelogs": lambda table: paimon_spark.expire_changelogs(table, 1, 1),
}
"""What the package itself offers for an opened table."""


def held(path: Path) -> Table:
    table = new_table(path, {"write-only": "true"})
    append(table, [(1, 1, "the first table")])
    return table


def made_anew(path: Path) -> Table:
    shutil.rmtree(path, ignore_errors=True)
    table = new_table(path, {"write-only": "true"})
    for number in range(4):
        append(table, [(number, number, "the other table")])
    return table


def files(path: Path) -> dict[Path, bytes]:
    return {found: found.read_bytes() for found in path.rglob("*") if found.is_file()}


def of_any_values(procedure: type[Procedure[Any]]) -> Procedure[Any]:
    """With a value for each argument that has no default; and nothing is only tried."""
    given = arguments_of(procedure)
    values = {name: VALUES.get(one.kind, "x") for name, one in given.items() if one.is_required}
    return procedure(**values | ({"dry_run": False} if "dry_run" in given else {}))


@pytest.mark.parametrize("name", [*PROCEDURES, *(f"{name}()" for name in FUNCTIONS)])
def test_no_procedure_works_on_another_table(tmp_path: Path, name: str) -> None:
    table = held(tmp_path / "t")

    def run() -> object:
        if name.endswith("()"):
            return FUNCTIONS[name[:-2]](table)
        return of_any_values(PROCEDURES[name]).run(table, LocalEngine())

    shutil.rmtree(tmp_path / "t")
    with pytest.raises(TableNotFound, match=r"the table at .* is not there; it was dropped or renamed since it was op"):
        run()
    assert not (tmp_path / "t").exists()
    made_anew(tmp_path / "t")
    before = files(tmp_path / "t")
    with pytest.raises(TableChanged, match="since it was opened, another one was made at its place"):
        run()
    assert files(tmp_path / "t") == before


def test_a_table_that_is_made_anew_while_an_expiry_plans_keeps_its_files(tmp_path: Path) -> None:
    table = made_anew(tmp_path / "t")
    shutil.copytree(tmp_path / "t", tmp_path / "kept")
    counting = InterleavedStore(table.file_io, -1, lambda: None)
    planned = expire_snapshots(replace(table, file_io=cast("FileIO", counting)), 1, 1, dry_run=True)
    assert planned.ids == (1, 2, 3)
    for at in range(counting.count + 1):  # the expiry itself reads as much, or more, before it deletes
        shutil.rmtree(tmp_path / "t")
        shutil.copytree(tmp_path / "kept", tmp_path / "t")
        store = InterleavedStore(table.file_io, at, lambda: made_anew(tmp_path / "t") and None)
        with suppress(TableNotFound, TableChanged):
            expire_snapshots(replace(open_table(table.location), file_io=cast("FileIO", store)), 1, 1)
        assert store.count >= at
        assert open_table(table.location).snapshots.ids() == [1, 2, 3, 4], at
        assert not list((tmp_path / "t" / "snapshot").glob("*expir*")), at
        check_table(table.location)
