"""Orphan files of big tables: directories are listed and files deleted by Spark tasks (Java: SparkOrphanFilesClean).

The driver reads the metadata, and keeps the names of the files. A storage error in a task is the same error here;
nothing is repeated by Spark because of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from paimon_spark.spark.jobs.spark_tasks import run_pieces
from paimon_spark.store.clean.orphans import ThreadedWork
from paimon_spark.store.clean.orphans_listing import Listing, StorageWork
from paimon_spark.store.metadata.table import Table

_DIRECTORIES = 256  # listed by one task
_FILES = 2000  # deleted by one task


@dataclass(frozen=True)
class SparkWork:
    """See StorageWork: by Spark tasks, on classic Spark and on Connect.

    Attributes:
        least_directories, least_files: less than that this process does itself.
    """

    spark: SparkSession
    table: Table
    least_directories: int = 1024
    least_files: int = 20_000
    directories_at_once: int = 50_000
    files_at_once: int = 200_000

    def listings(self, directories: Sequence[str]) -> list[Listing]:
        here = ThreadedWork(self.table)
        if len(directories) < self.least_directories:
            return here.listings(directories)
        found = self._run("list", directories, _DIRECTORIES, here.listings)
        return [listing for listings in found for listing in listings]

    def delete(self, paths: Sequence[str]) -> Sequence[str]:
        here = ThreadedWork(self.table)
        if len(paths) < self.least_files:
            return here.delete(paths)
        return [path for gone in self._run("delete", paths, _FILES, here.delete) for path in gone]

    def _run(self, what: str, paths: Sequence[str], piece: int, work: Callable[[Sequence[str]], Any]) -> list[Any]:
        """What the work gives for each piece of the paths. Errors: StorageError."""
        pieces = [paths[start : start + piece] for start in range(0, len(paths), piece)]
        return run_pieces(self.spark, pieces, work, f"{what} {len(paths)} paths of {self.table.location}")


def storage_work_with_spark(spark: SparkSession, table: Table, distributed: bool | None) -> StorageWork:
    """See StorageWork; distributed: whether Spark lists and deletes. None: where there is much of it."""
    if distributed is False:
        return ThreadedWork(table)
    return SparkWork(spark, table, 1, 1) if distributed else SparkWork(spark, table)
