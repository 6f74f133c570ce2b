"""The columns of a view: those of its query, with the names and types that it was stored with."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from paimon_spark.errors import SqlError
from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.store_assignment import can_store
from paimon_spark.spark.adapters.types import nullable_type, spark_schema


def as_stored(rows: DataFrame, view: str, fields: Sequence[DataField]) -> DataFrame:
    """The rows of the query of a view as the view has them (Java: PaimonViewResolver).

    Args:
        rows: of the query as its tables are now.
        view: its name, for messages.
        fields: of the view; (): it was stored without columns, so they are those of the query.

    Raises:
        SqlError: the query has another number of columns than then, or one of a type that loses something.
    """
    if not fields:
        return rows
    have, want = rows.schema.fields, spark_schema(fields).fields
    if len(have) != len(want):
        raise SqlError(
            f"SQL: the view {view} was stored with {len(want)} columns, and its query has {len(have)} now, because a "
            "table of it has changed; create it anew (CREATE OR REPLACE VIEW)"
        )
    return _chosen(rows, view, want, range(len(want)))


def as_created(rows: DataFrame, view: str, columns: StructType) -> DataFrame:
    """The rows of the query of a temporary view with the columns that it had when the view was made, found by name.

    Args:
        rows: of the query as its tables are now; further columns are left out.
        view: its name, for messages.
        columns: of the query then.

    Raises:
        SqlError: a column is not there any more, or has a type that loses something.
    """
    if rows.schema == columns:
        return rows
    names, numbers = [name.lower() for name in rows.columns], []
    for at, name in enumerate(columns.names):
        found = [number for number, other in enumerate(names) if other == name.lower()]
        if len(found) != columns.names.count(name):
            raise SqlError(
                f"SQL: the view {view} was made with a column {name}, which its query does not have now, because a "
                "table of it has changed; create it anew (CREATE OR REPLACE TEMPORARY VIEW)"
            )
        numbers.append(found[columns.names[:at].count(name)])
    return _chosen(rows, view, columns.fields, numbers)


def _chosen(rows: DataFrame, view: str, want: Sequence[StructField], numbers: Sequence[int]) -> DataFrame:
    """The columns of rows at some places, with names and types that are given."""
    for number, new in zip(numbers, want, strict=True):
        old = rows.schema.fields[number]
        if not can_store(old.dataType, nullable_type(new.dataType), is_strict=True):
            raise SqlError(
                f"SQL: the column {new.name} of the view {view} was made as {new.dataType.simpleString()}, and its "
                f"query has {old.dataType.simpleString()} now; create it anew (CREATE OR REPLACE VIEW)"
            )
    inner = rows.toDF(*(f"_{number}" for number in range(len(rows.columns))))
    return inner.select(
        *(
            F.col(quoted(f"_{number}")).cast(nullable_type(field.dataType)).alias(field.name, metadata=field.metadata)
            for number, field in zip(numbers, want, strict=True)
        )
    )
