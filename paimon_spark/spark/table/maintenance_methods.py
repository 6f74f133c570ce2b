"""What PaimonTable does to keep a table small, sound and known: each method runs a procedure, which documents it.

Conditions are read in the time zone of the session; times as text, and those in partitions, in the local zone of this
process, as the official system does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from pyspark.sql import SparkSession

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.format.options.foreign_names import ForeignNames
from paimon_spark.procedures.analysis import Analyze
from paimon_spark.procedures.orphan_files import RemoveOrphanFiles
from paimon_spark.procedures.partitions import ExpirePartitions, MarkPartitionDone
from paimon_spark.procedures.procedure import Procedure, documented
from paimon_spark.procedures.rewrites import Compact, CompactManifest, Copy, Rescale, RewriteFileIndex
from paimon_spark.procedures.row_removal import DropPartitions, PurgeFiles, RemoveUnexistingFiles, Truncate
from paimon_spark.procedures.snapshots import ExpireChangelogs, ExpireSnapshots, RepairEarliestSnapshot
from paimon_spark.spark.adapters.options import path_in_session
from paimon_spark.store.clean.lost_files import RemoveUnexistingFilesResult, RepairEarliestSnapshotResult
from paimon_spark.store.clean.orphans import RemoveOrphanFilesResult
from paimon_spark.store.clean.partition_expiry import ExpirePartitionsResult
from paimon_spark.store.clean.purge import PurgeFilesResult
from paimon_spark.store.clean.truncate import TruncateResult
from paimon_spark.store.compact.compaction import CompactResult
from paimon_spark.store.compact.partition_choice import Partitions
from paimon_spark.store.expire.snapshots import ExpireSnapshotsResult
from paimon_spark.store.history.tags import Duration
from paimon_spark.store.holds.retention import Moment
from paimon_spark.store.reporting.result import Progress
from paimon_spark.store.rescale.rescale import RescaleResult
from paimon_spark.store.upkeep.analyze import AnalyzeResult
from paimon_spark.store.upkeep.copy_files import CopyResult
from paimon_spark.store.upkeep.manifest_compaction import CompactManifestResult
from paimon_spark.store.upkeep.partition_done import MarkPartitionDoneResult
from paimon_spark.store.upkeep.rewrite_indexes import RewriteFileIndexResult

R = TypeVar("R")
_NO_OPTIONS: Mapping[str, str] = {}


class MaintenanceMethods(ABC):
    """The upkeep of a table: what goes, what is repaired, what is counted."""

    _spark: SparkSession
    _options: Mapping[str, str]

    @abstractmethod
    def _run(self, procedure: Procedure[R]) -> R: ...

    @documented(ExpireSnapshots)
    def expire_snapshots(
        self,
        retain_max: int | None = None,
        retain_min: int | None = None,
        older_than: Moment | None = None,
        max_deletes: int | None = None,
        dry_run: bool = False,
    ) -> ExpireSnapshotsResult:
        return self._run(ExpireSnapshots(retain_max, retain_min, older_than, max_deletes, dry_run))

    @documented(ExpireChangelogs)
    def expire_changelogs(
        self,
        retain_max: int | None = None,
        retain_min: int | None = None,
        older_than: Moment | None = None,
        max_deletes: int | None = None,
        dry_run: bool = False,
    ) -> ExpireSnapshotsResult:
        return self._run(ExpireChangelogs(retain_max, retain_min, older_than, max_deletes, dry_run))

    @documented(CompactManifest)
    def compact_manifest(self, dry_run: bool = False) -> CompactManifestResult:
        return self._run(CompactManifest(dry_run))

    @documented(Rescale)
    def rescale(
        self, buckets: int | None = None, where: str | None = None, partitions: Partitions | None = None
    ) -> RescaleResult:
        return self._run(Rescale(buckets, where, partitions))

    @documented(RewriteFileIndex)
    def rewrite_file_index(self, where: str | None = None) -> RewriteFileIndexResult:
        return self._run(RewriteFileIndex(where))

    @documented(RemoveOrphanFiles)
    def remove_orphan_files(
        self,
        older_than: Moment | None = None,
        dry_run: bool = True,
        distributed: bool | None = None,
        progress: Progress | None = None,
    ) -> RemoveOrphanFilesResult:
        return self._run(RemoveOrphanFiles(older_than, dry_run, distributed, progress))

    @documented(Truncate)
    def truncate(self) -> TruncateResult:
        return self._run(Truncate())

    @documented(DropPartitions)
    def drop_partitions(self, where: str) -> TruncateResult:
        return self._run(DropPartitions(where))

    @documented(RemoveUnexistingFiles)
    def remove_unexisting_files(self, dry_run: bool = True) -> RemoveUnexistingFilesResult:
        return self._run(RemoveUnexistingFiles(dry_run))

    @documented(RepairEarliestSnapshot)
    def repair_earliest_snapshot(
        self, snapshot: int | None = None, delete_older: bool = False
    ) -> RepairEarliestSnapshotResult:
        return self._run(RepairEarliestSnapshot(snapshot, delete_older))

    @documented(ExpirePartitions)
    def expire_partitions(
        self,
        expiration_time: Duration | None = None,
        timestamp_formatter: str | None = None,
        timestamp_pattern: str | None = None,
        expire_strategy: str | None = None,
        max_expires: int | None = None,
        dry_run: bool = False,
    ) -> ExpirePartitionsResult:
        times = (expiration_time, timestamp_formatter, timestamp_pattern, expire_strategy)
        return self._run(ExpirePartitions(*times, max_expires, dry_run))

    @documented(MarkPartitionDone)
    def mark_partition_done(self, partitions: Partitions) -> MarkPartitionDoneResult:
        return self._run(MarkPartitionDone(partitions))

    @documented(PurgeFiles)
    def purge_files(self, orphans_older_than: Moment | None = None, dry_run: bool = False) -> PurgeFilesResult:
        return self._run(PurgeFiles(orphans_older_than, dry_run))

    @documented(Copy)
    def copy(
        self,
        target: str,
        where: str | None = None,
        options: Mapping[str, str] = _NO_OPTIONS,
        distributed: bool | None = None,
    ) -> CopyResult:
        return self._run(Copy(path_in_session(self._spark, target), where, {**self._options, **options}, distributed))

    @documented(Analyze)
    def analyze(self, columns: str | Sequence[str] | None = None) -> AnalyzeResult:
        return self._run(Analyze(columns))


@checks_arguments
class TableOptimizer(ForeignNames):
    """Compacts or sorts a table; made by ``PaimonTable.optimize()``."""

    def __init__(self, run: Callable[[Compact], CompactResult], where: str | None = None) -> None:
        """
        Args:
            run: compacts the table as it is then.
            where: a condition on partition columns, for calls that give none.
        """
        self._run = run
        self._where = where

    def where(self, condition: str) -> TableOptimizer:
        """Only the partitions for which an SQL condition on partition columns is true."""
        return TableOptimizer(self._run, condition)

    def executeCompaction(self) -> CompactResult:
        """Compacts with the defaults of ``compact``."""
        return self.compact()

    @documented(Compact)
    def compact(
        self,
        where: str | None = None,
        full: bool | None = None,
        partitions: Partitions | None = None,
        order_strategy: str = "none",
        order_by: str | Sequence[str] | None = None,
        partition_idle_time: Duration | None = None,
    ) -> CompactResult:
        where = where or self._where
        return self._run(Compact(where, full, partitions, order_strategy, order_by, partition_idle_time))

    def executeOrderBy(self, *columns: str) -> CompactResult:
        """Sorts the rows of each partition by columns, one after the other; see ``compact``."""
        return self._sorted("order", columns)

    def executeZOrderBy(self, *columns: str) -> CompactResult:
        """Sorts the rows of each partition along a z-order of columns; see ``compact``."""
        return self._sorted("zorder", columns)

    def executeHilbertOrderBy(self, *columns: str) -> CompactResult:
        """Sorts the rows of each partition along a Hilbert curve of columns; see ``compact``."""
        return self._sorted("hilbert", columns)

    def _sorted(self, strategy: str, columns: Sequence[str]) -> CompactResult:
        return self.compact(order_strategy=strategy, order_by=columns)
