"""The changelog that a compaction writes for each key: its row before, and its row now.

Java: LookupChangelogMergeFunctionWrapper, FullChangelogMergeFunctionWrapper; features section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_spark.format.row_kind import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Kinds
from paimon_spark.format.schema import VALUE_KIND
from paimon_spark.merge.keys.window import Window, is_retract
from paimon_spark.merge.keys.winners import Mask, Rows
from paimon_spark.merge.runs.value_equality import equal_rows


@dataclass(frozen=True)
class Befores:
    """The rows of keys before the compaction.

    Attributes:
        rows: for each key the row of window that held its value, -1 if it had none.
        changes: for each key, False if it cannot have changed.
    """

    window: Window
    rows: Rows
    changes: Mask

    def of(self, keys: Rows | slice) -> Befores:
        """Those of some keys."""
        return Befores(self.window, self.rows[keys], self.changes[keys])


def changelog_rows(
    results: pa.RecordBatch, befores: Befores, compared: Sequence[str] | None, keeps_kinds: bool
) -> pa.RecordBatch | None:
    """The changelog in key order, -U before +U, in the columns of the results; None if nothing has changed.

    A changelog row has the sequence number of the row it is made of.

    Args:
        results: the merged row of each key.
        befores: the rows of these keys before.
        compared: a key is left out if its values in these columns are unchanged; None: no key is left out.
        keeps_kinds: True: a new row keeps its kind, which may be +U; False: it becomes +I.
    """
    had, adds = befores.rows >= 0, ~is_retract(results.column(VALUE_KIND).to_numpy())
    removed, added = befores.changes & had & ~adds, befores.changes & ~had & adds
    updated = befores.changes & had & adds
    if compared is not None and updated.any():
        candidates = np.flatnonzero(updated)
        before = _rows_of(befores.window, befores.rows[candidates], results.schema)
        same = equal_rows(before, results.take(pa.array(candidates)), compared)
        updated[candidates[same]] = False
    old, new = np.flatnonzero(removed | updated), np.flatnonzero(added | updated)
    if not len(old):
        rows = _taken(results, new)
        return None if not len(new) else rows if keeps_kinds else _with_kinds(rows, np.full(len(new), INSERT, np.int8))
    kinds = np.concatenate(
        [
            np.where(updated[old], np.int8(UPDATE_BEFORE), np.int8(DELETE)),
            np.where(updated[new], np.int8(UPDATE_AFTER), np.int8(INSERT)),
        ]
    )
    before = _rows_of(befores.window, befores.rows[old], results.schema)
    order = np.argsort(np.concatenate([2 * old, 2 * new + 1]), kind="stable")
    rows = pa.concat_batches([before, _taken(results, new)]).take(pa.array(order))
    return _with_kinds(rows, kinds[order])


def _with_kinds(rows: pa.RecordBatch, kinds: Kinds) -> pa.RecordBatch:
    place = rows.schema.get_field_index(VALUE_KIND)
    return rows.set_column(place, rows.schema.field(place), pa.array(kinds))


def _taken(rows: pa.RecordBatch, places: Rows) -> pa.RecordBatch:
    return rows if len(places) == rows.num_rows else rows.take(pa.array(places))


def _rows_of(window: Window, rows: Rows, schema: pa.Schema) -> pa.RecordBatch:
    """Rows of a window by their numbers, in this order; pieces that have none of them are not touched."""
    piece_of = np.searchsorted(window.starts, rows, side="right") - 1
    parts, places = [], np.empty(len(rows), np.intp)
    count = 0
    for number in np.unique(piece_of).tolist():
        chosen = np.flatnonzero(piece_of == number)
        places[chosen] = count + np.arange(len(chosen))
        count += len(chosen)
        piece = pa.RecordBatch.from_arrays([window.pieces[number].rows[name] for name in schema.names], schema=schema)
        parts.append(piece.take(pa.array(rows[chosen] - window.starts[number])))
    return parts[0] if len(parts) == 1 else pa.concat_batches(parts).take(pa.array(places))
