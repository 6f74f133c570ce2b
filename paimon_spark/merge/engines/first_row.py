"""``merge-engine`` = ``first-row``: of each key the oldest row stays (Java: FirstRowMergeFunction)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from paimon_spark.errors import DataError
from paimon_spark.format.row_kind import DELETE, UPDATE_BEFORE, Kinds, is_retract
from paimon_spark.merge.engines.groups import lone_keys, lone_rows
from paimon_spark.merge.keys.row_order import ignored_rows, order_criteria
from paimon_spark.merge.keys.rows import filter_rows, take_rows
from paimon_spark.merge.keys.window import MergeSpec, Refusal, Window
from paimon_spark.merge.keys.winners import Groups, Mask, Rows, first_rows, pick_first

REFUSED = (
    Refusal(
        (UPDATE_BEFORE, DELETE),
        "With merge-engine=first-row, set 'ignore-delete' = 'true' on the table to ignore such rows",
    ),
)
"""The rows that no merge takes; with ``ignore-delete`` none reaches one."""


def first_row(window: Window, spec: MergeSpec, output: Sequence[str], ordered: bool) -> Iterator[pa.RecordBatch]:
    """The oldest row of every key of the window, columns ``output``.

    Args:
        window: all rows of some keys.
        spec: the order of the rows of a key; with ``ignore_delete`` a retraction is never the first row.
        output: columns to return, in this order.
        ordered: True: rows are in key order; False: in the order in which they were read.

    Raises:
        DataError: a retraction among several rows of a key.
    """
    alone = lone_rows(window, spec, output)
    if alone is not None:
        return alone
    pieces = [piece.rows.select(output) for piece in window.pieces]
    kinds = window.kinds(spec)
    if kinds is None and not ordered and not spec.has_sequence:
        return filter_rows(pieces, first_rows(window.words(), window.starts))
    groups, lone = window.groups, lone_keys(window)
    ignored = None
    if kinds is not None:
        _check_retractions(groups, lone, kinds, spec)
        ignored = ignored_rows(kinds, spec)
    winners = pick_first(groups, order_criteria(window, spec, kinds, ignored))
    if kinds is not None:
        winners = winners[_wanted(winners, lone, kinds, ignored, spec)]
    if ordered:
        return take_rows(pieces, winners)
    mask = np.zeros(window.row_count, np.bool_)
    mask[winners] = True
    return filter_rows(pieces, mask)


def _wanted(winners: Rows, lone: Mask, kinds: Kinds, ignored: Mask | None, spec: MergeSpec) -> Mask:
    """For each key, whether its winner is a result: a single row is kept, several ignored rows have no result."""
    if not spec.keep_deletes:
        return ~is_retract(kinds[winners])
    if ignored is None:
        return np.ones(len(winners), np.bool_)
    wanted: Mask = lone | ~ignored[winners]
    return wanted


def _check_retractions(groups: Groups, lone: Mask, kinds: Kinds, spec: MergeSpec) -> None:
    ignored = ignored_rows(kinds, spec)
    retracts = is_retract(kinds) if ignored is None else is_retract(kinds) & ~ignored
    count = int(np.count_nonzero(retracts[groups.order] & np.repeat(~lone, groups.sizes)))
    if count:
        raise DataError(
            f"merging rows with merge-engine=first-row: {count} rows of kind -U or -D meet other rows of their key, "
            "and this engine cannot take anything back; set 'ignore-delete' = 'true' on the table to ignore such rows"
        )
