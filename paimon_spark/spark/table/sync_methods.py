"""What PaimonTable does with changes from elsewhere: it follows them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Unpack

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from paimon_spark.cdc.batches.decoding import DecodingOptions, decoding_of
from paimon_spark.spark.adapters.dataframes import Rows
from paimon_spark.spark.adapters.errors import named_batch
from paimon_spark.spark.adapters.options import path_in_session
from paimon_spark.spark.cdc.table_sync import Once, SyncPlan, check_stream, sync_batch
from paimon_spark.spark.stream_sink.query import StreamIdentity
from paimon_spark.spark.write.write_job import WriteResult
from paimon_spark.store.open import ReadableTable

_NO_OPTIONS: Mapping[str, str] = {}


class SyncMethods(ABC):
    """Changes captured in a database, written to the table."""

    _spark: SparkSession
    _path: str
    _options: Mapping[str, str]

    @abstractmethod
    def __init__(self, spark: SparkSession, path: str, options: Mapping[str, str] = _NO_OPTIONS) -> None: ...

    @abstractmethod
    def _open(self) -> ReadableTable: ...

    @abstractmethod
    def append(
        self,
        df: Rows,
        options: Mapping[str, str] = _NO_OPTIONS,
        once: Once | None = None,
        once_skips_older: bool = False,
    ) -> WriteResult: ...

    def sync(
        self,
        rows: DataFrame,
        format: str | None = None,
        *,
        checkpoint: str | None = None,
        options: Mapping[str, str] = _NO_OPTIONS,
        dead_letters: str | None = None,
        once: Once | None = None,
        **decoding: Unpack[DecodingOptions],
    ) -> WriteResult | DataStreamWriter:
        """Makes the table what a database has become: inserts, updates and deletes, in the order of their messages.

        The columns follow: the table gets new ones, and wider types. Other changes of types are refused by name. Rows
        as they were before an update are written only where the table needs them (aggregations, the changelog
        producer `input`).

        Args:
            rows: what ``paimon_spark.cdc.decode`` made, or, with `format`, the messages themselves.
            format: the format of the messages. Then the table follows the columns and types that they tell; ``decode``
                has them fixed when a stream starts.
            checkpoint: of a stream, the directory of its option checkpointLocation; each batch is written once.
            options: of the writes.
            dead_letters: the path of a table for malformed messages, made when the first comes: error, topic,
                partition, offset, key, value. None: a malformed message is an error.
            once: for a batch that is written in one's own foreachBatch: a name and the number of the batch, as for
                ``append``.
            decoding: with `format`, arguments of ``decode``: computed, metadata, metadata_prefix, case_sensitive,
                ignore, type_mapping, binary, time_unit, time_zone.

        Returns:
            For a batch what was written; for a stream Spark's writer, to be started:
            ``table.sync(rows, checkpoint="/ck").trigger(availableNow=True).start()``.

        Raises:
            OptionError: an argument does not fit.
            PaimonError: a message is malformed, or the changes do not fit the table.
        """
        plan = self._plan(format, options, decoding)
        check_stream(rows, checkpoint)
        if not rows.isStreaming:
            return _run(type(self), self._spark, self._path, self._options, rows, plan, dead_letters, once)
        made, path, opened_with, identity = type(self), self._path, self._options, StreamIdentity(checkpoint)

        def batch(frame: DataFrame, number: int) -> None:
            spark = frame.sparkSession
            name = (identity.query(spark), number)
            with named_batch(number, path):
                _run(made, spark, path, opened_with, frame, plan, dead_letters, name)

        return rows.writeStream.foreachBatch(batch).option("checkpointLocation", checkpoint or "")

    def _plan(self, format: str | None, options: Mapping[str, str], decoding: DecodingOptions) -> SyncPlan:
        zone = self._spark.conf.get("spark.sql.session.timeZone") or "UTC"
        return SyncPlan(None if format is None else decoding_of(format, decoding, zone), options)


@dataclass(frozen=True)
class TableTarget:
    """A table object, as what writes a batch needs it."""

    table: SyncMethods

    def open(self) -> ReadableTable:
        return self.table._open()

    def append(self, rows: DataFrame, options: Mapping[str, str], once: Once | None) -> WriteResult:
        return self.table.append(rows, options, once)


def _run(
    made: type[SyncMethods],
    spark: SparkSession,
    path: str,
    opened_with: Mapping[str, str],
    rows: DataFrame,
    plan: SyncPlan,
    dead_letters: str | None,
    once: Once | None,
) -> WriteResult:
    """One batch, with the table opened in the session that runs it: on Spark Connect this is another process."""
    target = TableTarget(made(spark, path, opened_with))
    place = None if dead_letters is None else path_in_session(spark, dead_letters)
    letters = None if place is None else TableTarget(made(spark, place, opened_with))
    return sync_batch(rows, plan, target, letters, once)
