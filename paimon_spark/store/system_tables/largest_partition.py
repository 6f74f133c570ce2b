"""The largest value of the first partition column among the partitions that have files (Java: MaxPtFunction)."""

from __future__ import annotations

import math
from typing import Any

from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.system_tables.entries import no_texts
from paimon_spark.store.system_tables.request import Request
from paimon_spark.store.system_tables.totals import partition_totals


def largest_partition_value(table: Table) -> Any:
    """The largest value, as the internal value of its column; None: no partition with a value has files.

    Texts are compared by their bytes in UTF-8, and NaN is larger than all other numbers, as in Java.

    Args:
        table: a table with partition columns.
    """
    types = table.schema.partition_types
    found = (decode_arity_row(total.partition, types)[0] for total in partition_totals(Request(table), no_texts))
    return max((value for value in found if value is not None), key=_order, default=None)


def _order(value: Any) -> Any:
    if isinstance(value, float):
        return math.isnan(value), value
    return value.encode() if isinstance(value, str) else value
