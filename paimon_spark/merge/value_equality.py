"""Which rows hold the same values (Java: RecordEqualiser): nulls are equal, NaN is, 0.0 and -0.0 are not."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pt

from paimon_spark.merge.aggregates.equality import equality_columns
from paimon_spark.merge.winners import Mask


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
        equal = np.ones(count, np.bool_)
        for column in equality_columns(pa.concat_arrays([values, others]), name):
            equal &= column[:count] == column[count:]
        return equal
    same = pc.fill_null(pc.equal(values, others), False)
    if values.null_count and others.null_count:
        same = pc.or_(same, pc.and_(values.is_null(), others.is_null()))
    result: Mask = same.to_numpy(zero_copy_only=False)
    return result
