"""How the commit of a batch ends: committed now, by another try, or with nothing to commit (protocol of `once`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.tables.staging import put
from support.tables.stream_batches import QUERY, rows_of, run_batch, tasks, writer

from paimon_spark.errors import StaleBatch, StorageError
from paimon_spark.store.commit.table_commit import CommitResult, TableCommit
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.stream_notes.notes import find_note
from paimon_spark.store.stream_sink.batch import Batch
from paimon_spark.store.stream_sink.once import begin_batch, commit_new, end_batch
from paimon_spark.store.upkeep.write_rules import Committed
from paimon_spark.tables.open import open_table

USER = f"spark-{QUERY}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A table with a batch 0."""
    run_batch(tmp_path / "t", "append", 0, [(0, "x", 0)])
    return tmp_path / "t"


def written(path: Path, number: int) -> list[CommitMessage]:
    """What a try of a batch has written."""
    return [m for task in tasks(writer(path, "append"), number, [(number, "x", number)]) for m in task.messages]


def files(path: Path) -> set[str]:
    return {found.name for found in path.rglob("data-*")}


def names(messages: Sequence[CommitMessage]) -> set[str]:
    return {file.file_name for message in messages for file in message.new_files}


class Finished:
    """Notes what a commit was finished with."""

    def __init__(self) -> None:
        self.calls: list[set[str]] = []

    def __call__(self, messages: Sequence[CommitMessage]) -> None:
        self.calls.append(names(messages))


def append(table: Table, batch: Batch, messages: Sequence[CommitMessage]) -> CommitResult | None:
    return TableCommit(table, batch.user).append(messages, batch.number)


def note(table: Table) -> tuple[int, bool, int | None]:
    found = find_note(table, USER)
    assert found is not None
    return found.batch, found.is_done, found.snapshot


def test_a_batch_is_committed_finished_and_noted(path: Path) -> None:
    table, batch, messages, finished = open_table(str(path)), Batch(USER, 1, rows=1), written(path, 1), Finished()
    done = commit_new(table, batch, messages, lambda: append(table, batch, messages), finished)
    assert (done.snapshot_id, done.result is not None) == (2, True)
    assert finished.calls == [names(messages)]
    assert note(table) == (1, True, 2)


def test_a_batch_with_nothing_to_commit(path: Path) -> None:
    table, finished = open_table(str(path)), Finished()
    assert commit_new(table, Batch(USER, 1, rows=0), [], lambda: None, finished) == Committed(None)
    assert finished.calls == []
    assert note(table) == (1, True, None)


def test_another_process_has_committed_and_finished_it(path: Path) -> None:
    table, messages, finished = open_table(str(path)), written(path, 1), Finished()
    run_batch(path, "append", 1, [(1, "x", 1)])
    before = files(path) - names(messages)
    done = commit_new(table, Batch(USER, 1, rows=1), messages, lambda: pytest.fail("it is committed"), finished)
    assert done == Committed(2)
    assert finished.calls == []
    assert files(path) == before, "the files of this try are deleted"


def test_another_try_was_faster(path: Path) -> None:
    """Its files are finished, and those of this try deleted; the rows are there once."""
    table, batch, finished = open_table(str(path)), Batch(USER, 1, rows=1), Finished()
    mine, others = written(path, 1), written(path, 1)

    def publish() -> CommitResult | None:
        append(table, batch, others)
        return append(table, batch, mine)

    assert commit_new(table, batch, mine, publish, finished).snapshot_id == 2
    assert finished.calls == [names(others)]
    assert files(path) & (names(mine) | names(others)) == names(others)
    assert rows_of(path) == [(0, "x", 0), (1, "x", 1)]
    assert note(table) == (1, True, 2)


def test_a_try_that_may_not_be_noted_leaves_no_file(path: Path) -> None:
    table, messages = open_table(str(path)), written(path, 1)
    run_batch(path, "append", 2, [(2, "x", 2)])
    with pytest.raises(StaleBatch):
        commit_new(table, Batch(USER, 1, rows=1), messages, lambda: pytest.fail("it is stale"), Finished())
    assert not files(path) & names(messages)


def test_a_commit_that_fails_is_begun_and_not_done(path: Path) -> None:
    table, batch = open_table(str(path)), Batch(USER, 1, rows=1)

    def publish() -> CommitResult | None:
        raise StorageError("the store is down")

    with pytest.raises(StorageError):
        commit_new(table, batch, [], publish, Finished())
    assert note(table) == (1, False, None)
    put(table, [(7, "x", 7)])
    begun = begin_batch(table, batch)
    assert (begun.since, begun.is_done) == (1, False), "its first try may have been published since snapshot 1"


def test_the_end_of_an_old_batch_does_not_hide_a_new_one(path: Path) -> None:
    table = open_table(str(path))
    run_batch(path, "append", 2, [(2, "x", 2)])
    end_batch(table, Batch(USER, 1, rows=1), 1)
    assert note(table) == (2, True, 2)
