"""The engine of procedures whose large parts are Spark tasks; see Engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

if TYPE_CHECKING:  # each method imports what it works with: a CALL that only creates a tag waits for none of it
    from paimon_spark.arrow.predicates.predicate import Predicate
    from paimon_spark.file_io import FileIO
    from paimon_spark.format.snapshot import Snapshot
    from paimon_spark.format.table_statistics import ColumnStatistics
    from paimon_spark.format.types import DataField
    from paimon_spark.store.clean.orphans_listing import StorageWork
    from paimon_spark.store.clustering.work import ClusterWork, GroupResult
    from paimon_spark.store.compact.outcomes import CompactResult
    from paimon_spark.store.compact.task import CompactTaskResult
    from paimon_spark.store.indexing.build import BuildOutcome, BuildTask
    from paimon_spark.store.metadata.messages import CommitMessage
    from paimon_spark.store.metadata.table import Table
    from paimon_spark.store.rescale.rewrite import Rewrite
    from paimon_spark.store.upkeep.copy_files import FileCopy
    from paimon_spark.store.upkeep.rewrite_indexes import IndexTask


@dataclass(frozen=True)
class SparkEngine:
    """See Engine.

    Attributes:
        spark: whose tasks work.
        read: the rows of a snapshot as a DataFrame, by the names of columns and the id of the snapshot.
    """

    spark: SparkSession
    read: Callable[[Sequence[str], int], DataFrame]

    def compact(self, table: Table, where: str | Predicate | None, full: bool | None) -> CompactResult:
        from paimon_spark.spark.jobs.bucket_routed_write import compact_postponed_with_spark
        from paimon_spark.spark.jobs.compact_job import SparkRunner
        from paimon_spark.store.upkeep.compact_call import compact_on_call

        move = partial(compact_postponed_with_spark, self.spark)
        return compact_on_call(table, SparkRunner(self.spark), where, full, move, self.cluster)

    def cluster(self, work: ClusterWork) -> Sequence[GroupResult]:
        from paimon_spark.spark.jobs.cluster_job import cluster_with_spark

        return cluster_with_spark(self.spark, work)

    def rewrite(self, rewrite: Rewrite) -> list[CommitMessage]:
        from paimon_spark.spark.jobs.bucket_routed_write import rewrite_with_spark

        return rewrite_with_spark(self.spark, rewrite)

    def build_indexes(self, table: Table, tasks: Sequence[IndexTask]) -> Sequence[CompactTaskResult]:
        from paimon_spark.spark.jobs.engine_work import run_pieces
        from paimon_spark.store.upkeep.rewrite_indexes import attempt_indexes, settled

        what = f"make the file indexes of {table.location}"
        return settled(table, run_pieces(self.spark, tasks, partial(attempt_indexes, table), what))

    def build_table_index(self, table: Table, tasks: Sequence[BuildTask]) -> Sequence[BuildOutcome]:
        from paimon_spark.spark.jobs.engine_work import run_pieces
        from paimon_spark.store.indexing.build import attempt_file, settled

        what = f"make an index of {table.location}"
        return settled(table, run_pieces(self.spark, tasks, partial(attempt_file, table), what))

    def storage_work(self, table: Table, distributed: bool | None) -> StorageWork:
        from paimon_spark.spark.jobs.engine_work import storage_work_with_spark

        return storage_work_with_spark(self.spark, table, distributed)

    def copy_files(self, source: FileIO, target: FileIO, files: Sequence[FileCopy], distributed: bool | None) -> None:
        from paimon_spark.spark.jobs.engine_work import copy_with_spark

        copy_with_spark(self.spark, distributed)(source, target, files)

    def count_columns(
        self, table: Table, snapshot: Snapshot, fields: Sequence[DataField]
    ) -> tuple[int, dict[str, ColumnStatistics]]:
        """See Engine. Where no column is counted, the cheapest one is read: rows need one."""
        from paimon_spark.format.table_statistics import NUMBERS
        from paimon_spark.spark.jobs.engine_work import count_columns

        numbers = (field.name for field in table.schema.fields if field.type.root in NUMBERS)
        cheapest = next(numbers, table.schema.names[0])
        return count_columns(self.read([field.name for field in fields] or [cheapest], snapshot.id), fields)
