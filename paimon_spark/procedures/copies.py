"""Another table of the same rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.procedure import Argument, Procedure
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.copy_files import CopyResult, copy_table


@dataclass(frozen=True)
class Copy(Procedure[CopyResult]):
    """Copies the latest state to another table, file by file, in one snapshot there.

    A target that is not there is made, with the schemas and options of this table, but for those that name places or
    branches. In one that is there the partitions are replaced that have rows here; all of it if it has no partition
    columns, or `dynamic-partition-overwrite` is false.

    Raises:
        OptionError, PredicateError: the condition does not fit, the target lies in this table, or an option chooses a
            snapshot.
        SchemaError: the target does not fit, or something else is there.
        UnsupportedFeature: the target could not be written, or there are files of a kind that is not copied.
        CorruptFile: a file of this table is missing or not what it should be.
    """

    official = ("source_table", "target_table", "where")

    target: Annotated[
        str,
        Argument(
            "the directory of the other table, in this store or in another.", sql="target_table", names_table=True
        ),
    ]
    where: Annotated[
        str | None, Argument("a condition on partition columns, such as dt < '2026-11-01'; else all partitions.")
    ] = None
    options: Annotated[
        Mapping[str, str], Argument("storage options of the target, where they differ from those of this table.")
    ] = field(default_factory=dict)
    distributed: Annotated[
        bool | None, Argument("whether Spark tasks copy, or this process; else as much as there is decides.")
    ] = None

    def perform(self, table: Table, engine: Engine) -> CopyResult:
        copy_all = partial(engine.copy_files, distributed=self.distributed)
        return copy_table(table, self.target, self.where, self.options, copy_all)
