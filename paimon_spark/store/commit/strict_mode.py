"""Refuses a commit beside changes of other users that nobody has looked at (`commit.strict-mode.last-safe-snapshot`).

Java: StrictModeChecker.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from paimon_spark.errors import StrictModeConflict
from paimon_spark.format.manifest import ManifestEntry
from paimon_spark.format.options.write_settings import CommitSettings
from paimon_spark.format.snapshot import CommitKind, Snapshot
from paimon_spark.store.metadata.manifest_files import read_index_manifest, read_manifest_list, read_manifests
from paimon_spark.store.metadata.table import Table

UNKNOWN = -1
_REWRITES = frozenset({CommitKind.COMPACT, CommitKind.OVERWRITE})


def check_strict_mode(
    table: Table,
    latest: Snapshot | None,
    user: str,
    kind: CommitKind,
    partitions: Collection[bytes],
    canonical: Callable[[bytes], bytes],
) -> None:
    """Checks the snapshots after the one that is known to be safe; does nothing if the option is not set.

    A snapshot of the same user was checked itself, so that what is before it is safe. With -1 a user's first commit is
    not checked.

    Args:
        table: with the options of the write.
        latest: the snapshot that the commit builds on.
        user, kind: of the commit.
        partitions: those that the commit changes.
        canonical: gives all rows of one partition the same bytes.

    Raises:
        StrictModeConflict: another user has compacted or overwritten one of the partitions, or this commit overwrites
            one that another user has added rows to, or a snapshot to look at has expired.
    """
    safe = table.settings.commits.strict_since
    if safe is None or latest is None:
        return
    unseen: list[Snapshot] = []
    for number in range(latest.id, max(safe, 0), -1):
        snapshot = latest if number == latest.id else table.snapshots.find(number)
        if snapshot is not None and snapshot.commit_user == user:
            break
        if safe == UNKNOWN and snapshot is None:
            return
        if snapshot is None:
            raise _refused(table, f"snapshot {number}, which was to be looked at, has expired", latest)
        unseen.append(snapshot)
    else:
        if safe == UNKNOWN:
            return
    changed = {canonical(row) for row in partitions}
    for snapshot in unseen:
        if snapshot.commit_kind in _REWRITES:
            touched = any(canonical(row) in changed for row in _partitions(table, snapshot))
        else:
            is_replaced = snapshot.commit_kind == CommitKind.APPEND and kind == CommitKind.OVERWRITE
            touched = is_replaced and any(
                entry.bucket >= 0 and canonical(entry.partition) in changed for entry in _delta(table, snapshot)
            )
        if touched:
            what = f"user {snapshot.commit_user} has made snapshot {snapshot.id} ({snapshot.commit_kind}) of the same "
            raise _refused(table, f"{what}partition", latest)


def _delta(table: Table, snapshot: Snapshot) -> list[ManifestEntry]:
    name, size = snapshot.delta_manifest_list, snapshot.delta_manifest_list_size
    return read_manifests(table.file_io, table.location, read_manifest_list(table.file_io, table.location, name, size))


def _partitions(table: Table, snapshot: Snapshot) -> list[bytes]:
    """The partitions that a snapshot changed; if it changed index files, all that have any."""
    rows = [entry.partition for entry in _delta(table, snapshot)]
    previous = table.snapshots.find(snapshot.id - 1)
    if previous is None or previous.index_manifest != snapshot.index_manifest:
        entries = read_index_manifest(table.file_io, table.location, snapshot.index_manifest)
        rows += [entry.partition for entry in entries]
    return rows


def _refused(table: Table, what: str, latest: Snapshot) -> StrictModeConflict:
    key = CommitSettings.strict_since.key
    return StrictModeConflict(
        f"the commit to {table.location} with '{key}' = '{table.settings.commits.strict_since}': {what}; nothing was "
        f"committed. Look at the changes since then, and run the job again with '{key}' = '{latest.id}' if they are "
        "meant"
    )
