"""Waits until readers see committed rows, `visibility-callback.enabled` = true (Java: VisibilityWaitCallback)."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable

from paimon_spark.errors import RowsNotVisible
from paimon_spark.format.options import core_options as o
from paimon_spark.store.commit.attempt import table_state
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.partition_filter import PartitionFilter
from paimon_spark.store.metadata.table import Table

_log = logging.getLogger(__name__)


def wait_until_visible(table: Table, messages: Iterable[CommitMessage]) -> None:
    """Returns when a compaction, by any job, has compacted the committed files that readers skip.

    These are postponed files and, with deletion vectors, files of level 0. Without the option it returns at once.

    Args:
        table: the table, with the options of the write.
        messages: the committed messages.

    Raises:
        RowsNotVisible: `visibility-callback.timeout` is over. The rows are committed.
    """
    options = table.options
    if not options.value(o.VISIBILITY_CALLBACK_ENABLED):
        return
    has_vectors = options.value(o.DELETION_VECTORS_ENABLED)
    hidden = [m for m in messages if m.bucket < 0 or has_vectors]
    waiting = {f.file_name for m in hidden for f in m.new_files if m.bucket < 0 or f.level == 0}
    if not waiting or not table.schema.primary_keys:
        return
    partitions = PartitionFilter.of_rows(table.schema.partition_fields, {m.partition for m in hidden})
    timeout, interval = options.value(o.VISIBILITY_CALLBACK_TIMEOUT), options.value(o.VISIBILITY_CALLBACK_INTERVAL)
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
