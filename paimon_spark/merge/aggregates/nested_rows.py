"""``nested_update`` and ``nested_partial_update`` (Java: FieldNestedUpdateAgg): an ARRAY<ROW> as a small table.

With ``nested-key`` a row replaces the one with the same nested key, unless it is older by ``nested-sequence-field``,
and a retracted row removes the one with its nested key. Without a nested key rows are added, and a retracted row
removes all rows equal to it. ``count-limit`` bounds the number of rows: rows that arrive when the table is full are
dropped. Null rows do not count. With a nested key the order of rows is undefined (in Java, that of a hash table).

With ``nested_partial_update`` (Java: FieldNestedPartialUpdateAgg) rows with one nested key become one row, each of
whose fields has the last value that is not null. Null rows do not count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.errors import DataError
from paimon_spark.format.types import DataType, Root
from paimon_spark.merge.aggregates.elements import Elements, elements_of, last_where_sorted
from paimon_spark.merge.aggregates.equality import equality_columns
from paimon_spark.merge.aggregates.frame import (
    MAX_COUNT,
    AggregateSpec,
    FieldOptions,
    Fold,
    Specs,
    first_where,
    last_where,
)
from paimon_spark.merge.aggregates.parts import (
    acting_rows,
    fold_in_phases,
    fold_rest,
    has_value,
    late_after_retract,
    only_seeds,
    seeds,
)
from paimon_spark.merge.aggregates.spans import lists_of
from paimon_spark.merge.keys.key_words import Ints, pack_fields
from paimon_spark.merge.keys.row_order import sequence_order
from paimon_spark.merge.keys.winners import Groups, Mask, Rows, pick_last


def updated_rows(fold: Fold) -> pa.Array:
    """The table of each key.

    Raises:
        DataError: a null in a nested key where 'nested-key-null-strategy' is 'error'.
    """
    return fold_in_phases(fold, _cuts(fold), _update)


def _update(fold: Fold) -> pa.Array:
    if fold.options.nested_key:
        return fold_rest(fold, only_seeds(fold), _replace)
    return fold_rest(fold, only_seeds(fold) | _full_seeds(fold), _add)


def _cuts(fold: Fold) -> Mask:
    """True for values that start a phase. Without a limit, only late rows after a retraction need a new phase.

    With a limit, the number of rows at any time matters. It is known as long as rows are only added, and where no seed
    has null rows: these count at first, and are removed with the next row.
    """
    cuts = late_after_retract(fold)
    if fold.options.count_limit == MAX_COUNT:
        return cuts
    late = np.zeros(fold.count, np.bool_) if fold.late is None else fold.late.copy()
    if fold.retract is not None:
        late &= ~fold.retract
        cuts[1:] |= fold.retract[:-1] & ~fold.retract[1:]
    cuts |= late
    rows = elements_of(fold)
    valid = rows.valid(0)
    if valid is not None and (fold.late is not None or fold.seeded is not None):
        late[fold.starts] |= seeds(fold)
        odd = np.zeros(fold.keys, np.bool_)
        odd[rows.keys[~valid & late[rows.values]]] = True
        cuts |= np.repeat(odd, fold.sizes)
    return cuts


def _seed_sizes(fold: Fold) -> Rows:
    """Per key, the length of its seed; 0 where there is none."""
    if fold.seeded is None:
        return np.zeros(fold.keys, np.intp)
    lengths = pc.list_value_length(fold.take(fold.starts)).fill_null(0).to_numpy()
    return np.where(fold.seeded, lengths, 0)


def _full_seeds(fold: Fold) -> Mask:
    """For each key, whether its seed has so many rows that none can be added, and nothing is retracted."""
    if fold.seeded is None:
        return np.zeros(fold.keys, np.bool_)
    full = fold.seeded & (_seed_sizes(fold) >= fold.options.count_limit)
    if fold.valid is not None:
        full &= fold.valid[fold.starts]
    if fold.retract is not None:
        full &= ~np.logical_or.reduceat(fold.retract & acting_rows(fold), fold.starts)
    return full


def _add(fold: Fold) -> pa.Array:
    rows = present_rows(elements_of(fold))
    takes = rows.retracted
    stays = np.ones(len(rows.items), np.bool_) if takes is None else ~takes
    if fold.options.count_limit < MAX_COUNT:
        added = stays if rows.seeds is None else stays & ~rows.seeds
        room = fold.options.count_limit - _seed_sizes(fold)
        stays = stays & (~added | (_rank(added, rows.keys, fold) < room[rows.keys]))
    if takes is not None and len(stays):
        order, starts = (groups := rows.group(rows.columns())).order, groups.starts
        stays[order] &= np.arange(len(order)) > last_where_sorted(takes[order], starts)
    return rows.collect(stays, has_value(fold))


def _rank(mask: Mask, keys: Rows, fold: Fold) -> Rows:
    """For each element, the number of true elements of its key before it."""
    counts = np.bincount(keys[mask], minlength=fold.keys)
    before = np.cumsum(counts) - counts
    rank: Rows = np.cumsum(mask) - mask - before[keys]
    return rank


def _replace(fold: Fold) -> pa.Array:
    rows = keyed_rows(present_rows(elements_of(fold)))
    stays = np.zeros(len(rows.items), np.bool_)
    if len(stays):
        groups = rows.group(key_columns(rows))
        counts = _after_takes(rows, groups)
        if fold.options.count_limit < MAX_COUNT:
            counts &= np.repeat(_admitted(rows, groups), np.diff(groups.starts, append=len(stays)))
        stays[_newest(rows, groups, counts)] = True
    return rows.collect(stays, has_value(fold))


def _after_takes(rows: Elements, groups: Groups) -> Mask:
    """For rows sorted by nested key: True for those that are not retracted later."""
    takes = rows.retracted
    if takes is None:
        return np.ones(len(groups.order), np.bool_)
    takes = takes[groups.order]
    counts: Mask = ~takes & (np.arange(len(takes)) > last_where_sorted(takes, groups.starts))
    return counts if rows.seeds is None else counts & ~_overwritten_in_seed(rows, groups)


def _overwritten_in_seed(rows: Elements, groups: Groups) -> Mask:
    """True for rows of a seed that repeats their nested key, if a retraction is the first row folded into the seed.

    The retraction then uses the order of the rows, not their nested sequence.
    """
    fold = rows.fold
    assert fold.retract is not None
    assert rows.seeds is not None
    acting = first_where(acting_rows(fold), fold.starts)
    retract_first = (acting >= 0) & fold.retract[acting]
    is_seed, keys = rows.seeds[groups.order], rows.keys[groups.order]
    overwritten = np.zeros(len(is_seed), np.bool_)
    overwritten[:-1] = is_seed[:-1] & is_seed[1:] & retract_first[keys[:-1]]
    overwritten[groups.starts[1:] - 1] = False
    return overwritten


def _admitted(rows: Elements, groups: Groups) -> Mask:
    """For each group of one nested key: whether there was room when its first row arrived; seeds always have room."""
    firsts = groups.order[groups.starts]
    adds = np.ones(len(firsts), np.bool_) if rows.retracted is None else ~rows.retracted[firsts]
    order = np.argsort(firsts, kind="stable")
    keys = rows.keys[firsts[order]]
    rank = np.empty(len(firsts), np.intp)
    rank[order] = _rank(adds[order], keys, rows.fold)
    admitted: Mask = rank < rows.fold.options.count_limit
    return admitted if rows.seeds is None else admitted | rows.seeds[firsts]


def _newest(rows: Elements, groups: Groups, counts: Mask) -> Rows:
    """Of the rows that count the one with the greatest nested sequence, the last of equal ones; one of each group."""
    order = groups.order[counts]
    if not len(order):
        return order
    sizes = np.add.reduceat(counts, groups.starts, dtype=np.intp)
    sizes = sizes[sizes > 0]
    fold = rows.fold
    fields: list[Ints] = []
    for field in row_fields(rows, fold.options.nested_sequence):
        fields += [column[rows.items] for column in sequence_order(field, fold.column, descending=False)]
    criteria = pack_fields(fields, len(rows.items)) if fields else []
    return pick_last(Groups(order, np.cumsum(sizes) - sizes), criteria)


def _objection(data_type: DataType, options: FieldOptions) -> str | None:
    objection = rows_objection(data_type, options)
    if objection is None and not options.nested_key:
        if options.nested_sequence:
            return "has 'nested-sequence-field', which needs 'nested-key'"
        if options.nested_key_null != "merge":
            return "has 'nested-key-null-strategy', which needs 'nested-key'"
    return objection


def rows_objection(data_type: DataType, options: FieldOptions) -> str | None:
    """Says why a column, or a field name in its options, does not fit a function of nested rows; None if all fit."""
    if data_type.root is not Root.ARRAY or data_type.inner.root is not Root.ROW:
        return "needs an ARRAY of ROWs"
    names = [field.name for field in data_type.inner.fields]
    for key, wanted in (("nested-key", options.nested_key), ("nested-sequence-field", options.nested_sequence)):
        for name in wanted:
            if name not in names:
                return f"has '{name}' in '{key}', which is none of the fields {', '.join(names)}"
    return None


def row_fields(rows: Elements, names: Sequence[str]) -> list[pa.Array]:
    """Fields of all rows in the child array."""
    places = [field.name for field in rows.fold.type.inner.fields]
    children = rows.children[0].flatten()
    return [children[places.index(name)] for name in names]


def present_rows(rows: Elements) -> Elements:
    """The rows that are not null."""
    valid = rows.valid(0)
    return rows if valid is None or valid.all() else rows.select(valid)


def key_columns(rows: Elements) -> list[Ints]:
    """Integer columns that are equal for rows of the same nested key; nulls are equal too."""
    fields = row_fields(rows, rows.fold.options.nested_key)
    return [column[rows.items] for field in fields for column in equality_columns(field, rows.fold.column)]


def keyed_rows(rows: Elements) -> Elements:
    """The rows that count by ``nested-key-null-strategy``: with "ignore" none whose nested key has a null.

    Raises:
        DataError: the strategy is "error", and there is such a row.
    """
    strategy = rows.fold.options.nested_key_null
    fields = [field for field in row_fields(rows, rows.fold.options.nested_key) if field.null_count]
    if strategy == "merge" or not fields:
        return rows
    bad = np.zeros(len(rows.items), np.bool_)
    for field in fields:
        bad |= field.is_null().to_numpy(zero_copy_only=False)[rows.items]
    if strategy == "error" and (bad & _looked_at(rows)).any():
        fold = rows.fold
        raise DataError(
            f"column '{fold.column}', aggregate function '{fold.function}': a row in the array has a null in its "
            f"nested key ({', '.join(fold.options.nested_key)}); correct the rows, or set "
            f"'fields.{fold.column}.nested-key-null-strategy' = 'ignore' to leave such rows out"
        )
    return rows.select(~bad)


def _looked_at(rows: Elements) -> Mask:
    """False for rows that are retracted before their key has any rows."""
    fold = rows.fold
    if fold.retract is None:
        return np.ones(len(rows.items), np.bool_)
    first_put = first_where(~fold.retract if fold.valid is None else ~fold.retract & fold.valid, fold.starts)
    first_put = np.where(first_put < 0, fold.count, first_put)
    looked_at: Mask = rows.values >= first_put[rows.keys]
    return looked_at


def overlaid_rows(fold: Fold) -> pa.Array:
    """The rows of each key.

    Raises:
        DataError: a null in a nested key where 'nested-key-null-strategy' is 'error'.
    """
    return fold_rest(fold, only_seeds(fold), _overlay)


def _overlay(fold: Fold) -> pa.Array:
    rows = keyed_rows(present_rows(elements_of(fold)))
    present = has_value(fold)
    if not len(rows.items):
        return rows.collect(None, present)
    groups = rows.group(key_columns(rows))
    firsts = groups.order[groups.starts]
    by_first = np.argsort(firsts, kind="stable")
    made = _row_of_each(rows, groups, by_first)
    counts = np.bincount(rows.keys[firsts], minlength=fold.keys)
    return lists_of((made,), counts, fold.source.type, present)


def _row_of_each(rows: Elements, groups: Groups, wanted: Rows) -> pa.Array:
    """One row for each of the groups that are wanted, in this order."""
    child = rows.children[0]
    fields = [_last_not_null(field, rows, groups, wanted) for field in child.flatten()]
    return pa.StructArray.from_arrays(fields, fields=list(child.type))


def _last_not_null(field: pa.Array, rows: Elements, groups: Groups, wanted: Rows) -> pa.Array:
    items = rows.items[groups.order]
    if not field.null_count:
        lasts = np.append(groups.starts[1:], len(items)) - 1
        return field.take(pa.array(items[lasts[wanted]]))
    valid: Mask = field.is_valid().to_numpy(zero_copy_only=False)[items]
    lasts = last_where(valid, groups.starts)[wanted]
    missing = lasts < 0
    return field.take(pa.array(items[lasts], mask=missing if missing.any() else None))


def _overlay_objection(data_type: DataType, options: FieldOptions) -> str | None:
    objection = rows_objection(data_type, options)
    if objection is None and not options.nested_key:
        return "needs the option 'nested-key': the fields that name a row of the array"
    return objection


SPECS: Specs = {
    "nested_update": AggregateSpec(updated_rows, _objection, retracts=True, takes_late=True),
    "nested_partial_update": AggregateSpec(overlaid_rows, _overlay_objection),
}
