"""Rows of a table in the shape of a system table, sizes of metadata, and the greatest value of a partition column."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.tables.commit_states import latest
from support.tables.compacting import compact, make, write
from support.tables.files_by_hand import added, file, keyed_table, partition

from paimon_spark.arrow.predicates.predicate import AlwaysTrue
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.format.manifest import GlobalIndexMeta
from paimon_spark.format.manifests.index_manifest import decode_index_manifest, encode_index_manifest
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.open import find_system_table
from paimon_spark.store.system_tables.rows import ShapedReader, row_scan, view_fields
from paimon_spark.store.system_tables.table import SystemTable
from paimon_spark.store.system_tables.totals import largest_partition_value
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64())])


def shaped(table: Table, name: str, batches: list[list[tuple[str, int, int]]], pairs: bool) -> list[dict[str, Any]]:
    """The rows of $audit_log or $binlog that are made of rows of the table, each with its kind before it."""
    reader = row_scan(name, table, view_fields(name, table), AlwaysTrue()).reader()
    assert isinstance(reader, ShapedReader)
    schema = reader.reader.arrow_schema
    given = [
        pa.RecordBatch.from_pylist([{"_row_kind": kind, "k": k, "v": v} for kind, k, v in rows], schema=schema)
        for rows in batches
    ]
    return [row for batch in reader.shaped(iter(given), pairs_updates=pairs) for row in batch.to_pylist()]


@pytest.mark.parametrize(
    "cut", [[], [1], [2], [1, 2, 3, 4, 5], [3, 3]], ids=["one batch", "before", "within", "each row", "an empty batch"]
)
def test_an_update_is_one_row_of_the_binlog_however_it_is_cut(tmp_path: Path, cut: list[int]) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], {})
    rows = [("+I", 1, 10), ("-U", 1, 10), ("+U", 1, 11), ("-D", 1, 11), ("-U", 2, 20), ("+U", 2, 21)]
    batches = [rows[start:end] for start, end in zip([0, *cut], [*cut, len(rows)], strict=True)]
    assert shaped(table, "binlog", batches, pairs=True) == [
        {"rowkind": "+I", "k": [1], "v": [10]},
        {"rowkind": "+U", "k": [1, 1], "v": [10, 11]},
        {"rowkind": "-D", "k": [1], "v": [11]},
        {"rowkind": "+U", "k": [2, 2], "v": [20, 21]},
    ]
    single = shaped(table, "binlog", batches, pairs=False)
    assert [(row["rowkind"], row["v"]) for row in single] == [(kind, [v]) for kind, _, v in rows]
    audit = shaped(table, "audit_log", batches, pairs=True)
    assert [(row["rowkind"], row["k"], row["v"]) for row in audit] == rows


def test_the_first_half_of_an_update_at_the_end_is_a_row(tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], {})
    found = shaped(table, "binlog", [[("+I", 1, 1)], [("-U", 1, 1)]], pairs=True)
    assert found == [{"rowkind": "+I", "k": [1], "v": [1]}, {"rowkind": "-U", "k": [1], "v": [1]}]


def test_how_many_bytes_of_metadata_a_read_looks_at(tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], {})
    assert SystemTable(table, "files").metadata_size() == 0
    sizes = []
    for number in range(2):
        write(table, [(number, number)])
        sizes.append(SystemTable(table, "files").metadata_size() or 0)
    manifests = sum(p.stat().st_size for p in Path(table.location, "manifest").glob("manifest-[!l]*[0-9]"))
    assert sizes[1] - 2 * 2000 == manifests
    assert 0 < sizes[0] - 2000 < manifests
    assert [SystemTable(table, name).metadata_size() for name in ("audit_log", "file_indexes")] == [None, None]


@pytest.mark.parametrize(
    ("column", "values", "largest"),
    [
        (pa.int32(), [3, -1, None], 3),
        (pa.string(), ["z", "é", "\ue000", "\U0001f600"], "\U0001f600"),  # in Java's own order the last but one
        (pa.float64(), [1.0, float("nan"), float("inf")], "nan"),
        (pa.float64(), [1.0, -2.0], 1.0),
        (pa.int32(), [None], None),
    ],
)
def test_the_largest_value_of_a_partition(tmp_path: Path, column: pa.DataType, values: list[Any], largest: Any) -> None:
    schema = new_schema(pa.schema([("p", column), ("v", pa.int64())]), (), ("p",), {"write-only": "true"})
    create_table(str(tmp_path / "t"), schema)
    table = open_table(str(tmp_path / "t"))
    assert largest_partition_value(table) is None
    for value in values:
        write(table, [(value, 1)])
    found = largest_partition_value(table)
    assert (str(found) if isinstance(found, float) and struct.pack(">d", found)[1] >= 0xF8 else found) == largest


def test_rows_that_deletion_vectors_delete_are_counted(tmp_path: Path) -> None:
    columns = pa.schema([("p", pa.string()), ("k", pa.int32()), ("v", pa.int64())])
    table = make(tmp_path / "t", columns, ["p", "k"], {"deletion-vectors.enabled": "true"}, ["p"])
    write(table, [(p, k, k) for p in ("a", "b") for k in range(9)])
    compact(table)
    write(table, [("a", k, 100) for k in range(2)])
    compact(table, full=False)
    assert deleted_records(table) == {"p=a": 2, "p=b": 0}
    path = Path(table.location, "manifest", latest(table).index_manifest or "")
    entries = decode_index_manifest(path.read_bytes(), path.name)
    uncounted = [[replace(r, cardinality=None) for r in entry.deletion_ranges or ()] for entry in entries]
    old = [replace(e, deletion_ranges=tuple(ranges)) for e, ranges in zip(entries, uncounted, strict=True)]
    path.write_bytes(encode_index_manifest(old))  # as releases wrote it that did not count them
    assert deleted_records(table) == {"p=a": None, "p=b": 0}


def test_rows_that_vectors_of_several_buckets_delete_are_added_up(tmp_path: Path) -> None:
    columns = pa.schema([("p", pa.string()), ("k", pa.int32()), ("v", pa.int64())])
    options = {"deletion-vectors.enabled": "true", "bucket": "3"}
    table = make(tmp_path / "t", columns, ["p", "k"], options, ["p"])
    write(table, [("a", k, k) for k in range(30)])
    compact(table)
    write(table, [("a", k, 100) for k in range(20)])
    compact(table, full=False)
    assert deleted_records(table) == {"p=a": 20}


def deleted_records(table: Table) -> dict[str, int | None]:
    shown = find_system_table(f"{table.location}$partitions")
    assert shown is not None
    return {row["partition"]: row["deleted_record_count"] for row in shown.scan().to_arrow().to_pylist()}


def test_buckets_without_files_are_not_shown(tmp_path: Path) -> None:
    table = keyed_table(tmp_path / "t")
    for part, bucket in (("b", 1), ("a", 1), ("a", 0)):
        TableCommit(table, f"{part}{bucket}").append(
            [added(file(f"{part}{bucket}", keys=(1, 1)), part=partition(part), bucket=bucket, total=2)]
        )
    shown = find_system_table(f"{table.location}$buckets")
    assert shown is not None
    found = [(row["partition"], row["bucket"], row["file_count"]) for row in shown.scan().to_arrow().to_pylist()]
    assert found == [("{a}", 0, 1), ("{a}", 1, 1), ("{b}", 1, 1)]


def test_index_files_with_what_they_are_of(tmp_path: Path) -> None:
    columns = pa.schema([("p", pa.string()), ("k", pa.int32()), ("v", pa.int64())])
    table = make(tmp_path / "t", columns, ["p", "k"], {"deletion-vectors.enabled": "true"}, ["p"])
    write(table, [("a", k, k) for k in range(9)])
    compact(table)
    write(table, [("a", 3, 100)])
    compact(table, full=False)
    path = Path(table.location, "manifest", latest(table).index_manifest or "")
    (vectors,) = decode_index_manifest(path.read_bytes(), path.name)
    ids = {field.name: field.id for field in table.schema.fields}
    indexes = [(ids["k"], (ids["v"],)), (ids["k"], None), (ids["k"], (99,)), (99, None)]
    made = [
        replace(vectors, index_type="btree", deletion_ranges=None, global_index=GlobalIndexMeta(0, 8, one, others))
        for one, others in indexes
    ]
    path.write_bytes(encode_index_manifest([vectors, *made]))
    shown = find_system_table(f"{table.location}$table_indexes")
    assert shown is not None
    found = shown.scan().to_arrow().to_pylist()
    assert [row["index_field_name"] for row in found] == [None, "k,v", "k", None, None]
    assert [row["index_field_id"] for row in found] == [None, ids["k"], ids["k"], ids["k"], 99]
    assert [(row["row_range_start"], row["row_range_end"]) for row in found] == [(None, None), *[(0, 8)] * 4]
    assert [len(row["dv_ranges"] or ()) for row in found] == [1, 0, 0, 0, 0]
    assert found[1]["dv_ranges"] is None
    (place,) = vectors.deletion_ranges or ()
    assert list(found[0]["dv_ranges"][0].values()) == [place.data_file, place.offset, place.length, 1]
    assert {(row["partition"], row["bucket"]) for row in found} == {("{a}", 0)}
