"""Taking a table back to an older state (features 7; Java: RollbackHelper, the procedures rollback*).

Newer tags go, snapshots, newest first, and long-lived changelogs; their data files stay for the removal of orphan
files. A state that only a tag keeps becomes a snapshot again before anything goes. So at any point the table reads, as
before or as after, or as one of the states between; a second call finishes the work. A writer of ours that has prepared
a commit on a state that goes notices (``commit.base``); one of the official system does not (``rollback_as_latest``).

Invariants: protocol R1 to R4.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from paimon_spark.errors import OptionError, SnapshotNotFound
from paimon_spark.format.paths import LATEST, changelog_directory, changelog_path, snapshot_path, tag_path
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.snapshot_json import Tag, encode_snapshot
from paimon_spark.store.history.tags import tagged_snapshot
from paimon_spark.store.holds.hold_marks import hold
from paimon_spark.store.holds.lineage import delete_unrelated_after
from paimon_spark.store.holds.retention import Moment, epoch_millis
from paimon_spark.store.holds.tag_holds import hold_tagged
from paimon_spark.store.metadata.publish import publish_file
from paimon_spark.store.metadata.snapshots import has_watermark
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result

_log = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class RollbackResult(Result):
    """What went, or would go if it was a dry run.

    Attributes:
        previous_snapshot_id: the latest before.
        current_snapshot_id: the latest now, unless somebody wrote meanwhile.
        snapshots, changelogs: ids of those that went, newest first.
        tags: names of those that went.
        paths: of all files that went, in order.
        dry_run: whether nothing was deleted.
        millis: wall time.
    """

    previous_snapshot_id: int
    current_snapshot_id: int
    snapshots: tuple[int, ...] = ()
    changelogs: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    dry_run: bool = False
    millis: int = 0


def rollback(
    table: Table,
    version: int | str | None = None,
    snapshot: int | None = None,
    tag: str | None = None,
    dry_run: bool = False,
) -> RollbackResult:
    """Takes a table back; give one of the three targets.

    Args:
        table: the branch that goes back.
        version: a snapshot id, also as digits, else the name of a tag.
        snapshot: the id of a snapshot that is there, or that a tag keeps.
        tag: the name of a tag.
        dry_run: whether only to tell what would go.

    Raises:
        OptionError: not just one target is given.
        SnapshotNotFound: there is no such target, it is expiring just now, or another snapshot has its id since;
            nothing was changed.
        CommitConflict: other jobs go on committing to what is taken away. Call it again.
        StorageError: the storage failed. Call it again.
    """
    return _roll_back(table, rollback_target(table, version, snapshot, tag)[0], dry_run)


def rollback_target(
    table: Table, version: int | str | None, snapshot: int | None, tag: str | None
) -> tuple[Snapshot, str | None]:
    """The state to go back to, and the name of the tag if one was asked for. Arguments and errors as in rollback."""
    given = [target for target in (version, snapshot, tag) if target is not None]
    if len(given) != 1:
        raise OptionError(f"rolling back {table.location}: give just one of version, snapshot and tag")
    if isinstance(version, str) and not (version.isascii() and version.isdigit()):
        tag = version
    elif version is not None:
        snapshot = int(version)
    store = table.snapshots
    if snapshot is not None:
        return tagged_snapshot(store, snapshot), None
    found = None if tag is None else store.find_tag(tag)
    if found is None:
        raise SnapshotNotFound(
            f"rolling back {table.location} to the tag '{tag}': there is no such tag; {store.available()}"
        )
    return found.snapshot, tag


def rollback_to_timestamp(table: Table, timestamp: Moment, dry_run: bool = False) -> RollbackResult:
    """Takes a table back to the newest snapshot that was committed at a time or before. Errors as in rollback."""
    millis = epoch_millis(timestamp, "timestamp")
    found = table.snapshots.find_at_time(millis)
    if found is None:
        raise SnapshotNotFound(
            f"rolling back {table.location}: no snapshot was committed at {timestamp} or before; "
            f"{table.snapshots.available()}"
        )
    return _roll_back(table, found, dry_run)


def rollback_to_watermark(table: Table, watermark: int, dry_run: bool = False) -> RollbackResult:
    """Takes a table back to the newest snapshot whose watermark is not above the given one (epoch millis).

    Java takes the oldest snapshot with a watermark when all are above; here that is an error. Errors as in rollback.
    """
    store = table.snapshots
    newest_first = (snapshot for snapshot in store.walk(store.ids()[::-1]) if has_watermark(snapshot))
    found = next((snapshot for snapshot in newest_first if (snapshot.watermark or 0) <= watermark), None)
    if found is None:
        raise SnapshotNotFound(
            f"rolling back {table.location}: no snapshot has a watermark of {watermark} or less; {store.available()}"
        )
    return _roll_back(table, found, dry_run)


def _roll_back(table: Table, target: Snapshot, dry_run: bool) -> RollbackResult:
    began = time.monotonic()
    store = table.snapshots
    latest = store.latest_id()
    if latest is None:
        raise SnapshotNotFound(f"rolling back {table.location}: the table has no snapshot")
    _check_id(table, target)
    snapshots = _later(store.ids(), target.id)
    changelogs = _later(store.changelog_ids(), target.id)
    tags = _later_tags(table, target)
    paths = [
        *(tag_path(table.location, name, table.branch) for name in tags),
        *(snapshot_path(table.location, number, table.branch) for number in snapshots),
        *(changelog_path(table.location, number, table.branch) for number in changelogs),
    ]
    if not dry_run:
        with hold(store, target.id):
            _make_snapshot(table, target)
            delete_tag_files(table, tags)  # first: none may be left of a snapshot whose id a later commit gets
            store.write_latest_hint(target.id)
            for number in snapshots:  # one after the other: whoever finds one finds all before it
                table.file_io.delete(snapshot_path(table.location, number, table.branch))
            delete_unrelated_after(table, target)
            delete_changelogs(table, changelogs, target.id)
            late = {name: tag for name, tag in _later_tags(table, target).items() if not _is_there(table, tag.snapshot)}
            delete_tag_files(table, late)  # they were made of a snapshot before it went
        _log.info("rolled %s back from snapshot %d to %d", table.location, latest, target.id)
    millis = round((time.monotonic() - began) * 1000)
    return RollbackResult(
        latest, target.id, tuple(snapshots), tuple(changelogs), tuple(tags), tuple(paths), dry_run, millis
    )


def _check_id(table: Table, target: Snapshot) -> None:
    """A rollback that broke off may leave a tag of a snapshot it took away, whose id a later commit gets."""
    found = table.snapshots.find(target.id)
    if found is not None and found != target:
        raise SnapshotNotFound(
            f"rolling back {table.location} to what a tag keeps: that snapshot {target.id} was taken back, and another "
            "one has its id since; PaimonTable.rollback_to_as_latest makes its state the latest snapshot"
        )


def _later(ids: Sequence[int], target: int) -> list[int]:
    return [number for number in reversed(ids) if number > target]


def _later_tags(table: Table, target: Snapshot) -> dict[str, Tag]:
    return {name: tag for name, tag in table.snapshots.tags().items() if tag.snapshot.id > target.id}


def _is_there(table: Table, snapshot: Snapshot) -> bool:
    return table.snapshots.find(snapshot.id) == snapshot


def _make_snapshot(table: Table, target: Snapshot) -> None:
    """The target is a snapshot from now on, be it that only a tag kept it."""
    store = table.snapshots
    if store.exists(target.id):
        return
    with hold_tagged(store, target):
        store.write_earliest_hint(target.id)  # before, for a crash: what is below the hint is never expired
        publish_file(table.file_io, snapshot_path(table.location, target.id, table.branch), encode_snapshot(target))
        store.write_earliest_hint(target.id)  # again, for the end of an expiry may have moved it


def delete_changelogs(table: Table, changelogs: Sequence[int], target: int) -> None:
    """Deletes long-lived changelogs, newest first; target: the last id that stays."""
    if not changelogs:
        return
    left = (number for number in table.snapshots.changelog_ids() if number <= target)
    hint = f"{changelog_directory(table.location, table.branch)}/{LATEST}"
    table.file_io.overwrite(hint, str(max(left, default=-1)).encode())  # -1: it tells nothing
    for number in changelogs:
        table.file_io.delete(changelog_path(table.location, number, table.branch))


def delete_tag_files(table: Table, names: Iterable[str]) -> None:
    """Deletes tags, but not the files that only they need: those stay for the removal of orphan files."""
    for name in names:
        table.file_io.delete(tag_path(table.location, name, table.branch))
