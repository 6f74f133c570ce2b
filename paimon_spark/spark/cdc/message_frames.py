"""DataFrames of messages, of messages with their tables, and of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from paimon_spark.arrow.conform import conform_batch
from paimon_spark.cdc.batches.decoding import Decoding
from paimon_spark.cdc.batches.inferred_columns import InferredColumns, inferred_columns
from paimon_spark.cdc.batches.messages import MESSAGE_COLUMNS
from paimon_spark.cdc.batches.routed import COLUMNS, DATABASE, KEYS, PROBLEM, TABLE, route_batches
from paimon_spark.cdc.batches.rows import decode_batches
from paimon_spark.errors import DataError
from paimon_spark.spark.adapters.batches import spark_arrow_schema
from paimon_spark.spark.adapters.errors import plainly
from paimon_spark.spark.adapters.types import nullable, spark_schema

_TEXT = st.StringType()
_ROUTE = (
    st.StructField(DATABASE, _TEXT),
    st.StructField(TABLE, _TEXT),
    st.StructField(COLUMNS, _TEXT),
    st.StructField(KEYS, st.ArrayType(_TEXT)),
    st.StructField(PROBLEM, _TEXT),
)


def message_columns(messages: DataFrame) -> DataFrame:
    """The columns of messages that the decoders know; rows of a batch without offsets are counted.

    Raises:
        DataError: there are no values of messages.
    """
    known = [name for name in MESSAGE_COLUMNS if name in messages.columns]
    if "value" not in known:
        raise DataError(
            f"the messages of a DataFrame are in its column 'value', found {', '.join(messages.columns)}; select it "
            "with its key, topic, partition and offset as Spark's Kafka source has them"
        )
    if "offset" not in known and not messages.isStreaming:
        return messages.select(*known, sf.monotonically_increasing_id().alias("offset"))
    return messages.select(*known)


def decoded_frame(messages: DataFrame, decoding: Decoding) -> DataFrame:
    """The rows of messages."""
    schema = nullable(spark_schema(decoding.all_fields))
    arrow = spark_arrow_schema(schema)

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in decode_batches(batches, decoding):
            yield conform_batch(batch, arrow)

    return messages.mapInArrow(plainly(task), schema)


def routed_frame(messages: DataFrame, decoding: Decoding) -> DataFrame:
    """The messages that change rows, with the table that each is of and what it tells of its columns."""
    schema = nullable(st.StructType([*messages.schema.fields, *_ROUTE]))
    arrow = spark_arrow_schema(schema)

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in route_batches(batches, decoding):
            yield conform_batch(batch, arrow)

    return messages.mapInArrow(plainly(task), schema)


def columns_of_messages(routed: DataFrame) -> list[InferredColumns]:
    """The columns that messages of one table have, each text of them once, in the order in which they came first."""
    first = sf.min("offset") if "offset" in routed.columns else sf.min(COLUMNS)
    rows = routed.where(sf.col(PROBLEM).isNull()).groupBy(COLUMNS).agg(first.alias("first")).orderBy("first").collect()
    return [inferred_columns(row[COLUMNS]) for row in rows]
