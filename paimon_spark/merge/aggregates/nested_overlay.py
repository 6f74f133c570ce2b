"""``nested_partial_update`` (Java: FieldNestedPartialUpdateAgg): rows of an ARRAY<ROW> with one nested key become one.

Each of its fields has the last value that is not null. Null rows do not count.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_spark.format.types import DataType
from paimon_spark.merge.aggregates.elements import Elements, elements_of
from paimon_spark.merge.aggregates.frame import AggregateSpec, FieldOptions, Fold, Specs, last_where
from paimon_spark.merge.aggregates.nested_keys import key_columns, keyed_rows, present_rows, rows_objection
from paimon_spark.merge.aggregates.parts import fold_rest, has_value, only_seeds
from paimon_spark.merge.aggregates.spans import lists_of
from paimon_spark.merge.keys.winners import Groups, Mask, Rows


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


def _objection(data_type: DataType, options: FieldOptions) -> str | None:
    objection = rows_objection(data_type, options)
    if objection is None and not options.nested_key:
        return "needs the option 'nested-key': the fields that name a row of the array"
    return objection


SPECS: Specs = {"nested_partial_update": AggregateSpec(overlaid_rows, _objection)}
