"""Time travel through Spark: each option and mode, changed columns, and snapshots that expire under a query."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from paimon_spark import PaimonTable, open_table
from paimon_spark.format.schema import encode_schema
from paimon_spark.format.types import DataField, DataType, Root

pytestmark = pytest.mark.spark

COMMITS = [[(1, "a"), (2, "a")], [(1, "b"), (3, "b")], [(4, "d")]]


def append(spark: SparkSession, path: str, rows: list[tuple[int, str]], **options: str) -> None:
    named = {"primary-key": "id", "bucket": "2", "write-only": "true", **options}
    spark.createDataFrame(rows, "id int, name string").coalesce(1).write.format("paimon").mode("append").options(
        **named
    ).save(path)


@pytest.fixture(scope="module")
def orders(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three commits, the second one tagged; then a column more. The fourth snapshot is a full compaction."""
    path = str(tmp_path_factory.mktemp("travel") / "orders")
    for rows in COMMITS[:2]:
        append(spark, path, rows)
    PaimonTable.forPath(spark, path).create_tag("two")
    PaimonTable.forPath(spark, path).create_tag("2026-11-01", snapshot=1)
    PaimonTable.forPath(spark, path).create_tag("2026-11-02", snapshot=2)
    append(spark, path, COMMITS[2])
    PaimonTable.forPath(spark, path).optimize().compact(full=True)
    schema = open_table(path).schema
    wider = DataField(2, "more", DataType(Root.INT))
    grown = type(schema)(
        1, (*schema.fields, wider), 2, schema.partition_keys, schema.primary_keys, schema.options, schema.comment
    )
    Path(path, "schema", "schema-1").write_bytes(encode_schema(grown))
    return path


def load(spark: SparkSession, path: str, options: Mapping[str, str]) -> DataFrame:
    return spark.read.format("paimon").options(**options).load(path)


FIRST = {1: "a", 2: "a"}
SECOND = {1: "b", 2: "a", 3: "b"}
LATEST = SECOND | {4: "d"}


@pytest.mark.parametrize(
    ("options", "rows", "pinned"),
    [
        ({"scan.mode": "compacted-full"}, LATEST, False),
        ({"scan.mode": "from-snapshot-full", "scan.snapshot-id": "2"}, SECOND, True),
        ({"scan.tag-name": "two"}, SECOND, True),
        ({"scan.version": "1"}, FIRST, True),
        ({"scan.timestamp": "2999-1-1"}, LATEST, True),
        ({"scan.file-creation-time-millis": "0"}, LATEST, False),
        ({"incremental-between": "2026-11-01,two"}, {1: "b", 3: "b"}, False),
        ({"incremental-to-auto-tag": "2026-11-02"}, {1: "b", 3: "b"}, False),
        ({"scan.mode": "incremental", "incremental-between": "2,3"}, {4: "d"}, False),
    ],
    ids=str,
)
def test_options(options: dict[str, str], rows: dict[int, str], pinned: bool, spark: SparkSession, orders: str) -> None:
    """A chosen snapshot is read in its own columns, all else in the latest ones."""
    frame = load(spark, orders, options)
    assert frame.columns == (["id", "name"] if pinned else ["id", "name", "more"])
    assert {row.id: row.name for row in frame.collect()} == rows


def test_one_bucket(spark: SparkSession, orders: str) -> None:
    both = [load(spark, orders, {"scan.bucket": bucket}).collect() for bucket in "01"]
    assert all(both)
    assert {row.id: row.name for rows in both for row in rows} == LATEST


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scan.snapshot-id": "1", "scan.tag-name": "two"}, "'scan.snapshot-id' and 'scan.tag-name' are both set"),
        ({"scan.timestamp-millis": "5"}, "no snapshot is that old; snapshots 1 to 4 are available, committed"),
        ({"stream-scan-mode": "file-monitor"}, "'stream-scan-mode' is 'file-monitor'"),
    ],
)
def test_refusals(options: dict[str, str], message: str, spark: SparkSession, orders: str) -> None:
    with pytest.raises(AnalysisException, match=message):
        load(spark, orders, options)


def lived(spark: SparkSession, path: Path) -> str:
    append(spark, str(path / "t"), COMMITS[0])
    append(spark, str(path / "t"), COMMITS[1])
    return str(path / "t")


def expire_all(spark: SparkSession, path: str) -> None:
    PaimonTable.forPath(spark, path).optimize().compact(full=True)
    assert PaimonTable.forPath(spark, path).expire_snapshots(retain_max=1, retain_min=1).ids


def test_expired_between_two_queries(spark: SparkSession, tmp_path: Path) -> None:
    """Spark plans a DataFrame once: its second query reads what the first one chose."""
    path = lived(spark, tmp_path)
    frame = load(spark, path, {"scan.snapshot-id": "2"})
    assert {row.id: row.name for row in frame.collect()} == SECOND
    expire_all(spark, path)
    message = r"snapshot 2 of the table .* expired while it was being read.*the only snapshot is 3.*must stay with"
    with pytest.raises(PySparkException, match=message):
        frame.collect()


def test_fenced_between_two_queries(spark: SparkSession, tmp_path: Path) -> None:
    path = lived(spark, tmp_path)
    frame = load(spark, path, {"scan.plan-auto-tag-for-read.time-retained": "1 h"})
    assert {row.id: row.name for row in frame.collect()} == SECOND
    (tag,) = open_table(path).snapshots.tags().values()
    assert tag.snapshot.id == 2
    expire_all(spark, path)
    assert {row.id: row.name for row in frame.collect()} == SECOND


def test_lost_files(spark: SparkSession, tmp_path: Path) -> None:
    path = lived(spark, tmp_path)
    for split in open_table(path, {"scan.snapshot-id": "1"}).scan().plan().splits:
        for file in split.files:
            next(tmp_path.rglob(file.file_name)).unlink()
    with pytest.raises(PySparkException, match=r"MissingFile: reading the data file .* it does not exist"):
        load(spark, path, {}).collect()
    assert {row.id: row.name for row in load(spark, path, {"scan.ignore-lost-files": "true"}).collect()} == {
        1: "b",
        3: "b",
    }


def test_partitions_in_order(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    for day in (3, 1, None, 2):
        frame = spark.createDataFrame([(day, n) for n in range(3)], "day int, n int").coalesce(1)
        frame.write.format("paimon").mode("append").option("partition", "day").save(path)
    rows = load(spark, path, {"scan.plan-sort-partition": "true"}).collect()
    assert [row.day for row in rows] == [None] * 3 + [1] * 3 + [2] * 3 + [3] * 3
