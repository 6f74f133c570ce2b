"""Compaction on Spark: planned and committed by the driver, which reads no data file; one Spark task a part.

Each task is a task of one Spark job, so that Spark's own progress bar and UI show how far the compaction is.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql import SparkSession

from paimon_spark.errors import CompactionFailed
from paimon_spark.spark.adapters.foreign_names import ForeignNames
from paimon_spark.spark.adapters.tasks import Task
from paimon_spark.spark.jobs.postpone_job import compact_postponed_with_spark
from paimon_spark.store.compact.compaction import CompactionMetrics, Outcome, run_here
from paimon_spark.store.compact.task import CompactTask
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.compact_call import compact_on_call

_OUTCOME = "outcome"


class SparkRunner:
    """Runs compaction tasks as Spark tasks, on classic Spark and on Connect. Stop it in the end."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._tag = f"paimon-compaction-{uuid.uuid4()}"

    def run(self, table: Table, tasks: Sequence[CompactTask]) -> list[Outcome]:
        """See TaskRunner. A task that fails does not fail the others.

        Raises:
            CompactionFailed: Spark could not run the job; files that its tasks wrote may be left behind.
        """
        self._spark.addTag(self._tag)  # of the jobs of this thread
        try:
            numbers = self._spark.range(0, len(tasks), 1, len(tasks))  # one a partition, in this order
            pickled = [pickle.dumps(task) for task in tasks]  # a Spark task gets all of them, and decodes its own
            rows = numbers.mapInArrow(_task(table, pickled), f"{_OUTCOME} binary").collect()
        except Exception as error:  # classic Spark raises what Py4J makes of Java's, Connect its own: no common base
            raise CompactionFailed(
                f"compacting {table.location}: Spark failed the job of {len(tasks)} tasks, which are not committed; "
                f"compact again when its cause is removed: {error}"
            ) from error
        finally:
            self._spark.removeTag(self._tag)
        return [pickle.loads(row[_OUTCOME]) for row in rows]

    def stop(self) -> None:
        """See TaskRunner. What runs is killed: the files of such tasks are left behind and harm nobody."""
        self._spark.interruptTag(self._tag)


class TableOptimizer(ForeignNames):
    """Compacts a table; made by ``PaimonTable.optimize()``."""

    def __init__(self, spark: SparkSession, open_table: Callable[[], Table], where: str | None = None) -> None:
        self._spark = spark
        self._open_table = open_table
        self._where = where

    def where(self, condition: str) -> TableOptimizer:
        """Only the partitions for which an SQL condition on partition columns is true."""
        return TableOptimizer(self._spark, self._open_table, condition)

    def executeCompaction(self) -> CompactionMetrics:
        """Compacts with the defaults of ``compact``."""
        return self.compact()

    def compact(self, where: str | None = None, full: bool | None = None) -> CompactionMetrics:
        """Merges the files of buckets that have too many, or small files of a table without primary key.

        Rows that a table with postponed buckets keeps waiting come into their buckets first, by a commit of their own.

        Readers and writers go on meanwhile. Work is committed in pieces of some ten GB, each by one snapshot of kind
        COMPACT. Buckets that another job changes meanwhile are planned again, at last left out and named in the result.

        Args:
            where: a condition on partition columns; None: that of ``where()``, or all partitions.
            full: True, the default: all files of a bucket become one sorted run, and a read merges nothing. False: only
                what a writer would compact, which costs less.

        Raises:
            CompactionFailed: some buckets failed; the others are compacted.
            OptionError: an option of this object chooses a snapshot.
            PaimonError: the condition does not fit, the table cannot be written, or a commit failed.
        """
        return compact_with_spark(self._spark, self._open_table(), where or self._where, full)


def compact_with_spark(
    spark: SparkSession, table: Table, where: str | None = None, full: bool | None = None
) -> CompactionMetrics:
    """See ``TableOptimizer.compact``.

    Args:
        table: with the options of the call.
    """
    move = partial(compact_postponed_with_spark, spark)
    return compact_on_call(table, SparkRunner(spark), where, full, move)


def _task(table: Table, pickled: Sequence[bytes]) -> Task:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():  # one
                outcome = pickle.dumps(run_here(table, pickle.loads(pickled[number])))
                yield pa.RecordBatch.from_arrays([pa.array([outcome], pa.binary())], names=[_OUTCOME])

    return task
