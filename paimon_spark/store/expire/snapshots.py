"""Expires snapshots with the files that only they need (features 7.1; Java: ExpireSnapshotsImpl, SnapshotDeletion).

The list of files is complete before the first one is deleted; an error while reading stops the expiry. Then data files
are deleted, followed by index files and statistics, manifests, manifest lists, and finally the snapshots, oldest first.
After a crash at any point the remaining snapshots are complete, and the next expiry finds the same files again.

Invariants: protocol E1 to E8.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paimon_spark.errors import CorruptFile
from paimon_spark.file_io import identity_of, is_far
from paimon_spark.format.options.engines import ChangelogProducer
from paimon_spark.format.paths import LATEST, changelog_directory, changelog_path, manifest_path, snapshot_path
from paimon_spark.format.snapshot import Snapshot, encode_snapshot
from paimon_spark.store.commit.base import may_be_withdrawn
from paimon_spark.store.expire.delete import execute_deletion
from paimon_spark.store.expire.files import DeletionPlan, FileFinder
from paimon_spark.store.expire.reading import check_they_stay, find_snapshots
from paimon_spark.store.expire.used import (
    ReferencedFiles,
    add_live,
    add_metadata,
    add_reviving,
    add_root,
    other_roots,
    overlapping_tags,
    revived_states,
    reviving_snapshots,
    tagged_snapshots,
    tags_before,
)
from paimon_spark.store.holds.consumer_files import consumer_positions
from paimon_spark.store.holds.marks import delete_marks, expiring_below, held_snapshot_ids, write_mark
from paimon_spark.store.holds.retention import Limits, Moment, Retention, RetentionRules, retention, retention_rules
from paimon_spark.store.iceberg.after import after_tags
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result, millis_since
from paimon_spark.store.storage.parallel import map_parallel

_log = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class ExpireSnapshotsResult(Result):
    """The result of an expiry; in a dry run, what would be deleted.

    Attributes:
        ids: the ids of the expired snapshots, or long-lived changelogs.
        data_files, changelog_files, index_files, statistics_files, manifest_files: the numbers of files; manifest lists
            and index manifests count as manifest files.
        bytes: the bytes of the data and changelog files.
        paths: all deleted files, in the order of deletion, the snapshots last. Some may have been missing already.
        left: the paths of files that the store refused to delete; nothing needs them, and they are counted above.
        moved_changelogs: the number of snapshots kept as long-lived changelogs.
        held_by: the consumer without which more snapshots would have expired; None: there is none.
        held_from: the id of the snapshot that it reads next.
        dry_run: True if nothing was deleted.
        millis: the duration of the call.
    """

    ids: tuple[int, ...] = ()
    data_files: int = 0
    changelog_files: int = 0
    index_files: int = 0
    statistics_files: int = 0
    manifest_files: int = 0
    bytes: int = 0
    paths: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    moved_changelogs: int = 0
    held_by: str | None = None
    held_from: int | None = None
    dry_run: bool = False
    millis: int = 0


def expire_snapshots(
    table: Table,
    retain_max: int | None = None,
    retain_min: int | None = None,
    older_than: Moment | None = None,
    max_deletes: int | None = None,
    dry_run: bool = False,
) -> ExpireSnapshotsResult:
    """Expires old snapshots and deletes the files that only they need.

    Tags and other branches keep the files of their snapshots; consumers keep the snapshots they have not read.
    Changelogs that the options `changelog.*` keep for longer are moved to ``changelog/``. The work of an expiry that
    crashed is finished too, whatever the arguments are, because some of those files may already be deleted.

    Args:
        table: the table, with the options of the call.
        retain_max: at most this many snapshots are kept; None: `snapshot.num-retained.max`.
        retain_min: at least this many are kept; None: `snapshot.num-retained.min`.
        older_than: only snapshots whose successor is older than this expire (except for retain_max); a datetime, text
            such as "2026-11-01 12:30:00" in the local zone, or epoch millis. None: `snapshot.time-retained` before now.
        max_deletes: at most this many expire; None: `snapshot.expire.limit`.
        dry_run: True only reports what would be deleted.

    Raises:
        OptionError: the arguments contradict each other or the options.
        TableNotFound, TableChanged: the table was dropped, renamed or made anew since it was opened.
        CorruptFile: metadata of the table are damaged; nothing was deleted.
        StorageError: the storage failed; the next expiry continues where this one stopped.
    """
    table.check_still_there(doing="expire_snapshots of")
    kept = retention(table.settings, Limits(retain_max, retain_min, older_than, max_deletes))
    return expire_snapshots_by(table, retention_rules(table.settings, kept), dry_run, finishes=True)


def expire_snapshots_by(
    table: Table, rules: RetentionRules, dry_run: bool = False, finishes: bool = False
) -> ExpireSnapshotsResult:
    """Expires old snapshots by given rules, and deletes the files that only they need.

    Args:
        table: the table, with the options of the call.
        rules: the retention of snapshots and changelogs.
        dry_run: True only reports what would be deleted.
        finishes: whether an expiry that crashed is finished even if the rules delete nothing. After a commit this is
            False, which saves looking for one.

    Raises:
        CorruptFile: metadata of the table are damaged; nothing was deleted.
        StorageError: the storage failed; the next expiry continues where this one stopped.
    """
    began = time.monotonic()
    store = table.snapshots
    nothing = ExpireSnapshotsResult(dry_run=dry_run)
    newest, is_sure = store.hinted_latest()
    if newest is None or (not finishes and _is_idle(store, rules.snapshots, newest.id)):
        return nothing
    earliest, is_hinted = store.earliest()
    if earliest is None:
        return nothing
    latest = newest.id
    end, held = _end(table, rules, earliest, latest)
    if end > earliest and is_hinted and earliest > 1 and store.exists(earliest - 1):
        earliest = _first_of_run(store.ids(), earliest)
        end, held = _end(table, rules, earliest, latest)
    nothing = replace(nothing, **held)
    if end > earliest and not (is_sure and store.is_final(newest)) and may_be_withdrawn(table, newest):
        _log.warning("nothing of %s expires: snapshot %d stands on one that was taken away", table.location, latest)
        return nothing
    if finishes or end > earliest:
        end = max(end, min(expiring_below(store) or 0, latest))  # files below a crash's mark may be missing
    if end <= earliest:
        if not dry_run and not is_hinted:  # last step of a crashed expiry
            delete_marks(store, earliest)
            store.write_earliest_hint(earliest)
        _note_idle(store, earliest)
        return nothing
    end = min([end, *held_snapshot_ids(table.file_io, store.directory)])
    if end <= earliest:
        return nothing
    if dry_run:
        plan = _plan(table, rules, earliest, end, newest)
        return nothing if plan is None else replace(plan.result(began, plan.all_paths(), dry_run=True), **held)
    kept = _first_kept(store, end, newest)
    if kept is None:
        return nothing
    mark = write_mark(store, end, kept)
    plan = _marked_plan(table, rules, earliest, kept, newest, mark)
    if plan is None:
        return nothing
    result = replace(plan.result(began, plan.execute(mark), dry_run=False), **held)
    after_tags(table)
    first, last = plan.ids[0], plan.ids[-1]
    _log.info("expired the snapshots %d to %d of %s: %d files", first, last, table.location, len(result.paths))
    return result


def _first_kept(store: SnapshotStore, end: int, newest: Snapshot) -> Snapshot | None:
    """The first snapshot to keep; None: a rollback or a fast-forward has deleted the newest one that was counted."""
    if end == newest.id:
        return newest if store.find(end) == newest else None
    kept = store.find(end)
    return kept if store.find(newest.id) == newest else None


def _marked_plan(
    table: Table, rules: RetentionRules, earliest: int, kept: Snapshot, newest: Snapshot, mark: str
) -> _Plan | None:
    """The plan of an expiry that has written its mark; None: there is nothing to do any more. Then the mark is gone."""
    store, end = table.snapshots, kept.id
    try:
        plan = _plan(table, rules, earliest, end, newest) if _may_go_until(table, rules, end) else None
        if plan is not None and plan.kept != kept:
            plan = None
        if plan is not None:
            from paimon_spark.store.expire.undecided_batches import write_down_batches  # most commits expire nothing

            table.check_still_there(doing="deleting files of")
            write_down_batches(table, plan.snapshots, plan.kept.id)
    except CorruptFile:
        table.file_io.delete(mark)
        table.check_still_there(doing="expire_snapshots of")
        if store.exists(end) and (expiring_below(store) or 0) <= end:
            raise
        _log.info("another expiry of %s goes further, and took away what was to be read", table.location)
        return None
    except BaseException:
        table.file_io.delete(mark)
        raise
    if plan is None:  # another expiry was faster, or a holder needs one of the snapshots
        table.file_io.delete(mark)
    return plan


_idle: dict[Hashable, tuple[int, int | None]] = {}
"""By store, which is far, and directory of snapshots: the oldest one when nothing was to expire, and when the next one
was committed. Both only grow, so that this tells for a while that nothing is to expire yet, without a look."""
_MOST_IDLE = 10_000


def _is_idle(store: SnapshotStore, kept: Retention, latest: int) -> bool:
    place = (identity_of(store.file_io), store.directory)
    earliest, next_millis = _idle.get(place, (1, None))
    if latest < earliest:  # the table was made anew
        _idle.pop(place, None)  # another thread may have dropped it
        return False
    count = latest - earliest + 1
    is_young = next_millis is not None and next_millis >= kept.keep_since
    return count <= kept.retain_min or (count <= kept.retain_max and is_young)


def _note_idle(store: SnapshotStore, earliest: int) -> None:
    if not is_far(store.table):
        return
    if len(_idle) >= _MOST_IDLE:
        _idle.clear()
    following = store.find(earliest + 1)
    _idle[identity_of(store.file_io), store.directory] = (
        earliest,
        None if following is None else following.time_millis,
    )


def _first_of_run(ids: Sequence[int], earliest: int) -> int:
    """The oldest snapshot without a gap below a wrong EARLIEST hint: it may need files of those from the hint on."""
    known = set(ids)
    while earliest - 1 in known:
        earliest -= 1
    return earliest


def _may_go_until(table: Table, rules: RetentionRules, end: int) -> bool:
    """True if no holder registered before our mark needs a snapshot below end. Later holders see the mark."""
    needed = list(held_snapshot_ids(table.file_io, table.snapshots.directory))
    if rules.consumers_hold_snapshots:
        needed += consumer_positions(table.file_io, table.location, table.branch).values()
    return end <= min(needed, default=end)


def _end(table: Table, rules: RetentionRules, earliest: int, latest: int) -> tuple[int, dict[str, Any]]:
    """The first snapshot to keep (Java: ExpireSnapshotsImpl.expire), and what the result says of who keeps it."""
    kept, store = rules.snapshots, table.snapshots
    begin = max(latest - kept.retain_max + 1, earliest)
    end = min(latest - kept.retain_min + 1, earliest + kept.max_deletes)
    if begin == earliest:
        begin = _end_by_time(store, kept, earliest, min(end, earliest + 1))
        if begin <= earliest:  # the usual case after a commit: consumers need not be read
            return earliest, {}
    held: dict[str, Any] = {}
    if rules.consumers_hold_snapshots:
        for name, position in consumer_positions(table.file_io, table.location, table.branch).items():
            first = max(position, earliest)
            if first < end and (first < begin or _end_by_time(store, kept, first, first + 1) > first):
                held = {"held_by": name, "held_from": position}
            end = min(end, position)
    return _end_by_time(store, kept, begin, end), held


def _end_by_time(store: SnapshotStore, kept: Retention, begin: int, end: int) -> int:
    """The first snapshot to keep by age. A snapshot's age counts from its successor: until then it was the latest."""
    following = store.walk(range(begin + 1, end + 1))
    return next((snapshot.id - 1 for snapshot in following if snapshot.time_millis >= kept.keep_since), end)


@dataclass(frozen=True)
class _Plan:
    """The plan of one expiry.

    Attributes:
        snapshots: the snapshots to expire, oldest first.
        kept: the first one to keep.
        deletion: the files to delete.
        moves: whether the snapshots are kept as long-lived changelogs.
    """

    table: Table
    snapshots: tuple[Snapshot, ...]
    kept: Snapshot
    deletion: DeletionPlan
    moves: bool

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(snapshot.id for snapshot in self.snapshots)

    def snapshot_paths(self) -> tuple[str, ...]:
        return tuple(snapshot_path(self.table.location, number, self.table.branch) for number in self.ids)

    def all_paths(self) -> list[str]:
        return [path for stage in (*self.deletion.stages(), self.snapshot_paths()) for path in stage]

    def execute(self, mark: str) -> list[str]:
        """Deletes the files and snapshots; returns the paths in order.

        Args:
            mark: the path of our expiry mark. If another expiry has deleted it, that one has deleted the snapshots too.
        """
        table, store = self.table, self.table.snapshots
        deleted = execute_deletion(table, self.deletion)
        paths = self.snapshot_paths()
        if self.moves and self._is_due(mark):
            self._move_changelogs()
        if not self._is_due(mark):
            return [*deleted, *paths]
        table.file_io.delete_many(paths)
        delete_marks(store, self.kept.id)
        store.write_earliest_hint(self.kept.id)  # last: a reader that finds it wrong looks for marks of a crash
        return [*deleted, *paths]

    def _is_due(self, mark: str) -> bool:
        """False if another expiry was faster: a rollback or a fast-forward may have given the ids to others since."""
        return self.table.file_io.exists(mark) and self.table.snapshots.find(self.kept.id) == self.kept

    def _move_changelogs(self) -> None:
        """Writes the snapshots as long-lived changelogs.

        Changelogs are deleted again if another expiry has moved them and they have expired since then, or if a
        rollback restored the snapshot from a tag, which has no changelog.
        """
        table, store = self.table, self.table.snapshots
        produces = table.settings.changelog_producer != ChangelogProducer.NONE

        def move(snapshot: Snapshot) -> None:
            path = changelog_path(table.location, snapshot.id, table.branch)
            table.file_io.overwrite(path, encode_snapshot(snapshot))
            name = snapshot.changelog_manifest_list or (None if produces else snapshot.delta_manifest_list)
            if name is not None and not table.file_io.exists(manifest_path(table.location, name)):
                table.file_io.delete(path)

        map_parallel(move, self.snapshots)
        first = store.hinted_changelog_id() or 0
        table.file_io.delete_many(
            [changelog_path(table.location, number, table.branch) for number in self.ids if number < first]
        )
        hint = f"{changelog_directory(table.location, table.branch)}/{LATEST}"
        table.file_io.overwrite(hint, str(self.ids[-1]).encode())

    def result(self, began: float, paths: Sequence[str], dry_run: bool) -> ExpireSnapshotsResult:
        moved = len(self.snapshots) if self.moves else 0
        return result_of(self.deletion, self.ids, paths, moved, dry_run, began)


def result_of(
    deletion: DeletionPlan, ids: Sequence[int], paths: Sequence[str], moved: int, dry_run: bool, began: float
) -> ExpireSnapshotsResult:
    """The result of an expiry; began is its start by time.monotonic."""
    return ExpireSnapshotsResult(
        ids=tuple(ids),
        data_files=len(deletion.data),
        changelog_files=len(deletion.changelog),
        index_files=len(deletion.indexes),
        statistics_files=len(deletion.statistics),
        manifest_files=len(deletion.manifests) + len(deletion.lists),
        bytes=sum(file.size for files in (deletion.data, deletion.changelog) for file in files.values()),
        paths=tuple(paths),
        left=deletion.left(paths),
        moved_changelogs=moved,
        dry_run=dry_run,
        millis=millis_since(began),
    )


def _plan(table: Table, rules: RetentionRules, earliest: int, end: int, latest: Snapshot) -> _Plan | None:
    """The plan; None if the first snapshot to keep does not exist, because another expiry is faster."""
    found = find_snapshots(table.snapshots, range(earliest, end + 1))
    if len(found) < 2 or found[-1].id != end:
        return None
    *expired, kept = found
    check_they_stay(table, kept, latest)
    produces = table.settings.changelog_producer != ChangelogProducer.NONE
    decoupled = rules.is_decoupled
    finder, deletion = FileFinder(table), DeletionPlan()
    deletion.data = finder.deleted(found[1:], keeps_appended=decoupled and not produces)
    if not decoupled:
        deletion.changelog = finder.added(snapshot.changelog_manifest_list for snapshot in expired)
    if produces or not decoupled:  # otherwise these name the data files of changelogs
        finder.add_lists((name for s in expired for name in (s.base_manifest_list, s.delta_manifest_list)), deletion)
    if not decoupled:
        finder.add_lists((snapshot.changelog_manifest_list for snapshot in expired), deletion)
    finder.add_indexes(expired, deletion)
    _keep_used(table, found, deletion)
    return _Plan(table, tuple(expired), kept, deletion, decoupled)


def _keep_used(table: Table, found: Sequence[Snapshot], deletion: DeletionPlan) -> None:
    """Removes files from the plan that the next snapshot, tags or other branches use."""
    used, begin, end = ReferencedFiles(), found[0].id, found[-1].id
    add_metadata(table, found[-1], used)
    deletion.keep(used)
    tags = tagged_snapshots(table.snapshots)
    if deletion.data and tags:
        revived = revived_states(table.snapshots)
        for tag in tags_before(tags, (snapshot.id for snapshot in found[1:]), revived):
            add_live(table, tag, used)
    for tag in overlapping_tags(tags, begin, end):
        add_metadata(table, tag, used)
    if deletion.may_be_revived:  # otherwise later snapshots need not be read, the usual case
        add_reviving(table, reviving_snapshots(table.snapshots, end), used)
    for root in other_roots(table):
        add_root(table, root, used)
    deletion.keep(used)
