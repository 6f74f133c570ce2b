"""A table that is dropped, and perhaps made anew at its place, while a job has it open (protocol C11)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from support.faults.faulty_store import FaultyFileIO
from support.oracles.checker import check_table
from support.tables.commit_states import with_rivals
from support.tables.compacting import make, rows_of, write
from support.tables.expiring import copied
from support.tables.prepared import COLUMNS, NEW, After, commit, life, planned

from paimon_spark.errors import CommitStateUnknown, PaimonError, TableNotFound
from paimon_spark.store.clean.truncate import truncate_table
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.compact.bucket import run_task
from paimon_spark.store.compact.commit import commit_compaction
from paimon_spark.store.compact.plan import plan_compaction
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.evolution.changes import SetOption
from paimon_spark.store.history.branches import create_branch, on_branch
from paimon_spark.store.metadata.alter import next_schema, publish_schema
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.manifest_compaction import compact_manifests

T = TypeVar("T")
ANEW = "it was dropped or renamed since this job opened it, and another table was made there"


class InterleavedStore(FaultyFileIO):
    """A store where something happens just before an operation, which is done all the same."""

    def __init__(self, table: Table, happens: Callable[[], object], at: int | None = None) -> None:
        super().__init__(table.file_io, at)
        self._happens = happens

    def run(self, name: str, half: Callable[[], object], whole: Callable[[], T]) -> T:
        with self._lock:  # manifests are written by several threads
            if len(self.log) == self.at:
                self._happens()
            self.log.append(name)
        return whole()


def drop(table: Table) -> None:
    """As a catalog on a disk does: the directory goes in one step."""
    place = Path(table.location)
    number = len(list(place.parent.glob(".dropped-*")))
    place.rename(place.parent / f".dropped-{number}")


def make_anew(table: Table, rows: int = 0) -> None:
    """Drops the table, and makes one of the same columns, keys and options, with as many snapshots as rows."""
    drop(table)
    anew = make(Path(table.location), COLUMNS, [], {"bucket": "-1"})
    for number in range(1, rows + 1):
        write(anew, [(number, -number)])


@pytest.mark.parametrize("rows", [0, 3, 4, 6])
def test_another_table_takes_no_commit(tmp_path: Path, rows: int) -> None:
    """Its snapshots may have the ids of those that the job has seen."""
    table = life(tmp_path)
    append, overwrite = planned(table), planned(table)
    plan = plan_compaction(table, full=True)
    assert plan.snapshot is not None
    results = [run_task(table, task) for task in plan.tasks]
    make_anew(table, rows)
    for act in (
        lambda: commit(table, append),
        lambda: TableCommit(table, overwrite[0], overwrite[2]).overwrite(overwrite[1], None),
        lambda: commit_compaction(table, plan.snapshot, plan.upper, results),
        lambda: publish_schema(table, next_schema(table.schema, table.schema)),
        lambda: alter_table(table, [SetOption("snapshot.num-retained.max", "70")]),
        *([lambda: truncate_table(table), lambda: compact_manifests(table)] if rows > 1 else []),
    ):
        with pytest.raises(TableNotFound, match="dropped or renamed since this job opened it"):
            act()
    assert rows_of(table) == sorted([(n, -n) for n in range(1, rows + 1)], key=repr)
    assert (table.snapshots.latest_id() or 0, table.schemas.ids()) == (rows, [0])
    check_table(table.location)


def test_the_message_tells_of_the_other_table(tmp_path: Path) -> None:
    table = life(tmp_path)
    job = planned(table)
    make_anew(table)
    with pytest.raises(TableNotFound, match=ANEW):
        commit(table, job)


def test_a_branch_is_distinguished_from_that_of_another_table(tmp_path: Path) -> None:
    table = life(tmp_path)
    create_branch(table, "b")
    branch = on_branch(table, "b")
    job = planned(branch)
    commit(branch, planned(branch))
    make_anew(table)
    create_branch(table, "b")
    with pytest.raises(TableNotFound, match=ANEW):
        commit(branch, job)


def operations_of_a_commit(path: Path) -> int:
    table = life(path)
    job = planned(table)
    store = InterleavedStore(table, lambda: None)
    commit(replace(table, file_io=store), job)
    return len(store.log)


@pytest.mark.parametrize("happens", [drop, make_anew, lambda table: make_anew(table, 4)], ids=["drop", "anew", "rows"])
def test_at_every_operation_of_a_commit(tmp_path: Path, happens: Callable[[Table], None]) -> None:
    """A commit that returns was made before the drop; any other leaves the place, and the new table, as they were."""
    told: set[str] = set()
    for at in range(operations_of_a_commit(tmp_path / "count")):
        table = life(tmp_path / str(at))
        job = planned(table)
        store = InterleavedStore(table, lambda table=table: happens(table), at)
        try:
            commit(replace(table, file_io=store), job)
            told.add("done")
            old = next(Path(table.location).parent.glob(".dropped-0"))
            assert (old / "snapshot" / "snapshot-5").exists(), at
        except PaimonError as error:
            told.add(type(error).__name__)
        left = sorted(p.name for p in Path(table.location).glob("snapshot/snapshot-*"))
        if happens is drop:
            assert left == [], at
        else:
            assert NEW not in rows_of(table), at
            assert len(left) in (0, 4), at
            check_table(table.location)
    assert {"done", "TableNotFound", "CommitStateUnknown"} <= told


@pytest.mark.parametrize("rows", [0, 4])
def test_a_snapshot_that_came_into_another_table_is_taken_back(tmp_path: Path, rows: int) -> None:
    table = life(tmp_path)
    job = planned(table)
    with pytest.raises(CommitStateUnknown, match=f"was taken back because of .* or a drop, and failed then: .*{ANEW}"):
        commit(with_rivals(table, lambda: make_anew(table, rows)), job)
    assert len(rows_of(table)) == rows
    check_table(table.location)


def test_a_commit_before_a_drop_is_done(tmp_path: Path) -> None:
    table = life(tmp_path)
    job = planned(table)
    commit(replace(table, file_io=After(table.file_io, "snapshot-5", lambda: make_anew(table))), job)
    assert rows_of(table) == []
    assert (tmp_path / ".dropped-0" / "snapshot" / "snapshot-5").exists()


def test_what_others_have_built_on_it_is_not_taken_back(tmp_path: Path) -> None:
    """They have been told that they succeeded."""
    table = make(tmp_path / "t", COLUMNS, [], {"bucket": "-1"})
    job = planned(table)
    looked = InterleavedStore(table, lambda: None)
    commit(replace(copied(table, tmp_path / "copy"), file_io=looked), job)
    first_change = next(n for n, name in enumerate(looked.log) if name.startswith("!"))
    store = InterleavedStore(table, lambda: make_anew(table), first_change)
    with pytest.raises(CommitStateUnknown, match="Roll that table back to a snapshot before 1, and run those jobs"):
        commit(replace(table, file_io=After(store, "snapshot-1", lambda: write(table, [(1, -1)]))), job)
    assert table.snapshots.ids() == [1, 2]


def test_a_schema_that_came_into_another_table_is_taken_back(tmp_path: Path) -> None:
    table = life(tmp_path)
    rival = with_rivals(table, lambda: make_anew(table), folder="schema")
    with pytest.raises(TableNotFound, match="publishing schema 1 of"):
        publish_schema(rival, next_schema(table.schema, table.schema))
    assert table.schemas.ids() == [0]
    shutil.rmtree(table.location)
    with pytest.raises(TableNotFound, match="publishing schema 1 of"):
        publish_schema(table, next_schema(table.schema, table.schema))
    assert not Path(table.location).exists()
