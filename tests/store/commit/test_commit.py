"""Commits: what a snapshot says, once and only once, against concurrent writers (Java: FileStoreCommitImpl)."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from support.tables.commit_states import delta, latest, live, metadata_files, named_metadata, with_rivals
from support.tables.files_by_hand import added, file, keyed_table, partition, plain_table

from paimon_spark.errors import CommitConflict, RetriesExhausted
from paimon_spark.store.commit.history import CommitHistory
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table

X, Y = partition("x"), partition("y")


def test_the_first_snapshot(tmp_path: Path) -> None:
    table = plain_table(tmp_path)
    result = TableCommit(table, "me").append([added(file("a"), file("b", 5))], properties={"k": "v"}, watermark=7)
    assert result is not None
    assert (result.snapshot_id, result.attempts, result.rows, result.files, result.bytes) == (1, 1, 15, 2, 2015)
    stored = json.loads((tmp_path / "snapshot" / "snapshot-1").read_text())
    assert {k: stored[k] for k in stored if "anifest" not in k and k not in ("uuid", "timeMillis")} == {
        "version": 3,
        "id": 1,
        "schemaId": 0,
        "commitUser": "me",
        "commitIdentifier": 2**63 - 1,
        "commitKind": "APPEND",
        "totalRecordCount": 15,
        "deltaRecordCount": 15,
        "watermark": 7,
        "properties": {"k": "v"},
        "nextRowId": 0,
        "operation": "WRITE",
    }
    for name in ("base", "delta"):
        size = (tmp_path / "manifest" / stored[f"{name}ManifestList"]).stat().st_size
        assert stored[f"{name}ManifestListSize"] == size
    assert (tmp_path / "snapshot" / "LATEST").read_text() == "1"
    assert live(table) == {"a", "b"}


def test_totals_watermarks_and_row_ids_go_on(tmp_path: Path) -> None:
    table = plain_table(tmp_path)
    TableCommit(table, "a").append([added(file("a"))], watermark=9)
    TableCommit(table, "b").append([added(file("b", 3))], watermark=5)
    assert (latest(table).total_record_count, latest(table).delta_record_count) == (13, 3)
    assert latest(table).watermark == 9
    TableCommit(table, "c").append([added(file("c"))])
    assert (latest(table).watermark, latest(table).properties) == (9, None)
    path = tmp_path / "snapshot" / "snapshot-3"
    text = path.read_text().replace('"nextRowId" : 0', '"nextRowId" : 42')
    path.write_text(text.replace('"timeMillis" : ', '"timeMillis" : 9'))
    TableCommit(table, "d").append([added(file("d"))])
    assert latest(table).next_row_id == 42
    assert latest(table).time_millis >= table.snapshots.load(3).time_millis, "times never fall, whatever the clocks say"


def test_nothing_to_commit(tmp_path: Path) -> None:
    table = keyed_table(tmp_path)
    assert TableCommit(table, "a").append([]) is None
    assert TableCommit(table, "b").append([CommitMessage(X, 0, 2)]) is None
    assert TableCommit(table, "c").overwrite([], "dynamic") is None
    assert table.snapshots.latest() is None


def test_an_empty_commit_is_a_snapshot_where_the_table_wants_it(tmp_path: Path) -> None:
    table = keyed_table(tmp_path).with_options({"snapshot.ignore-empty-commit": "false"})
    TableCommit(table, "a").append([added(file("a"), part=X, total=2)])
    result = TableCommit(table, "b").append([])
    assert result is not None
    assert (result.snapshot_id, result.files) == (2, 0)
    assert (latest(table).commit_kind, latest(table).delta_record_count) == ("APPEND", 0)
    assert live(table) == {"a"}


def test_the_latest_schema_is_named(tmp_path: Path) -> None:
    table = plain_table(tmp_path)
    schema = json.loads((tmp_path / "schema" / "schema-0").read_text())
    (tmp_path / "schema" / "schema-1").write_text(json.dumps({**schema, "id": 1}))
    TableCommit(table, "a").append([added(file("a"))])
    assert latest(table).schema_id == 1


def test_statistics_are_inherited_while_the_schema_stays(tmp_path: Path) -> None:
    table = plain_table(tmp_path)
    TableCommit(table, "a").append([added(file("a"))])
    path = tmp_path / "snapshot" / "snapshot-1"
    path.write_text(json.dumps({**json.loads(path.read_text()), "statistics": "stat-1"}))
    (tmp_path / "statistics").mkdir()
    (tmp_path / "statistics" / "stat-1").write_text('{"snapshotId": 1, "schemaId": 0}')
    TableCommit(table, "b").append([added(file("b"))])
    assert latest(table).statistics == "stat-1"
    (tmp_path / "statistics" / "stat-1").write_text('{"snapshotId": 1, "schemaId": 5}')
    TableCommit(table, "c").append([added(file("c"))])
    assert latest(table).statistics is None


def test_appends_and_compaction_of_one_job_are_two_snapshots(tmp_path: Path) -> None:
    table = keyed_table(tmp_path)
    first = CommitMessage(X, 0, 2, new_files=(file("a", keys=(1, 5)), file("b", keys=(1, 5))))
    TableCommit(table, "1").append([first])
    message = CommitMessage(
        X,
        0,
        2,
        new_files=(file("c", keys=(2, 3)),),
        compact_before=first.new_files,
        compact_after=(file("d", 12, level=5, keys=(1, 5)),),
    )
    TableCommit(table, "2").append([message])
    kinds = [(s.commit_kind, s.delta_record_count, s.total_record_count) for s in map(table.snapshots.load, (2, 3))]
    assert kinds == [("APPEND", 10, 30), ("COMPACT", -8, 22)]
    assert live(table) == {"c", "d"}


def test_an_append_that_deletes_is_an_overwrite(tmp_path: Path) -> None:
    table = plain_table(tmp_path)
    TableCommit(table, "1").append([added(file("a"))])
    TableCommit(table, "2").append([CommitMessage(file("a").min_key, 0, -1, (file("b"),), (file("a"),))])
    assert (latest(table).commit_kind, live(table)) == ("OVERWRITE", {"b"})


# --- once and only once ---------------------------------------------------------------------------------------------


def test_the_same_commit_again_is_found(tmp_path: Path) -> None:
    table = plain_table(tmp_path)
    messages = [added(file("a"))]
    TableCommit(table, "me").append(messages)
    TableCommit(table, "other").append([added(file("b"))])
    again = TableCommit(table, "me").append(messages)
    assert again is not None
    assert (again.snapshot_id, again.attempts) == (1, 0)
    assert table.snapshots.latest_id() == 2


@pytest.mark.parametrize("others", [31, 32, 33, 40])
def test_the_same_commit_again_is_found_however_many_came_after_it(tmp_path: Path, others: int) -> None:
    table = plain_table(tmp_path)
    messages = [added(file("a"))]
    TableCommit(table, "me").append(messages)
    for number in range(others):
        TableCommit(table, f"other-{number}", since=number).append([added(file(f"b{number}"))])
    again = TableCommit(table, "me").append(messages)
    assert again is not None
    assert (again.snapshot_id, again.attempts) == (1, 0)
    assert table.snapshots.latest_id() == others + 1
    TableCommit(table, "me").abort(messages)
    assert "a" in live(table)


def test_another_identifier_is_another_commit(tmp_path: Path) -> None:
    table = plain_table(tmp_path)
    commit = TableCommit(table, "stream")
    for identifier in (1, 2, 2):
        commit.append([added(file(f"f{identifier}"))], identifier)
    assert [table.snapshots.load(i).commit_identifier for i in table.snapshots.ids()] == [1, 2]


def test_a_second_batch_under_one_name_is_refused(tmp_path: Path) -> None:
    """It would be taken for a retry of the first and be lost."""
    table = plain_table(tmp_path)
    commit = TableCommit(table, "me")
    commit.append([added(file("a"))])
    with pytest.raises(ValueError, match="draw a new commit user"):
        commit.append([added(file("b"))])


def test_since_bounds_the_search(tmp_path: Path) -> None:
    """Only snapshots newer than the draw of the user can be its own."""
    table = plain_table(tmp_path)
    TableCommit(table, "me").append([added(file("a"))])
    TableCommit(table, "me", since=1).append([added(file("b"))])
    assert table.snapshots.latest_id() == 2


def test_a_commit_whose_answer_was_lost_is_found_by_the_retry(tmp_path: Path) -> None:
    """Another process publishes the same commit between our look and our publication."""
    table = plain_table(tmp_path)
    messages = [added(file("a"))]
    ours = with_rivals(table, lambda: TableCommit(table, "me").append(messages))
    result = TableCommit(ours, "me").append(messages)
    assert result is not None
    assert (result.snapshot_id, result.attempts) == (1, 1)
    assert table.snapshots.ids() == [1]
    assert metadata_files(table) == named_metadata(table)


def test_history_walks_on_from_what_it_knows(tmp_path: Path) -> None:
    table = plain_table(tmp_path)
    history = CommitHistory(table.snapshots, 0)
    assert (history.look(), history.latest) == ([], None)
    for n in range(3):
        TableCommit(table, str(n)).append([added(file(f"f{n}"))])
    assert [s.id for s in history.look()] == [3, 2, 1]
    assert history.look() == []
    assert history.latest == latest(table)


def test_history_starts_over_when_what_it_knows_has_expired(tmp_path: Path) -> None:
    """Else a commit would take the id of a snapshot that was there already."""
    table = plain_table(tmp_path)
    TableCommit(table, "0").append([added(file("f0"))])
    history = CommitHistory(table.snapshots, 0)
    history.look()
    for n in range(1, 4):
        TableCommit(table, str(n)).append([added(file(f"f{n}"))])
    for expired in (1, 2):
        (tmp_path / "snapshot" / f"snapshot-{expired}").unlink()
    assert [s.id for s in history.look()] == [4, 3]
    assert history.latest == latest(table)


# --- races ----------------------------------------------------------------------------------------------------------


def test_a_lost_race_is_tried_again_and_leaves_nothing(tmp_path: Path) -> None:
    table = plain_table(tmp_path)
    rivals = [lambda n=n: TableCommit(table, f"rival{n}").append([added(file(f"r{n}"))]) for n in range(2)]
    result = TableCommit(with_rivals(table, *rivals), "me").append([added(file("a"))])
    assert result is not None
    assert (result.snapshot_id, result.attempts) == (3, 3)
    assert live(table) == {"a", "r0", "r1"}
    assert metadata_files(table) == named_metadata(table)


def test_retries_are_bounded(tmp_path: Path) -> None:
    table = plain_table(tmp_path, **{"commit.max_retries": "2", "commit.min_retry_wait": "1 ms"})
    rivals = [lambda n=n: TableCommit(table, f"rival{n}").append([added(file(f"r{n}"))]) for n in range(5)]
    with pytest.raises(RetriesExhausted, match=r"lost the race .* 3 times; nothing was committed.*commit.max-retries"):
        TableCommit(with_rivals(table, *rivals), "me").append([added(file("a"))])
    assert live(table) == {"r0", "r1", "r2"}
    assert metadata_files(table) == named_metadata(table)


def test_retries_end_with_the_timeout(tmp_path: Path) -> None:
    table = plain_table(tmp_path, **{"commit.timeout": "1 ms", "commit.min_retry_wait": "2 ms"})
    rivals = [lambda n=n: TableCommit(table, f"rival{n}").append([added(file(f"r{n}"))]) for n in range(5)]
    with pytest.raises(RetriesExhausted):
        TableCommit(with_rivals(table, *rivals), "me").append([added(file("a"))])
    assert len(live(table)) <= 2


def test_an_overwrite_also_replaces_what_came_in_concurrently(tmp_path: Path) -> None:
    table = keyed_table(tmp_path)
    TableCommit(table, "0").append(
        [added(file("a", keys=(1, 1)), part=X, total=2), added(file("y", keys=(1, 1)), part=Y, total=2)]
    )
    late = added(file("late", keys=(3, 3)), part=X, total=2)
    ours = with_rivals(table, lambda: TableCommit(table, "rival").append([late]))
    TableCommit(ours, "me").overwrite([added(file("new", keys=(2, 2)), part=X, total=2)], {"part": "x"})
    assert live(table) == {"new", "y"}
    assert delta(table) == [("DELETE", "a"), ("DELETE", "late"), ("ADD", "new")]


def test_a_compaction_of_files_that_were_overwritten_concurrently_conflicts(tmp_path: Path) -> None:
    table = keyed_table(tmp_path)
    a = file("a", keys=(1, 5))
    TableCommit(table, "0").append([added(a, part=X, total=2)])
    ours = with_rivals(table, lambda: TableCommit(table, "rival").overwrite([], None))
    message = CommitMessage(X, 0, 2, compact_before=(a,), compact_after=(file("b", level=5, keys=(1, 5)),))
    with pytest.raises(CommitConflict, match=r"a \(partition part=x, bucket 0\)"):
        TableCommit(ours, "me").append([message])
    assert live(table) == set()
    assert metadata_files(table) == named_metadata(table)


def test_two_compactions_of_one_bucket_conflict(tmp_path: Path) -> None:
    table = keyed_table(tmp_path)
    files = [file("a", keys=(1, 5)), file("b", keys=(1, 5))]
    TableCommit(table, "0").append([added(*files, part=X, total=2)])

    def compact(user: str, before: int, into: Table) -> None:
        after = file(f"{user}-out", level=5, keys=(1, 5))
        TableCommit(into, user).append(
            [CommitMessage(X, 0, 2, compact_before=(files[before],), compact_after=(after,))]
        )

    with pytest.raises(CommitConflict, match="key ranges"):
        compact("me", 0, with_rivals(table, lambda: compact("rival", 1, table)))
    assert live(table) == {"a", "rival-out"}


def test_rescaling_by_overwrite_stops_appends_for_the_old_number_of_buckets(tmp_path: Path) -> None:
    table = keyed_table(tmp_path)
    TableCommit(table, "0").append([added(file("a", keys=(1, 1)), part=X, total=2)])

    def rescale() -> None:
        schema = json.loads((tmp_path / "schema" / "schema-0").read_text())
        schema["options"]["bucket"] = "4"
        (tmp_path / "schema" / "schema-1").write_text(json.dumps({**schema, "id": 1}))
        TableCommit(table, "rival").overwrite([added(file("new", keys=(1, 1)), part=X, total=4)], {"part": "x"})

    with pytest.raises(CommitConflict, match="part=x has 4 buckets, and this job wrote for 2"):
        TableCommit(with_rivals(table, rescale), "me").append([added(file("b", keys=(2, 2)), part=X, total=2)])
    TableCommit(table, "you").append([added(file("c", keys=(2, 2)), part=Y, total=2)])
    assert live(table) == {"new", "c"}


def test_a_plain_append_reads_no_manifest(tmp_path: Path) -> None:
    table = keyed_table(tmp_path)
    TableCommit(table, "0").append([added(file("a", keys=(1, 1)), part=X, total=2)])
    for path in (tmp_path / "manifest").iterdir():
        if not path.name.startswith("manifest-list"):
            path.write_bytes(b"unreadable")
    TableCommit(table, "1").append([added(file("b", keys=(1, 1)), part=X, total=2)])
    assert table.snapshots.latest_id() == 2


def test_a_first_commit_passes_over_a_list_that_another_one_is_writing(tmp_path: Path) -> None:
    whole = plain_table(tmp_path / "whole")
    TableCommit(whole, "0").append([added(file("a"))])
    (made,) = sorted((tmp_path / "whole" / "manifest").glob("manifest-list-*-1"))
    for size in (0, 1, made.stat().st_size // 2):
        table = plain_table(tmp_path / str(size))
        (tmp_path / str(size) / "manifest").mkdir()
        (tmp_path / str(size) / "manifest" / made.name).write_bytes(made.read_bytes()[:size])
        TableCommit(table, "0").append([added(file("b"))])
        assert live(table) == {"b"}


def test_threads_of_one_process(tmp_path: Path) -> None:
    table = plain_table(tmp_path, **{"commit.max_retries": "50"})

    def run(writer: int) -> None:
        for n in range(5):
            TableCommit(table, f"{writer}-{n}").append([added(file(f"f{writer}-{n}"))])

    threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert table.snapshots.ids() == list(range(1, 21))
    assert live(table) == {f"f{w}-{n}" for w in range(4) for n in range(5)}


# --- overwrites -----------------------------------------------------------------------------------------------------
