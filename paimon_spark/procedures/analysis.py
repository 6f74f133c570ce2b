"""Statistics of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.procedure import Argument, Procedure
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.analyze import AnalyzeResult, analyze


@dataclass(frozen=True)
class Analyze(Procedure[AnalyzeResult]):
    """Counts the rows that a read gives, and what is in columns, and keeps it in the table's statistics.

    The numbers of distinct values are estimates, as Spark's own ANALYZE makes them. Later snapshots keep the
    statistics until the schema changes; the system table ``$statistics`` shows them.

    Raises:
        OptionError: a column is not there, or an option chooses a snapshot.
        UnsupportedFeature: a column has a type without statistics, or the table cannot be written.
    """

    columns: Annotated[
        str | Sequence[str] | None,
        Argument(
            "the names of the columns; 'all' means every column, which must all be numbers, texts, times, booleans or "
            "binary; without it only the rows are counted."
        ),
    ] = None

    def perform(self, table: Table, engine: Engine) -> AnalyzeResult:
        return analyze(table, self.columns, partial(engine.count_columns, table))
