"""Encodes equality of values of any type as integer columns, for functions that find equal elements or map keys.

Java compares boxed values, and rows and nested values field by field (RecordEqualiser); both find NaN equal to NaN and
-0.0 different from 0.0. Here nulls equal nulls at every depth, arrays are equal element by element, maps as sets of
entries.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow.conform import conform
from paimon_spark.merge.aggregates.spans import list_spans, map_spans
from paimon_spark.merge.keys.key_words import Ints, order_fields, pack_fields
from paimon_spark.merge.keys.winners import Groups, Rows, group_unsorted_rows, spare_width


def equality_columns(array: pa.Array, name: str) -> list[Ints]:
    """Integer columns in which two rows are equal if and only if the two values are.

    Args:
        array: values of any type.
        name: the name of the column, for messages.

    Raises:
        UnsupportedFeature: a type whose values cannot be compared.
    """
    if not len(array):
        return []
    arrow = array.type
    if pt.is_struct(arrow):
        columns = [column for child in array.flatten() for column in equality_columns(child, name)]
    elif pt.is_map(arrow):
        columns = [_codes_of_maps(array, name)]
    elif pt.is_fixed_size_list(arrow):
        return equality_columns(conform(array, pa.list_(arrow.value_field)), name)
    elif pt.is_list(arrow):
        columns = [_codes_of_lists(array, name)]
    elif pt.is_null(arrow):
        columns = []
    else:
        columns = order_fields(array, name)
    if not array.null_count:
        return columns
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    return [valid.view(np.uint8), *(np.where(valid, column, 0).astype(column.dtype) for column in columns)]


def group_equal(columns: Sequence[Ints], count: int) -> Groups:
    """The rows of integer columns sorted by the columns, stable: equal rows are next to each other."""
    if not count:
        return Groups(np.empty(0, np.intp), np.empty(0, np.intp))
    width = spare_width(count)
    return group_unsorted_rows(pack_fields(columns, count, width), width)


def _codes(array: pa.Array, name: str) -> npt.NDArray[np.int32]:
    """A number for each value, the same for equal values."""
    codes = np.zeros(len(array), np.int32)
    groups = group_equal(equality_columns(array, name), len(array))
    sizes = np.diff(groups.starts, append=len(array))
    codes[groups.order] = np.repeat(np.arange(len(groups.starts), dtype=np.int32), sizes)
    return codes


def _codes_of_lists(array: pa.Array, name: str) -> Ints:
    spans = list_spans(array)
    return _codes_of_spans(_codes(spans.children[0], name)[spans.items()], spans.lengths)


def _codes_of_maps(array: pa.Array, name: str) -> Ints:
    spans = map_spans(array)
    items = spans.items()
    keys, values = (_codes(child, name)[items] for child in spans.children)
    order = np.lexsort((values, keys, spans.parents()))
    return _codes_of_spans(np.stack([keys[order], values[order]], axis=1).reshape(-1), 2 * spans.lengths)


def _codes_of_spans(codes: npt.NDArray[np.int32], lengths: Rows) -> Ints:
    """A number for each run of codes of the given lengths: Arrow finds equal runs as equal byte strings."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths * codes.itemsize, out=offsets[1:])
    data = pa.py_buffer(np.ascontiguousarray(codes))
    strings = pa.Array.from_buffers(pa.large_binary(), len(lengths), [None, pa.py_buffer(offsets), data])
    numbers: Ints = strings.dictionary_encode().indices.to_numpy()
    return numbers
