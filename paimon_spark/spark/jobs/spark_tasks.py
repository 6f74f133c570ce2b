"""Work in pieces, a Spark task for each; on classic Spark and on Connect."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from paimon_spark.errors import CorruptFile, StorageError
from paimon_spark.spark.adapters.tasks import Task, one_a_task

P = TypeVar("P")
R = TypeVar("R")

_OUTCOME = "outcome"


def run_pieces(spark: SparkSession, pieces: Sequence[P], work: Callable[[P], R], what: str) -> list[R]:
    """What the work gives for each of the pieces, in any order. No task is under way on return, also after an error.

    Args:
        what: is done with all of them, for errors, such as "copy 7 files".

    Raises:
        StorageError, CorruptFile: the work raised it in a task; Spark repeats nothing because of it.
        StorageError: Spark failed the job.
    """
    if not pieces:
        return []
    tag = f"paimon-pieces-{uuid.uuid4()}"
    spark.addTag(tag)  # of the jobs of this thread
    try:
        rows = one_a_task(spark, pieces).mapInArrow(_task(work), f"{_OUTCOME} binary").collect()
    except BaseException as error:
        spark.interruptTag(tag)  # what runs would go on after the caller has tidied up
        if not isinstance(error, Exception):
            raise
        # Classic Spark raises what Py4J makes of Java's errors, Connect its own: no common base.
        raise StorageError(f"Spark failed the job to {what}: {error}") from error
    finally:
        spark.removeTag(tag)
    outcomes = [pickle.loads(row[_OUTCOME]) for row in rows]
    for outcome in outcomes:
        if isinstance(outcome, (OSError, CorruptFile)):
            raise outcome
    return outcomes


def _task(work: Callable[[Any], Any]) -> Task:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for piece in batch.column(0).to_pylist():  # one
                outcome: Any
                try:
                    outcome = work(pickle.loads(piece))
                except (OSError, CorruptFile) as error:
                    outcome = error
                yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(outcome)], pa.binary())], names=[_OUTCOME])

    return task
