"""The way of rows to their buckets: written by this process if they are few, else shuffled (features 2.2).

Writes of few rows that this process may hold: it writes their files itself. A job of Spark that runs Python takes
longer to start than such a write takes, the first one of a session seconds.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.pandas.types import to_arrow_schema

from paimon_spark.arrow.types import VARIANT
from paimon_spark.format.types import DataType, Root, holds
from paimon_spark.spark.adapters.char_columns import takes_as_strings
from paimon_spark.spark.adapters.dataframes import MOST_ROWS, FewRows, Rows, are_few, estimated_bytes
from paimon_spark.spark.adapters.errors import job_errors
from paimon_spark.spark.adapters.session_options import is_switched_on
from paimon_spark.spark.adapters.tasks import with_plain_names
from paimon_spark.spark.adapters.types import nullable_type
from paimon_spark.spark.write.cross_partition_write import write_cross_partition
from paimon_spark.spark.write.dynamic_write import write_dynamic
from paimon_spark.spark.write.shuffle_write import write_shuffled
from paimon_spark.spark.write.task_session import zone_of_rows
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import BucketMode
from paimon_spark.writes.task_rows import write_rows
from paimon_spark.writes.write_job import Texts, WriteJob

SETTING = "spark.paimon.write.local"
_ASSIGNED = (BucketMode.HASH_DYNAMIC, BucketMode.KEY_DYNAMIC)
_NUMBERS = (st.ByteType, st.ShortType, st.IntegerType, st.LongType, st.FloatType, st.DoubleType, st.DecimalType)
_MOST_BYTES = 4 * 2**20
"""Of rows that may be few, as Spark estimates them."""
_VARYING = (st.StringType, st.BinaryType)
_SAME = (*_NUMBERS, st.BooleanType, *_VARYING)
FLAT = (*_NUMBERS, st.BooleanType, st.BinaryType, st.DateType, st.TimestampType, st.TimestampNTZType)
"""Types without parts and collations, of which Arrow has the same values."""
_SMALL = (*FLAT, st.StringType, st.NullType)
Computed: TypeAlias = Callable[[DataFrame], pa.Table | None]
"""How this process gets the rows of a DataFrame, with its columns; it returns None where they may be too many."""
_PLACE, _IS_LARGE = "_paimon_place", "_paimon_is_large"
_ROW_BYTES = 4 * 2**10
"""The most that the texts of a row have in all, where few rows are written here."""


@job_errors()
def write_by_bucket(
    df: DataFrame, job: WriteJob, here: Computed | None = None, owned: bool = False
) -> list[CommitMessage]:
    """Writes the rows, those of a bucket in one task, and returns what is to be committed.

    Args:
        here: how this process gets the rows, which it then writes itself if it can; None: they may be too many.
        owned: whether a Spark partition that has rows of a bucket has all of them, in their order.

    Raises:
        PaimonError: the table, its options or the job do not fit together, or a task raised it.
        Spark's exception for a job that fails otherwise.
    """
    if takes_as_strings(df.sparkSession):
        job = replace(job, texts=Texts.FREE)
    if here is not None and writes_here(df.sparkSession, job):
        written = write_here(df, job, here)
        if written is not None:
            return written
    match job.table.bucket_mode:
        case BucketMode.HASH_DYNAMIC:
            return write_dynamic(df, job)
        case BucketMode.KEY_DYNAMIC:
            return write_cross_partition(df, job)
        case _:
            return write_shuffled(df, job, owned)


def how_computed(rows: Rows) -> Computed | None:
    """How this process gets rows that somebody writes; None: there are too many for it."""
    if isinstance(rows, DataFrame):
        return few_rows
    if isinstance(rows, FewRows):
        return listed_rows
    return rows_here if are_few(rows) else None


def writes_here(spark: SparkSession, job: WriteJob) -> bool:
    """True if this process may write few rows of a job: the session allows it, and no index of keys has to be read.

    PySpark fails to collect a NULL of VARIANT; ``rows_here`` helps it out where that is no part of another value.

    Raises:
        OptionError: the setting `spark.paimon.write.local` is neither true nor false.
    """
    if any(field.type.root is not Root.VARIANT and _has_variant(field.type) for field in job.table.schema.fields):
        return False
    return job.table.bucket_mode not in _ASSIGNED and is_switched_on(spark, SETTING)


def _has_variant(data_type: DataType) -> bool:
    return holds(data_type, lambda part: part.root is Root.VARIANT)


def write_here(df: DataFrame, job: WriteJob, computed: Computed) -> list[CommitMessage] | None:
    """Writes the rows and returns what is to be committed; None: nothing is written, as there may be too many rows.

    Args:
        df: what ``computed`` returns of it must fit into memory.

    Raises:
        DataError: a row does not fit the table.
        StorageError: a file could not be written.
        Spark's exception where it cannot compute the rows.
    """
    if any(_has_inner_variant(field.dataType) for field in df.schema.fields):
        return None
    rows = computed(df)
    if rows is None or rows.num_rows > MOST_ROWS:
        return None
    return write_rows(job, 0, rows.to_batches(), zone_of_rows)


def _has_inner_variant(spark: st.DataType) -> bool:
    match spark:
        case st.ArrayType():
            parts = [spark.elementType]
        case st.MapType():
            parts = [spark.keyType, spark.valueType]
        case st.StructType():
            parts = [field.dataType for field in spark.fields]
        case _:
            return False
    return any(isinstance(part, st.VariantType) or _has_inner_variant(part) for part in parts)


def rows_here(df: DataFrame) -> pa.Table:
    """The rows of a DataFrame in this process, computed once; they must fit into memory.

    PySpark's ``toArrow`` fails on a NULL of VARIANT: it comes as the null of JSON, with a mark.
    """
    plain = _with_optional_fields(with_plain_names(df))
    at = [isinstance(field.dataType, st.VariantType) for field in df.schema.fields]
    if not any(at):
        return plain.toArrow().rename_columns(df.columns)
    names, null = plain.columns, sf.parse_json(sf.lit("null"))
    variants = [name for name, is_variant in zip(names, at, strict=True) if is_variant]
    held = [sf.coalesce(sf.col(name), null).alias(name) if name in variants else sf.col(name) for name in names]
    found = plain.select(*held, *(sf.col(name).isNull().alias(f"{name}_") for name in variants)).toArrow()
    for name in variants:
        number, null_rows = found.schema.get_field_index(name), found.column(f"{name}_")
        kept = pc.if_else(null_rows, pa.scalar(None, VARIANT), found.column(number).cast(VARIANT))
        found = found.set_column(number, pa.field(name, VARIANT), kept)
    return found.select(names).rename_columns(df.columns)


def _with_optional_fields(plain: DataFrame) -> DataFrame:
    """The rows without NOT NULL fields of structs: PySpark's ``toArrow`` fails where such a struct is NULL."""
    types = {field.name: (field.dataType, nullable_type(field.dataType)) for field in plain.schema.fields}
    if all(have == want for have, want in types.values()):
        return plain
    columns = [sf.col(n) if have == want else sf.col(n).cast(want).alias(n) for n, (have, want) in types.items()]
    return plain.select(*columns)


def few_rows(df: DataFrame) -> pa.Table | None:
    """The rows of a DataFrame in this process, in their order, if they are few; None: there may be many.

    Spark's estimate says whether they may be few. It may be wrong, so no more than MOST_ROWS and one are computed for
    this; where there are more, the caller computes all of them anew.
    """
    if df.isLocal():
        rows = rows_here(df)
        return rows if rows.num_rows <= MOST_ROWS else None
    return None if estimated_bytes(df) > _MOST_BYTES else small_rows(df)


def small_rows(df: DataFrame) -> pa.Table | None:
    """The rows of a DataFrame in this process, in their order, if they are few and small; None: they may not be.

    Spark takes every text for 20 bytes, and tells nothing of the items of arrays. A row of more than _ROW_BYTES comes
    without its texts, and with a mark: what comes fits into memory, whatever the rows are.
    """
    if not all(isinstance(field.dataType, _SMALL) for field in df.schema.fields):
        return None
    plain = with_plain_names(df).withColumn(_PLACE, sf.monotonically_increasing_id())
    varying = [field.name for field in plain.schema.fields if isinstance(field.dataType, _VARYING)]
    if varying:
        sizes = (sf.coalesce(sf.octet_length(name), sf.lit(0)) for name in varying)
        small = {name: sf.when(~sf.col(_IS_LARGE), sf.col(name)) for name in varying}
        plain = plain.withColumn(_IS_LARGE, functools.reduce(operator.add, sizes) > _ROW_BYTES).withColumns(small)
    found = rows_here(plain.limit(MOST_ROWS + 1))
    if found.num_rows > MOST_ROWS or (varying and pc.any(found.column(_IS_LARGE)).as_py()):
        return None
    return found.sort_by(_PLACE).select(range(len(df.columns))).rename_columns(df.columns)


def listed_rows(df: DataFrame) -> pa.Table:
    """The rows of VALUES. Spark makes them while it plans: to collect them starts no job, as `toArrow` does.

    They come as Python's values, which are the same for the types of _SAME only. A text that is no UTF-8 comes with
    the replacement character in place of its bytes, so that one is read again.
    """
    if not all(type(field.dataType) in _SAME for field in df.schema.fields):
        return rows_here(df)
    rows, schema = df.collect(), to_arrow_schema(df.schema)
    if any(isinstance(value, str) and "\N{REPLACEMENT CHARACTER}" in value for row in rows for value in row):
        return rows_here(df)
    columns = [pa.array([row[number] for row in rows], field.type) for number, field in enumerate(schema)]
    return pa.Table.from_arrays(columns, schema=schema)
