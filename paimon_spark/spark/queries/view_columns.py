"""The columns of a view: those of its query, with the names and types that it was stored with."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

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
    for old, new in zip(want, have, strict=True):
        if not can_store(new.dataType, nullable_type(old.dataType), is_strict=True):
            raise SqlError(
                f"SQL: the column {old.name} of the view {view} was stored as {old.dataType.simpleString()}, and its "
                f"query has {new.dataType.simpleString()} now; create it anew (CREATE OR REPLACE VIEW)"
            )
    inner = rows.toDF(*(f"_{number}" for number in range(len(want))))
    return inner.select(
        *(
            F.col(quoted(f"_{number}")).cast(nullable_type(field.dataType)).alias(field.name, metadata=field.metadata)
            for number, field in enumerate(want)
        )
    )
