"""Rows that lack fields of structs, or have texts for other values, on their way to the columns of a table.

For writes that may change the schema (`write.merge-schema`): what is missing is null at any depth, and a text becomes
the value of its column, as Java casts it. Everything else is left to the store assignment (``alignment``).
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from paimon_spark.arrow.alignment import match_columns
from paimon_spark.arrow.casts import cast_array
from paimon_spark.arrow.conform import conform, list_of, map_of, struct_of
from paimon_spark.arrow.types import arrow_type, data_type
from paimon_spark.errors import DataError
from paimon_spark.format.types import BINARIES, NESTED, STRINGS, DataField, DataType, Root


def complete_batch(batch: pa.RecordBatch, fields: Sequence[DataField]) -> pa.RecordBatch:
    """The rows with all fields in the structs of their columns.

    Args:
        batch: columns in any order.
        fields: the columns of the table.

    Raises:
        DataError: a text is no value of its column.
    """
    found = match_columns(batch.schema.names, fields)
    arrays, schema = list(batch.columns), list(batch.schema)
    for field in fields:
        position = found.get(field.name)
        if position is None:
            continue
        try:
            arrays[position] = _completed(arrays[position], field.type)
        except DataError as error:
            raise DataError(f"writing column '{field.name}': {error}") from None
        schema[position] = pa.field(schema[position].name, arrays[position].type)
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(schema))


def _completed(array: pa.Array, target: DataType) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if array.type == pa.null():
        return array
    source = data_type(array.type)
    if source.root in STRINGS and target.root not in STRINGS | BINARIES | NESTED:
        return cast_array(conform(array, arrow_type(source)), source, target)
    if source.root is not target.root or target.root not in NESTED:
        return array
    if array.offset:
        array = pa.concat_arrays([array])  # else children of rows outside the slice would count
    match target.root:
        case Root.ROW:
            return _completed_struct(array, target)
        case Root.ARRAY:
            array = array if pa.types.is_list(array.type) else array.cast(pa.list_(array.type.value_field))
            values = _completed(array.values, target.inner)
            return list_of(array, values, pa.list_(values.type))
        case Root.MAP:
            items = _completed(array.items, target.inner)
            return map_of(array, array.keys, items, pa.map_(array.type.key_type, items.type))
    return array


def _completed_struct(array: pa.Array, target: DataType) -> pa.Array:
    """Fields that the table does not have stay, for the store assignment to name; NOT NULL ones are not made up."""
    names = [array.type.field(i).name for i in range(array.type.num_fields)]
    found = match_columns(names, target.fields)
    children = {names[i]: array.field(i) for i in range(len(names))}
    for field in target.fields:
        position = found.get(field.name)
        if position is not None:
            children[names[position]] = _completed(array.field(position), field.type)
        elif field.type.nullable:
            children[field.name] = pa.nulls(len(array), arrow_type(field.type))
    arrow = [pa.field(name, child.type) for name, child in children.items()]
    return struct_of(array, list(children.values()), arrow)
