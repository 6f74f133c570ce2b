"""BLOB columns of tables with a primary key, which Java writes: packs of bytes that the data files refer to."""

from __future__ import annotations

from pathlib import Path
from random import Random

import our_engine
import pytest
from genuine import Genuine, table_path
from key_blob_lives import COLUMNS, KeyBlobLife, drawn, packs
from pyspark.sql import SparkSession
from readers import assert_same, telling
from support.long_runs import tries
from support.oracles.checker import check_table

import paimon_spark
from paimon_spark import check, open_blob, open_table
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.managed_blobs import decode_packs, encode_packs
from paimon_spark.store.clean.orphans import remove_orphans_before
from paimon_spark.store.expire.snapshots import expire_snapshots
from paimon_spark.store.upkeep.copy_files import copy_table

pytestmark = pytest.mark.interop

MANY = {"bucket": "2", "blob-field": "b,a,m", "blob.target-file-size": "200 b"}


@pytest.mark.parametrize("seed", range(tries("PAIMON_KEY_BLOBS", ci=2, long=200)))
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


@pytest.mark.parametrize("seed", range(tries("PAIMON_KEY_BLOBS", ci=3, long=200)))
def test_tables_that_both_write_are_read_alike(seed: int, java: Genuine, tmp_path: Path) -> None:
    """Java and we write, delete and compact in turn; rows are those of a model, and references those of the lists."""
    life = KeyBlobLife(Random(f"both {seed}"), table_path(tmp_path), java)
    with telling(life.log):
        for _ in range(8):
            life.step()
            life.check()
        for number in our_engine.snapshot_ids(life.path):
            assert_same(life.path, [java], {"scan.snapshot-id": str(number)})
        life.tidy()


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


REFUSED = [
    {"merge-engine": "partial-update"},
    {"merge-engine": "aggregation"},
    {"merge-engine": "first-row"},
    {"changelog-producer": "input"},
    {"changelog-producer": "lookup"},
    {"changelog-producer": "full-compaction"},
    {"sequence.field": "b"},
    {"data-file.external-paths": "file:/elsewhere", "data-file.external-paths.strategy": "round-robin"},
]


@pytest.mark.parametrize("options", REFUSED, ids=lambda options: next(iter(options.items())))
def test_what_java_refuses_is_refused(options: dict[str, str], java: Genuine, tmp_path: Path) -> None:
    columns = {"k": "INT NOT NULL", "b": "BLOB"}
    for system, name in ((java, "theirs"), (our_engine, "ours")):
        path = table_path(tmp_path / name)
        with pytest.raises(Exception, match="BLOB"):
            system.create(path, columns, ["k"], (), {"bucket": "1", **options})
        if "blob-descriptor-field" not in options and "sequence.field" not in options:
            system.create(path, columns, ["k"], (), {"bucket": "1", "blob-descriptor-field": "b", **options})


def test_the_same_lists_of_packs(java: Genuine, tmp_path: Path) -> None:
    """A list that we write again has the bytes that Java wrote."""
    path = table_path(tmp_path)
    java.create(path, COLUMNS, ["k"], (), {**MANY, "blob.target-file-size": "1 b"})
    java.write(path, [(key, "x", b"b", (b"a", None), ((1, b"m"),)) for key in range(9)], None, {"write-only": "true"})
    lists = list(Path(path).rglob("*.blobref"))
    assert len(lists) == 2
    for file in lists:
        found = decode_packs(file.read_bytes(), str(file))
        assert encode_packs(found) == file.read_bytes()
        assert {pack.name for pack in found} <= packs(path)


def test_rescaled_and_copied(java: Genuine, tmp_path: Path) -> None:
    """A table that is written again into other buckets has its own bytes; a copy of its files would not."""
    path = table_path(tmp_path)
    java.create(path, COLUMNS, ["k"], (), MANY)
    rows = [(key, "x", bytes([key]) * key, (b"a", None), ((1, b"m"),)) for key in range(20)]
    our_engine.write(path, [(rows, None)])
    with pytest.raises(UnsupportedFeature, match="refer to bytes of BLOB columns"):
        copy_table(open_table(path), str(tmp_path / "copy"))
    before = packs(path)
    our_engine.rescale(path, 3)
    assert before < packs(path)
    assert_same(path, [java])
    check_table(path)
    last = open_table(path).scan(["k", "b"]).top("k", 3).to_pylist()
    assert last == [{"k": key, "b": bytes([key]) * key} for key in range(3)]


def test_deletes_where_bytes_must_be(java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    our_engine.create(path, {"k": "INT NOT NULL", "b": "BLOB NOT NULL"}, ["k"], (), {"bucket": "1"})
    our_engine.write(path, [([(1, b"x"), (2, b"y")], None)])
    our_engine.write(path, [([(1, b"x")], ["-D"])])
    assert_same(path, [java])
    java.compact(path, full=True)
    assert open_table(path).scan().to_arrow().to_pylist() == [{"k": 2, "b": b"y"}]
    check_table(path)


def test_check_finds_lost_packs_and_lists(tmp_path: Path) -> None:
    path = table_path(tmp_path)
    our_engine.create(path, {"k": "INT NOT NULL", "b": "BLOB"}, ["k"], (), {"bucket": "1"})
    our_engine.write(path, [([(1, b"x")], None)])
    (file,) = Path(path).rglob("*.blobref")
    (pack,) = Path(path).rglob("*.managed.blob")
    good = file.read_bytes()
    for broken, found in ((encode_packs([]), "its list of packs lacks"), (good[:-1] + b"x", "checksum")):
        file.write_bytes(broken)
        assert found in str(check(path))
    file.write_bytes(good)
    pack.rename(pack.with_suffix(".gone"))
    assert "does not exist" in str(check(path))
