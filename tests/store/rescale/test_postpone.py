"""Postponed buckets: files as the official system writes them, their order, and how rows come into real buckets."""

from __future__ import annotations

import itertools
import uuid
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.faults.faulty_store import FaultyFileIO, When
from support.oracles.checker import check_table
from support.tables.commit_states import latest, with_rivals
from support.tables.expiring import copied
from support.tables.golden_tables import GoldenTable
from support.tables.staging import Row, put

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import CommitConflict, DataError, OptionError, PaimonError, UnsupportedFeature
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.manifest import DataFileMeta, ManifestEntry
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.snapshot import CommitKind
from paimon_spark.store.commit.attempt import table_state
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.postponed import bucket_number, in_write_order
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rescale.postpone_compact import compact_postponed, plan_postpone_compaction
from paimon_spark.store.rescale.postpone_placement import place_staged, postponed_rows
from paimon_spark.store.rescale.rescale import rescale
from paimon_spark.store.write.placement import STAGE_OWNERS, numbered_buckets
from paimon_spark.store.write.task_write import open_task_write
from paimon_spark.store.write.write_plan import plan_write
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([("part", pa.string()), ("id", pa.int64()), ("value", pa.string())])
WAITING = {"postpone.batch-write-fixed-bucket": "false"}
INSERT, BEFORE, AFTER, DELETE = range(4)


def make(path: Path, parts: Sequence[str] = (), **options: str) -> Table:
    stored = {"bucket": "-2"} | {k.replace("__", "-").replace("_", "."): v for k, v in options.items()}
    create_table(str(path), new_schema(COLUMNS, (*parts, "id"), parts, stored))
    return open_table(str(path))


def wait(table: Table, *tasks: Sequence[Row], kinds: Sequence[int] | None = None) -> int | None:
    return put(table.with_options(WAITING), *tasks, kinds=kinds)


def entries(table: Table) -> list[ManifestEntry]:
    return table_state(table, latest(table)).live_entries(None)


def waiting(table: Table) -> list[DataFileMeta]:
    return in_write_order(e.file for e in entries(table) if e.bucket == -2)


def numbers(table: Table) -> set[int]:
    return {e.total_buckets for e in entries(table) if e.bucket >= 0}


def read(table: Table, *columns: str) -> list[Row]:
    found = open_table(table.location).scan(columns or ("id", "value")).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def data_files(table: Table) -> set[str]:
    return {p.name for p in Path(table.location).rglob("data-*")}


def rows(*keys: int, value: str = "x", part: str = "p") -> list[Row]:
    return [(part, key, f"{value}{key}") for key in keys]


# ------------------------------------------------------------------------------------------------------ postponed files


def test_a_postponed_file_is_as_the_official_system_writes_it(tmp_path: Path) -> None:
    """The golden table has a file of five inserts and one of two changes, both of one writer."""
    golden = open_table(str(GoldenTable("java-2.1", "postpone").unpack(tmp_path)))
    create_table(str(tmp_path / "ours"), replace(golden.schema, options={**golden.schema.options}))
    ours = open_table(str(tmp_path / "ours"), WAITING)
    for entry in entries(golden):
        for batch, kinds in postponed_rows(golden, entry.partition, [entry.file]):
            write = open_task_write(ours, "gen-user", 2077118625)
            write.write(batch, kinds)
            TableCommit(ours, str(uuid.uuid4())).append(write.finish())
    # Names but for the uuid, and all metadata but for size and time.
    theirs, mine = ([_comparable(e) for e in entries(table)] for table in (golden, ours))
    assert mine == theirs
    assert [_records(ours, e) for e in entries(ours)] == [_records(golden, e) for e in entries(golden)]


def _comparable(entry: ManifestEntry) -> ManifestEntry:
    name = entry.file.file_name
    head, tail = name[: name.index("-w-") + 3], name[name.index("-w-") + 39 :]
    number = tail.removeprefix("-").split(".")[0]
    assert tail == f"-{number}.avro"
    file = entry.file._replace(file_name=head, file_size=0, creation_time=0)
    return entry._replace(file=file)


def _records(table: Table, entry: ManifestEntry) -> tuple[Any, list[Any]]:
    with Path(table.location, "bucket-postpone", entry.file.file_name).open("rb") as stream:
        reader = fastavro.reader(stream)
        return reader.writer_schema, list(reader)


def test_plain_reads_do_not_see_what_waits_and_row_counts_do(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    assert wait(table, rows(1, 2), rows(3)) == 1
    assert read(table) == []
    assert latest(table).total_record_count == 3
    assert [(f.row_count, f.min_sequence_number) for f in waiting(table)] == [(2, -1), (1, -1)]
    check_table(table.location)


def test_types_that_avro_cannot_hold_are_written_in_the_format_of_the_table(tmp_path: Path) -> None:
    columns = pa.schema([("id", pa.int64()), ("at", pa.timestamp("ns"))])
    create_table(str(tmp_path / "t"), new_schema(columns, ["id"], (), {"bucket": "-2"}))
    table = open_table(str(tmp_path / "t"), WAITING)
    put(table, [(1, 1_700_000_000_123_456_789)])
    (file,) = waiting(table)
    assert file.file_name.endswith(".parquet")
    assert file.value_stats_cols is None  # the official system leaves statistics out only with Avro
    compact_postponed(table)
    assert read(table, "id", "at")[0][1].value == 1_700_000_000_123_456_789


@pytest.mark.parametrize(("formats", "expected"), [("0:orc,1:parquet", ".orc"), ("1:orc", ".avro")])
def test_the_format_of_level_0_is_that_of_postponed_files(tmp_path: Path, formats: str, expected: str) -> None:
    table = make(tmp_path / "t", file_format_per_level=formats, postpone_default__bucket__num="1")
    wait(table, rows(1))
    assert [Path(file.file_name).suffix for file in waiting(table)] == [expected]
    compact_postponed(table)
    assert read(table) == [(1, "x1")]


def test_a_retraction_that_the_engine_refuses_is_refused_when_it_is_written(tmp_path: Path) -> None:
    table = make(tmp_path / "t", merge__engine="partial-update")
    with pytest.raises(DataError):
        wait(table, rows(1), kinds=[DELETE])
    ignoring = make(tmp_path / "u", merge__engine="partial-update", ignore__delete="true")
    wait(ignoring, rows(1, 2), kinds=[DELETE, INSERT])
    assert sum(f.row_count for f in waiting(ignoring)) == 1


def test_the_newer_row_wins_over_tasks_files_and_jobs(tmp_path: Path) -> None:
    table = make(tmp_path / "t", target__file__row__num="2", postpone_default__bucket__num="3")
    table = open_table(table.location, {"target-file-row-num": "2", "postpone.default-bucket-num": "3"})
    wait(table, rows(1, 2, 3, 4, 5, value="a"), rows(1, 2, value="b"))
    wait(table, [("p", 1, "d1"), ("p", 1, "c1")], rows(4, value="c"))
    assert len(waiting(table)) == 6
    done = compact_postponed(table)
    assert (done.files, done.rows, done.left) == (6, 10, ())
    assert read(table) == [(1, "c1"), (2, "b2"), (3, "a3"), (4, "c4"), (5, "a5")]
    assert latest(table).commit_kind == CommitKind.COMPACT
    assert latest(table).delta_record_count == 5 - 10
    assert not waiting(table)
    assert numbers(table) == {3}
    check_table(table.location)


def test_deletes_wait_as_rows_do(tmp_path: Path) -> None:
    table = make(tmp_path / "t", postpone_default__bucket__num="2")
    put(table, rows(1, 2, 3))
    wait(table, [*rows(1), *rows(2, value="u")], kinds=[DELETE, AFTER])
    compact_postponed(table)
    assert read(table) == [(2, "u2"), (3, "x3")]
    assert compact_postponed(table).snapshot_ids == ()


def test_only_the_partitions_that_are_asked_for_move(tmp_path: Path) -> None:
    table = make(tmp_path / "t", parts=("part",), postpone_default__bucket__num="1")
    wait(table, [*rows(1, part="a"), *rows(1, part="b")])
    assert compact_postponed(table, "part = 'a'").files == 1
    assert read(table, "part", "id") == [("a", 1)]
    assert [f.row_count for f in waiting(table)] == [1]


def test_a_table_without_postponed_buckets_is_refused_by_name(tmp_path: Path) -> None:
    create_table(str(tmp_path / "t"), new_schema(COLUMNS, ["id"], (), {"bucket": "3"}))
    with pytest.raises(UnsupportedFeature, match="'bucket' is 3"):
        compact_postponed(open_table(str(tmp_path / "t")))


# ------------------------------------------------------------------------------------------------- exactly once


def test_what_another_job_has_moved_is_not_moved_again(tmp_path: Path) -> None:
    table = make(tmp_path / "t", postpone_default__bucket__num="2")
    wait(table, rows(1, 2, 3))
    rival = with_rivals(table, lambda: compact_postponed(table))
    assert compact_postponed(rival).snapshot_ids == ()  # planned anew, and nothing is left
    assert read(table) == [(1, "x1"), (2, "x2"), (3, "x3")]
    live = {e.file.file_name for e in entries(table)}
    assert {n for n in data_files(table) if n.endswith(".parquet")} == live  # the loser's files are gone
    check_table(table.location)


def test_a_partition_that_others_replace_is_left_out_and_the_rest_moves(tmp_path: Path) -> None:
    table = make(tmp_path / "t", parts=("part",), postpone_default__bucket__num="1")
    wait(table, [*rows(1, part="a"), *rows(1, part="b")])

    def overwrite() -> None:
        TableCommit(table, str(uuid.uuid4())).overwrite([], {"part": "a"})

    done = compact_postponed(with_rivals(table, overwrite))
    assert (done.files, done.left) == (1, ("partition part=a",))
    assert read(table, "part", "id") == [("b", 1)]
    check_table(table.location)


def test_a_partition_that_gets_another_number_of_buckets_concurrently_is_planned_anew(tmp_path: Path) -> None:
    table = make(tmp_path / "t", postpone_default__bucket__num="2")
    wait(table, rows(*range(50)))
    other = table.with_options({"postpone.default-bucket-num": "5"})
    done = compact_postponed(with_rivals(table, lambda: put(other, rows(100))))
    assert done.files == 1
    assert numbers(table) == {5}
    assert len(read(table)) == 51


@pytest.mark.parametrize("tries", [2, 3])
def test_numbers_of_buckets_that_change_with_every_try(tmp_path: Path, tries: int) -> None:
    """The third plan is the last."""
    table = make(tmp_path / "t", parts=("part",), postpone_default__bucket__num="2")
    wait(table, rows(1, 2, 3))
    other = table.with_options({"postpone.default-bucket-num": "5"})
    rivals = [
        lambda: put(other, rows(100)),
        lambda: rescale(open_table(table.location), 7, "part = 'p'"),
        lambda: rescale(open_table(table.location), 3, "part = 'p'"),
    ]
    job = with_rivals(table, *rivals[:tries])
    if tries == 3:
        with pytest.raises(CommitConflict):
            compact_postponed(job)
        assert len(waiting(table)) == 1
    else:
        assert compact_postponed(job).files == 1
        assert numbers(table) == {7}
    check_table(table.location)


def test_rows_written_concurrently_are_newer_than_those_that_move(tmp_path: Path) -> None:
    table = make(tmp_path / "t", postpone_default__bucket__num="1")
    put(table, rows(9))
    wait(table, rows(*range(5), value="old"))
    compact_postponed(with_rivals(table, lambda: put(table, rows(*range(5), value="new"))))
    assert read(table) == [*((k, f"new{k}") for k in range(5)), (9, "x9")]


@pytest.mark.parametrize("when", list(When))
def test_a_fault_anywhere_loses_and_doubles_nothing(tmp_path: Path, when: When) -> None:
    whole = make(tmp_path / "whole", postpone_default__bucket__num="2")
    wait(whole, rows(1, 2, 3))
    for number in itertools.count():
        copy = copied(whole, tmp_path / str(number))
        faulty = FaultyFileIO(LocalFileIO(), number, when)
        with suppress(OSError, PaimonError):
            compact_postponed(replace(copy, file_io=faulty))
        compact_postponed(copy)
        assert read(copy) == [(1, "x1"), (2, "x2"), (3, "x3")]
        assert not waiting(copy)
        if len(faulty.log) <= number:
            break


# ----------------------------------------------------------------------------------------------- fixed buckets at once


def test_a_batch_write_is_visible_at_once_in_as_many_buckets_as_its_rows_need(tmp_path: Path) -> None:
    table = make(tmp_path / "t", postpone_target__row__num__per__bucket="10")
    assert put(table, rows(*range(20)), rows(*range(10, 25), value="b")) == 1
    assert numbers(table) == {4}  # 35 rows: four buckets of ten
    assert read(table) == sorted(((k, f"{'b' if k >= 10 else 'x'}{k}") for k in range(25)), key=repr)
    assert not any("-u-" in name for name in data_files(table))  # what was staged is gone
    check_table(table.location)


def test_partitions_that_have_buckets_keep_their_number(tmp_path: Path) -> None:
    table = make(tmp_path / "t", parts=("part",), postpone_target__row__num__per__bucket="10")
    put(table, rows(*range(20), part="a"))
    put(table, [*rows(*range(100), part="a", value="y"), *rows(*range(40), part="b")])
    totals = {(e.partition, e.total_buckets) for e in entries(table)}
    assert sorted(total for _, total in totals) == [2, 4]
    assert Counter(r[0] for r in read(table, "part", "id")) == {"a": 100, "b": 40}


@pytest.mark.parametrize(("count", "told"), [(320, False), (330, True)])
def test_a_job_that_brings_far_more_rows_than_the_buckets_are_for_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, count: int, told: bool
) -> None:
    table = make(tmp_path / "t", postpone_target__row__num__per__bucket="10")
    put(table, rows(1))
    put(table, rows(*range(count)))
    assert ("rescale(64" in caplog.text) == told
    assert numbers(table) == {1}


def test_the_golden_table_reads_empty_until_its_rows_have_moved(tmp_path: Path) -> None:
    table = open_table(str(GoldenTable("java-2.1", "postpone").unpack(tmp_path)))
    assert read(table, "k", "v") == []
    expected = [(0, "v0"), (1, "v1"), (3, "u3"), (4, "v4")]
    merging = open_table(table.location, {"postpone.merge-on-read": "true"}).scan().to_arrow().to_pylist()
    assert sorted(tuple(row.values()) for row in merging) == expected
    assert compact_postponed(table).files == 2
    assert read(table, "k", "v") == expected
    check_table(table.location)


def test_the_default_number_needs_no_staging(tmp_path: Path) -> None:
    table = make(tmp_path / "t", postpone_default__bucket__num="3")
    user, plan = "u", plan_write(table)
    write = open_task_write(table, user, 0, plan)
    schema = arrow_schema(table.schema.fields)
    write.write(pa.RecordBatch.from_pylist([{"part": "p", "id": 1, "value": "x"}], schema=schema))
    messages = write.finish()
    assert {(m.bucket >= 0, m.total_buckets) for m in messages} == {(True, 3)}


def test_two_jobs_that_choose_different_numbers_conflict(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    two, five = (table.with_options({"postpone.default-bucket-num": n}) for n in ("2", "5"))
    with pytest.raises(CommitConflict, match="has 5 buckets, and this job wrote for 2"):
        put(with_rivals(two, lambda: put(five, rows(1))), rows(2))
    assert read(table) == [(1, "x1")]


@pytest.mark.parametrize(
    ("options", "rows_size", "expected"),
    [
        ({}, (10**6, 0), 1),
        ({}, (1, 2**30), 1),
        ({}, (1, 2**30 + 1), 2),
        ({}, (1, 3 * 2**30), 4),
        ({}, (1, 10**15), 2048),
        ({"postpone.batch-write-fixed-bucket.max-parallelism": "100"}, (1, 10**15), 100),
        ({"postpone.batch-write-fixed-bucket.max-parallelism": "1"}, (1, 10**15), 1),
        ({"postpone.target-row-num-per-bucket": "10"}, (0, 10**15), 1),
        ({"postpone.target-row-num-per-bucket": "10"}, (30, 10**15), 4),
        ({"postpone.target-row-num-per-bucket": "10"}, (41, 0), 8),
        ({"postpone.target-size-per-bucket": "1 mb"}, (0, 5 * 2**20), 8),
        ({"postpone.default-bucket-num": "7", "postpone.target-row-num-per-bucket": "1"}, (100, 0), 7),
    ],
)
def test_the_number_of_buckets_of_a_new_partition(
    options: dict[str, str], rows_size: tuple[int, int], expected: int
) -> None:
    assert bucket_number(*rows_size, TableSettings(options)) == expected


@pytest.mark.parametrize(
    "key",
    [
        "postpone.default-bucket-num",
        "postpone.target-row-num-per-bucket",
        "postpone.target-size-per-bucket",
        "postpone.batch-write-fixed-bucket.max-parallelism",
    ],
)
def test_a_number_that_is_not_positive_is_refused_before_a_row_is_written(tmp_path: Path, key: str) -> None:
    table = make(tmp_path / "t")
    with pytest.raises(OptionError, match=key):
        open_task_write(table.with_options({key: "0"}), "u")


def test_a_failed_move_leaves_nothing_behind(tmp_path: Path) -> None:
    table = make(tmp_path / "t", parts=("part",))
    user, plan, schema = "u", plan_write(table), arrow_schema(table.schema.fields)
    write = open_task_write(table, user, 0, plan)
    for part in "ab":
        write.write(pa.RecordBatch.from_pylist([{"part": part, "id": 1, "value": "x"}], schema=schema))
    messages = write.finish()
    broken = next(Path(table.location).rglob("part=b/**/data-*"))
    broken.write_bytes(b"not parquet")
    before = data_files(table)
    with pytest.raises(Exception, match="data file"):
        place_staged(table, user, plan, messages)
    assert data_files(table) == before


# ------------------------------------------------------------------------------------------------------------- a model

_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "wait", "move"]),
        st.lists(st.tuples(st.integers(0, 6), st.sampled_from([INSERT, DELETE]), st.integers(0, 99)), max_size=6),
    ),
    max_size=7,
)


@settings(max_examples=25)
@given(steps=_STEPS, number=st.integers(1, 4))
def test_histories_of_writes_and_moves(tmp_path_factory: pytest.TempPathFactory, steps: Any, number: int) -> None:
    """What waits is newer than all that is in buckets when it moves."""
    table = make(tmp_path_factory.mktemp("h") / "t", postpone_default__bucket__num=str(number))
    visible: dict[int, str] = {}
    queue: list[tuple[int, int, str]] = []
    for verb, changes in steps:
        batch = [("p", key, str(value)) for key, _, value in changes]
        kinds = [kind for _, kind, _ in changes]
        if verb == "move":
            compact_postponed(table)
            todo, queue = queue, []
        elif verb == "wait":
            wait(table, batch, kinds=kinds)
            queue += [(key, kind, str(value)) for key, kind, value in changes]
            todo = []
        else:
            put(table, batch, kinds=kinds)
            todo = [(key, kind, str(value)) for key, kind, value in changes]
        for key, kind, value in todo:
            if kind == DELETE:
                visible.pop(key, None)
            else:
                visible[key] = value
        assert read(table) == sorted(visible.items(), key=repr)
    check_table(table.location)


def test_rows_that_are_staged_are_shared_by_so_many_tasks_and_others_go_to_their_buckets(tmp_path: Path) -> None:
    table = make(tmp_path / "t", ("part",))
    put(table, rows(*range(3), part="old"))
    assert numbers(table) == {1}
    batch = pa.Table.from_pylist(
        [dict(zip(COLUMNS.names, row, strict=True)) for part in ("old", "new") for row in rows(*range(999), part=part)],
        arrow_schema(table.schema.fields),
    ).to_batches()[0]
    found = numbered_buckets(table, plan_write(table), batch).tolist()
    assert set(found[:999]) == {0}
    assert set(found[999:]) == set(range(STAGE_OWNERS))


def test_rows_of_a_table_that_cannot_be_written_do_not_move(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    refused = replace(table, settings=table.settings.merged({"batch-scan-mode": "compact"}))
    with pytest.raises(UnsupportedFeature, match="batch-scan-mode"):
        plan_postpone_compaction(refused)
    assert plan_postpone_compaction(table).files == {}
