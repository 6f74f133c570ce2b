"""Functions of opaque bytes, such as sketches and bitmaps: the union of the values of a key, one key at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from paimon_spark.errors import DataError
from paimon_spark.format.types import DataType, Root
from paimon_spark.merge.aggregates.frame import FieldOptions, Fold
from paimon_spark.merge.keys.winners import Rows

Union: TypeAlias = Callable[[Sequence[bytes]], bytes]
"""The bytes of the union of two values or more. ValueError: one cannot be read; the message says why."""


def fold_unions(fold: Fold, union: Union, what: str) -> pa.Array:
    """One value per key: nulls do not count, and the only value of a key is returned unchanged.

    Args:
        fold: the fold of a column of bytes; no retractions.
        union: computes the union of the values of one key.
        what: the kind of value, for the message.

    Raises:
        DataError: a value is not of this kind; the message names column and function.
    """
    counting = np.arange(fold.count) if fold.valid is None else np.flatnonzero(fold.valid)
    counts = np.bincount(fold.keys_of_rows()[counting], minlength=fold.keys)
    first = np.full(fold.keys, -1, np.intp)
    first[counts > 0] = counting[(np.cumsum(counts) - counts)[counts > 0]]
    several = counts > 1
    if not several.any():
        return fold.take(first)
    merged = _unite(fold, counting[np.repeat(several, counts)], counts[several], union, what)
    rows = first if fold.rows is None else np.where(first < 0, -1, fold.rows[first])
    rows[several] = len(fold.source) + np.arange(len(merged))
    return pa.concat_arrays([fold.source, merged]).take(pa.array(rows, mask=rows < 0))


def _unite(fold: Fold, places: Rows, counts: Rows, union: Union, what: str) -> pa.Array:
    """One union for each run of values, whose lengths are counts."""
    values = fold.take(places).to_pylist()  # opaque to Arrow: each value is an object of a library
    ends = np.cumsum(counts)
    try:
        merged = [union(values[end - count : end]) for end, count in zip(ends.tolist(), counts.tolist(), strict=True)]
    except ValueError as error:
        raise DataError(
            f"column '{fold.column}', aggregate function '{fold.function}': a value is no {what}: {error}; correct "
            "the rows, or set another aggregate function on the column"
        ) from None
    return pa.array(merged, fold.source.type)


def needs_bytes(data_type: DataType, options: FieldOptions) -> str | None:
    """Objection to any type but VARBINARY."""
    return None if data_type.root is Root.VARBINARY else "needs BYTES or a VARBINARY"
