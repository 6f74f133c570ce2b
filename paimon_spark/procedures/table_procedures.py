"""The procedures of a table as methods, each with the arguments and the documentation of its procedure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.procedures.analysis import Analyze
from paimon_spark.procedures.branches import CreateBranch, DeleteBranch, FastForward, RenameBranch
from paimon_spark.procedures.orphan_files import RemoveOrphanFiles
from paimon_spark.procedures.partitions import ExpirePartitions, MarkPartitionDone
from paimon_spark.procedures.procedure import Procedure, method_of
from paimon_spark.procedures.rewrites import (
    Compact,
    CompactChainTable,
    CompactManifest,
    MaterializeDeletionVectors,
    ReassignRowId,
    Rescale,
    RewriteFileIndex,
)
from paimon_spark.procedures.rollbacks import (
    MergeBranch,
    Rollback,
    RollbackToAsLatest,
    RollbackToTimestamp,
    RollbackToWatermark,
)
from paimon_spark.procedures.row_removal import DropPartitions, PurgeFiles, RemoveUnexistingFiles, Truncate
from paimon_spark.procedures.snapshots import (
    ClearConsumers,
    ExpireChangelogs,
    ExpireSnapshots,
    RepairEarliestSnapshot,
    ResetConsumer,
)
from paimon_spark.procedures.table_indexes import CreateGlobalIndex, DropGlobalIndex
from paimon_spark.procedures.tags import (
    CreateTag,
    CreateTagFromTimestamp,
    DeleteTag,
    ExpireTags,
    RenameTag,
    ReplaceTag,
    TriggerTagAutomaticCreation,
)

R = TypeVar("R")


@checks_arguments
class TableProcedures:
    """Methods that run procedures on a table."""

    if TYPE_CHECKING:

        def _run(self, procedure: Procedure[R]) -> R:
            """Runs a procedure on the table as it is then."""
            ...

    compact: Final = method_of(Compact)
    compact_manifest: Final = method_of(CompactManifest)
    compact_chain_table: Final = method_of(CompactChainTable)
    rescale: Final = method_of(Rescale)
    rewrite_file_index: Final = method_of(RewriteFileIndex)
    create_global_index: Final = method_of(CreateGlobalIndex)
    drop_global_index: Final = method_of(DropGlobalIndex)
    materialize_deletion_vectors: Final = method_of(MaterializeDeletionVectors)
    reassign_row_id: Final = method_of(ReassignRowId)
    expire_snapshots: Final = method_of(ExpireSnapshots)
    expire_changelogs: Final = method_of(ExpireChangelogs)
    expire_partitions: Final = method_of(ExpirePartitions)
    mark_partition_done: Final = method_of(MarkPartitionDone)
    truncate: Final = method_of(Truncate)
    drop_partitions: Final = method_of(DropPartitions)
    create_tag: Final = method_of(CreateTag)
    create_tag_from_timestamp: Final = method_of(CreateTagFromTimestamp)
    replace_tag: Final = method_of(ReplaceTag)
    rename_tag: Final = method_of(RenameTag)
    delete_tag: Final = method_of(DeleteTag)
    expire_tags: Final = method_of(ExpireTags)
    trigger_tag_automatic_creation: Final = method_of(TriggerTagAutomaticCreation)
    rollback: Final = method_of(Rollback)
    rollback_to_timestamp: Final = method_of(RollbackToTimestamp)
    rollback_to_watermark: Final = method_of(RollbackToWatermark)
    rollback_to_as_latest: Final = method_of(RollbackToAsLatest)
    create_branch: Final = method_of(CreateBranch)
    rename_branch: Final = method_of(RenameBranch)
    delete_branch: Final = method_of(DeleteBranch)
    fast_forward: Final = method_of(FastForward)
    merge_branch: Final = method_of(MergeBranch)
    reset_consumer: Final = method_of(ResetConsumer)
    clear_consumers: Final = method_of(ClearConsumers)
    analyze: Final = method_of(Analyze)
    remove_orphan_files: Final = method_of(RemoveOrphanFiles)
    purge_files: Final = method_of(PurgeFiles)
    remove_unexisting_files: Final = method_of(RemoveUnexistingFiles)
    repair_earliest_snapshot: Final = method_of(RepairEarliestSnapshot)
