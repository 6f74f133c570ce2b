"""A disk that is full or read-only, and no more files to open: one sentence, and nothing is lost.

CI tries each operation with some amounts of what is left; PAIMON_LONG=1 tries all.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.faults.shortages import SmallDisk, few_files, small_disk
from support.long_runs import LONG
from support.oracles.checker import check_table
from support.oracles.orphaned import age
from support.programs.command_line import command
from support.tables.compacting import rows_of
from support.tables.sorting import same, unordered

from paimon_spark.errors import PaimonError, StorageError
from paimon_spark.store.clustering.local import cluster_here
from paimon_spark.store.clustering.sort_table import sort_table
from paimon_spark.store.clustering.work import ClusterWork, GroupResult
from paimon_spark.store.upkeep.copy_files import copy_table
from paimon_spark.tables.open import WritableTable, create_table, open_table

COLUMNS = pa.schema([pa.field("k", pa.int64(), False), pa.field("v", pa.string())])
KEYED = {"bucket": "2", "num-sorted-run.compaction-trigger": "5"}
VECTORS = {"deletion-vectors.enabled": "true"}
FULL = "the disk is full (No space left on device); free space there, or entries"
READ_ONLY = "the disk is read-only (Read-only file system); mount it for writing"
FEW_FILES = "this process may open no more files (Too many open files); raise its limit (ulimit -n)"


def rows(first: int, count: int) -> pa.Table:
    return pa.table({"k": range(first, first + count), "v": [f"{n:064x}" for n in range(first, first + count)]})


def made(path: Path, keys: tuple[str, ...] = (), options: dict[str, str] | None = None) -> Path:
    """A table of four commits and a tag."""
    create_table(str(path), COLUMNS, primary_keys=list(keys), options=options or {})
    table = open_table(str(path))
    for number in range(4):
        table.append(rows(number * 100, 200))
    table.create_tag("one", 1)
    return path


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("made")
    kinds = {"plain": ((), {}), "keyed": (("k",), KEYED), "vectors": ((), VECTORS)}
    return {kind: made(root / kind, keys, options) for kind, (keys, options) in kinds.items()}


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallDisk]:
    with small_disk(tmp_path_factory.mktemp("disk") / "small") as made_disk:
        yield made_disk


@contextmanager
def copied(table: Path, place: Path) -> Iterator[Path]:
    """A copy of a table at a place where nothing stays behind it."""
    try:
        yield Path(shutil.copytree(table, place / "t"))
    finally:
        for path in place.iterdir():
            shutil.rmtree(path)


def stream(table: WritableTable) -> None:
    """Goes on where the table stands: the position is the number of the batch."""
    begun = table.stream_progress("s").batches
    table.write_stream(((n, rows(9000 + 100 * n, 100)) for n in range(begun, 2)), "s")


Action = Callable[[WritableTable], Any]
ACTIONS: dict[str, tuple[str, Action]] = {
    "append": ("plain", lambda table: table.append(rows(5000, 2000))),
    "upsert": ("keyed", lambda table: table.append(rows(100, 2000))),
    "overwrite": ("plain", lambda table: table.overwrite(rows(5000, 500))),
    "compact": ("plain", lambda table: table.compact(full=True)),
    "compact by key": ("keyed", lambda table: table.compact(full=True)),
    "sort": ("plain", lambda table: table.compact(order_strategy="zorder", order_by="k,v")),
    "delete": ("plain", lambda table: table.delete("k < 250")),
    "delete by vectors": ("vectors", lambda table: table.delete("k < 250")),
    "update": ("keyed", lambda table: table.update("k < 250", {"v": "'x'"})),
    "upsert by merge": ("plain", lambda table: table.upsert(rows(250, 500), on="k")),
    "tag": ("plain", lambda table: table.create_tag("two", 3)),
    "branch": ("plain", lambda table: table.create_branch("b", "one")),
    "rollback": ("plain", lambda table: table.rollback(3)),
    "options": ("plain", lambda table: table.set_options({"file.format": "orc"})),
    "analyze": ("plain", lambda table: table.analyze()),
    "expire": ("keyed", lambda table: table.expire_snapshots(retain_max=2, retain_min=1)),
    "stream": ("plain", stream),
    "copy": ("plain", lambda table: copy_table(table, f"{table.location}-copy")),
}
READS: dict[str, Action] = {
    "read": lambda table: table.scan().to_arrow(),
    "stream": lambda table: list(table.stream()),
    "orphans": lambda table: table.remove_orphan_files(dry_run=True),
    "check": lambda table: check_table(table.location),
}


def states(location: Path) -> dict[int, list[Any]]:
    ids = [int(path.name.removeprefix("snapshot-")) for path in location.glob("snapshot/snapshot-*")]
    return {number: content(location, number) for number in ids}


def content(location: Path, snapshot: int) -> list[Any]:
    table = open_table(str(location), {"scan.snapshot-id": str(snapshot)}).scan().to_arrow()
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


def files(location: Path) -> set[Path]:
    return {path for path in location.rglob("*") if path.is_file()}


def attempt(
    action: Action, location: Path, shortage: Callable[[], AbstractContextManager[None]], sentence: str, name: str
) -> bool:
    """Whether the action was done in spite of the shortage; if not, it said so, and nothing is lost."""
    before, was = states(location), files(location)
    table = open_table(str(location))
    error: PaimonError | None = None
    with shortage():
        try:
            action(table)
        except PaimonError as raised:
            error = raised
    check_table(str(location))
    now = states(location)
    if error is None:
        return True
    assert sentence in str(error), f"{name}: {error}"
    assert "\n" not in str(error)
    kept = {number: found for number, found in now.items() if number in before}
    assert kept == {number: before[number] for number in kept}, name
    if len(now) == len(before) and name not in ("stream", "branch", "copy"):  # these go on from what there is
        assert files(location) == was, name
    again(action, location)
    return False


def again(action: Action, location: Path) -> None:
    """It works when the shortage is over, and so does the next commit."""
    action(open_table(str(location)))
    open_table(str(location)).append(rows(70_000, 10))
    check_table(str(location))


@pytest.mark.parametrize("name", ACTIONS)
def test_a_full_disk(disk: SmallDisk, tables: dict[str, Path], name: str) -> None:
    kind, action = ACTIONS[name]
    steps = range(400) if LONG else (0, 4, 30)
    failed = 0
    for pages in steps:
        with copied(tables[kind], disk.path) as location:
            is_done = attempt(action, location, lambda: disk.full(pages), FULL, name)  # noqa: B023
        failed += not is_done
        if is_done and pages > 0:
            break
    assert failed, "there was room for all of it"


@pytest.mark.parametrize("name", ACTIONS if LONG else ["append", "update", "tag", "compact by key"])
def test_no_entry_for_a_new_file(disk: SmallDisk, tables: dict[str, Path], name: str) -> None:
    kind, action = ACTIONS[name]
    for entries in range(30) if LONG else (0, 3):
        with copied(tables[kind], disk.path) as location:
            attempt(action, location, lambda: disk.without_entries(entries), FULL, name)  # noqa: B023


def test_a_read_only_disk(disk: SmallDisk, tables: dict[str, Path]) -> None:
    """All that does not write works as ever."""
    for name, (kind, action) in ACTIONS.items():
        with copied(tables[kind], disk.path) as location:
            was = files(location)
            with disk.read_only():
                for read in READS.values():
                    read(open_table(str(location)))
                with pytest.raises(PaimonError) as raised:
                    action(open_table(str(location)))
                if name == "append":
                    printed = command("create-tag", location, "three")
                    assert (printed.code, READ_ONLY in printed.err, printed.err.count("\n")) == (2, True, 1)
            assert READ_ONLY in str(raised.value), name
            assert files(location) == was, name
            again(action, location)


def test_what_frees_space_needs_none(disk: SmallDisk, tables: dict[str, Path]) -> None:
    with copied(tables["plain"], disk.path) as location:
        before = states(location)
        (location / "bucket-0" / "data-left-behind-0.parquet").write_bytes(bytes(100_000))
        age(location)
        with disk.full(0):
            open_table(str(location)).delete_tag("one")
            gone = open_table(str(location)).remove_orphan_files(dry_run=False)
        assert [Path(path).name for path in gone.paths] == ["data-left-behind-0.parquet"]
        assert states(location) == before
        check_table(str(location))


def test_a_sort_has_no_room_for_temporary_files(
    disk: SmallDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk of the table has room: another directory is what helps."""
    table, given = unordered(tmp_path / "t")
    was = files(tmp_path / "t")
    monkeypatch.setattr(tempfile, "tempdir", str(disk.path))
    with disk.full(2), pytest.raises(StorageError) as raised:
        sort_table(table, "order", ["k"], run=cluster_in_small_parts)
    assert str(raised.value).startswith(f"keeping rows that wait, in temporary files in {disk.path}: {FULL}")
    assert str(raised.value).endswith("or set TMPDIR to a directory on a disk with room")
    assert (files(tmp_path / "t"), list(disk.path.iterdir())) == (was, [])
    sort_table(table, "order", ["k"], run=cluster_in_small_parts)
    assert same(rows_of(table), given)
    assert not list(disk.path.iterdir())


def cluster_in_small_parts(work: ClusterWork) -> list[GroupResult]:
    return cluster_here(replace(work, range_bytes=4000, group_bytes=4000))


@pytest.mark.parametrize("name", ACTIONS if LONG else ["append", "update", "compact by key", "expire", "stream"])
def test_no_more_files_to_open(tmp_path: Path, tables: dict[str, Path], name: str) -> None:
    kind, action = ACTIONS[name]
    action(open_table(str(shutil.copytree(tables[kind], tmp_path / "first"))))  # what it imports is there
    failed = 0
    for more in range(40) if LONG else (0, 1, 2, 4):
        location = Path(shutil.copytree(tables[kind], tmp_path / str(more)))
        failed += not attempt(action, location, lambda: few_files(more), FEW_FILES, name)  # noqa: B023
    assert failed


def test_a_read_without_files_to_open(tables: dict[str, Path]) -> None:
    """It merges four files of each bucket."""
    table = open_table(str(tables["keyed"]))
    table.scan().to_arrow()
    with few_files(3), pytest.raises(PaimonError) as raised:
        table.scan().to_arrow()
    assert FEW_FILES in str(raised.value)
