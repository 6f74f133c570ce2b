"""Nulls in NOT NULL fields of structs that are null themselves.

These nulls violate nothing, but Arrow's parquet writer rejects them inside lists and maps, and its casts reject them
everywhere: PySpark casts what it is given.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pt

from paimon_spark.arrow.conform import list_of, map_of
from paimon_spark.errors import DataError


def has_required_field(arrow: pa.DataType) -> bool:
    """True if a struct anywhere in the type has a NOT NULL field."""
    if pt.is_map(arrow):
        return has_required_field(arrow.key_type) or has_required_field(arrow.item_type)
    children = [arrow.field(i) for i in range(arrow.num_fields)]
    required = pt.is_struct(arrow) and any(not child.nullable for child in children)
    return required or any(has_required_field(child.type) for child in children)


def without_hidden_nulls(array: pa.Array) -> pa.Array:
    """The array with every NOT NULL field free of nulls; fields of null structs get arbitrary values.

    Raises:
        DataError: a NOT NULL field is null in a struct that is not.
    """
    arrow = array.type
    if not has_required_field(arrow):
        return array
    if pt.is_map(arrow):
        return map_of(array, without_hidden_nulls(array.keys), without_hidden_nulls(array.items), arrow)
    if pt.is_list(arrow):
        return list_of(array, without_hidden_nulls(array.values), arrow)
    fields = list(arrow)
    children = [without_hidden_nulls(array.field(i)) for i in range(len(fields))]
    for i, field in enumerate(fields):
        if not field.nullable and children[i].null_count:
            if pc.any(pc.and_(children[i].is_null(), array.is_valid())).as_py():
                raise DataError(f"the NOT NULL field '{field.name}' is null in some rows: give it a value")
            children[i] = _without_validity(children[i])
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(children, fields=fields, mask=mask)


def _without_validity(array: pa.Array) -> pa.Array:
    arrow, children = array.type, _children(array)
    if pt.is_struct(arrow):
        return pa.StructArray.from_arrays(children, fields=list(arrow))
    own = array.buffers()[1 : 2 if children else None]
    return pa.Array.from_buffers(arrow, len(array), [None, *own], 0, array.offset, list(children))


def _children(array: pa.Array) -> Sequence[pa.Array]:
    arrow = array.type
    if pt.is_struct(arrow):
        return [array.field(i) for i in range(arrow.num_fields)]
    if pt.is_map(arrow):
        entries = [arrow.key_field, arrow.item_field]
        return [pa.StructArray.from_arrays([array.keys, array.items], fields=entries)]
    return [array.values] if pt.is_list(arrow) else []
