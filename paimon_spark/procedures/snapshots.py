"""How long snapshots and changelogs stay, the consumers that keep them, and a history with holes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from paimon_spark.errors import OptionError
from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.procedure import TABLE, Argument, DryRun, Procedure
from paimon_spark.store.clean.lost_files import RepairEarliestSnapshotResult, repair_earliest_snapshot
from paimon_spark.store.expire.changelogs import expire_changelogs
from paimon_spark.store.expire.snapshots import ExpireSnapshotsResult, expire_snapshots
from paimon_spark.store.history.consumers import ClearConsumersResult, clear_consumers, reset_consumer
from paimon_spark.store.holds.consumer_files import consumer_files
from paimon_spark.store.holds.retention import Limits, Moment
from paimon_spark.store.metadata.table import Table


@dataclass(frozen=True)
class _Expiry:
    """The arguments of an expiry."""

    retain_max: Annotated[int | None, Argument("at most so many stay.", at_least=1)] = None
    retain_min: Annotated[int | None, Argument("at least so many stay.", at_least=1)] = None
    older_than: Annotated[
        Moment | None, Argument("what was the state of the table at this time or later stays, but for retain_max.")
    ] = None
    max_deletes: Annotated[int | None, Argument("at most so many expire; with 0 none does.", at_least=0)] = None
    dry_run: DryRun = False

    @property
    def limits(self) -> Limits:
        return Limits(self.retain_max, self.retain_min, self.older_than, self.max_deletes)


@dataclass(frozen=True)
class ExpireSnapshots(_Expiry, Procedure[ExpireSnapshotsResult]):
    """Expires old snapshots now, and deletes the files that only they need.

    What is not given is as the options `snapshot.*` of the table say. Tags, branches and consumers keep what they need.

    Raises:
        OptionError: the arguments contradict each other or the options.
        CorruptFile: metadata of the table are damaged; nothing was deleted.
        StorageError: the storage failed; the next expiry goes on where this one stopped.
    """

    official = (TABLE, "retain_max", "retain_min", "older_than", "max_deletes", "options")

    def perform(self, table: Table, engine: Engine) -> ExpireSnapshotsResult:
        return expire_snapshots(table, **vars(self))


@dataclass(frozen=True)
class ExpireChangelogs(_Expiry, Procedure[ExpireSnapshotsResult]):
    """Expires old changelogs that have outlived their snapshots. The newest of them always stays.

    What is not given is as the options `changelog.*` of the table say, and where these are not set, `snapshot.*`.
    Snapshots count: a changelog is one of the newest N when its id is.

    Raises:
        OptionError: the arguments contradict each other or the options.
        CorruptFile: metadata of the table are damaged; nothing was deleted.
        StorageError: the storage failed; the next expiry goes on where this one stopped.
    """

    def perform(self, table: Table, engine: Engine) -> ExpireSnapshotsResult:
        return expire_changelogs(table, **vars(self))


@dataclass(frozen=True)
class RepairEarliestSnapshot(Procedure[RepairEarliestSnapshotResult]):
    """Lets the table begin with a snapshot after which none is missing.

    Expiry and searches by time walk from the earliest snapshot to the latest; one that is missing between them stops or
    misleads them. Snapshots before it stay on storage and can be read by their ids, until an expiry takes files that
    they need.

    Raises:
        SnapshotNotFound: the table has no snapshot, there is no such one, or one after it is missing.
        OptionError: the snapshot before it is there: nothing is missing that it could follow.
    """

    official = (TABLE, "snapshot_id")

    snapshot: Annotated[
        int | None,
        Argument(
            "the id of the snapshot, which follows a missing one; else the first after the last that is missing.",
            sql="snapshot_id",
        ),
    ] = None
    delete_older: Annotated[bool, Argument("whether the snapshots before it are deleted.")] = False

    def perform(self, table: Table, engine: Engine) -> RepairEarliestSnapshotResult:
        return repair_earliest_snapshot(table, self.snapshot, self.delete_older)


@dataclass(frozen=True)
class ResetConsumer(Procedure[None]):
    """Lets a consumer go on with another snapshot, or forgets it.

    Raises:
        OptionError: the id is none, or there is no such consumer to forget.
        SnapshotNotFound: there is no such snapshot, or it is expiring just now; the consumer is where it was.
    """

    official = (TABLE, "consumerId", "nextSnapshotId")

    consumer: Annotated[str, Argument("the id of the consumer; it may be a new one.", sql="consumerId")]
    next_snapshot: Annotated[
        int | None,
        Argument("the id of the snapshot that it reads next; else the consumer is deleted.", sql="nextSnapshotId"),
    ] = None

    def perform(self, table: Table, engine: Engine) -> None:
        if not reset_consumer(table, self.consumer, self.next_snapshot):
            names = ", ".join(sorted(consumer_files(table.file_io, table.location, table.branch)))
            raise OptionError(
                f"deleting the consumer '{self.consumer}' of {table.location}: there is no such consumer; there "
                f"{'are ' + names if names else 'is none'}",
                arguments=("consumer",),
            )


@dataclass(frozen=True)
class ClearConsumers(Procedure[ClearConsumersResult]):
    """Deletes the consumers whose whole id matches a pattern. In SQL the result is false if none does.

    Raises:
        OptionError: a pattern is none.
    """

    official = (TABLE, "includingConsumers", "excludingConsumers")

    including: Annotated[
        str | None, Argument("a regular expression; without it all are meant.", sql="includingConsumers")
    ] = None
    excluding: Annotated[
        str | None, Argument("a regular expression; the consumers that it matches stay.", sql="excludingConsumers")
    ] = None
    dry_run: DryRun = False

    def perform(self, table: Table, engine: Engine) -> ClearConsumersResult:
        return clear_consumers(table, self.including, self.excluding, self.dry_run)
