"""The difference of two states of a table: by key, as an engine of the sorted merge, or of bags of rows.

With a key (Java: IncrementalDiffSplitRead), runs of the state before hold rows of kind -D, those of the state after
rows that add; a key has at most one row in each state. So memory is bounded as in any merge, and no row is searched for
by value.

Without a key, each row is returned as often as it occurs more on one side. The rows have no order, so they are divided
into shares by a hash of their values, and each share is compared by itself: memory holds one share of both states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow import kernels as pc
from paimon_spark.arrow.row_hash import hash_rows
from paimon_spark.errors import CorruptFile
from paimon_spark.format.row_kind import DELETE, INSERT, is_retract
from paimon_spark.format.schema import VALUE_KIND
from paimon_spark.format.types import UNORDERED, DataField
from paimon_spark.merge.aggregates.equality import equality_columns, group_equal
from paimon_spark.merge.keys.rows import filter_rows, take_rows
from paimon_spark.merge.keys.window import MergeSpec, Window
from paimon_spark.merge.keys.winners import Mask, Rows, group_rows

StateRows: TypeAlias = Callable[[], Iterator[pa.RecordBatch]]
"""Reads the rows of a state, from the start each time."""


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


@dataclass(frozen=True)
class BagSpec:
    """The columns to compare, and the form of the result.

    Attributes:
        fields: all columns of the rows. Rows are equal if all columns are: NaN equals NaN, -0.0 does not equal 0.0.
        output: names of the columns of the result; with ``_VALUE_KIND`` among them, +I or -D.
        keeps_gone: whether the result has rows, as -D, that occur more often in the state before.
        shares: the number of parts to compare one after the other. All rows are read once for each.
    """

    fields: tuple[DataField, ...]
    output: tuple[str, ...]
    keeps_gone: bool
    shares: int = 1


def bag_difference(before: StateRows, after: StateRows, spec: BagSpec) -> Iterator[pa.RecordBatch]:
    """The rows that occur more often in the state after than before, and, if wanted, the opposite ones as deletes.

    Raises:
        UnsupportedFeature: a column of a type whose values cannot be compared.
    """
    for share in range(spec.shares):
        old, new = ([_share(batch, spec, share) for batch in rows()] for rows in (before, after))
        rows = pa.concat_batches([*old, *new]) if old or new else None
        if rows is None or not rows.num_rows:
            continue
        kept, gone = _unpaired(rows, spec, sum(batch.num_rows for batch in old))
        mask = kept | gone if spec.keeps_gone else kept
        if mask.any():
            yield _output(rows.filter(pa.array(mask)), gone[mask], spec)


def _share(batch: pa.RecordBatch, spec: BagSpec, share: int) -> pa.RecordBatch:
    """The rows of one share; the hash ignores nested columns."""
    flat = [field for field in spec.fields if field.type.root not in UNORDERED]
    if spec.shares == 1 or not flat:
        return batch.slice(0, batch.num_rows if share == 0 else 0)
    return batch.filter(pa.array(hash_rows(batch, flat) % spec.shares == share))


def _unpaired(rows: pa.RecordBatch, spec: BagSpec, old_count: int) -> tuple[Mask, Mask]:
    """Which rows of the state after, and which of the state before, have no equal row on the other side to pair with.

    Args:
        rows: the rows of the state before, then those of the state after.
        spec: the columns to compare.
        old_count: the number of rows of the state before.
    """
    columns = [column for f in spec.fields for column in equality_columns(rows.column(f.name), f.name)]
    groups = group_equal(columns, rows.num_rows)
    sizes = np.diff(groups.starts, append=rows.num_rows)
    is_old = groups.order < old_count  # equal rows keep their order: old ones first
    old_sizes = np.add.reduceat(is_old, groups.starts, dtype=np.intp)
    place = np.arange(rows.num_rows) - np.repeat(groups.starts, sizes)
    pairs = np.repeat(np.minimum(old_sizes, sizes - old_sizes), sizes)
    rank = np.where(is_old, place, place - np.repeat(old_sizes, sizes))
    kept, gone = np.zeros(rows.num_rows, np.bool_), np.zeros(rows.num_rows, np.bool_)
    kept[groups.order] = ~is_old & (rank >= pairs)
    gone[groups.order] = is_old & (rank >= pairs)
    return kept, gone


def _output(rows: pa.RecordBatch, gone: npt.NDArray[np.bool_], spec: BagSpec) -> pa.RecordBatch:
    if VALUE_KIND in spec.output:
        kinds = pa.array(np.where(gone, DELETE, INSERT).astype(np.int8))
        rows = rows.append_column(pa.field(VALUE_KIND, pa.int8(), nullable=False), kinds)
    return rows.select(list(spec.output))
