"""DELETE, UPDATE and MERGE while the storage fails or processes die: the table is as before or after.

Faults are on the driver, where a statement reads, plans, commits and cleans up, and in tasks, which write. The default
draws a few operations of each statement; PAIMON_ROW_FAULTS says how many.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support.faults.faulty_store import FaultyFileIO, When, fail, fault_points, is_killed, kill
from support.faults.sides import DriverFaults, TaskFaults
from support.long_runs import draws, tries

from paimon_spark.errors import PaimonError
from paimon_spark.file_io import LocalFileIO
from paimon_spark.row_changes.attempts import RowChange
from paimon_spark.row_changes.clauses import Action
from paimon_spark.row_changes.clauses import When as Rows
from paimon_spark.spark.merge_into.clauses import Clause
from paimon_spark.spark.merge_into.merge import Merge, run_merge
from paimon_spark.spark.rows.job import Job
from paimon_spark.spark.rows.statements import RowStatement, delete_where, update_where
from paimon_spark.store.checks.table import check
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.rows.change_strategies import Statement
from paimon_spark.tables.open import open_table

pytestmark = pytest.mark.spark
TRIES = tries("PAIMON_ROW_FAULTS", ci=1, long=60)
TABLES = {
    "keyed": {"primary-key": "id", "bucket": "1"},
    "append": {},
    "vectors": {"deletion-vectors.enabled": "true"},
    "columns": {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "deletion-vectors.enabled": "true"},
    "first-row": {"primary-key": "id", "bucket": "1", "merge-engine": "first-row", "changelog-producer": "lookup"},
}
CASES = [
    (kind, statement) for kind in TABLES for statement in Statement
    if kind != "first-row" or statement is Statement.DELETE
]  # fmt: skip
# Where tests do not run long, three of them, others in each run.
DRAWN = CASES if TRIES > 1 else draws().sample(CASES, 3)
Table = tuple[Path, object, object]


def run(spark: SparkSession, path: Path, statement: Statement, store: FaultyFileIO) -> None:
    job = Job(spark, RowChange(lambda: replace(open_table(str(path)), file_io=store), statement))
    match statement:
        case Statement.DELETE:
            delete_where(RowStatement(job, "t", "id in (1, 2)"))
        case Statement.UPDATE:
            update_where(RowStatement(job, "t", "id in (1, 2)", {"v": "v + 1"}))
        case Statement.MERGE:
            source = spark.range(2, 5).selectExpr("cast(id as int) id", "id v")
            clauses = [Clause(Rows.MATCHED, Action.DELETE), Clause(Rows.NOT_MATCHED, Action.INSERT)]
            run_merge(Merge(job, "t", source, "s", "t.id = s.id", clauses))


def rows(table: ReadableTable) -> list[tuple[int, int]]:
    return sorted(zip(*(column.to_pylist() for column in table.scan().to_arrow().columns), strict=True))


def made(spark: SparkSession, path: Path, kind: str, statement: Statement, store: FaultyFileIO) -> Table:
    """A table, its rows, and those after the statement, whose operations are counted."""
    start, done = path / "start", path / "done"
    frame = spark.range(4).selectExpr("cast(id as int) id", "id * 10 v").coalesce(1)
    frame.write.format("paimon").mode("append").options(**TABLES[kind]).save(str(start))
    before = rows(open_table(str(start)))
    shutil.copytree(start, done)
    run(spark, done, statement, store)
    after = rows(open_table(str(done)))
    assert after != before
    return start, before, after


def drawn(log: list[str], one_in: int = 1) -> list[tuple[int, When]]:
    points = fault_points(log)
    return draws().sample(points, min(max(TRIES // one_in, 1), len(points)))


@pytest.mark.parametrize(("kind", "statement"), DRAWN)
def test_a_driver_that_fails(quick_spark: SparkSession, tmp_path: Path, kind: str, statement: Statement) -> None:
    store = DriverFaults(LocalFileIO())
    start, before, after = made(quick_spark, tmp_path, kind, statement, store)
    for number, (at, when) in enumerate(drawn(store.log)):
        path = shutil.copytree(start, tmp_path / f"try{number}")
        faulty = DriverFaults(LocalFileIO(), at, when)
        expect(before, after, path, lambda path=path, faulty=faulty: run(quick_spark, path, statement, faulty))


@pytest.mark.parametrize(("kind", "statement"), DRAWN)
def test_a_driver_that_is_killed(quick_spark: SparkSession, tmp_path: Path, kind: str, statement: Statement) -> None:
    """The process is forked, and shares the session: what it does there stops where it is."""
    store = DriverFaults(LocalFileIO())
    start, before, after = made(quick_spark, tmp_path, kind, statement, store)
    for number, (at, when) in enumerate(drawn(store.log)):
        path = shutil.copytree(start, tmp_path / f"try{number}")
        dying = DriverFaults(LocalFileIO(), at, when, act=kill)
        killed = is_killed(lambda path=path, dying=dying: run(quick_spark, path, statement, dying))
        found = rows(open_table(str(path)))
        assert found in (before, after) if killed else found == after
        assert not check(open_table(str(path))).problems


@pytest.mark.parametrize(("kind", "statement"), DRAWN)
def test_a_task_that_fails_or_is_killed(
    quick_spark: SparkSession, tmp_path: Path, kind: str, statement: Statement
) -> None:
    for setting in ("read", "write"):
        quick_spark.conf.set(f"spark.paimon.{setting}.local", "false")  # the driver leaves the rows to tasks
    store = TaskFaults(LocalFileIO(), marks=str(tmp_path / "marks"))
    start, before, after = made(quick_spark, tmp_path, kind, statement, store)
    assert store.names, "no operation in a task"
    for number, (at, when) in enumerate(drawn(store.names, one_in=2)):
        path = shutil.copytree(start, tmp_path / f"try{number}")
        act = fail if number % 2 else kill
        faulty = TaskFaults(LocalFileIO(), at, when, act, marks=str(tmp_path / f"marks{number}"))
        expect(before, after, path, lambda path=path, faulty=faulty: run(quick_spark, path, statement, faulty))


def expect(before: object, after: object, path: Path, call: Callable[[], None]) -> None:
    """Spark tells of a worker that has died by an error of its own."""
    finished = False
    with suppress(PaimonError, OSError, PySparkException, Py4JJavaError):
        call()
        finished = True
    found = rows(open_table(str(path)))
    assert found == after if finished else found in (before, after)
    assert not check(open_table(str(path))).problems
