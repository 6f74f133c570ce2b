"""``sequence.snapshot-ordering``: snapshots of both writers in turn, compacted by Java between them."""

from __future__ import annotations

import random
from pathlib import Path

import our_engine
import pytest
from genuine import Genuine, table_path
from readers import java_read

pytestmark = pytest.mark.interop

ORDERING = {"bucket": "1", "sequence.snapshot-ordering": "true", "write-only": "true"}
ENGINES = [
    {},
    {"merge-engine": "partial-update"},
    {"merge-engine": "aggregation", "fields.a.aggregate-function": "last_value"},
]


@pytest.mark.parametrize("seed", range(9))
def test_both_readers_order_by_snapshot(seed: int, java: Genuine, tmp_path: Path) -> None:
    draw, path = random.Random(seed), table_path(tmp_path)
    maker = draw.choice([our_engine, java])
    maker.create(path, {"k": "INT NOT NULL", "a": "INT", "b": "STRING"}, ["k"], [], {**ORDERING, **ENGINES[seed % 3]})
    for step in range(8):
        count = draw.choice([1, 3, 40])  # many rows: numbers in the file far above those of the next snapshot
        rows = [(draw.randint(0, 6), draw.choice([None, step]), draw.choice([None, f"s{step}"])) for _ in range(count)]
        if draw.random() < 0.5:
            our_engine.write(path, [(rows, None)])
        else:
            java.write(path, rows, ["+I"] * count)
        if draw.random() < 0.3:
            java.compact(path, draw.random() < 0.5)
    assert our_engine.read(path) == java_read(java, path)
