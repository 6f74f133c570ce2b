"""Elements of lists and entries of maps as positions in the child arrays, so that only chosen ones are copied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.format.spans import expand
from paimon_spark.merge.keys.winners import Rows


@dataclass(frozen=True)
class Spans:
    """Lists or maps: each is a span of the child arrays.

    Attributes:
        children: the elements; for maps the keys and the values.
        starts, lengths: the span of each list or map; a null has length 0.
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


def take_items(array: pa.Array, positions: Rows) -> pa.Array:
    """Elements of a child array; where the positions follow each other, without a copy."""
    count = len(positions)
    if count and int(positions[-1]) - int(positions[0]) == count - 1 and (np.diff(positions) == 1).all():
        return array.slice(int(positions[0]), count)
    return array.take(pa.array(positions))


def lists_of(items: tuple[pa.Array, ...], counts: Rows, arrow: pa.DataType, present: npt.NDArray[np.bool_]) -> pa.Array:
    """Lists or maps of the given numbers of elements, null where present is false (the count is 0 there).

    Args:
        items: the elements in order; for maps the keys and the values.
        counts: the number of elements of each list or map.
        arrow: the type of the result.
    """
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    mask = None if present.all() else pa.array(~present)
    build = pa.MapArray if pa.types.is_map(arrow) else pa.ListArray
    return build.from_arrays(pa.array(offsets), *items, type=arrow, mask=mask)
