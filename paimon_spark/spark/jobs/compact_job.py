"""Compaction on Spark: planned and committed by the driver, which reads no data file; one Spark task a part.

Each task is a task of one Spark job, so that Spark's own progress bar and UI show how far the compaction is.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession

from paimon_spark.errors import CompactionFailed
from paimon_spark.spark.adapters.tasks import Task, in_worker
from paimon_spark.store.compact.compaction import run_here
from paimon_spark.store.compact.outcomes import Outcome
from paimon_spark.store.compact.task import CompactTask
from paimon_spark.store.metadata.table import Table

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
            rows = numbers.mapInArrow(in_worker(_task(table, pickled)), f"{_OUTCOME} binary").collect()
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


def _task(table: Table, pickled: Sequence[bytes]) -> Task:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():  # one
                outcome = pickle.dumps(run_here(table, pickle.loads(pickled[number])))
                yield pa.RecordBatch.from_arrays([pa.array([outcome], pa.binary())], names=[_OUTCOME])

    return task
