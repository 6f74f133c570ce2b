"""Who does what may be too big for one process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # a command that only deletes a tag does not wait for what compacts
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


class Engine(Protocol):
    """Does the large parts of procedures: in this process, or on a cluster."""

    def compact(self, table: Table, where: str | Predicate | None, full: bool | None) -> CompactResult:
        """Compacts a table and does what has to follow; see compact_on_call."""
        ...

    def cluster(self, work: ClusterWork) -> Sequence[GroupResult]:
        """Sorts rows, all or nothing; see cluster_here."""
        ...

    def rewrite(self, rewrite: Rewrite) -> list[CommitMessage]:
        """Writes rows into other buckets, all or nothing; see rewrite_here."""
        ...

    def build_indexes(self, table: Table, tasks: Sequence[IndexTask]) -> Sequence[CompactTaskResult]:
        """Makes file indexes, all or nothing; see build_here."""
        ...

    def build_table_index(self, table: Table, tasks: Sequence[BuildTask]) -> Sequence[BuildOutcome]:
        """Makes the files of an index of the whole table, all or nothing; see BuildTableIndex."""
        ...

    def storage_work(self, table: Table, distributed: bool | None) -> StorageWork:
        """Who lists the directories of a table and deletes its files.

        Args:
            distributed: whether tasks of a cluster do it; None: where there is much of it.
        """
        ...

    def copy_files(self, source: FileIO, target: FileIO, files: Sequence[FileCopy], distributed: bool | None) -> None:
        """Copies files; see copy_here. distributed: as for storage_work."""
        ...

    def count_columns(
        self, table: Table, snapshot: Snapshot, fields: Sequence[DataField]
    ) -> tuple[int, Mapping[str, ColumnStatistics]]:
        """The number of rows of a snapshot, and what is in some columns."""
        ...
