"""A DELETE, UPDATE or MERGE of a session, done by Spark's tasks."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from paimon_spark.row_changes.attempts import RowChange, run_attempts
from paimon_spark.row_changes.read_table import ReadTable
from paimon_spark.row_changes.result import Outcome, RowChangeResult
from paimon_spark.spark.adapters.errors import job_errors, lost_kept_rows
from paimon_spark.spark.adapters.options import SESSION_ZONE
from paimon_spark.spark.jobs.compact_job import SparkRunner
from paimon_spark.spark.rows.target import Target
from paimon_spark.store.clean.truncate import TruncateResult

if TYPE_CHECKING:
    from paimon_spark.store.open import ReadableTable

_log = logging.getLogger(__name__)
MOST_LOSSES = 3
"""How often one attempt of a statement begins anew because an executor has died with its rows."""


@dataclass(frozen=True)
class Job:
    """A statement of a session.

    Attributes:
        spark: the session.
        change: the statement.
    """

    spark: SparkSession
    change: RowChange

    def run(
        self,
        write: Callable[[Target], Outcome | TruncateResult],
        by_metadata: Callable[[ReadableTable], bool] = lambda table: False,
    ) -> RowChangeResult:
        """Does the statement by Spark's tasks, in the time zone of the session; for the rest see run_attempts.

        Rows that Spark keeps between its jobs are lost with the executor that has them: then all is computed again.
        """
        zone = self.spark.conf.get(SESSION_ZONE)

        def opened() -> ReadableTable:
            return replace(self.change.open_table(), time_zone=zone)

        @job_errors()
        def write_target(read: ReadTable) -> Outcome | TruncateResult:
            losses = 0
            while True:
                try:
                    return write(Target(self.spark, read))
                except Exception as error:
                    losses += 1
                    if losses > MOST_LOSSES or not lost_kept_rows(error):
                        raise
                    _log.warning(
                        "%s of %s: an executor died that kept its rows; it is done again (%d of at most %d times)",
                        self.change.statement, self.change.name, losses, MOST_LOSSES,
                    )  # fmt: skip

        change = replace(self.change, open_table=opened)
        return run_attempts(change, partial(SparkRunner, self.spark), write_target, by_metadata)
