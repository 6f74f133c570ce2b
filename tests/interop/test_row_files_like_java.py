"""Data files of the row format (`file.format` = `row`), which release 2.0 has: ours for Java, and Java's for us."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import our_engine
import pytest
from genuine import Genuine, table_path
from pyspark.sql import SparkSession
from readers import assert_same, java_read
from support.long_runs import tries
from support.oracles.checker import check_table
from support.tables.column_changes import update
from test_java_reads_ours import all_pools, columns_and_rows

import paimon_spark
from paimon_spark import open_table
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.store.expire.snapshots import expire_snapshots

pytestmark = pytest.mark.interop

ROW = {"file.format": "row"}
TABLES: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "append": ((), {}),
    "small blocks": ((), {"file.block-size": "1 kb"}),
    "buckets": ((), {"bucket": "2", "bucket-key": "id"}),
    "partitions": (("f0",), {}),
}
EVOLVED = {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true"}


@pytest.mark.parametrize("kind", TABLES)
def test_every_type(kind: str, java: Genuine, tmp_path: Path) -> None:
    partitions, options = TABLES[kind]
    columns, rows = columns_and_rows(all_pools("row", multiset=True))
    ours, theirs = table_path(tmp_path / "ours"), table_path(tmp_path / "theirs")
    for path in (ours, theirs):
        our_engine.create(path, columns, (), partitions, {**ROW, "metadata.stats-mode": "full", **options})
    for some in (rows, rows[2:]):
        our_engine.write(ours, [(some, None)])
        java.write(theirs, some)
    for path in (ours, theirs):
        assert_same(path, [java])
        check_table(path)
        our_engine.compact(path, full=True)
        assert_same(path, [java])
        java.compact(path, full=True)
        assert_same(path, [java])
        check_table(path)


@pytest.mark.parametrize("seed", range(tries("PAIMON_ROW_FILES", ci=2, long=60)))
def test_both_write_in_turn(seed: int, java: Genuine, tmp_path: Path) -> None:
    """Columns come, go and change, rows are deleted, and conditions choose rows by the indexes of files."""
    path, random = table_path(tmp_path), Random(f"row files {seed}")
    options = {**ROW, "deletion-vectors.enabled": "true", "file.block-size": random.choice(["256 b", "64 kb"])}
    options |= {"file-index.bitmap.columns": "k"} if random.random() < 0.5 else {}
    java.create(path, {"k": "INT", "v": "STRING", "n": "INT"}, options=options)
    types = {"k": "INT", "v": "STRING", "n": "INT"}
    values: dict[str, list[Any]] = {"INT": [None, 1, 2], "BIGINT": [None, 2**40], "STRING": [None, "", "ab" * 50]}
    for number in range(7):
        rows = [tuple(random.choice(values[t]) for t in types.values()) for _ in range(random.randint(1, 200))]
        if random.random() < 0.5:
            our_engine.write(path, [(rows, None)])
        else:
            java.write(path, rows)
        match random.randrange(6):
            case 0:
                types[f"c{number}"] = "STRING"
                java.alter(path, ("addColumn", f"c{number}", "STRING"))
            case 1 if types["n"] == "INT":
                types["n"] = "BIGINT"
                java.alter(path, ("updateColumnType", "n", "BIGINT"))
            case 2:
                open_table(path).delete("k = 1")
            case 3:
                java.compact(path, full=True)
            case 4:
                our_engine.compact(path, full=True)
        whole = assert_same(path, [java])
        found = open_table(path).scan(["v", "k"], "k = 2").to_arrow()
        assert found.num_rows == sum(row[0] == 2 for row in whole.elements())
    check_table(path)


def test_files_that_java_cannot_read_are_not_written(java: Genuine, tmp_path: Path) -> None:
    """It writes them right, and takes the columns for others: two of them are those of row tracking, or of the key."""
    for name, keys, options in (
        ("key", ("k",), {"bucket": "1"}),
        ("tracked", (), {"bucket": "-1", "row-tracking.enabled": "true"}),
        ("evolved", (), EVOLVED),
    ):
        path = table_path(tmp_path / name)
        java.create(path, {"k": "INT NOT NULL", "v": "STRING"}, keys, (), {**ROW, **options})
        java.write(path, [(1, "one"), (2, None)])
        assert sorted(open_table(path).scan().to_arrow().to_pylist(), key=str) == [
            {"k": 1, "v": "one"}, {"k": 2, "v": None}
        ]  # fmt: skip
        with pytest.raises(UnsupportedFeature, match="reads wrong values from such files of tables with"):
            our_engine.write(path, [([(3, "three")], None)])
        try:
            told = java_read(java, path)
        except RuntimeError:
            continue
        assert sorted(told, key=str) != [(1, "one"), (2, None)]


def test_sidecars_of_java(java: Genuine, tmp_path: Path) -> None:
    """Files of Java's have their rows in the row format beside them, for reads of few rows; they go with the files."""
    path = table_path(tmp_path)
    options = {**EVOLVED, "data-evolution.row-sidecar.enabled": "true", "deletion-vectors.enabled": "true"}
    java.create(path, {"k": "BIGINT", "v": "STRING", "w": "BIGINT"}, options=options)
    for keys in ((1, 2, 3), (4, 5)):
        java.write(path, [(key, "a", key) for key in keys])
    assert len(list(Path(path).rglob("*.row"))) == 2
    update(open_table(path), "v", {1: "b"})
    assert_same(path, [java])
    assert open_table(path).scan(["v"], "_ROW_ID = 0").to_arrow().to_pylist() == [{"v": "b"}]
    check_table(path)
    open_table(path, {"compaction.min.file-num": "2"}).compact()
    expire_snapshots(open_table(path), retain_max=1, retain_min=1, older_than=2**62)
    assert list(Path(path).rglob("*.row")) == []
    assert_same(path, [java])
    check_table(path)


@pytest.mark.spark
def test_every_road_reads_row_files(java: Genuine, quick_spark: SparkSession, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    java.create(path, {"k": "INT", "v": "STRING"}, options=ROW)
    java.write(path, [(1, "one"), (2, None)])
    frames = [
        quick_spark.read.format("paimon").load(path),
        paimon_spark.PaimonTable.forPath(quick_spark, path).toDF(),
        paimon_spark.catalog(quick_spark, str(Path(path).parents[1])).sql("SELECT * FROM paimon.lake.t"),
    ]
    for frame in frames:
        assert sorted(map(tuple, frame.collect())) == [(1, "one"), (2, None)]
        assert frame.where("k = 2").count() == 1
    assert open_table(path).scan(where="k = 1").to_dataset().to_table().to_pylist() == [{"k": 1, "v": "one"}]
    paimon_spark.PaimonTable.forPath(quick_spark, path).append(quick_spark.sql("SELECT 3 AS k, 'three' AS v"))
    assert_same(path, [java])
