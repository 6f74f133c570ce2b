"""Detects commits that a change of rows has not seen, so that no update is lost (first committer wins).

A job that deletes, updates or merges rows of a table with keys reads them at one snapshot, and writes rows with the
same keys. If another job has written such keys since, the new rows were computed from old ones, and would replace newer
ones. Then the commit is refused. Java has no such check: there the later commit wins, and the earlier update is lost.

For tables without keys the checks of ``conflicts`` suffice: a change replaces files or vectors, which must be live.
With data evolution ``column_conflicts`` checks the columns that a change writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from paimon_spark.errors import CommitConflict
from paimon_spark.format.bucket import Place
from paimon_spark.format.manifest import FileKind, ManifestEntry
from paimon_spark.format.rules.key_clustering import orders_otherwise
from paimon_spark.format.snapshot import CommitKind, Snapshot
from paimon_spark.merge.keys.key_order import SortKey, key_range_of
from paimon_spark.store.commit.attempt import TableState
from paimon_spark.store.commit.history import recent_snapshots
from paimon_spark.store.metadata.live_files import canonical_row
from paimon_spark.store.metadata.manifest_files import read_manifest_columns, read_manifest_list
from paimon_spark.store.metadata.partitions import describe_partition
from paimon_spark.store.metadata.table import Table

_ROWS_KEPT = frozenset({CommitKind.COMPACT, CommitKind.ANALYZE})
AGAIN = "Nothing was committed: run the statement again on the new state of the table"
"""How the message of a refused change of rows ends."""


@dataclass(frozen=True)
class ReadState:
    """The state that a change of rows was computed from.

    Attributes:
        snapshot_id: the snapshot that was read; 0: the table had none.
        base: the base manifest list of that snapshot, whose name is unique; None: the table had no snapshot.
    """

    snapshot_id: int
    base: str | None

    @classmethod
    def of(cls, snapshot: Snapshot | None) -> ReadState:
        """The state of a snapshot."""
        return cls(0, None) if snapshot is None else cls(snapshot.id, snapshot.base_manifest_list)


def check_keys_unchanged(state: TableState, read: ReadState, changed: Sequence[ManifestEntry]) -> None:
    """Checks that no other job has written or removed keys of this change since they were read.

    Keys are compared by the key ranges of files in each bucket, so jobs that change neighbouring keys may be refused
    although their keys differ. Compactions change no row, and are passed over.

    Args:
        state: the state that the commit builds on.
        read: the state that the rows were read in.
        changed: the files that the commit adds and deletes.

    Raises:
        CommitConflict: another job has written keys in the range, a rollback has removed the snapshot that was read, or
            snapshots that are needed for the check have expired.
        CorruptFile: a manifest is missing or damaged.
    """
    table = state.table
    later = snapshots_since(state, read)
    if not later or not changed:
        return
    key_range = key_range_of([field.type for field in table.schema.key_fields])
    own: dict[Place, list[tuple[SortKey, SortKey]]] = {}
    for entry in changed:
        if not _hides_keys(table, entry):
            own.setdefault(_place(table, entry), []).append(key_range(entry.file))
    for snapshot in later:
        for entry in changes_of(table, snapshot):
            mine = own.get(_place(table, entry), ())
            if _hides_keys(table, entry):
                meets = bool(mine)
            else:
                first, last = key_range(entry.file)
                meets = any(low <= last and first <= high for low, high in mine)
            if meets:
                verb = "written" if entry.kind == FileKind.ADD else "removed"
                raise CommitConflict(
                    f"this change of rows of {table.location} read snapshot {read.snapshot_id}, and the job of user "
                    f"{snapshot.commit_user} has since {verb} rows in the same range of keys of "
                    f"{describe_partition(table, entry.partition)}, bucket {entry.bucket} (snapshot {snapshot.id}). "
                    f"{AGAIN}"
                )


def _hides_keys(table: Table, entry: ManifestEntry) -> bool:
    """True if the metadata of a file do not tell its keys: it is sorted by other columns (`pk-clustering-override`)."""
    return entry.file.level > 0 and orders_otherwise(table.settings)


def snapshots_since(state: TableState, read: ReadState) -> list[Snapshot]:
    """The snapshots after the one that was read that may have changed rows, newest first.

    Raises:
        CommitConflict: they are not all known.
    """
    table, latest = state.table, state.snapshot
    now = 0 if latest is None else latest.id
    base = table.snapshots.find(read.snapshot_id) if read.snapshot_id else None
    if now < read.snapshot_id or (base is not None and base.base_manifest_list != read.base):
        raise CommitConflict(
            f"this change of rows of {table.location} read snapshot {read.snapshot_id}, which a rollback has taken "
            f"away since. {AGAIN}"
        )
    found = [s for s in recent_snapshots(table.snapshots, latest, read.snapshot_id) if s.id > read.snapshot_id]
    if len(found) < now - read.snapshot_id:
        raise CommitConflict(
            f"this change of rows of {table.location} read snapshot {read.snapshot_id}, and some of the snapshots up "
            f"to {now} have expired since, so that it cannot be checked whether they changed the same keys. {AGAIN}, "
            "and keep snapshots longer than a statement runs (snapshot.num-retained.min)"
        )
    return [snapshot for snapshot in found if snapshot.commit_kind not in _ROWS_KEPT]


def changes_of(table: Table, snapshot: Snapshot) -> Iterator[ManifestEntry]:
    """The files in buckets that the commit of a snapshot added and deleted."""
    name, size = snapshot.delta_manifest_list, snapshot.delta_manifest_list_size
    manifests = read_manifest_list(table.file_io, table.location, name, size)
    columns = read_manifest_columns(table.file_io, table.location, manifests)
    yield from columns.entries(np.flatnonzero(columns.bucket >= 0).tolist())


def _place(table: Table, entry: ManifestEntry) -> Place:
    return canonical_row(entry.partition, table.schema.partition_types), entry.bucket
