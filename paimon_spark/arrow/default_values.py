"""The default value of a column, from its text (Java: DefaultValueUtils)."""

from __future__ import annotations

import pyarrow as pa

from paimon_spark.arrow.casts import cast_array
from paimon_spark.errors import DataError, SchemaError
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import MAX_LENGTH, NESTED, DataField, DataType, Root

_STRING = DataType(Root.VARCHAR, length=MAX_LENGTH)


def default_scalar(field: DataField) -> pa.Scalar | None:
    """The value of the default text of a column, maybe in single quotes; None for a nested column.

    Raises:
        SchemaError: the text is no value of the column's type.
    """
    if field.type.root in NESTED:
        return None
    text = field.default_value or ""
    if len(text) >= 2 and text.startswith("'") and text.endswith("'"):
        text = text[1:-1]
    try:
        return cast_array(pa.array([text]), _STRING, field.type)[0]
    except (DataError, pa.ArrowException) as error:
        raise SchemaError(
            f"the default value {field.default_value} of column '{field.name}' is no {type_sql(field.type)}: {error}"
        ) from None
