"""Another number of buckets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.procedure import TABLE, Argument, Procedure
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rescale.rescale import RescaleResult, rescale
from paimon_spark.store.upkeep.maintenance import maintain


@dataclass(frozen=True)
class Rescale(Procedure[RescaleResult]):
    """Writes the rows of partitions again, into another number of buckets, in one snapshot.

    Partitions that have this number are left alone. Without a condition the option `bucket` of the table is changed
    too, so that writes go on with the new number; with one it is not, and the partitions can be written to when the
    option says the same. Partitions with postponed buckets keep the number they are given.

    Raises:
        CommitConflict: another job has changed a partition meanwhile; nothing was replaced.
        PaimonError: the table has no number of buckets to change, the condition does not fit, or the commit failed.
    """

    official = (TABLE, "bucket_num", "partitions", "where")

    buckets: Annotated[int, Argument("the number of buckets, at least 1.", sql="bucket_num", at_least=1)]
    where: Annotated[
        str | None, Argument("a condition on partition columns, such as dt < '2026-11-01'; else all partitions.")
    ] = None

    def run(self, table: Table, engine: Engine) -> RescaleResult:
        result = rescale(table, self.buckets, self.where, engine.rewrite)
        maintain(table)
        return result
