"""CREATE OR REPLACE TABLE by a table of another kind, where something fails on the way, and CREATE TABLE in a race."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from paimon_spark.catalogs.file_catalog import FileCatalog
from paimon_spark.catalogs.filesystem import DirectoryNames
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import PaimonError, StorageError, TableAlreadyExists, UnsupportedFeature
from paimon_spark.file_io.local import LocalFileIO
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.statements.run import run_sql

REPLACE = "CREATE OR REPLACE TABLE p.d.t TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1') AS SELECT 1 AS k"


class ObjectStore(LocalFileIO):
    """Local files of a store that cannot move a directory."""

    @property
    def moves_directories(self) -> bool:
        return False


@dataclass(frozen=True)
class FailingMove(LocalFileIO):
    """Local files; the move number ``fails`` is refused, after it was done if ``late``."""

    fails: int = 0
    late: bool = False

    def move_directory(self, path: str, target: str) -> bool:
        moves.append(target)
        if len(moves) == self.fails and not self.late:
            raise StorageError(f"moving {path}: refused")
        done = super().move_directory(path, target)
        if len(moves) == self.fails:
            raise StorageError(f"moving {path}: no answer")
        return done


moves: list[str] = []


def session_of(spark: SparkSession, warehouse: Path, file_io: LocalFileIO) -> SqlSession:
    """A catalog with one table, d.t, of one row."""
    moves.clear()
    session = SqlSession(
        spark, FileCatalog(DirectoryNames("p", str(warehouse), file_io, {"warehouse": str(warehouse)}))
    )
    run_sql(session, "CREATE DATABASE p.d")
    run_sql(session, "CREATE TABLE p.d.t AS SELECT 7 AS a")
    return session


def test_without_renames_the_old_table_stays(spark: SparkSession, tmp_path: Path) -> None:
    session = session_of(spark, tmp_path, ObjectStore())
    with pytest.raises(UnsupportedFeature, match=r"cannot rename tables.*nothing was changed\. Drop the table"):
        run_sql(session, REPLACE)
    assert session.catalog.list_tables("d") == ["t"]
    assert [tuple(row) for row in run_sql(session, "SELECT * FROM p.d.t").collect()] == [(7,)]


@pytest.mark.parametrize("fails", [1, 2])
def test_a_refused_rename_leaves_the_old_table(spark: SparkSession, tmp_path: Path, fails: int) -> None:
    session = session_of(spark, tmp_path, FailingMove(fails=fails))
    with pytest.raises(StorageError):
        run_sql(session, REPLACE)
    assert session.catalog.list_tables("d") == ["t"]
    assert session.catalog.load_table(Identifier("d", "t")).schema.names == ("a",)


@pytest.mark.parametrize("fails", [1, 2])
def test_a_rename_without_an_answer_loses_no_table(spark: SparkSession, tmp_path: Path, fails: int) -> None:
    session = session_of(spark, tmp_path, FailingMove(fails=fails, late=True))
    with pytest.raises(StorageError):
        run_sql(session, REPLACE)
    columns = {session.catalog.load_table(Identifier("d", t)).schema.names for t in session.catalog.list_tables("d")}
    assert ("a",) in columns


class RacedStore(LocalFileIO):
    """Local files, where another client makes each table at the moment before this one does."""

    def create_if_absent(self, path: str, data: bytes) -> bool:
        if path.endswith("/raced/schema/schema-0"):
            super().create_if_absent(path, data.replace(b'"a"', b'"other"'))
        return super().create_if_absent(path, data)


def test_a_lost_race_is_quiet_with_if_not_exists(spark: SparkSession, tmp_path: Path) -> None:
    session = session_of(spark, tmp_path, RacedStore())
    with pytest.raises(TableAlreadyExists):
        run_sql(session, "CREATE TABLE p.d.raced (a INT)")
    for rest in ("(a INT)", "AS SELECT 8 AS a"):
        run_sql(session, "DROP TABLE p.d.raced")
        run_sql(session, f"CREATE TABLE IF NOT EXISTS p.d.raced {rest}")
        there = run_sql(session, "SELECT * FROM p.d.raced")
        assert (there.columns, there.collect()) == (["other"], []), "the table is that of the other client"


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("(id INT INT)", "the column id has the type INT INT, which Spark does not have"),
        ("(id id INT, v STRING)", "the column id has the type id INT"),
        ("(id NOT INT NULL)", "the column id has the type NOT INT"),
        ("(id BIGINT STRING, v INT)", "the column id has the type BIGINT STRING"),
        ("(id STRUCT<a: INT> INT)", "the column id has the type STRUCT<a: INT> INT"),
        ("(id INT) PARTITIONED BY (nope)", "the partition column 'nope' is not a column"),
        ("(id INT, b BINARY) PARTITIONED BY (b)", "partition column 'b' is VARBINARY, which has no stable directory"),
    ],
)
@pytest.mark.parametrize("statement", ["CREATE TABLE p.d.n", "CREATE OR REPLACE TABLE p.d.t"])
def test_what_is_no_column_is_refused(
    spark: SparkSession, tmp_path: Path, statement: str, declared: str, message: str
) -> None:
    """Spark's own reader of types takes two words for a column and its type, so that a STRUCT was made."""
    session = session_of(spark, tmp_path, LocalFileIO())
    with pytest.raises(PaimonError, match=message):
        run_sql(session, f"{statement} {declared}")
    assert session.catalog.list_tables("d") == ["t"]
    assert [tuple(row) for row in run_sql(session, "SELECT * FROM p.d.t").collect()] == [(7,)]
