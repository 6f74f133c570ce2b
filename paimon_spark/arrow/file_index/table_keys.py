"""Columns as the keys of an index of the whole table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.file_index.builder import ColumnKeys, key_values
from paimon_spark.arrow.raw_values import to_numpy, valid_mask
from paimon_spark.arrow.types import to_internal
from paimon_spark.format.file_index.keys import CodedKeys, code_keys
from paimon_spark.format.file_index.row_sets import Ints
from paimon_spark.format.global_index.keys import GlobalKeyForm
from paimon_spark.format.types import STRINGS, TIMESTAMPS, Root

_MOST_MICROS = 2**63 // 1000 - 1  # which are nanoseconds of 64 bits


def coded_column(array: pa.ChunkedArray, form: GlobalKeyForm) -> CodedKeys:
    """The keys of a column of the type of the form."""
    root = form.data_type.root
    if root in STRINGS:
        keys = ColumnKeys(form)
        for chunk in array.chunks:
            keys.add(chunk)
        return keys.coded()
    whole = array.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks else pa.array([], array.type)
    numbers = _numbers(whole, form)
    return _few_by_few(whole, form) if numbers is None else code_keys(form, numbers, valid_mask(whole))


def _numbers(array: pa.Array, form: GlobalKeyForm) -> Ints | None:
    """The keys as integers of 64 bits; None: they do not fit."""
    root = form.data_type.root
    if root is Root.DECIMAL and form.width is None:
        return None
    if root not in TIMESTAMPS:
        return key_values(array, form.data_type)
    units = to_numpy(array.view(pa.int64()))
    if array.type.unit != "us":  # milliseconds and nanoseconds are kept as they are
        return units
    return units * 1000 if np.abs(units[valid_mask(array)]).max(initial=0) <= _MOST_MICROS else None


def _few_by_few(array: pa.Array, form: GlobalKeyForm) -> CodedKeys:
    """The keys of values that are no integers of 64 bits; of each distinct value one is made."""
    coded = array.dictionary_encode()
    keys: list[Any] = [form.key(to_internal(value)) for value in coded.dictionary]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    ranks = np.empty(len(keys) + 1, np.int64)
    ranks[order] = np.arange(len(keys))
    ranks[-1] = -1  # of nulls
    codes = ranks[coded.indices.fill_null(len(keys)).to_numpy()]
    return CodedKeys(form, [keys[number] for number in order], codes)
