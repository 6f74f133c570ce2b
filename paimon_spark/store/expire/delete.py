"""Deletes files in bulk, in parallel, stage by stage (Java: FileDeletionBase, the deleting half)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from functools import partial

from paimon_spark.file_io import FileIO, is_far
from paimon_spark.format.bucket import StoredPlace
from paimon_spark.store.expire.files import DeletionPlan
from paimon_spark.store.metadata.file_paths import bucket_directory
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.parallel import map_near_or_far

_log = logging.getLogger(__name__)

_THREADS = 8
_BULK = 500  # files of one request, where the store takes several
_NEAR = 20  # files after which a local disk is asked whether it makes deletions wait


def execute_deletion(table: Table, deletion: DeletionPlan) -> list[str]:
    """Deletes files and, if `snapshot.clean-empty-directories` is set, the directories that become empty.

    Returns:
        The paths of the deleted files, in order; they include files that were missing already.

    Raises:
        PermissionError: no file of a stage may be deleted; the stages after it were not begun.
        StorageError: the storage failed; files of the stage may or may not be deleted.
    """
    deleted = delete_stages(table, deletion.stages())
    if table.settings.retention.snapshot_clean_empty_directories:
        delete_empty_directories(table, deletion.places())
    return deleted


def delete_stages(table: Table, stages: Iterable[Sequence[str]]) -> list[str]:
    """Deletes files; a stage begins when the one before is complete. Missing files are no error.

    A file that the store refuses to delete does not stop the work: a warning is logged, the file is left as an orphan,
    and a later removal of orphan files tries again. If the store refuses all files of a stage, that is an error.

    Returns:
        The paths of the deleted files, in order; they include files that were missing already.

    Raises:
        PermissionError: no file of a stage may be deleted; the stages after it were not begun.
        StorageError: the storage failed; files of the stage may or may not be deleted, later stages were not begun.
    """
    far, most, deleted = is_far(table.location), file_threads(table), list[str]()
    delete, each = partial(_delete, table.file_io), _BULK if far else _NEAR
    for stage in stages:
        paths = list(dict.fromkeys(stage))
        pieces = [paths[start : start + each] for start in range(0, len(paths), each)]
        refused = _merge_refusals(map_near_or_far(delete, pieces, far, most))
        if refused:
            first = next(iter(refused.values()))
            if len(refused) == len(paths):
                raise first
            _log.warning("%d files of %s cannot be deleted and stay: %s", len(refused), table.location, first)
        deleted += [path for path in paths if path not in refused]
    return deleted


def _delete(file_io: FileIO, paths: Sequence[str]) -> dict[str, PermissionError]:
    """Deletes files; returns the refused ones with their errors. If a bulk request fails, each file is tried alone."""
    try:
        file_io.delete_many(paths)
        return {}
    except OSError as error:
        _log.debug("deleting %d files one by one after: %s", len(paths), error)
    refused = {}
    for path in paths:
        try:
            file_io.delete(path)
        except PermissionError as error:
            refused[path] = error
    return refused


def _merge_refusals(pieces: Iterable[dict[str, PermissionError]]) -> dict[str, PermissionError]:
    return {path: error for piece in pieces for path, error in piece.items()}


def delete_empty_directories(table: Table, places: Iterable[StoredPlace]) -> None:
    """Removes the directories of buckets and partitions that are empty, the deepest first.

    Raises:
        StorageError: the storage failed; empty directories that are left do no harm.
    """
    level = sorted({bucket_directory(table, *place) for place in places})
    remove, far, most = partial(remove_directory, table.file_io), is_far(table.location), file_threads(table)
    for _ in range(1 + len(table.schema.partition_fields)):
        gone = map_near_or_far(remove, level, far, most)
        level = sorted({path.rpartition("/")[0] for path, is_gone in zip(level, gone, strict=True) if is_gone})


def remove_directory(file_io: FileIO, path: str) -> bool:
    """Removes a directory if it is empty. False: it still exists, perhaps because the store refuses to remove it.

    Raises:
        StorageError: the storage failed.
    """
    try:
        return file_io.remove_empty_directory(path)
    except PermissionError as error:
        _log.warning("the empty directory %s cannot be removed and stays: %s", path, error)
        return False


def file_threads(table: Table) -> int:
    """The number of threads that read or delete files of a table."""
    return table.settings.files.operation_thread_num or _THREADS
