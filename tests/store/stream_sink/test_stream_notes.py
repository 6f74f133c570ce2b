"""The notes of streams: what they outlive, where they lie, and when they go."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from support.tables.staging import put
from support.tables.stream_batches import QUERY, commits, rows_of, run_batch

from paimon_spark.errors import CommitStateUnknown, CorruptFile, OptionError, StaleBatch
from paimon_spark.store.checks.table import check
from paimon_spark.store.clean.orphans import remove_orphan_files
from paimon_spark.store.clean.purge import purge_files
from paimon_spark.store.history.branches import create_branch, delete_branch, rename_branch
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.open import open_table
from paimon_spark.store.stream_sink.batch import Batch
from paimon_spark.store.stream_sink.note_file import find_note, store_note
from paimon_spark.store.stream_sink.written import find_written

USER = f"spark-{QUERY}"
YEAR = 366 * 24 * 3600


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "t"
    for number in range(2):
        run_batch(found, "append", number, [(number, "x", number)])
    return found


def table_of(path: Path) -> Table:
    return open_table(str(path))


def note_file(path: Path) -> Path:
    return path / "stream-sink" / f"{USER}.json"


def forget_the_end(path: Path, since: int) -> None:
    """As if the driver had died after the publication of the last batch."""
    table = table_of(path)
    note, base = find_note(table, USER), table.snapshots.find(since)
    assert note is not None
    assert base is not None
    store_note(table, USER, replace(note, is_done=False, snapshot=None, since=since, base=base.base_manifest_list))


def test_a_batch_that_was_noted_is_not_written_again_after_a_rollback(path: Path) -> None:
    rollback(table_of(path), 1)
    run_batch(path, "append", 1, [(1, "x", 1)])
    assert rows_of(path) == [(0, "x", 0)], "it was written; whoever rolled back wanted it out"
    run_batch(path, "append", 2, [(2, "x", 2)])
    assert [row[0] for row in rows_of(path)] == [0, 2]


def test_a_batch_that_was_cut_off_is_written_again_after_a_rollback(path: Path) -> None:
    forget_the_end(path, 1)
    rollback(table_of(path), 1)
    run_batch(path, "append", 1, [(1, "x", 1)])
    assert [row[0] for row in rows_of(path)] == [0, 1]


def test_a_batch_that_was_cut_off_is_found(path: Path) -> None:
    forget_the_end(path, 1)
    for number in range(40):
        put(table_of(path), [(100 + number, "x", 0)])
    run_batch(path, "append", 1, [(1, "x", 1)])
    assert commits(path) == [(0, "APPEND"), (1, "APPEND")]


def test_ids_that_are_used_again_say_nothing(path: Path) -> None:
    """A rollback, new commits, and an expiry that may have taken the batch: nobody can tell."""
    table = table_of(path)
    note = find_note(table, USER)
    assert note is not None
    store_note(table, USER, replace(note, batch=2, is_done=False, since=9, base="another", began_millis=0))
    with pytest.raises(CommitStateUnknown):
        find_written(table, Batch(USER, 2))
    store_note(table, USER, replace(note, batch=2, is_done=False, since=9, base="another"))
    assert find_written(table, Batch(USER, 2)) is None, "snapshots are there that are older than the note"


def test_other_rows_under_a_number_are_refused(path: Path) -> None:
    with pytest.raises(StaleBatch, match="with other rows"):
        run_batch(path, "append", 1, [(1, "x", 1), (2, "x", 2)])
    with pytest.raises(StaleBatch, match=r"older than the table.*newest checkpoint"):
        run_batch(path, "append", 0, [(0, "x", 0)])
    run_batch(path, "append", 0, [(7, "x", 7)], **{"write.stream.commit-user": "anew"})
    assert [row[0] for row in rows_of(path)] == [0, 1, 7]


def test_branches_have_their_own(path: Path) -> None:
    table = table_of(path)
    create_branch(table, "b")
    assert find_note(open_table(str(path), {"branch": "b"}), USER) is None
    run_batch(path, "append", 0, [(8, "x", 8)], branch="b")
    rename_branch(table, "b", "c")
    note = find_note(open_table(str(path), {"branch": "c"}), USER)
    assert note is not None
    assert note.batch == 0
    delete_branch(table, "c")
    assert not (path / "branch" / "branch-c").exists()
    assert note_file(path).exists()


def test_upkeep_knows_them(path: Path) -> None:
    (path / "stream-sink" / f".{USER}.json.00000000-0000-4000-8000-000000000000.tmp").write_bytes(b"{")
    old = path / "stream-sink" / "spark-old.json"
    old.write_text("{}")
    os.utime(old, (time.time() - YEAR, time.time() - YEAR))
    remove_orphan_files(table_of(path))
    assert old.exists()
    assert not check(table_of(path)).problems
    run_batch(path, "append", 0, [(3, "x", 3)], query="another")
    assert not old.exists(), "the first note of a stream is the time to remove old ones"
    purge_files(table_of(path))
    assert not list((path / "stream-sink").glob("*.json"))


def test_a_damaged_note_stops_the_stream(path: Path) -> None:
    note_file(path).write_text("{")
    with pytest.raises(CorruptFile, match="stream-sink"):
        run_batch(path, "append", 2, [(2, "x", 2)])
    assert [row[0] for row in rows_of(path)] == [0, 1]


@pytest.mark.parametrize("number", [-1, 2**63 - 1])
def test_numbers_that_no_batch_has(number: int) -> None:
    with pytest.raises(OptionError, match="no number of a batch"):
        Batch("me", number)
