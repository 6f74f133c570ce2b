"""Compacting tables: rounds, commits by size, failed tasks, rivals, interruption. Tasks run in this process."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.faults.faulty_store import FaultyFileIO, When
from support.long_runs import LONG, examples
from support.oracles.checker import check_table
from support.tables.compacted_tables import (
    Interfering,
    Row,
    append,
    batch,
    files_of,
    levels,
    live_names,
    new_table,
    rows_of,
    stored_files,
)

from paimon_spark.arrow.row_buckets import assign_buckets
from paimon_spark.errors import CompactionFailed
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.bucket import bucket_fields
from paimon_spark.format.snapshot import CommitKind
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.compact import plan as compaction_plan
from paimon_spark.store.compact.compaction import compact_table
from paimon_spark.store.compact.live_buckets import live_buckets
from paimon_spark.store.compact.local_pool import LocalRunner
from paimon_spark.store.compact.outcomes import CompactResult, Outcome
from paimon_spark.store.compact.task import CompactTask
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

DELETE = 3


def four_runs(path: Path, options: Mapping[str, str] | None = None) -> tuple[Table, list[Row]]:
    """Four commits over the same keys; what a reader sees."""
    table = new_table(path, options or {})
    for number in range(4):
        append(table, [(k, number, f"text {k}") for k in range(number, 40)])
    return table, [(k, min(k, 3), f"text {k}") for k in range(40)]


def compact(table: Table, runner: LocalRunner | None = None, **more: object) -> CompactResult:
    return compact_table(table, runner or LocalRunner(max_processes=1), **more)  # type: ignore[arg-type]


def test_a_full_compaction(tmp_path: Path) -> None:
    table, rows = four_runs(tmp_path / "t")
    before = files_of(table)
    metrics = compact(table)
    assert rows_of(table) == rows
    assert levels(table) == [5]
    (after,) = files_of(table)
    assert metrics == CompactResult(
        snapshot_ids=(5,),
        buckets=1,
        files_before=4,
        rows_before=40 + 39 + 38 + 37,
        bytes_before=sum(f.file_size for f in before),
        files_after=1,
        rows_after=40,
        bytes_after=after.file_size,
        bytes_written=after.file_size,
        millis=metrics.millis,
    )
    snapshot = table.snapshots.load(5)
    assert (snapshot.commit_kind, snapshot.total_record_count) == (CommitKind.COMPACT, 40)
    check_table(table.location)


def test_nothing_to_do(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    assert compact(table).snapshot_ids == ()
    append(table, [(1, 1, "a")])
    assert compact(table).files_after == 1, "moved to the top"
    again = compact(table)
    assert (again.snapshot_ids, again.buckets, again.files_before) == ((), 0, 0)


def test_moved_files_are_not_written(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", {"target-file-size": "1 b"})
    append(table, [(1, 1, "a")])
    append(table, [(5, 1, "b")])
    names = live_names(table)
    metrics = compact(table)
    assert (metrics.files_before, metrics.files_after, metrics.bytes_written) == (2, 2, 0)
    assert live_names(table) == names
    assert levels(table) == [5, 5]
    check_table(table.location)


def test_picks_of_a_writer(tmp_path: Path) -> None:
    table, rows = four_runs(tmp_path / "t")
    assert compact(table, full=False).snapshot_ids == ()
    append(table, [(99, 9, "last")])
    assert len(compact(table, full=False).snapshot_ids) == 1
    assert rows_of(table) == [*rows, (99, 9, "last")]
    assert 0 not in levels(table)


def test_deletes_end_on_the_top_level(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    append(table, [(k, k, "x") for k in range(10)])
    append(table, [(3, None, None), (4, None, None)], [DELETE, DELETE])
    metrics = compact(table)
    assert metrics.rows_after == 8
    assert rows_of(table) == [(k, k, "x") for k in range(10) if k not in (3, 4)]
    append(table, [(k, None, None) for k in range(10)], [DELETE] * 10)
    assert compact(table).files_after == 0
    assert files_of(table) == []
    check_table(table.location)


def test_append_tables(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", {"bucket": "-1", "compaction.min.file-num": "3"}, keys=())
    for number in range(5):
        append(table, [(number, number, "row")])
    metrics = compact(table)
    assert (metrics.files_before, metrics.files_after) == (5, 1)
    assert rows_of(table) == [(n, n, "row") for n in range(5)]
    check_table(table.location)


def test_commits_by_size(tmp_path: Path) -> None:
    """What was committed before a later task fails stays done."""
    table = new_table(tmp_path / "t", {"bucket": "4"})
    for number in range(2):
        append(table, [(k, number, "x") for k in range(40)])
    metrics = compact(table, commit_bytes=1)
    assert metrics.snapshot_ids == (3, 4, 5, 6)
    assert metrics.buckets == 4
    assert rows_of(table) == [(k, 1, "x") for k in range(40)]
    check_table(table.location)


def test_a_bucket_that_another_job_compacts_concurrently(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table, rows = four_runs(tmp_path / "t")
    old = live_names(table)
    runner = Interfering(after=[lambda: compact(table)])
    with caplog.at_level(logging.WARNING):
        metrics = compact(table, runner)
    (dropped,) = metrics.dropped
    assert (dropped.partition, dropped.bucket) == ("the table", 0)
    assert dropped.reason.startswith("4 of the files it replaces are no longer live: another job has compacted")
    assert dropped.reason.endswith("Its rows are as that job left them, and the next compaction looks at it again")
    assert (metrics.snapshot_ids, metrics.buckets, runner.calls) == ((), 0, 1)
    assert "left out the table, bucket 0" in caplog.text
    assert rows_of(table) == rows
    assert stored_files(table) == old | live_names(table), "what was not committed is deleted"


def test_what_is_left_out_is_planned_again(tmp_path: Path) -> None:
    """A rival changes one bucket: the round after that takes it."""
    table = new_table(tmp_path / "t", {"bucket": "2"})
    for number in range(2):
        append(table, [(k, number, "x") for k in range(20)])

    def rival() -> None:
        compact(table)
        append(table, [(k, 7, "y") for k in range(20)])

    runner = Interfering(after=[rival])
    metrics = compact(table, runner)
    assert (metrics.dropped, metrics.buckets, runner.calls) == ((), 2, 2)
    assert rows_of(table) == [(k, 7, "y") for k in range(20)]
    assert levels(table) == [5, 5]
    check_table(table.location)


def test_a_rival_that_never_rests(tmp_path: Path) -> None:
    """The rounds are bounded; what stays out is named."""
    table, _ = four_runs(tmp_path / "t")

    def rival() -> None:
        compact(table)
        append(table, [(k, 7, "y") for k in range(50)])

    runner = Interfering(after=[rival] * 9)
    metrics = compact(table, runner)
    assert runner.calls == 3
    assert [d.bucket for d in metrics.dropped] == [0]
    assert rows_of(table) == [(k, 7, "y") for k in range(50)]
    check_table(table.location)


def test_writers_go_on_concurrently(tmp_path: Path) -> None:
    table, rows = four_runs(tmp_path / "t")
    runner = Interfering(after=[lambda: append(table, [(0, 100, "new")])])
    assert compact(table, runner).dropped == ()
    assert rows_of(table) == [(0, 100, "new"), *rows[1:]]
    assert levels(table) == [0, 5]
    check_table(table.location)


def test_files_that_go_away_while_they_are_read(tmp_path: Path) -> None:
    """Another job compacted them and they expired: no error of ours."""
    table, rows = four_runs(tmp_path / "t")

    def rival() -> None:
        old = [Path(table.location, "bucket-0", f.file_name) for f in files_of(table)]
        compact(table)
        for path in old:
            path.unlink()

    metrics = compact(table, Interfering(before=[rival]))
    assert "MissingFile" in metrics.dropped[0].reason
    assert rows_of(table) == rows


def faulty(table: Table, at: int, named: str, lasting: bool = False) -> Table:
    return replace(table, file_io=FaultyFileIO(LocalFileIO(), at, When.BEFORE, named=named, lasting=lasting))


def test_a_task_that_fails_is_tried_again(tmp_path: Path) -> None:
    table, rows = four_runs(tmp_path / "t")
    metrics = compact(faulty(table, 2, "open_input"))
    assert (metrics.buckets, metrics.dropped) == (1, ())
    assert rows_of(table) == rows
    assert live_names(table) < stored_files(table)
    check_table(table.location)


def test_a_bucket_that_fails_for_good_does_not_stop_the_others(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", {"bucket": "2"})
    for number in range(2):
        append(table, [(k, number, "x") for k in range(20)])
    broken = next(Path(table.location, "bucket-1").iterdir())
    data = broken.read_bytes()
    broken.write_bytes(data[:50])
    with pytest.raises(
        CompactionFailed, match=rf"1 buckets failed, 1 are compacted.*bucket 1: CorruptFile.*{broken.name}"
    ):
        compact(table)
    assert levels(table) == [0, 0, 5]
    broken.write_bytes(data)
    assert rows_of(table) == [(k, 1, "x") for k in range(20)]
    compact(table)
    check_table(table.location)


def test_parts_of_a_bucket_are_committed_together_or_not_at_all(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    for start in (0, 100):
        for number in range(2):
            append(table, [(k, number, "x") for k in range(start, start + 10)])
    with patch.object(compaction_plan, "TASK_BYTES", 1):
        (damaged, *_) = files_of(table)
        path = Path(table.location, "bucket-0", damaged.file_name)
        data = path.read_bytes()
        path.write_bytes(data[:50])
        with pytest.raises(CompactionFailed, match="1 buckets failed, 0 are compacted"):
            compact(table)
        assert stored_files(table) == live_names(table), "the file of the part that went well is deleted"
        path.write_bytes(data)
        assert compact(table).files_after == 2
    assert rows_of(table) == [(k, 1, "x") for k in (*range(10), *range(100, 110))]
    check_table(table.location)


def test_an_interrupted_compaction_leaves_nothing_behind(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", {"bucket": "3"})
    for number in range(2):
        append(table, [(k, number, "x") for k in range(30)])

    class Interrupted(Interfering):
        """Ctrl-C after the second wave has been done and before it is committed. Two waves run at once."""

        numbers = itertools.count(1)

        def run(self, table: Table, tasks: Sequence[CompactTask]) -> list[Outcome]:
            number = next(self.numbers)
            outcomes = super().run(table, tasks)
            if number == 2:
                raise KeyboardInterrupt
            return outcomes

    runner = Interrupted(before=[lambda: None], after=[])
    with pytest.raises(KeyboardInterrupt):
        compact(table, runner, commit_bytes=1)
    assert table.snapshots.latest() is not None
    compacted = [i for i in table.snapshots.ids() if table.snapshots.load(i).commit_kind == CommitKind.COMPACT]
    assert len(compacted) <= 1
    assert rows_of(table) == [(k, 1, "x") for k in range(30)]
    assert compact(table).dropped == ()
    check_table(table.location)


def test_files_of_a_wave_that_is_not_committed_any_more_are_deleted(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", {"bucket": "3"})
    for number in range(2):
        append(table, [(k, number, "x") for k in range(30)])
    numbers, second = itertools.count(), threading.Event()

    class Interrupted(Interfering):
        """Ctrl-C in the first wave, when the second one has finished."""

        def run(self, table: Table, tasks: Sequence[CompactTask]) -> list[Outcome]:
            if next(numbers):
                outcomes = super().run(table, tasks)
                second.set()
                return outcomes
            assert second.wait(60)
            raise KeyboardInterrupt

    before = stored_files(table)
    with pytest.raises(KeyboardInterrupt):
        compact(table, Interrupted(), commit_bytes=1)
    assert stored_files(table) == before


def test_a_failed_commit_is_tried_again(tmp_path: Path) -> None:
    table, rows = four_runs(tmp_path / "t")
    old = live_names(table)
    assert compact(faulty(table, 1, "!write")).buckets == 1
    assert rows_of(table) == rows
    assert stored_files(table) == old | live_names(table), "the files of the commit that failed are deleted"


def test_one_cause_of_many_failures_is_told_once(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", {"bucket": "3"})
    for number in range(2):
        append(table, [(k, number, "x") for k in range(30)])

    class Full(LocalFileIO):
        def open_output(self, path: str) -> NoReturn:
            raise OSError(f"writing {path}: the disk is full")

    with pytest.raises(CompactionFailed, match=r"3 buckets failed, 0 are compacted") as failed:
        compact(replace(table, file_io=Full()))
    assert str(failed.value).count("the disk is full (and 2 more buckets likewise). The table is as it was") == 1
    assert str(failed.value).count("the disk is full") == 1


def test_commits_that_fail_again_and_again(tmp_path: Path) -> None:
    table, rows = four_runs(tmp_path / "t")

    class Full(LocalFileIO):
        def write_bytes(self, path: str, data: bytes) -> None:
            raise OSError(f"no space left for {path}")

    with pytest.raises(CompactionFailed, match=r"1 buckets failed, 0 are compacted.*no space left"):
        compact(replace(table, file_io=Full()))
    assert rows_of(table) == rows
    assert stored_files(table) == live_names(table)


TABLES: dict[str, dict[str, str]] = {
    "plain": {},
    "two buckets": {"bucket": "2", "num-sorted-run.compaction-trigger": "2"},
    "deletion vectors": {"deletion-vectors.enabled": "true"},
    "lookup": {"changelog-producer": "lookup", "num-sorted-run.compaction-trigger": "2"},
    "vectors and lookup": {"deletion-vectors.enabled": "true", "changelog-producer": "lookup"},
    "full changelog": {"changelog-producer": "full-compaction", "num-sorted-run.compaction-trigger": "2"},
    "first-row": {"merge-engine": "first-row", "ignore-delete": "true"},
    "sums": {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum", "ignore-delete": "true"},
    "sums with lookup": {
        "merge-engine": "aggregation",
        "fields.a.aggregate-function": "sum",
        "ignore-delete": "true",
        "changelog-producer": "lookup",
    },
    "partial": {"merge-engine": "partial-update", "ignore-delete": "true", "deletion-vectors.enabled": "true"},
}


def merged(options: Mapping[str, str], old: Row | None, new: Row, delete: bool) -> Row | None:
    """What a key holds after another row, by the engine of the table."""
    engine = options.get("merge-engine", "deduplicate")
    if delete and engine != "deduplicate":
        return old
    if engine == "first-row":
        return old or new
    if old is not None and engine in ("aggregation", "partial-update"):
        total = new[1] if old[1] is None else old[1] if new[1] is None else old[1] + new[1]
        latest = old[1] if new[1] is None else new[1]
        return (new[0], total if engine == "aggregation" else latest, old[2] if new[2] is None else new[2])
    return None if delete else new


step = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 5) | st.none(), st.sampled_from(["x", "é", "", None]), st.booleans()),
    min_size=1,
    max_size=6,
    unique_by=lambda row: row[0],
)
histories = st.lists(st.tuples(step, st.sampled_from(["", "picks", "picks", "full"])), min_size=2, max_size=7)


@pytest.mark.parametrize("name", TABLES)
def test_rows_stay_what_they_are(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    options = TABLES[name]

    @settings(max_examples=examples(60) if LONG else 3)
    @given(histories)
    def run(history: list[tuple[list[tuple[int, int | None, str | None, bool]], str]]) -> None:
        table = new_table(tmp_path_factory.mktemp("history") / "t", options)
        model: dict[int, Row] = {}
        for rows, compaction in history:
            kinds = [DELETE if delete else 0 for *_, delete in rows]
            append(table, [row[:3] for row in rows], kinds)
            for row, kind in zip(rows, kinds, strict=True):
                after = merged(options, model.pop(row[0], None), row[:3], kind == DELETE)
                if after is not None:
                    model[row[0]] = after
            if compaction:
                compact(open_table(table.location), full=compaction == "full")
        compact(open_table(table.location), full=False)
        if "lookup" in name or "vectors" in name or name in ("first-row", "partial"):
            assert 0 not in levels(table)
        assert rows_of(table) == sorted(model.values())
        check_table(table.location)

    run()


def test_a_compaction_of_more_rows_than_a_batch(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    for number in range(3):
        write = TableWrite(table, f"writer-{number}")
        write.write(batch([(k, number, "x") for k in range(number, 70_000, number + 1)]))
        TableCommit(table, f"writer-{number}").append(write.finish())
    before = rows_of(table)
    compact(table)
    assert rows_of(table) == before
    check_table(table.location)


@pytest.mark.parametrize(("budget", "buckets"), [(1, {0}), (None, {0, 1, 2}), (10**9, {0, 1, 2})])
def test_a_budget_is_spent_on_the_smallest_buckets(tmp_path: Path, budget: int | None, buckets: set[int]) -> None:
    table = new_table(tmp_path / "t", {"bucket": "3"})
    rows = [(k, k, f"{k}" * 9) for k in range(3000)]
    buckets_of = assign_buckets(
        batch(rows), bucket_fields(table.schema, table.settings), 3, table.settings.bucket_function
    )
    for _ in range(2):
        for bucket, count in ((0, 1), (1, 300), (2, 900)):
            append(table, [rows[place] for place in np.flatnonzero(buckets_of == bucket)[:count]])
    compact_table(open_table(table.location), LocalRunner(max_processes=1), budget=budget)
    live = live_buckets(table, table.snapshots.latest())
    assert {bucket.place[1] for bucket in live if len(bucket.files) == 1} == buckets
