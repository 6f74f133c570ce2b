"""``merge-engine`` = ``deduplicate``: of each key the newest row stays (Java: DeduplicateMergeFunction).

Values are never sorted: the winning rows are found by their keys, and each run is filtered in place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from paimon_spark.format.row_kind import is_retract
from paimon_spark.merge.keys.key_words import has_repeats
from paimon_spark.merge.keys.row_order import ignored_rows, merge_criteria
from paimon_spark.merge.keys.rows import filter_rows, take_rows
from paimon_spark.merge.keys.window import MergeSpec, Window
from paimon_spark.merge.keys.winners import last_rows, pick_last


def deduplicate(window: Window, spec: MergeSpec, output: Sequence[str], ordered: bool) -> Iterator[pa.RecordBatch]:
    """The newest row of every key of the window, columns ``output``.

    Args:
        window: all rows of some keys.
        spec: the order of the rows of a key, and which retractions count or stay.
        output: columns to return, in this order.
        ordered: True: rows are in key order; False: in the order in which they were read.
    """
    pieces = [piece.rows.select(output) for piece in window.pieces]
    kinds = window.kinds(spec)
    unwanted = None
    if kinds is not None:
        unwanted = ignored_rows(kinds, spec) if spec.keep_deletes else is_retract(kinds)
    if len(pieces) == 1 and not has_repeats(window.pieces[0].keys):
        return filter_rows(pieces, None if unwanted is None else ~unwanted)
    criteria = merge_criteria(window, spec, kinds)
    if not criteria and not ordered:
        mask = last_rows(window.words(), window.starts)
    else:
        winners = pick_last(window.groups, criteria)
        if ordered:
            return take_rows(pieces, winners if unwanted is None else winners[~unwanted[winners]])
        mask = np.zeros(window.row_count, np.bool_)
        mask[winners] = True
    if unwanted is not None:
        mask &= ~unwanted
    return filter_rows(pieces, mask)
