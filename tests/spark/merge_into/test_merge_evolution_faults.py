"""What becomes of the schema of a MERGE whose commit fails, or whose table others change meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.faults.faulty_store import InjectedFault, When
from support.faults.sides import DriverFaults

from paimon_spark import PaimonTable
from paimon_spark.errors import PaimonError
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.rules.missing_columns import Merging
from paimon_spark.row_changes.attempts import RowChange
from paimon_spark.row_changes.clauses import Action
from paimon_spark.row_changes.clauses import When as Rows
from paimon_spark.row_changes.result import RowChangeResult
from paimon_spark.spark.merge_into.clauses import Clause
from paimon_spark.spark.merge_into.merge import Merge, run_merge
from paimon_spark.spark.rows.job import Job
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.rows.change_strategies import Statement
from paimon_spark.tables.open import open_table

pytestmark = pytest.mark.spark


def made(spark: SparkSession, path: Path) -> PaimonTable:
    spark.sql("select 1 as id, 10 as n").coalesce(1).write.format("paimon").mode("append").save(str(path))
    return PaimonTable.forPath(spark, str(path))


def merge(spark: SparkSession, opened: Callable[[], ReadableTable]) -> RowChangeResult:
    source = spark.sql("select id, 5 as more from values (1), (2) as v(id)").coalesce(1)
    clauses = [Clause(Rows.MATCHED, Action.UPDATE), Clause(Rows.NOT_MATCHED, Action.INSERT)]
    job = Job(spark, RowChange(opened, Statement.MERGE))
    return run_merge(Merge(job, "t", source, "s", "t.id = s.id", clauses, Merging()))


def test_another_schema_concurrently_lets_it_run_again(quick_spark: SparkSession, tmp_path: Path) -> None:
    table = made(quick_spark, tmp_path / "t")
    opened = []

    def changed_after_opening() -> ReadableTable:
        opened.append(open_table(str(tmp_path / "t")))
        if len(opened) == 1:
            with table.update_schema() as change:
                change.add_column("theirs", "int")
        return opened[-1]

    assert merge(quick_spark, changed_after_opening).attempts == 2
    assert table.toDF().columns == ["id", "n", "theirs", "more"]
    assert sorted(tuple(row) for row in table.toDF().collect()) == [(1, 10, None, 5), (2, None, None, 5)]


def test_the_schema_comes_with_the_rows_or_is_given(quick_spark: SparkSession, tmp_path: Path) -> None:
    counted = DriverFaults(LocalFileIO())
    made(quick_spark, tmp_path / "counted")
    merge(quick_spark, lambda: replace(open_table(str(tmp_path / "counted")), file_io=counted))
    published = [number for number, name in enumerate(counted.log) if name == "!create"]
    left = set()
    for number, at in enumerate(published):
        path = tmp_path / str(number)
        table = made(quick_spark, path)
        store = DriverFaults(LocalFileIO(), at, When.BEFORE, lasting=True)
        try:
            merge(quick_spark, lambda path=path, store=store: replace(open_table(str(path)), file_io=store))  # type: ignore[misc]  # mypy does not see the types of defaults
        except (PaimonError, InjectedFault) as error:
            said = " ".join([str(error), *getattr(error, "__notes__", ())])
            columns = table.toDF().columns
            assert ("The schema 1 with the columns of these rows is published and stays" in said) == (len(columns) > 2)
            assert sorted(tuple(row)[:2] for row in table.toDF().collect()) == [(1, 10)]
            assert table.check().is_good
            left.add(tuple(columns))
    assert left == {("id", "n"), ("id", "n", "more")}
