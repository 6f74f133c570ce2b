"""VECTOR columns that we and Java write in turn: both read the same rows, at every snapshot."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import our_engine
import pytest
from genuine import Genuine, table_path
from readers import assert_same
from support.oracles.checker import check_table
from support.oracles.comparing import Row

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


def test_java_reads_a_table_of_ours(java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    our_engine.create(path, COLUMNS, options={"bucket": "-1"})
    our_engine.write(path, [(rows_of(Random(1), 1), None)])
    java.alter(path, ("addColumn", "n", vector("FLOAT", 2)))
    our_engine.write(path, [([(*row, (1.0, 2.0)) for row in rows_of(Random(2), 2)], None)])
    assert assert_same(path, [java]).total() == 24
    check_table(path)
