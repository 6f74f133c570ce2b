"""Iceberg metadata: where they are, what is left out, and how they are repaired. Rows are read by pyiceberg.

``tests/interop/test_iceberg_histories.py`` has random tables.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import math
import os
import shutil
import struct
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyiceberg import types as iceberg
from pyiceberg.conversions import to_bytes
from pyiceberg.table import StaticTable

from paimon_spark import create_table, open_table
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.deletion_vector import MAGIC_64
from paimon_spark.format.iceberg.types import bound_pair, iceberg_schema, is_promoted, single_value
from paimon_spark.format.rules.iceberg_tables import check_iceberg
from paimon_spark.format.type_text import parse_type
from paimon_spark.store.clean.orphans import remove_orphan_files
from paimon_spark.store.clean.purge import purge_files
from paimon_spark.store.history.branches import create_branch
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.iceberg.publish import publish_commit
from paimon_spark.tables.open import WritableTable

HERE = {"metadata.iceberg.storage": "table-location"}
COLUMNS = {"id": "BIGINT", "v": "STRING"}


def made(folder: Path, parts: tuple[str, ...] = (), **options: str) -> WritableTable:
    given = {key.replace("__", "-").replace("_", "."): value for key, value in options.items()}
    return create_table(str(folder / "d.db" / "t"), COLUMNS, (), parts, {**HERE, **given})


def append(table: WritableTable, *numbers: int) -> None:
    table.append(pa.table({"id": list(numbers), "v": [str(n) for n in numbers]}))


def directory(table: WritableTable) -> Path:
    return Path(table.location, "metadata")


def newest(folder: Path) -> Path:
    return folder / f"v{(folder / 'version-hint.text').read_text()}.metadata.json"


def document(table: WritableTable) -> dict[str, Any]:
    return dict(json.loads(newest(directory(table)).read_text()))


def ids(folder: Path, snapshot: int | None = None) -> list[int]:
    rows = StaticTable.from_metadata(str(newest(folder))).scan(snapshot_id=snapshot).to_arrow()
    return sorted(rows["id"].to_pylist())


# ------------------------------------------------------------------------------------------------------------ repairs


def test_a_commit_is_done_though_its_metadata_are_not(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = made(tmp_path)
    append(table, 1)
    shutil.rmtree(directory(table))
    directory(table).write_text("in the way")
    with caplog.at_level(logging.WARNING):
        append(table, 2)
    assert "is changed, but its Iceberg metadata are not" in caplog.text
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2]
    directory(table).unlink()
    append(table, 3)
    assert ids(directory(table)) == [1, 2, 3]


def test_a_lost_step_is_made_good_by_the_next_commit(tmp_path: Path) -> None:
    table = made(tmp_path, metadata_iceberg_previous__versions__max="5")
    append(table, 1)
    before = document(table)["table-uuid"]
    table.with_options({"metadata.iceberg.storage": "disabled"}).append(pa.table({"id": [2], "v": ["2"]}))
    append(table, 3)
    assert ids(directory(table)) == [1, 2, 3]
    assert document(table)["table-uuid"] == before
    assert [s["snapshot-id"] for s in document(table)["snapshots"]] == [3]


@pytest.mark.parametrize("damage", ["lost", "damaged"])
@pytest.mark.parametrize("pattern", ["snap-*.avro", "*-m1.avro", "v*.metadata.json"])
def test_damaged_metadata_are_made_anew(tmp_path: Path, pattern: str, damage: str) -> None:
    table = made(tmp_path)
    append(table, 1)
    append(table, 2)
    for path in directory(table).glob(pattern):
        path.unlink() if damage == "lost" else path.write_bytes(b"damaged")
    table.delete("id = 1")  # which reads the manifests before
    assert ids(directory(table)) == [2]


@pytest.mark.parametrize("notices", [True, False])
def test_metadata_of_snapshots_that_were_taken_away_are_not_gone_on_from(tmp_path: Path, notices: bool) -> None:
    """Java before 2.1 tells the metadata nothing of a rollback, and writes no identity of snapshots."""
    table = made(tmp_path, metadata_iceberg_previous__versions__max="9")
    for number in (1, 2, 3):
        append(table, number)
    other = table if notices else table.with_options({"metadata.iceberg.storage": "disabled"})
    rollback(other, snapshot=1)
    if notices:
        assert ids(directory(table)) == [1]
        assert not (directory(table) / "v3.metadata.json").exists()
    append(other, 4)
    append(table, 5)
    assert ids(directory(table)) == [1, 4, 5]
    append(table, 6)
    assert ids(directory(table)) == [1, 4, 5, 6]


def test_metadata_without_identity_are_trusted_by_their_time(tmp_path: Path) -> None:
    table = made(tmp_path)
    append(table, 1)
    append(table, 2)
    path = newest(directory(table))
    found = document(table)
    for entry in found["snapshots"]:
        del entry["summary"]["paimon-commit-identity"]
    path.write_text(json.dumps(found))
    append(table, 3)
    assert [s["snapshot-id"] for s in document(table)["snapshots"]] == [1, 2, 3]
    path = newest(directory(table))
    found = document(table)
    del found["snapshots"][-1]["summary"]["paimon-commit-identity"]
    found["snapshots"][-1]["timestamp-ms"] -= 60_000  # published before the snapshot that has the id now
    path.write_text(json.dumps(found))
    append(table, 4)
    assert [s["snapshot-id"] for s in document(table)["snapshots"]] == [4]
    assert ids(directory(table)) == [1, 2, 3, 4]


def test_a_late_committer_leaves_newer_metadata_alone(tmp_path: Path) -> None:
    table = made(tmp_path, metadata_iceberg_previous__versions__max="9")
    append(table, 1)
    first = table.snapshots.load(1)
    append(table, 2)
    before = {path.name: path.read_bytes() for path in directory(table).iterdir()}
    publish_commit(table, first, None)
    assert {path.name: path.read_bytes() for path in directory(table).iterdir()} == before


def test_a_table_that_was_moved_begins_anew(tmp_path: Path) -> None:
    table = made(tmp_path)
    append(table, 1)
    moved = tmp_path / "d.db" / "moved"
    shutil.move(table.location, moved)
    again = open_table(str(moved))
    assert isinstance(again, WritableTable)
    append(again, 2)
    assert document(again)["location"] == str(moved)
    assert ids(directory(again)) == [1, 2]


def test_nothing_stays_behind(tmp_path: Path) -> None:
    """Of files that no metadata name: after merges of manifests, expiry and metadata that are made anew."""
    table = made(tmp_path, metadata_iceberg_compaction_min_file__num="2", metadata_iceberg_compaction_max_file__num="2")
    table.set_options({"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"})
    for number in range(5):
        append(table, number)
        table.delete(f"id = {number - 2}")
    table.with_options({"metadata.iceberg.storage": "disabled"}).append(pa.table({"id": [9], "v": ["9"]}))
    append(table, 10)
    static = StaticTable.from_metadata(str(newest(directory(table))))
    lists = {snapshot.manifest_list for snapshot in static.metadata.snapshots}
    manifests = {m.manifest_path for snapshot in static.metadata.snapshots for m in snapshot.manifests(static.io)}
    named = {Path(path).name for path in (*lists, *manifests)}
    assert {path.name for path in directory(table).glob("*.avro")} == named
    assert len(list(directory(table).glob("*.json"))) == 1


def test_writers_at_once_leave_the_metadata_of_the_last_snapshot(tmp_path: Path) -> None:
    table = made(tmp_path, commit_min__retry__wait="1 ms", commit_max__retry__wait="5 ms")
    append(table, 0)

    def write(start: int) -> None:
        for number in range(start, start + 6):
            append(made_again(table), number)

    with ThreadPoolExecutor(3) as threads:
        for done in [threads.submit(write, start) for start in (100, 200, 300)]:
            done.result()
    expected = sorted([0, *(start + i for start in (100, 200, 300) for i in range(6))])
    assert ids(directory(table)) == expected
    assert document(table)["current-snapshot-id"] == 19
    append(table, 1)
    assert ids(directory(table)) == sorted([1, *expected])


def made_again(table: WritableTable) -> WritableTable:
    again = open_table(table.location)
    assert isinstance(again, WritableTable)
    return again


def test_orphans_are_not_sought_among_them(tmp_path: Path) -> None:
    table = made(tmp_path, parts=("v",))
    append(table, 1, 2)
    before = sorted(path.name for path in directory(table).iterdir())
    for path in directory(table).iterdir():
        os.utime(path, (0, 0))
    remove_orphan_files(table, "2026-01-01 00:00:00")
    purge_files(table, "2026-01-01 00:00:00")
    assert ids(directory(table)) == []
    assert len(before) == len(list(directory(table).iterdir())) == 4


# --------------------------------------------------------------------------------------------------------- where, what


def test_a_hadoop_catalog_is_beside_the_databases(tmp_path: Path) -> None:
    table = made(tmp_path, metadata_iceberg_storage="hadoop-catalog")
    append(table, 1)
    there = tmp_path / "iceberg" / "d" / "t" / "metadata"
    assert ids(there) == [1]
    assert not directory(table).exists()
    shutil.rmtree(table.location)
    again = made(tmp_path, metadata_iceberg_storage="hadoop-catalog")
    append(again, 2)
    assert ids(there) == [2]
    assert len(list(there.glob("*.avro"))) == 2  # those of the dropped table are gone


def test_the_place_can_be_chosen(tmp_path: Path) -> None:
    table = made(
        tmp_path, metadata_iceberg_storage="hadoop-catalog", metadata_iceberg_storage__location="table-location"
    )
    append(table, 1)
    assert ids(directory(table)) == [1]
    with pytest.raises(OptionError, match="not in a database directory"):
        append(
            create_table(str(tmp_path / "x" / "t"), COLUMNS, (), (), {"metadata.iceberg.storage": "hadoop-catalog"}), 1
        )


def test_the_older_option_means_the_table(tmp_path: Path) -> None:
    options = {"metadata.iceberg-compatible": "true"}
    table = create_table(str(tmp_path / "d.db" / "t"), COLUMNS, (), (), options)
    append(table, 1)
    assert ids(directory(table)) == [1]


def test_branches_have_none(tmp_path: Path) -> None:
    table = made(tmp_path)
    append(table, 1)
    create_branch(table, "b")
    branch = open_table(table.location, {"branch": "b"})
    assert isinstance(branch, WritableTable)
    append(branch, 2)
    assert ids(directory(table)) == [1]
    assert sorted(path.name for path in directory(table).glob("v*.json")) == ["v1.metadata.json"]


@pytest.mark.parametrize(
    ("columns", "options", "reason"),
    [
        ({"id": "BIGINT", "v": "VARIANT"}, {}, "column 'v' has the type VARIANT"),
        ({"id": "BIGINT", "v": "ARRAY<TIMESTAMP(9)>"}, {}, r"column 'v' has the type ARRAY<TIMESTAMP\(9\)>"),
        ({"id": "BIGINT", "v": "TIMESTAMP(0)"}, {}, r"column 'v' has the type TIMESTAMP\(0\)"),
        (
            {"id": "BIGINT", "m": "MAP<STRING NOT NULL, STRING>"},
            {"fields.m.map.storage-layout": "shared-shredding"},
            "'fields.m.map.storage-layout' puts",
        ),
        (COLUMNS, {"file.format": "orc"}, "'file.format' is 'orc'"),
        (COLUMNS, {"file.format.per.level": "0:avro"}, "'file.format.per.level' is 'avro'"),
        (COLUMNS, {"metadata.iceberg.format-version": "1"}, "'metadata.iceberg.format-version' is '1'"),
        (COLUMNS, {"deletion-vectors.enabled": "true"}, "deleted rows would be there"),
        (COLUMNS, {"deletion-vectors.enabled": "true", "metadata.iceberg.format-version": "3"}, "deleted rows"),
        (COLUMNS, {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}, "data-evolution.enabled"),
        (COLUMNS, {"metadata.iceberg.storage": "rest-catalog"}, "places of Iceberg metadata such as a REST server"),
        (COLUMNS, {"metadata.iceberg.storage": "hive-catalogue"}, "set it to 'table-location', 'hadoop-catalog' or"),
    ],
)
def test_tables_that_iceberg_would_misread_are_not_written(
    tmp_path: Path, columns: dict[str, str], options: dict[str, str], reason: str
) -> None:
    table = create_table(str(tmp_path / "t"), columns, (), (), {**HERE, **options})
    with pytest.raises(UnsupportedFeature, match=reason):
        table.append(pa.table({"id": [1]}))
    if "metadata.iceberg.storage" not in options:
        check_iceberg(table.schema, table.with_options({"metadata.iceberg.storage": "disabled"}).settings)


@pytest.mark.parametrize("data_type", ["DECIMAL(9, 2)", "TIMESTAMP(3)", "TIME(3)"])
def test_partitions_that_manifests_cannot_tell_are_refused(tmp_path: Path, data_type: str) -> None:
    table = create_table(str(tmp_path / "t"), {"id": "BIGINT", "p": data_type}, (), ("p",), HERE)
    with pytest.raises(UnsupportedFeature, match="partition column 'p'"):
        table.append(pa.table({"id": [1]}))


# ------------------------------------------------------------------------------------------------------------- values

DECIMALS = [Decimal(text) for text in ("0.00", "1.27", "1.28", "-1.28", "-1.29")]
LONG = Decimal("-123456789012345.0123456789")
MICROS = 1_700_000_000_123_456
VALUES: list[tuple[str, Any, iceberg.PrimitiveType, Any]] = [
    ("BOOLEAN", True, iceberg.BooleanType(), True),
    ("TINYINT", -5, iceberg.IntegerType(), -5),
    ("SMALLINT", 300, iceberg.IntegerType(), 300),
    ("INT", -(2**31), iceberg.IntegerType(), -(2**31)),
    ("BIGINT", 2**63 - 1, iceberg.LongType(), 2**63 - 1),
    ("FLOAT", 1.5, iceberg.FloatType(), 1.5),
    ("DOUBLE", -1e300, iceberg.DoubleType(), -1e300),
    ("STRING", "é\0", iceberg.StringType(), "é\0"),
    ("BYTES", b"\xff\0", iceberg.BinaryType(), b"\xff\0"),
    ("DATE", 19_700, iceberg.DateType(), dt.date(2023, 12, 9)),
    ("TIME(3)", 45_296_789, iceberg.TimeType(), dt.time(12, 34, 56, 789_000)),
    ("TIMESTAMP(6)", MICROS * 1000, iceberg.TimestampType(), MICROS),
    ("TIMESTAMP(6) WITH LOCAL TIME ZONE", MICROS * 1000, iceberg.TimestamptzType(), MICROS),
    *(
        ("DECIMAL(9, 2)", v, iceberg.DecimalType(9, 2), v)
        for v in map(Decimal, ("0.00", "1.27", "1.28", "-1.28", "-1.29"))
    ),
    (
        "DECIMAL(38, 10)",
        Decimal("-123456789012345.0123456789"),
        iceberg.DecimalType(38, 10),
        Decimal("-123456789012345.0123456789"),
    ),
]


@pytest.mark.parametrize(("text", "value", "theirs", "as_theirs"), VALUES)
def test_single_values_are_those_of_pyiceberg(
    text: str, value: Any, theirs: iceberg.PrimitiveType, as_theirs: Any
) -> None:
    assert single_value(value, parse_type(text)) == to_bytes(theirs, as_theirs)


def test_bounds_have_no_nan_and_tell_zeros_apart() -> None:
    double = parse_type("DOUBLE")
    assert bound_pair(1.0, math.nan, double) is None
    assert bound_pair(0.0, -0.0, double) == (struct.pack("<d", -0.0), struct.pack("<d", 0.0))
    assert bound_pair(None, 1.0, double) is None


@pytest.mark.parametrize(
    ("one", "other", "follows"),
    [
        ("TINYINT", "INT", True),
        ("INT", "BIGINT", True),
        ("BIGINT", "INT", False),
        ("FLOAT", "DOUBLE", True),
        ("INT", "STRING", False),
        ("DECIMAL(9, 2)", "DECIMAL(12, 2)", True),
        ("DECIMAL(9, 2)", "DECIMAL(12, 3)", False),
        ("DATE", "TIMESTAMP(6)", False),
        ("CHAR(3)", "STRING", True),
    ],
)
def test_types_that_readers_follow(one: str, other: str, follows: bool) -> None:
    assert is_promoted(parse_type(one), parse_type(other)) is follows


@pytest.mark.parametrize("goes_on", [True, False])
def test_bounds_of_a_type_that_readers_do_not_follow_are_left_out(tmp_path: Path, goes_on: bool) -> None:
    """Else 4 bytes of a number are taken for a text, and a file is left out in which there are rows."""
    table = made(tmp_path)
    append(table, 1)
    with table.update_schema() as update:
        update.update_type("id", "STRING")
    table = open_table(table.location)
    other = table if goes_on else table.with_options({"metadata.iceberg.storage": "disabled"})
    other.append(pa.table({"id": ["x"], "v": ["x"]}))
    table.append(pa.table({"id": ["y"], "v": ["y"]}))
    static = StaticTable.from_metadata(str(newest(directory(table))))
    manifests = static.current_snapshot().manifests(static.io)
    files = [entry.data_file for m in manifests for entry in m.fetch_manifest_entry(static.io)]
    assert sorted(0 in file.lower_bounds for file in files) == [False, True, True]


def test_deletion_vectors_are_where_version_3_says(tmp_path: Path) -> None:
    """The bytes are a blob ``deletion-vector-v1`` of Iceberg: length, magic number, bitmap and checksum."""
    options = {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": "true"}
    table = create_table(
        str(tmp_path / "t"), COLUMNS, (), (), {**HERE, **options, "metadata.iceberg.format-version": "3"}
    )
    append(table, 0, 1, 2, 3)
    append(table, 4)
    table.delete("id in (1, 3)")
    found = document(table)
    assert (found["format-version"], found["next-row-id"]) == (3, 5)
    assert [(s["first-row-id"], s["added-rows"]) for s in found["snapshots"]] == [(0, 4), (4, 1), (5, 0)]
    static = StaticTable.from_metadata(str(newest(directory(table))))
    *_, deletes = static.current_snapshot().manifests(static.io)
    [vector] = [entry.data_file for entry in deletes.fetch_manifest_entry(static.io)]
    assert vector.record_count == 2
    raw = Path(vector.file_path).read_bytes()
    record = _record_of(deletes.manifest_path)
    blob = raw[record["content_offset"] :][: record["content_size_in_bytes"]]
    assert int.from_bytes(blob[:4], "big") == len(blob) - 8
    assert int.from_bytes(blob[4:8], "little") == MAGIC_64
    assert Path(record["referenced_data_file"]).exists()


def _record_of(path: str) -> dict[str, Any]:
    with open(path, "rb") as file:
        [record] = fastavro.reader(file)
    return dict(record["data_file"])


def test_nested_types_have_the_ids_of_the_data_files(tmp_path: Path) -> None:
    columns = {"id": "BIGINT", "m": "MAP<STRING NOT NULL, ARRAY<ROW<x INT, y STRING>>>", "c": "MULTISET<INT>"}
    table = create_table(str(tmp_path / "t"), columns, (), (), HERE)
    row = {"id": 1, "m": {"a": [{"x": 5, "y": "z"}, None], "b": None}, "c": None}
    table.append(pa.Table.from_pylist([row], schema=table.scan().arrow_schema))
    [found] = StaticTable.from_metadata(str(newest(directory(table)))).scan().to_arrow().to_pylist()
    assert found == {"id": 1, "m": [("a", [{"x": 5, "y": "z"}, None]), ("b", None)], "c": None}
    assert iceberg_schema(table.schema)["fields"][2]["type"]["value"] == "int"
