"""Tables with data evolution: appends, files of some columns, deletion vectors, and which commits go together.

Java: DataEvolutionTableTest, ConflictDetection, RowIdColumnConflictChecker (release 2.0).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from support.faults.faulty_store import FaultyFileIO, fault_points
from support.oracles.checker import check_table
from support.oracles.orphaned import age
from support.tables.column_changes import (
    COLUMNS,
    EVOLVED,
    VECTORS,
    changed,
    commit,
    delete,
    evolved,
    facts,
    put,
    rows_with_ids,
    splits_of,
    update,
)
from support.tables.commit_states import latest, with_rivals
from support.tables.compacting import live_files, make, rows_of
from support.tables.golden_tables import GoldenTable

from paimon_spark import create_table
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import (
    CommitConflict,
    CommitStateUnknown,
    DataError,
    PaimonError,
    SchemaError,
    UnsupportedFeature,
)
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.manifest import FileKind, FileSource, ManifestEntry
from paimon_spark.format.snapshot import CommitKind
from paimon_spark.format.types import DataType, Root
from paimon_spark.store.clean.lost_files import remove_unexisting_files
from paimon_spark.store.clean.orphans import remove_orphan_files
from paimon_spark.store.clean.truncate import truncate_table
from paimon_spark.store.clustering.sort_table import sort_table
from paimon_spark.store.commit.commit_user import new_user
from paimon_spark.store.commit.row_conflicts import ReadState
from paimon_spark.store.commit.row_ranges import check_row_ids
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.evolution import changes as c
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.expire.snapshots import expire_snapshots
from paimon_spark.store.history.branch_merge import merge_branch
from paimon_spark.store.history.branches import create_branch
from paimon_spark.store.history.rollback_as_latest import rollback_to_as_latest
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rows.change_strategies import Statement, check_column_files, check_deletes
from paimon_spark.store.rows.column_files import write_columns
from paimon_spark.store.rows.live_files import column_tasks, files_by_name
from paimon_spark.store.rows.rewrite_file import RowChanges
from paimon_spark.store.upkeep.copy_files import copy_table
from paimon_spark.store.upkeep.rewrite_indexes import rewrite_file_index
from paimon_spark.tables.open import open_table

# ------------------------------------------------------------------------------------------------------------- appends


def test_new_rows_have_files_of_all_columns(tmp_path: Path) -> None:
    table = evolved(tmp_path)
    put(table, 1, 2, 3)
    put(table, 4)
    assert [facts(file) for file in live_files(table)] == [(0, 3, 1, 1, None), (3, 1, 2, 2, None)]
    assert [table.snapshots.load(n).next_row_id for n in (1, 2)] == [3, 4]
    assert rows_with_ids(table) == [(1, "v1", 1, 0, 1), (2, "v2", 2, 1, 1), (3, "v3", 3, 2, 1), (4, "v4", 4, 3, 2)]
    check_table(table.location)


def test_every_door_appends(tmp_path: Path) -> None:
    table = evolved(tmp_path)
    rows = pa.table({"k": [1, 2], "v": ["a", None], "w": [5, 6]}, COLUMNS)
    open_table(table.location).append(rows)
    open_table(table.location).overwrite(rows.slice(1))
    assert rows_with_ids(table) == [(2, None, 6, 2, 2)]
    assert latest(table).next_row_id == 3
    check_table(table.location)


# --------------------------------------------------------------------------------------------------- files of columns


@pytest.mark.parametrize("form", ["parquet", "orc", "avro"])
def test_a_column_is_written_alone_for_all_rows_of_its_file(tmp_path: Path, form: str) -> None:
    table = evolved(tmp_path, {"file.format": form, "target-file-size": "1 b", "target-file-row-num": "2"})
    put(table, 1, 2, 3, 4, 5)
    assert [file.row_count for file in live_files(table)] == [2, 2, 1]
    update(table, "v", {1: "a", 2: None, 5: "e"})
    written = [file for file in live_files(table) if file.write_cols]
    assert sorted(facts(file) for file in written) == [(0, 2, 2, 2, ("v",)), (4, 1, 2, 2, ("v",))]
    assert {file.file_source for file in written} == {FileSource.APPEND}
    assert (latest(table).commit_kind, latest(table).next_row_id) == (CommitKind.APPEND, 5)
    assert [row[:3] for row in rows_with_ids(table)] == [
        (1, "a", 1),
        (2, None, 2),
        (3, "v3", 3),
        (4, "v4", 4),
        (5, "e", 5),
    ]
    assert [row[4] for row in rows_with_ids(table)] == [2, 2, 1, 1, 2]
    update(table, "w", {2: 20})
    update(table, "v", {2: "b"})
    assert [row[:3] for row in rows_with_ids(table)][:2] == [(1, "a", 1), (2, "b", 20)]
    check_table(table.location)


def test_many_rows_of_one_file(tmp_path: Path) -> None:
    """More rows than a batch, of which some change; the new file is one, whatever the target size."""
    table = evolved(tmp_path, {"target-file-size": "1 gb"})
    count = 200_000
    keys = np.arange(count)
    open_table(table.location).append(pa.table({"k": keys, "v": pa.array(keys.astype(str)), "w": keys}))
    assert len(live_files(table)) == 1
    some = open_table(table.location, {"target-file-size": "1 b"})
    update(some, "w", {k: -k for k in range(0, count, 7)})
    assert len(live_files(table)) == 2
    found = open_table(table.location).scan(["k", "w"]).to_arrow()
    k, w = (found.column(name).to_numpy() for name in ("k", "w"))
    assert (w == np.where(k % 7 == 0, -k, k)).all()
    assert len(k) == count


def test_a_column_that_is_new_and_one_that_has_another_name(tmp_path: Path) -> None:
    table = evolved(tmp_path)
    put(table, 1, 2)
    update(table, "v", {1: "a"})
    alter_table(open_table(table.location), (c.RenameColumn(("v",), "x"), c.AddColumn(("n",), DataType(Root.INT))))
    table = open_table(table.location)
    update(table, "n", {2: 7})
    update(table, "x", {2: "b"})
    assert rows_of(table) == [(1, "a", 1, None), (2, "b", 2, 7)]
    assert [file.write_cols for file in live_files(table)] == [None, ("v",), ("n",), ("x",)]
    check_table(table.location)


def test_indexes_are_of_the_columns_in_the_file(tmp_path: Path) -> None:
    table = evolved(tmp_path, {"file-index.bloom-filter.columns": "v", "file-index.bitmap.columns": "k"})
    put(table, 1, 2)
    update(table, "v", {1: "a"})
    update(table, "w", {1: 10})
    indexed = {file.write_cols: bool(file.embedded_index or file.extra_files) for file in live_files(table)}
    assert indexed == {None: True, ("v",): True, ("w",): False}
    for where, found in {"v = 'a'": [1], "v = 'v1'": [], "v = 'v2'": [2], "k = 1": [1]}.items():
        assert open_table(table.location).scan(["k"], where=where).to_arrow().column(0).to_pylist() == found


def test_null_in_a_column_that_has_none(tmp_path: Path) -> None:
    columns = pa.schema([pa.field("k", pa.int64(), False), ("v", pa.string()), ("w", pa.int64())])
    table = make(tmp_path / "t", columns, [], EVOLVED)
    put(table, 1, 2)
    before = set(Path(table.location, "bucket-0").iterdir())
    field = pa.schema([pa.field("k", pa.int64())])
    opened = open_table(table.location)
    (task,) = column_tasks(opened, latest(table), files_by_name(opened, splits_of(opened))).values()
    rows = pa.RecordBatch.from_pylist([{"k": None}], schema=field)
    part = RowChanges(np.array([1]), np.ones(1, np.bool_), rows)
    with pytest.raises(DataError, match="NOT NULL column 'k'"):
        write_columns(opened, task, [opened.schema.by_name["k"]], iter([part]))
    assert set(Path(table.location, "bucket-0").iterdir()) == before


# ---------------------------------------------------------------------------------------------------- deletion vectors


@pytest.mark.parametrize("bits", ["false", "true"])
def test_rows_are_deleted_under_the_oldest_file(tmp_path: Path, bits: str) -> None:
    table = evolved(tmp_path, {**VECTORS, "deletion-vectors.bitmap64": bits})
    put(table, 1, 2, 3)
    update(table, "v", {1: "a", 2: "b"})
    TableCommit(table, "one").append(delete(table, 1), operation="DELETE")
    assert [row[:2] for row in rows_with_ids(table)] == [(1, "a"), (3, "v3")]
    update(table, "w", {3: 30})
    TableCommit(table, "two").append(delete(table, 0), operation="DELETE")
    assert rows_with_ids(table) == [(3, "v3", 30, 2, 4)]
    assert open_table(table.location).scan(columns=[]).count() == 1
    check_table(table.location)


def test_deletes_need_vectors(tmp_path: Path) -> None:
    table = evolved(tmp_path)
    with pytest.raises(UnsupportedFeature, match=r"set .deletion-vectors\.enabled. to true"):
        check_deletes(table, Statement.DELETE)
    check_deletes(evolved(tmp_path / "with", VECTORS), Statement.DELETE)


# ------------------------------------------------------------------------------------------------------------ conflicts


def test_changes_of_other_columns_go_together(tmp_path: Path) -> None:
    table = evolved(tmp_path)
    put(table, 1, 2)
    mine = changed(table, "v", {1: "a"})
    update(table, "w", {1: 10})
    put(table, 3)
    commit(table, mine, read=1)
    assert [row[:3] for row in rows_with_ids(table)] == [(1, "a", 10), (2, "v2", 2), (3, "v3", 3)]
    check_table(table.location)


def test_the_first_change_of_a_column_wins(tmp_path: Path) -> None:
    table = evolved(tmp_path)
    put(table, 1, 2)
    put(table, 3)
    mine, others = changed(table, "v", {1: "a"}), changed(table, "v", {3: "c"})
    update(table, "v", {2: "b"})  # of another row of the same file
    with pytest.raises(CommitConflict, match=r"changed or removed the same columns of rows with ids from 0 to 1"):
        commit(table, mine, read=2)
    commit(table, others, read=2)
    assert [row[1] for row in rows_with_ids(table)] == ["v1", "b", "c"]


def test_a_change_that_another_job_makes_while_it_is_published(tmp_path: Path) -> None:
    table = evolved(tmp_path)
    put(table, 1, 2)
    mine = changed(table, "v", {1: "a"})
    with pytest.raises(CommitConflict, match="changed or removed the same columns"):
        commit(with_rivals(table, partial(update, table, "v", {1: "x"})), mine)
    assert [row[1] for row in rows_with_ids(table)] == ["x", "v2"]


def test_a_column_by_its_new_name(tmp_path: Path) -> None:
    table = evolved(tmp_path)
    put(table, 1, 2)
    mine = changed(table, "v", {1: "a"})
    alter_table(open_table(table.location), (c.RenameColumn(("v",), "x"),))
    update(open_table(table.location), "x", {1: "b"})
    with pytest.raises(CommitConflict, match="changed or removed the same columns"):
        commit(table, mine, read=1)


def test_rows_that_are_gone(tmp_path: Path) -> None:
    table = evolved(tmp_path)
    put(table, 1, 2)
    mine = changed(table, "v", {1: "a"})
    truncate_table(open_table(table.location))
    with pytest.raises(CommitConflict, match="changed or removed the same columns"):
        commit(table, mine, read=1)
    with pytest.raises(CommitConflict, match="which are no longer the rows of other files"):
        TableCommit(table, "blind").append(mine)
    assert rows_with_ids(table) == []


def test_a_deletion_and_a_change_of_the_same_row_go_together(tmp_path: Path) -> None:
    table = evolved(tmp_path, VECTORS)
    put(table, 1, 2)
    mine = changed(table, "v", {1: "a", 2: "b"})
    TableCommit(table, "other").append(delete(table, 0), operation="DELETE")
    commit(table, mine, read=1)
    assert [row[:2] for row in rows_with_ids(table)] == [(2, "b")]
    check_table(table.location)


def test_two_deletions_of_one_file_are_told_apart(tmp_path: Path) -> None:
    table = evolved(tmp_path, VECTORS)
    put(table, 1, 2)
    one, other = delete(table, 0), delete(table, 1)
    TableCommit(table, "one").append(one, operation="DELETE")
    with pytest.raises(CommitConflict):
        TableCommit(table, "other").append(other, operation="DELETE")


def test_ranges_that_overlap_in_part(tmp_path: Path) -> None:
    """As of two jobs of another system that know nothing of each other."""
    table = evolved(tmp_path)
    put(table, 1, 2, 3)
    (message,) = changed(table, "v", {1: "a"})
    (live,) = changed(table, "w", {1: 1})

    def entry(message: CommitMessage, **facts: int) -> ManifestEntry:
        return ManifestEntry(FileKind.ADD, message.partition, 0, -1, message.new_files[0]._replace(**facts))

    whole, part = entry(live), entry(message, row_count=2)
    check_row_ids("this", lambda row: row, [whole], [entry(message)], [whole, entry(message)], CommitKind.APPEND)
    for kind in (CommitKind.APPEND, CommitKind.COMPACT):
        with pytest.raises(CommitConflict):
            check_row_ids("this", lambda row: row, [whole], [part], [whole, part], kind)


def test_a_table_of_a_later_release(tmp_path: Path) -> None:
    """A golden table, in which Java has changed `name` already."""
    path = str(GoldenTable("java-2.1", "data_evolution").unpack(tmp_path))
    table = open_table(path)
    rows = table.scan().to_arrow().to_pylist()
    table.append(table.scan().to_arrow().slice(0, 1))
    opened = open_table(path)
    field = opened.schema.by_name["name"]
    for task in column_tasks(opened, latest(opened), files_by_name(opened, splits_of(opened))).values():
        new = pa.RecordBatch.from_pylist([{"name": "ours"}], schema=arrow_schema([field]))
        part = RowChanges(np.zeros(1, np.int64), np.ones(1, np.bool_), new)
        commit(opened, [write_columns(opened, task, [field], iter([part]))])
    expected = [{**rows[0], "name": "ours"}, *rows[1:], {**rows[0], "name": "ours"}]
    assert open_table(path).scan().to_arrow().to_pylist() == expected
    check_table(path)


# --------------------------------------------------------------------------------------------------------------- faults


def change_rows(table: Table) -> None:
    """New values and a deletion in one commit, as a MERGE makes them."""
    made: list[CommitMessage] = []
    work = TableCommit(table, new_user(table))
    try:
        made += changed(table, "v", {1: "new", 3: "new"})
        made += delete(table, 1)
        work.append(made, read=ReadState.of(latest(table)))
    except CommitStateUnknown:
        raise
    except (OSError, PaimonError):
        work.abort(made)
        raise


def prepared(path: Path) -> Table:
    table = evolved(path, VECTORS)
    put(table, 1, 2)
    put(table, 3)
    update(table, "v", {1: "old"})
    return table


@pytest.mark.parametrize("lasting", [False, True], ids=["one fault", "store goes away"])
def test_whatever_fails_rows_change_together_or_not_at_all(tmp_path: Path, lasting: bool) -> None:
    before, after = [(1, "old"), (2, "v2"), (3, "v3")], [(1, "new"), (3, "new")]
    io = FaultyFileIO(LocalFileIO())
    change_rows(replace(prepared(tmp_path / "first"), file_io=io))
    for number, (at, when) in enumerate(fault_points(io.log, 12)):
        table, where = prepared(tmp_path / str(number)), f"{io.log[at]} #{at} {when}"
        try:
            change_rows(replace(table, file_io=FaultyFileIO(LocalFileIO(), at, when, lasting=lasting)))
            expected = [after]
        except CommitStateUnknown:
            expected = [before, after]
        except (OSError, PaimonError):
            expected = [before]
        assert [row[:2] for row in rows_with_ids(table)] in expected, where
        check_table(table.location)


# ----------------------------------------------------------------------------------------------------------- elsewhere


def test_orphans_are_told_from_column_files(tmp_path: Path) -> None:
    table = prepared(tmp_path)
    put(table, 4)
    stray = Path(table.location, "bucket-0", "data-stray-0.parquet")
    stray.write_bytes(b"x")
    age(table.location)
    done = remove_orphan_files(open_table(table.location), dry_run=False)
    assert len(done.paths) == 1
    assert not stray.exists()
    assert [row[:2] for row in rows_with_ids(table)] == [(1, "old"), (2, "v2"), (3, "v3"), (4, "v4")]
    check_table(table.location)


def test_snapshots_expire_with_their_column_files(tmp_path: Path) -> None:
    table = evolved(tmp_path)
    put(table, 1, 2)
    update(table, "v", {1: "a"})
    expire_snapshots(open_table(table.location), retain_max=1, retain_min=1, older_than=2**50)
    assert [row[:2] for row in rows_with_ids(table)] == [(1, "a"), (2, "v2")]
    assert len(list(Path(table.location, "bucket-0").iterdir())) == 2
    truncate_table(open_table(table.location))
    expire_snapshots(open_table(table.location), retain_max=1, retain_min=1, older_than=2**50)
    assert list(Path(table.location).glob("bucket-0/*")) == []
    check_table(table.location)


def test_a_rollback_brings_columns_back(tmp_path: Path) -> None:
    table = evolved(tmp_path)
    put(table, 1, 2)
    update(table, "v", {1: "a"})
    truncate_table(open_table(table.location))
    rollback_to_as_latest(open_table(table.location), snapshot=2)
    assert [row[:2] for row in rows_with_ids(table)] == [(1, "a"), (2, "v2")]
    update(table, "v", {1: "b"})
    assert [row[:2] for row in rows_with_ids(table)] == [(1, "b"), (2, "v2")]
    assert latest(table).next_row_id == 2


def test_what_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"clustering\.incremental does not go with data-evolution\.enabled"):
        make(tmp_path / "c", COLUMNS, [], {**EVOLVED, "clustering.incremental": "true", "clustering.columns": "k"})
    table = evolved(tmp_path, {"file-index.bitmap.columns": "k"}, ["w"])
    put(table, 1)
    create_branch(table, "b", snapshot=1)
    opened = open_table(table.location)
    with pytest.raises(UnsupportedFeature, match=r"'w' is a partition column, and a row .* stays in its partition"):
        check_column_files(opened, Statement.UPDATE, ["v", "w"])
    for work in (
        lambda: sort_table(opened, "order", ["k"]),
        lambda: remove_unexisting_files(opened, dry_run=False),
        lambda: rewrite_file_index(opened),
        lambda: merge_branch(opened, "b"),
    ):
        with pytest.raises(UnsupportedFeature, match=r"may lie in several files \('data-evolution\.enabled'\)"):
            work()
    with pytest.raises(UnsupportedFeature, match=r"ids of rows cannot be copied"):
        copy_table(opened, f"{tmp_path}/copy")


def test_vectors_that_share_files_change_together(tmp_path: Path) -> None:
    """The official system takes files of other columns by their columns, not by age, and would read old values."""
    columns = {"k": "INT", "a": "VECTOR<FLOAT, 1>", "b": "VECTOR<FLOAT, 1>"}
    options = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "vector.file.format": "parquet"}
    table = create_table(tmp_path / "t", columns, options=options)
    table.append({"k": [1], "a": [[1.0]], "b": [[2.0]]})
    with pytest.raises(UnsupportedFeature, match=r"UPDATE of .*VECTOR column 'b' is left as it is.*b = b"):
        table.update("k = 1", {"a": "b"})
    with pytest.raises(UnsupportedFeature, match=r"MERGE of .*VECTOR column 'a' is left as it is"):
        check_column_files(open_table(str(tmp_path / "t")), Statement.MERGE, ["k", "b"])
    check_column_files(open_table(str(tmp_path / "t")), Statement.UPDATE, ["k"])
    table.update("k = 1", {"a": "b", "b": "a"})
    assert table.scan().to_arrow().to_pylist() == [{"k": 1, "a": [2.0], "b": [1.0]}]
