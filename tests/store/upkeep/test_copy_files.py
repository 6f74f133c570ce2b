"""Copies of tables: the same rows by the same files, in one snapshot, or nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.long_runs import LONG
from support.oracles.checker import check_table
from support.oracles.comparing import comparable
from support.tables.commit_states import latest
from support.tables.compacting import compact, live_files, make, rows_of, write
from support.tables.golden_tables import GoldenTable, readable_tables
from support.tables.staging import put
from support.tables.three_files import COLUMNS, ROWS, VECTORS, copied_beside, delete_rows, three_files

from paimon_spark import open_table
from paimon_spark.errors import OptionError, SchemaError, SnapshotNotFound, UnsupportedFeature
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.paths import schema_path
from paimon_spark.format.schema import encode_schema
from paimon_spark.store.clean.lost_files import remove_unexisting_files
from paimon_spark.store.clean.truncate import truncate_table
from paimon_spark.store.commit.attempt import table_state
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.history.branches import create_branch
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.postponed import in_write_order
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.copy_files import copy_table

ONLY_READ = {"row_tracking", "data_evolution", "blob"}
GOLDEN = [golden for golden in readable_tables() if golden.name not in ONLY_READ]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return three_files(tmp_path / "t")


def test_what_a_copy_tells_and_makes(table: Table, tmp_path: Path) -> None:
    done = copy_table(table, f"{tmp_path}/copy/")
    made = open_table(f"{tmp_path}/copy")
    snapshot = latest(made)
    sizes = sum(path.stat().st_size for path in Path(table.location).rglob("data-*"))
    assert (done.location, done.created, done.source_snapshot_id, done.snapshot_id) == (made.location, True, 3, 1)
    assert (done.partitions, done.files, done.index_files, done.rows) == (("partition p=a", "partition p=b"), 3, 0, 3)
    assert done.bytes == sizes
    assert (snapshot.commit_kind, snapshot.total_record_count, made.snapshots.ids()) == ("OVERWRITE", 3, [1])
    assert made.schema == replace(table.schema, time_millis=made.schema.time_millis)
    assert rows_of(made) == ROWS
    assert not {f.file_name for f in live_files(made)} & {f.file_name for f in live_files(table)}
    write(made, [(9, "c", 1)])
    assert len(rows_of(made)) == 4
    assert rows_of(table) == ROWS
    check_table(made.location)


def alike(file: DataFileMeta) -> DataFileMeta:
    """All that a copy must not change."""
    return file._replace(file_name="", extra_files=(), external_path=None, schema_id=0)


@pytest.mark.parametrize("golden", GOLDEN[:: 1 if LONG else 6], ids=str)
def test_golden_tables(golden: GoldenTable, tmp_path: Path) -> None:
    """Of every engine, bucket mode, format and feature: the same rows, and files that differ in names only."""
    table = open_table(str(golden.unpack(tmp_path / "golden")))
    copy_table(table, f"{tmp_path}/copy")
    made = open_table(f"{tmp_path}/copy")
    assert comparable(made.scan().to_arrow()) == comparable(table.scan().to_arrow())
    if table.snapshots.latest_id() is not None:
        assert sorted(map(repr, map(alike, live_files(made)))) == sorted(map(repr, map(alike, live_files(table))))
        check_table(made.location)


@pytest.mark.parametrize("name", sorted(ONLY_READ))
def test_a_table_that_we_only_read(name: str, tmp_path: Path) -> None:
    table = open_table(str(GoldenTable("java-2.1", name).unpack(tmp_path / "golden")))
    with pytest.raises(UnsupportedFeature, match=r"row-tracking\.enabled|data-evolution\.enabled|BLOB"):
        copy_table(table, f"{tmp_path}/copy")
    assert not Path(tmp_path, "copy").exists()


def test_partitions_of_a_condition(table: Table) -> None:
    made = copied_beside(table, where="p = 'b'")
    assert rows_of(made) == ROWS[2:]
    assert copy_table(table, made.location, "p = 'z'").snapshot_id is None
    with pytest.raises(OptionError, match="k is no partition column"):
        copied_beside(table, where="k = 1")


def test_an_empty_table_and_one_without_rows(tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k", "p"], {}, ["p"])
    done = copy_table(table, f"{tmp_path}/copy")
    assert (done.created, done.source_snapshot_id, done.snapshot_id) == (True, None, None)
    assert rows_of(open_table(f"{tmp_path}/copy")) == []
    write(table, ROWS)
    assert rows_of(copied_beside(table)) == ROWS


def test_copying_again_replaces_the_partitions_that_have_rows(table: Table) -> None:
    made = copied_beside(table)
    write(made, [(7, "a", 7), (8, "c", 8)])
    write(table, [(4, "b", 4)])
    again = copied_beside(table)
    assert rows_of(again) == [*ROWS, (4, "b", 4), (8, "c", 8)]
    check_table(again.location)


def test_the_whole_target_is_replaced_where_partitions_are_not_or_not_looked_at(tmp_path: Path) -> None:
    table = three_files(tmp_path / "t", {"dynamic-partition-overwrite": "false"})
    made = copied_beside(table)
    write(made, [(8, "c", 8)])
    assert rows_of(copied_beside(table)) == ROWS
    plain = make(tmp_path / "plain", COLUMNS, ["k"], {})
    write(plain, ROWS)
    other = make(tmp_path / "other", COLUMNS, ["k"], {})
    write(other, [(8, "c", 8)])
    copy_table(plain, other.location)
    assert rows_of(other) == ROWS


@pytest.mark.parametrize("beside", ["false", "true"])
def test_deleted_rows_stay_deleted(tmp_path: Path, beside: str) -> None:
    options = {**VECTORS, "index-file-in-data-file-dir": beside}
    table = three_files(tmp_path / "t", options)
    write(table, [(4, "a", 1), (5, "a", 1), (6, "a", 1)])
    for file in live_files(table):
        if file.row_count == 3:
            delete_rows(table, file.file_name, "a", 0, 2)
    made = copied_beside(table)
    assert rows_of(made) == rows_of(table) == sorted([*ROWS, (5, "a", 1)])
    check_table(made.location)
    again = f"{tmp_path}/again"
    assert copy_table(made, again, "p = 'a'").index_files == 1
    assert rows_of(open_table(again)) == [(1, "a", 1), (2, "a", 1), (5, "a", 1)]


def test_dynamic_buckets_keep_their_keys(tmp_path: Path) -> None:
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": "5"}
    table = make(tmp_path / "t", COLUMNS, ["k"], options)
    put(table, [(k, "a", 1) for k in range(40)])
    made = copied_beside(table)
    assert rows_of(made) == rows_of(table)
    put(made, [(k, "a", 2) for k in range(40)])
    assert rows_of(made) == sorted(((k, "a", 2) for k in range(40)), key=repr)
    check_table(made.location)


def test_an_index_of_a_partition_without_files_stays_behind(tmp_path: Path) -> None:
    """The HASH index of a bucket outlives its lost files; in the target the partition may have one of its own."""
    table = make(tmp_path / "t", COLUMNS, ["k", "p"], {"bucket": "-1"}, ["p"])
    put(table, [(1, "a", 1), (2, "b", 1)])
    made = copied_beside(table)
    next(Path(table.location, "p=a").rglob("data-*")).unlink()
    remove_unexisting_files(table, dry_run=False)
    done = copy_table(table, made.location)
    assert (done.files, done.index_files) == (1, 1)
    put(made, [(1, "a", 2), (2, "b", 2)])
    assert rows_of(made) == [(1, "a", 2), (2, "b", 2)]
    check_table(made.location)
    assert copy_table(table, f"{tmp_path}/none", "p = 'a'").index_files == 0
    assert not list(Path(tmp_path, "none").rglob("index-*"))


def test_postponed_rows_keep_their_order(tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], {"bucket": "-2"})
    for value in range(4):
        put(table, [(1, "a", value)], [(2, "a", value)])
    made = copied_beside(table)
    again = f"{tmp_path}/again"
    copy_table(made, again)
    for copy in (made, open_table(again)):
        old, new = (in_write_order(postponed(one)) for one in (table, copy))
        assert [alike(file) for file in new] == [alike(file) for file in old]
        assert not {file.file_name for file in new} & {file.file_name for file in old}


def postponed(table: Table) -> list[DataFileMeta]:
    return [entry.file for entry in table_state(table, latest(table)).live_entries(None)]


def test_sidecars_are_copied(tmp_path: Path) -> None:
    """The official system puts file indexes there, by the name of the data file with .index, or a number before."""
    table = three_files(tmp_path / "t")
    file = next(file for file in live_files(table) if file.min_sequence_number == 0)
    path = next(Path(table.location).rglob(file.file_name))
    extra = (f"{file.file_name}.index", f"{file.file_name.removesuffix('.parquet')}-1.index")
    for name in extra:
        path.with_name(name).write_text(name)
    entry = next(e for e in table_state(table, latest(table)).live_entries(None) if e.file == file)
    place = (entry.partition, entry.bucket, entry.total_buckets)
    message = CommitMessage(*place, compact_before=(file,), compact_after=(file._replace(extra_files=extra),))
    TableCommit(table, "indexes").append([message])
    made = copied_beside(table)
    (copy,) = (found for found in live_files(made) if found.extra_files)
    stem = copy.file_name.removesuffix(".parquet")
    assert copy.extra_files == (f"{stem}.parquet.index", f"{stem}-1.index")
    copy_path = next(Path(made.location).rglob(copy.file_name))
    assert [copy_path.with_name(name).read_text() for name in copy.extra_files] == list(extra)
    check_table(made.location)


def test_files_of_older_schemas_are_read_by_them(table: Table) -> None:
    """A column that was added, and one that was renamed, after the files were written."""
    k, p, v = table.schema.fields
    fields = (k, p, replace(v, name="renamed"), replace(v, id=3, name="new"))
    schema = replace(table.schema, id=1, fields=fields, highest_field_id=3)
    table.file_io.write_bytes(schema_path(table.location, 1), encode_schema(schema))
    write(table, [(4, "a", 4, 5)])
    made = copied_beside(table)
    assert rows_of(made) == [(1, "a", 1, None), (2, "a", 1, None), (3, "b", 1, None), (4, "a", 4, 5)]
    assert made.schemas.ids() == [0, 1]
    young = make(Path(table.location).parent / "young", COLUMNS, (), {"bucket": "-1"}, ["p"])
    young.file_io.overwrite(schema_path(young.location, 0), encode_schema(replace(schema, id=0)))
    words = r"some data files were written with k, p, v \(schema 0\).*never had just these"
    with pytest.raises(SchemaError, match=words):
        copy_table(open_table(table.location), young.location)


def test_options_of_places_and_branches_are_left_out(tmp_path: Path) -> None:
    """The file lies elsewhere, as a writer with external paths leaves it."""
    table = make(tmp_path / "t", COLUMNS, (), {"bucket": "-1"}, ["p"])
    write(table, [(1, "a", 1)])
    ((file, entry),) = ((e.file, e) for e in table_state(table, latest(table)).live_entries(None))
    outside = Path(tmp_path, "outside", "bucket-0", file.file_name)
    outside.parent.mkdir(parents=True)
    next(Path(table.location).rglob(file.file_name)).rename(outside)
    moved = file._replace(external_path=f"file:{outside}")
    place = (entry.partition, entry.bucket, entry.total_buckets)
    TableCommit(table, "outside").append([CommitMessage(*place, new_files=(moved,), deleted_files=(file,))])
    own = {
        "data-file.external-paths": f"file:{outside.parent.parent}",
        "data-file.external-paths.strategy": "round-robin",
    }
    schema = replace(table.schema, options={**table.schema.options, **own, "scan.fallback-branch": "b"})
    table.file_io.overwrite(schema_path(table.location, 0), encode_schema(schema))
    made = copied_beside(table.with_options({}))
    assert not {*own, "scan.fallback-branch"} & made.schema.options.keys()
    assert rows_of(made) == [(1, "a", 1)]
    assert [copy.external_path for copy in live_files(made)] == [None]
    assert list(Path(tmp_path, "copy", "p=a", "bucket-0").glob("data-*"))


def test_a_branch_is_copied_as_a_table(table: Table) -> None:
    create_branch(table, "b", snapshot=1)
    target = f"{Path(table.location).parent}/copy"
    copy_table(open_table(table.location, {"branch": "b"}), target)
    assert rows_of(open_table(target)) == ROWS[:1]


def test_a_branch_can_be_the_target(table: Table, tmp_path: Path) -> None:
    other = make(tmp_path / "other", COLUMNS, (), {"bucket": "-1"}, ["p"])
    write(other, [(9, "z", 9)])
    with pytest.raises(SnapshotNotFound, match="has no branch 'b'"):
        copy_table(table, f"{other.location}$branch_b")
    for one in (other, table):
        create_branch(one, "b", snapshot=1)
        place = f"{one.location}$branch_b"
        copy_table(table, place)
        assert sorted(map(tuple, map(dict.values, open_table(place).scan().to_arrow().to_pylist())))[:3] == ROWS
        assert not Path(place).exists()
    assert rows_of(other) == [(9, "z", 9)]
    assert rows_of(table) == ROWS
    check_table(other.location)
    check_table(table.location)


ORDERING = {"sequence.snapshot-ordering": "true"}


def test_an_order_that_a_copy_cannot_keep(tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], ORDERING)
    write(table, [(1, "a", 1)])
    write(table, [(1, "a", 2)])
    with pytest.raises(UnsupportedFeature, match=r"sequence\.snapshot-ordering .* compact the table fully, then copy"):
        copied_beside(table)
    assert not Path(tmp_path, "copy").exists()
    compact(table)
    made = copied_beside(table)
    write(made, [(1, "a", 3)])
    assert rows_of(made) == [(1, "a", 3)]


def test_a_source_without_rows_empties_a_target_without_partitions(tmp_path: Path) -> None:
    """As in Java: all of it is replaced."""
    table, target = (make(tmp_path / name, COLUMNS, ["k"], {}) for name in ("t", "target"))
    assert copy_table(table, target.location).snapshot_id is None
    write(target, ROWS)
    assert copy_table(table, target.location).snapshot_id == 2
    assert rows_of(target) == []
    write(target, ROWS)
    write(table, ROWS)
    truncate_table(table)
    assert copy_table(table, target.location).snapshot_id == 4
    assert rows_of(target) == []
    assert copy_table(table, target.location).snapshot_id is None


def test_a_target_near_by(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert copy_table(table, "copy").location == f"{tmp_path}/copy"
    assert rows_of(open_table(f"{tmp_path}/copy")) == ROWS
    with pytest.raises(OptionError, match="the table itself"):
        copy_table(table, "t")
