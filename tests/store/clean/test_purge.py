"""A purge leaves nothing of a table but its schemas and one empty state; whoever writes meanwhile loses nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.faults.faulty_store import FaultyFileIO, InjectedFault, fault_points, is_killed, kill
from support.long_runs import LONG
from support.oracles.checker import check_table
from support.simulation.interleaved_store import InterleavedStore
from support.tables.commit_states import latest
from support.tables.compacting import rows_of, write
from support.tables.expiring import consumer, copied, live_on, new_table, rules, state

from paimon_spark import open_table
from paimon_spark.errors import OptionError, PaimonError, TableChanged, UnsupportedFeature
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.clean.lost_files import repair_earliest_snapshot
from paimon_spark.store.clean.orphans import remove_orphans_before
from paimon_spark.store.clean.purge import purge_files
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.branches import branch_names, create_branch
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.metadata.manifest_files import read_data_manifests
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.analyze import analyze
from paimon_spark.store.upkeep.manifest_compaction import compact_manifests
from paimon_spark.store.write.table_write import TableWrite

LATER = "2000-01-01 00:00:00"  # no file is as old
OPTIONS = {"changelog-producer": "input"}
VECTORS = {**OPTIONS, "deletion-vectors.enabled": "true"}  # where a read shows compacted rows only


def full_life(path: Path, options: Mapping[str, str] = OPTIONS) -> Table:
    """A table with everything: tags of snapshots that expired, branches with commits, statistics, long changelogs."""
    table = new_table(path, options)
    live_on(table, "wwcw")
    create_tag(table, "old", 2)
    create_branch(table, "b", tag="old")
    create_branch(table, "empty")
    other = open_table(table.location, {"branch": "b"})
    for number in (50, 51):
        write_on(other, number)
    create_tag(open_table(table.location, {"branch": "b"}), "of b")
    expire_snapshots_by(table, rules(2, changelogs=9))
    live_on(table, "wcw")
    analyze(open_table(table.location), None, counted)
    create_tag(table, "new")
    consumer(table, "reader", latest(table).id)
    return open_table(table.location)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return full_life(tmp_path_factory.mktemp("lived") / "t")


def counted(snapshot: Snapshot, fields: Any) -> tuple[int, dict[str, Any]]:
    return 2, {}


def write_on(table: Table, number: int) -> None:
    commit(table, number)(table)


def commit(table: Table, number: int) -> Callable[[Table], object]:
    """Writes the files of one row; the result commits them."""
    task = TableWrite(table, f"user-{number}")
    task.write(pa.record_batch({"k": pa.array([number], pa.int32()), "v": pa.array([number], pa.int64())}))
    messages = task.finish()
    return lambda now: TableCommit(now, f"user-{number}").append(messages)


def files(table: Table) -> set[str]:
    """All but the hints, which are hints."""
    found = (path.relative_to(table.location).as_posix() for path in Path(table.location).rglob("*") if path.is_file())
    return {path for path in found if not path.endswith(("/LATEST", "/EARLIEST", ".tmp"))}


def named_by_the_one(table: Table) -> set[str]:
    """The files of a table with one snapshot and no past."""
    (number,) = table.snapshots.ids()
    snapshot = table.snapshots.load(number)
    lists = {snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.index_manifest} - {None}
    metas = {meta.file_name for meta in read_data_manifests(table.file_io, table.location, snapshot)}
    statistics = {f"statistics/{snapshot.statistics}"} if snapshot.statistics else set()
    return {"schema/schema-0", f"snapshot/snapshot-{number}", *(f"manifest/{n}" for n in lists | metas), *statistics}


@pytest.mark.parametrize("options", [OPTIONS, VECTORS, {}], ids=["changelogs", "vectors", "plain"])
def test_everything_goes(tmp_path: Path, options: dict[str, str]) -> None:
    table = full_life(tmp_path / "t", options)
    before = files(table)
    done = purge_files(table)
    last = latest(table)
    assert (done.branches, done.tags, done.consumers) == (("b", "empty"), ("new", "old"), ("reader",))
    assert (done.snapshot_id, last.operation, table.snapshots.ids()) == (last.id, "TRUNCATE", [last.id])
    assert done.snapshots == tuple(range(last.id - 6, last.id))
    assert done.changelogs == tuple(range(1, last.id - 6))
    assert files(table) == named_by_the_one(table)
    deleted = {str(Path(path).relative_to(table.location)) for path in done.paths}
    assert before - files(table) <= deleted | {"consumer/consumer-reader"}
    assert deleted.isdisjoint(files(table))
    assert rows_of(table) == []
    write(table, [(7, 7)])
    live_on(table, "c")
    assert rows_of(table) == [(7, 7)]
    check_table(table.location)


def test_a_dry_run_tells_and_changes_nothing(lived: Table, tmp_path: Path) -> None:
    table = copied(lived, tmp_path / "t")
    before = files(table)
    told = purge_files(table, dry_run=True)
    assert (told.dry_run, told.snapshot_id, files(table)) == (True, None, before)
    done = purge_files(table)
    assert (told.branches, told.tags, told.consumers) == (done.branches, done.tags, done.consumers)
    assert (told.snapshots, told.changelogs) == (done.snapshots, done.changelogs)
    promised = {str(Path(path).relative_to(table.location)) for path in told.paths}
    assert before <= promised | {"schema/schema-0", "consumer/consumer-reader"}
    assert files(table) & promised <= named_by_the_one(table)


def test_old_orphans_go_and_files_of_running_writers_stay(lived: Table, tmp_path: Path) -> None:
    table = copied(lived, tmp_path / "t")
    finish = commit(table, 77)
    running = files(table) - named_before(table)
    live_on(table, "w")
    forgotten = Path(table.location, "bucket-0", "data-forgotten-0.parquet")
    forgotten.write_bytes(b"old")
    os.utime(forgotten, (1, 1))
    purge_files(table, LATER)
    assert files(table) == named_by_the_one(table) | running
    finish(table)
    assert rows_of(table) == [(77, 77)]
    check_table(table.location)


def named_before(table: Table) -> set[str]:
    """All but the newest data file and its changelog."""
    newest = sorted(Path(table.location, "bucket-0").iterdir(), key=lambda path: path.stat().st_mtime_ns)[-2:]
    return files(table) - {path.relative_to(table.location).as_posix() for path in newest}


def test_a_table_without_rows_and_an_empty_one(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    done = purge_files(table)
    assert (done.snapshot_id, done.paths) == (None, ())
    live_on(table, "w")
    first = purge_files(table)
    again = purge_files(table)
    assert (first.snapshot_id, again.snapshot_id, again.paths) == (2, 2, ())


def test_snapshots_before_a_gap_go_too(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", OPTIONS)
    live_on(table, "wwcwwcww")
    for number in (2, 5):
        Path(table.location, "snapshot", f"snapshot-{number}").unlink()
    repair_earliest_snapshot(table)
    done = purge_files(table)
    assert done.snapshots == (1, 3, 4, 6, 7, 8)
    left = files(table) - named_by_the_one(table)
    lists = {path for path in left if "/manifest-list-" in path}
    assert len(lists) == 6, "those that only the lost snapshots named are orphans"
    compact_manifests(table)  # they name the files that came and went, and these count as used
    expire_snapshots_by(table, rules(1))
    remove_orphans_before(table, 2**62, dry_run=False)
    assert files(table) == named_by_the_one(table)
    check_table(table.location)


def test_the_files_that_only_the_first_snapshot_of_a_branch_needs(tmp_path: Path) -> None:
    """The snapshot that added the older one is in no branch any more."""
    table = new_table(tmp_path / "t")
    live_on(table, "ww")
    create_branch(table, "b", snapshot=2)
    live_on(table, "c")
    expire_snapshots_by(table, rules(1))
    assert state(open_table(table.location, {"branch": "b"}), {}) == [(0, 2), (1, 2)]
    purge_files(table)
    assert files(table) == named_by_the_one(table)
    assert not Path(table.location, "bucket-0").exists()


def test_data_files_that_a_rollback_left_go_when_they_are_old(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "ww")
    rollback(table, 1)
    left = [path for path in Path(table.location).rglob("*") if path.is_file()]
    for path in left:
        os.utime(path, (1, 1))
    purge_files(table, LATER)
    assert files(table) == named_by_the_one(table)


def test_refusals(lived: Table, tmp_path: Path) -> None:
    table = copied(lived, tmp_path / "t")
    before = files(table)
    with pytest.raises(UnsupportedFeature, match="opened on the branch 'b', and a purge empties the whole table"):
        purge_files(open_table(table.location, {"branch": "b"}))
    for time, words in (("soon", "soon"), ("2999-01-01 00:00:00", "it must be past")):
        with pytest.raises(OptionError, match=words):
            purge_files(table, time)
    with pytest.raises(UnsupportedFeature, match="rest-catalog"):  # before it deletes a branch
        purge_files(table.with_options({"metadata.iceberg.storage": "rest-catalog"}))
    schema = replace(table.schema, options={**table.schema.options, "scan.fallback-branch": "b"})
    with pytest.raises(OptionError, match=r"'scan\.fallback-branch' of the table names it"):
        purge_files(replace(table, schema=schema))
    Path(table.location, "manifest", branch_list(table)).write_bytes(b"damaged")
    with pytest.raises(PaimonError):
        purge_files(table)
    assert files(table) == before


def test_another_table_at_the_place_keeps_its_branches(tmp_path: Path) -> None:
    dropped = new_table(tmp_path / "t")
    shutil.rmtree(dropped.location)
    table = new_table(tmp_path / "t", OPTIONS)
    live_on(table, "w")
    create_branch(table, "b", snapshot=1)
    before = files(table)
    with pytest.raises(TableChanged):
        purge_files(dropped)
    assert files(table) == before


def branch_list(table: Table) -> str:
    found = open_table(table.location, {"branch": "b"}).snapshots.latest()
    assert found is not None
    return found.delta_manifest_list


def quiet_log(lived: Table, tmp_path: Path) -> list[str]:
    io = FaultyFileIO(LocalFileIO())
    purge_files(replace(copied(lived, tmp_path / "quiet"), file_io=io))
    return io.log


STATES_OF_B = ([], *([(0, 2), (1, 2), (50, 50), (51, 51)][:end] for end in (2, 3, 4)))  # it goes newest first


def finished(table: Table, rows: list[Any], where: str) -> None:
    """The table reads, and a second purge leaves nothing but what no metadata told of any more."""
    table = open_table(table.location)
    assert rows_of(table) in (rows, []), where
    for name in branch_names(table.file_io, table.location):
        assert state(open_table(table.location, {"branch": name}), {}) in STATES_OF_B, where
    done = purge_files(table)
    assert rows_of(table) == [], where
    assert table.snapshots.ids() == [done.snapshot_id], where
    left = files(table) - named_by_the_one(table)
    assert not {path for path in left if path.startswith(("snapshot", "tag", "branch", "changelog", "consumer"))}, where
    remove_orphans_before(table, 2**62, dry_run=False)
    assert files(table) == named_by_the_one(table), where
    check_table(table.location)


def test_every_fault_point(lived: Table, tmp_path: Path) -> None:
    rows, log = rows_of(lived), quiet_log(lived, tmp_path)
    for number, (at, when) in enumerate(fault_points(log, 37)):
        table = copied(lived, tmp_path / str(number))
        with contextlib.suppress(InjectedFault, PaimonError):
            purge_files(replace(table, file_io=FaultyFileIO(LocalFileIO(), at, when)))
        finished(table, rows, f"{log[at]} #{at} {when}")


def test_killed_at_every_point(lived: Table, tmp_path: Path) -> None:
    rows, log = rows_of(lived), quiet_log(lived, tmp_path)
    for number, (at, when) in enumerate(fault_points(log, 37)):
        table = copied(lived, tmp_path / str(number))
        io = FaultyFileIO(LocalFileIO(), at, when, kill)
        assert is_killed(partial(purge_files, replace(table, file_io=io)))
        finished(table, rows, f"killed at {log[at]} #{at} {when}")


def test_a_writer_concurrently(lived: Table, tmp_path: Path) -> None:
    """It commits before any operation of the purge: its rows are there afterwards, or it came before the truncate."""
    for number in range(0, len(quiet_log(lived, tmp_path)), 3 if LONG else 41):
        table = copied(lived, tmp_path / str(number))
        early = commit(table, 88)

        def write_now(table: Table = table, early: Callable[[Table], object] = early) -> None:
            early(table)
            write_on(table, 99)

        purge_files(replace(table, file_io=InterleavedStore(LocalFileIO(), number, write_now)))
        assert rows_of(table) in ([], [(88, 88), (99, 99)])
        check_table(table.location)
