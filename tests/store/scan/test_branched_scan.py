"""Reading through `scan.fallback-branch` and `scan.primary-branch`."""

from __future__ import annotations

import json
import logging
import pickle
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from support.faults.faulty_store import FaultyFileIO
from support.tables.compacting import make, write

from paimon_spark.errors import DataError, MissingFile, SchemaError, SnapshotNotFound, UnsupportedFeature
from paimon_spark.file_io import LocalFileIO
from paimon_spark.store.history.branches import create_branch, delete_branch
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema(
    [pa.field("dt", pa.string(), nullable=False), pa.field("k", pa.int32(), nullable=False), ("v", pa.string())]
)
FALLBACK, PRIMARY = {"scan.fallback-branch": "b"}, {"scan.primary-branch": "b"}
Row = tuple[str, int, str | None]


def put(table: Table, *rows: Row, branch: str = "main") -> None:
    write(open_table(table.location, {"branch": branch}), rows)


def rows(table: Table, options: dict[str, str], where: str | None = None) -> list[Row]:
    found = open_table(table.location, options).scan(where=where).to_arrow()
    return sorted(tuple(row.values()) for row in found.to_pylist())


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Main has the days 1 and 2, the branch b has 2 and 3."""
    table = make(tmp_path / "t", COLUMNS, ["dt", "k"], {"bucket": "1"}, ["dt"])
    create_branch(table, "b")
    put(table, ("1", 1, "main"), ("2", 1, "main"))
    put(table, ("2", 2, "b"), ("3", 1, "b"), branch="b")
    return table


MAIN_FIRST = [("1", 1, "main"), ("2", 1, "main"), ("3", 1, "b")]
B_FIRST = [("1", 1, "main"), ("2", 2, "b"), ("3", 1, "b")]


def test_whole_partitions_come_from_one_branch(table: Table) -> None:
    assert rows(table, FALLBACK) == MAIN_FIRST
    assert rows(table, PRIMARY) == B_FIRST
    assert rows(table, {**PRIMARY, **FALLBACK}) == MAIN_FIRST
    assert rows(table, {}) == MAIN_FIRST[:2]
    assert rows(table, {**FALLBACK, "branch": "b"}) == B_FIRST[1:]


def test_a_condition_does_not_make_a_partition_fall_back(table: Table) -> None:
    """Day 2 is in main, so that of the branch is not looked at, though the row asked for is only there."""
    assert rows(table, FALLBACK, "dt = '2' and k = 2") == []
    assert rows(table, PRIMARY, "dt = '2' and k = 1") == []
    assert rows(table, FALLBACK, "dt >= '2'") == MAIN_FIRST[1:]
    assert rows(table, FALLBACK, "v = 'b'") == [("3", 1, "b")]
    assert rows(table, FALLBACK, "false") == []


def test_metadata_of_each_branch_are_read_once(table: Table) -> None:
    """Unless a condition on values hides files, so that the plan does not tell which partitions there are."""

    def reads(options: dict[str, str], where: str | None = None) -> int:
        io = FaultyFileIO(LocalFileIO())
        scan = replace(open_table(table.location, options), file_io=io).scan(where=where)
        io.log.clear()
        scan.plan()
        return Counter(io.log)["read"]

    for where in (None, "dt >= '1'"):
        both = reads({}, where) + reads({"branch": "b"}, where)
        assert reads(FALLBACK, where) == reads(PRIMARY, where) == both
    assert reads(FALLBACK, "k = 1") > reads({}, "k = 1") + reads({"branch": "b"}, "k = 1")


def test_counts_columns_and_tasks(table: Table) -> None:
    scan = open_table(table.location, FALLBACK).scan(["v"])
    assert scan.count() == 3
    assert sorted(scan.to_arrow().column("v").to_pylist()) == ["b", "main", "main"]
    assert open_table(table.location, FALLBACK).scan([]).to_arrow().num_rows == 3
    reader, tasks = pickle.loads(pickle.dumps((scan.reader(), scan.tasks())))
    found = [batch for task in tasks for split in task for batch in reader.read(split)]
    assert pa.Table.from_batches(found) == scan.to_arrow()
    kinds = open_table(table.location, FALLBACK).scan(["k"], row_kinds=True).to_arrow()
    assert kinds.column("_row_kind").to_pylist() == ["+I"] * 3


def test_other_tables_of_rows_too(table: Table) -> None:
    opened = open_table(table.location, PRIMARY)
    audit = opened.system_table("audit_log").to_arrow().to_pylist()
    assert sorted(tuple(row.values()) for row in audit) == [("+I", *row) for row in B_FIRST]
    assert opened.system_table("ro").to_arrow().num_rows == 0
    assert len(opened.system_table("files").to_arrow()) == 2  # of its own branch, as in Java
    put(table, ("2", 3, "more"), branch="b")
    for options, second in ((PRIMARY, 2), (FALLBACK, 1)):
        shown = open_table(table.location, options).system_table("partitions", ["partition", "file_count"]).to_arrow()
        assert [tuple(row.values()) for row in shown.to_pylist()] == [("dt=1", 1), ("dt=2", second), ("dt=3", 1)]


def test_older_states(table: Table) -> None:
    """A snapshot id of main names the one of the same time in the branch; else both travel by the same option."""
    put(table, ("4", 1, "main"))
    put(table, ("5", 1, "b"), branch="b")
    assert rows(table, {**FALLBACK, "scan.snapshot-id": "2"}) == [*MAIN_FIRST, ("4", 1, "main")]
    assert rows(table, FALLBACK) == [*MAIN_FIRST, ("4", 1, "main"), ("5", 1, "b")]
    time = str(table.snapshots.load(2).time_millis)
    assert rows(table, {**FALLBACK, "scan.timestamp-millis": time}) == [*MAIN_FIRST, ("4", 1, "main")]
    create_tag(table, "now", 1)
    with pytest.raises(SnapshotNotFound, match="gone"):
        rows(table, {**FALLBACK, "scan.tag-name": "gone"})
    assert rows(table, {**FALLBACK, "scan.tag-name": "now"}) == MAIN_FIRST[:2]
    create_tag(open_table(table.location, {"branch": "b"}), "now", 2)
    assert rows(table, {**FALLBACK, "scan.tag-name": "now"}) == [*MAIN_FIRST, ("5", 1, "b")]


def test_no_change_is_read_through_branches(table: Table) -> None:
    change = {"incremental-between": "0,1"}
    with pytest.raises(UnsupportedFeature, match=r"set the option 'scan.fallback-branch' to ''"):
        rows(table, {**FALLBACK, **change})
    assert rows(table, {**change, "scan.fallback-branch": ""}) == MAIN_FIRST[:2]


def test_a_branch_that_is_not_there_is_passed_over(table: Table, caplog: pytest.LogCaptureFixture) -> None:
    """As in Java, so that a table can name its branch before it is made."""
    with caplog.at_level(logging.WARNING):
        assert rows(table, {"scan.fallback-branch": "x"}) == MAIN_FIRST[:2]
    assert "is to be read through the branch 'x', which it does not have" in caplog.text
    delete_branch(table, "b")
    assert rows(table, FALLBACK) == MAIN_FIRST[:2]


def change_schema(table: Table, branch: str, **parts: object) -> None:
    root = Path(table.location) if branch == "main" else Path(table.location, f"branch/branch-{branch}")
    old = json.loads((root / "schema/schema-0").read_text())
    (root / "schema/schema-1").write_text(json.dumps({**old, "id": 1, **parts}))


def test_schemas_must_be_alike(table: Table) -> None:
    fields = json.loads(Path(table.location, "schema/schema-0").read_text())["fields"]
    for other in (fields[:2], [*fields[:2], {**fields[2], "type": "INT"}], [fields[1], fields[0], fields[2]]):
        change_schema(table, "b", fields=other, primaryKeys=["dt", "k"])
        with pytest.raises(
            SchemaError, match=r"the columns must be the same in both.* of 'main' are dt: string.*, k: "
        ):
            rows(table, FALLBACK)
    change_schema(table, "b", partitionKeys=["k"])
    with pytest.raises(SchemaError, match="the partition columns must be the same in both, but those of 'main' are dt"):
        rows(table, FALLBACK)
    change_schema(table, "b", options={"bucket": "1", "batch-scan-mode": "compact"})
    with pytest.raises(UnsupportedFeature, match=r"through the branch 'b': .*batch-scan-mode"):
        rows(table, FALLBACK)
    change_schema(table, "b", fields=[*fields[:2], {**fields[2], "type": "STRING NOT NULL"}])
    assert rows(table, FALLBACK) == MAIN_FIRST


def test_nulls_that_the_table_must_not_have(table: Table) -> None:
    put(table, ("9", 9, None), branch="b")
    assert rows(table, FALLBACK)[-1] == ("9", 9, None)
    fields = json.loads(Path(table.location, "schema/schema-0").read_text())["fields"]
    change_schema(table, "main", fields=[*fields[:2], {**fields[2], "type": "STRING NOT NULL"}])
    with pytest.raises(DataError, match="its column 'v' holds NULL, which it must not in the branch 'main'"):
        rows(table, FALLBACK)


def test_writes_know_their_own_branch(table: Table) -> None:
    """What is written to a partition that fell back so far hides that of the branch."""
    change_schema(table, "main", options={"bucket": "1", "write-only": "true", **FALLBACK})
    assert rows(table, {}) == MAIN_FIRST
    put(table, ("3", 7, "main"))
    assert rows(table, {}) == [*MAIN_FIRST[:2], ("3", 7, "main")]
    assert rows(table, {"branch": "b"}) == B_FIRST[1:]


def test_lost_files_that_the_branch_tolerates_are_not_counted(table: Table) -> None:
    change_schema(table, "b", options={"bucket": "1", "scan.ignore-lost-files": "true"})
    next(Path(table.location, "dt=3").rglob("data-*")).unlink()
    assert rows(table, FALLBACK) == MAIN_FIRST[:2]
    assert open_table(table.location, FALLBACK).scan().count() == 2


def test_tags_of_a_read_are_in_both_branches_while_it_lasts(table: Table) -> None:
    options = {**FALLBACK, "scan.plan-auto-tag-for-read.time-retained": "1 h"}
    sides = [table.snapshots, open_table(table.location, {"branch": "b"}).snapshots]
    batches = open_table(table.location, options).scan().to_batches()
    next(batches)
    assert [len(side.tag_names()) for side in sides] == [1, 1]
    batches.close()
    assert [side.tag_names() for side in sides] == [[], []]
    manifest = Path(table.location, "manifest", table.snapshots.load(1).delta_manifest_list)
    manifest.rename(manifest.with_name("away"))
    with pytest.raises(MissingFile):
        open_table(table.location, options).scan().to_arrow()
    assert [side.tag_names() for side in sides] == [[], []]
