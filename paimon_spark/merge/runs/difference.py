"""The difference of two states of a table, as an engine of the sorted merge (Java: IncrementalDiffSplitRead).

Runs of the state before hold rows of kind -D, those of the state after rows that add; a key has at most one row in
each state. So memory is bounded as in any merge, and no row is searched for by value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pt

from paimon_spark.errors import CorruptFile
from paimon_spark.format.schema import VALUE_KIND
from paimon_spark.merge.aggregates.equality import equality_columns
from paimon_spark.merge.keys.rows import filter_rows, take_rows
from paimon_spark.merge.keys.window import MergeSpec, Window, is_retract
from paimon_spark.merge.keys.winners import Mask, Rows, group_rows


@dataclass(frozen=True)
class StateDifference:
    """An engine that returns the keys that are new or changed in the state after and, if wanted, the deleted ones.

    Attributes:
        compared: the value columns; a key of both states has changed if one of them has. NaN equals NaN, -0.0 does not
            equal 0.0, nulls are equal at every depth.
        keeps_gone: whether the result has keys that the state after lacks, with their row before.
    """

    compared: tuple[str, ...]
    keeps_gone: bool

    def __call__(
        self, window: Window, spec: MergeSpec, output: Sequence[str], ordered: bool
    ) -> Iterable[pa.RecordBatch]:
        """See Engine. Raises CorruptFile when a state holds a key twice."""
        groups = group_rows(window.words())
        sizes = np.diff(groups.starts, append=len(groups.order))
        first, last = groups.order[groups.starts], groups.order[groups.starts + sizes - 1]
        gone = is_retract(window.column(VALUE_KIND).to_numpy())
        _check_states(sizes, gone[first], gone[last])
        in_both = sizes > 1
        swapped = gone[last] & in_both
        before, after = np.where(swapped, last, first), np.where(swapped, first, last)
        wanted = np.ones(len(sizes), np.bool_) if self.keeps_gone else ~gone[after]
        wanted[in_both] = ~self._equal(window, before[in_both], after[in_both])
        pieces = [piece.rows.select(output) for piece in window.pieces]
        if ordered:
            return take_rows(pieces, after[wanted])
        mask = np.zeros(window.row_count, np.bool_)
        mask[after[wanted]] = True
        return filter_rows(pieces, mask)

    def _equal(self, window: Window, left: Rows, right: Rows) -> Mask:
        equal = np.ones(len(left), np.bool_)
        for name in self.compared:
            column = window.column(name)
            places = np.flatnonzero(equal)
            if not len(places):
                break
            one, other = (column.take(pa.array(rows[places])) for rows in (left, right))
            equal[places] = equal_values(one, other, name)
        return equal


def equal_values(left: pa.Array, right: pa.Array, name: str) -> Mask:
    """Which values of two columns of one type are equal, row by row: null to null, NaN to NaN, -0.0 not to 0.0.

    Args:
        left, right: arrays of one length.
        name: the name of the column, for messages.

    Raises:
        UnsupportedFeature: a type whose values cannot be compared.
    """
    if pt.is_nested(left.type) or pt.is_floating(left.type):
        equal: Mask = np.ones(len(left), np.bool_)
        for column in equality_columns(pa.concat_arrays([left, right]), name):
            equal &= column[: len(left)] == column[len(left) :]
        return equal
    equal = pc.fill_null(pc.equal(left, right), False).to_numpy(zero_copy_only=False)
    if left.null_count or right.null_count:
        equal |= pc.and_(left.is_null(), right.is_null()).to_numpy(zero_copy_only=False)
    return equal


def _check_states(sizes: Rows, first_gone: Mask, last_gone: Mask) -> None:
    several = sizes > 1
    twice = (sizes > 2) | (several & (first_gone == last_gone))
    if twice.any():
        raise CorruptFile(
            f"comparing two states of a table: {int(np.count_nonzero(twice))} keys have several rows in one of them; a "
            "deletion vector is missing, or two buckets hold one key: check the table"
        )
