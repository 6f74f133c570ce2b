"""The commit of a batch of a stream, or of another write with a name and a number, in a process without Spark."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_spark.spark.write.commit_write import commit_job, place_job
from paimon_spark.spark.write.write_job import WriteJob
from paimon_spark.store.compact.compaction import CompactResult
from paimon_spark.store.compact.local_pool import LocalRunner
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.stream_sink.once import Batched, commit_new, finish_written
from paimon_spark.store.stream_sink.rules import batch_rules
from paimon_spark.store.stream_sink.written import find_written
from paimon_spark.store.upkeep.finish_write import finish_write
from paimon_spark.store.upkeep.maintenance import finish_maintenance


def commit_named(job: WriteJob, files: Sequence[CommitMessage], budget: int | None) -> Batched:
    """Commits what the tasks wrote, once, and does what follows a commit.

    Args:
        job: with a name and a number.
        budget: how many bytes the compaction may read that follows a batch of a stream; None: no bound.

    Raises:
        StaleBatch: the table has a later batch; nothing was written.
        CommitStateUnknown: nobody can tell whether the batch is in the table; nothing was deleted.
        PaimonError: the commit failed.
    """
    assert job.batch is not None, "the job has a name and a number"
    table, batch = job.table, job.batch
    rules = batch_rules(table, batch, budget)

    def finish(committed: Sequence[CommitMessage]) -> CompactResult | None:
        return finish_write(table, committed, LocalRunner(), rules)

    written = find_written(table, batch)
    if written is not None:
        done = finish_written(table, batch, written, files, finish)
    else:
        placed = place_job(job, files)
        done = commit_new(table, batch, placed, lambda: commit_job(job, placed), finish)
    finish_maintenance()  # Spark may end this process without waiting for its threads
    return done
