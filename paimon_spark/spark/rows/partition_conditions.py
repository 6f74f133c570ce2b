"""Conditions on partitions that only Spark decides, such as those with a sub-query."""

from __future__ import annotations

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import Root
from paimon_spark.spark.adapters.char_columns import read_columns
from paimon_spark.spark.adapters.types import nullable, shown_schema, spark_schema
from paimon_spark.spark.rows.assignments import Expression
from paimon_spark.spark.rows.nondeterminism import QUERIES, draws_for_rows
from paimon_spark.spark.rows.target import Target
from paimon_spark.sql.queries.query import fold
from paimon_spark.sql.text.lexer import tokenize
from paimon_spark.store.clean.partition_rows import partition_columns, partition_rows
from paimon_spark.store.metadata.table import Table

_NUMBER = "_paimon_number"


def decides_partitions(spark: SparkSession, table: Table, condition: Expression | None, alias: str) -> bool:
    """True if a condition with a sub-query has one value for all rows of a partition.

    That is so if Spark understands it without the other columns, and nothing in it is drawn for each row.

    Args:
        condition: SQL; a Column tells nothing.
        alias: of the table in it.
    """
    fields = table.schema.partition_fields
    if not isinstance(condition, str) or not fields or any(field.type.root is Root.TIME for field in fields):
        return False
    tokens = tokenize(condition)
    if not QUERIES.intersection(token.upper for token in tokens) or draws_for_rows(spark, tokens):
        return False
    others = {fold(field.name) for field in table.schema.fields} - {fold(field.name) for field in fields}
    words = {token.name for token in tokens if token.is_name}
    variables = any(fold(word) in others and _is_understood(spark, word) for word in words)
    no_rows = spark.createDataFrame([], nullable(shown_schema(spark_schema(fields)))).alias(alias)
    return not variables and _is_understood(no_rows, condition)


def _is_understood(rows: SparkSession | DataFrame, text: str) -> bool:
    """True if Spark understands a condition on rows; with a session, a name that stands alone: a session variable."""
    try:
        found = rows.where(text) if isinstance(rows, DataFrame) else rows.sql(f"SELECT {quoted(text)}")
        return bool(found.columns)  # which Spark Connect asks the server for
    except AnalysisException:
        return False


def matching_partitions(target: Target, condition: str, alias: str) -> list[bytes]:
    """The partitions (arity-prefixed BinaryRows) for which a condition is true. Spark decides.

    Args:
        condition: for which ``decides_partitions`` is true.
    """
    table, fields = target.table, target.table.schema.partition_fields
    rows = partition_rows(table, target.snapshot)
    if not rows:
        return []
    names = [field.name for field in fields]
    known = pa.table([*partition_columns(table, rows), pa.array(range(len(rows)))], names=[*names, _NUMBER])
    shown = target.shown(fields)
    columns = [sf.col(quoted(f.name)).cast(f.dataType).alias(f.name) for f in shown.fields]
    cast = target.spark.createDataFrame(known).select(*columns, _NUMBER)
    frame = cast.select(*read_columns(target.spark, fields, shown), _NUMBER).alias(alias)
    return [rows[row[0]] for row in frame.where(condition).select(_NUMBER).collect()]
