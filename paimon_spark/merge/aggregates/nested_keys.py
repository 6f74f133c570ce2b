"""Nested keys: the fields that name a row of an ARRAY<ROW> (``fields.<column>.nested-key``), and rows without one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from paimon_spark.errors import DataError
from paimon_spark.format.types import DataType, Root
from paimon_spark.merge.aggregates.elements import Elements
from paimon_spark.merge.aggregates.equality import equality_columns
from paimon_spark.merge.aggregates.frame import FieldOptions, first_where
from paimon_spark.merge.keys.key_words import Ints
from paimon_spark.merge.keys.winners import Mask


def rows_objection(data_type: DataType, options: FieldOptions) -> str | None:
    """Says why a column, or a field name in its options, does not fit a function of nested rows; None if all fit."""
    if data_type.root is not Root.ARRAY or data_type.inner.root is not Root.ROW:
        return "needs an ARRAY of ROWs"
    names = [field.name for field in data_type.inner.fields]
    for key, wanted in (("nested-key", options.nested_key), ("nested-sequence-field", options.nested_sequence)):
        for name in wanted:
            if name not in names:
                return f"has '{name}' in '{key}', which is none of the fields {', '.join(names)}"
    return None


def row_fields(rows: Elements, names: Sequence[str]) -> list[pa.Array]:
    """Fields of all rows in the child array."""
    places = [field.name for field in rows.fold.type.inner.fields]
    children = rows.children[0].flatten()
    return [children[places.index(name)] for name in names]


def present_rows(rows: Elements) -> Elements:
    """The rows that are not null."""
    valid = rows.valid(0)
    return rows if valid is None or valid.all() else rows.select(valid)


def key_columns(rows: Elements) -> list[Ints]:
    """Integer columns that are equal for rows of the same nested key; nulls are equal too."""
    fields = row_fields(rows, rows.fold.options.nested_key)
    return [column[rows.items] for field in fields for column in equality_columns(field, rows.fold.column)]


def keyed_rows(rows: Elements) -> Elements:
    """The rows that count by ``nested-key-null-strategy``: with "ignore" none whose nested key has a null.

    Raises:
        DataError: the strategy is "error", and there is such a row.
    """
    strategy = rows.fold.options.nested_key_null
    fields = [field for field in row_fields(rows, rows.fold.options.nested_key) if field.null_count]
    if strategy == "merge" or not fields:
        return rows
    bad = np.zeros(len(rows.items), np.bool_)
    for field in fields:
        bad |= field.is_null().to_numpy(zero_copy_only=False)[rows.items]
    if strategy == "error" and (bad & _looked_at(rows)).any():
        fold = rows.fold
        raise DataError(
            f"column '{fold.column}', aggregate function '{fold.function}': a row in the array has a null in its "
            f"nested key ({', '.join(fold.options.nested_key)}); correct the rows, or set "
            f"'fields.{fold.column}.nested-key-null-strategy' = 'ignore' to leave such rows out"
        )
    return rows.select(~bad)


def _looked_at(rows: Elements) -> Mask:
    """False for rows that are retracted before their key has any rows."""
    fold = rows.fold
    if fold.retract is None:
        return np.ones(len(rows.items), np.bool_)
    first_put = first_where(~fold.retract if fold.valid is None else ~fold.retract & fold.valid, fold.starts)
    first_put = np.where(first_put < 0, fold.count, first_put)
    looked_at: Mask = rows.values >= first_put[rows.keys]
    return looked_at
