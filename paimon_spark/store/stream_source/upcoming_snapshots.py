"""Finds the snapshots that a stream reads next, and notices that they are gone or are others than they were.

Java: NextSnapshotFetcher. There a stream that has fallen behind begins again without a word in Spark; here that is an
error that names the ways to go on.
"""

from __future__ import annotations

from paimon_spark.errors import StreamPositionLost
from paimon_spark.format.options.engines import ChangelogProducer
from paimon_spark.format.options.read_settings import StreamReadSettings
from paimon_spark.format.options.upkeep_settings import RetentionSettings
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.holds.expired import expired_error
from paimon_spark.store.holds.retention import retention_rules
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.stream_source.position import Position, identity
from paimon_spark.store.stream_source.settings import ON_EXPIRED


class PositionExpired(StreamPositionLost):
    """The snapshots at a position have expired: a stream may begin again."""


class UpcomingSnapshots:
    """The snapshots of a table as a stream meets them. Nothing is cached."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.store: SnapshotStore = table.snapshots
        self._has_changelog = table.settings.changelog_producer != ChangelogProducer.NONE
        self.is_decoupled: bool = retention_rules(table.settings).is_decoupled

    def earliest_id(self) -> int | None:
        """The oldest snapshot whose changes can be read; None for a table without snapshots."""
        oldest = self.store.earliest_id()
        if oldest is None or not self.is_decoupled:
            return oldest
        return self.store.earliest_change_id()

    def find(self, position: Position) -> Snapshot | None:
        """The snapshot at a position, or None if there is none: not yet, or no more; ``check_missing`` tells which."""
        if position.full:
            return self.store.find_kept(position.snapshot)
        return self.find_change(position.snapshot)

    def find_change(self, snapshot_id: int) -> Snapshot | None:
        """The snapshot, or its long-lived changelog in a table whose changelogs outlive their snapshots."""
        if not self.is_decoupled:
            return self.store.find(snapshot_id)
        return self.store.find_change(snapshot_id) if self._has_changelog else self.store.find_delta(snapshot_id)

    def is_still_before(self, position: Position) -> bool:
        """True if the snapshot before a position is there and is the one that the stream has read; one request."""
        before = self.store.find(position.snapshot - 1)
        return before is not None and identity(before) == position.after

    def check_before(self, position: Position) -> None:
        """Checks that the snapshot before a position is the one that the stream has read.

        One that has expired since then is not checked.

        Raises:
            StreamPositionLost: it is another one.
        """
        if position.after is None:
            return
        before = self.store.find(position.snapshot - 1)
        if before is not None and identity(before) != position.after:
            raise self._moved(position, f"snapshot {before.id} is another one than the stream has read")

    def check_after(self, reached: Position, planned: Position) -> None:
        """Checks that a batch ends behind the snapshot that it was planned to end behind.

        Raises:
            StreamPositionLost: the last snapshot of the batch is another one.
        """
        if None not in (reached.after, planned.after) and reached.after != planned.after:
            raise self._moved(
                planned, f"snapshot {planned.snapshot - 1} is another one than the batch was planned with"
            )

    def check_missing(self, position: Position) -> None:
        """Checks that a snapshot that was not found is one that is yet to come.

        Raises:
            PositionExpired: it has expired.
            StreamPositionLost: the table was rolled back, or made anew.
        """
        latest, wanted = self.store.latest_id(), position.snapshot
        if latest is None and wanted == 1:
            return
        if latest is None or latest < wanted - 1:
            found = "it has no snapshot now" if latest is None else f"its latest snapshot is {latest} now"
            raise self._moved(position, found)
        if latest >= wanted and self.find(position) is None:  # else it has come since it was looked for
            raise self._expired(position)

    def _moved(self, position: Position, found: str) -> StreamPositionLost:
        return StreamPositionLost(
            f"the stream reads snapshot {position.snapshot} of {self._table.location} next, and the table was rolled "
            f"back, made anew or replaced by a branch: {found}. What the stream has passed on cannot be taken back: "
            "start it with a new checkpoint, 'scan.mode' = 'latest-full' begins with the state of now"
        )

    def _expired(self, position: Position) -> PositionExpired:
        error = expired_error(
            self.store,
            self._table.settings,
            f"the stream reads snapshot {position.snapshot} of {self._table.location} next, which has expired",
        )
        return PositionExpired(
            f"{error}. A stream goes on in one of three ways: with a new checkpoint, whose 'scan.mode' says where it "
            f"begins; with '{ON_EXPIRED.key}' = 'restart', which begins there without one and may repeat or lack rows; "
            f"and so that it does not happen again, with '{StreamReadSettings.consumer_id.key}', for which snapshots "
            f"wait, or with a longer '{RetentionSettings.snapshot_time_retained.key}' or "
            f"'{RetentionSettings.changelog_time_retained.key}'"
        )
