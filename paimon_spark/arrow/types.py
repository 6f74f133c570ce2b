"""Paimon data types as Arrow types, both ways, and single values between Arrow and the internal form.

The Arrow form of a column (format section 2): TIMESTAMP and TIMESTAMP_LTZ by their precision (0..3 milliseconds,
4..6 microseconds, 7..9 nanoseconds; LTZ with zone "UTC"), TIME as time32 milliseconds, CHAR and VARCHAR as string,
BINARY, VARBINARY and BLOB as binary, DECIMAL as decimal128, MULTISET as map<element, int32 not null>, VECTOR as
fixed_size_list<element not null>. VARIANT is the struct of two binaries, value and metadata, that Spark exchanges for
it: a mark in the metadata of the second field tells it from a ROW (Spark: ArrowUtils). Nullability is kept at every
depth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow.raw_values import from_numpy, text_array
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format.types import MAX_LENGTH, NESTED, TIMESTAMPS, DataField, DataType, Root

UTC = "UTC"
NANOS_PER_UNIT = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_MILLIS_PER_TIME_UNIT = {"s": (1000, 1), "ms": (1, 1), "us": (1, 1000), "ns": (1, 10**6)}

_EXACT = Context(prec=80)
_MOST_ELEMENTS = 2**16
"""Of a VECTOR: a column that a file lacks becomes a batch of them. Embeddings have some thousand."""
_VARIANT_MARK = {b"variant": b"true"}
VALUE, TYPED, METADATA = "value", "typed_value", "metadata"
"""The parts of a VARIANT in files and in Arrow: its bytes, the parts of a shredded one, and the names of its fields."""
VARIANT = pa.struct([
    pa.field(VALUE, pa.binary(), nullable=False),
    pa.field(METADATA, pa.binary(), nullable=False, metadata=_VARIANT_MARK),
])  # fmt: skip

_PLAIN: dict[Root, pa.DataType] = {
    Root.BOOLEAN: pa.bool_(),
    Root.TINYINT: pa.int8(),
    Root.SMALLINT: pa.int16(),
    Root.INT: pa.int32(),
    Root.BIGINT: pa.int64(),
    Root.FLOAT: pa.float32(),
    Root.DOUBLE: pa.float64(),
    Root.CHAR: pa.string(),
    Root.VARCHAR: pa.string(),
    Root.BINARY: pa.binary(),
    Root.VARBINARY: pa.binary(),
    Root.BLOB: pa.binary(),
    Root.DATE: pa.date32(),
    Root.TIME: pa.time32("ms"),
    Root.VARIANT: VARIANT,
}


def timestamp_unit(precision: int | None) -> str:
    """The Arrow unit that holds a TIMESTAMP of this precision (None: the default, 6)."""
    digits = 6 if precision is None else precision
    return "ms" if digits <= 3 else "us" if digits <= 6 else "ns"


def arrow_type(data_type: DataType) -> pa.DataType:
    """The Arrow type of a data type.

    Raises:
        UnsupportedFeature: GEOMETRY, GEOGRAPHY, or a VECTOR of very many elements, at any depth.
    """
    root = data_type.root
    plain = _PLAIN.get(root)
    if plain is not None:
        return plain
    if root is Root.DECIMAL:
        return pa.decimal128(data_type.precision or 10, data_type.scale or 0)
    if root in TIMESTAMPS:
        zone = UTC if root is Root.TIMESTAMP_LTZ else None
        return pa.timestamp(timestamp_unit(data_type.precision), tz=zone)
    if root is Root.ARRAY:
        return pa.list_(_child("element", data_type.inner))
    if root is Root.VECTOR:
        return _vector_type(data_type)
    if root is Root.MAP:
        return pa.map_(_child("key", data_type.key_type.with_nullable(False)), _child("value", data_type.inner))
    if root is Root.MULTISET:
        key = _child("key", data_type.inner.with_nullable(False))
        return pa.map_(key, pa.field("value", pa.int32(), nullable=False))
    if root is Root.ROW:
        return pa.struct([arrow_field(field) for field in data_type.fields])
    raise UnsupportedFeature(
        f"the data type {root} is not supported by this release: read or write the table without columns of this type"
    )


def _vector_type(data_type: DataType) -> pa.DataType:
    """A VECTOR has no null elements, whatever its element type says (Java: SparkTypeUtils, ParquetRowDataWriter)."""
    length = data_type.length or 0
    if length > _MOST_ELEMENTS:
        raise UnsupportedFeature(
            f"a VECTOR of {length:,} elements is not supported by this release, only up to {_MOST_ELEMENTS:,}"
        )
    return pa.list_(_child("element", data_type.inner.with_nullable(False)), length)


def _child(name: str, data_type: DataType) -> pa.Field:
    return pa.field(name, arrow_type(data_type), nullable=data_type.nullable)


def arrow_field(field: DataField) -> pa.Field:
    """The Arrow field of a column or of a field of a ROW.

    Raises:
        UnsupportedFeature: a type without an Arrow form here; the message names the column.
    """
    try:
        return _child(field.name, field.type)
    except UnsupportedFeature as error:
        raise UnsupportedFeature(f"column '{field.name}': {error}") from None


def arrow_schema(fields: Iterable[DataField]) -> pa.Schema:
    """The Arrow schema of columns, in their order."""
    return pa.schema([arrow_field(field) for field in fields])


def data_type(arrow: pa.DataType, nullable: bool = True) -> DataType:
    """The data type that holds all values of an Arrow type (the inverse of ``arrow_type``, and more).

    Large, view, dictionary and run-end forms count as their plain form; an unsigned integer becomes the next wider
    signed type. Fields of a struct are numbered from 0 in each struct; replace these ids before storing the type.

    Raises:
        DataError: an Arrow type that no data type holds.
    """
    scalar = _scalar_type(arrow)
    if scalar is not None:
        return scalar.with_nullable(nullable)
    if pt.is_dictionary(arrow) or pt.is_run_end_encoded(arrow):
        return data_type(arrow.value_type, nullable)
    if pt.is_map(arrow):
        key = data_type(arrow.key_type, nullable=False)
        return DataType(Root.MAP, nullable, key=key, element=data_type(arrow.item_type, arrow.item_field.nullable))
    if is_variant(arrow):
        return DataType(Root.VARIANT, nullable)
    if pt.is_struct(arrow):
        return DataType(Root.ROW, nullable, fields=data_fields(arrow))
    if _is_list(arrow):
        element = data_type(arrow.value_type, arrow.value_field.nullable)
        return DataType(Root.ARRAY, nullable, element=element)
    raise DataError(f"Arrow type {arrow} has no Paimon type: cast the column to a supported type first")


def is_variant(arrow: pa.DataType) -> bool:
    """True if this is the marked struct that stands for VARIANT."""
    if not pt.is_struct(arrow) or arrow.num_fields != 2:
        return False
    at = arrow.get_field_index("metadata")
    marked = at >= 0 and (arrow.field(at).metadata or {}).get(b"variant") == b"true"
    return bool(marked and arrow.get_field_index("value") >= 0)


def data_fields(fields: Iterable[pa.Field]) -> tuple[DataField, ...]:
    """Arrow fields (a schema or a struct type) as data fields, numbered from 0."""
    return tuple(DataField(i, f.name, data_type(f.type, f.nullable)) for i, f in enumerate(fields))


def _is_list(arrow: pa.DataType) -> bool:
    tests = (pt.is_list, pt.is_large_list, pt.is_fixed_size_list, pt.is_list_view, pt.is_large_list_view)
    return any(test(arrow) for test in tests)


_SCALARS: tuple[tuple[Callable[[pa.DataType], bool], DataType], ...] = (
    (pt.is_boolean, DataType(Root.BOOLEAN)),
    (pt.is_int8, DataType(Root.TINYINT)),
    (pt.is_int16, DataType(Root.SMALLINT)),
    (pt.is_uint8, DataType(Root.SMALLINT)),
    (pt.is_int32, DataType(Root.INT)),
    (pt.is_uint16, DataType(Root.INT)),
    (pt.is_int64, DataType(Root.BIGINT)),
    (pt.is_uint32, DataType(Root.BIGINT)),
    (pt.is_uint64, DataType(Root.DECIMAL, precision=20, scale=0)),
    (pt.is_float16, DataType(Root.FLOAT)),
    (pt.is_float32, DataType(Root.FLOAT)),
    (pt.is_float64, DataType(Root.DOUBLE)),
    (pt.is_date, DataType(Root.DATE)),
    (pt.is_string, DataType(Root.VARCHAR, length=MAX_LENGTH)),
    (pt.is_large_string, DataType(Root.VARCHAR, length=MAX_LENGTH)),
    (pt.is_string_view, DataType(Root.VARCHAR, length=MAX_LENGTH)),
    (pt.is_binary, DataType(Root.VARBINARY, length=MAX_LENGTH)),
    (pt.is_large_binary, DataType(Root.VARBINARY, length=MAX_LENGTH)),
    (pt.is_binary_view, DataType(Root.VARBINARY, length=MAX_LENGTH)),
)
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def _scalar_type(arrow: pa.DataType) -> DataType | None:
    for test, found in _SCALARS:
        if test(arrow):
            return found
    if pt.is_fixed_size_binary(arrow):
        return DataType(Root.BINARY, length=arrow.byte_width)
    if pt.is_decimal(arrow) and 0 <= arrow.scale <= arrow.precision <= 38:
        return DataType(Root.DECIMAL, precision=arrow.precision, scale=arrow.scale)
    if pt.is_time(arrow):
        return DataType(Root.TIME, precision=_DIGITS[arrow.unit])
    if pt.is_timestamp(arrow):
        root = Root.TIMESTAMP if arrow.tz is None else Root.TIMESTAMP_LTZ
        return DataType(root, precision=_DIGITS[arrow.unit])
    return None


def to_internal(scalar: pa.Scalar) -> Any:
    """The internal value of an Arrow scalar (None for null); ROW a tuple, ARRAY a list, MAP a list of pairs."""
    if not scalar.is_valid:
        return None
    arrow = scalar.type
    if pt.is_timestamp(arrow):
        return scalar.value * NANOS_PER_UNIT[arrow.unit]
    if pt.is_date32(arrow):
        return scalar.value
    if pt.is_time(arrow):
        times, parts = _MILLIS_PER_TIME_UNIT[arrow.unit]
        return scalar.value * times // parts
    if pt.is_struct(arrow):
        return tuple(to_internal(scalar[i]) for i in range(arrow.num_fields))
    if pt.is_map(arrow):
        entries = scalar.values
        keys, items = entries.field(0), entries.field(1)
        return [(to_internal(k), to_internal(v)) for k, v in zip(keys, items, strict=True)]
    if _is_list(arrow):
        return [to_internal(value) for value in scalar.values]
    if pt.is_dictionary(arrow):
        return to_internal(scalar.value)
    return scalar.as_py()


def decimal_of(unscaled: int, scale: int) -> Decimal:
    """unscaled / 10**scale, exactly, whatever the decimal context of the caller."""
    return _EXACT.scaleb(Decimal(unscaled), -scale)


def from_internal(values: Sequence[Any], to: DataType) -> pa.Array:
    """Internal values (None for null) as an Arrow array of ``arrow_type(to)``.

    Raises:
        DataError: a value does not fit the type (out of range, wrong kind).
    """
    try:
        return _from_internal(values, to)
    except pa.ArrowMemoryError:
        raise
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise DataError(f"values do not fit the type {to.root}: {error}") from error


def _from_internal(values: Sequence[Any], to: DataType) -> pa.Array:
    target = arrow_type(to)
    if to.root in TIMESTAMPS:
        nanos = NANOS_PER_UNIT[target.unit]
        return _integers([None if v is None else v // nanos for v in values], pa.int64()).cast(target)
    if to.root in (Root.DATE, Root.TIME):
        return _integers(values, pa.int32()).cast(target)
    if to.root is Root.VARIANT:
        values = [None if v is None else dict(zip(("value", "metadata"), v, strict=True)) for v in values]
    if target == pa.string() and all(v is None or isinstance(v, str) for v in values):
        return text_array(values)
    if pa.types.is_integer(target):
        return _integers(values, target)
    if to.root not in NESTED:
        return pa.array(values, target)
    present = pa.array([v is not None for v in values], pa.bool_())
    if to.root is Root.VECTOR:
        return _vectors(values, to, target)
    if to.root is Root.ROW:
        children = [
            _from_internal([None if v is None else v[i] for v in values], f.type) for i, f in enumerate(to.fields)
        ]
        return pa.StructArray.from_arrays(children, fields=list(target), mask=_inverted(present))
    lists = [[] if v is None else list(v.items()) if isinstance(v, dict) else list(v) for v in values]
    flat = [item for items in lists for item in items]
    offsets = pa.array([0, *_running_sizes(lists)], pa.int32())
    if to.root is Root.ARRAY:
        children = [_from_internal(flat, to.inner)]
        return pa.ListArray.from_arrays(offsets, *children, type=target, mask=_inverted(present))
    key_type, item_type = (to.key_type, to.inner) if to.root is Root.MAP else (to.inner, DataType(Root.INT, False))
    keys = _from_internal([k for k, _ in flat], key_type)
    items = _from_internal([v for _, v in flat], item_type)
    return pa.MapArray.from_arrays(offsets, keys, items, type=target, mask=_inverted(present))


def _integers(values: Sequence[Any], target: pa.DataType) -> pa.Array:
    """``pa.array`` imports pandas first: metadata are shown without it."""
    if all(type(v) is int for v in values):
        return from_numpy(np.array(values, target.to_pandas_dtype()))
    return pa.array(values, target)


def _vectors(values: Sequence[Any], to: DataType, target: pa.DataType) -> pa.Array:
    length = target.list_size
    if any(v is not None and len(v) != length for v in values):
        raise ValueError(f"a vector has not the length {length}")
    filler = [False if to.inner.root is Root.BOOLEAN else 0] * length
    items = _from_internal([item for v in values for item in (filler if v is None else v)], to.inner)
    if items.null_count:
        raise ValueError("a vector has a null element")
    valid = pa.array([v is not None for v in values], pa.bool_()).buffers()[1]
    return pa.Array.from_buffers(target, len(values), [valid], children=[items])


def _inverted(present: pa.BooleanArray) -> pa.BooleanArray | None:
    return pa.array([not p for p in present.to_pylist()], pa.bool_()) if present.false_count else None


def _running_sizes(lists: Sequence[Sequence[Any]]) -> Iterable[int]:
    total = 0
    for items in lists:
        total += len(items)
        yield total
