"""The steps after the commit of every write; batch writes, stream sinks and row changes use it.

Features 3.15; Java: WriteHelper.reportToHms, PartitionStatisticsReporter.

Compacts the buckets of a write right after it (features 3.23; Java: MergeTreeWriter, DataWrite). A Java writer compacts
its buckets before it commits. Here the rows are committed first, and a separate compaction makes the same picks: even
if it fails, the rows are in the table.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence

from paimon_spark.errors import PaimonError, RowsNotVisible, words_of
from paimon_spark.format.bucket import Place
from paimon_spark.merge.compaction.rules import needs_lookup
from paimon_spark.store.commit.attempt import table_state
from paimon_spark.store.commit.partition_registration import keeper_of, partition_changes
from paimon_spark.store.compact.compaction import compact_table
from paimon_spark.store.compact.live_buckets import live_buckets, place_of
from paimon_spark.store.compact.outcomes import CompactResult, TaskRunner
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.partitions import PartitionFilter
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.scan.split_plan import skips_level_zero
from paimon_spark.store.upkeep.maintenance import maintain
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
    maintain(table if compaction is not None and compaction.snapshot_ids else table.after_commit())
    report_partitions(table, messages)
    if table.settings.partitions.end_input_to_done:
        from paimon_spark.store.upkeep.partition_done import mark_written_partitions

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
    except (PaimonError, OSError, MemoryError) as error:
        _log.warning(
            "the rows are committed to %s, but their numbers are not reported: %s", table.location, words_of(error)
        )


def compact_after_write(
    table: Table, messages: Sequence[CommitMessage], runner: TaskRunner, rules: CompactionRules = AS_OPTIONS_SAY
) -> CompactResult | None:
    """Compacts the buckets that committed messages wrote to, as a writer of the official system would.

    The picks are those of universal compaction, with level 0 forced up if the table needs it, or all files with
    `full-compaction.delta-commits`. `commit.force-compact` and `num-sorted-run.stop-trigger` make a Java writer wait
    for its compaction; this function always waits. With `write-only` nothing is compacted.

    Args:
        table: the table, with the options of the write.
        messages: the committed messages.
        runner: runs the tasks; stopped on return.
        rules: what it does.

    Returns:
        The result; None if the table is not compacted by its writers. A failed compaction is logged, and does not make
        the write fail.

    Raises:
        RowsNotVisible: the compaction failed, and readers of the table do not see the rows before a compaction.
    """
    try:
        places = {
            place_of(table, message.partition, message.bucket)
            for message in messages
            if message.new_files and message.bucket >= 0
        }
        if not places or table.bucket_mode is BucketMode.BUCKET_UNAWARE or table.settings.clustering.incremental:
            return None
        if table.settings.write_only:
            _say_what_waits(table, messages)
            return None
        return _compact(table, messages, places, runner, rules)
    finally:
        runner.stop()


def _compact(
    table: Table, messages: Sequence[CommitMessage], places: set[Place], runner: TaskRunner, rules: CompactionRules
) -> CompactResult | None:
    full = (table.settings.compaction.full_delta_commits or 0) > 0 if rules.full is None else rules.full
    hides_rows = bool(table.schema.primary_keys) and skips_level_zero(table.settings)
    try:
        budget = None if hides_rows else rules.budget
        chosen = None if rules.full else places  # what earlier commits have written waits for it too
        metrics = compact_table(table.after_commit(), runner, full=full, places=chosen, budget=None if full else budget)
        waiting = _waiting_rows(table, messages, places) if hides_rows else 0
    except (PaimonError, OSError, MemoryError) as error:
        if hides_rows:
            raise RowsNotVisible(_not_visible(table, messages, words_of(error))) from error
        _log.warning(
            "the rows are committed to %s, but compacting the buckets failed; %s takes them: %s",
            table.location,
            _call(table),
            words_of(error),
        )
        return None
    if waiting and metrics.dropped:
        raise RowsNotVisible(_not_visible(table, messages, metrics.dropped[0].reason))
    if waiting:  # lookup-compact = gentle waits for more files
        _log.warning("%d rows of %s are not visible yet; %s shows them", waiting, table.location, _call(table))
    return metrics


def _waiting_rows(table: Table, messages: Sequence[CommitMessage], places: set[Place]) -> int:
    """The number of rows of the messages that are still on level 0."""
    written = {file.file_name for message in messages for file in message.new_files}
    return sum(
        entry.file.row_count
        for bucket in live_buckets(table, table.snapshots.latest(), places=places)
        for entry in bucket.entries
        if entry.file.level == 0 and entry.file.file_name in written
    )


def _say_what_waits(table: Table, messages: Sequence[CommitMessage]) -> None:
    if not table.schema.primary_keys:
        return
    if skips_level_zero(table.settings):
        _log.warning(
            "write-only: %d rows are committed to %s and not visible yet; %s shows them",
            _rows(messages),
            table.location,
            _call(table),
        )
    elif needs_lookup(table.settings):
        _log.warning(
            "write-only: %d rows are committed to %s; %s writes their changelog",
            _rows(messages),
            table.location,
            _call(table),
        )
    else:
        _log.info("write-only: %d rows wait in level 0 of %s for %s", _rows(messages), table.location, _call(table))


def _not_visible(table: Table, messages: Sequence[CommitMessage], why: str) -> str:
    return (
        f"{_rows(messages)} rows are committed to {table.location}, but readers do not see them yet, because "
        f"compacting their buckets failed. Do not write them again: {_call(table)} shows them. The cause: {why}"
    )


def _rows(messages: Sequence[CommitMessage]) -> int:
    return sum(file.row_count for message in messages for file in message.new_files)


def _call(table: Table) -> str:
    return f"PaimonTable.forPath(spark, '{table.location}').optimize().compact(full=False)"
