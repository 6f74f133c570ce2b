"""The ways back to an older state: what came after it goes, or the state is committed as the latest one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.procedure import TABLE, Argument, DryRun, Procedure
from paimon_spark.store.history.branch_merge import MergeBranchResult, merge_branch
from paimon_spark.store.history.rollback import RollbackResult, rollback, rollback_to_timestamp, rollback_to_watermark
from paimon_spark.store.history.rollback_as_latest import RollbackToAsLatestResult, rollback_to_as_latest
from paimon_spark.store.holds.retention import Moment
from paimon_spark.store.metadata.table import Table

Version: TypeAlias = Annotated[
    int | str | None, Argument("the id of a snapshot, also as digits, else the name of a tag.")
]
SnapshotId: TypeAlias = Annotated[
    int | None, Argument("instead: the id of a snapshot that is there, or that a tag keeps.")
]
TagName: TypeAlias = Annotated[str | None, Argument("instead: the name of a tag.")]


@dataclass(frozen=True)
class Rollback(Procedure[RollbackResult]):
    """Takes the table back to a snapshot or tag, just one of which is given: newer snapshots, tags and changelogs go.

    Raises:
        OptionError: not just one target is given.
        SnapshotNotFound: there is no such target, it is expiring just now, or another snapshot has its id since;
            nothing was changed.
        CommitConflict: other jobs go on committing to what is taken away. Call it again.
        StorageError: the storage failed. Call it again.
    """

    official = (TABLE, "version", "snapshot", "tag")

    version: Version = None
    snapshot: SnapshotId = None
    tag: TagName = None
    dry_run: DryRun = False

    def perform(self, table: Table, engine: Engine) -> RollbackResult:
        return rollback(table, self.version, self.snapshot, self.tag, self.dry_run)


@dataclass(frozen=True)
class RollbackToTimestamp(Procedure[RollbackResult]):
    """Takes the table back to what it was at a time: newer snapshots, tags and changelogs go.

    Raises:
        OptionError: the time is none.
        SnapshotNotFound: there was no snapshot yet; nothing was changed.
        CommitConflict: other jobs go on committing to what is taken away. Call it again.
        StorageError: the storage failed. Call it again.
    """

    official = (TABLE, "timestamp")

    timestamp: Annotated[Moment, Argument("the newest snapshot that was committed at this time or before stays.")]
    dry_run: DryRun = False

    def perform(self, table: Table, engine: Engine) -> RollbackResult:
        return rollback_to_timestamp(table, self.timestamp, self.dry_run)


@dataclass(frozen=True)
class RollbackToWatermark(Procedure[RollbackResult]):
    """Takes the table back to the newest snapshot whose watermark is not above a given one.

    Raises:
        SnapshotNotFound: there is no such snapshot; nothing was changed.
        CommitConflict: other jobs go on committing to what is taken away. Call it again.
        StorageError: the storage failed. Call it again.
    """

    official = (TABLE, "watermark")

    watermark: Annotated[int, Argument("the watermark, in epoch milliseconds.")]
    dry_run: DryRun = False

    def perform(self, table: Table, engine: Engine) -> RollbackResult:
        return rollback_to_watermark(table, self.watermark, self.dry_run)


@dataclass(frozen=True)
class RollbackToAsLatest(Procedure[RollbackToAsLatestResult]):
    """Makes an older state, named in just one way, the latest snapshot again; nothing goes, and every writer notices.

    Raises:
        OptionError: not just one target is given.
        SnapshotNotFound: there is no such target, or it is expiring just now.
        UnsupportedFeature: the table cannot be written.
    """

    version: Version = None
    snapshot: SnapshotId = None
    tag: TagName = None

    def perform(self, table: Table, engine: Engine) -> RollbackToAsLatestResult:
        return rollback_to_as_latest(table, self.version, self.snapshot, self.tag)


@dataclass(frozen=True)
class MergeBranch(Procedure[MergeBranchResult]):
    """Adds the files of a branch that another one does not have yet, in one snapshot of the latter.

    Raises:
        OptionError: both are the same.
        SnapshotNotFound: there is no such branch, it has no snapshot, or that of the source expires just now.
        UnsupportedFeature: the table has a primary key, cannot be written, or a branch has done more than add files.
        SchemaError: the branches have other columns, or other schemas under one number.
    """

    official = (TABLE, "source_branch", "target_branch")

    source: Annotated[str, Argument("the name of the branch that has the files.", sql="source_branch")]
    target: Annotated[str, Argument("the name of the branch that gets them.", sql="target_branch")] = "main"

    def perform(self, table: Table, engine: Engine) -> MergeBranchResult:
        return merge_branch(table, self.source, self.target)
