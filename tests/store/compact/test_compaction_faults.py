"""Section 4: whatever operation of write + compact + commit fails or kills: nothing lost, nothing doubled."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from support.faults.faulty_store import FaultyFileIO, InjectedFault, fault_points, is_killed, kill
from support.long_runs import LONG
from support.oracles.checker import check_table
from support.programs.process_pool import process_pool
from support.tables.compacted_tables import Row, append, batch, new_table, rows_of

from paimon_spark.errors import CommitStateUnknown, CompactionFailed, PaimonError, RowsNotVisible
from paimon_spark.file_io import FileIO, LocalFileIO
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.compact.compaction import compact_table
from paimon_spark.store.compact.local_pool import LocalRunner
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.finish_write import compact_after_write
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

TABLES: dict[str, Mapping[str, str]] = {
    "full": {"full-compaction.delta-commits": "1"},
    "vectors": {"deletion-vectors.enabled": "true"},
    "lookup": {"changelog-producer": "lookup"},
    "first-row": {"merge-engine": "first-row"},
}
OLD: list[Row] = [(k, 1, "old") for k in range(6)]
NEW: list[Row] = [(k, 2, "new") for k in range(3, 9)]


def after(options: Mapping[str, str], rows: list[Row]) -> list[Row]:
    """The old rows with the new ones on top."""
    pairs = (rows, OLD) if options.get("merge-engine") == "first-row" else (OLD, rows)
    return sorted({row[0]: row for part in pairs for row in part}.values())


def job(table: Table, io: FileIO) -> None:
    """Writes, commits, compacts."""
    table = replace(table, file_io=io)
    user = str(uuid.uuid4())
    writer, commit = TableWrite(table, user), TableCommit(table, user)
    try:
        writer.write(batch(NEW))
        messages = writer.finish()
    except OSError:
        writer.abort()
        raise
    try:
        commit.append(messages)
    except CommitStateUnknown:
        raise
    except (OSError, PaimonError):
        commit.abort(messages)
        raise
    compact_after_write(table, messages, LocalRunner())


def prepared(path: Path, options: Mapping[str, str]) -> Table:
    table = new_table(path, options)
    messages = append(table, OLD)
    compact_after_write(table, messages, LocalRunner())
    return table


def operations(path: Path, options: Mapping[str, str]) -> list[str]:
    io = FaultyFileIO(LocalFileIO())
    job(prepared(path, options), io)
    return io.log


def verify(table: Table, options: Mapping[str, str], where: str) -> None:
    """What is committed is there once; what a reader does not see yet, a compaction shows."""
    snapshots = [table.snapshots.load(i) for i in table.snapshots.ids()]
    committed = sum(s.commit_kind == "APPEND" for s in snapshots) - 1
    assert committed in (0, 1), where
    check_table(table.location)
    expected = after(options, NEW if committed else [])
    compact_table(open_table(table.location), LocalRunner(), full=False)
    assert rows_of(table) == expected, where
    compact_table(open_table(table.location), LocalRunner(), full=True)
    assert rows_of(table) == expected, where
    check_table(table.location)


@pytest.mark.parametrize("lasting", [False, True], ids=["one fault", "store goes away"])
@pytest.mark.parametrize("name", list(TABLES) if LONG else ["full", "vectors"])
def test_every_fault_point(name: str, lasting: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = TABLES[name]
    outcomes = {"succeeded": 0, "failed": 0, "unknown": 0, "not visible": 0}
    log = operations(tmp_path / "first", options)
    for number, (at, when) in enumerate(fault_points(log, 7)):
        table = prepared(tmp_path / str(number), options)
        known = rows_of(table)
        io = FaultyFileIO(LocalFileIO(), at, when, lasting=lasting)
        where = f"{log[at]} #{at} {when}"
        try:
            job(table, io)
        except CommitStateUnknown:
            outcomes["unknown"] += 1
        except RowsNotVisible:
            outcomes["not visible"] += 1
        except (InjectedFault, CompactionFailed):
            outcomes["failed"] += 1
            assert rows_of(table) == known, f"{where}: a job that failed for certain changed the table"
        else:
            outcomes["succeeded"] += 1
            assert rows_of(table) == after(options, NEW), where
        verify(table, options, where)
    with capsys.disabled():
        print(f"\n  {name}{', lasting' * lasting}: {sum(outcomes.values())} fault points, {outcomes}", end="")


@pytest.mark.parametrize("name", list(TABLES) if LONG else ["vectors"])
def test_killed_at_every_point(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = TABLES[name]
    points = fault_points(operations(tmp_path / "first", options), 7)
    for number, (at, when) in enumerate(points):
        table = prepared(tmp_path / str(number), options)
        assert is_killed(lambda at=at, when=when, table=table: job(table, FaultyFileIO(LocalFileIO(), at, when, kill)))
        verify(table, options, f"killed at #{at} {when}")
    with capsys.disabled():
        print(f"\n  {name}: killed at {len(points)} points", end="")


COMMITS = 200 if LONG else 6


def write_often(location: str, writer: int) -> None:
    for number in range(COMMITS):
        table = open_table(location)
        append(table, [(k, number, f"writer {writer}") for k in range(writer, 60, 2)])


def compact_often(location: str, full: bool, end: str) -> tuple[int, int]:
    """Compacts until the writers are done; (snapshots made, buckets dropped)."""
    made = dropped = 0
    while not os.path.exists(end):
        metrics = compact_table(open_table(location), LocalRunner(max_processes=1), full=full)
        made, dropped = made + len(metrics.snapshot_ids), dropped + len(metrics.dropped)
    return made, dropped


@pytest.mark.parametrize("name", ["plain", *TABLES] if LONG else ["vectors"])
def test_writers_and_compactors_race(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two writers of their own keys, two compactors, one of them of everything; nobody starves."""
    options = {
        **TABLES.get(name, {}),
        "bucket": "2",
        "commit.max-retries": "100",
        "num-sorted-run.compaction-trigger": "2",
    }
    table = new_table(tmp_path / "t", options)
    append(table, [(k, -1, "start") for k in range(60)])
    with process_pool(4) as pool:
        writers = [pool.submit(write_often, table.location, writer) for writer in (0, 1)]
        end = tmp_path / "end"
        compactors = [pool.submit(compact_often, table.location, full, str(end)) for full in (False, True)]
        try:
            for future in writers:
                future.result(timeout=3600)
        finally:
            end.touch()
        results = [future.result(timeout=3600) for future in compactors]
    compact_table(open_table(table.location), LocalRunner())
    first = options.get("merge-engine") == "first-row"
    last, by = (-1, "start") if first else (COMMITS - 1, None)
    assert rows_of(table) == [(k, last, by or f"writer {k % 2}") for k in range(60)]
    check_table(table.location)
    kinds = [table.snapshots.load(i).commit_kind for i in table.snapshots.ids()]
    assert kinds.count("APPEND") == 2 * COMMITS + 1, "no writer fails, none is doubled"
    assert kinds.count("COMPACT") > (COMMITS // 10 if LONG else 0), "compactors get their turns"
    with capsys.disabled():
        print(f"\n  {name}: {len(kinds)} snapshots; picked, full: (made, dropped) {results}", end="")
