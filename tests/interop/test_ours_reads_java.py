"""Tables that Java writes, compacts, cuts and tags between our commits, read equal by us."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import our_engine
import pytest
from genuine import Genuine, table_path
from random_tables import VALUES
from readers import assert_same
from support.oracles.comparing import Row, satisfies

from paimon_spark import open_table
from paimon_spark.arrow.predicates.predicate import Compare, Op
from paimon_spark.errors import SnapshotNotFound

pytestmark = pytest.mark.interop

COLUMNS = {"k": "INT NOT NULL", "v": "STRING", "d": "DOUBLE"}


def rows_of(turn: int, count: int = 50) -> list[Row]:
    return [(i, f"{turn}-{i}", i / 3) for i in range(turn * 7, turn * 7 + count)]


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("full", [False, True], ids=["minor", "full"])
def test_java_compacts_between_our_commits(
    full: bool, file_format: str, java: Genuine, older_java: Genuine, tmp_path: Path
) -> None:
    path = table_path(tmp_path)
    our_engine.create(path, COLUMNS, ["k"], [], {"bucket": "2", "file.format": file_format})
    for turn in range(6):
        our_engine.write(path, [(rows_of(turn), ["-D" if i % 9 == 0 else "+I" for i in range(50)])])
        java.write(path, rows_of(turn, 5), options={"write-only": "true"})
        if turn % 2:
            java.compact(path, full)
        assert_same(path, [java, older_java])
    assert any(level > 0 for _, level, _ in java.files(path))
    for snapshot in our_engine.snapshot_ids(path)[::3]:
        assert_same(path, [java], {"scan.snapshot-id": str(snapshot)})


@pytest.mark.parametrize("bitmap64", ["false", "true"])
@pytest.mark.parametrize("buckets", ["-1", "2"])
def test_java_deletes_by_vectors_between_our_commits(
    buckets: str, bitmap64: str, java: Genuine, older_java: Genuine, tmp_path: Path
) -> None:
    path = table_path(tmp_path)
    options = {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": bitmap64, "bucket": buckets}
    if buckets != "-1":
        options["bucket-key"] = "k"
    our_engine.create(path, COLUMNS, [], [], options)
    for turn in range(3):
        our_engine.write(path, [(rows_of(turn), None)])
        java.write(path, rows_of(turn, 5), options={"write-only": "true"})
        java.delete_positions(path, {name: range(0, count, 2) for name, _, count in java.files(path)})
        java.delete_positions(path, {java.files(path)[0][0]: [1]})
        assert_same(path, [java, older_java])
    assert our_engine.read(path).total() < 3 * 55 / 2 + 3
    java.compact(path)
    our_engine.write(path, [(rows_of(9), None)])
    assert_same(path, [java, older_java])


@pytest.mark.parametrize("bitmap64", ["false", "true"])
def test_a_key_table_with_vectors(bitmap64: str, java: Genuine, older_java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    options = {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": bitmap64, "bucket": "2"}
    java.create(path, COLUMNS, ["k"], [], options)
    for turn in range(5):
        java.write(path, rows_of(turn), ["-D" if i % 4 == 0 else "+I" for i in range(50)])
        assert_same(path, [java, older_java])
    java.write(path, rows_of(9), options={"write-only": "true"})  # level 0: not seen before a compaction
    assert_same(path, [java, older_java])


@pytest.mark.parametrize("producer", ["lookup", "full-compaction", "input"])
def test_tables_with_a_changelog(producer: str, java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    java.create(path, COLUMNS, ["k"], [], {"bucket": "1", "changelog-producer": producer})
    for turn in range(3):
        java.write(path, rows_of(turn), ["-D" if i % 4 == 0 else "+I" for i in range(50)])
        java.compact(path)
        assert_same(path, [java])


def test_manifests_are_merged_by_both(java: Genuine, older_java: Genuine, tmp_path: Path) -> None:
    """Each side merges manifests that the other wrote: enough commits for both to do so."""
    path = table_path(tmp_path)
    options = {"bucket": "1", "manifest.merge-min-count": "5", "write-only": "true"}
    our_engine.create(path, COLUMNS, ["k"], [], options)
    for turn in range(12):
        our_engine.write(path, [(rows_of(turn, 10), None)])
        java.write(path, rows_of(turn, 3))
    assert_same(path, [java, older_java])
    java.write(path, rows_of(0, 1), overwrite={})
    our_engine.write(path, [(rows_of(1, 2), None)])
    assert assert_same(path, [java, older_java]).total() == 3


def test_tags_branches_and_expiry_by_java(java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    our_engine.create(path, COLUMNS, ["k"], [], {"bucket": "1"})
    for turn in range(4):
        our_engine.write(path, [(rows_of(turn, 10), None)])
    java.create_tag(path, "t2", 2)
    java.create_branch(path, "b", "t2")
    java.expire_snapshots(path, keep=2)
    assert assert_same(path, [java], {"scan.tag-name": "t2"}).total() == 17
    assert_same(path, [java])
    with pytest.raises(SnapshotNotFound, match=r"3.*4"):
        open_table(path, {"scan.snapshot-id": "1"}).scan().to_arrow()
    our_engine.write(path, [([(1, "on the branch", 0.0)], None)], {"branch": "b"})
    branch = our_engine.read(path, {"branch": "b"})
    assert branch.total() == 17
    assert (1, "on the branch", (0.0, 1.0)) in branch
    assert Counter(row[0] for row in branch.elements()) == Counter(
        row[0] for _, row in java.read(path, options={"branch": "b"})
    )
    our_engine.write(path, [(rows_of(5, 3), None)])
    assert_same(path, [java])


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_statistics_of_both_writers_prune_nothing_they_should_not(
    file_format: str, java: Genuine, tmp_path: Path
) -> None:
    """One file a row, by us and by Java: each reader filters by the statistics of the other's files."""
    path = table_path(tmp_path)
    types = {f"c{i}": t for i, t in enumerate(VALUES) if not (file_format == "avro" and t == "TIMESTAMP(9)")}
    java.create(path, types, [], [], {"file.format": file_format, "write-only": "true"})
    rows = [tuple(VALUES[t][turn % len(VALUES[t])] for t in types.values()) for turn in range(6)]
    for row in rows:
        our_engine.write(path, [([row], None)])
        java.write(path, [row])
    everything = our_engine.read(path)
    for at, (name, t) in enumerate(types.items()):
        for value in VALUES[t]:
            wanted = {row: n for row, n in everything.items() if satisfies(row[at], Op.EQ, value)}
            assert our_engine.read(path, where=Compare((name,), Op.EQ, value)) == Counter(wanted)
            if isinstance(value, float) and value == 0:
                continue  # Java tells -0.0 from 0.0
            by_java = [row for _, row in java.read(path, equal=(name, value))]
            assert len(by_java) >= sum(wanted.values())
