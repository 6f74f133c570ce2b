"""Who a stream is whose batches are given to a function: the query id in its checkpoint, the same after each restart.

On Spark Connect the function runs in a process of its own on the server, which no query can be seen from.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from paimon_spark.errors import OptionError
from paimon_spark.spark.stream_sink.query import local_query


@dataclass(frozen=True)
class StreamIdentity:
    """The identity of a query; picklable.

    Attributes:
        checkpoint: where the query keeps its state; None: not known.
        known: the id that the checkpoint had last. A writer may be started several times, and each start with a new
            checkpoint is another query, whose batches have the same numbers.
    """

    checkpoint: str | None
    known: list[str] = field(default_factory=list)

    def query(self, spark: SparkSession) -> str:
        """The id of the query; a batch of it must be running.

        Raises:
            OptionError: it cannot be found out, or the checkpoint is that of another query.
        """
        seen = local_query(spark)
        if self.checkpoint is None and seen is not None:
            return seen
        if not self.known or seen not in (None, self.known[0]):
            self.known[:] = [self._choose(spark, seen)]
        return self.known[0]

    def _choose(self, spark: SparkSession, seen: str | None) -> str:
        """The id that the checkpoint tells.

        Args:
            seen: what classic Spark tells; None: it tells nothing.
        """
        if self.checkpoint is None:
            raise OptionError(
                "Spark Connect does not show which query a batch belongs to: give the checkpoint, with checkpoint='...'"
            )
        named = _stored(spark, self.checkpoint)
        if seen not in (None, named):
            raise OptionError(
                f"the stream was given the checkpoint {self.checkpoint}, which is that of the query {named}, but this "
                f"query is {seen}: give the same checkpoint to both, or leave option('checkpointLocation') out"
            )
        return named


def _stored(spark: SparkSession, checkpoint: str) -> str:
    """The id in a checkpoint, read as Spark reads it, which reaches every storage that Spark does."""
    try:
        lines = spark.read.text(f"{checkpoint.rstrip('/')}/metadata").collect()
        found: str = json.loads(lines[0][0])["id"]
    except Exception as error:
        raise OptionError(
            f"the checkpoint '{checkpoint}' tells no query id ({type(error).__name__}): give the directory that the "
            "stream has as its option checkpointLocation"
        ) from error
    return found
