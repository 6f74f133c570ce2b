"""Which files of a plan Spark reads itself: imported files, limits of one query, stores."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from support.oracles.comparing import comparable
from support.tables.compacting import compact, make, write
from support.tables.files_by_hand import file, partition
from support.tables.three_files import delete_rows

from paimon_spark import open_table
from paimon_spark.errors import CorruptFile
from paimon_spark.format.paths import data_file_path
from paimon_spark.spark.native import file_classifier
from paimon_spark.spark.native.file_classifier import NativeFile
from paimon_spark.spark.native.file_lists import store_refusal
from paimon_spark.spark.native.parquet_scan import with_unique_names
from paimon_spark.spark.native.read_table import ReadExplanation, ReadRequest, read_table
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import Split

COLUMNS = pa.schema([("v", pa.int64()), ("p", pa.string())])
VECTORS = {"bucket": "-1", "deletion-vectors.enabled": "true"}


def check(spark: SparkSession, table: Table, *columns: str) -> ReadExplanation:
    made = read_table(spark, ReadRequest(table.location, columns=columns or None))
    assert comparable(made.frame.toArrow()) == comparable(open_table(table.location).scan(columns or None).to_arrow())
    return made.explanation


def raw_files(table: Table) -> list[tuple[Split, str]]:
    splits = [split for split in open_table(table.location).scan().plan().splits if isinstance(split, Split)]
    return [(split, data_file_path(split.bucket_path, f)) for split in splits for f in split.raw_files]


def test_files_imported_from_hive_have_their_partition(spark: SparkSession, tmp_path: Path) -> None:
    """Spark would say NULL of a column that the file lacks. A migration gives the rows of a file no numbers."""
    table = make(tmp_path / "t", COLUMNS, (), {"bucket": "-1"}, ["p"])
    write(table, [(1, "a"), (2, "a")])
    directory = tmp_path / "t/p=a/bucket-0"
    pq.write_table(pa.table({"v": [3, 4]}), directory / "part-0.parquet")
    pq.write_table(pa.table({"v": [5, 6], "p": ["a", "a"]}), directory / "part-1.parquet")
    imported = [
        file(f"part-{n}.parquet", rows=2, max_sequence_number=0)._replace(
            file_size=(directory / f"part-{n}.parquet").stat().st_size,
        )
        for n in range(2)
    ]
    TableCommit(table, "migrate").append([CommitMessage(partition("a"), 0, -1, new_files=tuple(imported))])
    told = check(spark, table)
    assert (told.native_files, told.reasons) == (2, ("it does not store the partition columns (1 file)",))
    assert check(spark, table, "v").native_files == 3


def test_what_one_query_can_hold(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path / "t", COLUMNS, (), VECTORS, ["p"])
    for part in "ab":
        write(table, [(number, part) for number in range(5)])
    for split, path in raw_files(table):
        delete_rows(table, Path(path).name, "a" if "p=a" in split.bucket_path else "b", 0, 1, 2)
    assert check(spark, table).native_files == 2
    monkeypatch.setattr(file_classifier, "MAX_DELETED_ROWS", 5)
    told = check(spark, table)
    assert (told.native_files, told.reasons) == (1, ("deletion vectors of the read delete more than 5 rows (1 file)",))
    monkeypatch.setattr(file_classifier, "MAX_SCANS", 0)
    assert check(spark, table).native_files == 0
    made = read_table(spark, ReadRequest(table.location))
    write(table, [(9, "c")])
    assert made.frame.count() == 4  # of the snapshot that was planned


def test_a_damaged_file_without_row_kinds_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    """Or all of its rows would go unseen, as those whose kind is NULL do."""
    columns = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64())])
    table = make(tmp_path / "t", columns, ["k"], {})
    write(table, [(1, 1), (2, 2)], ["+I", "-D"])
    told = check(spark, table)
    assert told.native_files == 1
    ((_, path),) = raw_files(table)
    stored = pq.read_table(path)
    pq.write_table(stored.drop_columns(["_VALUE_KIND"]), path)
    frame = read_table(spark, ReadRequest(table.location)).frame
    with pytest.raises(Exception, match="a data file lacks the column _VALUE_KIND: it is damaged"):
        frame.collect()
    scan = open_table(table.location).scan()
    with pytest.raises(CorruptFile, match="_VALUE_KIND"):
        scan.to_arrow()


def test_files_of_one_name_are_not_in_one_scan_of_vectors() -> None:
    made = [NativeFile(path, file(path.rpartition("/")[2])) for path in ("/p=a/x", "/p=a/y", "/p=b/x", "/p=c/x")]
    assert [[f.path for f in part] for part in with_unique_names(made)] == [
        ["/p=a/x", "/p=a/y"],
        ["/p=b/x"],
        ["/p=c/x"],
    ]


def test_stores_that_spark_cannot_read(spark: SparkSession) -> None:
    """This Spark has no client for S3: it is asked once."""
    assert store_refusal(spark, {"s3.endpoint": "http://x"}, "/lake/t/bucket-0/data") is None
    told = store_refusal(spark, {"S3.Endpoint": "http://x"}, "s3://lake/t/bucket-0/data")
    assert told == "storage options were given, which Spark's own reader does not know"
    for name in ("a", "b"):
        found = store_refusal(spark, {}, f"s3://lake/{name}")
        assert found is not None
        assert found.startswith("Spark's own reader cannot read s3://lake (")


def test_a_compacted_table_is_native(spark: SparkSession, tmp_path: Path) -> None:
    columns = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64())])
    table = make(tmp_path / "t", columns, ["k"], {"bucket": "2"})
    for turn in range(3):
        write(table, [(number, turn) for number in range(10)])
    assert check(spark, table).native_files == 0
    compact(table)
    assert (check(spark, table).native_files, check(spark, table).merged_files) == (2, 0)
