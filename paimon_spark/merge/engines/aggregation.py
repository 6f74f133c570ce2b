"""``merge-engine`` = ``aggregation``: each column of a key is folded by its function (Java: AggregateMergeFunction)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from paimon_spark.format.row_kind import DELETE, UPDATE_BEFORE
from paimon_spark.merge.aggregates.frame import last_where
from paimon_spark.merge.aggregates.registry import ColumnAggregate
from paimon_spark.merge.engines.folding import FoldRows, check_retracts, fold_column, lasting_refusal
from paimon_spark.merge.engines.groups import (
    Merged,
    SortedRows,
    kept_starts,
    lone_rows,
    merged_batch,
    small_windows,
    sort_rows,
)
from paimon_spark.merge.keys.window import MergeSpec, Refusal, Window
from paimon_spark.merge.keys.winners import Mask, Rows


@dataclass(frozen=True)
class Aggregation:
    """The engine of one table.

    Attributes:
        functions: the functions of all columns except the keys.
        remove_on_delete: ``aggregation.remove-record-on-delete``: a row of kind -D deletes its key, and later rows are
            folded into the values of that row.
    """

    functions: Mapping[str, ColumnAggregate]
    remove_on_delete: bool = False

    def __call__(
        self, window: Window, spec: MergeSpec, output: Sequence[str], ordered: bool
    ) -> Iterator[pa.RecordBatch]:
        """The folded rows of a window, in key order.

        Raises:
            DataError: a function cannot retract a value, or cannot fold the values; the message names the column.
        """
        alone = lone_rows(window, spec, output)
        if alone is not None:
            yield from alone
            return
        for part in small_windows(window):
            yield from self._merge(part, spec, output)

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """The rows that no merge takes: retractions that a function does not support."""
        kinds = (UPDATE_BEFORE,) if self.remove_on_delete else (UPDATE_BEFORE, DELETE)
        found = [lasting_refusal(f, kinds, _ways_out(name, self)) for name, f in self.functions.items()]
        return tuple(refusal for refusal in found if refusal is not None)

    def left_alone(self, absent: Set[str]) -> frozenset[str]:
        """The columns among absent in which a null changes nothing, because their functions skip nulls."""
        return frozenset(n for n in absent if n in self.functions and not self.functions[n].spec.null_counts)

    def _merge(self, window: Window, spec: MergeSpec, output: Sequence[str]) -> Iterator[pa.RecordBatch]:
        rows = sort_rows(window, spec)
        resets = _resets(rows) if self.remove_on_delete else None
        folding = _Folding(rows, resets)
        deleted = None if resets is None else resets == rows.lasts

        def value(name: str) -> pa.Array | None:
            function = self.functions.get(name)
            return None if function is None else folding.fold(function, window.column(name))

        merged = Merged(rows.order[rows.lasts], rows.alone, rows.result_kinds(deleted))
        yield from merged_batch(window, spec, output, merged, value)


def _ways_out(column: str, engine: Aggregation) -> str:
    """What lets a column take rows that its function cannot retract."""
    if engine.remove_on_delete:
        return "'ignore-update-before' = 'true' to drop rows of kind -U"
    return (
        f"'fields.{column}.ignore-retract' = 'true' to let this column ignore such rows, 'ignore-delete' = 'true' to "
        "drop them, or 'aggregation.remove-record-on-delete' = 'true' to let -D delete the row"
    )


def _resets(rows: SortedRows) -> Rows | None:
    """For each key the position of its last row of kind -D, -1 if there is none or it is alone; None if no key has."""
    if rows.merged_retractions is None or rows.kinds is None:
        return None
    deletes = (rows.kinds == DELETE) & rows.merges
    return last_where(deletes, rows.starts) if deletes.any() else None


class _Folding:
    """The rows that the columns of a window fold: the same for all columns, except for the rows that start a key."""

    def __init__(self, rows: SortedRows, resets: Rows | None) -> None:
        self._rows = rows
        self._resets = resets
        self._takes_back = False
        retract = rows.merged_retractions
        alone = rows.alone
        self._seeded = alone if resets is None else alone | (resets >= 0)
        self._reset = None if resets is None else resets >= 0
        if resets is None:
            keys = np.repeat(np.arange(len(rows.starts)), rows.sizes)
            self._all = FoldRows(rows.order, rows.starts, retract, keys=keys)
            return
        place = np.arange(len(rows.order))
        reset = np.repeat(resets, rows.sizes)
        kept = place >= reset
        self._takes_back = retract is not None and bool((retract & (rows.kinds != DELETE)).any())
        starts, _ = kept_starts(kept, rows.starts)
        left = None if retract is None else (retract & (place != reset))[kept]
        self._all = FoldRows(rows.order[kept], starts, left)

    def fold(self, function: ColumnAggregate, column: pa.Array) -> pa.Array:
        if self._takes_back:  # an error even if a reset follows
            check_retracts(function)
        seeded = self._reset if function.spec.starts_plain else self._seeded
        settled = None if self._reset is None else self._settled(function, column)
        return fold_column(function, column, replace(self._all, seeded=seeded, settled=settled))

    def _settled(self, function: ColumnAggregate, column: pa.Array) -> Mask | None:
        """For each key, whether a row before its reset settled the first value: a reset keeps that fact."""
        rows, by = self._rows, function.spec.settled_by
        if by is None or self._resets is None or rows.kinds is None:
            return None
        settling = by(function.over(column, rows.starts, rows=rows.order)) & ((rows.kinds & 1) == 0)
        settling &= np.arange(len(rows.order)) < np.repeat(self._resets, rows.sizes)
        settled: Mask = np.logical_or.reduceat(settling, rows.starts)
        return settled
