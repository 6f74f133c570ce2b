"""Expiry of long-lived changelogs (features 7.1; Java: ExpireChangelogImpl, ChangelogDeletion)."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence

from paimon_spark.errors import CorruptFile
from paimon_spark.format.paths import EARLIEST, LATEST, changelog_directory, changelog_path
from paimon_spark.format.snapshot import CommitKind, Snapshot
from paimon_spark.store.expire.delete import execute_deletion
from paimon_spark.store.expire.files import DeletionPlan, FileFinder
from paimon_spark.store.expire.snapshots import ExpireSnapshotsResult, result_of
from paimon_spark.store.expire.used import (
    ReferencedFiles,
    add_found_deltas,
    add_found_metadata,
    add_live,
    add_root,
    other_roots,
    overlapping_tags,
    revived_states,
    tagged_snapshots,
    tags_before,
)
from paimon_spark.store.holds.consumer_files import consumer_positions
from paimon_spark.store.holds.retention import Limits, Moment, Retention, changelog_retention, retention
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.files import read_hint
from paimon_spark.store.storage.parallel import map_parallel

_log = logging.getLogger(__name__)


def expire_changelogs(
    table: Table,
    retain_max: int | None = None,
    retain_min: int | None = None,
    older_than: Moment | None = None,
    max_deletes: int | None = None,
    dry_run: bool = False,
) -> ExpireSnapshotsResult:
    """Expires old changelogs in ``changelog/`` with their files. The newest changelog is always kept.

    An argument that is None defaults to the option `changelog.*`, and if that is not set, to `snapshot.*`. Numbers of
    changelogs to keep count snapshots too: a changelog is among the newest N if its id is.

    Args:
        table: the table, with the options of the call.
        retain_max: at most this many are kept.
        retain_min: at least this many are kept.
        older_than: only changelogs committed before this time expire (except for retain_max); a datetime, text such as
            "2026-11-01 12:30:00" in the local zone, or epoch millis.
        max_deletes: at most this many expire; None: `snapshot.expire.limit`.
        dry_run: True only reports what would be deleted.

    Raises:
        OptionError: the arguments contradict each other or the options.
        TableNotFound, TableChanged: the table was dropped, renamed or made anew since it was opened.
        CorruptFile: metadata of the table are damaged; nothing was deleted.
        StorageError: the storage failed; the next expiry continues where this one stopped.
    """
    table.check_still_there(doing="expire_changelogs of")
    settings, given = table.settings, Limits(retain_max, retain_min, older_than, max_deletes)
    return expire_changelogs_by(table, changelog_retention(settings, retention(settings), given), dry_run)


def expire_changelogs_by(table: Table, kept: Retention, dry_run: bool = False) -> ExpireSnapshotsResult:
    """Expires old changelogs in ``changelog/`` by a given retention; dry_run only reports what would be deleted.

    Raises:
        CorruptFile: metadata of the table are damaged; nothing was deleted.
        StorageError: the storage failed; the next expiry continues where this one stopped.
    """
    began = time.monotonic()
    bounds = _range(table, kept)
    if bounds is None:
        return ExpireSnapshotsResult(dry_run=dry_run)
    earliest, end = bounds
    if end == earliest:
        hint = f"{changelog_directory(table.location, table.branch)}/{EARLIEST}"
        if not dry_run and read_hint(table.file_io, hint) != earliest:
            table.file_io.overwrite(hint, str(earliest).encode())
        return ExpireSnapshotsResult(dry_run=dry_run)
    found = _find_all(table, range(earliest, end + 1))
    if not found or found[-1].id != end:  # another expiry was faster
        return ExpireSnapshotsResult(dry_run=dry_run)
    return _expire(table, found[:-1], found[-1], end, dry_run, began)


def expire_all_changelogs(table: Table, dry_run: bool = False) -> ExpireSnapshotsResult:
    """Expires all long-lived changelogs, whatever their age, and deletes their hints (Java: expireAll).

    Raises:
        CorruptFile: metadata are damaged, or a changelog is not older than the snapshots; nothing was deleted.
        StorageError: the storage failed; the next expiry continues where this one stopped.
    """
    began = time.monotonic()
    ids, earliest = table.snapshots.changelog_ids(), table.snapshots.earliest_id()
    if not ids or earliest is None:
        return ExpireSnapshotsResult(dry_run=dry_run)
    if ids[-1] >= earliest:
        raise CorruptFile(
            f"the changelog {ids[-1]} of {table.location} is not older than snapshot {earliest}; expire the snapshots "
            "first"
        )
    return _expire(table, _find_all(table, ids), None, earliest, dry_run, began)


def _expire(
    table: Table, changelogs: Sequence[Snapshot], kept: Snapshot | None, end: int, dry_run: bool, began: float
) -> ExpireSnapshotsResult:
    """Deletes changelogs and their files; kept is the first changelog that is kept, None if none is."""
    deletion = _plan_deletion(table, changelogs)
    deletion.keep(_used(table, changelogs, kept, end, bool(deletion.data)))
    ids = [changelog.id for changelog in changelogs]
    first = table.snapshots.earliest_id()
    if first is not None and ids and first <= ids[-1]:  # otherwise no snapshot has the files to delete
        _log.info("no changelog of %s expires: the table went back to snapshot %d meanwhile", table.location, first)
        return ExpireSnapshotsResult(dry_run=dry_run)
    paths = [changelog_path(table.location, number, table.branch) for number in ids]
    if dry_run:
        planned = [path for stage in (*deletion.stages(), paths) for path in stage]
        return result_of(deletion, ids, planned, 0, dry_run, began)
    table.check_still_there(doing="deleting files of")
    deleted = execute_deletion(table, deletion)
    table.file_io.delete_many(paths)
    directory = changelog_directory(table.location, table.branch)
    if kept is None:
        table.file_io.delete_many([f"{directory}/{EARLIEST}", f"{directory}/{LATEST}"])
    else:
        table.file_io.overwrite(f"{directory}/{EARLIEST}", str(end).encode())
        again = [n for n in table.snapshots.changelog_ids() if n < end]  # written by a slow expiry
        table.file_io.delete_many([changelog_path(table.location, number, table.branch) for number in again])
    return result_of(deletion, ids, [*deleted, *paths], 0, dry_run, began)


def _range(table: Table, kept: Retention) -> tuple[int, int] | None:
    """(first changelog, first to keep); None: all are kept, however old they are (Java: ExpireChangelogImpl.expire)."""
    earliest = _earliest_id(table)
    latest = None if earliest is None else _latest_id(table)
    latest_snapshot = None if latest is None else table.snapshots.latest_id()
    if earliest is None or latest is None or latest_snapshot is None:
        return None
    end = min(latest_snapshot - kept.retain_min + 1, earliest + kept.max_deletes, latest)
    if end <= earliest:
        return None
    for number in range(max(latest_snapshot - kept.retain_max + 1, earliest), end):
        changelog = table.snapshots.find_changelog(number)
        if changelog is not None and changelog.time_millis >= kept.keep_since:
            end = number
            break
    if end > earliest:  # otherwise consumers need not be read after every commit
        end = min([end, *consumer_positions(table.file_io, table.location, table.branch).values()])
    return earliest, max(end, earliest)


def _plan_deletion(table: Table, changelogs: Sequence[Snapshot]) -> DeletionPlan:
    """The files to delete with changelogs.

    A changelog without a changelog list consists of the data files that its change added. They are deleted with the
    later change that deleted them.
    """
    finder, deletion = FileFinder(table), DeletionPlan()
    plain = [changelog for changelog in changelogs if changelog.changelog_manifest_list is None]
    deletion.data = finder.deleted(plain, keeps_appended=False)
    deletion.changelog = finder.added(changelog.changelog_manifest_list for changelog in changelogs)
    finder.add_lists((name for c in plain for name in (c.delta_manifest_list, c.base_manifest_list)), deletion)
    finder.add_lists((changelog.changelog_manifest_list for changelog in changelogs), deletion)
    return deletion


def _used(
    table: Table, changelogs: Sequence[Snapshot], kept: Snapshot | None, end: int, needs_data: bool
) -> ReferencedFiles:
    used, store = ReferencedFiles(), table.snapshots
    tags, earliest = tagged_snapshots(store), store.earliest_id()
    first = None if earliest is None else store.find(earliest)
    if needs_data and tags:
        for tag in tags_before(tags, (changelog.id for changelog in changelogs), revived_states(store)):
            add_live(table, tag, used)
    overlapping = overlapping_tags(tags, changelogs[0].id, end) if changelogs else []
    above = [tag for tag in tags if tag.id >= end][:1]  # the base list of kept may have been deleted with a tag
    later = _later_overwrites(table, end) if needs_data else []
    staying = [snapshot for snapshot in (kept, first) if snapshot is not None]
    add_found_metadata(table, [*overlapping, *above, *staying, *later], used)
    add_found_deltas(table, later, used)
    for root in other_roots(table):
        add_root(table, root, used)
    return used


def _later_overwrites(table: Table, end: int) -> list[Snapshot]:
    """Changes after the expired ones that may use their files again, as a rollback does."""
    latest = table.snapshots.latest_id()
    found = map_parallel(table.snapshots.find_change, range(end, (latest or end) + 1))
    return [change for change in found if change is not None and change.commit_kind == CommitKind.OVERWRITE]


def _find_all(table: Table, ids: Iterable[int]) -> list[Snapshot]:
    """The existing changelogs among the ids, in order."""
    return [change for change in map_parallel(table.snapshots.find_changelog, ids) if change is not None]


def _earliest_id(table: Table) -> int | None:
    hint = table.snapshots.hinted_changelog_id()
    return min(table.snapshots.changelog_ids(), default=None) if hint is None else hint


def _latest_id(table: Table) -> int | None:
    store = table.snapshots
    hint = read_hint(table.file_io, f"{changelog_directory(table.location, table.branch)}/{LATEST}")
    if hint is not None and store.find_changelog(hint) is not None and store.find_changelog(hint + 1) is None:
        return hint
    return max(store.changelog_ids(), default=None)
