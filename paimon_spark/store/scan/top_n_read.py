"""Reads the rows that come first in an order, sorted (``ORDER BY column LIMIT count``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.errors import OptionError
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField
from paimon_spark.store.pruning.top_n import TopN
from paimon_spark.store.read.read_bounds import check_ordered
from paimon_spark.store.scan.read_spec import find_fields

_HELD_ROWS = 1 << 16


def wanted_rows(
    location: str,
    schema: TableSchema,
    fields: Sequence[DataField],
    column: str,
    count: int,
    descending: bool,
    nulls_first: bool | None,
) -> TopN:
    """What is wanted, once it is known that a read can give it.

    Args:
        location, schema: of what is read.
        fields: the columns of the result.
        column, count, descending, nulls_first: as of Scan.top.

    Raises:
        OptionError: the result has no such column, or count is less than 0.
        UnsupportedFeature: the values of its type have no order.
    """
    (field,) = find_fields(schema, (column,))
    check_ordered(location, schema, field)
    if field not in fields:
        raise OptionError(
            f"the first rows of {location}: the column '{field.name}' of the order is not among the columns "
            f"that are read; name it too"
        )
    if count < 0:
        raise OptionError(f"the first rows of {location}: {count} rows are asked for; ask for 0 or more")
    return TopN(field.name, count, descending, not descending if nulls_first is None else nulls_first)


def sort_first(batches: Iterable[pa.RecordBatch], schema: pa.Schema, first: TopN) -> pa.Table:
    """The rows that come first, sorted. At most ``first.count`` rows, and some batches, are held.

    Args:
        batches: of the rows, in any order.
        schema: of the rows.
        first: which rows are wanted; with_ties does not count.
    """
    held: list[pa.RecordBatch | pa.Table] = []
    rows = 0
    for batch in batches:
        held.append(pa.table(batch))
        rows += batch.num_rows
        if rows > first.count + _HELD_ROWS:
            held = [_sorted(pa.concat_tables(held), first)]
            rows = held[0].num_rows
    return _sorted(pa.concat_tables([schema.empty_table(), *held]), first)


def _sorted(rows: pa.Table, first: TopN) -> pa.Table:
    """The first rows of some, sorted. Arrow puts NULL and NaN together at one end, so they have keys of their own."""
    values = rows.column(first.column)
    order = "descending" if first.descending else "ascending"
    keys = pa.table({"null": pc.is_null(values), "value": values})
    by = [("null", "descending" if first.nulls_first else "ascending"), ("value", order)]
    if pa.types.is_floating(values.type):
        keys = keys.append_column("nan", pc.is_nan(values))
        by.insert(1, ("nan", order))
    return rows.take(pc.sort_indices(keys, sort_keys=by)[: first.count])
