"""The steps after the commit of every write; batch writes, stream sinks and row changes use it.

Features 3.15; Java: WriteHelper.reportToHms, PartitionStatisticsReporter.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence

from paimon_spark.errors import PaimonError, RowsNotVisible
from paimon_spark.store.commit.attempt import table_state
from paimon_spark.store.commit.partition_changes import partition_changes
from paimon_spark.store.commit.partition_registration import keeper_of
from paimon_spark.store.compact.compaction import CompactResult, TaskRunner
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.partition_filter import PartitionFilter
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.inline_compaction import compact_after_write
from paimon_spark.store.upkeep.maintenance import maintain
from paimon_spark.store.upkeep.partition_done import mark_written_partitions
from paimon_spark.store.upkeep.write_rules import AS_OPTIONS_SAY, CompactionRules


def wait_until_visible(table: Table, messages: Iterable[CommitMessage]) -> None:
    """Returns when a compaction, by any job, has compacted the committed files that readers skip.

    These are postponed files and, with deletion vectors, files of level 0. Without the option it returns at once.

    Args:
        table: the table, with the options of the write.
        messages: the committed messages.

    Raises:
        RowsNotVisible: `visibility-callback.timeout` is over. The rows are committed.
    """
    settings = table.settings
    if not settings.compaction.visibility_enabled:
        return
    has_vectors = settings.deletion_vectors_enabled
    hidden = [m for m in messages if m.bucket < 0 or has_vectors]
    waiting = {f.file_name for m in hidden for f in m.new_files if m.bucket < 0 or f.level == 0}
    if not waiting or not table.schema.primary_keys:
        return
    partitions = PartitionFilter.of_rows(table.schema.partition_fields, {m.partition for m in hidden})
    timeout, interval = settings.compaction.visibility_timeout, settings.compaction.visibility_interval
    deadline = time.monotonic() + timeout / 1000
    while True:
        live = table_state(table, table.snapshots.latest()).live_entries(partitions)
        left = [e for e in live if e.file.file_name in waiting and (e.bucket < 0 or e.file.level == 0)]
        if not left:
            return
        if time.monotonic() >= deadline:
            raise RowsNotVisible(
                f"the rows are committed to {table.location}, but after {timeout / 1000:g} s "
                f"('visibility-callback.timeout') no job has compacted {len(left)} of their files, so readers do not "
                "see them; compact the table with PaimonTable.forPath(spark, path).optimize().compact()"
            )
        _log.info("waiting for the compaction of %d files of %s", len(left), table.location)
        time.sleep(interval / 1000)


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


_log = logging.getLogger(__name__)


def report_partitions(table: Table, messages: Sequence[CommitMessage]) -> None:
    """Reports rows, bytes and files of the partitions of a write, if `partition.idle-time-to-report-statistic` is set.

    The rows are already committed: a metastore that fails is logged.
    """
    keeper = keeper_of(table)
    if keeper is None or table.settings.partitions.idle_time_to_report_statistic <= 0:
        return
    now, written = int(time.time()), {message.partition for message in messages}
    try:
        state = table_state(table, table.snapshots.latest())
        live = state.live_entries(PartitionFilter.of_rows(table.schema.partition_fields, written))
        for one in partition_changes(table, live):
            statistics = {"numRows": one.rows, "totalSize": one.bytes, "numFiles": one.files}
            statistics |= {"totalBuckets": one.total_buckets, "lastUpdateTime": now}
            keeper.report(table.location, one.spec, {key: str(number) for key, number in statistics.items()}, now)
    except (PaimonError, OSError) as error:
        _log.warning("the rows are committed to %s, but their numbers are not reported: %s", table.location, error)
