"""The elements of lists and the entries of maps, as places in the child arrays: nothing moves before it is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.merge.keys.winners import Rows


@dataclass(frozen=True)
class Spans:
    """Lists or maps: each is a span of the child arrays.

    children: the elements; of maps the keys and the values. starts, lengths: the span of each; a null has no length.
    """

    children: tuple[pa.Array, ...]
    starts: Rows
    lengths: Rows

    def items(self) -> Rows:
        """The position of every element in the children, list after list."""
        return expand(self.starts, self.lengths)

    def parents(self) -> Rows:
        """For every element the number of its list."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)


def spans_of(array: pa.Array) -> Spans:
    """The spans of lists or maps; sliced arrays and nulls with content are fine."""
    return map_spans(array) if pa.types.is_map(array.type) else list_spans(array)


def list_spans(array: pa.Array) -> Spans:
    """The spans of an array of lists."""
    return _spans(array, (array.values,))


def map_spans(array: pa.Array) -> Spans:
    """The spans of an array of maps."""
    return _spans(array, (array.keys, array.items))


def _spans(array: pa.Array, children: tuple[pa.Array, ...]) -> Spans:
    offsets: npt.NDArray[Any] = array.offsets.to_numpy()
    first, last = (int(offsets[0]), int(offsets[-1])) if len(offsets) else (0, 0)
    starts = offsets[:-1].astype(np.intp) - first
    lengths = np.diff(offsets).astype(np.intp)
    if array.null_count:
        lengths[array.is_null().to_numpy(zero_copy_only=False)] = 0
    return Spans(tuple(child.slice(first, last - first) for child in children), starts, lengths)


def expand(starts: Rows, lengths: Rows) -> Rows:
    """All numbers of the ranges that start there and are so long, range after range."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))


def take_items(array: pa.Array, positions: Rows) -> pa.Array:
    """Elements of a child array; where the positions follow each other, without a copy."""
    count = len(positions)
    if count and int(positions[-1]) - int(positions[0]) == count - 1 and (np.diff(positions) == 1).all():
        return array.slice(int(positions[0]), count)
    return array.take(pa.array(positions))


def lists_of(items: tuple[pa.Array, ...], counts: Rows, arrow: pa.DataType, present: npt.NDArray[np.bool_]) -> pa.Array:
    """Lists or maps of so many elements each, null where present is false (there the count is 0).

    Args:
        items: the elements in order; of maps the keys and the values.
        arrow: the type of the result.
    """
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    mask = None if present.all() else pa.array(~present)
    build = pa.MapArray if pa.types.is_map(arrow) else pa.ListArray
    return build.from_arrays(pa.array(offsets), *items, type=arrow, mask=mask)
