"""Rolls a table back to an older state (features 7; Java: RollbackHelper, the procedures rollback*).

A rollback deletes newer tags, snapshots (newest first) and long-lived changelogs; their data files are left to the
removal of orphan files. If only a tag keeps the target, it becomes a snapshot again before anything is deleted. So the
table is readable at any time, in its old state, its new state or one between; after a crash a second call finishes the
work. Our writers detect that the state they prepared a commit on was deleted (``commit.base``); those of the official
system do not (``rollback_as_latest``).

Invariants: protocol R1 to R4.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from paimon_spark.errors import OptionError, SnapshotNotFound, UnsupportedFeature
from paimon_spark.format.options.index_settings import GlobalIndexSettings
from paimon_spark.format.paths import LATEST, changelog_directory, changelog_path, snapshot_path, tag_path
from paimon_spark.format.snapshot import Snapshot, Tag, encode_snapshot
from paimon_spark.store.history.tags import tagged_snapshot
from paimon_spark.store.holds.lineage import delete_unrelated_after
from paimon_spark.store.holds.marks import hold
from paimon_spark.store.holds.retention import Moment, epoch_millis
from paimon_spark.store.holds.tag_holds import hold_tagged
from paimon_spark.store.iceberg.after import after_rollback
from paimon_spark.store.metadata.global_indexes import may_have_old_values
from paimon_spark.store.metadata.manifest_files import read_global_indexes
from paimon_spark.store.metadata.publish import publish_file
from paimon_spark.store.metadata.snapshots import has_watermark
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result, millis_since

_log = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class RollbackResult(Result):
    """The result of a rollback; in a dry run, what would be deleted.

    Attributes:
        previous_snapshot_id: the latest snapshot before, also one that is lost; 0 if all snapshots were lost.
        current_snapshot_id: the latest snapshot now, unless another job has committed since then.
        snapshots, changelogs: the ids of the deleted ones, newest first.
        tags: the names of the deleted tags.
        paths: the paths of all deleted files, in order.
        dry_run: True if nothing was deleted.
        millis: the duration of the call.
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
    """Rolls a table back to one target: a version, a snapshot or a tag.

    Args:
        table: the table, opened on the branch to roll back.
        version: a snapshot id, as a number or text of digits, else the name of a tag.
        snapshot: the id of a snapshot that exists, or that a tag keeps.
        tag: the name of a tag.
        dry_run: True only reports what would be deleted.

    Raises:
        OptionError: none or several targets are given.
        SnapshotNotFound: the target does not exist or is expiring, or its id now belongs to another snapshot; nothing
            was changed.
        UnsupportedFeature: an index of the state may have old values; nothing was changed.
        CommitConflict: other jobs continue to commit on top of deleted snapshots. Call it again.
        StorageError: the storage failed. Call it again.
    """
    return _roll_back(table, rollback_target(table, version, snapshot, tag)[0], dry_run)


def rollback_target(
    table: Table, version: int | str | None, snapshot: int | None, tag: str | None
) -> tuple[Snapshot, str | None]:
    """The state to roll back to, and the name of the tag if one was given.

    Args:
        table: the table, opened on the branch to roll back.
        version: a snapshot id, as a number or text of digits, else the name of a tag.
        snapshot: the id of a snapshot that exists, or that a tag keeps.
        tag: the name of a tag.

    Raises:
        OptionError: none or several targets are given.
        SnapshotNotFound: the target does not exist.
    """
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


def check_indexes(table: Table, target: Snapshot) -> None:
    """Checks that no index of a state that is to be the latest one has old values which reads would use.

    Args:
        table: with the options that reads will have.
        target: the state.

    Raises:
        UnsupportedFeature: one may have.
        CorruptFile: the schema or the index manifest of the state is missing or damaged.
    """
    option = GlobalIndexSettings.update_action
    if table.settings.global_index.update_action == "IGNORE" or target.index_manifest is None:
        return
    if not may_have_old_values(table.schema, table.schemas, target.schema_id):
        return
    if read_global_indexes(table.file_io, table.location, target.index_manifest):
        raise UnsupportedFeature(
            f"rolling back {table.location}: '{option.key}' was 'IGNORE' in snapshot {target.id}, so that its indexes "
            "of the whole table may have old values, and reads would use them; set the option to 'IGNORE' first, and "
            "drop the indexes after"
        )


def rollback_to_timestamp(table: Table, timestamp: Moment, dry_run: bool = False) -> RollbackResult:
    """Rolls a table back to the newest snapshot that was committed at a time or before.

    Raises:
        OptionError: the time is not valid.
        SnapshotNotFound: no snapshot is old enough, or the target is expiring; nothing was changed.
        CommitConflict: other jobs continue to commit on top of deleted snapshots. Call it again.
        StorageError: the storage failed. Call it again.
    """
    millis = epoch_millis(timestamp, "timestamp")
    found = table.snapshots.find_at_time(millis)
    if found is None:
        raise SnapshotNotFound(
            f"rolling back {table.location}: no snapshot was committed at {timestamp} or before; "
            f"{table.snapshots.available()}"
        )
    return _roll_back(table, found, dry_run)


def rollback_to_watermark(table: Table, watermark: int, dry_run: bool = False) -> RollbackResult:
    """Rolls a table back to the newest snapshot whose watermark is not above the given one (epoch millis).

    If all watermarks are above, Java uses the oldest snapshot with a watermark; here that is an error.

    Raises:
        SnapshotNotFound: no snapshot qualifies, or the target is expiring; nothing was changed.
        CommitConflict: other jobs continue to commit on top of deleted snapshots. Call it again.
        StorageError: the storage failed. Call it again.
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
    lost = store.lost_id()  # to accept that is what a rollback is for
    ids = store.ids()
    latest = lost if lost is not None else max(ids, default=0)
    _check_id(table, target)
    check_indexes(table, target)
    snapshots = _later(ids, target.id)
    changelogs = _later(store.changelog_ids(), target.id)
    tags = _later_tags(table, target)
    paths = [
        *(tag_path(table.location, name, table.branch) for name in tags),
        *(snapshot_path(table.location, number, table.branch) for number in snapshots),
        *(changelog_path(table.location, number, table.branch) for number in changelogs),
    ]
    if not dry_run and table.server is not None:
        kept = store.find(target.id) == target
        table.server.roll_back(table.branch, target.id if kept else None, None if kept else _tag_of(table, target))
    elif not dry_run:
        table.check_still_there(doing="deleting files of")
        with hold(store, target.id):
            _make_snapshot(table, target)
            delete_tag_files(table, tags)  # first: no tag may be left of a snapshot whose id a later commit takes
            store.write_latest_hint(target.id)
            for number in snapshots:  # one by one: a reader that finds one finds all before it
                table.file_io.delete(snapshot_path(table.location, number, table.branch))
            delete_unrelated_after(table, target)
            store.settle_latest_hint()  # a commit whose snapshot is deleted now may have written it late
            delete_changelogs(table, changelogs, target.id)
            late = {name: tag for name, tag in _later_tags(table, target).items() if not _is_there(table, tag.snapshot)}
            delete_tag_files(table, late)  # created before their snapshot was deleted
        _log.info("rolled %s back from snapshot %d to %d", table.location, latest, target.id)
    if not dry_run:
        after_rollback(table)
    millis = millis_since(began)
    return RollbackResult(
        latest, target.id, tuple(snapshots), tuple(changelogs), tuple(tags), tuple(paths), dry_run, millis
    )


def _check_id(table: Table, target: Snapshot) -> None:
    """Raises SnapshotNotFound if the target's id belongs to another snapshot now.

    This happens if a rollback crashed and left a tag of a deleted snapshot, whose id a later commit took.
    """
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


def _tag_of(table: Table, target: Snapshot) -> str:
    return next(name for name, tag in table.snapshots.tags().items() if tag.snapshot == target)


def _is_there(table: Table, snapshot: Snapshot) -> bool:
    return table.snapshots.find(snapshot.id) == snapshot


def _make_snapshot(table: Table, target: Snapshot) -> None:
    """Makes the target a snapshot again if only a tag keeps it."""
    store = table.snapshots
    if store.exists(target.id):
        return
    with hold_tagged(store, target):
        store.write_earliest_hint(target.id)  # first, in case of a crash: snapshots below the hint are never expired
        publish_file(table.file_io, snapshot_path(table.location, target.id, table.branch), encode_snapshot(target))
        store.write_earliest_hint(target.id)  # again, because the end of an expiry may have moved it


def delete_changelogs(table: Table, changelogs: Sequence[int], target: int) -> None:
    """Deletes long-lived changelogs, newest first; target is the last id that is kept."""
    if not changelogs:
        return
    left = (number for number in table.snapshots.changelog_ids() if number <= target)
    hint = f"{changelog_directory(table.location, table.branch)}/{LATEST}"
    table.file_io.overwrite(hint, str(max(left, default=-1)).encode())  # -1: there is none
    for number in changelogs:
        table.file_io.delete(changelog_path(table.location, number, table.branch))


def delete_tag_files(table: Table, names: Iterable[str]) -> None:
    """Deletes tags, but not the files that only they need: these are left to the removal of orphan files."""
    for name in names:
        table.file_io.delete(tag_path(table.location, name, table.branch))
