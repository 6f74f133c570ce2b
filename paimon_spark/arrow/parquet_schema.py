"""The physical schema of parquet data files: ids at every depth, the types Java writes (format section 7.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow.int96 import INT96
from paimon_spark.arrow.types import arrow_type
from paimon_spark.spec.types import NESTED, DataField, DataType, Root

_NESTED_ID_BASE = 536870911  # Java: SpecialFields
_NESTED_ID_STEP = 1024
_COUNT = DataType(Root.INT, nullable=False)


def physical_schema(fields: Sequence[DataField]) -> pa.Schema:
    """The Arrow schema to hand to the parquet writer: ``arrow_schema`` with ids, and INT96 for precisions above 6."""
    return pa.schema([_field(field.name, field.type, field.id, field.id, 0) for field in fields])


def _field(name: str, data_type: DataType, own_id: int, row_id: int, depth: int) -> pa.Field:
    """own_id: the id of this field; row_id, depth: the id of the ROW field around it and the levels below that one."""
    arrow = _type(data_type, row_id, depth)
    return pa.field(name, arrow, data_type.nullable, metadata={"PARQUET:field_id": str(own_id)})


def _type(data_type: DataType, row_id: int, depth: int) -> pa.DataType:
    if data_type.root not in NESTED:
        arrow = arrow_type(data_type)
        return INT96 if pt.is_timestamp(arrow) and arrow.unit == "ns" else arrow
    depth += 1
    above = _NESTED_ID_BASE + _NESTED_ID_STEP * row_id + depth
    below = _NESTED_ID_BASE - _NESTED_ID_STEP * row_id - depth
    if data_type.root is Root.ARRAY:
        return pa.list_(_field("element", data_type.inner, above, row_id, depth))
    if data_type.root is Root.MAP:
        key, value = data_type.key_type, data_type.inner
    elif data_type.root is Root.MULTISET:
        key, value = data_type.inner, _COUNT
    else:
        return pa.struct([_field(f.name, f.type, f.id, f.id, 0) for f in data_type.fields])
    key_field = _field("key", key.with_nullable(False), below, row_id, depth)
    return pa.map_(key_field, _field("value", value, above, row_id, depth))


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
