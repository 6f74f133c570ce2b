"""The record of each key under partial-update: chooses the rows that count for it, and computes its columns.

Java keeps one record per key and changes it row by row (PartialUpdateMergeFunction). Here the rows that count are
chosen first, for all keys at once, and then each column is computed from them. A record has a *seed* if a row has set
all its columns at once: a row that deletes the record, or a retraction that is the first row of its key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.format.row_kind import DELETE, Kinds
from paimon_spark.merge.aggregates.frame import Fold, last_where
from paimon_spark.merge.aggregates.registry import ColumnAggregate
from paimon_spark.merge.engines.folding import FoldRows, check_retracts, fold_column, spread
from paimon_spark.merge.engines.groups import SortedRows, kept_starts
from paimon_spark.merge.engines.sequence_groups import GroupRows, Sequences, deleting_rows
from paimon_spark.merge.keys.winners import Mask, Rows


@dataclass(frozen=True)
class Settling:
    """The rows of keys whose record was deleted during the merge; they show whether there was a first value before.

    Attributes:
        rows, starts: the rows of each of these keys from its first one to the last one that deletes.
        adds, retracts: True for rows before that last one that add, and that retract.
        keys: for each key of the records, True if it is one of these.
    """

    rows: Rows
    starts: Rows
    adds: Mask
    retracts: Mask
    keys: Mask


@dataclass(frozen=True)
class Records:
    """The rows that count, key by key in merge order; every key has one.

    Attributes:
        rows, starts: row numbers of the window, and the position of the first one of each key.
        last_rows: for each key the row that supplies the key columns and sequence number of the result.
        kinds: the row kinds of the results; None: no result retracts.
        numbered: for each key, False if no row that counts supplies the sequence number of the result; None: always
            True.
        retracts: True for rows that retract; None if there are none.
        seeds: True for rows that set the whole record, always the first of their key; None if there are none. If any
            row is a seed, the single row of a key is one too.
        settling: the keys whose record was deleted during the merge; None if there are none.
    """

    rows: Rows
    starts: Rows
    last_rows: Rows
    kinds: Kinds | None = None
    numbered: Mask | None = None
    retracts: Mask | None = None
    seeds: Mask | None = None
    settling: Settling | None = None

    def sequence_numbers(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The sequence number of each result."""
        result = numbers[self.last_rows]
        return result if self.numbered is None else np.where(self.numbered, result, 0)

    def overlay(self, column: pa.Array) -> pa.Array:
        """A column in no group: the last value that is not null; retractions do not change it."""
        if self.retracts is None:
            rows = self.rows[self.lasts]
            if column.null_count:  # if all values are null, any row will do
                counts: Mask = column.is_valid().to_numpy(zero_copy_only=False)[self.rows]
                rows = self.rows[last_where(counts, self.starts, self.keys_of_rows, self.lasts)]
            return column.take(pa.array(rows))
        counts = column.is_valid().to_numpy(zero_copy_only=False)[self.rows] & ~self.retracts
        return column.take(self._row_numbers(last_where(counts, self.starts, self.keys_of_rows)))

    def replace(self, column: pa.Array, sequences: Sequences, is_sequence: bool) -> pa.Array:
        """A column in a group, without a function: the value of the last fresh row, null if that row retracts.

        Args:
            column: the values.
            sequences: the sequence columns of the group.
            is_sequence: True for a sequence column itself, which retractions set too.
        """
        key = (sequences, is_sequence)
        if key not in self._chosen:
            judged = self._judge(sequences)
            counts = judged.fresh if self.seeds is None else judged.fresh | self.seeds
            positions = last_where(counts, self.starts, self.keys_of_rows)
            if self.retracts is not None and not is_sequence:
                positions = np.where((positions >= 0) & self.retracts[positions], -1, positions)
            self._chosen[key] = self._row_numbers(positions)
        return column.take(self._chosen[key])

    def fold(self, column: pa.Array, sequences: Sequences, function: ColumnAggregate) -> pa.Array:
        """A column in a group, by its function: late rows are folded as older ones."""
        judged = self._judge(sequences)
        counts = judged.takes_part if self.seeds is None else judged.takes_part | self.seeds
        starts, present = kept_starts(counts, self.starts)
        if not len(starts):
            return pa.nulls(len(self.starts), column.type)
        retract = None if self.retracts is None else self.retracts[counts]
        settling = self.settling
        if settling is not None and (settling.retracts & sequences.present(settling.rows)).any():
            check_retracts(function)  # an error, although what it led to is deleted
        late = (judged.takes_part & ~judged.fresh)[counts]
        if retract is not None:
            late &= ~retract
        seeded = None if self.seeds is None else self.seeds[self.starts][present]
        settled = self._settled(column, sequences, function)
        rows = FoldRows(self.rows[counts], starts, retract, late, seeded, None if settled is None else settled[present])
        values = fold_column(function, column, rows)
        return values if present.all() else spread(values, present)

    @cached_property
    def sizes(self) -> Rows:
        """How many rows each key has."""
        return np.diff(self.starts, append=len(self.rows))

    @cached_property
    def lasts(self) -> Rows:
        """The position of the last row of each key."""
        return self.starts + self.sizes - 1

    @cached_property
    def keys_of_rows(self) -> Rows:
        """The number of its key for every row."""
        return np.repeat(np.arange(len(self.starts)), self.sizes)

    @cached_property
    def _judged(self) -> dict[Sequences, GroupRows]:
        return {}

    @cached_property
    def _chosen(self) -> dict[tuple[Sequences, bool], pa.Array]:
        """The rows that supply the columns of a group; sequence columns may be supplied by other rows."""
        return {}

    def _judge(self, sequences: Sequences) -> GroupRows:
        """Which rows take part in a group and are fresh, cached for all columns of the group."""
        if sequences not in self._judged:
            seeds = np.zeros(len(self.rows), np.bool_) if self.seeds is None else self.seeds
            self._judged[sequences] = sequences.judge(self.rows, self.starts, seeds)
        return self._judged[sequences]

    def _row_numbers(self, positions: npt.NDArray[np.int64]) -> pa.Array:
        """The row numbers at the positions, null where a position is negative."""
        missing = positions < 0
        return pa.array(self.rows[positions], mask=missing if missing.any() else None)

    def _settled(self, column: pa.Array, sequences: Sequences, function: ColumnAggregate) -> Mask | None:
        settling, by = self.settling, function.spec.settled_by
        if settling is None or by is None:
            return None
        fold: Fold = function.over(column, settling.starts, rows=settling.rows)
        settles = by(fold) & settling.adds & sequences.present(settling.rows)
        settled = np.zeros(len(self.starts), np.bool_)
        settled[settling.keys] = np.logical_or.reduceat(settles, settling.starts)
        return settled


def plain_records(rows: SortedRows, ignore_delete: bool, remove_on_delete: bool) -> Records:
    """The records of a table without sequence groups.

    Args:
        rows: the rows of the window by key.
        ignore_delete: retractions are dropped, except one that is the first row of its key: it sets the record.
        remove_on_delete: a row of kind -D resets the record, and deletes it if no row follows; -U is dropped.
    """
    retract = rows.merged_retractions
    if retract is None or rows.kinds is None:
        return Records(rows.order, rows.starts, rows.order[rows.lasts], rows.result_kinds(None))
    if ignore_delete:
        return _without_retractions(rows, retract)
    kept = ~retract
    deleted = ~np.logical_or.reduceat(kept, rows.starts)
    kept[rows.starts] = True
    if remove_on_delete:
        deletes = retract & (rows.kinds == DELETE)
        reset = np.repeat(last_where(deletes, rows.starts), rows.sizes)
        place = np.arange(len(rows.order))
        kept = (kept & (place >= reset)) | (place == reset)
        deleted |= deletes[rows.lasts]
    starts, _ = kept_starts(kept, rows.starts)
    return Records(rows.order[kept], starts, rows.order[rows.lasts], rows.result_kinds(deleted))


def grouped_records(rows: SortedRows, ignore_delete: bool, removing: Sequence[Sequences]) -> Records:
    """The records of a table with sequence groups.

    Args:
        rows: the rows of the window by key.
        ignore_delete: retractions are dropped, except one that is the first row of its key: it sets the record.
        removing: the groups whose fresh rows of kind -D delete the record.
    """
    retract = rows.merged_retractions
    if retract is None or rows.kinds is None:
        last_rows, kinds = rows.order[rows.lasts], rows.result_kinds(None)
        return Records(rows.order, rows.starts, last_rows, kinds, seeds=~rows.merges)
    begins_with_retract = retract[rows.starts]
    seeds_key = begins_with_retract | rows.alone
    if ignore_delete:
        records = _without_retractions(rows, retract)
        return replace(records, seeds=_at(records.starts[seeds_key], len(records.rows)))
    # A retraction that is the first row of its key counts twice: it sets the record, then it retracts.
    twice = np.ones(len(rows.order), np.intp)
    twice[rows.starts[begins_with_retract]] = 2
    places = np.repeat(np.arange(len(rows.order)), twice)
    starts = rows.starts + np.cumsum(begins_with_retract) - begins_with_retract
    seeds = _at(starts[seeds_key], len(places))
    records = Records(
        rows.order[places],
        starts,
        rows.order[rows.lasts],
        retracts=retract[places] & ~seeds,
        seeds=seeds,
    )
    deleted = ~np.logical_or.reduceat(~retract, rows.starts)
    if removing:
        deletes = (rows.kinds == DELETE)[places] & retract[places] & ~seeds
        resets = deleting_rows(removing, records.rows, starts, deletes, seeds)
        if resets.any():
            deleted |= resets[records.lasts]
            records = _from_resets(records, resets)
    return replace(records, kinds=rows.result_kinds(deleted))


def _without_retractions(rows: SortedRows, retract: Mask) -> Records:
    """Only rows that add, and first rows."""
    kept, numbered = ~retract, np.logical_or.reduceat(~retract, rows.starts)
    last_rows = np.where(numbered, last_where(kept, rows.starts), rows.starts)
    kept[rows.starts] = True
    starts, _ = kept_starts(kept, rows.starts)
    kinds = rows.result_kinds(~numbered)
    return Records(rows.order[kept], starts, rows.order[last_rows], kinds, None if numbered.all() else numbered)


def _from_resets(records: Records, resets: Mask) -> Records:
    """The records from their last reset on, which becomes their seed.

    Args:
        records: the records.
        resets: True for rows that delete the record and take its place.
    """
    assert records.retracts is not None
    assert records.seeds is not None
    last = last_where(resets, records.starts)
    place, reset = np.arange(len(records.rows)), np.repeat(last, records.sizes)
    kept, before = place >= reset, place <= reset
    starts, _ = kept_starts(kept, records.starts)
    retracts, seeds = records.retracts & ~resets, records.seeds | resets
    settling = Settling(
        records.rows[before],
        kept_starts(before, records.starts)[0],
        ~(retracts | seeds)[before],
        retracts[before],
        last >= 0,
    )
    return replace(
        records,
        rows=records.rows[kept],
        starts=starts,
        retracts=retracts[kept],
        seeds=seeds[kept],
        settling=settling,
    )


def _at(positions: Rows, count: int) -> Mask:
    """A mask that is true at the positions."""
    mask = np.zeros(count, np.bool_)
    mask[positions] = True
    return mask
