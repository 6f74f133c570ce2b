"""Indexes of data files that are there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.procedure import TABLE, Argument, Procedure
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.maintenance import maintain
from paimon_spark.store.upkeep.rewrite_indexes import RewriteFileIndexResult, rewrite_file_index


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

    def run(self, table: Table, engine: Engine) -> RewriteFileIndexResult:
        result = rewrite_file_index(table, self.where, engine.build_indexes)
        maintain(table)
        return result
