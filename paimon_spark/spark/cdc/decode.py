"""Messages as rows, for DataFrames in a batch or in a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.types import StructType

from paimon_spark.arguments.checks import checked
from paimon_spark.arrow.conform import conform_batch
from paimon_spark.cdc.batches.decoding import Decoding
from paimon_spark.cdc.batches.inferred_columns import InferredColumns, fields_of, inferred_columns
from paimon_spark.cdc.batches.messages import MESSAGE_COLUMNS
from paimon_spark.cdc.batches.routing import COLUMNS, DATABASE, KEYS, PROBLEM, TABLE, route_batches
from paimon_spark.cdc.batches.rows import decode_batches
from paimon_spark.cdc.formats.mysql_types import type_mappings
from paimon_spark.cdc.formats.registry import message_format
from paimon_spark.errors import DataError, OptionError
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.batches import spark_arrow_schema
from paimon_spark.spark.adapters.live_session import check_frame
from paimon_spark.spark.adapters.options import SESSION_ZONE
from paimon_spark.spark.adapters.tasks import in_worker
from paimon_spark.spark.adapters.types import nullable, paimon_fields, spark_schema

_NO_NAMES: Sequence[str] = ()
_TEXT = st.StringType()
_ROUTE = (
    st.StructField(DATABASE, _TEXT),
    st.StructField(TABLE, _TEXT),
    st.StructField(COLUMNS, _TEXT),
    st.StructField(KEYS, st.ArrayType(_TEXT)),
    st.StructField(PROBLEM, _TEXT),
)


@checked
def decode(
    messages: DataFrame,
    format: str,
    schema: StructType | str | None = None,
    *,
    keys: Sequence[str] = _NO_NAMES,
    computed: Sequence[str] = _NO_NAMES,
    metadata: Sequence[str] = _NO_NAMES,
    metadata_prefix: str = "",
    case_sensitive: bool = True,
    dead_letters: bool = False,
    ignore: Sequence[str] = _NO_NAMES,
    type_mapping: Sequence[str] = _NO_NAMES,
    binary: str | None = None,
    time_unit: str | None = None,
    time_zone: str | None = None,
) -> DataFrame:
    """The changes of rows in messages: the columns, ``_row_kind`` (+I, -U, +U, -D), and what says their order.

    Messages that change no row (tombstones, heartbeats, transactions, schema changes) are ignored. A malformed message
    is an error, unless dead letters are kept.

    Args:
        messages: with the columns of Spark's Kafka source: `value`, as text or bytes, and if there are `key`, `topic`,
            `partition`, `offset`, `timestamp`. A batch without `offset` is in the order of its rows.
        format: ``debezium-json``, ``canal-json``, ``maxwell-json``, ``ogg-json`` or ``aws-dms-json``.
        schema: the columns, as a Spark schema or as text such as ``id INT, total DECIMAL(10, 2)``; other columns of the
            messages are left out. None: those that the messages of a batch tell; a stream needs them.
        keys: the columns of the primary key; else those that a message tells, or its key. An update that changes the
            key, or whose key is not known, comes as -D and +I.
        computed: columns made of others: ``day=date_format(at, yyyy-MM-dd)``; functions: year, month, day, hour,
            minute, second, date_format, substring, truncate, cast, upper, lower, trim, now.
        metadata: columns that tell where a row comes from: database_name, table_name, schema_name, op_ts, topic,
            partition, offset, timestamp.
        metadata_prefix: stands before their names in the result.
        case_sensitive: False: names of columns are taken in lower case.
        dead_letters: True: a malformed message is a row of NULLs with the columns ``_error``, ``_value``, ``_key`` and
            ``_topic``.
        ignore: kinds of messages to ignore besides the usual ones: ``truncate``.
        type_mapping: how types of MySQL are taken: tinyint1-not-bool, to-string, char-to-string, longtext-to-bytes,
            bigint-unsigned-to-bigint.
        binary: how bytes are written where the messages tell no type: base64, hex, latin1, text; None: as usual in the
            format.
        time_unit: what whole numbers in columns of time count where the messages tell no type: millis, micros, nanos;
            None: the unit of the column's precision.
        time_zone: of times without a zone in TIMESTAMP columns with a local time zone; None: the one of the session.

    Raises:
        OptionError, SchemaError: an argument does not fit.
        DataError: the DataFrame has no column `value`; when it runs, a message is malformed.
    """
    zone = time_zone or check_frame(messages).sparkSession.conf.get(SESSION_ZONE) or "UTC"
    decoding = Decoding(
        format,
        keys=tuple(keys),
        metadata=tuple(metadata),
        metadata_prefix=metadata_prefix,
        case_sensitive=case_sensitive,
        dead_letters=dead_letters,
        ignore=tuple(ignore),
        type_mapping=tuple(type_mapping),
        binary=binary,
        time_unit=time_unit,
        time_zone=zone,
    )
    message_format(format)
    source = message_columns(messages)
    fields = _inferred(source, decoding) if schema is None else _given(schema)
    return decoded_frame(source, replace(decoding, fields=fields, computed=tuple(computed)))


def _given(schema: StructType | str) -> tuple[DataField, ...]:
    if not isinstance(schema, str):
        return paimon_fields(schema)
    parsed = StructType.fromDDL(schema)
    return paimon_fields(parsed if isinstance(parsed, StructType) else StructType().add("value", parsed))


def _inferred(source: DataFrame, decoding: Decoding) -> tuple[DataField, ...]:
    """The columns that the messages of a batch tell: they are read once to know them.

    Raises:
        OptionError: it is a stream, or nothing tells a column.
    """
    if source.isStreaming:
        raise OptionError(
            "the columns of a stream must be known before it starts: give them as schema=, or let the table follow the "
            "messages with PaimonTable.sync(messages, format=...)"
        )
    fields = fields_of(columns_of_messages(routed_frame(source, decoding)), (), type_mappings(decoding.type_mapping))
    if not fields:
        raise OptionError("no message tells a column: give the columns as schema=")
    return fields


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

    return messages.mapInArrow(in_worker(task), schema)


def routed_frame(messages: DataFrame, decoding: Decoding) -> DataFrame:
    """The messages that change rows, with the table that each is of and what it tells of its columns."""
    schema = nullable(st.StructType([*messages.schema.fields, *_ROUTE]))
    arrow = spark_arrow_schema(schema)

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in route_batches(batches, decoding):
            yield conform_batch(batch, arrow)

    return messages.mapInArrow(in_worker(task), schema)


def columns_of_messages(routed: DataFrame) -> list[InferredColumns]:
    """The columns that messages of one table have, each text of them once, in the order in which they came first."""
    first = sf.min("offset") if "offset" in routed.columns else sf.min(COLUMNS)
    rows = routed.where(sf.col(PROBLEM).isNull()).groupBy(COLUMNS).agg(first.alias("first")).orderBy("first").collect()
    return [inferred_columns(row[COLUMNS]) for row in rows]
