"""Copying the files of big tables with Spark tasks; the driver reads and writes metadata only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from pyspark.sql import SparkSession

from paimon_spark.file_io import FileIO
from paimon_spark.format.options.core_options import MB
from paimon_spark.spark.jobs.spark_tasks import run_pieces
from paimon_spark.store.upkeep.copy_files import CopyAll, FileCopy, copy_here

_HERE = 256 * MB  # what this process copies itself
_TASK = 256 * MB  # copied by one task, about


def copy_with_spark(spark: SparkSession, distributed: bool | None = None) -> CopyAll:
    """See CopyAll; distributed: whether Spark copies. None: where there is much of it."""

    def copy_all(source: FileIO, target: FileIO, files: Sequence[FileCopy]) -> None:
        if distributed or (distributed is None and sum(file.size or 0 for file in files) > _HERE):
            run_pieces(spark, list(_pieces(files)), partial(copy_here, source, target), f"copy {len(files)} files")
        else:
            copy_here(source, target, files)

    return copy_all


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
    if piece:
        yield piece
