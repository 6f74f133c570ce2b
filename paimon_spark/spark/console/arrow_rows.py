"""The rows of a DataFrame as Arrow, in types that the program prints."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from paimon_spark.format.quoting import quoted

_PLAIN = (
    t.NumericType, t.StringType, t.BinaryType, t.BooleanType, t.DateType, t.TimestampType, t.TimestampNTZType,
    t.NullType,
)  # fmt: skip


def arrow_rows(frame: DataFrame, limit: int | None) -> pa.Table:
    """Runs a query.

    What Arrow or the program has no form for, such as intervals and VARIANT, is the text that Spark casts it to. Of
    columns with the same name, the second is called ``<name>_2``, and so on.

    Args:
        limit: at most so many rows; None: all, which Spark collects in memory.
    """
    if not frame.columns:  # of a statement that is done already: Spark would run a job for nothing
        return pa.table({})
    names = unique_names(frame.columns)
    named = frame if names == frame.columns else frame.toDF(*names)
    columns = [
        f.col(quoted(name)) if is_plain(field.dataType) else f.col(quoted(name)).cast("string").alias(name)
        for name, field in zip(names, frame.schema.fields, strict=True)
    ]
    shown = named if all(is_plain(field.dataType) for field in frame.schema.fields) else named.select(*columns)
    return (shown if limit is None else shown.limit(limit)).toArrow()


def unique_names(names: Sequence[str]) -> list[str]:
    """The names, with a number behind each that was there before."""
    found: list[str] = []
    for name in names:
        number, unique = 2, name
        while unique in found or (unique != name and unique in names):
            number, unique = number + 1, f"{name}_{number}"
        found.append(unique)
    return found


def is_plain(kind: t.DataType) -> bool:
    """True if values of a type of Spark are printed as they come in Arrow."""
    if isinstance(kind, t.ArrayType):
        return is_plain(kind.elementType)
    if isinstance(kind, t.MapType):
        return is_plain(kind.keyType) and is_plain(kind.valueType)
    if isinstance(kind, t.StructType):
        return all(is_plain(field.dataType) for field in kind.fields)
    return isinstance(kind, _PLAIN) or kind.typeName().startswith("time(")
