"""A compaction changes files, never rows: every engine, every format, every way a bucket can be cut into steps."""

from __future__ import annotations

import datetime as dt
import itertools
import os
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.faults.faulty_store import FaultyFileIO, InjectedFault, When
from support.index_files import encode_vectors
from support.oracles.checker import check_table
from support.tables.compacting import Row, compact, file_rows, live_files, make, rows_of, tasks_of, write

from paimon_spark.errors import CorruptFile, DataError
from paimon_spark.format.manifest import FileSource
from paimon_spark.format.schema import encode_schema
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.compact import bucket as compact_bucket
from paimon_spark.store.compact.bucket import run_task
from paimon_spark.store.compact.bucket_rows import SYSTEM_FIELDS
from paimon_spark.store.compact.task import MergeTask
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import DeletionFile
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([pa.field("k", pa.int32(), False), ("a", pa.int32()), ("b", pa.string()), ("g", pa.int32())])
PARTIAL = {"merge-engine": "partial-update"}
GROUPS = {**PARTIAL, "fields.g.sequence-group": "a"}
SUMS = {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum", "fields.b.aggregate-function": "max"}
LISTS = {**SUMS, "fields.b.aggregate-function": "listagg"}
ALL = "+I +U -U -D"
ENGINES: list[tuple[str, Mapping[str, str], str]] = [
    ("deduplicate", {}, ALL),
    ("ignored deletes", {"ignore-delete": "true"}, ALL),
    ("sequence field", {"sequence.field": "g"}, ALL),
    ("descending", {"sequence.field": "g", "sequence.field.sort-order": "descending"}, "+I +U"),
    ("partial-update", PARTIAL, "+I +U"),
    ("removing", {**PARTIAL, "partial-update.remove-record-on-delete": "true"}, ALL),
    ("groups", GROUPS, "+I"),
    ("groups that remove", {**GROUPS, "partial-update.remove-record-on-sequence-group": "g"}, ALL),
    ("sums", SUMS, "+I +U"),
    ("lists", LISTS, "+I"),
]
FORMATS = [{"file.format": "parquet"}, {"file.format": "orc"}, {"file.format": "avro"}, {"data-file.thin-mode": "true"}]


def random_rows(r: random.Random, count: int, keys: int = 20) -> list[Row]:
    texts = [None, "", "ba", "ba\0", "é"]
    return [
        (r.randrange(keys), r.choice([None, *range(9)]), r.choice(texts), r.choice([None, 1, 2, 3]))
        for _ in range(count)
    ]


def fill(table: Table, r: random.Random, kinds: str, commits: int = 6) -> None:
    for _ in range(commits):
        rows = random_rows(r, r.randint(1, 15))
        write(table, rows, [r.choice(kinds.split()) for _ in rows])


CASES = [(e, FORMATS[0]) for e in ENGINES] + [(e, f) for e in (ENGINES[0], ENGINES[-1]) for f in FORMATS[1:]]


@pytest.mark.parametrize(("engine", "form"), CASES, ids=lambda v: "-".join(v.values()) if isinstance(v, dict) else v[0])
def test_rows_stay_what_they_were(
    engine: tuple[str, Mapping[str, str], str], form: Mapping[str, str], tmp_path: Path
) -> None:
    name, options, kinds = engine
    r = random.Random(f"{name} {form}")
    table = make(tmp_path / "t", COLUMNS, ["k"], {**options, **form, "num-sorted-run.compaction-trigger": "3"})
    for full in (False, True):
        fill(table, r, kinds)
        before = rows_of(table)
        results = compact(table, full)
        assert results
        assert rows_of(table) == before
        check_table(table.location)
    assert {file.level for file in live_files(table)} == {3}
    assert all(file.delete_row_count == 0 for file in live_files(table))


def one_task(table: Table, **changes: Any) -> MergeTask:
    """The task of a full compaction of the only bucket, with other attributes."""
    (task,) = tasks_of(table)
    assert isinstance(task, MergeTask)
    return replace(task, **changes)


def test_new_files_say_what_they_are(tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], {})
    write(table, [(1, 1, "a", None), (2, 2, "b", None), (3, 3, "c", None)])
    write(table, [(2, 5, "e", None), (9, 9, "z", None)], ["-D", "-U"])
    task = one_task(table, output_level=2, drop_deletes=False)
    told: list[int] = []
    result = run_task(table, task, told.append)
    (file,) = result.after
    assert (file.level, file.file_source, file.schema_id) == (2, FileSource.COMPACT, 0)
    assert (file.row_count, file.delete_row_count) == (4, 2)
    assert (file.min_sequence_number, file.max_sequence_number) == (0, 4)
    assert file.file_name.startswith("data-")
    assert set(result.before) == set(live_files(table))
    assert [Path(path).name for path in result.created] == [file.file_name]
    assert Path(result.created[0]).stat().st_size == file.file_size
    assert (result.rows_read, result.rows_written, sum(told)) == (5, 4, 5)
    (found,) = [file_rows(table, result.created[0], [*SYSTEM_FIELDS, *table.schema.fields])]
    assert found == [(0, 0, 1, 1, "a", None), (3, 3, 2, 5, "e", None), (2, 0, 3, 3, "c", None), (4, 1, 9, 9, "z", None)]


def test_deletes_leave_with_the_lowest_files_only(tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], {})
    write(table, [(1, 1, "a", None), (2, 2, "b", None)])
    write(table, [(1, 1, "a", None), (7, 0, "x", None)], ["-D", "-D"])
    dropped = run_task(table, one_task(table, drop_deletes=True))
    assert [(f.row_count, f.delete_row_count) for f in dropped.after] == [(1, 0)]
    write(table, [(2, 0, None, None)], ["-D"])
    empty = run_task(table, one_task(table))
    assert (empty.after, empty.created, len(empty.before)) == ((), (), 3)


def test_large_files_that_meet_no_other_only_move(tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], {"target-file-size": "1 kb"})
    write(table, [(1, 1, "a", None), (2, 2, "b", None)])
    write(table, [(5, 5, "e", None)])
    old = sorted(live_files(table), key=lambda f: f.file_name)
    (result,) = compact(table)
    assert result.created == ()
    assert (result.rows_read, result.rows_written) == (0, 0)
    assert sorted(result.after, key=lambda f: f.file_name) == [file._replace(level=5) for file in old]
    assert live_files(table) == list(result.after)
    check_table(table.location)


def test_levels_have_formats_compressions_and_statistics_of_their_own(tmp_path: Path) -> None:
    options = {
        "file.format": "avro",
        "file.format.per.level": "5:parquet,2:orc",
        "file.compression.per.level": "5:lz4,2:zlib",
        "file.suffix.include.compression": "true",
        "metadata.stats-mode.per.level": "2:none",
    }
    table = make(tmp_path / "t", COLUMNS, ["k"], options)
    write(table, [(1, 1, "a", None), (2, 2, "b", None)])
    write(table, [(1, 7, "c", None)])
    known = (0, 0, 0, 2)
    for level, ending, counts in ((5, ".lz4.parquet", known), (2, ".zlib.orc", ()), (3, ".zst.avro", known)):
        (file,) = run_task(table, one_task(table, output_level=level)).after
        assert file.file_name.endswith(ending)
        assert file.value_stats.null_counts == counts
        assert file.value_stats_cols == (() if level == 2 else None)
        assert file.key_stats.null_counts == (0,)


def test_new_files_end_at_the_target_size_not_at_a_number_of_rows(tmp_path: Path) -> None:
    options = {"target-file-size": "1 mb", "target-file-row-num": "1000", "file.compression": "none"}
    table = make(tmp_path / "t", COLUMNS, ["k"], options)
    for turn in range(2):
        write(table, [(k, k, f"{k} of {turn}" + "x" * 200, None) for k in range(turn, 20_000, 2)])
    before = rows_of(table)
    (result,) = compact(table)
    assert len(live_files(table)) == len(result.after) > 1
    assert max(file.file_size for file in result.after) < 3 * 2**20
    assert max(file.row_count for file in result.after) > 1000
    assert rows_of(table) == before
    check_table(table.location)


@pytest.mark.parametrize("rows", [0, 1, 5000])
def test_many_runs_are_read_in_small_batches(rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compact_bucket, "_OPEN_BYTES", 1)
    monkeypatch.setattr(compact_bucket, "LEAST_BATCH_ROWS", max(rows // 50, 1))
    table = make(tmp_path / "t", COLUMNS, ["k"], {})
    for turn in range(4):
        write(table, [(k, turn, str(k), None) for k in range(0, rows, turn + 1)])
    before = rows_of(table)
    compact(table)
    assert rows_of(table) == before


def test_files_of_older_schemas_come_out_in_the_newest(tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], {})
    write(table, [(1, 1, "a", 4), (2, None, None, None)])
    schema = table.schema
    renamed = replace(schema.by_name["a"], name="c", type=DataType(Root.BIGINT))
    added = DataField(schema.highest_field_id + 1, "n", DataType(Root.INT))
    newer = replace(schema, id=1, fields=(schema.fields[0], added, renamed), highest_field_id=added.id)
    table.file_io.overwrite(f"{table.location}/schema/schema-1", encode_schema(newer))
    write(table, [(2, 9, 2**40)])
    table = open_table(table.location)
    compact(table)
    assert rows_of(table) == [(1, None, 1), (2, 9, 2**40)]
    (file,) = live_files(table)
    assert (file.schema_id, file.value_stats.null_counts) == (1, (0, 1, 0))
    check_table(table.location)


def test_a_table_with_partitions_keeps_them_apart(tmp_path: Path) -> None:
    columns = pa.schema([("p", pa.string()), ("k", pa.int32()), ("v", pa.int32())])
    table = make(tmp_path / "t", columns, ["p", "k"], {"bucket": "2"}, ["p"])
    for turn in range(3):
        write(table, [(part, k, turn) for part in ("a", "é b", "") for k in range(turn, 9)])
    before = rows_of(table)
    results = compact(table)
    assert len({(result.partition, result.bucket) for result in results}) == 6
    assert rows_of(table) == before
    check_table(table.location)


def test_rows_that_are_too_old_go(tmp_path: Path) -> None:
    now = int(dt.datetime.now().timestamp())
    options = {"record-level.expire-time": "1 h", "record-level.time-field": "g"}
    table = make(tmp_path / "t", COLUMNS, ["k"], options)
    write(table, [(1, 1, "young", now), (2, 1, "old", now - 4000), (3, 1, "ageless", None), (4, 1, "left", now)])
    write(table, [(4, 2, "too old to count", now - 7200)])
    compact(table)
    assert [row[2] for row in rows_of(table)] == ["young", "ageless", "left"]
    check_table(table.location)


def test_rows_of_deletion_vectors_do_not_come_back(tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], {})
    write(table, [(1, 1, "a", None), (2, 1, "b", None), (3, 1, "c", None)])
    write(table, [(1, 2, "A", None), (3, 2, "C", None)])
    first, second = sorted(live_files(table), key=lambda f: f.min_sequence_number)
    data, places = encode_vectors({first.file_name: [1], second.file_name: [0]})
    vectors = f"{table.location}/vectors"
    table.file_io.write_bytes(vectors, data)
    deletions = {p.data_file: DeletionFile(vectors, p.offset, p.length, p.cardinality) for p in places}
    result = run_task(table, one_task(table, deletions=deletions))
    rows = [row[2:5] for row in file_rows(table, result.created[0], [*SYSTEM_FIELDS, *table.schema.fields])]
    assert rows == [(1, 1, "a"), (3, 2, "C")]


def test_whatever_fails_no_file_is_left_behind(tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], {})
    write(table, [(k, 1, "a", None) for k in range(9)])
    write(table, [(k, 2, "b", None) for k in range(3)])
    task = one_task(table)
    before = sorted(tmp_path.rglob("*"))
    store = FaultyFileIO(table.file_io)
    for path in run_task(replace(table, file_io=store), task).created:
        os.remove(path)
    for at, when in itertools.product(range(len(store.log)), When):
        faulty = FaultyFileIO(table.file_io, at=at, when=when)
        with pytest.raises((InjectedFault, CorruptFile)):
            run_task(replace(table, file_io=faulty), task)
        assert sorted(tmp_path.rglob("*")) == before


def test_rows_that_no_engine_can_merge_leave_no_file(tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], {"merge-engine": "partial-update"})
    write(table, [(1, 1, "a", None)])
    write(table, [(1, 1, "a", None)], ["-D"], refuses=False)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(DataError):
        run_task(table, one_task(table))
    assert sorted(tmp_path.rglob("*")) == before
