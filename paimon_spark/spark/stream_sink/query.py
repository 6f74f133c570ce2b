"""Who writes: the id of a streaming query and its batch, from where Spark shows them.

Spark tells a sink neither. But the tasks of a batch see the id, and the checkpoint holds it: the id is new when the
checkpoint is, and stays when the checkpoint is moved.

A stream whose batches are given to a function is the query id in its checkpoint, the same after each restart. On
Spark Connect the function runs in a process of its own on the server, which no query can be seen from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from paimon_spark.errors import OptionError, PaimonError
from paimon_spark.file_io import absolute_location, file_io_for, is_same_store
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.metadata.table_options import split_storage_options

QUERY_ID = "sql.streaming.queryId"
_RUN_ID = "spark.jobGroup.id"  # Spark groups the jobs of a run by its id
_BATCH_ID = "streaming.sql.batchId"
_CUT = "batchTimestampMs"


def task_query() -> tuple[str, int]:
    """The id of the query and the number of the batch, of the task that runs here.

    Raises:
        OptionError: Spark does not show them.
    """
    context = TaskContext.get()
    query, batch = (None, None) if context is None else map(context.getLocalProperty, (QUERY_ID, _BATCH_ID))
    if not query or not batch:
        raise OptionError(
            "Spark does not show its tasks which streaming query they belong to; give the stream a name with the "
            "option 'write.stream.commit-user'"
        )
    return query, int(batch)


def local_query(spark: SparkSession) -> str | None:
    """The id of the query whose batch the thread runs, as classic Spark tells; None: Connect, or no stream."""
    context = getattr(spark, "_sc", None)
    found: str | None = None if context is None else context.getLocalProperty(QUERY_ID)
    return found


def local_run(spark: SparkSession) -> str | None:
    """What tells a run of a query from its other runs, as classic Spark tells; None: Connect, or no stream."""
    context = getattr(spark, "_sc", None)
    found: str | None = None if context is None else context.getLocalProperty(_RUN_ID)
    return found


def compute(rows: DataFrame) -> None:
    """Computes the rows of a batch that is not written again: a stateful query keeps its state only by that."""
    rows.write.format("noop").mode("append").save()


def checkpoint_query(table: Table, checkpoint: str | None, options: Mapping[str, str]) -> str | None:
    """The id of the query in its checkpoint, for a batch without tasks; None: it cannot be read from here."""
    found = _values(table, f"{checkpoint}/metadata", options) if checkpoint else {}
    return found.get("id")


def batch_cut(table: Table, checkpoint: str | None, batch: int, options: Mapping[str, str]) -> int | None:
    """When Spark cut a batch, which a replay has in common with it, in epoch milliseconds; None: cannot be read."""
    found = _values(table, f"{checkpoint}/offsets/{batch}", options) if checkpoint else {}
    cut = found.get(_CUT)
    return cut if isinstance(cut, int) else None


def finished_batch(checkpoint: str | None, location: str, options: Mapping[str, str]) -> int | None:
    """The number of the last batch that a query has finished; None: there is none, or it cannot be read from here.

    Args:
        checkpoint: of the query.
        location: of its table, of which the options of the storage are.
        options: of the stream.
    """
    if not checkpoint or not (is_same_store(checkpoint, "/") or is_same_store(checkpoint, location)):
        return None
    storage, _ = split_storage_options(options)
    try:
        found = file_io_for(checkpoint, storage).list(absolute_location(f"{checkpoint.rstrip('/')}/commits"))
    except (OSError, PaimonError):
        return None  # the caller goes on without
    names = (entry.path.rpartition("/")[2] for entry in found)
    return max((int(name) for name in names if name.isdecimal()), default=None)


def _values(table: Table, path: str, options: Mapping[str, str]) -> Mapping[str, Any]:
    """The values of all JSON objects that are lines of a file of Spark, if this process can read it cheaply."""
    if not (is_same_store(path, "/") or is_same_store(path, table.location)):
        return {}  # who knows how long an unknown store lets us wait
    storage, _ = split_storage_options(options)
    try:
        data = file_io_for(path, storage).read_bytes(absolute_location(path))
    except (OSError, PaimonError):
        return {}  # the caller goes on without
    values: dict[str, Any] = {}
    for line in data.decode("utf-8", "replace").splitlines():
        if line.startswith("{"):
            try:
                values |= {key: value for key, value in json.loads(line).items() if key in ("id", _CUT)}
            except ValueError:
                return {}
    return values


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
