"""Column chunk statistics of parquet footers as internal values.

The footer is decoded here and not by pyarrow, which aborts the process on a damaged one.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow.formats.thrift_compact import Struct, decode_struct, find
from paimon_spark.arrow.int96 import INT96
from paimon_spark.arrow.statistics.column_stats import ColumnStats
from paimon_spark.arrow.types import NANOS_PER_UNIT, decimal_of

_JAVA_WRITER = b"parquet-mr"
_ROW_GROUPS, _CREATED_BY = 4, 6  # of FileMetaData
_COLUMNS, _NUM_ROWS = 1, 3  # of RowGroup
_META_DATA = 3  # of ColumnChunk
_TYPE, _STATISTICS = 1, 12  # of ColumnMetaData
_NULL_COUNT, _MAX_VALUE, _MIN_VALUE = 3, 5, 6  # of Statistics
_BOOLEAN, _INT32, _INT64, _FLOAT, _DOUBLE = 0, 1, 2, 4, 5  # physical types
_LAYOUTS = {_BOOLEAN: "<?", _INT32: "<i", _INT64: "<q", _FLOAT: "<f", _DOUBLE: "<d"}


class FooterStats:
    """The statistics of one footer; schema is the Arrow schema of the file.

    Every method raises ValueError if the footer is damaged.
    """

    def __init__(self, footer: bytes, schema: pa.Schema) -> None:
        tree = decode_struct(footer)
        row_groups = find(tree, _ROW_GROUPS)
        self._groups: list[Struct] = row_groups.values if row_groups else []
        self._by_java = (find(tree, _CREATED_BY) or b"").startswith(_JAVA_WRITER)
        self._positions = {name: i for i, name in enumerate(schema.names)}
        self._leaves: dict[str, tuple[int, pa.DataType]] = {}
        leaf = 0
        for field in schema:
            if not pt.is_nested(field.type):
                self._leaves[field.name] = (leaf, field.type)
            leaf += _leaf_count(field.type)

    def chunk(self, group: int, column: str) -> ColumnStats | None:
        """The statistics of a top-level column that is not nested, in one row group; None if there are none."""
        if column not in self._leaves:
            return None
        leaf, arrow = self._leaves[column]
        low, high, nulls = self._raw(group, leaf, arrow)
        if low is None and nulls is None:
            return None
        if pt.is_floating(arrow) and low is not None:
            # Java's bounds of a chunk with NaN are NaN; Arrow (C++, Rust) leaves out the NaN, the greatest value.
            if low != low or high != high:
                low = high = None
            elif not self._by_java:
                high = None
        return ColumnStats(low, high, nulls)

    def columns(self, nulls: Sequence[int], has_nan: Sequence[bool]) -> dict[str, ColumnStats]:
        """The bounds of whole columns of a file just written, as Java puts them into manifests (format section 6).

        A column with a NaN has no bounds; an INT96 column has none either.

        Args:
            nulls: the number of nulls of each top-level column, as counted while writing.
            has_nan: for each top-level column, whether a NaN was written.
        """
        result = {}
        for name in self._leaves:
            i = self._positions[name]
            low, high = (None, None) if has_nan[i] else self._bounds(name)
            result[name] = ColumnStats(low, high, nulls[i])
        return result

    def _bounds(self, column: str) -> tuple[Any, Any]:
        leaf, arrow = self._leaves[column]
        lows, highs = [], []
        for i, group in enumerate(self._groups):
            low, high, nulls = self._raw(i, leaf, arrow)
            if low is None or high is None:
                if nulls == find(group, _NUM_ROWS):
                    continue
                return None, None
            lows.append(low)
            highs.append(high)
        return (min(lows), max(highs)) if lows else (None, None)

    def _raw(self, group: int, leaf: int, arrow: pa.DataType) -> tuple[Any, Any, int | None]:
        chunks = find(self._groups[group], _COLUMNS)
        if chunks is None or leaf >= len(chunks.values):
            raise ValueError("the footer lacks a column chunk")
        meta_data = find(chunks.values[leaf], _META_DATA) or []
        statistics = find(meta_data, _STATISTICS)
        if statistics is None:
            return None, None, None
        physical = find(meta_data, _TYPE)
        low, high = find(statistics, _MIN_VALUE), find(statistics, _MAX_VALUE)
        nulls = find(statistics, _NULL_COUNT)
        if low is None or high is None or arrow == INT96:
            return None, None, nulls
        return _internal(low, physical, arrow), _internal(high, physical, arrow), nulls


def _leaf_count(arrow: pa.DataType) -> int:
    if not pt.is_nested(arrow):
        return 1
    return sum(_leaf_count(arrow.field(i).type) for i in range(arrow.num_fields))


def _internal(raw: bytes, physical: int, arrow: pa.DataType) -> Any:
    """The internal value of a bound as the footer stores it; None where the type has none."""
    value: Any = raw if physical not in _LAYOUTS else struct.unpack(_LAYOUTS[physical], raw)[0]
    if pt.is_decimal(arrow):
        return decimal_of(int.from_bytes(value, "big", signed=True) if isinstance(value, bytes) else value, arrow.scale)
    if pt.is_string(arrow) or pt.is_large_string(arrow):
        return _text(raw)
    if pt.is_binary(arrow) or pt.is_large_binary(arrow):
        return raw
    if isinstance(value, bytes):
        return None
    if pt.is_timestamp(arrow):
        return value * NANOS_PER_UNIT[arrow.unit]
    known = (pt.is_boolean, pt.is_signed_integer, pt.is_floating, pt.is_date32)
    return value if any(test(arrow) for test in known) or arrow == pa.time32("ms") else None


def _text(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None
