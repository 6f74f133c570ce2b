"""Purges a table: deletes its rows, history, branches, tags and consumers (features 7; Java: purgeFiles).

The notes of streams go too: the table is like a new one for them.

One snapshot is kept, which has only rows that were committed concurrently. Files that writers have not committed yet
are kept too, while Java treats them as orphans; so writers need not be stopped. After a crash the table is readable,
and a second purge finishes the work; files of branches that were deleted by then are removed as old orphan files.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.paths import MAIN_BRANCH, changelog_path, snapshot_path, tag_path
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.clean.orphans import past_millis, remove_orphan_files
from paimon_spark.store.clean.truncate import truncate_table
from paimon_spark.store.expire.changelogs import expire_all_changelogs
from paimon_spark.store.expire.delete import delete_empty_directories, delete_stages
from paimon_spark.store.expire.files import DeletionPlan, FileFinder
from paimon_spark.store.expire.reading import find_snapshots
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.expire.used import ReferencedFiles, add_root, all_roots, tagged_snapshots
from paimon_spark.store.history.branches import branch_names, delete_branch, on_branch
from paimon_spark.store.history.consumers import clear_consumers
from paimon_spark.store.history.tag_deletion import delete_tags
from paimon_spark.store.holds.retention import Moment, Retention, RetentionRules
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result, millis_since
from paimon_spark.store.storage.parallel import map_parallel
from paimon_spark.store.stream_notes.notes import clear_stream_notes

_log = logging.getLogger(__name__)

_NO_LIMIT = 2**62


@dataclass(frozen=True, repr=False)
class PurgeFilesResult(Result):
    """The result of a purge; in a dry run, what would be deleted.

    Attributes:
        branches, tags, consumers: the names of the deleted ones, sorted.
        snapshots, changelogs: the ids of the deleted ones.
        snapshot_id: the latest snapshot, which is kept; None: the table has none, or it was a dry run.
        paths: all deleted files, in the order of deletion. Some may have been missing already. A dry run also lists
            manifests and statistics that the kept snapshot will still name.
        dry_run: True if nothing was changed.
        millis: the duration of the call.
    """

    branches: tuple[str, ...]
    tags: tuple[str, ...]
    consumers: tuple[str, ...]
    snapshots: tuple[int, ...]
    changelogs: tuple[int, ...]
    snapshot_id: int | None
    paths: tuple[str, ...]
    dry_run: bool
    millis: int


def purge_files(table: Table, orphans_older_than: Moment | None = None, dry_run: bool = False) -> PurgeFilesResult:
    """Deletes everything in a table except its schemas; the table is like a new one and can be written.

    Args:
        table: the table, opened on its main branch.
        orphans_older_than: orphan files changed before this time are deleted too, see remove_orphan_files; None: one
            day ago.
        dry_run: True only reports what would be deleted, without orphan files.

    Raises:
        UnsupportedFeature: the table is opened on another branch, or cannot be written.
        OptionError: the table reads from one of its branches, or the time is not past; nothing was changed.
        CorruptFile: metadata are damaged. For another branch nothing was changed; for main some steps may be done.
        StorageError: the storage failed; purge the table again to finish.
    """
    began = time.monotonic()
    _check_call(table, orphans_older_than)
    branches, tags = branch_names(table.file_io, table.location), table.snapshots.tag_names()
    of_branches = [(branch, all_files(branch)) for branch in (on_branch(table, name) for name in branches)]
    strays = _strays(table)
    of_strays = _named(table, strays, (), ())
    table.check_still_there(doing="deleting files of")
    deleted = delete_branch(table, branches, dry_run).paths
    if dry_run:
        named = _paths([all_files(table), *(files for _, files in of_branches)])
        return _result(table, branches, tags, [*deleted, *named], began)
    deleted_tags = delete_tags(table, tags)
    consumers = clear_consumers(table).names
    clear_stream_notes(table)
    truncate_table(table)
    expired = expire_snapshots_by(table, _only_the_latest())
    changelogs = expire_all_changelogs(table)
    before = [snapshot_path(table.location, stray.id) for stray in strays]
    table.file_io.delete_many(before)
    paths = [*deleted, *deleted_tags.paths, *expired.paths, *changelogs.paths, *before]
    for branch, files in (*of_branches, (table, of_strays)):
        paths += _delete_unused(branch, files)
    paths += remove_orphan_files(table, orphans_older_than, dry_run=False).paths
    _log.info("purged %s: %d files", table.location, len(paths))
    return PurgeFilesResult(
        branches=tuple(branches),
        tags=tuple(tags),
        consumers=consumers,
        snapshots=(*(stray.id for stray in strays), *expired.ids),
        changelogs=changelogs.ids,
        snapshot_id=table.snapshots.latest_id(),
        paths=tuple(dict.fromkeys(paths)),
        dry_run=False,
        millis=millis_since(began),
    )


def _check_call(table: Table, orphans_older_than: Moment | None) -> None:
    check_writable(table.schema, table.settings)
    if table.branch != MAIN_BRANCH:
        raise UnsupportedFeature(
            f"purging {table.location}: it is opened on the branch '{table.branch}', and a purge empties the whole "
            "table; open its main branch, or delete the branch"
        )
    past_millis(orphans_older_than, "orphans_older_than")


def _result(
    table: Table, branches: Sequence[str], tags: Sequence[str], files: Sequence[str], began: float
) -> PurgeFilesResult:
    """The result of a dry run; files are those of the branches and those that snapshots, changelogs and tags name."""
    ids, changelogs = table.snapshots.ids(), table.snapshots.changelog_ids()
    own = [
        *(tag_path(table.location, name) for name in tags),
        *(changelog_path(table.location, number) for number in changelogs),
        *(snapshot_path(table.location, number) for number in ids),
    ]
    return PurgeFilesResult(
        branches=tuple(branches),
        tags=tuple(tags),
        consumers=clear_consumers(table, dry_run=True).names,
        snapshots=tuple(ids),
        changelogs=tuple(changelogs),
        snapshot_id=None,
        paths=tuple(dict.fromkeys([*files, *own])),
        dry_run=True,
        millis=millis_since(began),
    )


def _paths(found: Iterable[DeletionPlan]) -> list[str]:
    return [path for files in found for stage in files.stages() for path in stage]


def _only_the_latest() -> RetentionRules:
    """Rules that keep one snapshot, regardless of consumers, and no changelog without its snapshot."""
    kept = Retention(1, 1, 0, keep_since=_NO_LIMIT, max_deletes=_NO_LIMIT)
    return RetentionRules(kept, kept, consumers_hold_snapshots=False)


def all_files(table: Table) -> DeletionPlan:
    """All files that the snapshots, changelogs and tags of a branch name.

    Args:
        table: the table, opened on the branch.

    Raises:
        CorruptFile: a manifest is damaged.
    """
    store = table.snapshots
    long_lived = [found for found in map_parallel(store.find_change, store.changelog_ids()) if found is not None]
    return _named(table, find_snapshots(store, store.ids()), long_lived, tagged_snapshots(store))


def _strays(table: Table) -> tuple[Snapshot, ...]:
    """Snapshots before the earliest one, which do not expire because of a gap (see lost_files)."""
    store = table.snapshots
    earliest = store.earliest_id() or 0
    return tuple(find_snapshots(store, [number for number in store.ids() if number < earliest]))


def _named(
    table: Table, snapshots: Sequence[Snapshot], changelogs: Sequence[Snapshot], tags: Sequence[Snapshot]
) -> DeletionPlan:
    """The files of states of a branch.

    Raises:
        CorruptFile: a manifest is damaged.
    """
    finder, deletion = FileFinder(table), DeletionPlan()
    ids = {snapshot.id for snapshot in snapshots}
    changes = (*snapshots, *changelogs)
    for state in (*(snapshot for snapshot in snapshots if snapshot.id - 1 not in ids), *tags):
        deletion.data.update(finder.live(state))
    deletion.data.update(finder.added(change.delta_manifest_list for change in changes))
    deletion.changelog = finder.added(change.changelog_manifest_list for change in changes)
    for change in (*changes, *tags):
        lists = (change.base_manifest_list, change.delta_manifest_list, change.changelog_manifest_list)
        finder.add_lists(lists, deletion)
    finder.add_indexes([*changes, *tags], deletion)
    return deletion


def _delete_unused(table: Table, deletion: DeletionPlan) -> list[str]:
    """Deletes the files of deleted states, except those that other states need.

    Args:
        table: the table, opened on the branch of the states; its options determine the paths of its files.
        deletion: the files of the states.
    """
    used = ReferencedFiles()
    for root in all_roots(table):
        add_root(table, root, used)
    deletion.keep(used)
    deleted = delete_stages(table, deletion.stages())
    delete_empty_directories(table, deletion.places())
    return deleted
