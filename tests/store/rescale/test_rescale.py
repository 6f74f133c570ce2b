"""Rescale: the same rows in another number of buckets, and nothing that others write meanwhile is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.faults.damage import change_entries
from support.oracles.checker import check_table
from support.tables.commit_states import latest, with_rivals
from support.tables.compacting import compact, rows_of
from support.tables.files_by_hand import file, partition
from support.tables.staging import Row, put

from paimon_spark import check
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import CommitConflict, OptionError, UnsupportedFeature
from paimon_spark.format.manifest import DataFileMeta, ManifestEntry
from paimon_spark.format.snapshot import CommitKind
from paimon_spark.store.commit.attempt import table_state
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rescale.postpone_compact import compact_postponed
from paimon_spark.store.rescale.rescale import rescale
from paimon_spark.store.rescale.rewrite import SOURCE_BYTES, postponed_rewrite
from paimon_spark.store.write.write_plan import TASK_STRIDE, plan_write
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([("part", pa.string()), ("id", pa.int64()), ("value", pa.int64())])


def make(path: Path, keys: Sequence[str] = ("part", "id"), parts: Sequence[str] = ("part",), **options: str) -> Table:
    stored = {"bucket": "2"} | {k.replace("__", "-").replace("_", "."): v for k, v in options.items()}
    create_table(str(path), new_schema(COLUMNS, keys, parts, stored))
    return open_table(str(path))


def entries(table: Table) -> list[ManifestEntry]:
    return table_state(table, latest(table)).live_entries(None)


def numbers(table: Table) -> dict[str, set[int]]:
    """The numbers of buckets that the files of each partition name."""
    found: dict[str, set[int]] = {}
    for entry in entries(table):
        if entry.bucket >= 0:
            found.setdefault(entry.partition[-8:].rstrip(b"\x00\x81").decode(), set()).add(entry.total_buckets)
    return found


def read(table: Table) -> list[Row]:
    found = open_table(table.location).scan().to_arrow().to_pylist()
    return [tuple(row.values()) for row in found]


def _added(table: Table, snapshot: int) -> list[DataFileMeta]:
    """The files that live in a snapshot."""
    return [e.file for e in table_state(table, table.snapshots.load(snapshot)).live_entries(None)]


def rows(part: str, *keys: int, add: int = 0) -> list[Row]:
    return [(part, key, key + add) for key in keys]


def test_all_rows_come_into_the_new_buckets_and_the_option_follows(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    put(table, [*rows("a", *range(40)), *rows("b", *range(20))])
    put(table, rows("a", *range(10), add=100))
    put(table, rows("a", 39), kinds=[3])
    before = sorted(read(table))
    done = rescale(table, 5)
    assert done.partitions == {"partition part=a": 2, "partition part=b": 2}
    assert (done.rows, done.files, done.snapshot_id) == (59, 10, 4)
    assert (latest(table).commit_kind, latest(table).operation) == (CommitKind.OVERWRITE, "OVERWRITE")
    assert latest(table).total_record_count == 59
    assert sorted(read(table)) == before
    assert numbers(table) == {"a": {5}, "b": {5}}
    assert {e.file.level for e in entries(table)} == {5}  # one sorted run each: a read merges nothing
    again = open_table(table.location)
    assert again.schema.options["bucket"] == "5"
    put(again, rows("a", *range(40), add=1000))
    assert sorted(read(again))[:2] == [("a", 0, 1000), ("a", 1, 1001)]
    check_table(table.location)


def test_a_partition_that_has_the_number_already_is_left_alone(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    put(table, rows("a", *range(10)))
    assert rescale(table, 2).snapshot_id is None
    assert len(table.snapshots.ids()) == 1


def test_some_partitions_and_what_a_write_to_them_is_reported(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    put(table, [*rows("a", *range(10)), *rows("b", *range(10)), *rows("c", *range(10))])
    assert rescale(table, 3, "part in ('a', 'b')").partitions == {"partition part=a": 2, "partition part=b": 2}
    assert numbers(table) == {"a": {3}, "b": {3}, "c": {2}}
    again = open_table(table.location)
    assert again.schema.options["bucket"] == "2"
    put(again, rows("c", 100))
    with pytest.raises(OptionError, match=r"part=a has 3 buckets, and the table's option 'bucket' is 2.*rescale\(2\)"):
        put(again, rows("a", 100))
    assert rescale(again, 3).partitions == {"partition part=c": 2}
    put(open_table(table.location), rows("a", 100))
    assert len(read(table)) == 32
    check_table(table.location)


def test_a_writer_that_began_before_the_rescale_conflicts_with_it(tmp_path: Path) -> None:
    """Even before the schema says so: its files are for another number of buckets."""
    table = make(tmp_path / "t")
    put(table, rows("a", *range(10)))
    late = with_rivals(table, lambda: rescale(table, 3, "part = 'a'"))
    with pytest.raises(CommitConflict, match="has 3 buckets, and this job wrote for 2"):
        put(late, rows("a", 100))
    assert len(read(table)) == 10


@pytest.mark.parametrize("rival", ["append", "delete", "overwrite"])
def test_what_others_do_concurrently_is_not_lost(tmp_path: Path, rival: str) -> None:
    table = make(tmp_path / "t")
    put(table, [*rows("a", *range(10)), *rows("b", 1)])

    def act() -> None:
        if rival == "overwrite":
            TableCommit(table, "u").overwrite([], {"part": "a"})
        else:
            put(table, rows("a", 5, add=7), kinds=[3 if rival == "delete" else 0])

    files = {p.name for p in Path(table.location).rglob("data-*")}
    with pytest.raises(CommitConflict, match=r"other jobs have changed partition part=a since snapshot 1"):
        rescale(with_rivals(table, act), 3)
    expected = {"append": 11, "delete": 10, "overwrite": 1}[rival]
    assert len(read(table)) == expected
    assert open_table(table.location).schema.options["bucket"] == "2"
    left = {p.name for p in Path(table.location).rglob("data-*")} - files
    assert left <= {e.file.file_name for e in entries(table)}  # the rescale's files are gone
    check_table(table.location)


def test_others_may_write_to_partitions_that_are_not_rescaled(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    put(table, [*rows("a", *range(10)), *rows("b", 1)])
    rescale(with_rivals(table, lambda: put(table, rows("b", 2))), 3, "part = 'a'")
    assert len(read(table)) == 12
    assert numbers(table) == {"a": {3}, "b": {2}}


def test_append_tables_keep_the_order_of_rows_that_share_a_bucket(tmp_path: Path) -> None:
    table = make(tmp_path / "t", keys=(), parts=(), bucket__key="id")
    for start in range(0, 300, 100):
        put(table, [("p", key % 7, key) for key in range(start, start + 100)])
    before = sorted(read(table))
    assert rescale(table, 3).rows == 300
    found = read(table)
    assert sorted(found) == before
    for key in range(7):
        values = [value for _, k, value in found if k == key]
        assert values == sorted(values)
    assert {e.total_buckets for e in entries(table)} == {3}
    put(open_table(table.location), [("p", 1, 1000)])
    assert [value for _, key, value in read(table) if key == 1][-1] == 1000
    check_table(table.location)


def test_a_null_stays_null_where_the_column_has_got_a_default_since(tmp_path: Path) -> None:
    table = make(tmp_path / "t", parts=(), keys=("id",))
    put(table, [("p", 1, None), ("p", 2, 5)])
    value = replace(table.schema.fields[2], default_value="9")
    schema = replace(table.schema, fields=(*table.schema.fields[:2], value))
    rescale(replace(table, schema=schema), 4)
    assert sorted(read(table), key=repr) == [("p", 1, None), ("p", 2, 5)]


def test_aggregates_are_not_aggregated_again(tmp_path: Path) -> None:
    options = {"merge__engine": "aggregation", "fields_value_aggregate-function": "sum"}
    table = make(tmp_path / "t", parts=(), keys=("id",), **options)
    for _ in range(3):
        put(table, rows("p", *range(20), add=1))
    rescale(table, 3)
    again = open_table(table.location)
    assert [v for _, _, v in sorted(read(again), key=lambda r: r[1])] == [3 * (k + 1) for k in range(20)]
    put(again, rows("p", *range(20), add=1))
    assert [v for _, _, v in sorted(read(again), key=lambda r: r[1])] == [4 * (k + 1) for k in range(20)]


def test_rows_of_level_zero_that_readers_do_not_see_yet_are_not_lost(tmp_path: Path) -> None:
    """A first-row table shows compacted rows only; those that wait are part of what is rewritten."""
    table = make(tmp_path / "t", parts=(), keys=("id",), merge__engine="first-row", write__only="true")
    put(table, rows("p", *range(20)))
    put(table, rows("p", *range(10, 30), add=100))
    assert read(table) == []
    rescale(table, 3)
    assert sorted(read(table)) == sorted([*rows("p", *range(20)), *rows("p", *range(20, 30), add=100)])
    assert {e.file.level for e in entries(table)} == {5}


def test_a_bucket_of_more_rows_than_the_write_buffer_becomes_one_sorted_run_too(tmp_path: Path) -> None:
    """What is written in several sorted runs is merged before it is committed; all else is gone then."""
    table = make(tmp_path / "t", parts=(), keys=("id",), write__buffer__size="1 mb", target__file__size="300 kb")
    values = np.random.default_rng(7).permutation(200_000)
    for start in range(0, 200_000, 50_000):
        put(table, [("p" * 20, int(k), int(k)) for k in values[start : start + 50_000]])
    rescale(table, 3)
    live = entries(table)
    assert {e.file.level for e in live} == {5}
    assert len(live) > 3
    assert sum(e.file.row_count for e in live) == 200_000
    found = open_table(table.location).scan(["id"]).to_arrow()["id"].to_numpy()
    assert np.array_equal(np.sort(found), np.arange(200_000))
    on_disk = {p.name for p in Path(table.location).rglob("data-*")}
    named = {f.file_name for i in (1, 2, 3, 4) for f in _added(table, i)}
    assert on_disk == named | {e.file.file_name for e in live}
    check_table(table.location)


def test_postponed_tables_keep_their_option_and_what_waits(tmp_path: Path) -> None:
    table = make(tmp_path / "t", bucket="-2", postpone_default__bucket__num="2")
    put(table, rows("a", *range(20)))
    put(table.with_options({"postpone.batch-write-fixed-bucket": "false"}), rows("a", *range(10), add=100))
    rescale(table, 4)
    assert numbers(table) == {"a": {4}}
    assert open_table(table.location).schema.options["bucket"] == "-2"
    assert sorted(read(table)) == rows("a", *range(20))
    compact_postponed(table)
    assert numbers(table) == {"a": {4}}
    assert sorted(read(table)) == [*rows("a", *range(10), add=100), *rows("a", *range(10, 20))]
    check_table(table.location)


def test_a_partition_of_which_all_rows_are_deleted_has_no_files_then(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    put(table, rows("a", 1))
    put(table, rows("a", 1), kinds=[3])
    assert rescale(table, 3).rows == 0
    assert entries(table) == []


def test_an_empty_table_only_changes_its_option(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    assert rescale(table, 7).snapshot_id is None
    assert open_table(table.location).schema.options["bucket"] == "7"


@pytest.mark.parametrize("options", [{"bucket": "-1"}, {"bucket": "-1", "keys": ()}])
def test_tables_without_a_number_of_buckets_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    table = make(tmp_path / "t", **options)
    with pytest.raises(UnsupportedFeature, match="'bucket' is -1"):
        rescale(table, 3)


def test_without_a_number_partitions_get_that_of_the_table(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    put(table, rows("a", *range(10)))
    put(table, rows("b", *range(10)))
    rescale(table, 3, "part = 'a'")
    assert numbers(table) == {"a": {3}, "b": {2}}
    assert rescale(table).partitions == {"partition part=a": 3}
    assert numbers(table) == {"a": {2}, "b": {2}}
    assert rescale(table).snapshot_id is None


def test_a_table_with_postponed_buckets_has_no_number(tmp_path: Path) -> None:
    table = make(tmp_path / "t", bucket="-2")
    with pytest.raises(OptionError, match="has no number of its own; give the number of buckets"):
        rescale(table)
    with pytest.raises(UnsupportedFeature, match="'bucket' is -1"):
        rescale(make(tmp_path / "u", keys=(), bucket="-1"))


def test_numbers_and_conditions_that_make_no_sense(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    wrong: list[Any] = [0, "x", "3", 2.0, True]
    for buckets in wrong:
        with pytest.raises(OptionError, match=f"to {buckets!r} buckets: give a whole number above 0"):
            rescale(table, buckets)
    assert table.schemas.latest() == table.schema
    with pytest.raises(OptionError, match="id is no partition column"):
        rescale(table, 3, "id = 3")


def test_another_number_of_buckets_for_one_write_is_refused_and_rescale_proposed(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    with pytest.raises(OptionError, match=r"'bucket' = '8' contradicts the table, which has 2.*rescale\(8\)"):
        open_table(table.location, {"bucket": "8"})


@settings(max_examples=15)
@given(
    steps=st.lists(
        st.one_of(
            st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 8), st.integers(0, 99)), min_size=1, max_size=6),
            st.tuples(st.integers(1, 5), st.sampled_from([None, "part = 'a'", "part <> 'a'"])),
        ),
        max_size=6,
    )
)
def test_histories_of_writes_and_rescales(tmp_path_factory: pytest.TempPathFactory, steps: list[Any]) -> None:
    table = make(tmp_path_factory.mktemp("h") / "t", bucket="-2", postpone_default__bucket__num="2")
    model: dict[tuple[str, int], int] = {}
    for step in steps:
        if isinstance(step, tuple):
            rescale(table, *step)
        else:
            put(table, step)
            model |= {(part, key): value for part, key, value in step}
        assert sorted(read(table)) == sorted((*k, v) for k, v in model.items())
    if steps:
        check_table(table.location)


def test_buckets_of_all_partitions_are_numbered_one_after_the_other(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    x, y = partition("x"), partition("y")
    files = [file(name)._replace(file_size=size) for name, size in (("a", SOURCE_BYTES), ("b", 1), ("c", 1))]
    rewrite = postponed_rewrite(table, "user", plan_write(table), {x: files, y: files[1:]}, {x: 3, y: 2})
    assert (rewrite.first_owners, rewrite.owners) == ({x: 0, y: 3}, 5)
    assert [rewrite.partition_of(source) for source in rewrite.sources] == [x, x, y]
    assert [[f.file_name for f in source.files] for source in rewrite.sources] == [["a"], ["b", "c"], ["b", "c"]]


def test_deletion_vectors_of_other_partitions_stay(tmp_path: Path) -> None:
    table = make(tmp_path / "t", deletion__vectors_enabled="true", write__only="true")
    put(table, [(part, k, 1) for part in ("x", "y") for k in range(20)])
    compact(table)
    put(table, [(part, 3, 2) for part in ("x", "y")])
    compact(table, full=False)
    before, rows = table_state(table, latest(table)).index_entries, rows_of(table)
    assert {entry.partition for entry in before} == {partition("x"), partition("y")}
    rescale(open_table(table.location), 4, "part = 'x'")
    assert rows_of(table) == rows
    after = table_state(table, latest(table)).index_entries
    assert after == [entry for entry in before if entry.partition == partition("y")]
    check_table(table.location)


def test_a_rewrite_that_fails_leaves_no_file(tmp_path: Path) -> None:
    table = make(tmp_path / "t", write__buffer__size="1 mb")
    rewrite = postponed_rewrite(table, "user", plan_write(table), {}, {partition("x"): 1})
    schema = arrow_schema(table.schema.fields)

    def files() -> list[Path]:
        return [path for path in (tmp_path / "t").rglob("*") if path.is_file() and "bucket-" in str(path)]

    def batches() -> Iterator[tuple[pa.RecordBatch, None]]:
        for start in range(0, 180_000, 60_000):
            keys = [*range(start, start + 60_000)]
            columns = {"part": ["x"] * 60_000, "id": keys, "value": keys}
            yield pa.RecordBatch.from_pydict(columns, schema=schema), None
        assert files()
        raise OSError("the source is gone")

    with pytest.raises(OSError, match="the source is gone"):
        rewrite.write(batches())
    assert files() == []


def test_rows_that_move_are_older_than_what_others_write(tmp_path: Path) -> None:
    """They get the numbers of task 0, which no task of a write has."""
    table = make(tmp_path / "t")
    plan = plan_write(table)
    rewrite = postponed_rewrite(table, "user", plan, {}, {partition("x"): 2})
    schema = arrow_schema(table.schema.fields)
    batch = pa.RecordBatch.from_pydict({"part": ["x"] * 9, "id": [*range(9)], "value": [1] * 9}, schema=schema)
    files = [file for message in rewrite.write([(batch, None)]) for file in message.new_files]
    assert sum(file.row_count for file in files) == 9
    assert all(0 <= file.min_sequence_number - plan.first_sequence < TASK_STRIDE for file in files)


def _written_on(table: Table, first: int) -> None:
    """Files from a snapshot on are those of a job that goes on with 4 buckets, as Java's writers do after a rescale."""
    added = {file.file_name for file in _added(table, first - 1)}
    change_entries(Path(table.location), lambda e: [e if e.file.file_name in added else e._replace(total_buckets=4)])


def test_a_key_may_have_rows_in_buckets_of_two_numbers(tmp_path: Path) -> None:
    table = make(tmp_path / "t", keys=["id"], parts=[])
    put(table, rows("a", *range(40)))
    put(table, rows("a", *range(40), add=100))
    _written_on(table, 2)
    for buckets in (2, 3, 4):
        with pytest.raises(UnsupportedFeature, match="the table has files of 2 and 4 buckets"):
            rescale(table, buckets)
    assert latest(table).id == 2


@pytest.mark.parametrize("buckets", [2, 3, 4])
def test_rows_without_keys_may_lie_in_buckets_of_two_numbers(buckets: int, tmp_path: Path) -> None:
    table = make(tmp_path / "t", keys=[], parts=[], bucket__key="id")
    put(table, rows("a", *range(40)))
    put(table, rows("a", *range(40), add=100))
    before = sorted(read(table))
    _written_on(table, 2)
    assert rescale(table, buckets).rows == 80
    assert sorted(read(table)) == before
    assert {entry.total_buckets for entry in entries(table)} == {buckets}
    assert check(table.location, latest_only=True).is_good
