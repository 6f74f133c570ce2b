"""The least and the greatest value of a column: what metadata tell, and what reading the rest adds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cmp_to_key
from typing import Any

import pyarrow as pa

from paimon_spark.arrow import kernels as pc
from paimon_spark.arrow.predicates.pruning import compare_values
from paimon_spark.arrow.types import from_internal, to_internal
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.table_statistics import ANALYZED
from paimon_spark.format.types import DataField
from paimon_spark.store.read.metadata_aggregates import MetadataAggregates
from paimon_spark.store.read.splits import ReadUnit
from paimon_spark.store.storage.parallel import map_parallel

_THREADS = 4


def check_ordered(location: str, schema: TableSchema, column: DataField) -> None:
    """Checks that a column is one of the table, whose values can be compared.

    Raises:
        OptionError: it is the row kind.
        UnsupportedFeature: the values of its type have no order.
    """
    what = f"the least or greatest value of the column '{column.name}' of {location}"
    if column not in schema.fields:
        raise OptionError(f"{what}: the table has no such column; its columns are {', '.join(schema.names)}")
    if column.type.root not in ANALYZED:
        raise UnsupportedFeature(f"{what}: values of the type {column.type.root} have no order; choose another column")


def read_bounds(
    known: MetadataAggregates, column: DataField, read: Callable[[ReadUnit], Iterator[pa.RecordBatch]]
) -> tuple[Any, Any]:
    """The least and the greatest value that is not NULL, as Python values; None: there is none.

    Args:
        known: what metadata tell of the column.
        column: of a type that check_ordered accepts.
        read: the rows of a unit, with the column alone.
    """
    found = [end for group in known.partitions.values() for end in group.bounds.get(column.name, ())]
    for ends in map_parallel(lambda unit: [e for b in read(unit) for e in ends_of(b.column(0))], known.rest, _THREADS):
        found += ends
    if not found:
        return None, None
    ends = from_internal(outermost(found), column.type)
    try:
        low, high = ends.to_pylist()
    except OverflowError:
        least, greatest = ends.cast(pa.string()).to_pylist()
        raise UnsupportedFeature(
            f"the least or greatest value of the column '{column.name}': {least} or {greatest} is outside of the years "
            "1 to 9999 of Python; to_arrow() reads the column, and pyarrow.compute.min_max gives both"
        ) from None
    return low, high


def outermost(values: Sequence[Any]) -> tuple[Any, Any]:
    """The least and the greatest of internal values, of which there is one at least; NaN is the greatest."""
    key = cmp_to_key(compare_values)
    return min(values, key=key), max(values, key=key)


def ends_of(column: pa.Array) -> Iterator[Any]:
    """Internal values among which are the least and the greatest of a column; Arrow leaves out NaN, Spark does not."""
    values = column.drop_null()
    if pa.types.is_floating(values.type):
        numbers = values.filter(pc.invert(pc.is_nan(values)))
        if len(numbers) < len(values):
            yield float("nan")
        values = numbers
    if len(values):
        yield from map(to_internal, pc.min_max(values).values())
