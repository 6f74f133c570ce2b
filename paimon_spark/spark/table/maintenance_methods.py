"""What PaimonTable does to keep a table small, sound and known; what is big of it runs on Spark.

Each method is a function of the store on the table as it is now; arguments and errors are told there. Conditions are
read in the time zone of the session; times as text, and those in partitions, in the local zone of this process, as the
official system does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from paimon_spark.format.options.core_options import SCAN_SNAPSHOT_ID
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.table_statistics import NUMBERS, ColumnStatistics
from paimon_spark.format.types import DataField
from paimon_spark.spark.jobs.analyze_job import count_columns
from paimon_spark.spark.jobs.copy_job import copy_with_spark
from paimon_spark.spark.jobs.orphan_job import remove_orphans_with_spark
from paimon_spark.store.clean.earliest_repair import EarliestRepaired, repair_earliest_snapshot
from paimon_spark.store.clean.lost_files import UnexistingFiles, remove_unexisting_files
from paimon_spark.store.clean.orphans import OrphansRemoved
from paimon_spark.store.clean.partition_expiry import PartitionsExpired, expire_partitions
from paimon_spark.store.clean.purge import Purged, purge_files
from paimon_spark.store.clean.truncate import TruncateMetrics, drop_partitions, truncate_table
from paimon_spark.store.expire.changelogs import expire_changelogs
from paimon_spark.store.expire.snapshots import ExpiryResult, expire_snapshots
from paimon_spark.store.history.tags import Duration
from paimon_spark.store.holds.retention import Moment
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.progress import Progress
from paimon_spark.store.upkeep.analyze import AnalyzeMetrics, analyze
from paimon_spark.store.upkeep.copy_files import CopyMetrics, copy_table
from paimon_spark.store.upkeep.maintenance import maintain
from paimon_spark.store.upkeep.manifest_compaction import ManifestMetrics, compact_manifests
from paimon_spark.store.upkeep.partition_done import Partitions, PartitionsMarked, mark_partition_done

_NO_OPTIONS: Mapping[str, str] = {}


class MaintenanceMethods(ABC):
    """The upkeep of a table: what goes, what is repaired, what is counted."""

    _spark: SparkSession
    _options: Mapping[str, str]

    @abstractmethod
    def _open(self) -> Table: ...

    @abstractmethod
    def _open_in_session(self) -> Table: ...

    @abstractmethod
    def toDF(self, columns: str | Sequence[str] | None, where: None, options: Mapping[str, str]) -> DataFrame: ...

    def expire_snapshots(
        self,
        retain_max: int | None = None,
        retain_min: int | None = None,
        older_than: Moment | None = None,
        max_deletes: int | None = None,
        dry_run: bool = False,
    ) -> ExpiryResult:
        """Expires old snapshots now, by other rules than the options `snapshot.*` say where given.

        Args:
            retain_max, retain_min: at most, at least so many snapshots stay.
            older_than: a datetime, or text such as "2026-11-01 12:30:00" in the local zone: what was the state of the
                table at that time or later stays, but for retain_max.
            max_deletes: at most so many expire.
            dry_run: whether only to tell what would go.
        """
        return expire_snapshots(self._open(), retain_max, retain_min, older_than, max_deletes, dry_run)

    def expire_changelogs(
        self,
        retain_max: int | None = None,
        retain_min: int | None = None,
        older_than: Moment | None = None,
        max_deletes: int | None = None,
        dry_run: bool = False,
    ) -> ExpiryResult:
        """Expires old changelogs that have outlived their snapshots; arguments as for ``expire_snapshots``."""
        return expire_changelogs(self._open(), retain_max, retain_min, older_than, max_deletes, dry_run)

    def compact_manifest(self) -> ManifestMetrics:
        """Merges the manifests now, in one snapshot: none deletes any more, and at most one is small."""
        return compact_manifests(self._open())

    def remove_orphan_files(
        self,
        older_than: Moment | None = None,
        dry_run: bool = True,
        distributed: bool | None = None,
        progress: Progress | None = None,
    ) -> OrphansRemoved:
        """Removes old files that no snapshot, tag, branch or changelog names, and empty old directories.

        Args:
            older_than: a datetime, or text such as "2026-11-01 12:30:00" in the local zone; what was changed later
                stays. None: one day ago. Leave more time than the longest job takes: what it has written, and not
                committed yet, is an orphan when it is old enough.
            dry_run: whether only to tell what would go.
            distributed: whether Spark tasks list and delete; None: where there is much of it.
            progress: is told how far it is.
        """
        return remove_orphans_with_spark(self._spark, self._open(), older_than, dry_run, distributed, progress)

    def truncate(self) -> TruncateMetrics:
        """Takes all rows away in one snapshot; the files go when the snapshots before it expire."""
        table = self._open()
        metrics = truncate_table(table)
        maintain(table)
        return metrics

    def drop_partitions(self, where: str) -> TruncateMetrics:
        """The same for partitions that satisfy a condition on partition columns, such as ``dt < '2026-11-01'``."""
        table = self._open_in_session()
        metrics = drop_partitions(table, where)
        maintain(table)
        return metrics

    def remove_unexisting_files(self, dry_run: bool = True) -> UnexistingFiles:
        """Takes the data files out of the table that storage has lost, and with them their rows; first tells which."""
        table = self._open()
        found = remove_unexisting_files(table, dry_run)
        if found.snapshot_id is not None:
            maintain(table)
        return found

    def repair_earliest_snapshot(self, snapshot: int | None = None, delete_older: bool = False) -> EarliestRepaired:
        """Lets the table begin with a snapshot after which none is missing; by itself the first such one.

        Args:
            snapshot: its id.
            delete_older: whether the snapshots before it are deleted.
        """
        return repair_earliest_snapshot(self._open(), snapshot, delete_older)

    def expire_partitions(
        self,
        expiration_time: Duration | None = None,
        timestamp_formatter: str | None = None,
        timestamp_pattern: str | None = None,
        expire_strategy: str | None = None,
        max_expires: int | None = None,
        dry_run: bool = False,
    ) -> PartitionsExpired:
        """Drops the partitions that are too old now; what is not given the options `partition.*` say.

        Args:
            expiration_time: how long a partition lives: "7 d", or a timedelta.
            timestamp_formatter: how its values say a time, as a pattern of Java's DateTimeFormatter: "yyyyMMdd".
            timestamp_pattern: what is read: "$dt $hour:00:00"; else the first partition column.
            expire_strategy: "values-time", or "update-time" by the last file of a partition.
            max_expires: at most so many go.
            dry_run: whether only to tell what would go.
        """
        arguments = (expiration_time, timestamp_formatter, timestamp_pattern, expire_strategy, max_expires)
        return expire_partitions(self._open(), *arguments, dry_run=dry_run)

    def mark_partition_done(self, partitions: Partitions) -> PartitionsMarked:
        """Tells others that partitions are complete, in the ways of the option `partition.mark-done-action`.

        Args:
            partitions: "dt=2026-11-01,hour=10;dt=2026-11-02,hour=0", or mappings from column to value.
        """
        return mark_partition_done(self._open(), partitions)

    def purge_files(self, orphans_older_than: Moment | None = None, dry_run: bool = False) -> Purged:
        """Empties the table for good: rows, older snapshots, branches, tags, consumers and changelogs all go.

        The schema stays, and with it the options; the table can be written on. There is no way back.

        Args:
            orphans_older_than: files that nothing names go too when they are older; None: than one day.
            dry_run: whether only to tell what would go.
        """
        return purge_files(self._open(), orphans_older_than, dry_run)

    def copy(
        self,
        target: str,
        where: str | None = None,
        options: Mapping[str, str] = _NO_OPTIONS,
        distributed: bool | None = None,
    ) -> CopyMetrics:
        """Copies the latest state to another table, file by file, in one snapshot there.

        A target that is not there is made. In one that is there the partitions are replaced that have rows here.

        Args:
            target: the directory of the other table, in this store or in another.
            where: a condition on partition columns, such as ``dt < '2026-11-01'``; None: all.
            options: storage options of the target, where they differ from those of this object.
            distributed: whether Spark's tasks copy, or this process; None: as much as there is decides.
        """
        given = {**self._options, **options}
        return copy_table(self._open_in_session(), target, where, given, copy_with_spark(self._spark, distributed))

    def analyze(self, columns: str | Sequence[str] | None = None) -> AnalyzeMetrics:
        """Counts the rows that a read gives, and what is in columns, and keeps it in the table's statistics.

        The numbers of distinct values are estimates, as Spark's own ANALYZE makes them. Later snapshots keep the
        statistics until the schema changes; the system table ``$statistics`` shows them.

        Args:
            columns: names, or one text of them with commas; "all": every column, which must all be numbers, texts,
                times, booleans or binary; None: only the rows are counted.
        """

        def count(snapshot: Snapshot, fields: Sequence[DataField]) -> tuple[int, Mapping[str, ColumnStatistics]]:
            names = [field.name for field in fields] or [cheapest]
            return count_columns(self.toDF(names, None, {SCAN_SNAPSHOT_ID.key: str(snapshot.id)}), fields)

        table = self._open()
        numbers = (field.name for field in table.schema.fields if field.type.root in NUMBERS)
        cheapest = next(numbers, table.schema.names[0])
        return analyze(table, columns, count)
