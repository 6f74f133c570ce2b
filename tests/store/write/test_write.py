"""What a task writes: files, their metadata, and that reading gives the rows back (Java: MergeTreeWriter)."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.faults.faulty_store import FaultyFileIO, InjectedFault, When
from support.long_runs import examples
from support.oracles.checker import check_table

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.manifest import EMPTY_ROW, EMPTY_STATS, DataFileMeta
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.data_writer import SHORT_BYTES
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.store.write.write_plan import TASK_STRIDE, WritePlan, plan_write
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([("part", pa.string()), ("id", pa.int64()), ("value", pa.string())])
Row = tuple[Any, ...]
INSERT, BEFORE, AFTER, DELETE = range(4)


def make(
    path: Path,
    keys: Sequence[str] = ("part", "id"),
    parts: Sequence[str] = ("part",),
    columns: pa.Schema = COLUMNS,
    **options: str,
) -> Table:
    stored = {k.replace("__", "-").replace("_", "."): v for k, v in options.items()}
    create_table(str(path), new_schema(columns, keys, parts, stored))
    return open_table(str(path))


def batch(table: Table, rows: Sequence[Row]) -> pa.RecordBatch:
    schema = arrow_schema(table.schema.fields)
    columns = [list(c) for c in zip(*rows, strict=True)] if rows else [[] for _ in schema]
    return pa.RecordBatch.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema
    )


def write(table: Table, rows: Sequence[Row], kinds: Sequence[int] | None = None, **more: Any) -> list[CommitMessage]:
    task = TableWrite(table, "task", **more)
    task.write(batch(table, rows), None if kinds is None else np.array(kinds, np.int8))
    return task.finish()


def commit(table: Table, *messages: CommitMessage) -> None:
    TableCommit(table, f"user-{time.monotonic_ns()}").append(messages)


def read(table: Table) -> list[Row]:
    found = open_table(table.location).scan().to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def files(messages: Sequence[CommitMessage]) -> list[DataFileMeta]:
    return [file for message in messages for file in message.new_files]


def path_of(table: Table, message: CommitMessage, file: DataFileMeta) -> Path:
    (part,) = decode_arity_row(message.partition, [f.type for f in table.schema.partition_fields]) or ("",)
    directory = f"part={part}" if table.schema.partition_keys else ""
    return Path(table.location, directory, f"bucket-{message.bucket}", file.file_name)


# --- files and their metadata ---------------------------------------------------------------------------------------


def test_a_keyed_file(tmp_path: Path) -> None:
    table = make(tmp_path, bucket="1")
    plan = WritePlan(since=0, first_sequence=100)
    rows = [("p", 5, "a"), ("p", 3, "b"), ("p", 5, "c"), ("p", 4, None)]
    before = time.time()
    (message,) = write(table, rows, [INSERT, DELETE, AFTER, INSERT], plan=plan)
    (file,) = message.new_files
    assert (message.bucket, message.total_buckets) == (0, 1)
    key = [table.schema.by_name["id"].type]
    assert (decode_arity_row(file.min_key, key), decode_arity_row(file.max_key, key)) == ((3,), (5,))
    assert (file.row_count, file.delete_row_count, file.level, file.file_source, file.schema_id) == (3, 1, 0, 0, 0)
    assert (file.min_sequence_number, file.max_sequence_number) == (101, 103)
    assert (decode_arity_row(file.key_stats.min_values, key), file.key_stats.null_counts) == ((3,), (0,))
    values = [f.type for f in table.schema.fields]
    assert decode_arity_row(file.value_stats.min_values, values) == ("p", 3, "b")
    assert decode_arity_row(file.value_stats.max_values, values) == ("p", 5, "c")
    assert file.value_stats.null_counts == (0, 0, 1)
    assert file.value_stats_cols is None
    assert abs((file.creation_time or 0) / 1000 - time.localtime().tm_gmtoff - before) < 60
    assert file.file_name.startswith("data-")
    assert file.file_name.endswith("-0.parquet")
    stored = pq.read_table(path_of(table, message, file), partitioning=None)
    assert stored.to_pydict() == {
        "_KEY_id": [3, 4, 5],
        "_SEQUENCE_NUMBER": [101, 103, 102],
        "_VALUE_KIND": [DELETE, INSERT, AFTER],
        "part": ["p", "p", "p"],
        "id": [3, 4, 5],
        "value": ["b", None, "c"],
    }
    assert path_of(table, message, file).stat().st_size == file.file_size


def test_a_thin_file_stores_keys_once(tmp_path: Path) -> None:
    table = make(tmp_path, bucket="1", data__file_thin__mode="true")
    assert table.settings["data-file.thin-mode"] == "true"
    (message,) = write(table, [("p", 5, "a"), ("p", 3, "b")])
    (file,) = message.new_files
    names = pq.read_schema(path_of(table, message, file)).names
    assert names == ["_SEQUENCE_NUMBER", "_VALUE_KIND", "part", "id", "value"]
    assert decode_arity_row(file.key_stats.max_values, [table.schema.by_name["id"].type]) == (5,)
    commit(table, message)
    check_table(table.location)
    assert read(table) == [("p", 3, "b"), ("p", 5, "a")]


def test_an_append_file(tmp_path: Path) -> None:
    table = make(tmp_path, keys=(), parts=())
    (message,) = write(table, [("p", 5, "a"), ("q", 5, "a"), (None, None, None)])
    (file,) = message.new_files
    assert (message.bucket, message.total_buckets, message.partition) == (0, -1, EMPTY_ROW)
    assert (file.min_key, file.max_key, file.key_stats) == (EMPTY_ROW, EMPTY_ROW, EMPTY_STATS)
    assert (file.min_sequence_number, file.max_sequence_number, file.delete_row_count) == (0, 2, 0)
    assert pq.read_schema(path_of(table, message, file)).names == ["part", "id", "value"]
    commit(table, message)
    assert len(read(table)) == 3


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_every_format_comes_back(tmp_path: Path, file_format: str) -> None:
    table = make(tmp_path, bucket="2", file_format=file_format)
    rows = [("p", n, f"v{n}" * 3) for n in range(500)]
    messages = write(table, rows)
    assert all(file.file_name.endswith(f".{file_format}") for file in files(messages))
    commit(table, *messages)
    check_table(table.location)
    assert read(table) == sorted(rows, key=repr)


def test_a_timestamp_that_orc_cannot_hold_goes_to_a_parquet_file(tmp_path: Path) -> None:
    columns = pa.schema([("id", pa.int64()), ("t", pa.timestamp("us"))])
    make(tmp_path, keys=("id",), parts=(), columns=columns, bucket="1", file_format="orc")
    old = datetime(1969, 1, 1, 0, 0, 0, 5001)
    for n, (options, value) in enumerate([({}, old.replace(microsecond=5000)), ({"file.format": "parquet"}, old)]):
        table = open_table(str(tmp_path), options)
        commit(table, *write(table, [(n, value)]))
    with pytest.raises(UnsupportedFeature, match=r"'t'.*00\.005001.*'file\.format' = 'parquet'"):
        write(open_table(str(tmp_path)), [(2, old)])
    assert read(table) == [(0, old.replace(microsecond=5000)), (1, old)]
    check_table(table.location)


def test_names_and_places(tmp_path: Path) -> None:
    options = {
        "data__file_prefix": "x-",
        "file_suffix_include_compression": "true",
        "data__file_path__directory": "deep/data",
        "file_format_per_level": "0:orc,5:parquet",
        "file_compression_per_level": "0:lz4",
    }
    table = make(tmp_path, bucket="1", **options)
    messages = write(table, [("a/b=c", 1, "v")])
    (file,) = files(messages)
    assert file.file_name.startswith("x-")
    assert file.file_name.endswith("-0.lz4.orc")
    assert (tmp_path / "deep" / "data" / "part=a%2Fb%3Dc" / "bucket-0" / file.file_name).exists()
    commit(table, *messages)
    assert read(table) == [("a/b=c", 1, "v")]


@pytest.mark.parametrize(("keys", "second"), [(("id",), [2]), ((), [0])], ids=["keyed", "append"])
def test_the_first_row_of_a_table_is_number_0(tmp_path: Path, keys: Sequence[str], second: list[int]) -> None:
    """As in the golden tables. Rows of a keyed table are numbered on; those of an append table anew in each job."""
    table = make(tmp_path, keys, (), bucket="1" if keys else "-1")
    for numbers in ([0], second):
        messages = write(table, [("x", 1, "a"), ("x", 2, "b")], plan=plan_write(table))
        commit(table, *messages)
        assert [file.min_sequence_number for file in files(messages)] == numbers


def test_rolling_by_rows_and_by_size(tmp_path: Path) -> None:
    table = make(tmp_path / "rows", bucket="1", target__file__row__num="300")
    rows = [("p", n, "v") for n in np.random.default_rng(1).permutation(1000).tolist()]
    messages = write(table, rows)
    assert [file.row_count for file in files(messages)] == [300, 300, 300, 100]
    commit(table, *messages)
    check_table(table.location)
    assert read(table) == sorted(rows, key=repr)
    table = make(tmp_path / "size", keys=(), parts=(), target__file__size="1 mb")
    noise = np.random.default_rng(2).bytes(6_000_000).hex()
    task = TableWrite(table, "u")
    for start in range(0, 60):
        task.write(
            batch(table, [("p", n, noise[n * 2000 : n * 2000 + 2000]) for n in range(start * 100, start * 100 + 100)])
        )
    found = files(task.finish())
    assert len(found) > 3
    assert all(file.file_size < 4 * 2**20 for file in found)
    assert sum(file.row_count for file in found) == 6000
    assert [f.min_sequence_number for f in found[1:]] == [f.max_sequence_number + 1 for f in found[:-1]]


def test_a_full_buffer_becomes_files_of_level_0(tmp_path: Path) -> None:
    table = make(tmp_path, bucket="1", write__buffer__size="5 kb")
    task = TableWrite(table, "u")
    for turn in range(5):
        task.write(batch(table, [("p", n, f"turn {turn}") for n in range(300)]))
    messages = task.finish()
    found = files(messages)
    assert len(found) == 5
    assert {file.level for file in found} == {0}
    assert [f.min_sequence_number for f in found[1:]] == [f.max_sequence_number + 1 for f in found[:-1]]
    commit(table, *messages)
    check_table(table.location)
    assert read(table) == sorted((("p", n, "turn 4") for n in range(300)), key=repr)


def test_many_partitions_do_not_keep_many_files_open(tmp_path: Path) -> None:
    table = make(tmp_path, keys=(), write__buffer__size="1 kb")
    rows = [(f"p{n % 60}", n, "v") for n in range(600)]
    messages = write(table, rows)
    assert len(messages) == 60
    commit(table, *messages)
    check_table(table.location)
    assert read(table) == sorted(rows, key=repr)


def test_no_rows_no_files(tmp_path: Path) -> None:
    table = make(tmp_path, bucket="1")
    assert write(table, []) == []
    assert TableWrite(table, "u").finish() == []
    assert not list(tmp_path.glob("**/*.parquet"))


def test_blank_and_null_partitions_share_a_directory_and_nothing_else(tmp_path: Path) -> None:
    table = make(tmp_path, keys=())
    rows = [(None, 1, "null"), ("", 2, "empty"), ("  ", 3, "blank"), ("é", 4, "x")]
    messages = write(table, rows)
    assert len(messages) == 4
    commit(table, *messages)
    assert {p.name for p in tmp_path.glob("part=*")} == {"part=__DEFAULT_PARTITION__", "part=é"}
    assert read(table) == sorted(rows, key=repr)
    TableCommit(table, "o").overwrite([], {"part": ""})
    assert read(table) == sorted([row for row in rows if row[0] != ""], key=repr)
    check_table(table.location)


# --- what rows mean -------------------------------------------------------------------------------------------------


def test_later_rows_win_across_commits_and_tasks(tmp_path: Path) -> None:
    table = make(tmp_path, bucket="1")
    commit(table, *write(table, [("p", 1, "old"), ("p", 2, "old")]))
    plan = plan_write(table)
    assert plan == WritePlan(1, 2)
    newer = write(table, [("p", 1, "task 7")], task_id=7, plan=plan)
    older = write(table, [("p", 1, "task 3"), ("p", 2, "task 3")], task_id=3, plan=plan)
    assert files(newer)[0].min_sequence_number == 2 + 7 * TASK_STRIDE
    commit(table, *newer, *older)
    assert read(table) == [("p", 1, "task 7"), ("p", 2, "task 3")]
    assert plan_write(table).first_sequence == 2 + 7 * TASK_STRIDE + 1


def test_deletes(tmp_path: Path) -> None:
    table = make(tmp_path, bucket="1")
    commit(table, *write(table, [("p", n, "v") for n in range(4)]))
    commit(table, *write(table, [("p", 1, None), ("p", 2, "x"), ("p", 9, None)], [DELETE, BEFORE, DELETE]))
    assert read(table) == [("p", 0, "v"), ("p", 3, "v")]
    check_table(table.location)


def test_the_sequence_field_beats_the_order_of_rows(tmp_path: Path) -> None:
    columns = pa.schema([("id", pa.int64()), ("version", pa.int32()), ("value", pa.string())])
    table = make(tmp_path, ("id",), (), columns, bucket="1", sequence_field="version")
    rows = [(1, 5, "a"), (1, 3, "b"), (1, 5, "c"), (2, None, "d"), (2, 1, "e"), (2, None, "f")]
    commit(table, *write(table, rows))
    assert read(table) == [(1, 5, "c"), (2, 1, "e")]
    commit(table, *write(table, [(1, 4, "late"), (2, 1, "same version")]))
    assert read(table) == [(1, 5, "c"), (2, 1, "same version")]


def test_row_kinds_from_a_column(tmp_path: Path) -> None:
    columns = pa.schema([("id", pa.int64()), ("op", pa.string())])
    table = make(tmp_path, ("id",), (), columns, bucket="1", rowkind_field="op")
    commit(table, *write(table, [(1, "+I"), (2, "+U"), (3, "+I")]))
    commit(table, *write(table, [(1, "-D"), (2, "-U"), (3, "+U")]))
    assert read(table) == [(3, "+U")]
    for wrong in ("D", None):
        with pytest.raises(DataError, match=rf"column 'op'.*\+I, -U, \+U or -D; found {wrong!r}"):
            write(table, [(4, "+I"), (1, wrong)])


@pytest.mark.parametrize(
    ("option", "left"),
    [("ignore__delete", [(1, "a"), (2, "b"), (3, "new")]), ("ignore__update__before", [(2, "b"), (3, "new")])],
)
def test_ignored_kinds(tmp_path: Path, option: str, left: list[Row]) -> None:
    columns = pa.schema([("id", pa.int64()), ("value", pa.string())])
    table = make(tmp_path, ("id",), (), columns, bucket="1", **{option: "true"})
    commit(table, *write(table, [(1, "a"), (2, "b"), (3, "c")]))
    messages = write(table, [(1, "x"), (2, "x"), (3, "new")], [DELETE, BEFORE, AFTER])
    assert files(messages)[0].delete_row_count == (0 if option == "ignore__delete" else 1)
    commit(table, *messages)
    assert read(table) == left


def test_append_tables_take_inserts_only(tmp_path: Path) -> None:
    table = make(tmp_path, keys=(), parts=())
    with pytest.raises(DataError, match="no primary key and takes inserts only; found a row of kind -D"):
        write(table, [("p", 1, "v")], [DELETE])
    commit(table, *write(table, [("p", 1, "v")], [INSERT]))
    assert read(table) == [("p", 1, "v")]


@pytest.mark.parametrize(("row", "column"), [((None, 1, "v"), "part"), (("p", None, "v"), "id")])
def test_a_null_in_the_key(tmp_path: Path, row: Row, column: str) -> None:
    table = make(tmp_path, bucket="1")
    with pytest.raises(DataError, match=f"primary key column '{column}' of .* is null in at least 1 of the rows"):
        write(table, [("p", 1, "v"), row])


def test_a_null_in_a_not_null_column(tmp_path: Path) -> None:
    columns = pa.schema([pa.field("id", pa.int64()), pa.field("value", pa.string(), nullable=False)])
    table = make(tmp_path, (), (), columns)
    with pytest.raises(DataError, match=r"NOT NULL column 'value' of .* is null in at least 1 of the rows"):
        write(table, [(1, None)])


def test_rows_of_other_columns(tmp_path: Path) -> None:
    table = make(tmp_path, keys=(), parts=())
    task = TableWrite(table, "u")
    with pytest.raises(DataError, match=r"columns \(x int64\), expected \(part string, id int64, value string\)"):
        task.write(pa.RecordBatch.from_pydict({"x": [1]}))


def test_fixed_buckets_of_an_append_table(tmp_path: Path) -> None:
    table = make(tmp_path, keys=(), parts=(), bucket="4", bucket__key="id")
    rows = [("p", n, "v") for n in range(100)]
    messages = write(table, rows)
    assert {m.total_buckets for m in messages} == {4}
    assert len(messages) == 4
    commit(table, *messages)
    assert read(table) == sorted(rows, key=repr)
    assert plan_write(table).first_sequence == max(f.max_sequence_number for f in files(messages)) + 1


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"bucket": "1", "metadata_iceberg_storage": "rest-catalog"}, "places of Iceberg metadata"),
        ({"bucket": "1", "manifest_format": "orc"}, "manifests of another format than Avro"),
    ],
)
def test_tables_this_release_does_not_write(tmp_path: Path, options: Mapping[str, str], what: str) -> None:
    table = make(tmp_path, **options)
    with pytest.raises(UnsupportedFeature, match=what):
        TableWrite(table, "u")
    with pytest.raises(UnsupportedFeature, match=what):
        TableCommit(table, "u")


# --- aborts ---------------------------------------------------------------------------------------------------------


def test_abort_deletes_all_files_of_the_task_and_no_others(tmp_path: Path) -> None:
    table = make(tmp_path, keys=(), write__buffer__size="1 b")
    commit(table, *write(table, [("p", 1, "kept")]))
    task = TableWrite(table, "u")
    for n in range(40):
        task.write(batch(table, [(f"p{n}", n, "v")]))
    task.finish()
    task.write(batch(table, [("open", 1, "v")]))
    task.abort()
    assert len(list(tmp_path.glob("**/*.parquet"))) == 1
    assert read(table) == [("p", 1, "kept")]


def test_no_thread_of_a_task_outlives_its_abort(tmp_path: Path) -> None:
    """It could go on with a file after the files are deleted."""
    before = set(threading.enumerate())
    table = make(tmp_path, keys=(), parts=())
    task = TableWrite(table, "u")
    task.write(batch(table, [("p", 1, "v" * SHORT_BYTES)]))  # fewer bytes are encoded without a thread
    assert set(threading.enumerate()) > before
    task.abort()
    assert set(threading.enumerate()) == before


@pytest.mark.parametrize("when", list(When))
@pytest.mark.parametrize("name", ["!open_output", "!stream write", "!stream close"])
def test_abort_after_a_failure(tmp_path: Path, name: str, when: When) -> None:
    whole = make(tmp_path, bucket="2")
    table = replace(whole, file_io=FaultyFileIO(LocalFileIO(), 1, when, named=name))
    task = TableWrite(table, "u")
    task.write(batch(table, [("p", n, "v") for n in range(100)]))
    with pytest.raises(InjectedFault):
        task.finish()
    task.abort()
    assert list(tmp_path.glob("**/*.parquet")) == []


# --- random histories -----------------------------------------------------------------------------------------------

KEYS = st.integers(0, 12)
CHANGES = st.lists(
    st.tuples(st.sampled_from("pq"), KEYS, st.text(max_size=3), st.sampled_from([INSERT, AFTER, DELETE]))
)


@given(st.lists(st.tuples(st.sampled_from(["append", "dynamic", "all"]), CHANGES), max_size=6), st.sampled_from("123"))
@settings(max_examples=examples(40))
def test_random_histories_against_a_dict(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[str, list[tuple[str, int, str, int]]]], buckets: str
) -> None:
    table = make(tmp_path_factory.mktemp("t") / "t", bucket=buckets, manifest_merge__min__count="3")
    expected: dict[tuple[str, int], str] = {}
    for number, (mode, changes) in enumerate(history):
        messages = write(table, [c[:3] for c in changes], [c[3] for c in changes]) if changes else []
        if mode == "append":
            TableCommit(table, f"u{number}").append(messages)
        else:
            TableCommit(table, f"u{number}").overwrite(messages, None if mode == "all" else "dynamic")
            parts = {part for part, *_ in changes} if mode == "dynamic" else set("pq")
            expected = {key: value for key, value in expected.items() if key[0] not in parts}
        for part, key, value, kind in changes:
            expected.pop((part, key), None)
            if kind != DELETE:
                expected[part, key] = value
        assert read(table) == sorted(((*key, value) for key, value in expected.items()), key=repr)
    check_table(table.location)


@pytest.mark.parametrize(
    ("options", "numbers"),
    [({"bucket": "-1"}, [(0, 2), (0, 1)]), ({"bucket": "1", "bucket__key": "id"}, [(0, 2), (3, 4)])],
    ids=["without buckets", "with one"],
)
def test_sequence_numbers_of_append_tables(
    tmp_path: Path, options: dict[str, str], numbers: list[tuple[int, int]]
) -> None:
    """Java: without buckets they begin at 0 in each file, with buckets they go on."""
    table = make(tmp_path, (), (), pa.schema([("id", pa.int64())]), **options)
    for count in (3, 2):
        commit(table, *write(table, [(number,) for number in range(count)]))
    found = open_table(table.location).system_table("files").to_arrow().to_pylist()
    assert sorted(
        ((row["min_sequence_number"], row["max_sequence_number"]) for row in found), key=lambda pair: pair[::-1]
    ) == sorted(numbers, key=lambda pair: pair[::-1])
