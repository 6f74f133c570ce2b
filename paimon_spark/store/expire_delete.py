"""Deleting files in bulk, in parallel, stage by stage (Java: FileDeletionBase, the deleting half)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from paimon_spark.file_io import FileIO
from paimon_spark.spec import options as o
from paimon_spark.store.expire_files import Place
from paimon_spark.store.file_paths import bucket_directory
from paimon_spark.store.table import Table

THREADS = 8
_BULK = 500  # files of one request, where the store takes several


def delete_stages(table: Table, stages: Iterable[Sequence[str]]) -> list[str]:
    """Deletes files; a stage begins when the one before is done. Absent files are fine.

    Returns:
        The paths, in order.

    Raises:
        OSError: a file could not be deleted. The rest of its stage is gone, the stages after it were not begun.
    """
    deleted: list[str] = []
    with ThreadPoolExecutor(table.options.value(o.FILE_OPERATION_THREAD_NUM) or THREADS) as threads:
        for stage in stages:
            paths = list(dict.fromkeys(stage))
            pieces = [paths[start : start + _BULK] for start in range(0, len(paths), _BULK)]
            errors = [job.exception() for job in [threads.submit(table.file_io.delete_many, p) for p in pieces]]
            for error in errors:
                if error is not None:
                    raise error
            deleted += paths
    return deleted


def delete_empty_directories(table: Table, places: Iterable[Place]) -> None:
    """Removes the directories of buckets and partitions that hold nothing any more, the deepest first.

    Raises:
        OSError: the storage failed; an empty directory harms nobody.
    """
    file_io = table.file_io
    levels: list[set[str]] = [set() for _ in table.schema.partition_fields]
    buckets = sorted({bucket_directory(table, *place) for place in places})
    for bucket in buckets:
        file_io.remove_empty_directory(bucket)
    for partition in sorted({_parent(bucket) for bucket in buckets} if levels else ()):
        if not file_io.remove_empty_directory(partition):
            continue
        for level in levels[1:]:
            partition = _parent(partition)
            level.add(partition)
    for level in levels[1:]:
        _remove_all(file_io, level)


def _remove_all(file_io: FileIO, directories: Iterable[str]) -> None:
    for directory in sorted(directories):
        file_io.remove_empty_directory(directory)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]
