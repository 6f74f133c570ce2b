"""What PaimonTable can do with tags, branches and consumers, and going back: all of it in this process, without Spark.

Each method is a function of the store on the table as it is now; arguments and errors are told there. Times as text are
read in the local zone of this process, as the official system does, whatever the zone of the session.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from paimon_spark.store.history.auto_tags import AutomaticTags, trigger_tag_automatic_creation
from paimon_spark.store.history.branch_merge import BranchMerged, merge_branch
from paimon_spark.store.history.branches import (
    BranchCreated,
    BranchesDeleted,
    create_branch,
    delete_branch,
    rename_branch,
)
from paimon_spark.store.history.consumers import ConsumersDeleted, clear_consumers, reset_consumer
from paimon_spark.store.history.fast_forward import FastForwarded, fast_forward
from paimon_spark.store.history.rollback import RollbackResult, rollback, rollback_to_timestamp, rollback_to_watermark
from paimon_spark.store.history.rollback_as_latest import RolledBackAsLatest, rollback_to_as_latest
from paimon_spark.store.history.tag_deletion import TagsDeleted, delete_tags, expire_tags
from paimon_spark.store.history.tags import Duration, TagCreated, create_tag, rename_tag, replace_tag
from paimon_spark.store.holds.retention import Moment
from paimon_spark.store.metadata.table import Table


class HistoryMethods(ABC):
    """The states of a table that have names, and the way back to them."""

    @abstractmethod
    def _open(self) -> Table: ...

    def create_tag(
        self,
        name: str,
        snapshot: int | None = None,
        timestamp: Moment | None = None,
        time_retained: Duration | None = None,
    ) -> TagCreated:
        """Keeps the latest snapshot under a name, or that of an id, or the first since a time; "7 d" long."""
        return create_tag(self._open(), name, snapshot, timestamp, time_retained)

    def replace_tag(self, name: str, snapshot: int | None = None, time_retained: Duration | None = None) -> TagCreated:
        """Lets a tag keep another snapshot."""
        return replace_tag(self._open(), name, snapshot, time_retained)

    def rename_tag(self, name: str, new_name: str) -> None:
        """Gives a tag another name."""
        rename_tag(self._open(), name, new_name)

    def delete_tag(self, names: str | Iterable[str], dry_run: bool = False) -> TagsDeleted:
        """Deletes tags (several with commas between), and the files that nothing but they need."""
        return delete_tags(self._open(), names, dry_run)

    def expire_tags(self, older_than: Moment | None = None, dry_run: bool = False) -> TagsDeleted:
        """Deletes the tags that have lived as long as they were given, or were made before a time."""
        return expire_tags(self._open(), older_than, dry_run)

    def trigger_tag_automatic_creation(self) -> AutomaticTags:
        """Makes now the tags that are due by the options `tag.*`."""
        return trigger_tag_automatic_creation(self._open())

    def rollback(
        self,
        version: int | str | None = None,
        snapshot: int | None = None,
        tag: str | None = None,
        dry_run: bool = False,
    ) -> RollbackResult:
        """Takes the table back to a snapshot or tag: newer snapshots, tags and changelogs go."""
        return rollback(self._open(), version, snapshot, tag, dry_run)

    def rollback_to_timestamp(self, timestamp: Moment, dry_run: bool = False) -> RollbackResult:
        """Takes the table back to what it was at a time."""
        return rollback_to_timestamp(self._open(), timestamp, dry_run)

    def rollback_to_watermark(self, watermark: int, dry_run: bool = False) -> RollbackResult:
        """Takes the table back to the newest snapshot whose watermark is not above this."""
        return rollback_to_watermark(self._open(), watermark, dry_run)

    def rollback_to_as_latest(
        self, version: int | str | None = None, snapshot: int | None = None, tag: str | None = None
    ) -> RolledBackAsLatest:
        """Makes an older state the latest snapshot again; nothing goes, and every writer notices."""
        return rollback_to_as_latest(self._open(), version, snapshot, tag)

    def create_branch(
        self, name: str, tag: str | None = None, snapshot: int | None = None, ignore_if_exists: bool = False
    ) -> BranchCreated:
        """Makes a branch, empty or from a tag or snapshot; read and write it with the option `branch`."""
        return create_branch(self._open(), name, tag, snapshot, ignore_if_exists)

    def rename_branch(self, name: str, new_name: str) -> None:
        """Gives a branch another name."""
        rename_branch(self._open(), name, new_name)

    def delete_branch(self, names: str | Iterable[str], dry_run: bool = False) -> BranchesDeleted:
        """Deletes branches (several with commas between); their data files go with the orphan files."""
        return delete_branch(self._open(), names, dry_run)

    def fast_forward(self, branch: str, dry_run: bool = False) -> FastForwarded:
        """Gives this table the snapshots of a branch in place of its own since the branch began."""
        return fast_forward(self._open(), branch, dry_run)

    def merge_branch(self, source: str, target: str = "main") -> BranchMerged:
        """Adds the files of a branch that another one does not have: of tables without primary key."""
        return merge_branch(self._open(), source, target)

    def reset_consumer(self, consumer: str, next_snapshot: int | None = None) -> None:
        """Lets a consumer go on with another snapshot; None forgets it."""
        reset_consumer(self._open(), consumer, next_snapshot)

    def clear_consumers(
        self, including: str | None = None, excluding: str | None = None, dry_run: bool = False
    ) -> ConsumersDeleted:
        """Deletes the consumers that a regular expression matches and another does not."""
        return clear_consumers(self._open(), including, excluding, dry_run)
