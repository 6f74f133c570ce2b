"""Deletion vectors beside every merge engine: Java writes and compacts, both read; with and without merge on read."""

from __future__ import annotations

import random
from pathlib import Path

import our_engine
import pytest
from genuine import Genuine, table_path
from readers import java_read

pytestmark = pytest.mark.interop

COLUMNS = {"k": "INT NOT NULL", "a": "INT", "b": "STRING", "g": "INT"}
ENGINES: list[dict[str, str]] = [
    {"merge-engine": "partial-update"},
    {"merge-engine": "partial-update", "fields.g.sequence-group": "a", "fields.a.aggregate-function": "sum"},
    {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum", "fields.b.aggregate-function": "listagg"},
    {"merge-engine": "deduplicate", "sequence.field": "g"},
]


@pytest.mark.parametrize("seed", range(12))
def test_rows_are_those_of_java(seed: int, java: Genuine, tmp_path: Path) -> None:
    draw, path = random.Random(seed), table_path(tmp_path)
    options = {
        **ENGINES[seed % 4],
        "bucket": "1",
        "deletion-vectors.enabled": "true",
        "deletion-vectors.bitmap64": draw.choice(["true", "false"]),
        "changelog-producer": draw.choice(["none", "lookup"]),
        "num-sorted-run.compaction-trigger": draw.choice(["2", "5"]),
    }
    java.create(path, COLUMNS, ["k"], [], options)
    for step in range(9):
        rows = [
            (draw.randint(0, 9), draw.choice([None, step]), draw.choice([None, f"s{step}"]), draw.randint(0, 5))
            for _ in range(draw.choice([1, 3, 12]))
        ]
        java.write(path, rows, ["+I"] * len(rows), draw.choice([{}, {"write-only": "true"}]))
        for scan in ({}, {"deletion-vectors.merge-on-read": "true"}):
            assert our_engine.read(path, scan) == java_read(java, path, scan), (options, step, scan)
        if draw.random() < 0.2:
            java.compact(path, draw.random() < 0.5)
