"""Tells a metastore how large the written partitions are.

Features 3.15; Java: WriteHelper.reportToHms, PartitionStatisticsReporter.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

import pyarrow as pa

from paimon_spark.errors import PaimonError
from paimon_spark.format.options import core_options as o
from paimon_spark.format.types import DataField
from paimon_spark.store.commit.partition_changes import partition_spec
from paimon_spark.store.commit.told_partitions import keeper_of
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.system_tables.request import Request
from paimon_spark.store.system_tables.totals import partition_totals

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
        for one in partition_totals(Request(table), _no_texts):
            if one.partition not in written:
                continue
            rows, size, files, _ = one.total
            told = {"numRows": rows, "totalSize": size, "numFiles": files, "totalBuckets": one.total_buckets}
            statistics = {key: str(number) for key, number in {**told, "lastUpdateTime": now}.items()}
            keeper.report(table.location, partition_spec(table, one.partition), statistics, now)
    except (PaimonError, OSError) as error:
        _log.warning("the rows are committed to %s, but their numbers are not reported: %s", table.location, error)


def _no_texts(partitions: Sequence[bytes], fields: Sequence[DataField]) -> pa.Array:
    return pa.nulls(len(partitions), pa.string())
