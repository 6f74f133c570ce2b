"""The steps after the commit of every write; batch writes, stream sinks and row changes use it."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_spark.store.compact.compaction import CompactResult, TaskRunner
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.inline_compaction import compact_after_write
from paimon_spark.store.upkeep.maintenance import maintain
from paimon_spark.store.upkeep.partition_done import mark_written_partitions
from paimon_spark.store.upkeep.partition_report import report_partitions
from paimon_spark.store.upkeep.visibility import wait_until_visible
from paimon_spark.store.upkeep.write_rules import AS_OPTIONS_SAY, CompactionRules


def finish_write(
    table: Table, messages: Sequence[CommitMessage], runner: TaskRunner, rules: CompactionRules = AS_OPTIONS_SAY
) -> CompactResult | None:
    """Compacts the written buckets, waits until the rows are visible, expires, and marks partitions as done.

    The order is that of the official system: rows are visible before a partition is reported as done.

    Args:
        table: the table, with the options of the write.
        messages: the committed messages.
        runner: runs the tasks of the compaction; stopped on return.
        rules: what the compaction does.

    Returns:
        The result of the compaction; None if the table is not compacted by its writers.

    Raises:
        RowsNotVisible: the rows are committed, but readers do not see them: the compaction failed, or
            `visibility-callback.timeout` is over.
    """
    compaction = compact_after_write(table, messages, runner, rules)
    wait_until_visible(table, messages)
    maintain(table)
    report_partitions(table, messages)
    mark_written_partitions(table, messages)
    return compaction
