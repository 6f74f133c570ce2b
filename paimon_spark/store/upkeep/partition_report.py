"""Tells a metastore how large the written partitions are.

Features 3.15; Java: WriteHelper.reportToHms, PartitionStatisticsReporter.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from paimon_spark.errors import PaimonError
from paimon_spark.format.options import core_options as o
from paimon_spark.store.commit.attempt import table_state
from paimon_spark.store.commit.partition_changes import partition_changes
from paimon_spark.store.commit.partition_registration import keeper_of
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.partition_filter import PartitionFilter
from paimon_spark.store.metadata.table import Table

_log = logging.getLogger(__name__)


def report_partitions(table: Table, messages: Sequence[CommitMessage]) -> None:
    """Reports rows, bytes and files of the partitions of a write, if `partition.idle-time-to-report-statistic` is set.

    The rows are already committed: a metastore that fails is logged.
    """
    keeper = keeper_of(table)
    if keeper is None or table.options.value(o.PARTITION_IDLE_TIME_TO_REPORT_STATISTIC) <= 0:
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
