"""Removing files that nothing in a table names (features 7.1; Java: OrphanFilesClean, LocalOrphanFilesClean).

They are left behind by writers that failed, by rollbacks, by branches that were deleted. First all files are listed,
then what all snapshots, tags, branches and changelogs use is read; so a commit in between keeps its files. Only then
the first file goes, if it is old; the younger ones, which a writer may be about to commit, are counted. A listing or a
read that fails ends it before anything is deleted; after a crash the next removal finds the rest.

Deliberately safer than Java: a listing that fails, or a snapshot whose metadata are missing, stops it; nothing goes
before the users are known; directories go only when they are old too, never above the root of the data; marks that tell
of a broken expiry stay until an expiry has finished it.

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

from paimon_spark.errors import OptionError
from paimon_spark.format.paths import SNAPSHOT_PREFIX
from paimon_spark.store.clean.orphans_listing import (
    Candidate,
    Candidates,
    Listing,
    Stage,
    StorageWork,
    find_candidates,
    list_directory,
)
from paimon_spark.store.clean.orphans_used import branches_of, used_names
from paimon_spark.store.expire.delete import delete_stages, file_threads, remove_directory
from paimon_spark.store.holds.expiry_marks import parse_expiry_mark
from paimon_spark.store.holds.retention import Moment, epoch_millis
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.progress import Progress
from paimon_spark.store.reporting.result import Result
from paimon_spark.store.storage.listing import list_ids
from paimon_spark.store.storage.parallel import map_parallel

_log = logging.getLogger(__name__)

DAY_MILLIS = 24 * 3_600_000


@dataclass(frozen=True, repr=False)
class RemoveOrphanFilesResult(Result):
    """What went, or would go if it was a dry run.

    Attributes:
        paths: of the files, in the order they went. Some may have been gone already.
        bytes: of the files.
        refused: files that stay because the store does not let them be deleted.
        directories: of buckets and partitions that were left empty, or were so before; not told by a dry run.
        not_reached: external paths in another store than the table, which were not looked at.
        older_than_millis: only what was changed before this time (epoch millis) went.
        younger_files, younger_bytes: of files that nothing names either, and that are younger than that: a writer is
            about to commit them, or was killed.
        dry_run: whether nothing was deleted.
        millis: wall time.
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
    """See StorageWork: by threads of this process."""

    table: Table
    directories_at_once: int = 512
    files_at_once: int = 4000

    def listings(self, directories: Sequence[str]) -> list[Listing]:
        return map_parallel(partial(list_directory, self.table.file_io), directories, file_threads(self.table))

    def delete(self, paths: Sequence[str]) -> Sequence[str]:
        try:
            return delete_stages(self.table, [paths])
        except PermissionError as error:  # for all of them; what stays is told
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
        table: any branch of it; all are looked at. Its external paths must be its own: files of other tables there
            are orphans of this one.
        older_than: only what was last changed before this time goes; a datetime, text such as "2026-11-01 12:30:00" in
            the local zone, or epoch millis. None: one day ago. A job that has been writing since before this time, and
            commits after its files were looked for, loses them: leave more time than the longest job takes.
        dry_run: whether only to tell what would go.
        work: who lists and deletes; None: threads of this process, `file-operation.thread-num` of them.
        progress: is told how far it is.

    Raises:
        OptionError: the time is none, or not past (Java's rule: OrphanFilesClean.olderThanMillis).
        CorruptFile: metadata are damaged or missing; nothing was deleted.
        StorageError: the storage failed. While listing and reading nothing was deleted; else the next removal goes on.
    """
    return remove_orphans_before(table, past_millis(older_than, "older_than"), dry_run, work, progress)


def past_millis(older_than: Moment | None, argument: str) -> int:
    """A threshold as epoch millis; None: one day ago.

    Raises:
        OptionError: it is no time, or not past; the message names the argument.
    """
    now = time.time_ns() // 1_000_000
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
    """The same with any threshold (epoch millis), for who knows that nobody writes. Errors the same."""
    began = time.monotonic()
    work = work or ThreadedWork(table)
    tell = progress or _tell_nobody
    found = find_candidates(table, branches_of(table), before, work, tell)
    names = {file.name for file in found.files if file.stage is not Stage.WORK}
    used = used_names(table, names, tell) if names else set[str]()
    unused = sorted((file for file in found.files if file.name not in used), key=lambda file: (file.stage, file.path))
    unnamed = _without_marks(table, unused)
    orphans = [file for file in unnamed if file.is_old]
    younger = [file for file in unnamed if not file.is_old]
    gone, directories = orphans, list[str]()
    if not dry_run:
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
        millis=round((time.monotonic() - began) * 1000),
    )


def _tell_nobody(what: str, done: int, total: int) -> None:
    """A progress for those who do not want to know."""


def _without_marks(table: Table, orphans: Iterable[Candidate]) -> list[Candidate]:
    """A mark of an expiry that broke off stays while a snapshot is there that the expiry wanted to delete."""
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
    """Deletes stage by stage; returns what is gone."""
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
    """Removes buckets and partitions that hold nothing any more, and then what holds nothing but them.

    Young ones stay: a writer may just have made them.
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
