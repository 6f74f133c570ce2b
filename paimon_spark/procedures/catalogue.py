"""All procedures by their names."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from paimon_spark.procedures.analysis import Analyze
from paimon_spark.procedures.branches import CreateBranch, DeleteBranch, FastForward, RenameBranch
from paimon_spark.procedures.databases import (
    AlterFunction,
    AlterViewDialect,
    CompactDatabase,
    CreateFunction,
    DatabaseProcedure,
    DropFunction,
    MigrateDatabase,
    MigrateTable,
    RefreshMaterializedTable,
    Repair,
)
from paimon_spark.procedures.orphan_files import RemoveOrphanFiles
from paimon_spark.procedures.partitions import ExpirePartitions, MarkPartitionDone
from paimon_spark.procedures.procedure import Procedure, name_of
from paimon_spark.procedures.rewrites import (
    Compact,
    CompactChainTable,
    CompactManifest,
    Copy,
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

GROUPS: Mapping[str, tuple[type[Procedure[Any]], ...]] = MappingProxyType(
    {
        "Compaction": (
            Compact,
            CompactManifest,
            CompactChainTable,
            Rescale,
            RewriteFileIndex,
            MaterializeDeletionVectors,
            ReassignRowId,
        ),
        "Indexes of the table": (CreateGlobalIndex, DropGlobalIndex),
        "Expiry": (ExpireSnapshots, ExpireChangelogs, ExpirePartitions, MarkPartitionDone),
        "Rows": (Truncate, DropPartitions),
        "Tags": (
            CreateTag,
            CreateTagFromTimestamp,
            ReplaceTag,
            RenameTag,
            DeleteTag,
            ExpireTags,
            TriggerTagAutomaticCreation,
        ),
        "Going back": (Rollback, RollbackToTimestamp, RollbackToWatermark, RollbackToAsLatest),
        "Branches": (CreateBranch, RenameBranch, DeleteBranch, FastForward, MergeBranch),
        "Consumers": (ResetConsumer, ClearConsumers),
        "Copies and statistics": (Copy, Analyze),
        "Cleaning and repair": (RemoveOrphanFiles, PurgeFiles, RemoveUnexistingFiles, RepairEarliestSnapshot),
    }
)
"""The procedures of one table under the headings of the documentation."""

PROCEDURES: Mapping[str, type[Procedure[Any]]] = MappingProxyType(
    {name_of(procedure): procedure for group in GROUPS.values() for procedure in group}
)
"""The procedures of one table by their names in SQL."""

_OF_DATABASES = (
    CompactDatabase,
    Repair,
    AlterViewDialect,
    MigrateTable,
    MigrateDatabase,
    RefreshMaterializedTable,
    CreateFunction,
    AlterFunction,
    DropFunction,
)
DATABASE_PROCEDURES: Mapping[str, type[DatabaseProcedure[Any]]] = MappingProxyType(
    {name_of(procedure): procedure for procedure in _OF_DATABASES}
)
"""The procedures of many tables by their names in SQL."""
