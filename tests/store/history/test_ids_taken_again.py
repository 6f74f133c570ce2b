"""A job looks at a snapshot, others roll back and take its id again, and the job goes on with what it has seen.

The model of the protocol found these orders (tests/store/protocol).
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from support.faults.faulty_store import FaultyFileIO
from support.oracles.checker import check_table
from support.tables.compacting import rows_of, write
from support.tables.expiring import copied, rules
from support.tables.prepared import NEW, After, commit, life, planned

from paimon_spark.errors import SnapshotNotFound
from paimon_spark.file_io import FileIO
from paimon_spark.format.snapshot import encode_snapshot
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.holds.lineage import delete_unrelated_after
from paimon_spark.store.metadata.table import Table


@dataclass
class Meeting:
    """A store where something happens before an operation of this number, if that is no deletion.

    No storage can delete a file only if it is what it was, so what happens between the last look at a snapshot and its
    deletion is out of reach.
    """

    inner: FileIO
    at: int
    happens: Callable[[], object]
    begins: bool = True
    count: int = -1
    happened: bool = False

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)

        def call(*arguments: Any) -> Any:
            self.count += self.begins
            if self.count >= self.at and not self.happened and not name.startswith("delete"):
                self.happened = True
                self.happens()
            return method(*arguments)

        return call


def snapshot_file(table: Table, number: int) -> Path:
    return Path(table.location, "snapshot", f"snapshot-{number}")


def test_a_commit_withdraws_no_snapshot_of_others(tmp_path: Path) -> None:
    """Its base has gone; while it looks for its own snapshot, others have the id."""
    whole = life(tmp_path)
    for number in itertools.count():
        table = copied(whole, tmp_path / str(number))

        def rival(table: Table = table) -> None:
            rollback(table, 2)
            for row in (13, 14, 15):
                write(table, [(row, row)])

        meeting = Meeting(table.file_io, number, rival, begins=False)

        def published(table: Table = table, meeting: Meeting = meeting) -> None:
            snapshot_file(table, 4).unlink()  # as the rollback that has just begun
            meeting.begins = True

        commit(replace(table, file_io=After(meeting, "snapshot-5", published)), planned(table))  # type: ignore[arg-type]
        if not meeting.happened:
            assert number > 5
            return
        assert {(13, 13), (14, 14), (15, 15)} <= set(rows_of(table)), number
        check_table(table.location)


def taken_back(table: Table) -> None:
    """A rollback, and a job that has prepared its commit before and has just published it: it will withdraw it."""
    late = replace(table.snapshots.load(4), uuid=str(uuid.uuid4()))
    rollback(table, 2)
    snapshot_file(table, 4).write_bytes(encode_snapshot(late))


def test_no_commit_ends_on_what_will_be_withdrawn(tmp_path: Path) -> None:
    """LATEST named snapshot 4, and then that was another one."""
    whole = life(tmp_path)
    for number in itertools.count():
        table = copied(whole, tmp_path / str(number))
        meeting = Meeting(table.file_io, number, lambda table=table: taken_back(table))
        commit(replace(table, file_io=meeting), planned(table))
        if not meeting.happened:
            assert number > 5
            return
        assert 5 not in table.snapshots.ids(), number


def test_a_mark_of_an_expiry_that_gives_up_says_nothing(tmp_path: Path) -> None:
    """It counted the snapshots before the rollback, and its end is the id of the new one."""
    table = life(tmp_path)

    def rival() -> None:
        snapshot_file(table, 4).unlink()
        mark = Path(table.location, "snapshot", f".expiring-5-{uuid.uuid4()}")
        mark.write_text(f"manifest-list-{uuid.uuid4()}-0")

    commit(replace(table, file_io=After(table.file_io, "snapshot-5", rival)), planned(table))
    assert table.snapshots.ids() == [1, 2, 3, 4]
    assert rows_of(table) == [(1, 1), (2, 2), (3, 3), NEW]


def test_nothing_expires_for_a_snapshot_that_will_be_withdrawn(tmp_path: Path) -> None:
    whole = life(tmp_path)
    for number in itertools.count():
        table = copied(whole, tmp_path / str(number))
        meeting = Meeting(table.file_io, number, lambda table=table: taken_back(table))
        try:
            expired = expire_snapshots_by(replace(table, file_io=meeting), rules(1))
        except SnapshotNotFound:  # the rollback, of what is being deleted
            continue
        if not meeting.happened:
            assert expired.ids == (1, 2, 3)
            return
        snapshot_file(table, 4).unlink()
        assert rows_of(table) == [(1, 1), (2, 2)], number


def test_a_rollback_deletes_nothing_that_is_built_on_its_target(tmp_path: Path) -> None:
    """Snapshots that stand on nothing are withdrawn by their job, and others have their ids."""
    table = life(tmp_path)
    write(table, [(5, 5)])
    snapshot_file(table, 3).unlink()
    table.snapshots.write_latest_hint(2)

    class Withdrawn(FaultyFileIO):
        def delete(self, path: str) -> None:
            super().delete(path)
            if path.endswith("snapshot-5"):
                snapshot_file(table, 4).unlink()
                for row in (13, 14):
                    write(table, [(row, row)])

    delete_unrelated_after(replace(table, file_io=Withdrawn(table.file_io)), table.snapshots.load(2))
    assert rows_of(table) == [(1, 1), (13, 13), (14, 14), (2, 2)]
    check_table(table.location)
