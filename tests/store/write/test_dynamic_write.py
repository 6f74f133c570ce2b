"""Tables with dynamic buckets: keys stay in their buckets, the HASH index is what the keys are, jobs conflict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracles.checker import check_table
from support.tables.golden_tables import GoldenTable, golden_tables

from paimon_spark.arrow.row_hash import hash_rows
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import CommitConflict, CorruptFile, UnsupportedFeature
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.manifest import FileKind, IndexManifestEntry
from paimon_spark.store.buckets.hash_index_files import hash_file_path, read_hash_files, read_hashes
from paimon_spark.store.commit.table_commit import CommitResult, Replaced, TableCommit
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import Split
from paimon_spark.store.write import dynamic_placement
from paimon_spark.store.write.hash_assigner import HashAssigner, halves, key_numbers, plan_channels
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.store.write.write_plan import WritePlan, plan_write
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([pa.field("k", pa.int32(), False), pa.field("p", pa.string()), pa.field("v", pa.int64())])
Row = tuple[int, str | None, int]


def made(path: Path, partitioned: bool = False, **options: str) -> Table:
    given = {f"dynamic-bucket.{key.replace('_', '-')}": value for key, value in options.items()}
    columns = COLUMNS if not partitioned else COLUMNS.set(1, pa.field("p", pa.string(), False))
    keys, partition = (("k", "p"), ("p",)) if partitioned else (("k",), ())
    create_table(str(path), new_schema(columns, keys, partition, {"bucket": "-1", "write-only": "true", **given}))
    return open_table(str(path))


def batch_of(table: Table, rows: Sequence[Row]) -> pa.RecordBatch:
    arrow = table.scan().arrow_schema
    columns = list(zip(*rows, strict=True)) or [()] * len(arrow)
    return pa.RecordBatch.from_arrays([pa.array(c, f.type) for c, f in zip(columns, arrow, strict=True)], schema=arrow)


@dataclass
class Job:
    """A job planned on the table as it is now: each task is the rows it has."""

    table: Table
    user: str
    plan: WritePlan
    messages: list[CommitMessage]
    batch_rows: int = 7  # batches cut keys and partitions

    @classmethod
    def planned(cls, table: Table, user: str, overwrites: bool = False) -> Job:
        return cls(table, user, plan_write(table, overwrites), [])

    def write(self, *tasks: Sequence[Row], told: bool = False) -> Job:
        for number, rows in enumerate(tasks):
            writer = TableWrite(self.table, self.user, number, self.plan)
            batch = batch_of(self.table, rows)
            writer.write(batch, buckets=self.exact(batch) if told else None)
            self.messages += writer.finish()
        return self

    def exact(self, batch: pa.RecordBatch) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        """What the road with a shuffle does to all rows at once."""
        channels = plan_channels(self.table, 3)
        numbers = key_numbers(self.table, batch)
        order = np.argsort(numbers, kind="stable")
        partitions = batch.take(pa.array(order))
        assigner = HashAssigner(self.table, self.plan.dynamic, channels)
        buckets = np.empty(batch.num_rows, np.int32)
        for start in range(0, batch.num_rows, self.batch_rows):
            part = order[start : start + self.batch_rows]
            buckets[part] = assigner.assign(numbers[part], partitions.slice(start, self.batch_rows))
        return buckets

    def commit(self) -> CommitResult | None:
        return TableCommit(self.table, self.user, self.plan.since).append(self.messages)

    def overwrite(self, replaced: Replaced) -> CommitResult | None:
        return TableCommit(self.table, self.user, self.plan.since).overwrite(self.messages, replaced)


def rows_of(table: Table) -> list[Row]:
    columns = open_table(table.location).scan().to_arrow()
    return sorted(zip(*(columns[name].to_pylist() for name in columns.column_names), strict=True), key=repr)


def entries_of(table: Table) -> list[IndexManifestEntry]:
    latest = table.snapshots.latest()
    files = read_hash_files(table, None if latest is None else latest.index_manifest)
    return [entry for buckets in files.values() for entry in buckets.values()]


def sizes(table: Table) -> dict[tuple[object, int], int]:
    """(partition value, bucket) -> hashes."""
    types = [f.type for f in table.schema.partition_fields]
    return {((*decode_arity_row(e.partition, types), None)[0], e.bucket): e.row_count for e in entries_of(table)}


def check_places(table: Table) -> None:
    """Every key is in one bucket, and the index of the bucket knows it; a reader of the merged table can't tell."""
    check_table(table.location)
    fresh = open_table(table.location)
    scan, known = (
        fresh.scan(),
        {(e.partition, e.bucket): set(read_hashes(fresh, e).tolist()) for e in entries_of(fresh)},
    )
    places: dict[tuple[bytes, int], int] = {}
    for split in scan.plan().splits:
        assert isinstance(split, Split)
        for batch in scan.reader().read(split):
            hashes = hash_rows(batch, fresh.schema.key_fields).tolist()
            assert set(hashes) <= known[split.partition, split.bucket]
            for value in hashes:
                assert places.setdefault((split.partition, value), split.bucket) == split.bucket


def index_files(path: Path) -> list[str]:
    return sorted(p.name for p in (path / "index").glob("*")) if (path / "index").exists() else []


@pytest.mark.parametrize("golden", [t for t in golden_tables() if t.name == "dyn_bucket"], ids=str)
def test_the_index_of_genuine_tables(golden: GoldenTable, tmp_path: Path) -> None:
    table, expected = open_table(str(golden.unpack(tmp_path))), golden.expectation()["hash_to_bucket"]
    found = {h: entry.bucket for entry in entries_of(table) for h in read_hashes(table, entry).tolist()}
    assert found == dict(expected)
    before = rows_of(table)
    keyed = [f.name for f in table.schema.fields]
    assert keyed[0] == table.schema.primary_keys[0]
    # Written again by us, every key goes to the bucket it is in, on both roads.
    for user, told in (("a", False), ("b", True)):
        job = Job.planned(table, user)
        batch = table.scan().to_arrow().combine_chunks().to_batches()[0]
        writer = TableWrite(table, user, 0, job.plan)
        writer.write(batch, buckets=job.exact(batch) if told else None)
        job.messages += writer.finish()
        assert all(m.new_hashes is not None and not m.new_hashes.hashes and not m.index_entries for m in job.messages)
        assert job.commit() is not None
    assert {h: e.bucket for e in entries_of(table) for h in read_hashes(table, e).tolist()} == found
    assert rows_of(table) == before
    check_table(table.location)


def test_the_index_holds_javas_hashes(tmp_path: Path) -> None:
    """Java: DynamicBucketIndexMaintainerTest."""
    table = made(tmp_path / "t", partitioned=True)
    Job.planned(table, "a").write([(1, "1", 1), (2, "2", 2)]).commit()
    assert {e.row_count: read_hashes(table, e).tolist() for e in entries_of(table) if e.partition[-8:-7] == b"1"} == {
        1: [1465514398]
    }
    Job.planned(table, "b").write([(2, "1", 2)]).commit()
    Job.planned(table, "c").write([(3, "1", 3)], told=True).commit()
    (entry,) = [e for e in entries_of(table) if e.row_count == 3]
    assert sorted(read_hashes(table, entry).tolist()) == [-771300025, 1340390384, 1465514398]
    before = index_files(tmp_path / "t")
    for user, told in (("d", False), ("e", True)):
        assert Job.planned(table, user).write([(1, "1", 1)], told=told).commit() is not None
    assert index_files(tmp_path / "t") == before  # nothing new, no new file


def test_given_tasks_fill_buckets_exactly(tmp_path: Path) -> None:
    table = made(tmp_path / "t", target_row_num="10", initial_buckets="1")
    Job.planned(table, "a").write([(k, None, 0) for k in range(25)], told=True).commit()
    assert sizes(table) == {(None, 0): 10, (None, 1): 10, (None, 2): 5}
    Job.planned(table, "b").write([(k, None, 1) for k in range(20, 33)], told=True).commit()
    assert sizes(table) == {(None, 0): 10, (None, 1): 10, (None, 2): 10, (None, 3): 3}
    assert rows_of(table) == sorted(((k, None, int(k >= 20)) for k in range(33)), key=repr)
    check_places(table)


def test_tasks_that_cannot_talk_agree(tmp_path: Path) -> None:
    table = made(tmp_path / "t", target_row_num="10")
    rows = [(k, None, 0) for k in range(100)]
    Job.planned(table, "a").write(rows, [(k, p, 1) for k, p, _ in rows[::-1]], rows[:50]).commit()
    first = sizes(table)
    assert set(first) == {(None, bucket) for bucket in range(4)}
    assert sum(first.values()) == 100
    Job.planned(table, "b").write(
        [(k, None, 2) for k in range(50, 200)], [(k, None, 3) for k in range(150, 250)]
    ).commit()
    second = sizes(table)
    assert set(second) == {(None, bucket) for bucket in range(8)}, "all were full: as many again"
    assert {place: count for place, count in second.items() if place in first} == first
    assert sum(second.values()) == 250
    check_places(table)


def test_options_say_how_many_buckets(tmp_path: Path) -> None:
    table = made(tmp_path / "t", target_row_num="2", initial_buckets="3", max_buckets="5")
    for number, told in enumerate((False, True, False, True)):
        keys = range(20 * number, 20 * number + 20)
        Job.planned(table, str(number)).write([(k, None, 0) for k in keys], told=told).commit()
    assert {bucket for _, bucket in sizes(table)} == set(range(5))
    assert sum(sizes(table).values()) == 80
    check_places(table)


def test_known_hashes_are_read_in_groups_and_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamic_placement, "GROUP_HASHES", 20)
    monkeypatch.setattr(dynamic_placement, "KEPT_HASHES", 30)
    table = made(tmp_path / "t", partitioned=True, target_row_num="10")
    rows = [(k, p, 0) for k in range(60) for p in ("a", "b")]
    Job.planned(table, "a").write(rows, told=True).commit()
    before = sizes(table)
    Job.planned(table, "b").write([(k, p, 1) for k, p, _ in rows], rows[:70]).commit()
    assert sizes(table) == before
    check_places(table)


def test_one_batch_has_rows_of_several_partitions(tmp_path: Path) -> None:
    """Each key is looked up in the index of its own partition, which another task wrote."""
    table = made(tmp_path / "t", partitioned=True, target_row_num="5")
    rows = [(k, p, 0) for k in range(30) for p in ("a", "b", "c", "d")]
    Job.planned(table, "a").write(rows).commit()
    before = sizes(table)
    job = Job.planned(table, "b")
    job.batch_rows = len(rows)
    job.write(rows, told=True).commit()
    assert sizes(table) == before
    check_places(table)


def test_overwrites_start_the_index_anew(tmp_path: Path) -> None:
    table = made(tmp_path / "t", partitioned=True, target_row_num="2")
    Job.planned(table, "a").write([(k, p, 0) for k in range(7) for p in ("a", "b", "c")], told=True).commit()
    Job.planned(table, "b", overwrites=True).write([(1, "a", 1), (2, "a", 1), (9, "a", 1)]).overwrite({"p": "a"})
    assert {bucket for p, bucket in sizes(table) if p == "a"} == {0}
    assert sum(count for (p, _), count in sizes(table).items() if p == "a") == 3
    Job.planned(table, "c", overwrites=True).write([(1, "b", 2), (2, "b", 2)], told=True).overwrite("dynamic")
    assert {place: count for place, count in sizes(table).items() if place[0] != "c"} == {("a", 0): 3, ("b", 0): 2}
    assert sum(count for (p, _), count in sizes(table).items() if p == "c") == 7
    check_places(table)
    Job.planned(table, "d", overwrites=True).write([(5, "z", 3)]).overwrite(None)
    assert sizes(table) == {("z", 0): 1}
    assert rows_of(table) == [(5, "z", 3)]
    Job.planned(table, "e", overwrites=True).overwrite(None)
    assert sizes(table) == {}
    check_places(table)


@pytest.mark.parametrize(
    ("partitioned", "assigners", "expected"),
    [(False, None, (2, 2)), (True, None, (6, 2)), (True, "9", (8, 2)), (True, "1", (1, 1)), (False, "1", (1, 1))],
)
def test_the_channels_of_a_job(
    tmp_path: Path, partitioned: bool, assigners: str | None, expected: tuple[int, int]
) -> None:
    """As many for a partition as it has buckets at first; of those, for many partitions, as many as there are tasks."""
    table = made(tmp_path / "t", partitioned, initial_buckets="2")
    if assigners is not None:
        table = table.with_options({"dynamic-bucket.assigner-parallelism": assigners})
    channels = plan_channels(table, 7)
    assert (channels.count, channels.assigners) == expected


def test_an_overwrite_must_be_planned_as_one(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    Job.planned(table, "a").write([(1, None, 1)]).commit()
    with pytest.raises(ValueError, match="overwrites=True"):
        Job.planned(table, "b").write([(1, None, 2), (2, None, 2)]).overwrite(None)


CONFLICT = "has changed the HASH index of .*run the job again on the new state of the table"


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("first", [True, False])
def test_a_second_job_with_new_keys_conflicts(told: bool, first: bool, tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    if not first:
        Job.planned(table, "before").write([(0, None, 0)]).commit()
    one, other = Job.planned(table, "one"), Job.planned(table, "other")
    one.write([(1, None, 1)], told=told).commit()
    files = index_files(tmp_path / "t")
    other.write([(1, None, 2)], told=told)
    commit = TableCommit(table, "other", other.plan.since)
    with pytest.raises(CommitConflict, match=r"the job of user one \(snapshot \d\) " + CONFLICT):
        commit.append(other.messages)
    commit.abort(other.messages)
    assert index_files(tmp_path / "t") == files
    again = Job.planned(table, "again").write([(1, None, 2)], told=told)
    assert again.commit() is not None
    assert [row for row in rows_of(table) if row[0] == 1] == [(1, None, 2)]
    check_places(table)


def test_jobs_that_do_not_touch_each_other_do_not_conflict(tmp_path: Path) -> None:
    table = made(tmp_path / "t", partitioned=True)
    Job.planned(table, "before").write([(1, "a", 0), (1, "b", 0)]).commit()
    jobs = [Job.planned(table, user) for user in ("a", "b", "known", "known too")]
    jobs[0].write([(2, "a", 1)]).commit()
    jobs[1].write([(2, "b", 1)], told=True).commit()
    with pytest.raises(CommitConflict, match="p=a"):  # known keys only: but a job that saw the old index may be wrong
        jobs[2].write([(1, "a", 5)]).commit()
    late = Job.planned(table, "late")
    jobs[3] = Job.planned(table, "known too")
    jobs[3].write([(1, "a", 5)]).commit()
    late.write([(1, "a", 6), (2, "a", 6)]).commit()  # nobody added a key meanwhile
    assert rows_of(table) == [(1, "a", 6), (1, "b", 0), (2, "a", 6), (2, "b", 1)]
    check_places(table)


def test_an_overwrite_of_the_partition_is_a_conflict(tmp_path: Path) -> None:
    table = made(tmp_path / "t", partitioned=True)
    Job.planned(table, "before").write([(1, "a", 0)]).commit()
    late = Job.planned(table, "late")
    Job.planned(table, "whole", overwrites=True).write([(1, "z", 0)]).overwrite(None)
    with pytest.raises(CommitConflict, match=r"user whole .* partition p=a, bucket 0"):
        late.write([(1, "a", 1)]).commit()
    assert rows_of(table) == [(1, "z", 0)]


def test_a_commit_tried_again_is_made_once(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    job = Job.planned(table, "a").write([(1, None, 1)], [(1, None, 2), (2, None, 2)])
    first = job.commit()
    files = index_files(tmp_path / "t")
    again = job.commit()
    assert first is not None
    assert again is not None
    assert (again.snapshot_id, again.attempts) == (first.snapshot_id, 0)
    assert index_files(tmp_path / "t") == files
    assert sum(sizes(table).values()) == 2


def test_an_expired_plan_is_a_conflict(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    Job.planned(table, "a").write([(1, None, 1)]).commit()
    late = Job.planned(table, "late").write([(2, None, 1)])
    latest = table.snapshots.latest()
    assert latest is not None
    assert latest.index_manifest is not None
    Job.planned(table, "b").write([(3, None, 1)]).commit()
    (tmp_path / "t" / "manifest" / latest.index_manifest).unlink()
    with pytest.raises(CommitConflict, match=r"the snapshot it was planned on has expired"):
        late.commit()


def test_an_aborted_task_leaves_nothing(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    for told in (False, True):
        job = Job.planned(table, "a")
        writer = TableWrite(table, "a", 0, job.plan)
        batch = batch_of(table, [(1, None, 1)])
        writer.write(batch, buckets=job.exact(batch) if told else None)
        assert [bool(m.index_entries) for m in writer.finish()] == [told]
        writer.abort()
        assert [p for p in tmp_path.rglob("*") if p.is_file() and "schema" not in str(p)] == []


def without_index(table: Table, gone: Callable[[IndexManifestEntry], bool]) -> None:
    """As if a writer had kept no index of some buckets."""
    entries = [replace(e, kind=FileKind.DELETE) for e in entries_of(table) if gone(e)]
    messages = [CommitMessage(e.partition, e.bucket, -1, index_entries=(e,)) for e in entries]
    assert TableCommit(table, "vandal").append(messages) is not None


@pytest.mark.parametrize("told", [False, True])
def test_a_bucket_without_index_is_not_guessed(told: bool, tmp_path: Path) -> None:
    table = made(tmp_path / "t", partitioned=True)
    Job.planned(table, "a").write([(1, "a", 0), (1, "b", 0)]).commit()
    without_index(table, lambda e: decode_arity_row(e.partition, [table.schema.by_name["p"].type]) == ("a",))
    with pytest.raises(CorruptFile, match=r"partition p=a of .* its bucket 0 has data files but no HASH index"):
        Job.planned(table, "b").write([(2, "a", 1)], told=told)
    assert Job.planned(table, "c").write([(2, "b", 1)], told=told).commit() is not None
    Job.planned(table, "d", overwrites=True).write([(1, "a", 0)], told=told).overwrite("dynamic")
    assert Job.planned(table, "e").write([(2, "a", 1)], told=told).commit() is not None
    assert rows_of(table) == [(1, "a", 0), (1, "b", 0), (2, "a", 1), (2, "b", 1)]
    assert sizes(table) == {("a", 0): 2, ("b", 0): 2}


def test_a_missing_or_damaged_index_file_is_an_error(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    Job.planned(table, "a").write([(1, None, 0)]).commit()
    (entry,) = entries_of(table)
    path = Path(hash_file_path(table, entry))
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(CorruptFile, match="holds 2 hashes, its entry says 1"):
        Job.planned(table, "b").write([(1, None, 1)])
    path.unlink()
    with pytest.raises(CorruptFile, match="it does not exist"):
        Job.planned(table, "b").write([(1, None, 1)])


def test_index_files_beside_the_data(tmp_path: Path) -> None:
    create_table(
        str(tmp_path / "t"),
        new_schema(COLUMNS, ("k",), (), {"bucket": "-1", "write-only": "true", "index-file-in-data-file-dir": "true"}),
    )
    table = open_table(str(tmp_path / "t"))
    for user, told in (("a", False), ("b", True)):
        Job.planned(table, user).write([(ord(user), None, 1)], told=told).commit()
    assert index_files(tmp_path / "t") == []
    assert list((tmp_path / "t").glob("bucket-*/index-*"))
    check_places(table)


def test_cross_partition_tables_need_to_be_declared(tmp_path: Path) -> None:
    create_table(str(tmp_path / "t"), new_schema(COLUMNS, ("k",), ("p",), {"bucket": "-1", "write-only": "true"}))
    table = open_table(str(tmp_path / "t"))
    with pytest.raises(UnsupportedFeature, match=r"PaimonTable.forPath\(spark, path\).append\(df\)"):
        TableWrite(table, "u").write(batch_of(table, [(1, "a", 1)]))


KEYS = st.one_of(st.integers(0, 12), st.sampled_from([-(2**31), 2**31 - 1]))
JOBS = st.lists(
    st.tuples(
        st.sampled_from(["untold", "told", "dynamic", "whole"]),
        st.lists(st.lists(st.tuples(KEYS, st.sampled_from(["a", "b", ""]))), min_size=1, max_size=3),
    ),
    max_size=6,
)


@settings(max_examples=12)
@given(jobs=JOBS, partitioned=st.booleans(), target=st.integers(1, 4), most=st.sampled_from(["-1", "3"]))
def test_any_history(
    jobs: list[tuple[str, list[list[tuple[int, str]]]]],
    partitioned: bool,
    target: int,
    most: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    table = made(tmp_path_factory.mktemp("d") / "t", partitioned, target_row_num=str(target), max_buckets=most)
    model: dict[tuple[int, str | None], int] = {}
    for number, (what, tasks) in enumerate(jobs):
        rows = [[(k, p if partitioned else None, 10 * number + i) for k, p in task] for i, task in enumerate(tasks)]
        if what in ("told", "dynamic"):
            rows = [[row for task in rows for row in task]]
        overwrites = what in ("dynamic", "whole")
        job = Job.planned(table, str(number), overwrites).write(*rows, told=what in ("told", "dynamic"))
        written = {(k, p): v for task in rows for k, p, v in task}
        if what == "whole":
            model = {}
            job.overwrite(None)
        elif what == "dynamic":
            gone = {p for _, p in written}
            model = {key: v for key, v in model.items() if key[1] not in gone} if partitioned else {}
            job.overwrite("dynamic")
        else:
            job.commit()
        model |= written
        assert rows_of(table) == sorted(((k, p, v) for (k, p), v in model.items()), key=repr)
    check_places(table)
    if most == "3":
        assert {e.bucket for e in entries_of(table)} <= {0, 1, 2}


def test_the_number_of_a_row_has_both_of_its_hashes(tmp_path: Path) -> None:
    columns = pa.schema([("p", pa.string()), ("k", pa.int64())])
    create_table(str(tmp_path / "t"), new_schema(columns, ["p", "k"], ["p"], {"bucket": "-1"}))
    table = open_table(str(tmp_path / "t"))
    keys = [*range(50), -1, 2**62]
    rows = pa.RecordBatch.from_pydict({"p": [f"{k % 3}" for k in keys], "k": keys}, schema=columns)
    partitions, hashes = halves(key_numbers(table, rows))
    assert np.array_equal(partitions, hash_rows(rows, table.schema.partition_fields))
    assert np.array_equal(hashes, hash_rows(rows, table.schema.key_fields))
    assert min(partitions) < 0 < max(partitions) or len(set(partitions.tolist())) == 3
