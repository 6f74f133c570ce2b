"""Row tracking: ids and numbers that commits give to rows, and that rows keep when they are written again.

Java: RowTrackingCommitUtils, DataFileRecordReader, BaseAppendFileStoreWrite.compactRewrite (release 2.0).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from support.oracles.checker import check_table
from support.tables.commit_states import latest, with_rivals
from support.tables.compacting import compact, live_files, make, write

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import OptionError, SchemaError, UnsupportedFeature
from paimon_spark.format.manifest import FileSource, ManifestEntry
from paimon_spark.format.snapshot import CommitKind
from paimon_spark.store.clean.truncate import drop_partitions
from paimon_spark.store.clustering.sort_table import sort_table
from paimon_spark.store.commit.attempt import table_state
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.commit.vector_files import find_vector_files
from paimon_spark.store.history.branch_merge import merge_branch
from paimon_spark.store.history.branches import create_branch
from paimon_spark.store.history.fast_forward import fast_forward
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.history.rollback_as_latest import rollback_to_as_latest
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.read.splits import Split
from paimon_spark.store.rows.live_files import append_tasks, bucket_places, delete_rows, files_by_name
from paimon_spark.store.rows.rewrite_file import RowChanges, rewrite_file
from paimon_spark.store.upkeep.copy_files import copy_table
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([("p", pa.string()), ("k", pa.int64()), ("v", pa.string())])
TRACKED = {"bucket": "-1", "row-tracking.enabled": "true"}
ALL = ["p", "k", "v", "_ROW_ID", "_SEQUENCE_NUMBER"]
IDS = ["k", "_ROW_ID", "_SEQUENCE_NUMBER"]
Told = list[tuple[object, ...]]


def tracked(path: Path, parts: Sequence[str] = (), options: Mapping[str, str] | None = None) -> Table:
    return make(path / "t", COLUMNS, [], {**TRACKED, **(options or {})}, parts)


def put(table: Table, *keys: int, part: str = "a") -> None:
    write(table, [(part, key, f"v{key}") for key in keys])


def told(table: Table, columns: Sequence[str] = IDS, options: Mapping[str, str] | None = None) -> Told:
    """The rows with their ids, by key; the system table says the same."""
    opened = open_table(table.location, options or {})
    found = sorted(tuple(row.values()) for row in opened.scan(columns).to_arrow().to_pylist())
    system = opened.system_table("row_tracking", columns).to_arrow()
    assert sorted(tuple(row.values()) for row in system.to_pylist()) == found
    return found


def entries(table: Table) -> list[ManifestEntry]:
    return table_state(table, latest(table)).live_entries(None)


# ------------------------------------------------------------------------------------------------------------- commits


def test_new_rows_get_the_next_ids_and_the_number_of_their_snapshot(tmp_path: Path) -> None:
    table = tracked(tmp_path)
    put(table, 10, 11, 12)
    put(table, 20)
    assert told(table) == [(10, 0, 1), (11, 1, 1), (12, 2, 1), (20, 3, 2)]
    assert [table.snapshots.load(n).next_row_id for n in (1, 2)] == [3, 4]
    noted = [(f.first_row_id, f.min_sequence_number, f.max_sequence_number, f.write_cols) for f in live_files(table)]
    assert noted == [(0, 1, 1, None), (3, 2, 2, None)]
    check_table(table.location)


def test_every_file_of_a_commit_has_its_number(tmp_path: Path) -> None:
    """Java counts on in the second file of a writer, and takes the count for a number that rows have (2.0.0)."""
    table = tracked(tmp_path, options={"target-file-row-num": "2"})
    put(table, 0, 1, 2, 3, 4)
    assert len(live_files(table)) == 3
    assert told(table) == [(k, k, 1) for k in range(5)]


@pytest.mark.parametrize("grouped", ["true", "false"])
def test_rows_of_a_partition_get_consecutive_ids(tmp_path: Path, grouped: str) -> None:
    options = {"row-tracking.partition-group-on-commit": grouped}
    table = tracked(tmp_path, ["p"]).with_options(options)
    messages = []
    for task in range(2):
        writer = TableWrite(table, "me", task)
        values = [[part, 10 * task + n, "v"] for n, part in enumerate("ab")]
        writer.write(pa.RecordBatch.from_arrays([pa.array(c) for c in zip(*values, strict=True)], schema=schema(table)))
        messages += writer.finish()
    TableCommit(table, "me").append(messages)
    ids = {key: row_id for key, row_id, _ in told(table)}
    assert sorted(ids.values()) == [0, 1, 2, 3]
    together = {frozenset({ids[0], ids[10]}), frozenset({ids[1], ids[11]})}
    assert (together == {frozenset({0, 1}), frozenset({2, 3})}) is (grouped == "true")


def schema(table: Table) -> pa.Schema:
    return arrow_schema(table.schema.fields)


def test_a_lost_race_takes_later_ids(tmp_path: Path) -> None:
    table = tracked(tmp_path)
    put(table, 1, 2)
    writer = TableWrite(table, "me")
    writer.write(pa.record_batch([["a"], [3], ["v"]], schema=schema(table)))
    raced = with_rivals(table, partial(put, table, 10, 11, 12))
    done = TableCommit(raced, "me").append(writer.finish())
    assert done is not None
    assert done.attempts == 2
    assert told(table) == [(1, 0, 1), (2, 1, 1), (3, 5, 3), (10, 2, 2), (11, 3, 2), (12, 4, 2)]
    assert latest(table).next_row_id == 6


def test_an_overwrite_numbers_its_rows_alone(tmp_path: Path) -> None:
    table = tracked(tmp_path, ["p"])
    put(table, 1, 2)
    put(table, 3, part="b")
    writer = TableWrite(table, "me")
    writer.write(pa.record_batch([["a", "a"], [7, 8], ["v", "v"]], schema=schema(table)))
    TableCommit(table, "me").overwrite(writer.finish(), "dynamic")
    assert told(table) == [(3, 2, 2), (7, 3, 3), (8, 4, 3)]
    assert latest(table).next_row_id == 5
    check_table(table.location)


def test_ids_are_not_given_twice(tmp_path: Path) -> None:
    """Neither after a deletion of all rows, nor in a snapshot of another kind, nor where an old state comes back."""
    table = tracked(tmp_path, ["p"])
    put(table, 1, 2)
    put(table, 3)
    drop_partitions(table, "p = 'a'")
    assert latest(table).next_row_id == 3
    put(table, 4)
    assert told(table) == [(4, 3, 4)]
    rollback_to_as_latest(open_table(table.location), snapshot=1)
    assert told(table) == [(1, 0, 1), (2, 1, 1)]
    assert latest(table).next_row_id == 4
    put(table, 5)
    assert told(table) == [(1, 0, 1), (2, 1, 1), (5, 4, 6)]
    check_table(table.location)


def test_a_rollback_gives_the_ids_back(tmp_path: Path) -> None:
    """As in Java, where the next snapshot goes on from the one that is left."""
    table = tracked(tmp_path)
    put(table, 1, 2)
    put(table, 3)
    rollback(open_table(table.location), snapshot=1)
    put(table, 4)
    assert told(table) == [(1, 0, 1), (2, 1, 1), (4, 2, 2)]


def test_branches_number_their_rows_by_themselves(tmp_path: Path) -> None:
    table = tracked(tmp_path)
    put(table, 1)
    create_branch(table, "b", snapshot=1)
    put(table, 2)
    write(open_table(table.location, {"branch": "b"}), [("a", key, "v") for key in (11, 12)])
    branch = {"branch": "b"}
    assert told(table, options=branch) == [(1, 0, 1), (11, 1, 2), (12, 2, 2)]
    merge_branch(open_table(table.location), "b")
    assert told(table) == [(1, 0, 1), (2, 1, 2), (11, 2, 2), (12, 3, 2)], "new ids, the numbers of the branch"
    assert latest(table).next_row_id == 4
    check_table(table.location)
    other = tracked(tmp_path / "other")
    put(other, 1)
    create_branch(other, "b", snapshot=1)
    write(open_table(other.location, branch), [("a", 5, "v")])
    fast_forward(open_table(other.location), "b")
    put(other, 6)
    assert told(other) == [(1, 0, 1), (5, 1, 2), (6, 2, 3)]


def test_only_branches_of_one_kind_are_merged(tmp_path: Path) -> None:
    table = tracked(tmp_path)
    put(table, 1)
    create_branch(table, "b", snapshot=1)
    path = tmp_path / "t" / "branch" / "branch-b" / "schema" / "schema-0"
    stored = json.loads(path.read_text())
    del stored["options"]["row-tracking.enabled"]
    path.write_text(json.dumps(stored))
    write(open_table(table.location, {"branch": "b"}), [("a", 5, "v")])
    with pytest.raises(SchemaError, match=r"only one of them has 'row-tracking\.enabled'"):
        merge_branch(open_table(table.location), "b")


# ------------------------------------------------------------------------------------------------- rows written again


@pytest.mark.parametrize("form", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("dense", ["true", "false"])
def test_a_compaction_keeps_ids_and_numbers(tmp_path: Path, form: str, dense: str) -> None:
    table = tracked(tmp_path, options={"file.format": form, "metadata.stats-dense-store": dense})
    for key in range(6):
        put(table, key, 100 + key)
    before = told(table, ALL)
    compact(table)
    (file,) = live_files(table)
    assert (file.write_cols, file.first_row_id, file.file_source) == (tuple(ALL), None, FileSource.COMPACT)
    assert (file.min_sequence_number, file.max_sequence_number) == (1, 6)
    assert (latest(table).commit_kind, latest(table).next_row_id) == (CommitKind.COMPACT, 12)
    assert told(table, ALL) == before
    put(table, 7)
    assert told(table) == sorted([*((k, i, n) for _, k, _, i, n in before), (7, 12, 8)])
    check_table(table.location)


def changed(table: Table, changes: Mapping[int, str | None]) -> None:
    """Gives the rows of some keys another value, or None: deletes them, as a statement does."""
    opened = open_table(table.location)
    snapshot = latest(table)
    splits = [split for split in opened.scan().plan().splits if isinstance(split, Split)]
    messages = []
    for task in append_tasks(opened, snapshot, files_by_name(opened, splits)).values():
        rows = rows_in(opened, task.files[0].file_name)
        at = [(place, key) for place, key in rows.items() if key in changes]
        if not at:
            continue
        stays = [changes[key] is not None for _, key in at]
        new = [("a", key, changes[key]) for _, key in at if changes[key] is not None]
        batch = pa.RecordBatch.from_pylist([dict(zip("pkv", row, strict=True)) for row in new], schema=schema(table))
        parts = iter([RowChanges(np.array([place for place, _ in at]), np.array(stays), batch)])
        messages.append(rewrite_file(opened, task, parts))
    TableCommit(opened, f"user {snapshot.id}").append(messages, operation="UPDATE")


def rows_in(table: ReadableTable, name: str) -> dict[int, int]:
    """The keys of the rows of a file, by their places in it."""
    found = table.scan(["k", "__paimon_row_index", "__paimon_file_path"]).to_arrow().to_pylist()
    mine = [row for row in found if row["__paimon_file_path"].endswith(name)]
    return {row["__paimon_row_index"]: row["k"] for row in sorted(mine, key=lambda row: row["__paimon_row_index"])}


@pytest.mark.parametrize("form", ["parquet", "orc", "avro"])
def test_rows_that_change_get_a_new_number_and_keep_their_id(tmp_path: Path, form: str) -> None:
    table = tracked(tmp_path, options={"file.format": form})
    put(table, 0, 1, 2, 3)
    put(table, 4, 5)
    changed(table, {1: "new", 2: None})
    assert told(table) == [(0, 0, 1), (1, 1, 3), (3, 3, 1), (4, 4, 2), (5, 5, 2)]
    (file,) = (entry.file for entry in entries(table) if entry.file.write_cols)
    assert (file.first_row_id, file.min_sequence_number, file.max_sequence_number) == (None, 1, 3)
    assert file.file_source == FileSource.APPEND
    changed(table, {4: "new", 5: "new"})
    assert told(table) == [(0, 0, 1), (1, 1, 3), (3, 3, 1), (4, 4, 4), (5, 5, 4)]
    compact(table)
    changed(table, {1: "newer", 5: None})
    assert told(table) == [(0, 0, 1), (1, 1, 6), (3, 3, 1), (4, 4, 4)]
    assert latest(table).next_row_id == 6
    check_table(table.location)


def test_deleted_rows_take_their_ids_with_them(tmp_path: Path) -> None:
    table = tracked(tmp_path, options={"deletion-vectors.enabled": "true"})
    put(table, 0, 1, 2, 3)
    opened, snapshot = open_table(table.location), latest(table)
    splits = [split for split in opened.scan().plan().splits if isinstance(split, Split)]
    tasks = append_tasks(opened, snapshot, files_by_name(opened, splits))
    (place,), (name,) = bucket_places(tasks).values(), tasks
    live = find_vector_files(opened, snapshot)
    message = delete_rows(opened, live, place, {name: np.array([0, 2], np.int64)})
    TableCommit(opened, "user").append([message], operation="DELETE")
    assert told(table) == [(1, 1, 1), (3, 3, 1)]
    put(table, 4)
    compact(table)
    assert told(table) == [(1, 1, 1), (3, 3, 1), (4, 4, 3)]
    check_table(table.location)


def test_a_sort_keeps_ids_and_numbers(tmp_path: Path) -> None:
    table = tracked(tmp_path)
    for keys in ((5, 1), (4, 2), (3,)):
        put(table, *keys)
    before = told(table)
    sort_table(open_table(table.location), "order", ["k"])
    assert open_table(table.location).scan(["k"]).to_arrow().column(0).to_pylist() == [1, 2, 3, 4, 5]
    assert told(table) == before
    check_table(table.location)


# --------------------------------------------------------------------------------------------------------------- reads


def test_the_columns_are_hidden_and_can_be_conditions(tmp_path: Path) -> None:
    table = tracked(tmp_path)
    put(table, 10, 11)
    put(table, 12)
    opened = open_table(table.location)
    assert opened.scan().arrow_schema.names == ["p", "k", "v"]
    assert opened.scan(["k"], where="_ROW_ID = 1").to_arrow().column(0).to_pylist() == [11]
    assert opened.scan("_row_id", where="_SEQUENCE_NUMBER > 1 and k > 0").to_arrow().to_pylist() == [{"_ROW_ID": 2}]
    plain = open_table(make(tmp_path / "plain", COLUMNS, [], {"bucket": "-1"}).location)
    with pytest.raises(OptionError, match="_ROW_ID"):
        plain.scan(["_ROW_ID"])


def test_rows_of_two_branches_have_no_numbers_in_common(tmp_path: Path) -> None:
    table = tracked(tmp_path)
    put(table, 1)
    create_branch(table, "b", snapshot=1)
    opened = open_table(table.location, {"scan.fallback-branch": "b"})
    assert opened.scan(["k"]).to_arrow().num_rows == 1
    for read in (partial(opened.scan, ["_ROW_ID"]), partial(opened.scan, ["k"], "_ROW_ID = 0")):
        with pytest.raises(UnsupportedFeature, match=r"reading _ROW_ID of .*: the rows of two branches"):
            read()
    with pytest.raises(UnsupportedFeature, match="the rows of two branches"):
        opened.system_table("row_tracking")


def test_files_of_an_older_schema_and_new_columns(tmp_path: Path) -> None:
    from paimon_spark.format.types import DataType, Root
    from paimon_spark.store.evolution import changes as c
    from paimon_spark.store.evolution.alter import alter_table

    table = tracked(tmp_path)
    put(table, 0, 1)
    compact(table)
    alter_table(open_table(table.location), (c.RenameColumn(("v",), "w"), c.AddColumn(("n",), DataType(Root.INT))))
    table = open_table(table.location)
    write(table, [("a", 2, "x", 5)])
    before = told(table, ["k", "w", "n", *IDS[1:]])
    assert [row[3:] for row in before] == [(0, 1), (1, 1), (2, latest(table).id)]
    compact(table)
    assert told(table, ["k", "w", "n", *IDS[1:]]) == before
    check_table(table.location)


def test_what_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"row-tracking\.enabled is for tables without a primary key"):
        make(tmp_path / "keyed", COLUMNS, ["k"], {"row-tracking.enabled": "true", "bucket": "1"})
    with pytest.raises(SchemaError, match="without a number of buckets"):
        make(tmp_path / "buckets", COLUMNS, [], {"row-tracking.enabled": "true", "bucket": "2", "bucket-key": "k"})
    table = tracked(tmp_path)
    put(table, 1)
    with pytest.raises(UnsupportedFeature, match=r"'row-tracking\.enabled' of .* is true"):
        copy_table(open_table(table.location), f"{tmp_path}/copy")
    assert not Path(tmp_path, "copy").exists()
    target = make(tmp_path / "target", COLUMNS, [], {"bucket": "-1"})
    put(target, 1)
    with pytest.raises(UnsupportedFeature, match=r"'row-tracking\.enabled' of .* is true"):
        copy_table(open_table(target.location), table.location)
    assert told(table) == [(1, 0, 1)]


def test_a_file_that_says_no_ids_is_reported(tmp_path: Path) -> None:
    from paimon_spark.errors import CorruptFile

    table = tracked(tmp_path)
    put(table, 1)
    opened = open_table(table.location)
    (split,) = (split for split in opened.scan(["_ROW_ID"]).plan().splits if isinstance(split, Split))
    bare = replace(split, raw_files=tuple(file._replace(first_row_id=None) for file in split.raw_files))
    with pytest.raises(CorruptFile, match="which row ids it has"):
        list(opened.scan(["_ROW_ID"]).reader().read(bare))
