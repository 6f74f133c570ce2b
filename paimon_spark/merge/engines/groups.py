"""Sorts the rows of a window by key, and within a key in merge order, for engines that fold several rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from paimon_spark.format.row_kind import DELETE, INSERT, Kinds, is_retract
from paimon_spark.format.schema import SEQUENCE_NUMBER, VALUE_KIND
from paimon_spark.merge.keys.key_words import Words, has_repeats, row_key, rows_up_to
from paimon_spark.merge.keys.row_order import order_criteria
from paimon_spark.merge.keys.rows import COPY_BYTES, count_only, filter_rows
from paimon_spark.merge.keys.window import MergeSpec, Piece, Window
from paimon_spark.merge.keys.winners import Mask, Rows


@dataclass(frozen=True)
class SortedRows:
    """Rows by key and then by age: the sequence fields, the sequence number, retractions first, the run.

    Attributes:
        order: row numbers, counted through the pieces of the window.
        starts: the position in order of the first row of each key.
        kinds: the row kinds in this order; None if no row retracts.
        alone: True for keys whose only row is kept without a merge.
    """

    order: Rows
    starts: Rows
    kinds: Kinds | None
    alone: Mask

    @cached_property
    def sizes(self) -> Rows:
        """How many rows each key has."""
        return np.diff(self.starts, append=len(self.order))

    @cached_property
    def lasts(self) -> Rows:
        """The position in order of the last row of each key."""
        return self.starts + self.sizes - 1

    @cached_property
    def merges(self) -> Mask:
        """True for the rows of keys that are merged."""
        return np.repeat(~self.alone, self.sizes)

    @cached_property
    def merged_retractions(self) -> Mask | None:
        """True for the rows that retract something in a merge; None if there are none."""
        if self.kinds is None:
            return None
        mask: Mask = is_retract(self.kinds) & self.merges
        return mask if mask.any() else None

    def result_kinds(self, deleted: Mask | None) -> Kinds | None:
        """The row kind of each key's result: for a single row its own, else +I or -D. None if no row retracts.

        Args:
            deleted: for each key, True if the merge deletes it; None: it deletes no key.
        """
        if self.kinds is None:
            return None
        kinds = np.where(self.alone, self.kinds[self.starts], np.int8(INSERT))
        if deleted is not None:
            kinds = np.where(deleted & ~self.alone, np.int8(DELETE), kinds)
        return kinds


def sort_rows(window: Window, spec: MergeSpec) -> SortedRows:
    """All rows of a window, including those that options ignore."""
    kinds = window.kinds(spec)
    groups = window.groups
    order = order_within_keys(groups.order, groups.starts, order_criteria(window, spec, kinds))
    return SortedRows(order, groups.starts, None if kinds is None else kinds[order], lone_keys(window))


def lone_keys(window: Window) -> Mask:
    """For each key of a window, whether its only row is kept without a merge."""
    groups = window.groups
    alone: Mask = groups.sizes == 1
    return alone if window.merged is None else alone & ~window.merged[groups.order[groups.starts]]


def kept_starts(kept: Mask, starts: Rows) -> tuple[Rows, Mask]:
    """(starts of the keys among the kept rows, mask of the keys that have kept rows)."""
    counts = np.add.reduceat(kept, starts, dtype=np.intp)
    present = counts > 0
    counts = counts[present]
    return np.cumsum(counts) - counts, present


def lone_rows(window: Window, spec: MergeSpec, output: Sequence[str]) -> Iterator[pa.RecordBatch] | None:
    """The rows of a window from one run, in which no key repeats; None for any other window."""
    if len(window.pieces) > 1 or window.merged is not None or has_repeats(window.pieces[0].keys):
        return None
    kinds = None if spec.keep_deletes else window.kinds(spec)
    return filter_rows([window.pieces[0].rows.select(output)], None if kinds is None else ~is_retract(kinds))


def small_windows(window: Window, copy_bytes: int = COPY_BYTES) -> Iterator[Window]:
    """Splits a window into windows of at most copy_bytes, if keys allow it, to bound the memory of a gather."""
    if sum(piece.rows.nbytes for piece in window.pieces) <= copy_bytes:
        yield window
        return
    longest = max(window.pieces, key=lambda piece: piece.rows.num_rows)
    middle = row_key(longest.keys, max(longest.rows.num_rows // 2 - 1, 0))
    for bound in (middle, min(row_key(piece.keys, 0) for piece in window.pieces)):
        ends = [rows_up_to(piece.keys, bound, 0, piece.rows.num_rows) for piece in window.pieces]
        if any(end < piece.rows.num_rows for end, piece in zip(ends, window.pieces, strict=True)):
            cuts = list(zip(window.pieces, ends, strict=True))
            yield from small_windows(_window([piece.part(0, end) for piece, end in cuts]), copy_bytes)
            yield from small_windows(_window([p.part(end, p.rows.num_rows) for p, end in cuts]), copy_bytes)
            return
    yield window


@dataclass(frozen=True)
class Merged:
    """One row of each key, in key order.

    Attributes:
        rows: for each result the row of the window that supplies its key, sequence number and other unmerged columns.
        alone: True where that row is the result without a merge.
        kinds: the row kinds of the results; None: none retracts, and merged results are +I.
        sequences: the sequence numbers of the results; None: those of rows.
    """

    rows: Rows
    alone: Mask
    kinds: Kinds | None = None
    sequences: Rows | None = None


def merged_batch(
    window: Window, spec: MergeSpec, output: Sequence[str], merged: Merged, value: Callable[[str], pa.Array | None]
) -> Iterator[pa.RecordBatch]:
    """The results as a batch, without those that retract unless spec keeps them.

    Args:
        window: the rows.
        spec: says whether results that retract are kept.
        output: the columns; ``_SEQUENCE_NUMBER`` and ``_VALUE_KIND`` are those of the results.
        merged: the row of each key.
        value: returns the merged values of a column; None: the column is not merged, and ``merged.rows`` supply it.
    """
    kept = None
    if not spec.keep_deletes and merged.kinds is not None:
        retracted = is_retract(merged.kinds)
        kept = ~retracted if retracted.any() else None
    if not output:
        count = len(merged.rows) if kept is None else int(np.count_nonzero(kept))
        if count:
            yield count_only(count)
        return

    def column(name: str) -> pa.Array:
        if name == VALUE_KIND:
            own = window.column(VALUE_KIND).to_numpy()[merged.rows]
            return pa.array(np.where(merged.alone, own, np.int8(INSERT)) if merged.kinds is None else merged.kinds)
        if name == SEQUENCE_NUMBER and merged.sequences is not None:
            return pa.array(merged.sequences)
        array = None if name == SEQUENCE_NUMBER else value(name)
        return window.column(name).take(pa.array(merged.rows)) if array is None else array

    schema = window.pieces[0].rows.select(output).schema
    batch = pa.RecordBatch.from_arrays([column(name) for name in output], schema=schema)
    if kept is not None:
        batch = batch.filter(pa.array(kept))
    if batch.num_rows:
        yield batch


def _window(pieces: Sequence[Piece]) -> Window:
    return Window(tuple(piece for piece in pieces if piece.rows.num_rows))


def order_within_keys(order: Rows, starts: Rows, criteria: Sequence[Words]) -> Rows:
    """Sorts the rows of each key by the criteria. Usually they are sorted already, because older runs are first."""
    if not criteria or len(starts) == len(order):
        return order
    first_of_key = np.zeros(len(order), np.bool_)
    first_of_key[starts] = True
    descends, ties = np.zeros(len(order), np.bool_), ~first_of_key
    for word in criteria:
        values = word[order]
        descends[1:] |= ties[1:] & (values[1:] < values[:-1])
        ties[1:] &= values[1:] == values[:-1]
        if not ties.any():
            break
    if not descends.any():
        return order
    keys = np.cumsum(first_of_key) - 1
    wrong = np.zeros(len(starts), np.bool_)
    wrong[keys[descends]] = True
    positions = np.flatnonzero(wrong[keys])
    rows = order[positions]
    result = order.copy()
    result[positions] = rows[np.lexsort((*[word[rows] for word in reversed(criteria)], keys[positions]))]
    return result
