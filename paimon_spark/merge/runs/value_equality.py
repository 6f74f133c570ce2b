"""Compares the values of rows (Java: RecordEqualiser): null equals null, NaN equals NaN, 0.0 does not equal -0.0.

A null inside a list, or as a value of a map, equals nothing: Java compares these items as SQL does. So a value that
holds one does not even equal itself. Fields of a ROW compare as columns do.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pt

from paimon_spark.merge.aggregates.equality import equality_columns
from paimon_spark.merge.aggregates.spans import spans_of
from paimon_spark.merge.keys.winners import Mask


def equal_rows(rows: pa.RecordBatch, others: pa.RecordBatch, names: Iterable[str]) -> Mask:
    """For each row, whether the row at the same place of others has the same values in these columns.

    Raises:
        UnsupportedFeature: a column of a type whose values cannot be compared.
    """
    equal = np.ones(rows.num_rows, np.bool_)
    for name in names:
        if not equal.any():
            break
        equal &= _equal_values(rows.column(name), others.column(name), name)
    return equal


def _equal_values(values: pa.Array, others: pa.Array, name: str) -> Mask:
    arrow = values.type
    if pt.is_nested(arrow) or pt.is_floating(arrow):
        count = len(values)
        equal = ~_null_items(values)
        for column in equality_columns(pa.concat_arrays([values, others]), name):
            equal &= column[:count] == column[count:]
        return equal
    same = pc.fill_null(pc.equal(values, others), False)
    if values.null_count and others.null_count:
        same = pc.or_(same, pc.and_(values.is_null(), others.is_null()))
    result: Mask = same.to_numpy(zero_copy_only=False)
    return result


def _null_items(array: pa.Array) -> Mask:
    """For each value, whether a list in it, at any depth, holds a null, or a map holds a null value."""
    found = np.zeros(len(array), np.bool_)
    if pt.is_struct(array.type):
        for child in array.flatten():
            found |= _null_items(child)
    elif pt.is_list(array.type) or pt.is_map(array.type):
        spans = spans_of(array)
        items = spans.children[-1]
        nulls = items.is_null().to_numpy(zero_copy_only=False) | _null_items(items)
        if nulls.any():
            found[spans.parents()[nulls[spans.items()]]] = True
    return found
