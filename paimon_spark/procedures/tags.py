"""Tags: made, changed, deleted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.procedure import TABLE, Argument, DryRun, Procedure
from paimon_spark.store.history.auto_tags import TriggerTagAutomaticCreationResult, trigger_tag_automatic_creation
from paimon_spark.store.history.tag_deletion import DeleteTagResult, delete_tags, expire_tags
from paimon_spark.store.history.tags import CreateTagResult, Duration, create_tag, rename_tag, replace_tag
from paimon_spark.store.holds.retention import Moment
from paimon_spark.store.metadata.table import Table

TagName: TypeAlias = Annotated[str, Argument("the name of the tag.", sql="tag")]
TimeRetained: TypeAlias = Annotated[
    Duration | None,
    Argument("how long the tag lives, such as '30 d'; else as the option `tag.default-time-retained` says."),
]


@dataclass(frozen=True)
class CreateTag(Procedure[CreateTagResult]):
    """Keeps a snapshot under a name: the latest one, unless another one is named.

    Raises:
        NameTaken: there is such a tag.
        SnapshotNotFound: there is no such snapshot, or it is expiring just now.
        OptionError: the arguments are no name, no time, or contradict each other.
        UnsupportedFeature: the table has `tag.callbacks`.
    """

    official = (TABLE, "tag", "snapshot", "time_retained")

    name: TagName
    snapshot: Annotated[
        int | None, Argument("the id of the snapshot, which may have expired if another tag keeps it; else the latest.")
    ] = None
    timestamp: Annotated[
        Moment | None,
        Argument("instead of an id: the first snapshot, or tag, that was committed at this time or later."),
    ] = None
    time_retained: TimeRetained = None

    def perform(self, table: Table, engine: Engine) -> CreateTagResult:
        return create_tag(table, self.name, self.snapshot, self.timestamp, self.time_retained)


@dataclass(frozen=True)
class CreateTagFromTimestamp(Procedure[CreateTagResult]):
    """Keeps, under a name, the first snapshot, or tag, that was committed at a time or later.

    Raises:
        NameTaken: there is such a tag.
        SnapshotNotFound: nothing was committed at that time or later, or the snapshot is expiring just now.
        OptionError: the arguments are no name or no time.
        UnsupportedFeature: the table has `tag.callbacks`.
    """

    official = (TABLE, "tag", "timestamp", "time_retained")

    name: TagName
    timestamp: Annotated[Moment, Argument("the earliest commit time of the snapshot.")]
    time_retained: TimeRetained = None

    def perform(self, table: Table, engine: Engine) -> CreateTagResult:
        return create_tag(table, self.name, None, self.timestamp, self.time_retained)


@dataclass(frozen=True)
class ReplaceTag(Procedure[CreateTagResult]):
    """Lets a tag keep another snapshot. The files of the old one stay until orphan files are removed.

    Raises:
        SnapshotNotFound: there is no such tag or snapshot.
        OptionError: an argument is no name, or no length of time.
        UnsupportedFeature: the table has `tag.callbacks`.
    """

    official = (TABLE, "tag", "snapshot", "time_retained")

    name: TagName
    snapshot: Annotated[int | None, Argument("the id of the snapshot; else the latest.")] = None
    time_retained: Annotated[
        Duration | None, Argument("how long the tag lives from now on, such as '30 d'; else until it is deleted.")
    ] = None

    def perform(self, table: Table, engine: Engine) -> CreateTagResult:
        return replace_tag(table, self.name, self.snapshot, self.time_retained)


@dataclass(frozen=True)
class RenameTag(Procedure[None]):
    """Gives a tag another name. A crash may leave it both names; a second call finishes the work.

    Raises:
        SnapshotNotFound: there is no such tag.
        NameTaken: the new name is taken.
        OptionError: the new name is none.
    """

    official = (TABLE, "tag", "target_tag")

    name: TagName
    new_name: Annotated[str, Argument("its name from now on.", sql="target_tag")]

    def perform(self, table: Table, engine: Engine) -> None:
        rename_tag(table, self.name, self.new_name)


@dataclass(frozen=True)
class DeleteTag(Procedure[DeleteTagResult]):
    """Deletes tags, and the files that nothing but they need; those also of tags whose deletion broke off.

    A tag that is not there is passed over; in SQL the result is false if there is none of them.

    Raises:
        CorruptFile: metadata are damaged; nothing was deleted.
        StorageError: the storage failed; the next deletion of a tag finishes the work.
        UnsupportedFeature: the table has `tag.callbacks`.
    """

    official = (TABLE, "tag")

    names: Annotated[str | Iterable[str], Argument("the names of the tags.", sql="tag")]
    dry_run: DryRun = False

    def perform(self, table: Table, engine: Engine) -> DeleteTagResult:
        return delete_tags(table, self.names, self.dry_run)


@dataclass(frozen=True)
class ExpireTags(Procedure[DeleteTagResult]):
    """Deletes the tags that have lived as long as they were given, and the files that nothing but they need.

    Raises:
        OptionError: the time is none.
        CorruptFile: metadata are damaged; nothing was deleted.
        StorageError: the storage failed; the next deletion of a tag finishes the work.
        UnsupportedFeature: the table has `tag.callbacks`.
    """

    official = (TABLE, "older_than")

    older_than: Annotated[
        Moment | None, Argument("tags that were made before this time go too, also those that were to live for ever.")
    ] = None
    dry_run: DryRun = False

    def perform(self, table: Table, engine: Engine) -> DeleteTagResult:
        return expire_tags(table, self.older_than, self.dry_run)


@dataclass(frozen=True)
class TriggerTagAutomaticCreation(Procedure[TriggerTagAutomaticCreationResult]):
    """Makes now the tags that are due by the options `tag.*`, and deletes those that are too many or too old.

    Raises:
        OptionError: the options contradict each other.
        PaimonError: as of create_tag and delete_tag; what was done is done.
    """

    official = (TABLE,)

    def perform(self, table: Table, engine: Engine) -> TriggerTagAutomaticCreationResult:
        return trigger_tag_automatic_creation(table)
