"""The order of the rows of one key, oldest first: by ``sequence.field``, then by the sequence number.

The order is given as words: a newer row has greater ones. ``winners`` finds the oldest or the newest row of each key by
them. Engines that fold the rows of a key take them in this order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow.raw_values import to_numpy, valid_mask
from paimon_spark.format.row_kind import UPDATE_BEFORE, Kinds, is_retract
from paimon_spark.format.schema import SEQUENCE_NUMBER
from paimon_spark.merge.keys.key_words import Words, order_fields, pack_fields
from paimon_spark.merge.keys.window import MergeSpec, Window


def ignored_rows(kinds: Kinds, spec: MergeSpec) -> npt.NDArray[np.bool_] | None:
    """True for rows that the options drop before merging, or None if there are none."""
    if spec.ignore_delete:
        ignored = is_retract(kinds)
    elif spec.ignore_update_before:
        ignored = kinds == UPDATE_BEFORE
    else:
        return None
    return ignored if ignored.any() else None


def merge_criteria(window: Window, spec: MergeSpec, kinds: Kinds | None) -> list[Words]:
    """The order of rows within a key, as words: ignored rows first, the others as in ``order_criteria``.

    Args:
        window: the rows.
        spec: the rules of the merge.
        kinds: ``window.kinds(spec)``.
    """
    ignored = None if kinds is None else ignored_rows(kinds, spec)
    return order_criteria(window, spec, kinds, None if ignored is None else ~ignored)


def order_criteria(
    window: Window, spec: MergeSpec, kinds: Kinds | None, counts: npt.NDArray[np.bool_] | None = None
) -> list[Words]:
    """The order of rows within a key, as words: the newest row has the greatest; rows with equal words stay in order.

    Rows are ordered by the sequence fields (a null lowest in both orders), then by the sequence number, then
    retractions before additions (Java: SortMergeReaderWithLoserTree, UserDefinedSeqComparator).

    Args:
        window: the rows.
        spec: the rules of the merge.
        kinds: ``window.kinds(spec)``.
        counts: rows for which this is false come before all others.
    """
    fields: list[npt.NDArray[Any]] = [] if counts is None else [counts.view(np.uint8)]
    for field in spec.sequence_fields:
        fields.extend(sequence_order(window.column(field.name), field.name, spec.sequence_descending))
    if spec.has_sequence:
        fields.append(to_numpy(window.column(SEQUENCE_NUMBER)))
        if kinds is not None:
            fields.append((~is_retract(kinds)).view(np.uint8))
    words = pack_fields(fields, window.row_count)
    return [] if not fields or not any(word.any() for word in words) else words


def sequence_order(array: pa.Array, name: str, descending: bool) -> list[npt.NDArray[Any]]:
    """A sequence field as integer columns in which the greater is newer; nulls are lowest, and equal to each other."""
    columns = order_fields(array, name)
    if descending:
        columns = [~column for column in columns]
    if not array.null_count:
        return columns
    valid = valid_mask(array)
    return [valid.view(np.uint8), *(np.where(valid, column, 0).astype(column.dtype) for column in columns)]
