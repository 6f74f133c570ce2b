"""What takes rows out of a table: all of them, those of partitions, or those of files that storage has lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.procedure import TABLE, Absent, Argument, Procedure
from paimon_spark.store.clean.lost_files import RemoveUnexistingFilesResult, remove_unexisting_files
from paimon_spark.store.clean.purge import PurgeFilesResult, purge_files
from paimon_spark.store.clean.truncate import TruncateResult, drop_partitions, truncate_table
from paimon_spark.store.holds.retention import Moment
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.maintenance import maintain


@dataclass(frozen=True)
class Truncate(Procedure[TruncateResult]):
    """Takes all rows away in one snapshot, also those that come in concurrently.

    The files go when the snapshots before it expire.

    Raises:
        OptionError: an option chooses a snapshot.
        UnsupportedFeature: the table cannot be written.
    """

    def perform(self, table: Table, engine: Engine) -> TruncateResult:
        result = truncate_table(table)
        maintain(table)
        return result


@dataclass(frozen=True)
class DropPartitions(Procedure[TruncateResult]):
    """Takes the rows of some partitions away in one snapshot, also those that come in concurrently.

    The files go when the snapshots before it expire.

    Raises:
        PredicateError: the condition does not fit the table.
        OptionError: it looks at columns that are not partition columns, or an option chooses a snapshot.
        UnsupportedFeature: the table cannot be written.
    """

    where: Annotated[str, Argument("a condition on partition columns, such as dt < '2026-11-01'.")]

    def perform(self, table: Table, engine: Engine) -> TruncateResult:
        result = drop_partitions(table, self.where)
        maintain(table)
        return result


@dataclass(frozen=True)
class RemoveUnexistingFiles(Procedure[RemoveUnexistingFilesResult]):
    """Takes the data files out of the table that storage has lost, and with them their rows, in one snapshot.

    Files that another job takes out concurrently are left to it. Older snapshots and tags stay as they are. In a table
    with a primary key, the rows that the lost ones had replaced or deleted are read again: write the newer ones once
    more.

    Raises:
        StorageError: the storage could not say of every file whether it is there; nothing was changed.
        CorruptFile: metadata of the table are lost or damaged too; nothing was changed.
        OptionError: an option chooses a snapshot.
        UnsupportedFeature: the table cannot be written.
    """

    official = (TABLE, "dry_run", "parallelism")
    absent: ClassVar[Mapping[str, Absent]] = {"parallelism": Absent("the number of threads is fixed", is_speed=True)}

    dry_run: Annotated[bool, Argument("whether only to tell which they are.", sql_default=False)] = True

    def perform(self, table: Table, engine: Engine) -> RemoveUnexistingFilesResult:
        found = remove_unexisting_files(table, self.dry_run)
        if found.snapshot_id is not None:
            maintain(table)
        return found


@dataclass(frozen=True)
class PurgeFiles(Procedure[PurgeFilesResult]):
    """Empties the table for good: rows, older snapshots, branches, tags, consumers and changelogs all go.

    The schema stays, and with it the options; the table can be written on. There is no way back.

    Raises:
        UnsupportedFeature: the table is opened on another branch, or cannot be written.
        OptionError: the table reads from one of its branches, or the time is not past; nothing was changed.
        CorruptFile: metadata of a branch are damaged; nothing was changed. Of the main branch: some steps were done.
        StorageError: the storage failed; purge the table again to finish.
    """

    official = (TABLE,)

    orphans_older_than: Annotated[
        Moment | None, Argument("files that nothing names go too when they are older than this; else than one day.")
    ] = None
    dry_run: Annotated[bool, Argument("whether only to tell what would go, orphans left out.")] = False

    def perform(self, table: Table, engine: Engine) -> PurgeFilesResult:
        return purge_files(table, self.orphans_older_than, self.dry_run)
