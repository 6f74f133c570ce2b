"""Column chunk statistics of parquet footers as internal values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types as pt

from paimon_spark.arrow.column_stats import ColumnStats
from paimon_spark.arrow.int96 import INT96
from paimon_spark.arrow.types import NANOS_PER_UNIT, decimal_of

_JAVA_WRITER = "parquet-mr"


def chunk_stats(metadata: pq.FileMetaData, schema: pa.Schema, group: int, column: str) -> ColumnStats | None:
    """What the footer says of a top-level column that is not nested, in one row group; None = nothing."""
    index = schema.get_field_index(column)
    if index < 0 or pt.is_nested(schema.field(index).type):
        return None
    chunk = metadata.row_group(group).column(_leaf_index(schema, index))
    found = chunk.statistics if chunk.is_stats_set else None
    if found is None:
        return None
    arrow = schema.field(index).type
    nulls = found.null_count if found.has_null_count else None
    if not found.has_min_max or arrow == INT96:
        return ColumnStats(None, None, nulls)
    low, high = _internal(found.min_raw, arrow), _internal(found.max_raw, arrow)
    if pt.is_floating(arrow):
        # Java's bounds of a chunk with NaN are NaN or absent; Arrow (C++, Rust) leaves out the NaN, the greatest value.
        if low != low or high != high:
            return ColumnStats(None, None, nulls)
        if not metadata.created_by.startswith(_JAVA_WRITER):
            high = None
    return ColumnStats(low, high, nulls)


def file_stats(
    metadata: pq.FileMetaData, schema: pa.Schema, nulls: Sequence[int], has_nan: Sequence[bool]
) -> dict[str, ColumnStats]:
    """The bounds of whole columns from a footer just written, as Java puts them into manifests (format section 6).

    nulls, has_nan: per top-level column, as counted while writing. A column with a NaN has no bounds, nor has INT96.
    """
    result = {}
    for i, field in enumerate(schema):
        if pt.is_nested(field.type):
            continue
        low, high = _bounds(metadata, field, _leaf_index(schema, i)) if not has_nan[i] else (None, None)
        result[field.name] = ColumnStats(low, high, nulls[i])
    return result


def _bounds(metadata: pq.FileMetaData, field: pa.Field, leaf: int) -> tuple[Any, Any]:
    lows, highs = [], []
    for group in range(metadata.num_row_groups):
        found = metadata.row_group(group).column(leaf).statistics
        if found is None:
            return None, None
        if not found.has_min_max:
            if found.null_count == metadata.row_group(group).num_rows:
                continue
            return None, None
        lows.append(_internal(found.min_raw, field.type))
        highs.append(_internal(found.max_raw, field.type))
    if not lows or None in lows or None in highs:
        return None, None
    return min(lows), max(highs)


def _leaf_index(schema: pa.Schema, index: int) -> int:
    return sum(_leaf_count(schema.field(i).type) for i in range(index))


def _leaf_count(arrow: pa.DataType) -> int:
    if not pt.is_nested(arrow):
        return 1
    return sum(_leaf_count(arrow.field(i).type) for i in range(arrow.num_fields))


def _internal(raw: Any, arrow: pa.DataType) -> Any:
    """The internal value of a bound as the footer stores it; None where the type has none."""
    if pt.is_timestamp(arrow):
        return raw * NANOS_PER_UNIT[arrow.unit]
    if pt.is_decimal(arrow):
        unscaled = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else raw
        return decimal_of(unscaled, arrow.scale)
    if pt.is_string(arrow) or pt.is_large_string(arrow):
        return _text(raw)
    if pt.is_boolean(arrow) or pt.is_integer(arrow) or pt.is_floating(arrow) or pt.is_date32(arrow):
        return raw
    if pt.is_time32(arrow) and arrow.unit == "ms":
        return raw
    if pt.is_binary(arrow) or pt.is_large_binary(arrow):
        return raw
    return None


def _text(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None
