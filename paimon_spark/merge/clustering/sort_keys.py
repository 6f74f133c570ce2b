"""Sort keys of rows: what decides their order, apart from the rows or in a column beside them.

The key of a row is the columns themselves, or for a curve one column of bytes. Nulls come first, then values in the
order of keys (merge.keys): texts by their bytes, NaN as the greatest number, -0.0 before 0.0.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow.raw_values import from_numpy, valid_mask
from paimon_spark.merge.clustering.curves import curve_values
from paimon_spark.merge.clustering.strategy import Clustering, Strategy
from paimon_spark.merge.keys.key_words import Ints, Words, order_fields, pack_fields
from paimon_spark.merge.keys.winners import Rows, order_unsorted_rows, spare_width

KEY = "_CLUSTER_KEY"
_WORD = 8
_CELL_BITS = 14  # of the first word; rows of a cell in which no range begins need no search

Ranges: TypeAlias = npt.NDArray[np.int64]
"""The number of the range of each row."""


def sort_keys(batch: pa.RecordBatch, clustering: Clustering) -> pa.RecordBatch:
    """The keys of rows: the columns of the clustering, or for a curve the column KEY."""
    if clustering.strategy is Strategy.ORDER:
        return batch.select(clustering.names)
    values = curve_values(batch, clustering)
    missing = -values.shape[1] % _WORD
    if missing:
        values = np.concatenate([values, np.zeros((len(values), missing), np.uint8)], axis=1)
    buffer = pa.py_buffer(np.ascontiguousarray(values))
    column = pa.Array.from_buffers(pa.binary(values.shape[1]), len(values), [None, buffer])
    return pa.RecordBatch.from_arrays([column], names=[KEY])


def with_keys(batch: pa.RecordBatch, clustering: Clustering) -> pa.RecordBatch:
    """The rows with their keys: KEY is added for a curve."""
    if clustering.strategy is Strategy.ORDER:
        return batch
    return batch.append_column(KEY, sort_keys(batch, clustering).column(KEY))


def keys_in(batch: pa.RecordBatch, clustering: Clustering) -> pa.RecordBatch:
    """The keys of the rows of with_keys."""
    return batch.select(clustering.names if clustering.strategy is Strategy.ORDER else [KEY])


def sorted_rows(keys: pa.RecordBatch) -> Rows:
    """The numbers of rows in the order of their keys; equal keys stay in their order."""
    rows = keys.num_rows
    if not rows:
        return np.empty(0, np.intp)
    width = spare_width(rows)
    return order_unsorted_rows(pack_fields(_fields(keys), rows, width), width)


def choose_bounds(sample: pa.RecordBatch, ranges: int) -> pa.RecordBatch:
    """The keys at which a new range begins, in order, so that each range has as many keys of the sample.

    A key that is there very often is a bound several times.
    """
    rows = sample.num_rows
    at = np.arange(1, ranges, dtype=np.int64) * rows // ranges if rows else np.empty(0, np.int64)
    return sample.take(from_numpy(sorted_rows(sample)[at])) if rows else sample


def ranges_of(keys: pa.RecordBatch, bounds: pa.RecordBatch) -> Ranges:
    """The number of the range of each row: how many bounds are at or below its key.

    Rows whose key is several bounds may be in any of the ranges between these; they are spread over them, so that a
    key that many rows share does not make one range large.
    """
    rows = keys.num_rows
    if not rows or not bounds.num_rows:
        return np.zeros(rows, np.int64)
    count = bounds.num_rows
    words = pack_fields(_fields(pa.concat_batches([bounds, keys])), count + rows)
    first, mine = words[0][:count], words[0][count:]
    found = _bounds_up_to(first, mine)
    tied = np.flatnonzero(first[np.maximum(found - 1, 0)] == mine)  # some bound has the same first word
    if len(tied):
        low, high = np.searchsorted(first, mine[tied]), found[tied]
        if len(words) > 1:
            ranks = _ranks(words, np.concatenate([np.arange(count), tied + count]))
            low, high = (
                np.searchsorted(ranks[:count], ranks[count:]),
                np.searchsorted(ranks[:count], ranks[count:], "right"),
            )
        found[tied] = low + tied % (high - low + 1)
    return found


def _bounds_up_to(bounds: Words, words: Words) -> Ranges:
    """For each word how many bounds, which ascend, are at or below it.

    A binary search takes the wrong branch half of the time. So the words are divided into cells of equal size, and
    only those in the cell of a bound are searched; a table has the number for the others.
    """
    bits = int(max(words.max(), bounds[-1])).bit_length()
    if len(words) < 1 << _CELL_BITS or bits < _CELL_BITS:
        return np.searchsorted(bounds, words, "right")
    shift = np.uint64(bits - _CELL_BITS)
    starts = np.arange(1 << _CELL_BITS, dtype=np.uint64) << shift
    cells = (words >> shift).view(np.int64)
    found: Ranges = np.searchsorted(bounds, starts, "right").take(cells)
    has_bound = np.zeros(len(starts), np.bool_)
    has_bound[(bounds >> shift).view(np.int64)] = True
    searched = np.flatnonzero(has_bound.take(cells))
    found[searched] = np.searchsorted(bounds, words[searched], "right")
    return found


def _ranks(words: list[Words], rows: Rows) -> Rows:
    """One number in place of several words, for some rows: how many of these have other, lower words."""
    order = np.lexsort(tuple(word[rows] for word in reversed(words)))
    differs = np.zeros(len(rows), np.bool_)
    for word in words:
        ordered = word[rows][order]
        differs[1:] |= ordered[1:] != ordered[:-1]
    ranks = np.empty(len(rows), np.int64)
    ranks[order] = np.cumsum(differs)
    return ranks


def _fields(keys: pa.RecordBatch) -> list[Ints]:
    return [field for name in keys.schema.names for field in _column_fields(keys.column(name), name)]


def _column_fields(column: pa.Array, name: str) -> list[Ints]:
    if pt.is_fixed_size_binary(column.type):  # of a curve
        width = column.type.byte_width
        matrix = np.frombuffer(column.buffers()[1], ">u8")[column.offset * width // _WORD :]
        return list(matrix[: len(column) * width // _WORD].reshape(len(column), width // _WORD).T.astype(np.uint64))
    if not column.null_count:
        return order_fields(column, name)
    valid = valid_mask(column)
    if pt.is_string(column.type) or pt.is_binary(column.type):
        return [valid.view(np.uint8), *order_fields(column.cast(pa.binary()).fill_null(b""), name)]
    zero = [np.where(valid, field, field.dtype.type(0)) for field in order_fields(column, name)]
    return [valid.view(np.uint8), *zero]
