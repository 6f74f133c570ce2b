"""The physical schemas handed to the parquet and ORC writers: ids at every depth and the types Java writes.

Sources: format sections 7.3 and 7.4; Java: ParquetSchemaConverter, OrcTypeUtil, SpecialFields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow.conform import INT96
from paimon_spark.arrow.types import VARIANT, arrow_type
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.types import NESTED, DataField, DataType, Root

_NESTED_ID_BASE = 536870911
_NESTED_ID_STEP = 1024
_COUNT = DataType(Root.INT, nullable=False)


def parquet_schema(fields: Sequence[DataField]) -> pa.Schema:
    """``arrow_schema`` with field ids; precisions above 6 as INT96."""
    return _parquet_schema(tuple(fields))


@lru_cache(64)  # the files of a table have one
def _parquet_schema(fields: tuple[DataField, ...]) -> pa.Schema:
    return _Physical("PARQUET:field_id", _parquet_leaf, _parquet_variant, has_vectors=True).schema(fields)


def orc_schema(fields: Sequence[DataField]) -> pa.Schema:
    """``arrow_schema`` with ids as ORC attributes; TIME as int.

    Raises:
        UnsupportedFeature: a VARIANT or VECTOR column, which ORC files cannot hold.
    """
    return _Physical("paimon.id", _orc_leaf, _no_variant, has_vectors=False).schema(fields)


def _parquet_leaf(arrow: pa.DataType) -> pa.DataType:
    return INT96 if pt.is_timestamp(arrow) and arrow.unit == "ns" else arrow


def _orc_leaf(arrow: pa.DataType) -> pa.DataType:
    return pa.int32() if pt.is_time(arrow) else arrow


def _parquet_variant() -> pa.DataType:
    return pa.struct([field.with_metadata({"PARQUET:field_id": str(i)}) for i, field in enumerate(VARIANT)])


def _no_variant() -> pa.DataType:
    raise UnsupportedFeature("ORC files cannot hold VARIANT: use the file.format parquet")


@dataclass(frozen=True)
class _Physical:
    """How one format names ids and stores leaves."""

    id_key: str
    leaf: Callable[[pa.DataType], pa.DataType]
    variant: Callable[[], pa.DataType]
    has_vectors: bool

    def schema(self, fields: Sequence[DataField]) -> pa.Schema:
        return pa.schema([self._row_field(field) for field in fields])

    def _row_field(self, field: DataField) -> pa.Field:
        return self._field(field.name, field.type, field.id, field.id, 0)

    def _field(self, name: str, data_type: DataType, own_id: int, row_id: int, depth: int) -> pa.Field:
        """own_id: the id of this field; row_id, depth: the id of the ROW field around it and the levels below that."""
        metadata = {self.id_key: str(own_id)}
        return pa.field(name, self._type(data_type, row_id, depth), data_type.nullable, metadata)

    def _type(self, data_type: DataType, row_id: int, depth: int) -> pa.DataType:
        if data_type.root is Root.VARIANT:
            return self.variant()
        if data_type.root is Root.VECTOR and not self.has_vectors:
            raise UnsupportedFeature("ORC files cannot hold VECTOR: use the file.format parquet or avro")
        if data_type.root not in NESTED:
            return self.leaf(arrow_type(data_type))
        if data_type.root is Root.ROW:
            return pa.struct([self._row_field(field) for field in data_type.fields])
        depth += 1
        above = _NESTED_ID_BASE + _NESTED_ID_STEP * row_id + depth
        below = _NESTED_ID_BASE - _NESTED_ID_STEP * row_id - depth
        if data_type.root in (Root.ARRAY, Root.VECTOR):
            return pa.list_(self._field("element", data_type.inner, above, row_id, depth))
        multiset = data_type.root is Root.MULTISET
        key, value = (data_type.inner, _COUNT) if multiset else (data_type.key_type, data_type.inner)
        key_field = self._field("key", key.with_nullable(False), below, row_id, depth)
        return pa.map_(key_field, self._field("value", value, above, row_id, depth))


def leaves(array: pa.Array, path: str) -> Iterator[tuple[str, pa.Array]]:
    """The leaf columns below an array, each with its path in the parquet schema."""
    arrow = array.type
    if pt.is_struct(arrow):
        for i in range(arrow.num_fields):
            yield from leaves(array.field(i), f"{path}.{arrow.field(i).name}")
    elif pt.is_map(arrow):
        yield from leaves(array.keys, f"{path}.key_value.key")
        yield from leaves(array.items, f"{path}.key_value.value")
    elif pt.is_list(arrow):
        yield from leaves(array.values, f"{path}.list.element")
    else:
        yield path, array
