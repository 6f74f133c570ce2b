"""Tables whose compaction looks keys up: a key with rows on several levels above 0 reads as Java reads it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import our_engine
import pytest
from genuine import Genuine, table_path
from readers import java_read

pytestmark = pytest.mark.interop

COLUMNS = {"k": "INT NOT NULL", "a": "INT", "b": "INT", "ts": "INT"}
# No run is merged with a much larger one: a small commit goes up from level 0 to the level below the others.
LEVEL_BY_LEVEL = {"bucket": "1", "num-levels": "6", "num-sorted-run.compaction-trigger": "20"}
LOOKUP = {"changelog-producer": "lookup"}
SUM = {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum"}
TABLES: dict[str, Mapping[str, str]] = {
    "sum": {**SUM, "fields.b.aggregate-function": "product", **LOOKUP},
    "sum, force-lookup": {**SUM, "fields.b.aggregate-function": "max", "force-lookup": "true"},
    "remove-record-on-delete": {
        "merge-engine": "aggregation",
        "fields.a.aggregate-function": "sum",
        "aggregation.remove-record-on-delete": "true",
        **LOOKUP,
    },
    "partial-update": {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true", **LOOKUP},
    "sequence groups": {
        "merge-engine": "partial-update",
        "fields.ts.sequence-group": "a,b",
        "fields.a.aggregate-function": "sum",
        "partial-update.remove-record-on-sequence-group": "ts",
        **LOOKUP,
    },
    "sequence.field": {"sequence.field": "ts", **LOOKUP},
    "vectors": {**SUM, "fields.b.aggregate-function": "sum", "deletion-vectors.enabled": "true"},
}


def upper_levels(java: Genuine, path: str) -> set[int]:
    return {level for _, level, _ in java.files(path) if level}


def test_a_sum_is_not_counted_twice(java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    our_engine.create(path, COLUMNS, ["k"], [], {**LEVEL_BY_LEVEL, **TABLES["sum"]})
    java.write(path, [(1, 10, 2, 0), (2, 1, 1, 0)])
    java.write(path, [(1, 5, 3, 1)])
    assert upper_levels(java, path) == {4, 5}
    java.write(path, [(1, 1, 1, 2), (2, 1, 1, 2)], None, {"write-only": "true"})
    rows = java_read(java, path)
    assert sorted(rows) == [(1, 16, 6, 2), (2, 2, 1, 2)]
    assert our_engine.read(path) == rows
    assert our_engine.read(path, columns=["a"]) == {(16,): 1, (2,): 1}


def test_an_older_row_on_a_lower_level_counts_when_lookup_came_later(java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    options = {**LEVEL_BY_LEVEL, "sequence.field": "ts", "compaction.force-up-level-0": "true"}
    our_engine.create(path, COLUMNS, ["k"], [], options)
    java.write(path, [(1, 1, 1, 9), *((k, k, k, k) for k in range(100, 300))])
    java.write(path, [(1, 2, 2, 5)])
    assert upper_levels(java, path) == {4, 5}
    java.write(path, [(2, 3, 3, 0)], None, {"write-only": "true"})
    for option, row in ((None, (1, 1, 1, 9)), (("setOption", "changelog-producer", "lookup"), (1, 2, 2, 5))):
        if option:
            java.alter(path, option)
        rows = java_read(java, path)
        assert row in rows
        assert our_engine.read(path) == rows


@pytest.mark.parametrize("name", TABLES)
def test_any_history_reads_the_same(name: str, java: Genuine, tmp_path: Path) -> None:
    draw, path = random.Random(name), table_path(tmp_path)
    options = TABLES[name]
    our_engine.create(path, COLUMNS, ["k"], [], {**LEVEL_BY_LEVEL, **options})
    kinds = ["+I"] if "remove" not in str(options) else ["+I", "+I", "+U", "-D"]
    java.write(path, [(k, k, k, k) for k in range(200)])
    most = 0
    for step in range(9):
        rows: list[tuple[Any, ...]] = [
            (draw.randint(0, 5), draw.choice([None, step]), draw.choice([None, 1, 2, 3]), draw.randint(0, 9))
            for _ in range(draw.randint(1, 4))
        ]
        write_only = draw.random() < 0.4 and name != "vectors"
        java.write(path, rows, draw.choices(kinds, k=len(rows)), {"write-only": str(write_only).lower()})
        assert our_engine.read(path) == java_read(java, path)
        most = max(most, len(upper_levels(java, path)))
    assert most > 1
