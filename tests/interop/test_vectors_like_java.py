"""VECTOR columns that we and Java write in turn: both read the same rows, at every snapshot."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import our_engine
import pytest
from genuine import Genuine, table_path
from java_evolution import live_groups, write_columns
from readers import assert_same
from support.oracles.checker import check_table
from support.oracles.comparing import Row
from support.tables.column_changes import update as update_columns
from support.tables.compacting import live_files

from paimon_spark import open_table
from paimon_spark.format.manifest import EMPTY_STATS

pytestmark = pytest.mark.interop


def vector(element: str, length: int) -> dict[str, Any]:
    return {"type": "VECTOR", "element": element, "length": length}


COLUMNS: dict[str, Any] = {
    "k": "INT NOT NULL",
    "f": vector("FLOAT", 3),
    "d": vector("DOUBLE", 1),
    "b": vector("BOOLEAN", 2),
    "t": vector("TINYINT", 5),
    "l": {**vector("BIGINT NOT NULL", 2)},
    "s": "STRING",
}
KINDS_OF_TABLES = {
    "append": ([], {"bucket": "-1"}),
    "avro": ([], {"bucket": "-1", "file.format": "avro"}),
    "buckets": ([], {"bucket": "2", "bucket-key": "k"}),
    "append with vectors": ([], {"bucket": "-1", "deletion-vectors.enabled": "true"}),
    "deduplicate": (["k"], {"bucket": "1"}),
    "avro with keys": (["k"], {"bucket": "1", "file.format": "avro"}),
    "vectors": (["k"], {"bucket": "1", "deletion-vectors.enabled": "true"}),
    "first-row": (["k"], {"bucket": "1", "merge-engine": "first-row"}),
    "partial-update": (["k"], {"bucket": "1", "merge-engine": "partial-update"}),
    "dynamic": (["k"], {"bucket": "-1"}),
}


def rows_of(random: Random, turn: int) -> list[Row]:
    def some(make: Any, length: int) -> Any:
        return None if random.random() < 0.25 else tuple(make() for _ in range(length))

    return [
        (
            k,
            some(lambda: random.choice([0.0, -0.5, 1e30, float("nan"), float("inf")]), 3),
            some(random.random, 1),
            some(lambda: random.random() < 0.5, 2),
            some(lambda: random.randrange(-128, 128), 5),
            some(lambda: random.choice([2**63 - 1, -(2**63), 7]), 2),
            random.choice([None, f"{k}-{turn}"]),
        )
        for k in range(turn, turn + 12)
    ]


@pytest.mark.parametrize("kind", KINDS_OF_TABLES)
def test_both_write_in_turn(kind: str, java: Genuine, tmp_path: Path) -> None:
    path, random = table_path(tmp_path), Random(kind)
    keys, options = KINDS_OF_TABLES[kind]
    java.create(path, COLUMNS, keys=keys, options=options)
    for turn in range(3):
        java.write(path, rows_of(random, turn))
        our_engine.write(path, [(rows_of(random, turn + 2), None)])
        if kind == "append with vectors":
            java.delete_positions(path, {name: [1, 3] for name, _, _ in java.files(path)})
        assert_same(path, [java])
    our_engine.compact(path, full=True)
    assert assert_same(path, [java]).total() >= 12
    java.compact(path)
    for snapshot in our_engine.snapshot_ids(path):
        assert_same(path, [java], {"scan.snapshot-id": str(snapshot)})
    check_table(path)


APART: dict[str, Any] = {"k": "INT", "f": vector("FLOAT", 3), "s": "STRING", "d": vector("DOUBLE", 2), "b": "BLOB"}
EVOLVED = {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true"}
KINDS_OF_FILES = {
    "parquet": {"vector.file.format": "parquet"},
    "avro": {"vector.file.format": "avro", "target-file-row-num": "5"},
    "beside orc": {"vector.file.format": "parquet", "file.format": "orc", "file.suffix.include.compression": "true"},
    "deletion vectors": {"vector.file.format": "parquet", "deletion-vectors.enabled": "true"},
}


def apart_rows(random: Random, first: int, count: int) -> list[Row]:
    def some(length: int) -> Any:
        return None if random.random() < 0.25 else tuple(random.choice([0.5, -2.0, 1e30]) for _ in range(length))

    return [(k, some(3), f"s{k}", some(2), random.choice([None, b"", b"xyz"])) for k in range(first, first + count)]


def described(path: str) -> list[tuple[Any, ...]]:
    """What the metadata of the live files say, but for their names, sizes and times."""
    found = []
    for file in live_files(open_table(path)):
        name = file.file_name[len("data-") :].partition(".")[2]
        meta = file._replace(file_name="", file_size=0, creation_time=None)
        if name.endswith(".avro"):  # Java counts the NULLs of vectors in such files
            meta = meta._replace(value_stats=EMPTY_STATS, value_stats_cols=None)
        found.append((name, meta))
    return sorted(found, key=repr)


@pytest.mark.parametrize("kind", KINDS_OF_FILES)
def test_vectors_in_files_of_their_own(kind: str, java: Genuine, tmp_path: Path) -> None:
    """The same files as Java makes; both write in turn, change columns, and compact the others."""
    random, paths = Random(kind), [table_path(tmp_path / name) for name in ("ours", "theirs")]
    for path in paths:
        our_engine.create(path, APART, (), (), {**EVOLVED, **KINDS_OF_FILES[kind]})
    for turn in range(2):
        rows = apart_rows(random, turn * 8, 8)
        our_engine.write(paths[0], [(rows, None)])
        java.write(paths[1], rows)
        assert described(paths[0]) == described(paths[1])
    ours, whole = paths[0], {"target-file-row-num": str(2**63 - 1)}
    for turn in range(3):
        keys = random.sample(range(16), 4)
        update_columns(
            open_table(ours), "f", {k: list(apart_rows(random, k, 1)[0][1] or (0.0, 0.0, 0.0)) for k in keys}
        )
        groups = java.run(live_groups, ours)
        parts = [(first, [row[3:4] for row in apart_rows(random, first, count)]) for first, count, _ in groups]
        java.run(write_columns, ours, ["d"], parts, whole)
        update_columns(open_table(ours), "s", dict.fromkeys(keys, f"turn {turn}"))
        assert_same(ours, [java])
        if "deletion-vectors.enabled" in KINDS_OF_FILES[kind]:
            open_table(ours).delete(f"k = {turn}")
        if turn == 1:
            our_engine.compact(ours, full=True, options={"compaction.min.file-num": "2"})
            assert_same(ours, [java])
        check_table(ours)
    # Java's own compaction would join rows of which some have newer vectors, and Java does not read these
    our_engine.compact(ours, full=True, options={"compaction.min.file-num": "2"})
    for snapshot in our_engine.snapshot_ids(ours):
        assert_same(ours, [java], {"scan.snapshot-id": str(snapshot)})
    assert len([file for file in live_files(open_table(ours)) if ".vector." in file.file_name]) > 2
    check_table(ours)


def test_java_reads_a_table_of_ours(java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    our_engine.create(path, COLUMNS, options={"bucket": "-1"})
    our_engine.write(path, [(rows_of(Random(1), 1), None)])
    java.alter(path, ("addColumn", "n", vector("FLOAT", 2)))
    our_engine.write(path, [([(*row, (1.0, 2.0)) for row in rows_of(Random(2), 2)], None)])
    assert assert_same(path, [java]).total() == 24
    check_table(path)
