"""Searches for vectors: the rows and scores of Java, on tables of Java and of ours.

``PAIMON_SEARCHES`` sets how many random tables are searched. Java compares each vector of the rows that no index covers
where the table says ``full``.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest
from genuine import Genuine
from java_searches import nearest_rows
from support.long_runs import tries
from support.tables.column_changes import EVOLVED, VECTORS

from paimon_spark import open_table

pytestmark = pytest.mark.interop

TABLES = tries("PAIMON_SEARCHES", ci=4, long=200)
TYPES: dict[str, Any] = {"id": "BIGINT", "a": {"type": "ARRAY", "element": "FLOAT"}}
VECTOR = {"type": "VECTOR", "element": "FLOAT", "length": 4}
SCORE = "__paimon_search_score"


def a_vector(random: Random) -> list[float]:
    return [random.choice([0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 0.25]) for _ in range(4)]


def test_both_find_the_same_rows(java: Genuine, tmp_path: Path) -> None:
    for number in range(TABLES):
        random, path = Random(number), str(tmp_path / "t")
        try:
            make(java, random, path)
            for _ in range(6):
                compare(java, random, path)
        except Exception as error:
            raise AssertionError(f"table {number}") from error
        shutil.rmtree(path, ignore_errors=True)


def make(java: Genuine, random: Random, path: str) -> None:
    """A table of Java, in which either of us writes and deletes rows."""
    types = {**TYPES, "v": VECTOR}
    own_files = {"vector.file.format": "parquet"} if random.random() < 0.5 else {}
    java.create(path, types, options={**EVOLVED, **VECTORS, **own_files})
    start = 0
    for _ in range(random.randint(1, 4)):
        rows = []
        for at in range(start, start + random.randint(1, 12)):
            vector = a_vector(random) if random.random() < 0.8 else None
            rows.append((at, vector, vector))
        start += len(rows)
        if random.random() < 0.5:
            java.write(path, rows)
        else:
            open_table(path).append([{"id": i, "a": a, "v": v} for i, a, v in rows])
        if random.random() < 0.4:
            open_table(path).delete(f"id IN ({random.randrange(start)}, {random.randrange(start)})")


def compare(java: Genuine, random: Random, path: str) -> None:
    metric, wanted = random.choice(["l2", "cosine", "inner_product"]), a_vector(random)
    count, column = random.randint(1, 30), random.choice("av")
    least = random.choice([None, ("id", random.randrange(20))])
    theirs = java.run(nearest_rows, path, column, wanted, count, metric, least)
    scan = open_table(path).scan(["_ROW_ID"], None if least is None else f"id >= {least[1]}")
    ours = scan.vector_search(column, wanted, count, {"metric": metric}).to_pydict()
    assert ours[SCORE] == pytest.approx([score for _, score in theirs], rel=1e-5, abs=1e-6)
    every = scan.vector_search(column, wanted, 10_000, {"metric": metric}).to_pydict()
    scores = dict(zip(every["_ROW_ID"], every[SCORE], strict=True))
    assert [scores[row_id] for row_id, _ in theirs] == pytest.approx([score for _, score in theirs], rel=1e-5, abs=1e-6)
