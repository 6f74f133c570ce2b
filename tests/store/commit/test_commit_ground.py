"""A commit that comes when the latest snapshot is about to be taken back, for what it stands on was taken away."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.faults.faulty_store import FaultyFileIO, When, is_killed, kill
from support.oracles.checker import check_table
from support.simulation.turns import Actor, operations
from support.tables.commit_states import Between, with_rivals
from support.tables.compacting import Row, rows_of, write
from support.tables.expiring import copied, rules
from support.tables.prepared import NEW, After, commit, life, planned

from paimon_spark.errors import RetriesExhausted, TableNotFound
from paimon_spark.file_io import FileIO, LocalFileIO
from paimon_spark.store.clean.truncate import truncate_table
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.branches import create_branch
from paimon_spark.store.history.fast_forward import fast_forward
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.manifest_compaction import compact_manifests
from paimon_spark.tables.open import open_table

OTHER = (8, 8)


def back(table: Table) -> None:
    """The hint is that of a slow writer of snapshot 4; a true one would have led past all others."""
    rollback(table, 2)
    table.snapshots.write_latest_hint(4)


def back_and_on(table: Table) -> None:
    """There is a snapshot 4 again, but another one."""
    rollback(table, 2)
    for number in (13, 14):
        write(table, [(number, number)])


HAPPENED = pytest.mark.parametrize(
    ("happens", "ids"), [(back, [1, 2, 5]), (back_and_on, [1, 2, 3, 4, 5])], ids=["back", "back and on"]
)


@HAPPENED
def test_nobody_builds_on_what_will_be_taken_back(
    tmp_path: Path, happens: Callable[[Table], None], ids: list[int]
) -> None:
    """The writer of snapshot 5 has published it, but not looked at its base yet."""
    table = life(tmp_path)
    impatient = open_table(table.location, {"commit.max-retries": "1"})

    @functools.cache  # only the first time
    def other() -> None:
        assert table.snapshots.ids() == ids
        words = rf"looked 2 times, .* latest snapshot 5 was not built on .* roll the table back to snapshot {ids[-2]}, "
        with pytest.raises(RetriesExhausted, match=words):
            commit(impatient, planned(impatient, OTHER))

    late = Between(After(table.file_io, "snapshot-5", other), [lambda: happens(table)])
    commit(replace(table, file_io=late), planned(table))
    before = rows_of(table)
    assert NEW in before
    commit(impatient, planned(impatient, OTHER))
    assert rows_of(table) == sorted([*before, OTHER], key=repr)
    assert table.snapshots.ids() == list(range(1, len(before) + 2))
    check_table(table.location)


@HAPPENED
def test_who_waits_comes_on_top(tmp_path: Path, happens: Callable[[Table], None], ids: list[int]) -> None:
    table = life(tmp_path)
    job = planned(table)
    steps = operations(LocalFileIO(), lambda io: commit(replace(copied(table, tmp_path / "log"), file_io=io), job))

    def act(io: FileIO) -> None:
        commit(replace(table, file_io=Between(io, [lambda: happens(table)])), job)

    late = Actor(table.file_io, act, steps.index("!create") + 1)
    late.start()
    assert table.snapshots.ids() == ids
    looks: list[str] = []

    class Looking(FaultyFileIO):
        def read_bytes(self, path: str) -> bytes:
            if path.endswith("/LATEST"):
                looks.append(path)
                if len(looks) == 2:
                    late.finish()
            return super().read_bytes(path)

    before = sorted([*rows_at(table, ids[-2]), NEW], key=repr)
    commit(replace(table, file_io=Looking(table.file_io)), planned(table, OTHER))
    assert late.error is None
    assert rows_of(table) == sorted([*before, OTHER], key=repr)
    assert table.snapshots.ids() == list(range(1, len(before) + 2))
    check_table(table.location)


@HAPPENED
def test_a_writer_that_was_killed_comes_again(tmp_path: Path, happens: Callable[[Table], None], ids: list[int]) -> None:
    """It finds its own snapshot, but that one is not there to stay."""
    table = open_table(life(tmp_path).location, {"commit.max-retries": "1"})
    job = planned(table)
    steps = operations(LocalFileIO(), lambda io: commit(replace(copied(table, tmp_path / "log"), file_io=io), job))
    dying = FaultyFileIO(table.file_io, steps.index("!create"), When.AFTER, act=kill)
    assert is_killed(lambda: commit(replace(table, file_io=Between(dying, [lambda: happens(table)])), job))
    assert table.snapshots.ids() == ids
    with pytest.raises(RetriesExhausted, match=f"roll the table back to snapshot {ids[-2]}, then run this job again"):
        commit(table, job)
    rollback(table, ids[-2])
    before = rows_of(table)
    commit(table, job)
    commit(table, job)
    assert rows_of(table) == sorted([*before, NEW], key=repr)


def test_a_snapshot_below_which_there_is_a_gap(tmp_path: Path) -> None:
    """A fast-forward of the official system has made it, and says so by the hint."""
    table = life(tmp_path)
    branch = grown(table)
    shutil.copy(f"{branch.snapshots.directory}/snapshot-6", table.snapshots.directory)
    table.snapshots.write_latest_hint(6)
    assert table.snapshots.ids() == [1, 2, 3, 4, 6]
    commit(table, planned(table))
    assert table.snapshots.ids() == [1, 2, 3, 4, 6, 7]
    assert NEW in rows_of(table)


def test_a_lost_race_is_no_doubt(tmp_path: Path) -> None:
    """Whoever was faster has not written the hint yet."""
    table = open_table(life(tmp_path).location, {"commit.max-retries": "1"})
    rival = replace(table, file_io=Hintless(table.file_io))
    commit(with_rivals(table, lambda: commit(rival, planned(rival, OTHER))), planned(table))
    assert table.snapshots.ids() == [1, 2, 3, 4, 5, 6]
    assert rows_of(table) == [(1, 1), (2, 2), (3, 3), (4, 4), OTHER, NEW]


class Hintless(FaultyFileIO):
    def overwrite(self, path: str, data: bytes) -> None:
        assert path.endswith("/LATEST")


def test_what_is_about_to_be_taken_back_expires_nothing(tmp_path: Path) -> None:
    """Else an expiry that keeps one snapshot would keep that one, and the table would be lost with it."""
    table = life(tmp_path)

    @functools.cache  # only the first time
    def other() -> None:
        assert table.snapshots.ids() == [1, 2, 3, 4, 5]
        assert expire_snapshots_by(table, rules(1)).ids == ()

    late = Between(After(table.file_io, "snapshot-5", other), [lambda: back_and_on(table)])
    commit(replace(table, file_io=late), planned(table))
    assert rows_of(table) == [(1, 1), (13, 13), (14, 14), (2, 2), NEW]
    assert expire_snapshots_by(table, rules(1)).ids == (1, 2, 3, 4)
    check_table(table.location)


def test_manifests_of_a_state_that_is_gone(tmp_path: Path) -> None:
    """A compaction of manifests has no changes that the next snapshot could lack, but other files."""
    table = life(tmp_path)

    compact_manifests(with_rivals(table, lambda: ahead(table)))
    assert table.snapshots.ids() == [6, 7]
    check_table(table.location)


def test_what_is_dropped_is_dropped_from_what_is_there(tmp_path: Path) -> None:
    """The files that it takes away the next snapshot does not have either, for others have taken them away too."""
    table = life(tmp_path)

    truncate_table(with_rivals(table, lambda: ahead(table, replaces=True)))
    assert (table.snapshots.ids(), rows_of(table)) == ([6, 7], [])
    check_table(table.location)


def ahead(table: Table, replaces: bool = False) -> None:
    grown(table, replaces)
    fast_forward(table, "b")


def grown(table: Table, replaces: bool = False) -> Table:
    """The branch "b", whose only snapshot is 6."""
    create_branch(table, "b", snapshot=4)
    branch = open_table(table.location, {"branch": "b"})
    user, messages, since = planned(branch, (15, 15))
    if replaces:
        TableCommit(branch, user, since).overwrite(messages, None)
    else:
        commit(branch, (user, messages, since))
    commit(branch, planned(branch, (16, 16)))
    expire_snapshots_by(branch, rules(1))
    return branch


def rows_at(table: Table, number: int) -> list[Row]:
    rows = open_table(table.location, {"scan.snapshot-id": str(number)}).scan().to_arrow().to_pylist()
    return [tuple(row.values()) for row in rows]


def test_nothing_is_committed_to_a_table_that_was_dropped_or_renamed(tmp_path: Path) -> None:
    """Its rows would be in no table, and the job would say that it succeeded."""
    table = life(tmp_path)
    job = planned(table)
    Path(table.location).rename(tmp_path / "renamed")
    with pytest.raises(TableNotFound, match="it was dropped or renamed since this job opened it"):
        commit(table, job)
    assert not list(Path(table.location).glob("snapshot/snapshot-*"))
