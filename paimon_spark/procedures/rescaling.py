"""Other files for the same rows: another number of buckets, other file indexes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.procedure import TABLE, Argument, ChosenPartitions, Procedure
from paimon_spark.store.compact.partition_choice import chosen_partitions
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rescale.rescale import RescaleResult, rescale
from paimon_spark.store.upkeep.maintenance import maintain
from paimon_spark.store.upkeep.rewrite_indexes import RewriteFileIndexResult, rewrite_file_index


@dataclass(frozen=True)
class Rescale(Procedure[RescaleResult]):
    """Writes the rows of partitions again, into another number of buckets, in one snapshot.

    Partitions that have this number are left alone. If all partitions are meant, the option `bucket` of the table is
    changed too, so that writes go on with the new number; else it is not, and the partitions can be written to when the
    option says the same. Partitions with postponed buckets keep the number they are given.

    Raises:
        CommitConflict: another job has changed a partition concurrently; nothing was replaced.
        OptionError: a table with postponed buckets is given no number, or both a condition and partitions are given.
        PaimonError: the table has no number of buckets to change, the condition does not fit, or the commit failed.
    """

    official = (TABLE, "bucket_num", "partitions", "where")

    buckets: Annotated[
        int | None,
        Argument(
            "the number of buckets, at least 1; else what the option `bucket` says, which a table with postponed "
            "buckets cannot do.",
            sql="bucket_num",
            at_least=1,
        ),
    ] = None
    where: Annotated[
        str | None, Argument("a condition on partition columns, such as dt < '2026-11-01'; else all partitions.")
    ] = None
    partitions: ChosenPartitions = None

    def perform(self, table: Table, engine: Engine) -> RescaleResult:
        where = chosen_partitions(table, self.where, self.partitions)
        result = rescale(table, self.buckets, where, engine.rewrite)
        maintain(table)
        return result


@dataclass(frozen=True)
class RewriteFileIndex(Procedure[RewriteFileIndexResult]):
    """Gives data files the indexes that the options `file-index.*` ask for: files that were written without, too.

    The data files stay as they are. Indexes that the options no longer ask for are taken away.

    Raises:
        OptionError: an option of indexes is not valid, or the condition is not on partition columns.
        PaimonError: the condition does not fit, or the commit failed.
    """

    official = (TABLE, "where")

    where: Annotated[
        str | None, Argument("a condition on partition columns, such as dt < '2026-11-01'; else all partitions.")
    ] = None

    def perform(self, table: Table, engine: Engine) -> RewriteFileIndexResult:
        result = rewrite_file_index(table, self.where, engine.build_indexes)
        maintain(table)
        return result
