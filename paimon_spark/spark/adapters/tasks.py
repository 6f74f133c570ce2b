"""What tasks get from Spark, and what those of a write job hand to the driver."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, TypeAlias, TypeVar, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from paimon_spark.spark.adapters.decimals import FromIntegers, as_integers, short_decimals, with_integers
from paimon_spark.spark.adapters.errors import Function, plainly
from paimon_spark.spark.adapters.worker_connections import acknowledge
from paimon_spark.store.metadata.messages import CommitMessage

Task: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""A function for mapInArrow."""

Piece = TypeVar("Piece")
Work: TypeAlias = Callable[[Piece], Iterator[pa.RecordBatch]]

_NUMBER_BYTES = 8
_LARGE = 2**30
"""Bytes: larger sizes need not be distinguished, and counting to the end of the range takes time."""
_MESSAGES = "messages"
MESSAGE_ROWS = f"{_MESSAGES} binary"
"""The Spark schema of message_rows."""


def in_worker(function: Function) -> Function:
    """A function that Spark calls in a Python worker; what it raises is as of ``plainly``."""

    @wraps(function)
    def call(*args: Any) -> Any:
        acknowledge()
        return function(*args)

    return plainly(cast(Function, call))


def one_a_task(spark: SparkSession, things: Sequence[object]) -> DataFrame:
    """A row for each of the things, pickled, in a Spark partition of its own.

    Spark's round robin gives some tasks two of them, and others none.
    """
    numbered = [(number, pickle.dumps(thing)) for number, thing in enumerate(things)]
    rows = spark.createDataFrame(numbered, "number int, thing binary")
    return rows.repartitionById(len(numbered), sf.col("number")).select("thing")


def by_number(rows: DataFrame, column: str, tasks: int) -> DataFrame:
    """The rows in so many tasks, those of a number in one; a hash of it would give some tasks several, and others none.

    Args:
        column: with whole numbers from 0 on.
    """
    return rows.repartitionById(tasks, (sf.col(column) % tasks).cast("int"))


def rows_of_tasks(
    spark: SparkSession,
    pieces: Sequence[Piece],
    work: Work[Piece],
    schema: StructType,
    size: int,
    from_integers: FromIntegers | None = None,
) -> DataFrame:
    """The rows that tasks make, each of one of the pieces.

    Spark chooses a join by the sizes of both sides. It takes the rows of a function to be as large as what the function
    is given, and those of a Python data source to be larger than any other. So each task is given one number of a range
    that is as large as the rows will be; a filter, which does not count in such estimates, drops the other numbers.

    Args:
        spark: the session.
        pieces: picklable, at least one.
        work: makes batches of the schema of a piece; it runs in a task.
        schema: of the rows.
        size: of all rows in bytes, about.
        from_integers: takes short decimals as integers; None: they go as decimals.
    """
    pieces = list(pieces)
    step = max(min(size, _LARGE) // (_NUMBER_BYTES * len(pieces)), 1)
    decimals = short_decimals(schema) if from_integers is not None else {}

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():  # one
                for made in work(pieces[number // step]):
                    yield as_integers(made, decimals)

    numbers = spark.range(0, len(pieces) * step, 1, len(pieces))
    chosen = numbers.where(f"id % {step} = 0")
    if from_integers is None or not decimals:
        return chosen.mapInArrow(in_worker(task), schema)
    return from_integers(chosen.mapInArrow(in_worker(task), with_integers(schema)), schema)


def with_plain_names(df: DataFrame) -> DataFrame:
    """The DataFrame with column names that mapInArrow does not trip over, as it does over dots and backquotes."""
    return df.toDF(*(f"c{i}" for i in range(len(df.columns))))


def with_given_names(batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """The columns that the DataFrame had before with_plain_names, without those that were added behind them."""
    return batch.select(range(len(names))).rename_columns(names)


def message_rows(messages: Sequence[CommitMessage]) -> Iterator[pa.RecordBatch]:
    """What a task hands to the driver."""
    if messages:
        yield pa.RecordBatch.from_arrays([pa.array([packed(messages)], pa.binary())], names=[_MESSAGES])


def packed(messages: Sequence[CommitMessage]) -> bytes:
    """Messages as a value of a row that a task hands to the driver."""
    return pickle.dumps(list(messages))


def unpacked(value: bytes) -> list[CommitMessage]:
    """The messages that a task of this job has packed."""
    found: list[CommitMessage] = pickle.loads(value)
    return found


def collect_messages(tasks: DataFrame) -> list[CommitMessage]:
    """Runs the tasks, whose rows are MESSAGE_ROWS."""
    return [message for row in tasks.collect() for message in unpacked(row[_MESSAGES])]


def run_here(task: Task, rows: pa.Table) -> Iterator[CommitMessage]:
    """Runs a task that makes message_rows in this process, on all its rows in one batch."""
    for batch in task(iter(rows.combine_chunks().to_batches())):
        for row in batch.column(0).to_pylist():
            yield from unpacked(row)
