"""Shreds columns of VARIANT: parts of values go to columns of a type, others to ``value`` (Parquet: VariantShredding).

A shape says what is shredded: a ROW for objects, an ARRAY for arrays, a scalar type, or VARIANT for what stays as it
is. A value that is not of the shape, and fields that it does not name, are in ``value``. Java:
VariantShreddingWriter, PaimonShreddingUtils.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow import variant_values as vv
from paimon_spark.arrow.raw_values import Booleans, Int64s, from_numpy, placed
from paimon_spark.arrow.shredding.scalars import Scalars
from paimon_spark.arrow.types import METADATA, TYPED, VALUE, arrow_type
from paimon_spark.arrow.variant_building import either, objects
from paimon_spark.arrow.variant_values import Places, VariantValues, slices
from paimon_spark.errors import DataError, OptionError
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import INTEGERS, MAX_LENGTH, DataField, DataType, Root

_BYTES = DataType(Root.VARBINARY, length=MAX_LENGTH)
_SCALARS = {*INTEGERS, Root.BOOLEAN, Root.FLOAT, Root.DOUBLE, Root.DECIMAL, Root.VARCHAR}


def check_shape(shape: DataType, where: str) -> None:
    """Refuses a shape that has a type in which the official system does not write shredded values.

    Raises:
        OptionError: it has one; the message begins with where.
    """
    parts = [field.type for field in shape.fields] + ([shape.inner] if shape.root is Root.ARRAY else [])
    if shape.root is Root.ROW and len({field.name for field in shape.fields}) < len(shape.fields):
        raise OptionError(f"{where} names a field twice: name each once")
    if shape.root is Root.ROW and not shape.fields:
        raise OptionError(f"{where} has a ROW without fields: name at least one, or take VARIANT")
    if shape.root not in (Root.ROW, Root.ARRAY, Root.VARIANT) and shape.root not in _SCALARS:
        raise OptionError(
            f"{where} has the type {type_sql(shape)}, in which the official system writes no shredded values: take "
            "VARIANT there"
        )
    for part in parts:
        check_shape(part, where)


def shredded_type(shape: DataType) -> DataType:
    """A column of VARIANT in a Parquet file as a ROW, with the ids and in the order that Java gives the fields."""
    return DataType(Root.ROW, fields=(DataField(0, METADATA, _BYTES.with_nullable(False)), *_parts(shape, 1, False)))


def _parts(shape: DataType, first_id: int, is_field: bool) -> tuple[DataField, ...]:
    if shape.root is Root.VARIANT:
        return (DataField(first_id, VALUE, _BYTES.with_nullable(is_field)),)
    return DataField(first_id, VALUE, _BYTES), DataField(first_id + 1, TYPED, _typed(shape))


def _typed(shape: DataType) -> DataType:
    if shape.root is Root.ROW:
        parts = (DataType(Root.ROW, False, fields=_parts(field.type, 0, True)) for field in shape.fields)
        fields = (DataField(field.id, field.name, part) for field, part in zip(shape.fields, parts, strict=True))
        return DataType(Root.ROW, fields=tuple(fields))
    if shape.root is Root.ARRAY:
        return DataType(Root.ARRAY, element=DataType(Root.ROW, fields=_parts(shape.inner, 0, False)))
    return shape.with_nullable(True)


def shredded(column: pa.StructArray, shape: DataType) -> pa.StructArray:
    """A column of VARIANT as Arrow has the type ``shredded_type(shape)``.

    Raises:
        DataError: a value is damaged.
    """
    values = VariantValues(column)
    arrow = arrow_type(shredded_type(shape))
    try:
        parts = _Shredder(values).parts(values.places, shape, arrow)
    except IndexError:
        raise vv.malformed() from None
    metadata = column.field("metadata").cast(pa.binary()).fill_null(b"")
    mask = column.is_null() if column.null_count else None
    return pa.StructArray.from_arrays([metadata, *parts], fields=list(arrow), mask=mask)


class _Shredder:
    def __init__(self, values: VariantValues) -> None:
        self._values = values

    def parts(self, places: Places, shape: DataType, arrow: pa.DataType) -> list[pa.Array]:
        """``value`` and, but for VARIANT, ``typed_value``; both are null where there is no value."""
        there = places.starts >= 0
        own = places if there.all() else places.at(there)
        if shape.root is Root.VARIANT:
            value = self._whole(own, there, np.ones(len(own), np.bool_))
            return [value if arrow.field(VALUE).nullable else value.fill_null(b"")]
        kinds = self._values.kinds(own)
        typed = arrow.field(TYPED).type
        if shape.root is Root.ROW:
            return self._objects(own, there, kinds == vv.OBJECT, shape, typed)
        if shape.root is Root.ARRAY:
            is_array = kinds == vv.ARRAY
            return [self._whole(own, there, ~is_array), self._arrays(own, there, is_array, shape, typed)]
        fits, found = Scalars(self._values, own, kinds).of(shape, typed)
        return [self._whole(own, there, ~fits), found.take(placed(np.arange(len(own))[fits], _spread(there, fits)))]

    def _whole(self, own: Places, there: Booleans, chosen: Booleans) -> pa.Array:
        """The bytes of the chosen of the values that are there; null for all others."""
        if not chosen.any():
            return pa.nulls(len(there), pa.binary())
        some = own.at(chosen)
        ends = some.starts + self._values.sizes(some)
        return slices(self._values.buffer.bytes, some.starts, ends, _spread(there, chosen)).cast(pa.binary())

    def _objects(
        self, own: Places, there: Booleans, is_object: Booleans, shape: DataType, typed: pa.DataType
    ) -> list[pa.Array]:
        values = self._values
        fields = values.children(own.at(is_object))
        slots = _slots(values.names, shape.fields)[values.name_codes(fields)] if len(fields.parents) else fields.parents
        order = np.argsort(slots, kind="stable")
        bounds = np.searchsorted(slots[order], np.arange(len(shape.fields) + 1))
        rows = np.flatnonzero(_spread(there, is_object))
        rest = self._rest(fields, order[: bounds[0]], rows, len(there))
        columns = []
        for number, field in enumerate(typed):
            some = order[bounds[number] : bounds[number + 1]]
            at = rows[fields.parents[some]]
            if len(at) > 1 and (at[1:] == at[:-1]).any():
                raise DataError(f"a value of VARIANT is damaged: an object has the field '{field.name}' twice")
            places = _spread_places(fields.places.at(some), at, len(there))
            parts = self.parts(places, shape.fields[number].type, field.type)
            columns.append(pa.StructArray.from_arrays(parts, fields=list(field.type)))
        mask = from_numpy(~_spread(there, is_object))
        found = pa.StructArray.from_arrays(columns, fields=list(typed), mask=mask)
        others = self._whole(own, there, ~is_object).cast(pa.large_binary())
        return [either(others, rest).cast(pa.binary()), found]

    def _rest(self, fields: vv.Children, some: Int64s, rows: Int64s, count: int) -> pa.Array:
        """For each row an object of the fields that no column takes; null if there are none."""
        present = np.zeros(count, np.bool_)
        if not len(some):
            return pa.nulls(count, pa.large_binary())
        some = np.sort(some)
        counts = np.bincount(fields.parents[some], minlength=len(rows))
        present[rows[counts > 0]] = True
        places = fields.places.at(some)
        parts = slices(self._values.buffer.bytes, places.starts, places.starts + self._values.sizes(places))
        made = objects(counts[counts > 0], fields.ids[some], parts, np.arange(len(some)))
        return made.take(placed(np.arange(len(made)), present))

    def _arrays(
        self, own: Places, there: Booleans, is_array: Booleans, shape: DataType, typed: pa.DataType
    ) -> pa.Array:
        items = self._values.children(own.at(is_array))
        parts = self.parts(items.places, shape.inner, typed.value_type)
        elements = pa.StructArray.from_arrays(parts, fields=list(typed.value_type))
        chosen = _spread(there, is_array)
        offsets = np.zeros(len(there) + 1, np.int64)
        offsets[1:][chosen] = items.counts
        ends = pa.py_buffer(np.cumsum(offsets).astype(np.int32))
        bits = from_numpy(chosen).buffers()[1]
        return pa.Array.from_buffers(typed, len(there), [bits, ends], -1, 0, [elements])


def _spread(there: Booleans, chosen: Booleans) -> Booleans:
    """Of which of all rows those are that are chosen of the rows that are there."""
    found = np.zeros(len(there), np.bool_)
    found[there] = chosen
    return found


def _spread_places(some: Places, at: Int64s, count: int) -> Places:
    starts, ends, owners = np.full(count, -1, np.int64), np.zeros(count, np.int64), np.zeros(count, np.int64)
    starts[at], ends[at], owners[at] = some.starts, some.ends, some.owners
    return Places(starts, ends, owners)


def _slots(names: vv.Dictionary, fields: Sequence[DataField]) -> npt.NDArray[np.int16]:
    """By the code of a name, the number of its field; -1: no field has it."""
    numbers = {field.name: number for number, field in enumerate(fields)}
    return np.array([numbers.get(name, -1) for name in names.texts], np.int16)
