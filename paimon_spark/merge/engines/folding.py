"""Folds one column of sorted rows by its aggregate function, on behalf of engines; handles late rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from paimon_spark.errors import DataError
from paimon_spark.merge.aggregates.registry import ColumnAggregate
from paimon_spark.merge.engines.groups import kept_starts
from paimon_spark.merge.keys.window import Refusal
from paimon_spark.merge.keys.winners import Mask, Rows


@dataclass(frozen=True)
class FoldRows:
    """The rows of one column by key, in order of arrival.

    A mask that is None is true for no row (or key).

    Attributes:
        rows: row numbers of the column.
        starts: the position of the first row of each key; every key has at least one row.
        retract: True for retractions.
        late: True for rows that are older than some before them; never for retractions.
        seeded: for each key, True if its first row is not folded but is the initial accumulator.
        settled: for each key, True if its seed counts as a first value.
        keys: for each row the number of its key, if known.
    """

    rows: Rows
    starts: Rows
    retract: Mask | None = None
    late: Mask | None = None
    seeded: Mask | None = None
    settled: Mask | None = None
    keys: Rows | None = None


def fold_column(aggregate: ColumnAggregate, column: pa.Array, rows: FoldRows) -> pa.Array:
    """One value per key.

    Args:
        aggregate: the function of the column.
        column: the values of the column.
        rows: the rows to fold, and how.

    Raises:
        DataError: the function does not support the retractions, or the values do not fit it.
    """
    rows = _tidy(rows)
    if rows.retract is not None and aggregate.options.ignore_retract:
        kept = ~rows.retract
        starts, present = kept_starts(kept, rows.starts)
        if not len(starts):
            return pa.nulls(len(rows.starts), column.type)
        left = FoldRows(
            rows.rows[kept],
            starts,
            None,
            None if rows.late is None else rows.late[kept],
            None if rows.seeded is None else rows.seeded[present],
            None if rows.settled is None else rows.settled[present],
        )
        values = _fold(aggregate, column, left)
        return values if present.all() else spread(values, present)
    if rows.retract is not None:
        check_retracts(aggregate)
    return _fold(aggregate, column, rows)


def check_retracts(aggregate: ColumnAggregate) -> None:
    """Raises DataError if the function of a column does not support retractions."""
    if takes_back(aggregate):
        return
    raise DataError(
        f"merging rows: column '{aggregate.column}' has the aggregate function '{aggregate.name}', which cannot "
        f"take back the values of rows of kind -U or -D; set 'fields.{aggregate.column}.ignore-retract' = 'true' "
        "to let this column ignore such rows, or 'ignore-delete' = 'true' to drop them when they are written"
    )


def takes_back(aggregate: ColumnAggregate) -> bool:
    """True if the function of a column supports retractions, or ignores them."""
    return aggregate.spec.retracts or aggregate.options.ignore_retract


def lasting_refusal(
    aggregate: ColumnAggregate, kinds: tuple[int, ...], ways_out: str, columns: tuple[str, ...] = ()
) -> Refusal | None:
    """The rows of these kinds if the function of a column does not support retractions, else None.

    Args:
        ways_out: what to set to let the table take them.
        columns: as of Refusal.
    """
    if takes_back(aggregate):
        return None
    reason = (
        f"Column '{aggregate.column}' has the aggregate function '{aggregate.name}', which cannot take back values; "
        f"set {ways_out}"
    )
    return Refusal(kinds, reason, columns)


def spread(values: pa.Array, present: Mask) -> pa.Array:
    """The values at the places where present is true, nulls at the others."""
    return values.take(pa.array(np.cumsum(present) - 1, mask=~present))


def _tidy(rows: FoldRows) -> FoldRows:
    """The rows with masks that are true nowhere replaced by None."""

    def useful(mask: Mask | None) -> Mask | None:
        return mask if mask is not None and mask.any() else None

    return replace(
        rows, retract=useful(rows.retract), late=useful(rows.late), seeded=useful(rows.seeded),
        settled=useful(rows.settled),
    )  # fmt: skip


def _fold(aggregate: ColumnAggregate, column: pa.Array, rows: FoldRows) -> pa.Array:
    spec = aggregate.spec
    seeded = rows.seeded
    in_place = spec.commutative or (spec.appends_late and not aggregate.options.ignore_retract)
    if rows.late is not None and not spec.takes_late and not in_place:
        return _fold_late_first(aggregate, column, rows)
    return aggregate.fold(
        column,
        rows.starts,
        rows=rows.rows,
        retract=rows.retract,
        seeded=seeded,
        late=rows.late if spec.takes_late else None,
        settled=rows.settled if spec.settled_by is not None else None,
        key_of_row=rows.keys,
    )


def _fold_late_first(aggregate: ColumnAggregate, column: pa.Array, rows: FoldRows) -> pa.Array:
    """Folds late rows before older ones, the last late row first, as accumulator (Java: FieldAggregator.aggReversed).

    A late row after a retraction must not be moved before it. So the rows of a key are cut there into phases; each
    folds the result of the one before. Most keys have one phase.
    """
    assert rows.late is not None
    count, keys = len(rows.rows), len(rows.starts)
    key_of_row = np.repeat(np.arange(keys), np.diff(rows.starts, append=count))
    phases = _phases(rows, key_of_row)
    seeded = np.zeros(keys, np.bool_) if rows.seeded is None else rows.seeded
    result = pa.nulls(keys, column.type)
    source = pa.concat_arrays([result, column])  # the accumulators, then the values
    for phase in range(int(phases.max()) + 1):
        chosen = np.flatnonzero(phases == phase)
        late, present = rows.late[chosen], np.zeros(keys, np.bool_)
        key, row = key_of_row[chosen], rows.rows[chosen] + keys
        retract = None if rows.retract is None else rows.retract[chosen]
        present[key] = True
        if phase:
            left = np.flatnonzero(present)
            key, row, late = (np.append(a, b) for a, b in ((left, key), (left, row), (np.zeros(len(left), bool), late)))
            retract = None if retract is None else np.append(np.zeros(len(left), np.bool_), retract)
        place = np.arange(len(key))
        order = np.lexsort((np.where(late, -place, place), ~late, key))
        starts = np.flatnonzero(np.append(True, np.diff(key[order]) > 0))
        seeds = late[order[starts]] | (seeded[present] if phase == 0 else True)
        values = _fold(
            aggregate, source, FoldRows(row[order], starts, None if retract is None else retract[order], None, seeds)
        )
        result = values if present.all() else _update(result, values, present)
        source = pa.concat_arrays([result, column])
    return result


def _phases(rows: FoldRows, key_of_row: Rows) -> Rows:
    """The phase of each row: how often, in its key so far, a late row came after a retraction of the same phase."""
    if rows.retract is None or rows.late is None:
        return np.zeros(len(rows.rows), np.intp)
    # Looking at retractions and late rows alone, a phase starts at each late row that follows a retraction.
    events = np.flatnonzero(rows.retract | rows.late)
    late, key = rows.late[events], key_of_row[events]
    cuts = np.zeros(len(rows.rows), np.intp)
    cuts[events[1:]] = late[1:] & ~late[:-1] & (key[1:] == key[:-1])
    total = np.cumsum(cuts)
    before = total[rows.starts] - cuts[rows.starts]
    phases: Rows = total - before[key_of_row]
    return phases


def _update(values: pa.Array, newer: pa.Array, present: Mask) -> pa.Array:
    """The values, with the newer ones in place of those where present is true."""
    places = np.arange(len(values))
    places[present] = len(values) + np.arange(len(newer))
    return pa.concat_arrays([values, newer]).take(pa.array(places))
