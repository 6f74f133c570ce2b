"""Old partitions, and complete ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.procedure import TABLE, Argument, DryRun, Procedure
from paimon_spark.store.clean.partition_expiry import ExpirePartitionsResult, expire_partitions
from paimon_spark.store.compact.partition_choice import Partitions
from paimon_spark.store.history.tags import Duration
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.partition_done import MarkPartitionDoneResult, mark_partition_done


@dataclass(frozen=True)
class ExpirePartitions(Procedure[ExpirePartitionsResult]):
    """Drops the partitions that are too old now; what is not given the options `partition.*` say.

    Raises:
        OptionError: the table has no partitions, no time is given, an argument cannot be read, or an option chooses a
            snapshot.
        UnsupportedFeature: the table cannot be written.
    """

    official = (
        TABLE, "expiration_time", "timestamp_formatter", "timestamp_pattern", "expire_strategy", "max_expires",
        "options",
    )  # fmt: skip

    expiration_time: Annotated[
        Duration | None, Argument("how long a partition lives, such as '90 d'; else as the options say.")
    ] = None
    timestamp_formatter: Annotated[
        str | None,
        Argument("how its values say a time, as a pattern of Java's DateTimeFormatter, such as 'yyyyMMdd'."),
    ] = None
    timestamp_pattern: Annotated[
        str | None, Argument("what is read, such as '$dt $hour:00:00'; else the first partition column.")
    ] = None
    expire_strategy: Annotated[
        str | None, Argument("'values-time', or 'update-time' by the last file of a partition.")
    ] = None
    max_expires: Annotated[int | None, Argument("at most so many go, in the order of their values as text.")] = None
    dry_run: DryRun = False

    def perform(self, table: Table, engine: Engine) -> ExpirePartitionsResult:
        times = (self.expiration_time, self.timestamp_formatter, self.timestamp_pattern, self.expire_strategy)
        return expire_partitions(table, *times, self.max_expires, dry_run=self.dry_run)


@dataclass(frozen=True)
class MarkPartitionDone(Procedure[MarkPartitionDoneResult]):
    """Tells others that partitions are complete, in the ways of the option `partition.mark-done-action`.

    ``success-file`` writes ``_SUCCESS`` into the directory of a partition, ``http-report`` sends a POST.

    Raises:
        OptionError: the table has no partitions, or the values or options cannot be read.
        UnsupportedFeature: the action is one of a metastore, or a class of Java.
        PartitionNotMarked: the service that is reported to failed; what was done before is done.
        CorruptFile: there is a ``_SUCCESS`` of another system.
    """

    official = (TABLE, "partitions")

    partitions: Annotated[
        Partitions,
        Argument(
            "the values of the first or of all partition columns, as text such as "
            "'dt=2026-11-01,hour=10;dt=2026-11-02,hour=0' or as mappings from column to value. Whether there are such "
            "rows is not looked at."
        ),
    ]

    def perform(self, table: Table, engine: Engine) -> MarkPartitionDoneResult:
        return mark_partition_done(table, self.partitions)
