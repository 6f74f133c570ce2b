"""What the compaction after a batch does."""

from __future__ import annotations

from paimon_spark.store.metadata.table import Table
from paimon_spark.store.stream_sink.batch import Batch
from paimon_spark.store.upkeep.write_rules import AS_OPTIONS_SAY, CompactionRules


def batch_rules(table: Table, batch: Batch, budget: int | None = None) -> CompactionRules:
    """With `full-compaction.delta-commits` = n a full compaction follows each n-th batch of a stream, as in Java.

    Writes that an application names itself are batch jobs: each is.

    Args:
        budget: how many bytes a compaction may read that is not full; None: no bound.
    """
    if batch.named:
        return AS_OPTIONS_SAY
    every = table.settings.compaction.full_delta_commits or 0
    return CompactionRules(full=every > 0 and (batch.number + 1) % every == 0, budget=budget)
