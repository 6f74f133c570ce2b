"""Names of directories, files and columns that Spark treats in a way of its own, and long lists of files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from support.oracles.comparing import comparable
from support.tables.compacting import make, write
from support.tables.files_by_hand import partition
from support.tables.three_files import delete_rows

from paimon_spark import open_table
from paimon_spark.errors import MissingFile, UnsupportedFeature
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.paths import data_file_path
from paimon_spark.spark.native.file_lists import FEW, file_list
from paimon_spark.spark.native.read_table import ReadExplanation, ReadRequest, read_table
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import Split

TEXTS = pa.schema([("v", pa.int64()), ("p", pa.string())])
VALUES = ("a b", "üñ€", "50%", "x=y/z", "[a]{b,c}*?", "", None, "c:d", "tab\tend", "_u", ".d", "+", "%41", "a\\b", "😀")


def check(spark: SparkSession, table: Table, where: str | None = None) -> ReadExplanation:
    """The native read has the rows of our own; how it was made."""
    made = read_table(spark, ReadRequest(table.location, where=where))
    mine = open_table(table.location, time_zone="UTC").scan(where=where).to_arrow()
    assert comparable(made.frame.toArrow()) == comparable(mine)
    return made.explanation


@pytest.mark.parametrize("name", ["t [x] {a,b}*?", "ü %41+ &#", "_hidden"])
def test_partitions_and_tables_of_any_name(spark: SparkSession, tmp_path: Path, name: str) -> None:
    table = make(tmp_path / name, TEXTS, (), {"bucket": "-1", "deletion-vectors.enabled": "true"}, ["p"])
    write(table, [(number, value) for number, value in enumerate(VALUES)])
    write(table, [(number, VALUES[0]) for number in range(3)])
    splits = [s for s in open_table(table.location).scan().plan().splits if isinstance(s, Split)]
    file = next(f for s in splits for f in s.raw_files if f.row_count == 3)
    delete_rows(table, file.file_name, "a b", 0, 2)
    told = check(spark, table)
    native = 0 if "[" in name else len(VALUES) + 1
    assert (told.native_files, told.merged_files) == (native, len(VALUES) + 1 - native)
    assert check(spark, table, "p in ('a b', '50%', '%41')").native_files == (4 if native else 0)


@pytest.mark.parametrize(("prefix", "native"), [("_own-", 0), (".own-", 0), ("g[x]{a,b}*?-", 0), ("50%25 ü+-", 2)])
def test_data_files_of_any_name(spark: SparkSession, tmp_path: Path, prefix: str, native: int) -> None:
    """Spark leaves hidden files out and reads those that look like patterns twice, without a word."""
    table = make(tmp_path / "t", TEXTS, (), {"bucket": "-1", "data-file.prefix": prefix})
    for number in range(2):
        write(table, [(number, "a"), (number, None)])
    told = check(spark, table)
    assert (told.native_files, told.merged_files) == (native, 2 - native)
    assert [reason.startswith("Spark takes ") for reason in told.reasons] == [True] * (native == 0)


def test_columns_of_any_name(spark: SparkSession, tmp_path: Path) -> None:
    names = ["a.b", "a`b", "a b", "x;y=(z)", "ü", "50%", "_metadata", "deleted_file", "😀", "'q'", '"d"', "a,b", "{}"]
    table = make(tmp_path / "t", pa.schema([(name, pa.float64()) for name in names]), (), {"bucket": "-1"})
    write(table, [tuple(float(number) for number in range(len(names))), (None,) * len(names)])
    assert check(spark, table).native_files == 1
    assert check(spark, table, "`a.b` = 0 and `a``b` > 0.5").native_files == 1


def test_columns_that_differ_by_letter_case_only(spark: SparkSession, tmp_path: Path) -> None:
    columns = pa.schema([("a", pa.int64()), ("A", pa.int64()), ("b", pa.int64())])
    table = make(tmp_path / "t", columns, (), {"bucket": "-1"})
    write(table, [(1, 2, 3)])
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert check(spark, table).native_files == 1
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    made = read_table(spark, ReadRequest(table.location, columns=("b", "A")))
    assert (made.explanation.native_files, made.explanation.merged_files) == (0, 1)
    assert [tuple(row) for row in made.frame.collect()] == [(3, 2)]
    with pytest.raises(UnsupportedFeature, match=r"data file .*\.parquet must be read .*'a' and 'A' differ by letter"):
        read_table(spark, ReadRequest(table.location, columns=("b",), native=True))


def test_files_of_one_name_in_two_partitions(spark: SparkSession, tmp_path: Path) -> None:
    """As migrations leave them: a deletion vector deletes rows of its own file only."""
    table = make(tmp_path / "t", TEXTS, (), {"bucket": "-1", "deletion-vectors.enabled": "true"}, ["p"])
    write(table, [(1, "a"), (2, "a")])
    file = next(f for s in table.scan().plan().splits if isinstance(s, Split) for f in s.raw_files)
    shutil.copytree(tmp_path / "t/p=a", tmp_path / "t/p=b")
    _add(table, file.file_name, "b")
    delete_rows(table, file.file_name, "a", 0)
    assert check(spark, table).native_files == 2


def _add(table: Table, name: str, value: str) -> None:
    """Commits the file of that name in another partition too."""
    found = next(f for s in table.scan().plan().splits if isinstance(s, Split) for f in s.raw_files)
    assert found.file_name == name
    message = CommitMessage(partition(value), 0, -1, new_files=(found,))
    TableCommit(table, f"copy-{value}").append([message])


def test_many_files_of_a_directory_are_listed_at_once(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", TEXTS, (), {"bucket": "-1"})
    for number in range(FEW + 3):
        write(table, [(number, "a")])
    files = [
        data_file_path(s.bucket_path, f) for s in table.scan().plan().splits if isinstance(s, Split) for f in s.files
    ]
    shutil.copyfile(files[0], tmp_path / "t/bucket-0/data-of-nobody-0.parquet")
    found = file_list(table.file_io, files)
    assert found.paths == (f"file://{tmp_path}/t/bucket-0",)
    assert check(spark, table).native_files == FEW + 3
    Path(files[5]).unlink()
    with pytest.raises(MissingFile, match=Path(files[5]).name):
        read_table(spark, ReadRequest(table.location))


def test_files_are_named_one_by_one_where_a_pattern_finds_others(tmp_path: Path) -> None:
    """A directory that holds a file of the name of one that is read elsewhere."""
    paths = [str(tmp_path / f"p={number % 2}" / f"data-{number}.parquet") for number in range(FEW + 2)]
    for path in paths:
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).touch()
    assert len(file_list(LocalFileIO(), paths).paths) == 2
    (tmp_path / "p=1" / "data-0.parquet").touch()
    assert file_list(LocalFileIO(), paths).paths == tuple(f"file://{path}" for path in paths)
    assert file_list(LocalFileIO(), [f"{path} {{}}" for path in paths]).names is None
    assert file_list(LocalFileIO(), paths[:FEW]).names is None
