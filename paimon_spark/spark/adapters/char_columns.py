"""CHAR columns in DataFrames of ours, as Spark's own sources show them (Spark: ApplyCharTypePadding).

Spark pads what tables return for a column of CHAR(n), and the literals that such a column is compared with; it knows
the type from the metadata of the column. It pads the rows of data sources itself, but not those of functions and of
this process, which a DataFrame of ours may have.

The texts of a table as they are stored, beside those that Spark shows: CHAR is padded there, but not by all writers. A
row that is written again keeps its texts, so that it has the key and the partition that it had.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import DataField, DataType, Root, has_char
from paimon_spark.spark.adapters.types import CHAR_VARCHAR

PADS_READS = "spark.sql.readSideCharPadding"
AS_STRINGS = "spark.sql.legacy.charVarcharAsString"
_STORED = "_paimon_stored_"


def pads_reads(spark: SparkSession) -> bool:
    """True if a session pads the CHAR values that it reads."""
    return _is(spark, PADS_READS, "true") and _is(spark, AS_STRINGS, "false")


def takes_as_strings(spark: SparkSession) -> bool:
    """True if a session takes CHAR and VARCHAR for STRING: nothing is padded, and no length is checked."""
    return _is(spark, AS_STRINGS, "true")


def _is(spark: SparkSession, key: str, value: str) -> bool:
    return (spark.conf.get(key, None) or {PADS_READS: "true"}.get(key, "false")).lower() == value


def as_read(frame: DataFrame, fields: Sequence[DataField], shown: st.StructType) -> DataFrame:
    """Rows as Spark reads them: with padded values, and the types in the metadata of the columns.

    Args:
        frame: the rows, with the texts that are stored.
        fields: the columns, as the table has them.
        shown: the schema of the DataFrame.
    """
    if not any(CHAR_VARCHAR in own.metadata for own in shown.fields):
        return frame
    return frame.select(*read_columns(frame.sparkSession, fields, shown))


def read_columns(spark: SparkSession, fields: Sequence[DataField], shown: st.StructType) -> list[Column]:
    """The columns of ``as_read``."""
    pads = pads_reads(spark)
    columns = []
    for field, own in zip(fields, shown.fields, strict=True):
        column = sf.col(quoted(own.name))
        if CHAR_VARCHAR in own.metadata:
            value = padded(column, field.type) if pads else column
            column = value.alias(own.name, metadata=own.metadata)
        columns.append(column)
    return columns


def padded(value: Column, data_type: DataType) -> Column:
    """A value with all CHAR in it padded; texts that are longer stay as they are."""
    if not has_char(data_type):
        return value
    match data_type.root:
        case Root.ARRAY:
            return sf.transform(value, lambda item: padded(item, data_type.inner))
        case Root.MAP | Root.MULTISET:
            key, item = (
                (data_type.key_type, data_type.inner)
                if data_type.root is Root.MAP
                else (data_type.inner, DataType(Root.INT))
            )
            keys = padded(sf.map_keys(value), DataType(Root.ARRAY, element=key))
            items = padded(sf.map_values(value), DataType(Root.ARRAY, element=item))
            return sf.map_from_arrays(keys, items)
        case Root.ROW:
            inner = (padded(value.getField(f.name), f.type).alias(f.name) for f in data_type.fields)
            return sf.when(value.isNotNull(), sf.struct(*inner))
    return with_blanks(value, data_type.length or 1)


def with_blanks(text: Column, length: int) -> Column:
    """A text, with blanks behind it up to a length if it is shorter."""
    return sf.when(sf.char_length(text) < length, sf.rpad(text, length, " ")).otherwise(text)


def as_stored(schema: st.StructType) -> st.StructType:
    """The schema of rows of which Spark shall pad nothing."""
    return st.StructType([st.StructField(f.name, f.dataType, f.nullable, _plain(f.metadata)) for f in schema.fields])


def _plain(metadata: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in metadata.items() if key != CHAR_VARCHAR}


def stored_name(field: DataField) -> str:
    """The name under which rows of a target have the value of a column as it is stored; see TargetRows."""
    return f"{_STORED}{field.name}" if has_char(field.type) else field.name


def stored_column(field: DataField, alias: str | None = None) -> Column:
    """The value of a column as it is stored.

    Args:
        alias: of the rows.
    """
    prefix = "" if alias is None else f"{quoted(alias)}."
    return sf.col(f"{prefix}{quoted(stored_name(field))}")
