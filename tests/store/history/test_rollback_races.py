"""A rollback and a writer at once: nothing that was taken away comes back, and what was committed after it stays."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import uuid
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from support.faults.faulty_store import FaultyFileIO, When, is_killed, kill
from support.oracles.checker import check_table
from support.programs.s3_server import s3_server
from support.simulation.interleaved_store import InterleavedStore
from support.simulation.turns import in_turns, operations
from support.tables.commit_states import Between, with_rivals
from support.tables.compacting import make, rows_of, write
from support.tables.expiring import copied
from support.tables.prepared import COLUMNS, NEW, After, commit, life, planned

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import CommitConflict, CommitStateUnknown, SnapshotNotFound
from paimon_spark.file_io import LocalFileIO, file_io_for
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.history.branches import create_branch
from paimon_spark.store.history.fast_forward import fast_forward
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.store.write.write_plan import plan_write
from paimon_spark.tables.open import open_table


def test_a_writer_that_publishes_after_the_rollback(tmp_path: Path) -> None:
    """It was about to make snapshot 5 of 4, which is gone."""
    table = life(tmp_path)
    commit(with_rivals(table, lambda: rollback(table, 2)), planned(table))
    assert rows_of(table) == [(1, 1), (2, 2), NEW]
    assert table.snapshots.ids() == [1, 2, 3]
    check_table(table.location)


def test_when_others_have_taken_the_ids_again(tmp_path: Path) -> None:
    """Snapshot 4 is there again, but it is another one."""
    table = life(tmp_path)

    def rival() -> None:
        rollback(table, 2)
        for number in (13, 14):
            write(table, [(number, number)])

    commit(with_rivals(table, rival), planned(table))
    assert rows_of(table) == [(1, 1), (13, 13), (14, 14), (2, 2), NEW]
    assert table.snapshots.ids() == [1, 2, 3, 4, 5]
    check_table(table.location)


def test_a_base_that_has_expired_is_none_that_was_taken_away(tmp_path: Path) -> None:
    table = life(tmp_path)

    def expire() -> None:
        for number in range(1, 5):
            Path(table.location, "snapshot", f"snapshot-{number}").unlink()

    commit(replace(table, file_io=After(table.file_io, "snapshot-5", expire)), planned(table))
    assert table.snapshots.ids() == [5]


def test_a_base_in_the_middle_of_an_expiry(tmp_path: Path) -> None:
    """Expiries of ours may delete a newer snapshot before an older one; their mark tells that it is one."""
    table = life(tmp_path)

    def expire() -> None:
        Path(table.location, "snapshot", f".expiring-5-{uuid.uuid4()}").touch()
        Path(table.location, "snapshot", "snapshot-4").unlink()

    commit(replace(table, file_io=After(table.file_io, "snapshot-5", expire)), planned(table))
    assert table.snapshots.ids() == [1, 2, 3, 5]


def test_no_tag_of_a_snapshot_whose_id_another_one_has(tmp_path: Path) -> None:
    """It is read, then a rollback takes it away, and a writer has its id: a tag would keep a state of its own line."""
    grown = life(tmp_path)
    for number in itertools.count():
        table = copied(grown, tmp_path / str(number))

        def rival(table: Table = table) -> None:
            rollback(table, 2)
            write(table, [NEW])

        io = InterleavedStore(table.file_io, number, rival)
        with contextlib.suppress(SnapshotNotFound):
            create_tag(replace(table, file_io=io), "t", 3)
        assert all(tag.snapshot == table.snapshots.load(3) for tag in table.snapshots.tags().values())
        check_table(table.location)
        if io.count < number:
            return


def test_a_job_that_does_not_rest_is_reported(tmp_path: Path) -> None:
    """One that does not look at its base commits again whenever its snapshot is taken away."""
    table = life(tmp_path)
    late = Path(table.location, "snapshot", "snapshot-4")
    data = late.read_bytes()

    class Restless(FaultyFileIO):
        def delete(self, path: str) -> None:
            super().delete(path)
            if path.endswith(late.name):
                late.write_bytes(data)

    with pytest.raises(CommitConflict, match="let the jobs rest"):
        rollback(replace(table, file_io=Restless(table.file_io)), 2)
    rollback(table, 2)
    assert (table.snapshots.ids(), rows_of(table)) == ([1, 2], [(1, 1), (2, 2)])


def test_what_cannot_be_taken_back_is_reported(tmp_path: Path) -> None:
    table = life(tmp_path)

    class Ends(FaultyFileIO):
        def delete(self, path: str) -> None:
            raise OSError("storage is away")

        def create_if_absent(self, path: str, data: bytes) -> bool:
            rollback(table, 2)
            return super().create_if_absent(path, data)

    with pytest.raises(CommitStateUnknown, match=r"snapshot 5 on top of .* Roll the table back again, then run"):
        commit(replace(table, file_io=Ends(table.file_io)), planned(table))
    rollback(table, 2)
    assert (table.snapshots.ids(), rows_of(table)) == ([1, 2], [(1, 1), (2, 2)])


def test_files_that_went_with_the_rollback_cannot_be_replaced(tmp_path: Path) -> None:
    """A compaction of files that are gone is a conflict; its own files stay, for somebody may have tagged them."""
    table = life(tmp_path)
    state = table.scan().plan().splits
    files = [file for split in state for file in split.files]
    user, messages, since = planned(table)
    new = messages[0].new_files
    message = replace(messages[0], new_files=(), compact_before=tuple(files), compact_after=new)
    with pytest.raises(CommitStateUnknown, match="no longer live") as caught:
        commit(with_rivals(table, lambda: rollback(table, 2)), (user, [message], since))
    assert isinstance(caught.value.__cause__, CommitConflict)
    assert rows_of(table) == [(1, 1), (2, 2)]


def test_abort_after_a_rollback_spares_what_was_committed(tmp_path: Path) -> None:
    """The commit has an id that is lower than the one it was planned on."""
    table = life(tmp_path)
    user, messages, since = planned(table)
    rollback(table, 1)
    work = TableCommit(table, user, since)
    work.append(messages)
    for number in (12, 13, 14):
        write(table, [(number, number)])
    TableCommit(table, user, since).abort(messages)
    assert NEW in rows_of(table)


@pytest.mark.parametrize("writer_first", [True, False])
def test_every_order_of_operations(tmp_path: Path, writer_first: bool) -> None:
    """One goes up to any of its operations, the other up to any of its own, then the one ends, then the other."""
    whole = life(tmp_path)
    job = planned(whole)
    writes = operations(LocalFileIO(), lambda io: commit(replace(copied(whole, tmp_path / "a"), file_io=io), job))
    steps = operations(LocalFileIO(), lambda io: rollback(replace(copied(whole, tmp_path / "b"), file_io=io), 2))
    seen = set()
    for i in range(len(writes) + 1):
        for j in range(len(steps) + 1):
            table = copied(whole, tmp_path / "t" / f"{i}-{j}")
            writer = (lambda io, table=table: commit(replace(table, file_io=io), job)), i
            back = (lambda io, table=table: rollback(replace(table, file_io=io), 2)), j
            errors = in_turns(table.file_io, *((writer, back) if writer_first else (back, writer)))
            assert errors == [None, None], (i, j)
            rows = rows_of(table)
            assert rows in ([(1, 1), (2, 2)], [(1, 1), (2, 2), NEW]), (i, j)
            assert table.snapshots.ids() == list(range(1, 1 + len(rows))), (i, j)
            if writer_first and j == len(steps):  # only who was sure of his base before the rollback loses his rows
                looked = writes.index("!create") + 3  # for the table, for the base, then for LATEST
                assert (NEW in rows) == (i <= looked), (i, j)
            seen.add(len(rows))
            shutil.rmtree(table.location)
    assert seen == {2, 3}


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_a_writer_that_is_killed(tmp_path: Path, when: When) -> None:
    """Whatever it leaves, the table reads, and a rollback again takes away what it may have brought back."""
    whole = life(tmp_path)
    job = planned(whole)
    names = operations(LocalFileIO(), lambda io: commit(replace(copied(whole, tmp_path / "log"), file_io=io), job))
    for at, name in enumerate(names):
        if not name.startswith("!"):
            continue
        table = copied(whole, tmp_path / f"{at}")
        faulty = FaultyFileIO(table.file_io, at, when, act=kill)

        def act(table: Table = table, faulty: FaultyFileIO = faulty) -> None:
            commit(replace(table, file_io=Between(faulty, [lambda: rollback(table, 2)])), job)

        assert is_killed(act)
        assert (1, 1) in rows_of(table)
        rollback(table, 2)
        assert (table.snapshots.ids(), rows_of(table)) == ([1, 2], [(1, 1), (2, 2)])
        check_table(table.location)


def test_on_an_object_store() -> None:
    """There a snapshot is published by a conditional put, and what was deleted is gone for the next reader."""
    with s3_server("lake") as storage:
        location = "s3://lake/t"
        schema = new_schema(COLUMNS, (), (), {"bucket": "-1", "write-only": "true"})
        create_table(location, schema, file_io_for(location, storage), ignore_if_exists=False)
        table = open_table(location, storage)
        for number in range(1, 5):
            commit(table, planned(table, (number, number)))
        commit(replace(table, file_io=Between(table.file_io, [lambda: rollback(table, 2)])), planned(table))
        rows = open_table(location, storage).scan().to_arrow().to_pylist()
        assert sorted(tuple(row.values()) for row in rows) == [(1, 1), (2, 2), NEW]
        assert table.snapshots.ids() == [1, 2, 3]
        check_table(location, storage)


def cross_partition(path: Path) -> Table:
    """A table whose key does not hold its partition column, with three commits."""
    columns = pa.schema([pa.field("p", pa.int32(), nullable=False), pa.field("k", pa.int32(), nullable=False)])
    table = make(path / "x", columns, ["k"], {"bucket": "-1"}, ["p"])
    for number in range(3):
        put_key(table, number, number)
    return table


def put_key(table: Table, key: int, partition: int, base: tuple[int, str | None] | None = None) -> None:
    """One commit, planned now or on the snapshot of that id and base manifest list."""
    plan = plan_write(table)
    user = str(uuid.uuid4())
    task = TableWrite(table, user, 0, plan)
    batch = pa.record_batch([pa.array([partition], pa.int32()), pa.array([key], pa.int32())], ["p", "k"])
    task.write(batch.cast(arrow_schema(table.schema.fields)), buckets=np.zeros(1, np.int32))
    since, name = base or (plan.since, plan.base)
    TableCommit(table, user, since, name).append(task.finish())


def test_keys_that_were_looked_up_in_a_state_that_is_gone(tmp_path: Path) -> None:
    """The job has found no place for its key, and takes one; after the rollback somebody else has taken another."""
    table = cross_partition(tmp_path)
    old = plan_write(table)
    rollback(table, 1)
    with pytest.raises(CommitConflict, match="was planned on snapshot 3, which a rollback has taken away"):
        put_key(table, 9, 9, (old.since, old.base))
    put_key(table, 9, 5)
    put_key(table, 8, 8)
    assert table.snapshots.latest_id() == old.since
    with pytest.raises(CommitConflict, match="was planned on snapshot 3, which a rollback has taken away"):
        put_key(table, 9, 9, (old.since, old.base))
    put_key(table, 7, 7)
    assert rows_of(table) == [(0, 0), (5, 9), (7, 7), (8, 8)]


def test_a_writer_that_publishes_after_a_fast_forward(tmp_path: Path) -> None:
    table = life(tmp_path)
    create_branch(table, "b", snapshot=2)
    branch = open_table(table.location, {"branch": "b"})
    for number in (13, 14):
        commit(branch, planned(branch, (number, number)))
    commit(with_rivals(table, lambda: fast_forward(table, "b")), planned(table))
    assert rows_of(table) == [(1, 1), (13, 13), (14, 14), (2, 2), NEW]
    assert table.snapshots.ids() == [1, 2, 3, 4, 5]
    check_table(table.location)
