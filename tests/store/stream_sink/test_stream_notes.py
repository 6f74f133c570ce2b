"""The notes of streams: what they outlive, where they lie, and when they go."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from support.tables.staging import put
from support.tables.stream_batches import QUERY, commits, rows_of, run_batch, tasks, writer

from paimon_spark.errors import CommitStateUnknown, CorruptFile, OptionError, StaleBatch
from paimon_spark.store.checks.table import check
from paimon_spark.store.clean.orphans import remove_orphan_files
from paimon_spark.store.clean.purge import purge_files
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.expire.snapshots import expire_snapshots
from paimon_spark.store.expire.undecided_batches import write_down_batches
from paimon_spark.store.history.branches import create_branch, delete_branch, rename_branch
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.stream_notes.notes import BatchSearch, find_note, find_search, store_note
from paimon_spark.store.stream_sink.batch import Batch, UnknownBatch
from paimon_spark.store.stream_sink.once import begin_batch
from paimon_spark.store.stream_sink.written import Written, find_written
from paimon_spark.tables.open import open_table

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
    assert find_written(table, Batch(USER, 2, unknown=UnknownBatch.SKIP)) == Written(None)
    assert find_written(table, Batch(USER, 2, unknown=UnknownBatch.WRITE)) is None
    store_note(table, USER, replace(note, batch=2, is_done=False, since=9, base="another"))
    assert find_written(table, Batch(USER, 2)) is None, "snapshots are there that are older than the note"


def cut_off_before_publication(path: Path) -> None:
    """As if the driver had died after it noted batch 2, and before it published it."""
    table = table_of(path)
    begin_batch(table, Batch(USER, 2, rows=1))


def others_write_and_expire(path: Path, keys: Iterable[int] = range(100, 104)) -> None:
    """Snapshots of others; all before the last one expire, as when a stream is down for long."""
    for key in keys:
        put(table_of(path), [(key, "x", 0)])
    assert expire_snapshots(table_of(path), retain_max=1, retain_min=1).ids


def search_file(path: Path) -> Path:
    return path / "stream-sink" / f"{USER}.search"


def test_a_batch_that_was_cut_off_is_known_after_its_snapshot_has_expired(path: Path) -> None:
    forget_the_end(path, 1)
    others_write_and_expire(path)
    others_write_and_expire(path, [104, 105])  # does not forget it
    run_batch(path, "append", 1, [(1, "x", 1)])
    run_batch(path, "append", 2, [(2, "x", 2)])
    assert [row[0] for row in rows_of(path)] == [0, 1, 2, *range(100, 106)]
    others_write_and_expire(path, [106])
    assert not search_file(path).exists(), "nobody needs it once the next batch is noted"


def test_a_clock_that_went_back_between_note_and_commit(path: Path) -> None:
    """The snapshots that are left seem to be older than the note, though the batch has expired."""
    forget_the_end(path, 1)
    table = table_of(path)
    note = find_note(table, USER)
    assert note is not None
    store_note(table, USER, replace(note, began_millis=note.began_millis + 3_600_000))
    others_write_and_expire(path)
    run_batch(path, "append", 1, [(1, "x", 1)])
    assert [row[0] for row in rows_of(path)] == [0, 1, *range(100, 104)]


def test_a_batch_that_was_not_published_is_written_after_the_snapshots_since_its_note_have_expired(path: Path) -> None:
    cut_off_before_publication(path)
    others_write_and_expire(path)
    others_write_and_expire(path, [104, 105])
    run_batch(path, "append", 2, [(2, "x", 2)])
    assert [row[0] for row in rows_of(path)] == [0, 1, 2, *range(100, 106)]


def test_a_batch_that_was_published_late_is_found_by_a_later_expiry(path: Path) -> None:
    cut_off_before_publication(path)
    others_write_and_expire(path)
    (late,) = tasks(writer(path, "append"), 2, [(2, "x", 2)])
    TableCommit(table_of(path), USER, late.since).append(late.messages, identifier=2)
    others_write_and_expire(path, [104])
    run_batch(path, "append", 2, [(2, "x", 2)])
    assert [row[0] for row in rows_of(path)] == [0, 1, 2, *range(100, 105)]


def test_an_expiry_of_another_system_leaves_the_batch_unknown(path: Path) -> None:
    cut_off_before_publication(path)
    others_write_and_expire(path)
    for number in (104, 105):
        put(table_of(path), [(number, "x", 0)])
    latest = table_of(path).snapshots.latest()
    assert latest is not None
    for number in range(1, latest.id):
        (path / "snapshot" / f"snapshot-{number}").unlink(missing_ok=True)
    (path / "snapshot" / "EARLIEST").write_text(str(latest.id))
    with pytest.raises(CommitStateUnknown, match="unknown-batch"):
        run_batch(path, "append", 2, [(2, "x", 2)])


def test_an_expiry_that_misses_snapshots_says_nothing(path: Path) -> None:
    """Another system may be deleting the snapshots that this expiry wants to look at."""
    cut_off_before_publication(path)
    for key in range(100, 104):
        put(table_of(path), [(key, "x", 0)])
    table = table_of(path)
    note = find_note(table, USER)
    assert note is not None
    snapshots = list(table.snapshots.walk(range(1, 6)))
    write_down_batches(table, [s for s in snapshots if s.id != 4], 6)
    assert find_search(table, USER, note) is None
    write_down_batches(table, snapshots[3:], 6)  # begins after the note
    assert find_search(table, USER, note) is None
    write_down_batches(table, snapshots, 6)
    assert find_search(table, USER, note) == BatchSearch(2, note.began_millis, 6)


def test_the_search_for_another_try_says_nothing(path: Path) -> None:
    forget_the_end(path, 1)
    others_write_and_expire(path)
    note = find_note(table_of(path), USER)
    assert note is not None
    assert find_search(table_of(path), USER, note) == BatchSearch(1, note.began_millis, 6, 2)
    for other in (replace(note, batch=2), replace(note, began_millis=7), replace(note, is_done=True)):
        assert find_search(table_of(path), USER, other) is None


def test_a_damaged_search_stops_the_stream(path: Path) -> None:
    forget_the_end(path, 1)
    others_write_and_expire(path)
    search_file(path).write_text("{")
    with pytest.raises(CorruptFile, match="search"):
        run_batch(path, "append", 1, [(1, "x", 1)])


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
    search_file(path).write_text("{}")
    purge_files(table_of(path))
    assert not list((path / "stream-sink").glob("[!.]*"))


def test_a_damaged_note_stops_the_stream(path: Path) -> None:
    note_file(path).write_text("{")
    with pytest.raises(CorruptFile, match="stream-sink"):
        run_batch(path, "append", 2, [(2, "x", 2)])
    assert [row[0] for row in rows_of(path)] == [0, 1]


@pytest.mark.parametrize("number", [-1, 2**63 - 1])
def test_numbers_that_no_batch_has(number: int) -> None:
    with pytest.raises(OptionError, match="no number of a batch"):
        Batch("me", number)


def test_a_name_that_is_too_long_for_a_file(path: Path) -> None:
    for name in ("x" * 201, "é" * 101):
        with pytest.raises(OptionError, match=r"has 20[12] bytes; it may have 200"):
            Batch(name, 1)
    run_batch(path, "append", 7, [(7, "x", 7)], query="q" * 194)
    assert [row[0] for row in rows_of(path)] == [0, 1, 7]


def test_what_an_older_or_other_batch_under_a_name_is_told(path: Path) -> None:
    """The fixture has written the batches 0 and 1."""
    table, mine = table_of(path), Batch(USER, 1, rows=1)
    note = find_note(table, USER)
    assert note is not None
    assert find_written(table, replace(mine, number=0, skips_older=True)) is not None
    with pytest.raises(StaleBatch, match="the table has number 1 already"):
        find_written(table, replace(mine, number=0))
    with pytest.raises(StaleBatch, match=r"is OVERWRITE, but APPEND has been done under this name"):
        find_written(table, replace(mine, operation="OVERWRITE"))
    with pytest.raises(StaleBatch, match=r"so this is an old version.* once=\(application, version\)"):
        find_written(table, replace(mine, number=0, named=True))
    cut = replace(note, cut_millis=1000)
    store_note(table, USER, cut)
    assert find_written(table, replace(mine, cut_millis=1000, rows=77)) is not None
    with pytest.raises(StaleBatch):
        find_written(table, replace(mine, cut_millis=1001))
    assert find_written(table, replace(mine, cut_millis=1001, unknown=UnknownBatch.SKIP)) is not None


def test_a_batch_of_other_rows_under_the_same_number_is_refused(path: Path) -> None:
    """Where nobody has noted when rows were cut, their number tells."""
    table = table_of(path)
    note = find_note(table, USER)
    assert note is not None
    mine = Batch(USER, note.batch, rows=note.rows)
    assert find_written(table, mine) is not None
    other = replace(mine, rows=(note.rows or 0) + 1)
    with pytest.raises(StaleBatch, match="with other rows or cut at another time"):
        find_written(table, other)
    assert find_written(table, replace(other, unknown=UnknownBatch.SKIP)) is not None
