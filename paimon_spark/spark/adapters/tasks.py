"""What tasks get from Spark, and what those of a write job hand to the driver."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from paimon_spark.store.metadata.messages import CommitMessage

Task: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""A function for mapInArrow."""

_MESSAGES = "messages"
MESSAGE_ROWS = f"{_MESSAGES} binary"
"""The Spark schema of message_rows."""


def one_a_task(spark: SparkSession, things: Sequence[object]) -> DataFrame:
    """A row for each of the things, pickled, in a Spark partition of its own.

    Spark's round robin gives some tasks two of them, and others none.
    """
    numbered = [(number, pickle.dumps(thing)) for number, thing in enumerate(things)]
    rows = spark.createDataFrame(numbered, "number int, thing binary")
    return rows.repartitionById(len(numbered), sf.col("number")).select("thing")


def with_plain_names(df: DataFrame) -> DataFrame:
    """The DataFrame with column names that mapInArrow does not trip over, as it does over dots and backquotes."""
    return df.toDF(*(f"c{i}" for i in range(len(df.columns))))


def with_given_names(batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """The columns that the DataFrame had before with_plain_names, without those that were added behind them."""
    return batch.select(range(len(names))).rename_columns(names)


def message_rows(messages: Sequence[CommitMessage]) -> Iterator[pa.RecordBatch]:
    """What a task hands to the driver."""
    if messages:
        yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(list(messages))], pa.binary())], names=[_MESSAGES])


def collect_messages(tasks: DataFrame) -> list[CommitMessage]:
    """Runs the tasks, whose rows are MESSAGE_ROWS."""
    return [message for row in tasks.collect() for message in pickle.loads(row[_MESSAGES])]
