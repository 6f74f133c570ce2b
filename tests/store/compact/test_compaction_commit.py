"""Committing compactions: buckets whose files are gone are left out, the others are committed, leftovers deleted."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.faults.faulty_store import FaultyFileIO, InjectedFault, When
from support.tables.commit_states import delta, latest, live, with_rivals
from support.tables.files_by_hand import added, file, keyed_table, make, partition, plain_table

from paimon_spark.errors import CommitStateUnknown, RetriesExhausted
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.snapshot import CommitKind
from paimon_spark.store.commit.commit_loop import commit_retries
from paimon_spark.store.commit.commit_user import new_user
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.compact.commit import CompactedBuckets, commit_compaction, persistent_retries
from paimon_spark.store.compact.live_buckets import place_of
from paimon_spark.store.compact.task import CompactTaskResult
from paimon_spark.store.metadata.file_paths import bucket_directory
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table

X, Y = partition("x"), partition("y")
A, B = file("a", keys=(1, 5)), file("b", keys=(3, 9))
AB = file("ab", 15, level=5, keys=(1, 9))


def table_with_vectors(path: Path) -> Table:
    return make(path, ("part", "id"), ("part",), {"bucket": "2", "deletion-vectors.enabled": "true"})


def append(table: Table, *files: DataFileMeta, part: bytes = X, bucket: int = 0) -> None:
    TableCommit(table, str(uuid.uuid4())).append([added(*files, part=part, bucket=bucket, total=2)])


def compact_by_another(table: Table, before: Sequence[DataFileMeta], after: Sequence[DataFileMeta]) -> None:
    message = CommitMessage(X, 0, 2, compact_before=tuple(before), compact_after=tuple(after))
    TableCommit(table, str(uuid.uuid4())).append([message])


def result(
    table: Table, before: Sequence[DataFileMeta], after: Sequence[DataFileMeta], part: bytes = X, bucket: int = 0
) -> CompactTaskResult:
    """What a task hands back; the files that it wrote are there."""
    moved = {f.file_name for f in before}
    directory = bucket_directory(table, part, bucket)
    created = tuple(f"{directory}/{f.file_name}" for f in after if f.file_name not in moved)
    for path in created:
        table.file_io.write_bytes(path, b"rows")
    return CompactTaskResult(part, bucket, 2, tuple(before), tuple(after), created=created)


def commit(table: Table, base: int, *results: CompactTaskResult, **more: object) -> CompactedBuckets:
    return commit_compaction(table, table.snapshots.load(base), {}, results, **more)  # type: ignore[arg-type]


def data_files(table: Table) -> set[str]:
    return {path.name for path in Path(table.location).glob("**/bucket-*/*")}


def test_one_snapshot_for_all_buckets(tmp_path: Path) -> None:
    table = keyed_table(tmp_path)
    append(table, A, B)
    append(table, A, bucket=1, part=Y)
    up = A._replace(level=5)
    made = commit(table, 2, result(table, [A, B], [AB]), result(table, [A], [up], Y, 1))
    assert (made.snapshot_id, made.dropped) == (3, {})
    assert [(m.partition, m.bucket) for m in made.messages] == [(X, 0), (Y, 1)]
    snapshot = latest(table)
    assert (snapshot.commit_kind, snapshot.operation) == (CommitKind.COMPACT, None)
    assert (snapshot.delta_record_count, snapshot.total_record_count) == (-5, 25)
    assert delta(table) == [("DELETE", "a"), ("DELETE", "b"), ("DELETE", "a"), ("ADD", "ab"), ("ADD", "a")]
    assert live(table) == {"ab", "a"}


def test_the_results_of_one_bucket_become_one(tmp_path: Path) -> None:
    """Parts of a bucket that was cut: all or none."""
    table = keyed_table(tmp_path)
    one, other = file("one", keys=(1, 2)), file("other", keys=(7, 8))
    append(table, one, other)
    up = one._replace(level=5), other._replace(level=5)
    made = commit(table, 1, result(table, [one], up[:1]), result(table, [other], up[1:]))
    assert len(made.messages) == 1
    assert made.messages[0].compact_after == up
    compact_by_another(table, up[:1], [file("again", level=5, keys=(1, 2))])
    halves = result(table, up[:1], [file("x", level=5, keys=(1, 2))]), result(table, up[1:], [file("y", level=5)])
    assert set(commit(table, 2, *halves).dropped) == {(X, 0)}
    assert live(table) == {"again", "other"}
    assert data_files(table) == set()


def test_a_bucket_whose_files_are_gone_is_left_out(tmp_path: Path) -> None:
    table = keyed_table(tmp_path)
    append(table, A, B)
    append(table, A, bucket=1)
    rows = result(table, [A, B], [AB]), result(table, [A], [file("mine", level=5, keys=(1, 5))], bucket=1)
    compact_by_another(table, [A, B], [file("theirs", level=5, keys=(1, 9))])
    made = commit(table, 2, *rows)
    assert list(made.dropped) == [(X, 0)]
    assert made.dropped[X, 0].startswith("2 of the files it replaces are no longer live: another job has compacted")
    assert made.snapshot_id == 4
    assert live(table) == {"theirs", "mine"}
    assert data_files(table) == {"mine"}, "the files of the bucket that was left out are deleted"


def test_no_snapshot_when_every_bucket_is_left_out(tmp_path: Path) -> None:
    table = keyed_table(tmp_path)
    append(table, A, B)
    compact_by_another(table, [A, B], [file("theirs", level=5, keys=(1, 9))])
    made = commit(table, 1, result(table, [A, B], [AB]))
    assert (made.snapshot_id, made.messages, list(made.dropped)) == (None, (), [(X, 0)])
    assert latest(table).id == 2
    assert data_files(table) == set()


def test_a_rival_at_the_last_moment(tmp_path: Path) -> None:
    """The state is looked at anew in every attempt: what was chosen in the first may be left out in the second."""
    table = keyed_table(tmp_path)
    append(table, A, B)
    append(table, A, bucket=1)
    rows = result(table, [A, B], [AB]), result(table, [A], [file("mine", level=5, keys=(1, 5))], bucket=1)
    late = with_rivals(table, lambda: compact_by_another(table, [A], [A._replace(level=4)]))
    made = commit(late, 2, *rows)
    assert (made.snapshot_id, list(made.dropped)) == (4, [(X, 0)])
    assert live(table) == {"a", "b", "mine"}
    assert data_files(table) == {"mine"}


def test_new_rows_do_not_disturb(tmp_path: Path) -> None:
    table = keyed_table(tmp_path)
    append(table, A, B)
    late = with_rivals(table, lambda: append(table, file("new", keys=(1, 9))))
    assert commit(late, 1, result(table, [A, B], [AB])).dropped == {}
    assert live(table) == {"ab", "new"}


def test_keys_that_would_overlap_on_a_level(tmp_path: Path) -> None:
    """Another job put files on the level between: the bucket is left out, the commit does not fail."""
    table = keyed_table(tmp_path)
    append(table, A, B)
    rows = result(table, [A], [A._replace(level=5)])
    compact_by_another(table, [B], [B._replace(level=5)])
    assert "overlap" in commit(table, 1, rows).dropped[X, 0]
    assert live(table) == {"a", "b"}


def test_levels_that_were_looked_up_must_be_the_same(tmp_path: Path) -> None:
    """Whoever looks keys up above level 0 has not seen the files that came there meanwhile."""
    table = keyed_table(tmp_path)
    far = file("far", keys=(50, 60))
    append(table, A, far)
    base, upper = latest(table), {place_of(table, X, 0): frozenset[tuple[str, int]]()}
    compact_by_another(table, [far], [far._replace(level=5)])
    made = commit_compaction(table, base, upper, [result(table, [A], [A._replace(level=4)])])
    assert made.dropped == {(X, 0): "another job has compacted the bucket meanwhile"}
    upper = {place_of(table, X, 0): frozenset({("far", 5)})}
    made = commit_compaction(table, latest(table), upper, [result(table, [A], [A._replace(level=4)])])
    assert made.dropped == {}


def test_results_that_change_nothing(tmp_path: Path) -> None:
    table = keyed_table(tmp_path)
    append(table, A)
    assert commit(table, 1, CompactTaskResult(X, 0, 2, (), ())).snapshot_id is None
    assert commit(table, 1).snapshot_id is None
    assert latest(table).id == 1


def test_parts_of_an_append_table_stand_for_themselves(tmp_path: Path) -> None:
    table = plain_table(tmp_path)
    files = [file(name) for name in "abcd"]
    TableCommit(table, "writer").append([added(*files)])
    none = files[0].min_key
    parts = [CompactTaskResult(none, 0, -1, tuple(files[i : i + 2]), (file(f"new{i}", 20),)) for i in (0, 2)]
    rival = CommitMessage(none, 0, -1, compact_before=(files[0],), compact_after=(file("theirs"),))
    TableCommit(table, "rival").append([rival])
    made = commit(table, 1, *parts)
    assert len(made.messages) == 1
    assert list(made.dropped) == [(none, 0)]
    assert live(table) == {"b", "theirs", "new2"}


@pytest.mark.parametrize("when", list(When))
def test_no_answer_deletes_nothing(tmp_path: Path, when: When) -> None:
    whole = keyed_table(tmp_path)
    append(whole, A, B)
    rows = result(whole, [A, B], [AB])
    store = FaultyFileIO(LocalFileIO(), 0, when, lasting=True, named="!create")
    with pytest.raises(CommitStateUnknown):
        commit(replace(whole, file_io=store), 1, rows, user="me")
    assert "!delete" not in store.log
    assert data_files(whole) == {"ab"}
    again = commit(whole, 1, rows, user="me")
    assert again.snapshot_id == 2
    assert live(whole) == {"ab"}
    assert data_files(whole) == {"ab"}


def test_a_failure_for_certain_deletes_the_files(tmp_path: Path) -> None:
    whole = keyed_table(tmp_path)
    append(whole, A, B)
    store = FaultyFileIO(LocalFileIO(), 1, When.HALF, named="!write")
    with pytest.raises(InjectedFault):
        commit(replace(whole, file_io=store), 1, result(whole, [A, B], [AB]))
    assert live(whole) == {"a", "b"}
    assert data_files(whole) == set()


def test_files_stay_when_nobody_can_tell(tmp_path: Path) -> None:
    """The store goes away before the publication: it cannot be asked whether the commit is there, so nothing goes."""
    whole = keyed_table(tmp_path)
    append(whole, A, B)
    store = FaultyFileIO(LocalFileIO(), 1, When.BEFORE, lasting=True, named="!write")
    with pytest.raises(InjectedFault):
        commit(replace(whole, file_io=store), 1, result(whole, [A, B], [AB]))
    assert data_files(whole) == {"ab"}


def test_races_lost_too_often(tmp_path: Path) -> None:
    table = make(tmp_path, ("part", "id"), ("part",), {"bucket": "2", "commit.max-retries": "1"})
    append(table, A, B)
    late = with_rivals(table, *(lambda n=n: append(table, file(f"n{n}", keys=(n, n))) for n in range(3)))
    with pytest.raises(RetriesExhausted):
        commit(late, 1, result(table, [A, B], [AB]))
    assert live(table) == {"a", "b", "n0", "n1"}
    assert data_files(table) == set()


def test_moved_files_are_never_deleted(tmp_path: Path) -> None:
    """A file that only changes its level belongs to the table, whatever becomes of the commit."""
    whole = keyed_table(tmp_path)
    append(whole, A)
    path = f"{bucket_directory(whole, X, 0)}/a"
    whole.file_io.write_bytes(path, b"rows")
    message = CommitMessage(X, 0, 2, compact_before=(A,), compact_after=(A._replace(level=5),))
    TableCommit(whole, "me").abort([message])
    store = FaultyFileIO(LocalFileIO(), 1, When.BEFORE, named="!write")
    with pytest.raises(InjectedFault):
        commit(replace(whole, file_io=store), 1, result(whole, [A], [A._replace(level=5)]))
    compact_by_another(whole, [A], [A._replace(level=4)])
    assert commit(whole, 1, result(whole, [A], [A._replace(level=5)])).snapshot_id is None
    assert whole.file_io.exists(path)


def test_positions_of_several_parts_are_merged(tmp_path: Path) -> None:
    table = table_with_vectors(tmp_path)
    append(table, A._replace(level=5), B)
    append(table, file("c", keys=(100, 100)))

    def part(*positions: int) -> CompactTaskResult:
        found = np.array(positions, "<i8").tobytes()
        return CompactTaskResult(X, 0, 2, (), (), superseded={"a": found})

    moved = result(table, [B], [B._replace(level=4)])
    made = commit(table, 2, part(7, 1), moved, part(1, 3))
    (entry,) = made.messages[0].compact_index_entries
    assert [(r.data_file, r.cardinality) for r in entry.deletion_ranges or ()] == [("a", 3)]
    assert latest(table).index_manifest is not None


def test_vectors_that_changed_concurrently(tmp_path: Path) -> None:
    """The rows that another job deleted in the files we replace would come back."""
    table = table_with_vectors(tmp_path)
    append(table, A._replace(level=5), B)
    theirs = CompactTaskResult(X, 0, 2, (B,), (B._replace(level=4),), superseded={"a": np.array([2], "<i8").tobytes()})
    mine = result(table, [A._replace(level=5)], [file("mine", level=5, keys=(1, 5))])
    assert commit(table, 1, theirs).dropped == {}
    assert "deletion vectors" in commit(table, 1, mine).dropped[X, 0]
    assert live(table) == {"a", "b"}
    assert data_files(table) == set()
    index = {path.name for path in (tmp_path / "index").glob("*")}
    assert len(index) == 1, "no index file is left behind"


def test_users_get_the_prefix_of_the_table(tmp_path: Path) -> None:
    table = make(tmp_path / "t", ("part", "id"), ("part",), {"bucket": "2", "commit.user-prefix": "nightly"})
    append(table, A)
    commit(table, 1, result(table, [A], [A._replace(level=5)]))
    assert latest(table).commit_user.startswith("nightly_")
    assert new_user(keyed_table(tmp_path / "other")).count("_") == 0


def test_a_compaction_tries_more_often_than_a_writer_unless_the_options_say_how_often() -> None:
    rules = persistent_retries(TableSettings())
    assert (rules.tries, rules.longest) == (101, 0.3)
    assert rules.tries > commit_retries(TableSettings()).tries
    given = TableSettings({"commit.max-retries": "3", "commit.max-retry-wait": "2 s"})
    assert persistent_retries(given) == commit_retries(given)
    assert (commit_retries(given).tries, commit_retries(given).longest) == (4, 2.0)
