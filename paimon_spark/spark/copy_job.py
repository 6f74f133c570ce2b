"""Copying the files of big tables with Spark tasks; the driver reads and writes metadata only."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql import SparkSession

from paimon_spark.errors import CorruptFile
from paimon_spark.file_io import FileIO
from paimon_spark.spec.options import MB
from paimon_spark.store.copy_files import CopyAll, FileCopy, copy_here

_HERE = 256 * MB  # what this process copies itself
_TASK = 256 * MB  # copied by one task, about
_OUTCOME = "outcome"


def copy_with_spark(spark: SparkSession, distributed: bool | None = None) -> CopyAll:
    """See CopyAll; distributed: whether Spark copies. None: where there is much of it."""

    def copy_all(source: FileIO, target: FileIO, files: Sequence[FileCopy]) -> None:
        if distributed or (distributed is None and sum(file.size or 0 for file in files) > _HERE):
            _run(spark, source, target, files)
        else:
            copy_here(source, target, files)

    return copy_all


def _run(spark: SparkSession, source: FileIO, target: FileIO, files: Sequence[FileCopy]) -> None:
    if not files:
        return
    pieces = [(pickle.dumps(piece),) for piece in _pieces(files)]
    tag = f"paimon-copy-{uuid.uuid4()}"
    spark.addTag(tag)  # of the jobs of this thread
    try:
        given = spark.createDataFrame(pieces, "piece binary").repartition(len(pieces))
        rows = given.mapInArrow(_task(source, target), f"{_OUTCOME} binary").collect()
    except BaseException as error:
        spark.interruptTag(tag)  # what runs would make files after those that are there have been deleted
        if not isinstance(error, Exception):
            raise
        # Classic Spark raises what Py4J makes of Java's errors, Connect its own: no common base.
        raise OSError(f"Spark failed the job to copy {len(files)} files: {error}") from error
    finally:
        spark.removeTag(tag)
    for row in rows:
        outcome = pickle.loads(row[_OUTCOME])
        if outcome is not None:
            raise outcome


def _pieces(files: Sequence[FileCopy]) -> Iterator[list[FileCopy]]:
    """The files in their order, for one task each."""
    piece: list[FileCopy] = []
    size = 0
    for file in files:
        if piece and size + (file.size or 0) > _TASK:
            yield piece
            piece, size = [], 0
        piece.append(file)
        size += file.size or 0
    yield piece


def _task(source: FileIO, target: FileIO) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    copy = partial(copy_here, source, target)

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for piece in batch.column(0).to_pylist():  # one
                outcome: Exception | None = None
                try:
                    copy(pickle.loads(piece))
                except (OSError, CorruptFile) as error:
                    outcome = error
                yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(outcome)], pa.binary())], names=[_OUTCOME])

    return task
