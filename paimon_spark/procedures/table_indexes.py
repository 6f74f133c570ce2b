"""Indexes of a whole table: made and dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.procedure import OPTIONS, TABLE, Argument, ChosenPartitions, DryRun, Procedure
from paimon_spark.store.compact.partition_choice import chosen_partitions
from paimon_spark.store.compact.plan import partition_condition
from paimon_spark.store.indexing.indexes import (
    CreateGlobalIndexResult,
    DropGlobalIndexResult,
    create_global_index,
    drop_global_index,
)
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.maintenance import maintain


@dataclass(frozen=True)
class CreateGlobalIndex(Procedure[CreateGlobalIndexResult]):
    """Makes an index of the whole table over a column, for tables with data evolution.

    Rows that are in the index already are passed over: call it again for rows that have come since.

    Raises:
        OptionError: there is no such column, or the partitions do not fit.
        UnsupportedFeature: no such index is made, or the table cannot have one.
        CommitConflict: another job has changed the column concurrently; nothing was committed.
        PaimonError: the table cannot be written, or the commit failed.
    """

    official = (TABLE, "index_column", "index_type", "partitions", OPTIONS)

    index_column: Annotated[str, Argument("the name of the column.")]
    index_type: Annotated[
        str,
        Argument(
            "btree, for columns of many values, or bitmap, for columns of few; for searches of vectors ivf-flat, "
            "ivf-pq, ivf-sq, ivf-rq or diskann; for searches of texts full-text."
        ),
    ]
    partitions: ChosenPartitions = None

    def perform(self, table: Table, engine: Engine) -> CreateGlobalIndexResult:
        condition = _condition(table, self.partitions)
        result = create_global_index(table, self.index_column, self.index_type, condition, engine.build_table_index)
        maintain(table)
        return result


@dataclass(frozen=True)
class DropGlobalIndex(Procedure[DropGlobalIndexResult]):
    """Drops an index of the whole table, or its files in some partitions.

    An index of any type can be dropped, also one that this release does not make. The files are deleted when the
    snapshots before it expire.

    Raises:
        OptionError: there is no such column, or the partitions do not fit.
        PaimonError: the table cannot be written, or the commit failed.
    """

    official = (TABLE, "index_column", "index_type", "partitions", "dry_run")

    index_column: Annotated[str, Argument("the name of the column, or the names of several with commas.")]
    index_type: Annotated[str, Argument("the type of the index.")]
    partitions: ChosenPartitions = None
    dry_run: DryRun = False

    def perform(self, table: Table, engine: Engine) -> DropGlobalIndexResult:
        condition = _condition(table, self.partitions)
        result = drop_global_index(table, self.index_column, self.index_type, condition, self.dry_run)
        if result.snapshot_id is not None:
            maintain(table)
        return result


def _condition(table: Table, partitions: ChosenPartitions) -> Predicate:
    blank = isinstance(partitions, str) and not partitions.strip()
    return partition_condition(table, chosen_partitions(table, None, None if blank else partitions))
