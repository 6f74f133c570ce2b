"""System tables of open_table have the methods of a scan; what scans lack has a sentence that says what they have."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from support.tables.compacting import write
from support.tables.golden_tables import GoldenTable

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.cli.facts import view_table
from paimon_spark.errors import OptionError, UnsupportedFeature, UnsupportedMethod
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.system_tables.names import NAMES
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table


@pytest.fixture
def table(tmp_path: Path) -> ReadableTable:
    return open_table(str(GoldenTable("java-2.1", "pk_dedup").unpack(tmp_path)))


@pytest.mark.parametrize("name", ["files", "snapshots", "audit_log", "ro", "options"])
def test_totals_are_those_of_the_rows(table: ReadableTable, name: str) -> None:
    scan = table.system_table(name)
    rows = scan.to_arrow()
    assert scan.count() == rows.num_rows > 0
    for column in rows.column_names:
        values = [value for value in rows.column(column).to_pylist() if value is not None]
        if pa.types.is_nested(rows.schema.field(column).type):
            with pytest.raises(UnsupportedFeature, match="have no order"):
                scan.min(column)
            continue
        assert scan.min(column.upper()) == min(values, default=None)
        assert scan.max(column) == max(values, default=None)
        found = scan.top(column, 2, descending=True, nulls_first=False).column(column).to_pylist()
        assert [value for value in found if value is not None] == sorted(values, reverse=True)[:2]


def test_nulls_come_first_where_values_ascend_unless_the_call_says_otherwise(tmp_path: Path) -> None:
    create_table(str(tmp_path / "t"), new_schema(pa.schema([("v", pa.int32())]), (), (), {}))
    table = open_table(str(tmp_path / "t"))
    write(table, [(2,), (None,), (1,)])
    scan = table.system_table("audit_log")

    def top(**order: bool) -> list[int | None]:
        return cast("list[int | None]", scan.top("v", 2, **order).column("v").to_pylist())

    assert (top(), top(descending=True)) == ([None, 1], [2, 1])
    assert (top(nulls_first=False), top(descending=True, nulls_first=True)) == ([1, 2], [None, 2])


def test_a_condition_and_columns_count(table: ReadableTable) -> None:
    rows = table.system_table("snapshots").to_arrow()
    wanted = table.system_table("snapshots", "snapshot_id", where="snapshot_id > 2")
    assert wanted.count() == sum(one > 2 for one in rows.column("snapshot_id").to_pylist())
    assert wanted.min("snapshot_id") == 3
    assert table.system_table("snapshots", where="snapshot_id < 0").max("snapshot_id") is None
    with pytest.raises(OptionError, match="commit_kind"):
        wanted.min("commit_kind")
    with pytest.raises(OptionError, match="-1 rows are asked for"):
        wanted.top("snapshot_id", -1)
    with pytest.raises(OptionError, match="'_row_kind' of a system table: the table has no such column"):
        wanted.top("_row_kind", 1)  # which every table of rows has


@pytest.mark.parametrize("name", ["", *(name for name in NAMES if name != "row_tracking")])  # this table has none
def test_what_people_try_first(table: ReadableTable, name: str) -> None:
    scan: Any = table.system_table(name) if name else table.scan()
    for tried, told in {
        "schema": "arrow_schema",
        "columns": "columns=",
        "num_rows": r"count\(\)",
        "collect": "to_pylist",
        "limit": r"head\(20\)",
        "select": "columns=",
    }.items():
        with pytest.raises(UnsupportedMethod, match=f"has no '{tried}': .*{told}"):
            getattr(scan, tried)
        assert not hasattr(scan, tried)
    with pytest.raises(UnsupportedMethod, match=r"no len\(\): count\(\)"):
        len(scan)
    with pytest.raises(UnsupportedMethod, match=r"to_batches\(\)"):
        list(scan)
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        _ = scan.nope
    assert scan


def test_only_a_scan_of_the_table_is_explained(table: ReadableTable) -> None:
    assert table.scan().explain() is not None
    scan: Any = table.system_table("files")
    with pytest.raises(UnsupportedMethod, match=r"explain\(\) of a scan of the table"):
        scan.explain()


def test_a_scan_is_still_pickled_and_taken_by_libraries(table: ReadableTable) -> None:
    for scan in (table.scan(), table.system_table("files"), table.system_table("audit_log")):
        rows = scan.to_arrow()
        assert pickle.loads(pickle.dumps(scan)).to_arrow() == rows
        assert pa.table(scan) == rows
        assert scan.to_pandas().shape == rows.shape


def test_partitions_of_the_same_text_have_a_row_each(tmp_path: Path) -> None:
    values = ["", " ", " ", None, "null", "a", "__DEFAULT_PARTITION__"]
    columns = pa.schema([("id", pa.int64()), ("p", pa.string())])
    create_table(str(tmp_path / "t"), new_schema(columns, (), ["p"], {}))
    table = open_table(str(tmp_path / "t"))
    write = TableWrite(table, "user")
    write.write(pa.record_batch([pa.array(range(7), pa.int64()), pa.array(values, pa.string())], schema=columns))
    TableCommit(table, "user").append(write.finish())
    for name in ("partitions", "buckets", "files"):
        rows = table.system_table(name).to_arrow().select(["record_count"]).to_pylist()
        assert sorted(row["record_count"] for row in rows) == [1, 1, 1, 1, 1, 2], name
    stored = view_table(table.location, {}, None).facts.stored
    assert (stored.partitions, stored.buckets) == (6, 6)
