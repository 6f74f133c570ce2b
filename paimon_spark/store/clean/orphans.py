"""Removes orphan files, which nothing in a table names (features 7.1; Java: OrphanFilesClean, LocalOrphanFilesClean).

Failed writers, rollbacks and deleted branches leave such files. First all files are listed, then the files that all
snapshots, tags, branches and changelogs use are read, so a commit in between keeps its files. Where a store tells the
times of files one by one, only those that nothing uses are asked for. Only then old orphans are deleted; younger ones,
which a writer may be about to commit, are counted. A listing or a read that fails stops the removal before anything is
deleted; after a crash the next removal finds the rest.

The rules are deliberately safer than Java's: a failed listing, or a snapshot with missing metadata, stops the removal;
nothing is deleted before all users of files are known; directories are deleted only if they are old too, and never
above the root of the data; marks of a crashed expiry are kept until an expiry has finished it.

Invariant: protocol F5.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from paimon_spark.errors import CorruptFile, OptionError
from paimon_spark.file_io import is_far
from paimon_spark.format.paths import SNAPSHOT_PREFIX, parse_expiry_mark
from paimon_spark.store.clean.orphans_listing import (
    Candidate,
    Candidates,
    Listing,
    Stage,
    StorageWork,
    find_candidates,
    find_unnamed,
    list_directory,
)
from paimon_spark.store.clean.orphans_used import branches_of, used_names
from paimon_spark.store.expire.delete import delete_stages, file_threads, remove_directory
from paimon_spark.store.holds.retention import Moment, epoch_millis
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Progress, Result, millis_since
from paimon_spark.store.storage.files import list_ids
from paimon_spark.store.storage.local_time import now_millis
from paimon_spark.store.storage.parallel import map_near_or_far

_log = logging.getLogger(__name__)

DAY_MILLIS = 24 * 3_600_000


@dataclass(frozen=True, repr=False)
class RemoveOrphanFilesResult(Result):
    """The deleted orphan files; in a dry run, those that would be deleted.

    Attributes:
        paths: the paths of the files, in the order of deletion. Some may have been missing already.
        bytes: the bytes of the files.
        refused: the paths of files that the store refused to delete.
        directories: the removed empty directories of buckets and partitions; empty in a dry run.
        not_reached: external paths in another store than the table, which were not listed.
        older_than_millis: only files changed before this time (epoch millis) were deleted.
        younger_files, younger_bytes: the totals of younger files that nothing names: a writer is about to commit them,
            or has crashed.
        dry_run: True if nothing was deleted.
        millis: the duration of the call.
    """

    paths: tuple[str, ...]
    bytes: int
    refused: tuple[str, ...]
    directories: tuple[str, ...]
    not_reached: tuple[str, ...]
    older_than_millis: int
    younger_files: int
    younger_bytes: int
    dry_run: bool
    millis: int


@dataclass(frozen=True)
class ThreadedWork:
    """StorageWork by threads of this process."""

    table: Table
    directories_at_once: int = 512
    files_at_once: int = 4000

    def listings(self, directories: Sequence[str]) -> list[Listing]:
        work, most = partial(list_directory, self.table.file_io), file_threads(self.table)
        return map_near_or_far(work, directories, is_far(self.table.location), most)

    def delete(self, paths: Sequence[str]) -> Sequence[str]:
        try:
            return delete_stages(self.table, [paths])
        except PermissionError as error:  # all were refused; the result lists them
            _log.warning("%d orphan files of %s must not be deleted: %s", len(paths), self.table.location, error)
            return []


def remove_orphan_files(
    table: Table,
    older_than: Moment | None = None,
    dry_run: bool = True,
    work: StorageWork | None = None,
    progress: Progress | None = None,
) -> RemoveOrphanFilesResult:
    """Removes old files that no snapshot, tag, branch or changelog names, and empty old directories.

    Args:
        table: the table, opened on any branch; all branches are included. Its external paths must not be shared: files
            of other tables there would be orphans of this table.
        older_than: only files last changed before this time are deleted; a datetime, text such as
            "2026-11-01 12:30:00" in the local zone, or epoch millis. None: one day ago. A job that started before this
            time and commits after the listing loses its files: leave more time than the longest job takes.
        dry_run: True only reports what would be deleted.
        work: lists and deletes files; None: threads of this process, `file-operation.thread-num` of them.
        progress: called with the progress.

    Raises:
        OptionError: the time is not valid, or not past (Java's rule: OrphanFilesClean.olderThanMillis).
        CorruptFile: metadata are damaged or missing; nothing was deleted.
        StorageError: the storage failed. During listing and reading nothing was deleted; after that, the next removal
            continues.
    """
    return remove_orphans_before(table, past_millis(older_than, "older_than"), dry_run, work, progress)


def past_millis(older_than: Moment | None, argument: str) -> int:
    """A threshold as epoch millis; None: one day ago.

    Raises:
        OptionError: it is not a time, or not past; the message names the argument.
    """
    now = now_millis()
    before = now - DAY_MILLIS if older_than is None else epoch_millis(older_than, argument)
    if before >= now:
        raise OptionError(
            f"{argument} is {older_than}: it must be past, else files that are being written now, and that no snapshot "
            "names yet, would go",
            arguments=(argument,),
        )
    return before


def remove_orphans_before(
    table: Table, before: int, dry_run: bool, work: StorageWork | None = None, progress: Progress | None = None
) -> RemoveOrphanFilesResult:
    """Removes orphan files last changed before any time, even a recent one. Only for tables without running writers.

    Args:
        table: the table, opened on any branch; all branches are included.
        before: only files changed before this time (epoch millis) are deleted.
        dry_run: True only reports what would be deleted.
        work: lists and deletes files; None: threads of this process.
        progress: called with the progress.

    Raises:
        CorruptFile: metadata are damaged or missing; nothing was deleted.
        StorageError: the storage failed.
    """
    began = time.monotonic()
    work = work or ThreadedWork(table)
    tell = progress or _tell_nobody
    found = find_candidates(table, branches_of(table), before, work, tell)
    names = found.names()
    used = used_names(table, names, tell) if names else set[str]()
    unused = sorted(find_unnamed(table.file_io, found, used, before), key=lambda file: (file.stage, file.path))
    if not used and any(file.is_old and file.stage is Stage.MANIFEST_LIST for file in unused):
        raise CorruptFile(
            f"removing orphan files of {table.location}: it has manifest lists, and no snapshot, tag, branch or "
            "changelog that names one: they were lost, or the first commit broke off; nothing was deleted. Restore "
            "the directory snapshot; if the table never had one, drop the table and create it again"
        )
    unnamed = _without_marks(table, unused)
    orphans = [file for file in unnamed if file.is_old]
    younger = [file for file in unnamed if not file.is_old]
    gone, directories = orphans, list[str]()
    if not dry_run:
        table.check_still_there(doing="deleting files of")
        gone = _delete(work, orphans, tell)
        directories = list(_remove_directories(table, found, gone, before))
        _log.info("removed %d orphan files of %s", len(gone), table.location)
    paths = tuple(file.path for file in gone)
    return RemoveOrphanFilesResult(
        paths=paths,
        bytes=sum(file.size for file in gone),
        refused=tuple(sorted({file.path for file in orphans}.difference(paths))),
        directories=tuple(directories),
        not_reached=found.unreachable,
        older_than_millis=before,
        younger_files=len(younger),
        younger_bytes=sum(file.size for file in younger),
        dry_run=dry_run,
        millis=millis_since(began),
    )


def _tell_nobody(what: str, done: int, total: int) -> None:
    """The default progress callback, which does nothing."""


def _without_marks(table: Table, orphans: Iterable[Candidate]) -> list[Candidate]:
    """The orphans without marks of crashed expiries whose snapshots still exist."""
    snapshots: dict[str, list[int]] = {}
    left = []
    for file in orphans:
        end = parse_expiry_mark(file.name) if file.stage is Stage.WORK else None
        if end is not None and file.directory not in snapshots:
            snapshots[file.directory] = list_ids(table.file_io, file.directory, SNAPSHOT_PREFIX)
        ids = [] if end is None else snapshots[file.directory]
        if end is None or not ids or not ids[0] < end <= ids[-1]:
            left.append(file)
    return left


def _delete(work: StorageWork, orphans: Sequence[Candidate], tell: Progress) -> list[Candidate]:
    """Deletes stage by stage; returns the deleted files."""
    gone: list[Candidate] = []
    done = 0
    for _, stage in groupby(orphans, key=lambda file: file.stage):
        files = list(stage)
        for start in range(0, len(files), work.files_at_once):
            tell("orphans", done, len(orphans))
            piece = files[start : start + work.files_at_once]
            deleted = set(work.delete([file.path for file in piece]))
            gone += (file for file in piece if file.path in deleted)
            done += len(piece)
    tell("orphans", done, len(orphans))
    return gone


def _remove_directories(table: Table, found: Candidates, orphans: Iterable[Candidate], before: int) -> Iterator[str]:
    """Removes empty directories of buckets and partitions, then parents that become empty.

    Young directories are kept: a writer may just have created them.
    """
    left = Counter(found.entries)
    left.subtract(file.directory for file in orphans if file.stage is Stage.DATA)
    waiting = [path for path in found.entries if left[path] <= 0]
    while waiting:
        path = waiting.pop()
        if found.modified_millis[path] >= before or not remove_directory(table.file_io, path):
            continue
        yield path
        parent = path.rpartition("/")[0]
        if parent in found.entries:
            left[parent] -= 1
            if left[parent] == 0:
                waiting.append(parent)
