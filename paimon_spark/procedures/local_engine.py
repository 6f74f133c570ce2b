"""The engine of a process without Spark: threads and processes of this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from paimon_spark.procedures.procedure import Procedure

if TYPE_CHECKING:  # each method imports what it works with: a command that only deletes a tag waits for none of it
    from paimon_spark.arrow.predicates.predicate import Predicate
    from paimon_spark.file_io import FileIO
    from paimon_spark.format.snapshot import Snapshot
    from paimon_spark.format.table_statistics import ColumnStatistics
    from paimon_spark.format.types import DataField
    from paimon_spark.store.clean.orphans_listing import StorageWork
    from paimon_spark.store.clustering.work import ClusterWork, GroupResult
    from paimon_spark.store.compact.outcomes import CompactResult, TaskRunner
    from paimon_spark.store.compact.task import CompactTaskResult
    from paimon_spark.store.indexing.build import BuildOutcome, BuildTask
    from paimon_spark.store.metadata.messages import CommitMessage
    from paimon_spark.store.metadata.table import Table
    from paimon_spark.store.rescale.rewrite import Rewrite
    from paimon_spark.store.upkeep.copy_files import FileCopy
    from paimon_spark.store.upkeep.rewrite_indexes import IndexTask

R = TypeVar("R")


class LocalEngine:
    """See Engine. What is asked to be distributed is done here all the same."""

    def __init__(self, runner: TaskRunner | None = None) -> None:
        """
        Args:
            runner: of the tasks of one compaction, which stops it; None: a LocalRunner.
        """
        self._runner = runner

    def compact(self, table: Table, where: str | Predicate | None, full: bool | None) -> CompactResult:
        from paimon_spark.store.compact.local_pool import LocalRunner
        from paimon_spark.store.upkeep.compact_call import compact_on_call

        runner = LocalRunner() if self._runner is None else self._runner
        return compact_on_call(table, runner, where, full)

    def cluster(self, work: ClusterWork) -> Sequence[GroupResult]:
        from paimon_spark.store.clustering.local import cluster_here

        return cluster_here(work)

    def rewrite(self, rewrite: Rewrite) -> list[CommitMessage]:
        from paimon_spark.store.rescale.rewrite import rewrite_here

        return rewrite_here(rewrite)

    def build_indexes(self, table: Table, tasks: Sequence[IndexTask]) -> Sequence[CompactTaskResult]:
        from paimon_spark.store.upkeep.rewrite_indexes import build_here

        return build_here(table, tasks)

    def build_table_index(self, table: Table, tasks: Sequence[BuildTask]) -> Sequence[BuildOutcome]:
        from paimon_spark.store.indexing.build import build_here

        return build_here(table, tasks)

    def storage_work(self, table: Table, distributed: bool | None) -> StorageWork:
        from paimon_spark.store.clean.orphans import ThreadedWork

        return ThreadedWork(table)

    def copy_files(self, source: FileIO, target: FileIO, files: Sequence[FileCopy], distributed: bool | None) -> None:
        from paimon_spark.store.upkeep.copy_files import copy_here

        copy_here(source, target, files)

    def count_columns(
        self, table: Table, snapshot: Snapshot, fields: Sequence[DataField]
    ) -> tuple[int, Mapping[str, ColumnStatistics]]:
        from paimon_spark.store.upkeep.count_columns import count_columns

        return count_columns(table, snapshot, fields)


def dry_or_real(call: Procedure[R], table: Table) -> Callable[[bool], R]:
    """Runs a procedure in this process, once it is given whether that is a dry run."""
    return lambda dry: replace(call, dry_run=dry).run(table, LocalEngine())
