"""Old snapshots and changelogs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.procedure import TABLE, Argument, DryRun, Procedure
from paimon_spark.store.expire.changelogs import expire_changelogs
from paimon_spark.store.expire.snapshots import ExpireSnapshotsResult, expire_snapshots
from paimon_spark.store.holds.retention import Moment
from paimon_spark.store.metadata.table import Table

_RetainMax: TypeAlias = Annotated[int | None, Argument("at most so many stay.", at_least=1)]
_RetainMin: TypeAlias = Annotated[int | None, Argument("at least so many stay.", at_least=1)]
_OlderThan: TypeAlias = Annotated[
    Moment | None, Argument("what was the state of the table at this time or later stays, but for retain_max.")
]
_MaxDeletes: TypeAlias = Annotated[int | None, Argument("at most so many expire.", at_least=0)]


@dataclass(frozen=True)
class ExpireSnapshots(Procedure[ExpireSnapshotsResult]):
    """Expires old snapshots now, and deletes the files that only they need.

    What is not given is as the options `snapshot.*` of the table say. Tags, branches and consumers keep what they need.

    Raises:
        OptionError: the arguments contradict each other or the options.
        CorruptFile: metadata of the table are damaged; nothing was deleted.
        StorageError: the storage failed; the next expiry goes on where this one stopped.
    """

    official = (TABLE, "retain_max", "retain_min", "older_than", "max_deletes", "options")

    retain_max: _RetainMax = None
    retain_min: _RetainMin = None
    older_than: _OlderThan = None
    max_deletes: _MaxDeletes = None
    dry_run: DryRun = False

    def perform(self, table: Table, engine: Engine) -> ExpireSnapshotsResult:
        rules = (self.retain_max, self.retain_min, self.older_than, self.max_deletes)
        return expire_snapshots(table, *rules, dry_run=self.dry_run)


@dataclass(frozen=True)
class ExpireChangelogs(Procedure[ExpireSnapshotsResult]):
    """Expires old changelogs that have outlived their snapshots. The newest of them always stays.

    What is not given is as the options `changelog.*` of the table say, and where these are not set, `snapshot.*`.
    Snapshots count: a changelog is one of the newest N when its id is.

    Raises:
        OptionError: the arguments contradict each other or the options.
        CorruptFile: metadata of the table are damaged; nothing was deleted.
        StorageError: the storage failed; the next expiry goes on where this one stopped.
    """

    retain_max: _RetainMax = None
    retain_min: _RetainMin = None
    older_than: _OlderThan = None
    max_deletes: _MaxDeletes = None
    dry_run: DryRun = False

    def perform(self, table: Table, engine: Engine) -> ExpireSnapshotsResult:
        rules = (self.retain_max, self.retain_min, self.older_than, self.max_deletes)
        return expire_changelogs(table, *rules, dry_run=self.dry_run)
