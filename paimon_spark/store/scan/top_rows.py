"""Reads the rows of a scan that come first in an order, sorted (``ORDER BY column LIMIT count``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.errors import OptionError
from paimon_spark.store.pruning.first_rows import FirstRows
from paimon_spark.store.read.read_bounds import check_ordered
from paimon_spark.store.scan.projection import find_fields

if TYPE_CHECKING:
    from paimon_spark.store.scan.table_scan import Scan

_HELD_ROWS = 1 << 16


def read_top(scan: Scan, column: str, count: int, descending: bool, nulls_first: bool) -> pa.Table:
    """See Scan.top."""
    (field,) = find_fields(scan.table.schema, (column,))
    check_ordered(scan.table, field)
    if field not in scan.fields:
        raise OptionError(
            f"the first rows of {scan.table.location}: the column '{field.name}' of the order is not among the columns "
            f"that are read; name it too"
        )
    if count < 0:
        raise OptionError(f"the first rows of {scan.table.location}: {count} rows are asked for; ask for 0 or more")
    first = FirstRows(field.name, count, descending, nulls_first)
    held: list[pa.RecordBatch | pa.Table] = []
    rows = 0
    for batch in scan.with_first(first).to_batches() if count else ():
        held.append(pa.table(batch))
        rows += batch.num_rows
        if rows > count + _HELD_ROWS:
            held = [_sorted(pa.concat_tables(held), first)]
            rows = held[0].num_rows
    return _sorted(pa.concat_tables([scan.arrow_schema.empty_table(), *held]), first)


def _sorted(rows: pa.Table, first: FirstRows) -> pa.Table:
    """The first rows of some, sorted. Arrow puts NULL and NaN together at one end, so they have keys of their own."""
    values = rows.column(first.column)
    order = "descending" if first.descending else "ascending"
    keys = pa.table({"null": pc.is_null(values), "value": values})
    by = [("null", "descending" if first.nulls_first else "ascending"), ("value", order)]
    if pa.types.is_floating(values.type):
        keys = keys.append_column("nan", pc.is_nan(values))
        by.insert(1, ("nan", order))
    return rows.take(pc.sort_indices(keys, sort_keys=by)[: first.count])
