"""Changes of append tables and of tables with deletion vectors, written by genuine Java: commits are those of its
$audit_log, differences those of its states."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import our_engine
import pytest
from genuine import Genuine, table_path
from readers import java_change, java_read, our_change
from support.oracles.comparing import Row

pytestmark = pytest.mark.interop

COLUMNS = {"k": "INT NOT NULL", "v": "STRING", "d": "DOUBLE"}


def rows(r: random.Random) -> list[Row]:
    return [(r.randint(0, 9), r.choice(["a", "b", None]), r.choice([0.0, -0.0, 1.5])) for _ in range(r.randint(1, 8))]


def between(start: int, end: int, mode: str) -> dict[str, str]:
    return {"incremental-between": f"{start},{end}", "incremental-between-scan-mode": mode}


def states(java: Genuine, path: str, start: int, end: int) -> tuple[Counter[Row], Counter[Row]]:
    before, after = (java_read(java, path, {"scan.snapshot-id": str(i)}) if i else Counter[Row]() for i in (start, end))
    return before, after


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize("bucket", ["-1", "2"])
def test_append_tables(bucket: str, vectors: bool, seed: int, java: Genuine, tmp_path: Path) -> None:
    r, path = random.Random(seed), table_path(tmp_path)
    options = {"bucket": bucket, "deletion-vectors.enabled": str(vectors).lower()}
    java.create(path, COLUMNS, [], [], {**options, **({"bucket-key": "k"} if bucket == "2" else {})})
    java.write(path, rows(r), None, {"write-only": "true"})
    for _ in range(5):
        step = r.random()
        if vectors and step < 0.3:
            name, _, count = r.choice(java.files(path))
            java.delete_positions(path, {name: [r.randrange(count)]})
        elif step < 0.5:
            java.compact(path, full=True)
        elif step < 0.6:
            java.write(path, rows(r), None, {"write-only": "true"}, overwrite={})
        else:
            java.write(path, rows(r), None, {"write-only": "true"})
    ids = [0, *our_engine.snapshot_ids(path)]
    for _ in range(4):
        start, end = sorted(r.sample(ids, 2))
        assert our_change(path, between(start, end, "delta")) == java_change(java, path, between(start, end, "delta"))
        before, after = states(java, path, start, end)
        expected = Counter({("+I", *row): n for row, n in (after - before).items()})
        expected.update({("-D", *row): n for row, n in (before - after).items()})
        assert our_change(path, between(start, end, "diff")) == expected


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("producer", ["none", "lookup", "input"])
def test_keyed_tables_with_vectors(producer: str, seed: int, java: Genuine, tmp_path: Path) -> None:
    """Every write of Java compacts, so the state after it holds no fresh file."""
    r, path = random.Random(seed), table_path(tmp_path)
    options = {"bucket": "2", "deletion-vectors.enabled": "true", "changelog-producer": producer}
    java.create(path, COLUMNS, ["k"], [], options)
    compacted = [0]
    for _ in range(5):
        written = rows(r)
        java.write(path, written, [r.choice(["+I", "+I", "+U", "-D"]) for _ in written])
        compacted.append(our_engine.snapshot_ids(path)[-1])
    ids = range(compacted[-1] + 1)
    for _ in range(3):
        start, end = sorted(r.sample(ids, 2))
        for mode in ("auto", "delta", "changelog"):
            assert our_change(path, between(start, end, mode)) == java_change(java, path, between(start, end, mode))
    for _ in range(3):
        start, end = sorted(r.sample(compacted, 2))
        before, after = states(java, path, start, end)
        keys = {row[0] for row in after}
        expected = Counter({("+", *row): n for row, n in (after - before).items()})
        expected.update({("-D", *row): n for row, n in before.items() if row[0] not in keys})
        found = our_change(path, between(start, end, "diff"))
        assert Counter({("-D" if kind == "-D" else "+", *row): n for (kind, *row), n in found.items()}) == expected
