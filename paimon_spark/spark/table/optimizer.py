"""Compaction and sorting, with a condition that is given before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.format.options.foreign_names import ForeignNames
from paimon_spark.procedures.compaction import Compact
from paimon_spark.procedures.documentation import documented
from paimon_spark.store.compact.compaction import CompactResult
from paimon_spark.store.compact.partition_choice import Partitions
from paimon_spark.store.history.tags import Duration


@checks_arguments
class TableOptimizer(ForeignNames):
    """Compacts or sorts a table; made by ``PaimonTable.optimize()``."""

    def __init__(self, run: Callable[[Compact], CompactResult], where: str | None = None) -> None:
        """
        Args:
            run: compacts the table as it is then.
            where: a condition on partition columns, for calls that give none.
        """
        self._run = run
        self._where = where

    def where(self, condition: str) -> TableOptimizer:
        """Only the partitions for which an SQL condition on partition columns is true."""
        return TableOptimizer(self._run, condition)

    def executeCompaction(self) -> CompactResult:
        """Compacts with the defaults of ``compact``."""
        return self.compact()

    @documented(Compact)
    def compact(
        self,
        where: str | None = None,
        full: bool | None = None,
        partitions: Partitions | None = None,
        order_strategy: str = "none",
        order_by: str | Sequence[str] | None = None,
        partition_idle_time: Duration | None = None,
    ) -> CompactResult:
        where = where or self._where
        return self._run(Compact(where, full, partitions, order_strategy, order_by, partition_idle_time))

    def executeOrderBy(self, *columns: str) -> CompactResult:
        """Sorts the rows of each partition by columns, one after the other; see ``compact``."""
        return self._sorted("order", columns)

    def executeZOrderBy(self, *columns: str) -> CompactResult:
        """Sorts the rows of each partition along a z-order of columns; see ``compact``."""
        return self._sorted("zorder", columns)

    def executeHilbertOrderBy(self, *columns: str) -> CompactResult:
        """Sorts the rows of each partition along a Hilbert curve of columns; see ``compact``."""
        return self._sorted("hilbert", columns)

    def _sorted(self, strategy: str, columns: Sequence[str]) -> CompactResult:
        return self.compact(order_strategy=strategy, order_by=columns)
