"""The changelog that a compaction writes for each key: its row before, and its row now.

Java: LookupChangelogMergeFunctionWrapper, FullChangelogMergeFunctionWrapper; features section 6.

Values of rows compare as with Java's RecordEqualiser: null equals null, NaN equals NaN, 0.0 does not equal -0.0.
A null inside a list, or as a value of a map, equals nothing: Java compares these items as SQL does. So a value that
holds one does not even equal itself. Fields of a ROW compare as columns do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pt

from paimon_spark.format.row_kind import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Kinds, is_retract
from paimon_spark.format.schema import VALUE_KIND
from paimon_spark.merge.aggregates.equality import equality_columns
from paimon_spark.merge.aggregates.spans import spans_of
from paimon_spark.merge.keys.window import Window
from paimon_spark.merge.keys.winners import Mask, Rows


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


def equal_rows(rows: pa.RecordBatch, others: pa.RecordBatch, names: Iterable[str]) -> Mask:
    """For each row, whether the row at the same place of others has the same values in these columns.

    Raises:
        UnsupportedFeature: a column of a type whose values cannot be compared.
    """
    equal = np.ones(rows.num_rows, np.bool_)
    for name in names:
        if not equal.any():
            break
        equal &= _equal_values(rows.column(name), others.column(name), name)
    return equal


def _equal_values(values: pa.Array, others: pa.Array, name: str) -> Mask:
    arrow = values.type
    if pt.is_nested(arrow) or pt.is_floating(arrow):
        count = len(values)
        equal = ~_null_items(values)
        for column in equality_columns(pa.concat_arrays([values, others]), name):
            equal &= column[:count] == column[count:]
        return equal
    same = pc.fill_null(pc.equal(values, others), False)
    if values.null_count and others.null_count:
        same = pc.or_(same, pc.and_(values.is_null(), others.is_null()))
    result: Mask = same.to_numpy(zero_copy_only=False)
    return result


def _null_items(array: pa.Array) -> Mask:
    """For each value, whether a list in it, at any depth, holds a null, or a map holds a null value."""
    found = np.zeros(len(array), np.bool_)
    if pt.is_struct(array.type):
        for child in array.flatten():
            found |= _null_items(child)
    elif pt.is_list(array.type) or pt.is_map(array.type):
        spans = spans_of(array)
        items = spans.children[-1]
        nulls = items.is_null().to_numpy(zero_copy_only=False) | _null_items(items)
        if nulls.any():
            found[spans.parents()[nulls[spans.items()]]] = True
    return found
