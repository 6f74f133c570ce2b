"""Files that nothing names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.procedure import TABLE, Absent, Argument, Procedure
from paimon_spark.store.clean.orphans import RemoveOrphanFilesResult, remove_orphan_files
from paimon_spark.store.holds.retention import Moment
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Progress


@dataclass(frozen=True)
class RemoveOrphanFiles(Procedure[RemoveOrphanFilesResult]):
    """Removes old files that no snapshot, tag, branch or changelog names, and empty old directories.

    All branches are looked at. External paths of the table must be its own: files of other tables there are orphans of
    this one.

    Raises:
        OptionError: the time is none, or not past.
        CorruptFile: metadata are damaged or missing; nothing was deleted.
        StorageError: the storage failed. While listing and reading nothing was deleted; else the next removal goes on.
    """

    official = (TABLE, "older_than", "dry_run", "parallelism", "mode")
    absent: ClassVar[Mapping[str, Absent]] = {
        "parallelism": Absent("file-operation.thread-num of the table says how many threads there are", is_speed=True)
    }

    older_than: Annotated[
        Moment | None,
        Argument(
            "only what was last changed before this time goes; else before one day ago. Leave more time than the "
            "longest job takes: what it has written, and not committed yet, is an orphan when it is old enough."
        ),
    ] = None
    dry_run: Annotated[bool, Argument("whether only to tell what would go.", sql_default=False)] = True
    distributed: Annotated[
        bool | None,
        Argument(
            "whether Spark tasks list and delete; else where there is much of it.",
            sql="mode",
            words={"distributed": True, "local": False},
        ),
    ] = None
    progress: Annotated[Progress | None, Argument("is told how far it is.", only_python=True)] = None

    def perform(self, table: Table, engine: Engine) -> RemoveOrphanFilesResult:
        work = engine.storage_work(table, self.distributed)
        return remove_orphan_files(table, self.older_than, self.dry_run, work, self.progress)
