"""Rows of any reader as multisets that compare exactly, and rows as Arrow.

Values in rows: DATE days, TIME millis, TIMESTAMP and LTZ nanoseconds since the epoch, DECIMAL Decimal, ROW, ARRAY and
VECTOR sequences, MAP and MULTISET sequences of pairs, VARIANT (value bytes, metadata bytes). In a multiset NaN equals
NaN, -0.0 differs from 0.0, maps have no order.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.predicates.predicate import Op
from paimon_spark.arrow.types import arrow_field
from paimon_spark.format.types import DataField, DataType, Root

Row = tuple[Any, ...]
NANOS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
COMPARISONS: dict[Op, Callable[[Any, Any], bool]] = {
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
}
INT = DataType(Root.INT)


def comparable_rows(rows: Iterable[Sequence[Any]], types: Sequence[DataType]) -> Counter[Row]:
    """The multiset of rows of values."""
    return Counter(tuple(_hashable(value, t) for value, t in zip(row, types, strict=True)) for row in rows)


def _hashable(value: Any, t: DataType) -> Any:
    if value is None:
        return None
    if t.root is Root.FLOAT:
        return float_value(float(np.float32(value)))
    if t.root is Root.DOUBLE:
        return float_value(value)
    if t.root in (Root.ARRAY, Root.VECTOR):
        return tuple(_hashable(item, t.inner) for item in value)
    if t.root in (Root.MAP, Root.MULTISET):
        key, item = (t.key_type, t.inner) if t.root is Root.MAP else (t.inner, INT)
        return frozenset((_hashable(k, key), _hashable(v, item)) for k, v in value)
    if t.root is Root.ROW:
        return tuple(_hashable(item, f.type) for item, f in zip(value, t.fields, strict=True))
    return value


def float_value(value: float) -> Any:
    return "NaN" if math.isnan(value) else (value, math.copysign(1.0, value))


def comparable(table: pa.Table) -> Counter[Row]:
    """The rows of an Arrow table as a multiset of the same values."""
    return Counter(comparable_list(table)) if table.columns else Counter({(): table.num_rows})


def comparable_list(table: pa.Table) -> list[Row]:
    """The rows of an Arrow table, of at least one column, in order."""
    return list(zip(*(_values(column.combine_chunks()) for column in table.columns), strict=True))


def _values(array: pa.Array) -> list[Any]:
    if isinstance(array, pa.ChunkedArray):  # combine_chunks of a column without rows
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    t = array.type
    if pa.types.is_timestamp(t):
        unit = NANOS[t.unit]
        return [None if v is None else v * unit for v in array.cast(pa.int64()).to_pylist()]
    if pa.types.is_date32(t) or pa.types.is_time32(t):
        array = array.cast(pa.int32())
    if pa.types.is_floating(t):
        return [None if v is None else float_value(v) for v in array.to_pylist()]
    if pa.types.is_map(t):
        pairs = list(zip(_values(array.keys), _values(array.items), strict=True))
        return _sliced(array, pairs, frozenset)
    if pa.types.is_list(t):
        return _sliced(array, _values(array.values), tuple)
    if pa.types.is_fixed_size_list(t):
        items = iter(_values(array.flatten()))
        return [tuple(islice(items, t.list_size)) if ok else None for ok in array.is_valid().to_pylist()]
    if pa.types.is_struct(t):
        fields = [_values(array.field(i)) for i in range(t.num_fields)]
        rows = zip(*fields, strict=True)
        return [row if valid else None for row, valid in zip(rows, array.is_valid().to_pylist(), strict=True)]
    plain: list[Any] = array.to_pylist()
    return plain


def _sliced(array: pa.Array, items: list[Any], collect: type) -> list[Any]:
    offsets, valid = array.offsets.to_pylist(), array.is_valid().to_pylist()
    return [collect(items[a:b]) if ok else None for a, b, ok in zip(offsets, offsets[1:], valid, strict=False)]


def satisfies(found: Any, op: Op, value: Any) -> bool:
    """True if a filter keeps a value of a multiset, as Spark does: NULL never, NaN the greatest, -0.0 equal to 0.0."""
    if found is None:
        return False
    if isinstance(value, float):
        left = (1, 0.0) if found == "NaN" else (0, found[0])
        right = (1, 0.0) if math.isnan(value) else (0, value)
        return COMPARISONS[op](left, right)
    return COMPARISONS[op](found, value)


def arrow_batch(rows: Sequence[Sequence[Any]], fields: Sequence[DataField]) -> pa.RecordBatch:
    """Rows of values as the Arrow batch of a table with those fields."""
    schema = pa.schema([arrow_field(f) for f in fields])
    columns = [
        pa.array([_arrow_value(row[i], f.type) for row in rows], schema.field(i).type) for i, f in enumerate(fields)
    ]
    return pa.record_batch(columns, schema=schema)


def _arrow_value(value: Any, t: DataType) -> Any:
    if value is None:
        return None
    if t.root in (Root.TIMESTAMP, Root.TIMESTAMP_LTZ):
        precision = 6 if t.precision is None else t.precision
        return value // (10**6 if precision <= 3 else 10**3 if precision <= 6 else 1)
    if t.root is Root.ARRAY:
        return [_arrow_value(item, t.inner) for item in value]
    if t.root is Root.MAP:
        return [(_arrow_value(k, t.key_type), _arrow_value(v, t.inner)) for k, v in value]
    if t.root is Root.VARIANT:
        return dict(zip(("value", "metadata"), value, strict=True))
    if t.root is Root.ROW:
        return {f.name: _arrow_value(v, f.type) for v, f in zip(value, t.fields, strict=True)}
    return value
