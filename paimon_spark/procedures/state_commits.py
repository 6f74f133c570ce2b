"""Older states, and those of branches, that are committed as the latest one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.procedure import TABLE, Argument, Procedure
from paimon_spark.procedures.rollbacks import SnapshotId, TagName, Version
from paimon_spark.store.history.branch_merge import MergeBranchResult, merge_branch
from paimon_spark.store.history.rollback_as_latest import RollbackToAsLatestResult, rollback_to_as_latest
from paimon_spark.store.metadata.table import Table


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
