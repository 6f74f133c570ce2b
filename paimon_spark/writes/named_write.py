"""Writes that have a name and a number, under which they happen once."""

from __future__ import annotations

from dataclasses import replace

from paimon_spark.store.metadata.table import Table
from paimon_spark.store.stream_sink.batch import Batch, UnknownBatch, stream_user
from paimon_spark.writes.options import FAIL, Once
from paimon_spark.writes.write_job import WriteJob


def batch_of(table: Table, once: Once, operation: str, unknown: str = FAIL) -> Batch:
    """What a caller named, as the store knows it.

    Args:
        operation: APPEND, OVERWRITE, DELETE, UPDATE or MERGE.
        unknown: what to do when nobody can tell whether it has happened: fail, skip or write.

    Raises:
        OptionError: the number cannot be one.
    """
    user = once.user or stream_user(table, once.application)
    return Batch(
        user,
        once.version,
        operation,
        unknown=UnknownBatch(unknown),
        skips_older=once.skips_older,
        named=not once.of_stream,
        start=once.start,
        position=once.position,
    )


def named_job(job: WriteJob, once: Once, unknown: str = FAIL) -> WriteJob:
    """A job that happens once.

    Raises:
        OptionError: the number cannot be one.
    """
    batch = batch_of(job.table, once, "OVERWRITE" if job.overwrites else "APPEND", unknown)
    return replace(job, commit_user=batch.user, batch=batch)
