"""What PaimonTable does with tags, branches and consumers, and going back: procedures of this process, without Spark.

Each method runs a procedure, which documents it. Times as text are read in the local zone of this process, as the
official system does, whatever the zone of the session.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TypeVar

from paimon_spark.procedures.branches import CreateBranch, DeleteBranch, FastForward, RenameBranch
from paimon_spark.procedures.procedure import Procedure, documented
from paimon_spark.procedures.rollbacks import (
    MergeBranch,
    Rollback,
    RollbackToAsLatest,
    RollbackToTimestamp,
    RollbackToWatermark,
)
from paimon_spark.procedures.snapshots import ClearConsumers, ResetConsumer
from paimon_spark.procedures.tags import (
    CreateTag,
    CreateTagFromTimestamp,
    DeleteTag,
    ExpireTags,
    RenameTag,
    ReplaceTag,
    TriggerTagAutomaticCreation,
)
from paimon_spark.store.history.auto_tags import TriggerTagAutomaticCreationResult
from paimon_spark.store.history.branch_merge import MergeBranchResult
from paimon_spark.store.history.branches import CreateBranchResult, DeleteBranchResult
from paimon_spark.store.history.consumers import ClearConsumersResult
from paimon_spark.store.history.fast_forward import FastForwardResult
from paimon_spark.store.history.rollback import RollbackResult
from paimon_spark.store.history.rollback_as_latest import RollbackToAsLatestResult
from paimon_spark.store.history.tag_deletion import DeleteTagResult
from paimon_spark.store.history.tags import CreateTagResult, Duration
from paimon_spark.store.holds.retention import Moment

R = TypeVar("R")


class HistoryMethods(ABC):
    """The states of a table that have names, and the way back to them."""

    @abstractmethod
    def _run(self, procedure: Procedure[R]) -> R: ...

    @documented(CreateTag)
    def create_tag(
        self,
        name: str,
        snapshot: int | None = None,
        timestamp: Moment | None = None,
        time_retained: Duration | None = None,
    ) -> CreateTagResult:
        return self._run(CreateTag(name, snapshot, timestamp, time_retained))

    @documented(CreateTagFromTimestamp)
    def create_tag_from_timestamp(
        self, name: str, timestamp: Moment, time_retained: Duration | None = None
    ) -> CreateTagResult:
        return self._run(CreateTagFromTimestamp(name, timestamp, time_retained))

    @documented(ReplaceTag)
    def replace_tag(
        self, name: str, snapshot: int | None = None, time_retained: Duration | None = None
    ) -> CreateTagResult:
        return self._run(ReplaceTag(name, snapshot, time_retained))

    @documented(RenameTag)
    def rename_tag(self, name: str, new_name: str) -> None:
        self._run(RenameTag(name, new_name))

    @documented(DeleteTag)
    def delete_tag(self, names: str | Iterable[str], dry_run: bool = False) -> DeleteTagResult:
        return self._run(DeleteTag(names, dry_run))

    @documented(ExpireTags)
    def expire_tags(self, older_than: Moment | None = None, dry_run: bool = False) -> DeleteTagResult:
        return self._run(ExpireTags(older_than, dry_run))

    @documented(TriggerTagAutomaticCreation)
    def trigger_tag_automatic_creation(self) -> TriggerTagAutomaticCreationResult:
        return self._run(TriggerTagAutomaticCreation())

    @documented(Rollback)
    def rollback(
        self,
        version: int | str | None = None,
        snapshot: int | None = None,
        tag: str | None = None,
        dry_run: bool = False,
    ) -> RollbackResult:
        return self._run(Rollback(version, snapshot, tag, dry_run))

    @documented(RollbackToTimestamp)
    def rollback_to_timestamp(self, timestamp: Moment, dry_run: bool = False) -> RollbackResult:
        return self._run(RollbackToTimestamp(timestamp, dry_run))

    @documented(RollbackToWatermark)
    def rollback_to_watermark(self, watermark: int, dry_run: bool = False) -> RollbackResult:
        return self._run(RollbackToWatermark(watermark, dry_run))

    @documented(RollbackToAsLatest)
    def rollback_to_as_latest(
        self, version: int | str | None = None, snapshot: int | None = None, tag: str | None = None
    ) -> RollbackToAsLatestResult:
        return self._run(RollbackToAsLatest(version, snapshot, tag))

    @documented(CreateBranch)
    def create_branch(
        self, name: str, tag: str | None = None, snapshot: int | None = None, ignore_if_exists: bool = False
    ) -> CreateBranchResult:
        return self._run(CreateBranch(name, tag, snapshot, ignore_if_exists))

    @documented(RenameBranch)
    def rename_branch(self, name: str, new_name: str) -> None:
        self._run(RenameBranch(name, new_name))

    @documented(DeleteBranch)
    def delete_branch(self, names: str | Iterable[str], dry_run: bool = False) -> DeleteBranchResult:
        return self._run(DeleteBranch(names, dry_run))

    @documented(FastForward)
    def fast_forward(self, branch: str, dry_run: bool = False) -> FastForwardResult:
        return self._run(FastForward(branch, dry_run))

    @documented(MergeBranch)
    def merge_branch(self, source: str, target: str = "main") -> MergeBranchResult:
        return self._run(MergeBranch(source, target))

    @documented(ResetConsumer)
    def reset_consumer(self, consumer: str, next_snapshot: int | None = None) -> None:
        self._run(ResetConsumer(consumer, next_snapshot))

    @documented(ClearConsumers)
    def clear_consumers(
        self, including: str | None = None, excluding: str | None = None, dry_run: bool = False
    ) -> ClearConsumersResult:
        return self._run(ClearConsumers(including, excluding, dry_run))
