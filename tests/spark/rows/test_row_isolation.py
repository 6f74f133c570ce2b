"""Statements between whose read and commit another job commits: what isolation prevents, and what it does not.

Each line of the table in docs/guides/change-rows.md, section "Isolation", is a test here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.faults.sides import Between

from paimon_spark import PaimonTable
from paimon_spark.catalogs.file_catalog import FileCatalog
from paimon_spark.catalogs.filesystem import DirectoryNames
from paimon_spark.errors import CommitConflict, RetriesExhausted
from paimon_spark.file_io import LocalFileIO
from paimon_spark.row_changes.attempts import RowChange
from paimon_spark.row_changes.clauses import Action, When
from paimon_spark.row_changes.result import RowChangeResult
from paimon_spark.spark.merge_into.clauses import Clause
from paimon_spark.spark.merge_into.merge import Merge, run_merge
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.rows.job import Job
from paimon_spark.spark.rows.statements import RowStatement, delete_where, update_where
from paimon_spark.spark.statements.row_changes import SubQueryViews, with_sub_query_views
from paimon_spark.spark.statements.run import run_sql
from paimon_spark.sql.parse import parse
from paimon_spark.sql.statements import Delete
from paimon_spark.store.rows.change_strategies import Statement
from paimon_spark.tables.open import open_table

pytestmark = pytest.mark.spark
KEYED = {"primary-key": "id", "bucket": "1"}
VECTORS = {"deletion-vectors.enabled": "true"}
COLUMNS = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", **VECTORS}
TABLES = {"keyed": KEYED, "append": {}, "vectors": VECTORS, "columns": COLUMNS}
BOTH = "(select sum(v) from skewed) = 2"
each_table = pytest.mark.parametrize("options", TABLES.values(), ids=TABLES)


class Race:
    """A table of (id, v), and statements that others come between."""

    def __init__(
        self, spark: SparkSession, path: Path, options: Mapping[str, str], rows: list[tuple[int, int]]
    ) -> None:
        self.spark, self.path, self.options = spark, str(path / "t"), dict(options)
        self.append(*rows)
        self.table = PaimonTable.forPath(spark, self.path)

    def append(self, *rows: tuple[int, int]) -> None:
        """One more file."""
        frame = self.spark.createDataFrame(list(rows), "id int, v bigint").coalesce(1)
        frame.write.format("paimon").mode("append").options(**self.options).save(self.path)

    @property
    def rows(self) -> list[tuple[int, int]]:
        return sorted((row.id, row.v) for row in self.table.toDF().collect())

    def show(self) -> None:
        """A view, for sub-queries, of the table as it is now."""
        self.spark.read.format("paimon").load(self.path).createOrReplaceTempView("skewed")

    def job(self, statement: Statement, other_job: Callable[[], object]) -> Job:
        store = Between(LocalFileIO(), happens=other_job)
        return Job(self.spark, RowChange(lambda: replace(open_table(self.path), file_io=store), statement))

    def update(self, condition: str, value: str, other_job: Callable[[], object]) -> RowChangeResult:
        job = self.job(Statement.UPDATE, other_job)
        return update_where(RowStatement(job, "t", condition, {"v": value}))

    def delete(self, condition: str, other_job: Callable[[], object]) -> RowChangeResult:
        return delete_where(RowStatement(self.job(Statement.DELETE, other_job), "t", condition))

    def merge(self, row: tuple[int, int], other_job: Callable[[], object]) -> RowChangeResult:
        source = self.spark.createDataFrame([row], "id int, v bigint")
        clauses = [
            Clause(When.MATCHED, Action.UPDATE, None, {"v": "t.v + s.v"}),
            Clause(When.NOT_MATCHED, Action.INSERT),
        ]
        return run_merge(Merge(self.job(Statement.MERGE, other_job), "t", source, "s", "t.id = s.id", clauses))


@each_table
def test_no_update_is_lost(quick_spark: SparkSession, tmp_path: Path, options: dict[str, str]) -> None:
    race = Race(quick_spark, tmp_path, options, [(1, 0), (2, 0)])
    done = race.update("id = 1", "v + 1", lambda: race.table.update("id = 1", {"v": "v + 10"}))
    assert (done.attempts, race.rows) == (2, [(1, 11), (2, 0)])


@pytest.mark.parametrize("options", [KEYED, VECTORS], ids=["keyed", "vectors"])
def test_a_deleted_row_does_not_come_back(quick_spark: SparkSession, tmp_path: Path, options: dict[str, str]) -> None:
    race = Race(quick_spark, tmp_path, options, [(1, 0), (2, 0)])
    done = race.update("id = 1", "v + 1", lambda: race.table.delete("id = 1"))
    assert (done.attempts, done.rows_updated, race.rows) == (2, 0, [(2, 0)])


def test_a_row_that_is_deleted_while_its_columns_change_stays_deleted(
    quick_spark: SparkSession, tmp_path: Path
) -> None:
    race = Race(quick_spark, tmp_path, COLUMNS, [(1, 0), (2, 0)])
    done = race.update("id = 1", "v + 1", lambda: race.table.delete("id = 1"))
    assert (done.attempts, race.rows) == (1, [(2, 0)])


def test_changes_of_several_columns_of_a_row_go_together(quick_spark: SparkSession, tmp_path: Path) -> None:
    race = Race(quick_spark, tmp_path, COLUMNS, [(1, 0), (2, 0)])
    done = race.update("id = 1", "id + 5", lambda: race.table.update("id = 1", {"id": "v + 3"}))
    assert (done.attempts, race.rows) == (1, [(2, 0), (3, 6)])


@pytest.mark.parametrize("options", [{}, VECTORS, COLUMNS], ids=["append", "vectors", "columns"])
def test_a_write_skew_inside_one_file_is_prevented(
    quick_spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    """Each of two jobs takes one of two away, if the other is there: both together would take both."""
    race = Race(quick_spark, tmp_path, options, [(1, 1), (2, 1)])
    race.show()
    job = race.job(Statement.UPDATE, lambda: race.table.update(f"id = 2 and {BOTH}", {"v": "0"}))
    done = update_where(
        RowStatement(replace(job, change=replace(job.change, refresh=race.show)), "t", f"id = 1 and {BOTH}", {"v": "0"})
    )
    assert (done.attempts, done.rows_updated, race.rows) == (2, 0, [(1, 1), (2, 0)])


def test_sub_queries_of_sql_are_read_again(quick_spark: SparkSession, tmp_path: Path) -> None:
    session = SqlSession(
        quick_spark, FileCatalog(DirectoryNames("p", str(tmp_path), LocalFileIO(), {"warehouse": str(tmp_path)}))
    )
    for text in ("CREATE DATABASE p.d", "CREATE TABLE p.d.t AS SELECT 7 AS a"):
        run_sql(session, text)
    delete = parse("DELETE FROM p.d.t WHERE a < (SELECT max(a) FROM p.d.t)", session.names)
    assert isinstance(delete, Delete)
    assert delete.where is not None
    where, seen = delete.where, []

    def run(views: SubQueryViews) -> RowChangeResult:
        views.text(where)
        seen.extend(views.names)
        run_sql(session, "INSERT INTO p.d.t VALUES (8)")
        assert quick_spark.table(seen[0]).count() == 1
        views.refresh()
        assert quick_spark.table(seen[0]).count() == 2
        return RowChangeResult()

    with_sub_query_views(session, None, run)
    assert len(seen) == 1
    assert not quick_spark.catalog.tableExists(seen[0])


def test_a_write_skew_over_files_is_not_prevented(quick_spark: SparkSession, tmp_path: Path) -> None:
    race = Race(quick_spark, tmp_path, {}, [(1, 1)])
    race.append((2, 1))
    race.show()
    done = race.update(f"id = 1 and {BOTH}", "0", lambda: race.table.update(f"id = 2 and {BOTH}", {"v": "0"}))
    assert (done.attempts, race.rows) == (1, [(1, 0), (2, 0)])


def test_changes_of_overlapping_ranges_of_keys_run_again(quick_spark: SparkSession, tmp_path: Path) -> None:
    race = Race(quick_spark, tmp_path, KEYED, [(1, 0), (2, 0), (3, 0)])
    done = race.update("id in (1, 3)", "v + 1", lambda: race.table.update("id = 2", {"v": "v + 1"}))
    assert (done.attempts, race.rows) == (2, [(1, 1), (2, 1), (3, 1)])
    assert race.update("id = 1", "v + 1", lambda: race.table.update("id = 2", {"v": "v + 1"})).attempts == 1


def test_a_phantom_stays(quick_spark: SparkSession, tmp_path: Path) -> None:
    race = Race(quick_spark, tmp_path, {}, [(1, 7), (2, 0)])
    done = race.delete("v > 5", lambda: race.append((9, 9)))
    assert (done.attempts, race.rows) == (1, [(2, 0), (9, 9)])


@pytest.mark.parametrize("options", [KEYED, {}], ids=["keyed", "append"])
def test_a_row_that_two_merges_insert(quick_spark: SparkSession, tmp_path: Path, options: dict[str, str]) -> None:
    race = Race(quick_spark, tmp_path, options, [(1, 0)])
    done = race.merge((5, 1), lambda: race.merge((5, 10), lambda: None))
    if options == KEYED:
        assert (done.attempts, race.rows) == (2, [(1, 0), (5, 11)])
    else:
        assert (done.attempts, race.rows) == (1, [(1, 0), (5, 1), (5, 10)])


@pytest.mark.parametrize("options", [KEYED, {}, COLUMNS], ids=["keyed", "append", "columns"])
def test_a_compaction_in_between(quick_spark: SparkSession, tmp_path: Path, options: dict[str, str]) -> None:
    race = Race(quick_spark, tmp_path, {**options, "compaction.min.file-num": "2"}, [(1, 0)])
    race.append((2, 0))
    done = race.update("id = 1", "v + 1", lambda: race.table.optimize().executeCompaction())
    assert race.rows == [(1, 1), (2, 0)]
    assert done.attempts == (1 if options == KEYED else 2)


def test_a_statement_that_always_comes_second_fails(quick_spark: SparkSession, tmp_path: Path) -> None:
    race = Race(quick_spark, tmp_path, {"commit.max-retries": "0"}, [(1, 0)])
    with pytest.raises((CommitConflict, RetriesExhausted)):
        race.update("id = 1", "v + 1", lambda: race.table.update("id = 1", {"v": "v + 10"}))
    assert race.rows == [(1, 10)]
    assert not race.table.check().problems
