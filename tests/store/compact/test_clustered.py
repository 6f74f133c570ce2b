"""Tables whose compacted files are sorted by other columns than the key (pk-clustering-override), without Java."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.oracles.checker import check_table
from support.tables.files_by_hand import file
from support.tables.micro_batches import drained

from paimon_spark import check, create_table, open_table
from paimon_spark.errors import CommitConflict, SchemaError, UnsupportedFeature
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.rules.key_clustering import clustering_fields
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.merge.compaction.clustered_picks import pick_clustered, values_of
from paimon_spark.store.checks.report import Rule
from paimon_spark.store.commit.attempt import table_state
from paimon_spark.store.commit.row_conflicts import ReadState, changes_of, check_keys_unchanged
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.compact.commit import commit_compaction
from paimon_spark.store.compact.compaction import run_here
from paimon_spark.store.compact.live_buckets import live_buckets
from paimon_spark.store.compact.plan import plan_compaction
from paimon_spark.store.compact.task import CompactTaskResult
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.evolution.changes import UpdateType
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read import sorted_runs
from paimon_spark.store.rescale.rescale import rescale
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.store.write.write_plan import plan_write

OPTIONS = {
    "bucket": "1", "pk-clustering-override": "true", "clustering.columns": "c,v", "deletion-vectors.enabled": "true",
}  # fmt: skip
COLUMNS = {"k": "BIGINT NOT NULL", "c": "STRING", "v": "INT"}
WAITS = {"write-only": "true"}


def made(path: Path, **options: str) -> str:
    given = {**OPTIONS, **{key.replace("_", "-"): value for key, value in options.items()}}
    create_table(str(path), COLUMNS, "k", options=given)
    return str(path)


def batch(rows: list[tuple[int, str | None, int | None]]) -> pa.RecordBatch:
    k, c, v = zip(*rows, strict=True)
    types = [pa.int64(), pa.string(), pa.int32()]
    return pa.RecordBatch.from_arrays(
        [pa.array(values, kind) for values, kind in zip((k, c, v), types, strict=True)], names=["k", "c", "v"]
    )


def rows(path: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in open_table(path).scan().to_arrow().to_pylist()), key=lambda r: r[0])


def table_of(path: str) -> Table:
    return open_table(path)


def live(path: str) -> list[Any]:
    table = table_of(path)
    return [file for bucket in live_buckets(table, table.snapshots.latest()) for file in bucket.files]


def test_a_full_compaction_is_one_run_in_the_order_of_the_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks that do not fit into memory wait in files; nulls come first; retractions are gone."""
    monkeypatch.setattr(sorted_runs.SortedChunks.__init__, "__defaults__", (4096, 8192))
    path, draw = made(tmp_path / "t", target_file_size="8 kb"), random.Random(1)
    expected: dict[int, tuple[Any, ...]] = {}
    for _ in range(4):
        new = [
            (k, draw.choice([None, "", "a", "b"]), draw.choice([None, draw.randrange(99)]))
            for k in draw.sample(range(3000), 1000)
        ]
        open_table(path).upsert(batch(new))
        expected |= {row[0]: row for row in new}
    open_table(path).delete("k < 700")
    assert rows(path) == [expected[k] for k in sorted(expected) if k >= 700]
    open_table(path).compact()
    assert rows(path) == [expected[k] for k in sorted(expected) if k >= 700]
    files = live(path)
    assert len(files) > 1
    assert {(file.level, file.delete_row_count) for file in files} == {(1, 0)}
    ranges = sorted(map(values_of(clustering_fields(table_of(path).schema, table_of(path).settings)), files))
    assert all(one[1] <= other[0] for one, other in pairwise(ranges))
    assert plan_compaction(table_of(path)).tasks == (), "there is nothing left to do"
    check_table(path)
    assert not any("sorted" in note for note in check(path).notes)


def test_files_in_another_order_are_sorted_anew(tmp_path: Path) -> None:
    """As those of release 1.4 may be; here the columns are named in another order."""
    path = made(tmp_path / "t")
    for number in range(2):
        open_table(path, {"target-file-size": "1 b"}).upsert(batch([(k, f"c{k % 5}", k * 7 % 11) for k in range(40)]))
        open_table(path).upsert(batch([(k, None, number) for k in range(5)]))
    before, table = rows(path), table_of(path)
    otherwise = replace(table, settings=table.settings.merged({"clustering.columns": "v,c"}))
    plan = plan_compaction(otherwise)
    assert plan.snapshot is not None
    outcomes = [run_here(otherwise, task) for task in plan.tasks]
    ready = [outcome for outcome in outcomes if isinstance(outcome, CompactTaskResult)]
    assert commit_compaction(plan.table, plan.snapshot, plan.upper, ready).snapshot_id is not None
    assert rows(path) == before
    assert not any("sorted" in note for note in check(otherwise, latest_only=True).notes)


def test_of_waiting_rows_the_one_that_was_committed_last_counts(tmp_path: Path) -> None:
    """Two jobs that write at once number their rows alike, the first one more of them."""
    path = made(tmp_path / "t")
    open_table(path).upsert(batch([(k, "old", 0) for k in range(5)]))
    table = open_table(path, WAITS)
    plans = [plan_write(table) for _ in range(2)]
    parts = [[(k, "first", k) for k in (9, 8, 7, 6, 1)], [(1, "second", 1)]]
    for number, (plan, part) in enumerate(zip(plans, parts, strict=True)):
        writer = TableWrite(table, f"user {number}", 0, plan)
        writer.write(batch(part), None)
        TableCommit(table, f"user {number}").append(list(writer.finish()))
    open_table(path).compact()
    assert rows(path)[1] == (1, "second", 1)
    check_table(path)


def test_a_bucket_that_another_job_compacted_is_left_out(tmp_path: Path) -> None:
    """The vectors of one job would be lost with the files that the other merges, and their rows come back."""
    path = made(tmp_path / "t")
    for number in range(3):
        open_table(path, {"target-file-size": "1 b"}).upsert(batch([(k, f"c{k % 2}", number) for k in range(9)]))
    open_table(path, WAITS).upsert(batch([(k, "new", 9) for k in range(4)]))
    table = table_of(path)
    plans = [plan_compaction(table, full=full) for full in (True, False)]
    results = [[run_here(table, task) for task in plan.tasks] for plan in plans]
    committed = []
    for plan, found in zip(plans, results, strict=True):
        assert plan.snapshot is not None
        ready = [result for result in found if isinstance(result, CompactTaskResult)]
        assert len(ready) == len(found) == 1
        committed.append(commit_compaction(plan.table, plan.snapshot, plan.upper, ready))
    assert committed[0].snapshot_id is not None
    assert committed[1].snapshot_id is None
    assert len(committed[1].dropped) == 1
    assert rows(path) == [(k, "new", 9) if k < 4 else (k, f"c{k % 2}", 2) for k in range(9)]
    check_table(path)


def test_rows_are_changed(tmp_path: Path) -> None:
    path = made(tmp_path / "t")
    table = open_table(path)
    table.append(batch([(k, "a", k) for k in range(6)]))
    table.update("k >= 4", {"c": "'b'"})
    table.delete("k = 0")
    table.overwrite(batch([(k, None, k) for k in range(3)]))
    table.upsert(batch([(2, "z", 9)]))
    assert rows(path) == [(0, None, 0), (1, None, 1), (2, "z", 9)]
    check_table(path)


def test_a_change_of_rows_conflicts_with_files_that_do_not_tell_their_keys(tmp_path: Path) -> None:
    """An overwrite removes compacted files, which may have any key; its new rows have others than the change."""
    path, other = made(tmp_path / "t"), made(tmp_path / "other")
    open_table(path).upsert(batch([(k, f"c{k}", k) for k in range(9)]))
    read = ReadState.of(table_of(path).snapshots.latest())
    open_table(other, WAITS).upsert(batch([(7, "mine", 7)]))
    snapshot = table_of(other).snapshots.latest()
    assert snapshot is not None
    changed = list(changes_of(table_of(other), snapshot))
    check_keys_unchanged(table_state(table_of(path), table_of(path).snapshots.latest()), read, changed)
    open_table(path, WAITS).overwrite(batch([(1, "theirs", 1)]))
    with pytest.raises(CommitConflict, match="removed rows in the same range of keys"):
        check_keys_unchanged(table_state(table_of(path), table_of(path).snapshots.latest()), read, changed)


def test_a_stream_begins_when_nothing_waits(tmp_path: Path) -> None:
    """Rows that wait could be merged with compacted ones only in the order of the key."""
    path = made(tmp_path / "t")
    open_table(path).upsert(batch([(k, f"c{k % 2}", k) for k in range(4)]))
    found = [row["k"] for part in drained(table_of(path), {}) for row in part]
    assert sorted(found) == [0, 1, 2, 3]
    open_table(path, WAITS).upsert(batch([(9, "waits", 9)]))
    with pytest.raises(UnsupportedFeature, match="compact the table, and read its compacted state"):
        drained(table_of(path), {})


@pytest.mark.parametrize("full", [False, True])
def test_a_compacted_file_whose_rows_are_all_deleted(full: bool, tmp_path: Path) -> None:
    """It gives neither keys nor rows to the next compaction."""
    path = made(tmp_path / "t")
    open_table(path).upsert(batch([(k, "old", k) for k in range(4)]))
    open_table(path).delete("k < 4")
    open_table(path, WAITS).upsert(batch([(2, "new", 2)]))
    open_table(path).compact(full=full)
    assert rows(path) == [(2, "new", 2)]
    check_table(path)


def test_first_row_without_vectors(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    options = {key: value for key, value in OPTIONS.items() if key != "deletion-vectors.enabled"}
    create_table(path, COLUMNS, "k", options={**options, "merge-engine": "first-row"})
    open_table(path).upsert(batch([(1, "a", 1), (2, "b", 2)]))
    open_table(path, WAITS).upsert(batch([(3, "c", 3)]))
    open_table(path).upsert(batch([(1, "z", 9), (3, "z", 9), (4, "z", 9)]))
    assert rows(path) == [(1, "a", 1), (2, "b", 2), (3, "c", 3), (4, "z", 9)]
    open_table(path).compact()
    assert rows(path) == [(1, "a", 1), (2, "b", 2), (3, "c", 3), (4, "z", 9)]
    check_table(path)


def test_the_buckets_can_be_changed(tmp_path: Path) -> None:
    path = made(tmp_path / "t")
    open_table(path).upsert(batch([(k, f"c{k % 3}", k) for k in range(50)]))
    open_table(path).upsert(batch([(k, "new", k) for k in range(10)]))
    open_table(path, WAITS).upsert(batch([(1, "waits", 1)]))
    with pytest.raises(UnsupportedFeature, match="compact the table first"):
        rescale(table_of(path), 3)
    open_table(path).compact()
    before = rows(path)
    rescale(table_of(path), 3)
    assert rows(path) == before
    assert {file.level for file in live(path)} == {1}
    open_table(path).upsert(batch([(2, "after", 2)]))
    assert rows(path) == [row if row[0] != 2 else (2, "after", 2) for row in before]
    check_table(path)


def test_files_of_another_type_are_sorted_anew(tmp_path: Path) -> None:
    """10 comes before 9 as text, after it as a number."""
    path = made(tmp_path / "t", **{"clustering.columns": "v"})
    open_table(path).upsert(batch([(1, "a", 9), (2, "b", 10)]))
    alter_table(table_of(path), [UpdateType(("v",), parse_type("STRING"))])
    table = open_table(path)
    new = pa.table({"k": pa.array([3], pa.int64()), "c": ["c"], "v": ["95"]})
    table.upsert(new)
    open_table(path).compact()
    assert rows(path) == [(1, "a", "9"), (2, "b", "10"), (3, "c", "95")]
    check_table(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clustering.columns": ""}, "needs the option 'clustering.columns'"),
        ({"clustering.columns": "nothing"}, "names 'nothing', which is no column"),
        ({"deletion-vectors.enabled": "false"}, "needs 'deletion-vectors.enabled' = 'true', or"),
        ({"merge-engine": "partial-update"}, "not with partial-update"),
        ({"merge-engine": "aggregation"}, "not with aggregation"),
        ({"sequence.field": "v"}, "does not go with the option 'sequence.field'"),
        ({"changelog-producer": "lookup"}, "not with lookup"),
        ({"record-level.expire-time": "1 d", "record-level.time-field": "v"}, "'record-level.expire-time'"),
        ({"pk-btree.index.columns": "c"}, "'pk-btree.index.columns'"),
    ],
)
def test_options_that_java_refuses_are_refused(options: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=message):
        create_table(str(tmp_path / "t"), COLUMNS, "k", options={**OPTIONS, **options})


def test_a_writer_merges_what_overlaps_or_is_small() -> None:
    """Neighbours are merged where their values overlap, or if they are smaller than half of the target."""
    fields = (DataField(0, "v", DataType(Root.BIGINT)),)
    small, large = 10, 60

    def sorted_file(name: str, first: int, last: int, size: int) -> DataFileMeta:
        return file(name, level=1, keys=(first, last))._replace(file_size=size)

    files = [
        file("new 2", min_sequence_number=5, max_sequence_number=6),
        file("new 1", min_sequence_number=1, max_sequence_number=9),
        sorted_file("f", 50, 60, small),
        sorted_file("a", 0, 9, small),
        sorted_file("b", 8, 12, large),
        sorted_file("c", 12, 14, small),
        sorted_file("d", 15, 20, large),
        sorted_file("e", 21, 22, small),
    ]
    picked = pick_clustered(files, values_of(fields), 100, full=False)
    assert picked is not None
    assert [one.file_name for one in picked.new] == ["new 1", "new 2"]
    assert [[one.file_name for one in group] for group in picked.groups] == [["a", "b", "c"], ["e", "f"]]
    assert pick_clustered([sorted_file("a", 0, 9, small)], values_of(fields), 100, full=False) is None


def test_check_finds_what_is_wrong(tmp_path: Path) -> None:
    """Values that are not those of the file, rows in another order, which is a note, and two rows of a key."""
    path = made(tmp_path / "t")
    open_table(path).upsert(batch([(k, f"c{k % 3}", k) for k in range(20)]))
    table = table_of(path)
    otherwise = replace(table, settings=table.settings.merged({"clustering.columns": "v"}))
    found = check(otherwise)
    assert {problem.rule for problem in found.problems} == {Rule.KEY_RANGE}
    assert any("not sorted by 'clustering.columns'" in note for note in found.notes)
    (old,) = live(path)
    open_table(path, {"target-file-size": "1 b"}).upsert(batch([(3, "z", 3)]))
    for index in Path(path, "index").iterdir():
        index.unlink()
    snapshot = Path(path, "snapshot", f"snapshot-{table_of(path).snapshots.latest_id()}")
    said = json.loads(snapshot.read_text())
    del said["indexManifest"]
    snapshot.write_text(json.dumps(said))
    assert Rule.ONE_ROW in {problem.rule for problem in check(path, latest_only=True).problems}, old
