"""The texts of a table as they are stored, beside those that Spark shows: CHAR is padded there, but not by all writers.

A row that is written again keeps its texts, so that it has the key and the partition that it had.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as sf

from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import DataField, has_char

_STORED = "_paimon_stored_"


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
