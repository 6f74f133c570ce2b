"""BLOB columns of tables with a primary key, which Java writes: packs of bytes that the data files refer to."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import our_engine
import pytest
from genuine import Genuine, table_path
from pyspark.sql import SparkSession
from readers import assert_same
from support.long_runs import tries
from support.oracles.checker import check_table

import paimon_spark
from paimon_spark import open_blob, open_table
from paimon_spark.errors import PaimonError, UnsupportedFeature
from paimon_spark.store.clean.orphans import remove_orphans_before
from paimon_spark.store.expire.snapshots import expire_snapshots

pytestmark = pytest.mark.interop

COLUMNS: dict[str, Any] = {
    "k": "INT NOT NULL", "v": "STRING", "b": "BLOB", "a": {"type": "ARRAY", "element": "BLOB"},
    "m": {"type": "MAP", "key": "INT NOT NULL", "value": "BLOB"},
}  # fmt: skip
MANY = {"bucket": "2", "blob-field": "b,a,m", "blob.target-file-size": "200 b"}


def packs(path: str) -> set[str]:
    return {file.name for file in Path(path).rglob("*.managed.blob")}


def drawn(random: Random, key: int) -> tuple[Any, ...]:
    def blob() -> Any:
        return random.choice([None, b"", random.randbytes(random.randrange(90))])

    array = random.choice([None, tuple(blob() for _ in range(random.randrange(3)))])
    pairs = random.choice([None, tuple((n, blob()) for n in range(random.randrange(3)))])
    return key, random.choice(["x", None]), blob(), array, pairs


@pytest.mark.parametrize("seed", range(tries("PAIMON_KEY_BLOBS", ci=2, long=40)))
def test_what_java_writes_is_read(seed: int, java: Genuine, tmp_path: Path) -> None:
    path, random = table_path(tmp_path), Random(f"blobs of keys {seed}")
    vectors = {"deletion-vectors.enabled": "true"} if random.random() < 0.5 else {}
    java.create(path, COLUMNS, ["k"], (), {**MANY, **vectors})
    for _ in range(6):
        rows = [drawn(random, key) for key in random.sample(range(20), random.randint(1, 9))]
        kinds = [random.choice(["+I", "+I", "-D"]) for _ in rows]
        java.write(path, rows, kinds, {"write-only": random.choice(["true", "false"])})
        if random.random() < 0.3:
            java.compact(path, full=True)
        assert_same(path, [java])
    for number in our_engine.snapshot_ids(path):
        assert_same(path, [java], {"scan.snapshot-id": str(number)})
    check_table(path)


def test_references_and_upkeep(java: Genuine, tmp_path: Path) -> None:
    """Packs stay, whatever goes: no system knows which of them are still needed."""
    path = table_path(tmp_path)
    java.create(path, COLUMNS, ["k"], (), MANY)
    for text in (b"first", b"second"):
        java.write(path, [(1, "x", text, (text, None), ((1, text),)), (2, None, None, None, None)])
    java.compact(path, full=True)
    found = open_table(path, {"blob-as-descriptor": "true"}).scan("b", "k = 1").to_arrow()["b"].to_pylist()
    with open_blob(found[0]) as file:
        assert file.read() == b"second"
    rows = open_table(path).scan(["b", "m"], "k = 1").to_arrow().to_pylist()
    assert rows == [{"b": b"second", "m": [(1, b"second")]}]
    assert open_table(path).scan(["k"], "b is null").to_arrow()["k"].to_pylist() == [2]
    before = packs(path)
    expire_snapshots(open_table(path), retain_max=1, retain_min=1, older_than=2**62)
    remove_orphans_before(open_table(path), 2**62, dry_run=False)
    assert packs(path) == before
    assert_same(path, [java])
    check_table(path)


def test_they_are_not_written(java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    java.create(path, {"k": "INT NOT NULL", "b": "BLOB"}, ["k"], (), {"bucket": "1"})
    java.write(path, [(1, b"x")])
    with pytest.raises(UnsupportedFeature, match="reads BLOB columns of tables with a primary key, and does not write"):
        our_engine.write(path, [([(2, b"y")], None)])
    with pytest.raises(PaimonError, match="reads BLOB columns of tables with a primary key, and does not write"):
        our_engine.compact(path, full=True)
    assert_same(path, [java])


@pytest.mark.spark
def test_every_road_reads_bytes(java: Genuine, quick_spark: SparkSession, tmp_path: Path) -> None:
    """Compacted files of a key table are read by Spark itself where their values are those of the table."""
    path = table_path(tmp_path)
    java.create(path, {"k": "INT NOT NULL", "v": "STRING", "b": "BLOB"}, ["k"], (), {"bucket": "1"})
    java.write(path, [(1, "x", b"one"), (2, None, None)])
    java.write(path, [(1, "y", b"two")])
    java.compact(path, full=True)
    expected = [(1, "y", b"two"), (2, None, None)]
    frames = [
        quick_spark.read.format("paimon").load(path),
        paimon_spark.PaimonTable.forPath(quick_spark, path).toDF(),
        paimon_spark.catalog(quick_spark, str(Path(path).parents[1])).sql("SELECT * FROM paimon.lake.t"),
    ]
    for frame in frames:
        rows = sorted((row.k, row.v, None if row.b is None else bytes(row.b)) for row in frame.collect())
        assert rows == expected
        assert frame.select("k").count() == 2
    found = [open_table(path).scan().to_arrow(), open_table(path).scan().to_dataset().to_table()]
    for table in found:
        assert sorted(tuple(row.values()) for row in table.to_pylist()) == expected
