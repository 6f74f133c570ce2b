"""Storage that fails while the driver reads, plans, commits and cleans up: the table is as before or after.

What tasks write is tried by the tests of the store. The default draws a few operations of each statement;
PAIMON_ROW_FAULTS says how many.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.faults.faulty_store import FaultyFileIO, When, fault_points
from support.long_runs import draws, tries

from paimon_spark.errors import PaimonError
from paimon_spark.file_io import LocalFileIO
from paimon_spark.spark.rows.attempts import Job
from paimon_spark.spark.rows.clauses import Action, Clause
from paimon_spark.spark.rows.clauses import When as Rows
from paimon_spark.spark.rows.merge import Merge, run_merge
from paimon_spark.spark.rows.statements import RowStatement, delete_where, update_where
from paimon_spark.store.checks.table import check
from paimon_spark.store.open import ReadableTable, open_table
from paimon_spark.store.rows.ways import Statement

pytestmark = pytest.mark.spark
TRIES = tries("PAIMON_ROW_FAULTS", ci=2, long=60)
TABLES = {
    "keyed": {"primary-key": "id", "bucket": "1"},
    "append": {},
    "vectors": {"deletion-vectors.enabled": "true"},
}


@dataclass
class DriverFaults(FaultyFileIO):
    """A store that fails in this process; tasks get the one inside."""

    def __reduce__(self) -> tuple[Any, ...]:
        return copy.copy, (self.inner,)


def run(spark: SparkSession, path: Path, statement: Statement, store: DriverFaults) -> None:
    job = Job(spark, lambda: replace(open_table(str(path)), file_io=store), statement)
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


@pytest.mark.parametrize("statement", Statement)
@pytest.mark.parametrize("kind", TABLES)
def test_the_table_is_as_before_or_after(spark: SparkSession, tmp_path: Path, kind: str, statement: Statement) -> None:
    start, done = tmp_path / "start", tmp_path / "done"
    frame = spark.range(4).selectExpr("cast(id as int) id", "id * 10 v").coalesce(1)
    frame.write.format("paimon").mode("append").options(**TABLES[kind]).save(str(start))
    before = rows(open_table(str(start)))
    shutil.copytree(start, done)
    store = DriverFaults(LocalFileIO())
    run(spark, done, statement, store)
    after = rows(open_table(str(done)))
    assert after != before
    points = fault_points(store.log)
    for number, (at, when) in enumerate(draws().sample(points, min(TRIES, len(points)))):
        path = tmp_path / f"try{number}"
        shutil.copytree(start, path)
        expect(before, after, path, lambda path=path, at=at, when=when: run(spark, path, statement, faulty(at, when)))


def faulty(at: int, when: When) -> DriverFaults:
    return DriverFaults(LocalFileIO(), at, when)


def expect(before: object, after: object, path: Path, call: Callable[[], None]) -> None:
    finished = False
    with suppress(PaimonError, OSError):
        call()
        finished = True
    found = rows(open_table(str(path)))
    assert found == after if finished else found in (before, after)
    assert not check(open_table(str(path))).problems
