"""Reads of a table object whose table was dropped, or made anew at its place, since it was opened (protocol C11)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest
from support.simulation.interleaved_store import InterleavedStore
from support.tables.compacting import make, write
from support.tables.expiring import COLUMNS, live_on

from paimon_spark.errors import PaimonError, SnapshotNotFound, TableChanged, TableNotFound
from paimon_spark.file_io import FileIO
from paimon_spark.format.types import DataType, Root
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.evolution.changes import AddColumn, SetOption
from paimon_spark.store.history.branches import create_branch, delete_branch
from paimon_spark.store.open import ReadableTable
from paimon_spark.tables.open import open_table

READS: dict[str, Callable[[ReadableTable], object]] = {
    "to_arrow": lambda table: table.scan().to_arrow(),
    "to_batches": lambda table: list(table.scan().to_batches()),
    "count": lambda table: table.scan().count(),
    "max": lambda table: table.scan().max("k"),
    "top": lambda table: table.scan().top("k", 1),
    "explain": lambda table: table.scan().explain(),
    "tasks": lambda table: table.scan().tasks(),
    "nothing of it": lambda table: table.scan(where="1 = 0").to_arrow(),
    "a version": lambda table: table.with_options({"scan.version": "1"}).scan().to_arrow(),
    "a lost version": lambda table: table.with_options({"scan.version": "77"}).scan().to_arrow(),
    "a change": lambda table: table.with_options({"incremental-between": "0,1"}).scan().to_arrow(),
    "read tags": lambda table: table.with_options({"scan.plan-auto-tag-for-read.time-retained": "1 h"}).scan().count(),
    "history": lambda table: table.history(),
    "files": lambda table: table.system_table("files").to_arrow(),
    "tags": lambda table: table.system_table("tags").to_arrow(),
    "options": lambda table: table.system_table("options").to_arrow(),
    "audit_log": lambda table: table.system_table("audit_log").to_arrow(),
}
ANEW = "since it was opened, another one was made at its place, .* Open it again"
GONE = "it is not there; it was dropped or renamed since it was opened"


def held(path: Path, options: dict[str, str] | None = None) -> ReadableTable:
    live_on(make(path, COLUMNS, ["k"], options or {}), "ww")
    return open_table(str(path))


def replaced(path: Path, columns: pa.Schema, keys: list[str], options: dict[str, str], commits: int) -> ReadableTable:
    """Another table at the place of one."""
    shutil.rmtree(path)
    anew = make(path, columns, keys, options)
    for number in range(commits):
        write(anew, [(number, number)[: len(columns)]])
    return open_table(str(path))


def test_a_dropped_table_is_not_an_empty_one(tmp_path: Path) -> None:
    table = held(tmp_path / "t")
    (tmp_path / "t").rename(tmp_path / "u")
    for read in READS.values():
        with pytest.raises(TableNotFound, match=GONE):
            read(table)
    assert not (tmp_path / "t").exists(), "a read makes nothing"
    (tmp_path / "u").rename(tmp_path / "t")
    assert table.scan().count() == 2


@pytest.mark.parametrize("commits", [0, 1, 3])
@pytest.mark.parametrize(
    ("columns", "keys", "options"),
    [
        (COLUMNS, ["k"], {}),
        (COLUMNS, [], {"bucket": "-1"}),
        (COLUMNS, ["k"], {"deletion-vectors.enabled": "true"}),
        (pa.schema([pa.field("k", pa.int32(), nullable=False)]), ["k"], {}),
        (pa.schema([("w", pa.string()), ("k", pa.string())]), [], {"bucket": "-1"}),
    ],
)
def test_another_table_is_not_read_as_the_one_before(
    tmp_path: Path, columns: pa.Schema, keys: list[str], options: dict[str, str], commits: int
) -> None:
    table = held(tmp_path / "t", {"deletion-vectors.enabled": "true"} if not options else {})
    texts = columns.field(0).type == pa.string()
    now = replaced(tmp_path / "t", columns, keys, options, 0 if texts else commits)
    if texts and commits:
        write(now, [("a", "b")])
    for name, read in READS.items():
        with pytest.raises(TableChanged, match=ANEW):
            pytest.fail(f"{name}: {read(table)}")
    READS["to_arrow"](now)


@pytest.mark.parametrize("anew", [False, True])
def test_at_every_operation_of_a_read(tmp_path: Path, anew: bool) -> None:
    """The rows of the table that was opened, or an error that says what became of it."""
    place, kept = tmp_path / "t", tmp_path / "kept"
    held(kept)
    outcomes: set[str] = set()

    def happens() -> None:
        if anew:
            replaced(place, COLUMNS, ["k"], {}, 3)
        else:
            shutil.rmtree(place)

    for at in range(100):
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(kept, place)
        store = InterleavedStore(open_table(str(place)).file_io, at, happens)
        table = replace(open_table(str(place)), file_io=cast("FileIO", store))
        try:
            assert table.scan().to_arrow().sort_by("k").to_pydict() == {"k": [0, 1], "v": [2, 2]}
            outcomes.add("rows")
        except PaimonError as error:
            outcomes.add(type(error).__name__)
        if store.count < at:
            break
    assert outcomes == {"rows", "TableChanged" if anew else "TableNotFound"}


def test_changes_of_the_same_table_go_on_as_before(tmp_path: Path) -> None:
    table = held(tmp_path / "t")
    alter_table(open_table(str(tmp_path / "t")), [SetOption("snapshot.num-retained.max", "70")])
    alter_table(open_table(str(tmp_path / "t")), [AddColumn(("w",), DataType(Root.INT))])
    write(open_table(str(tmp_path / "t")), [(5, 5, 5)])
    assert table.scan().to_arrow().sort_by("k").to_pydict() == {"k": [0, 1, 5], "v": [2, 2, 5]}
    with pytest.raises(SnapshotNotFound, match="never was or has expired"):
        table.with_options({"scan.version": "77"})


def test_a_branch_that_is_deleted_or_made_anew(tmp_path: Path) -> None:
    main = held(tmp_path / "t")
    create_branch(main, "b")
    table = open_table(f"{main.location}$branch_b")
    assert table.scan().count() == 0
    delete_branch(main, "b")
    for read in READS.values():
        with pytest.raises(TableNotFound, match=rf"\(branch b\): {GONE}"):
            read(table)


def test_it_costs_one_read_of_a_file(tmp_path: Path) -> None:
    table = held(tmp_path / "t")
    counts = []
    for opened in (None, table.opened):
        store = InterleavedStore(table.file_io, -2, lambda: None)
        replace(table, file_io=cast("FileIO", store), opened=opened).scan().plan()
        counts.append(store.count)
    assert counts[1] - counts[0] == 1
