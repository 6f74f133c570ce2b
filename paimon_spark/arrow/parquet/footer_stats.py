"""Column chunk statistics of parquet footers as internal values.

The footer is decoded here and not by pyarrow, which aborts the process on a damaged one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any

import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow.parquet.thrift_compact import Field, Struct, decode_struct, encoded, find
from paimon_spark.arrow.statistics.column_stats import ColumnStats
from paimon_spark.arrow.types import NANOS_PER_UNIT, decimal_of

_JAVA_WRITER = b"parquet-mr"
_NUM_FILE_ROWS, _ROW_GROUPS, _CREATED_BY, _COLUMN_ORDERS = 3, 4, 6, 7  # of FileMetaData
_REMEMBERED = ((64, 1 << 13), (4, 1 << 19))
"""How many decoded footers of up to so many bytes are kept. Decoded, one takes 30 times as much memory."""
_TYPE_ORDER = 1  # of the union ColumnOrder
_COLUMNS, _NUM_ROWS = 1, 3  # of RowGroup
_META_DATA = 3  # of ColumnChunk
_TYPE, _STATISTICS = 1, 12  # of ColumnMetaData
_NULL_COUNT, _MAX_VALUE, _MIN_VALUE = 3, 5, 6  # of Statistics
_BOOLEAN, _INT32, _INT64, _FLOAT, _DOUBLE = 0, 1, 2, 4, 5  # physical types
_LAYOUTS = {_BOOLEAN: "<?", _INT32: "<i", _INT64: "<q", _FLOAT: "<f", _DOUBLE: "<d"}


class FooterTree:
    """A footer, decoded.

    Attributes:
        tree: its fields; not to be changed.
    """

    def __init__(self, footer: bytes) -> None:
        """Raises ValueError if the footer is damaged."""
        self.tree: Struct = decode_struct(footer)

    @cached_property
    def encoded_rest(self) -> list[Field]:
        """The fields without the row groups, encoded: what a file with other rows has too."""
        kept = [field for field in self.tree if field.id not in (_NUM_FILE_ROWS, _ROW_GROUPS)]
        return [Field(field.id, field.kind, encoded(field.kind, field.value)) for field in kept]


_remembered_trees = [(size, lru_cache(count)(FooterTree)) for count, size in _REMEMBERED]


def _footer_tree(footer: bytes) -> FooterTree:
    """The footer, decoded once while it is remembered: rows are often looked up in the same files."""
    return next((tree(footer) for size, tree in _remembered_trees if len(footer) <= size), None) or FooterTree(footer)


class FooterStats:
    """The chunks of one footer and their statistics; schema is the Arrow schema of the file.

    Every method raises ValueError if the footer is damaged.

    Attributes:
        footer: the footer itself.
        by_java: whether Java wrote the file.
        leaf_count: the leaves of its columns.
    """

    def __init__(self, footer: bytes, schema: pa.Schema) -> None:
        self.footer: FooterTree = _footer_tree(footer)
        self.by_java = (find(self.footer.tree, _CREATED_BY) or b"").startswith(_JAVA_WRITER)
        self._schema = schema
        row_groups = find(self.footer.tree, _ROW_GROUPS)
        self._groups: list[Struct] = row_groups.values if row_groups else []
        self._positions = {name: i for i, name in enumerate(schema.names)}
        self._leaves: dict[str, tuple[int, pa.DataType]] = {}
        self._all_leaves: dict[str, range] = {}
        leaf = 0  # the number of leaves so far
        for field in schema:
            if not pt.is_nested(field.type):
                self._leaves[field.name] = (leaf, field.type)
            self._all_leaves[field.name] = range(leaf, leaf + _leaf_count(field.type))
            leaf += _leaf_count(field.type)
        self.leaf_count = leaf

    def leaf(self, column: str) -> tuple[int, pa.DataType] | None:
        """The number and the type of the leaf of a top-level column; None if it is nested or not there."""
        return self._leaves.get(column)

    def leaves(self, column: str) -> range:
        """The numbers of the leaves of a top-level column."""
        return self._all_leaves[column]

    def row_count(self, group: int) -> int:
        """The rows of a row group."""
        return int(find(self._groups[group], _NUM_ROWS) or 0)

    def column_chunk(self, group: int, leaf: int) -> Struct:
        """The ColumnChunk of a leaf."""
        chunks = find(self._groups[group], _COLUMNS)
        if chunks is None or leaf >= len(chunks.values):
            raise ValueError("the footer lacks a column chunk")
        found: Struct = chunks.values[leaf]
        return found

    def has_type_order(self, leaf: int) -> bool:
        """True if bounds of the leaf are by the order of its type, and not by another one, of a later release."""
        orders = find(self.footer.tree, _COLUMN_ORDERS)
        return orders is not None and leaf < len(orders.values) and find(orders.values[leaf], _TYPE_ORDER) is not None

    def chunk(self, group: int, column: str) -> ColumnStats | None:
        """The statistics of a top-level column that is not nested, in one row group; None if there are none."""
        if column not in self._leaves:
            return None
        leaf, arrow = self._leaves[column]
        low, high, nulls = self._raw(group, leaf, arrow)
        if low is None and nulls is None:
            return None
        if pt.is_floating(arrow):
            low, high = trusted_bounds(low, high, self.by_java)
        return ColumnStats(low, high, nulls)

    def nested(self, group: int, path: Sequence[str]) -> tuple[pa.DataType, ColumnStats] | None:
        """The type and the statistics of a leaf within structs, in one row group; None if there are none.

        Args:
            path: the names from that of the top-level column down to the leaf.
        """
        leaf, fields = 0, list(self._schema)
        for place, name in enumerate(path):
            at = next((i for i, field in enumerate(fields) if field.name == name), None)
            if at is None:
                return None
            leaf += sum(_leaf_count(field.type) for field in fields[:at])
            arrow = fields[at].type
            if place + 1 < len(path):
                if not pt.is_struct(arrow):
                    return None
                fields = list(arrow)
        if pt.is_nested(arrow):
            return None
        low, high, nulls = self._raw(group, leaf, arrow)
        if pt.is_floating(arrow):
            low, high = trusted_bounds(low, high, self.by_java)
        return arrow, ColumnStats(low, high, nulls)

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
        meta_data = find(self.column_chunk(group, leaf), _META_DATA) or []
        statistics = find(meta_data, _STATISTICS)
        if statistics is None:
            return None, None, None
        physical = find(meta_data, _TYPE)
        low, high = find(statistics, _MIN_VALUE), find(statistics, _MAX_VALUE)
        nulls = find(statistics, _NULL_COUNT)
        decode = bound_decoder(physical, arrow)
        if low is None or high is None or decode is None:
            return None, None, nulls
        return decode(low), decode(high), nulls


def _leaf_count(arrow: pa.DataType) -> int:
    if not pt.is_nested(arrow):
        return 1
    return sum(_leaf_count(arrow.field(i).type) for i in range(arrow.num_fields))


def bound_decoder(physical: int, arrow: pa.DataType) -> Callable[[bytes], Any] | None:
    """How a stored bound of a leaf column becomes an internal value; None: its order is not known here.

    Args:
        physical: the type in parquet.
        arrow: the type that Arrow reads it as.
    """
    if pt.is_string(arrow) or pt.is_large_string(arrow):
        return _text
    if pt.is_binary(arrow) or pt.is_large_binary(arrow):
        return bytes
    layout = _LAYOUTS.get(physical)
    if layout is None:
        scale = arrow.scale if pt.is_decimal(arrow) else None
        return None if scale is None else lambda raw: decimal_of(int.from_bytes(raw, "big", signed=True), scale)
    unpack = struct.Struct(layout).unpack
    if pt.is_decimal(arrow):
        return lambda raw: decimal_of(unpack(raw)[0], arrow.scale)
    if pt.is_timestamp(arrow):
        unit = NANOS_PER_UNIT[arrow.unit]
        return lambda raw: unpack(raw)[0] * unit
    known = (pt.is_boolean, pt.is_signed_integer, pt.is_floating, pt.is_date32)
    if any(test(arrow) for test in known) or arrow == pa.time32("ms"):
        return lambda raw: unpack(raw)[0]
    return None


def trusted_bounds(low: Any, high: Any, by_java: bool) -> tuple[Any, Any]:
    """Bounds of FLOAT or DOUBLE without what a NaN, the greatest value, makes unknown; both are None, or none is.

    Java's bounds of values with a NaN are NaN; Arrow (C++, Rust) leaves out the NaN.
    """
    if low is None or low != low or high != high:
        return None, None
    return low, high if by_java else None


def _text(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None
