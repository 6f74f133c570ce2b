"""Converts arrays to the exact Arrow type that a column has in this package, without a copy if only labels differ.

Spark compares types, nullability at every depth and zones; data files differ in all of them (a NOT NULL key, a zone
missing on INT96, large or dictionary strings of other writers). ``conformer`` decides once per file and column what
must be done, so that batches which need no conversion cost nothing.

Paimon stores TIMESTAMP and TIMESTAMP_LTZ of precision 7 to 9 as INT96: 12 bytes, little-endian nanoseconds
of the day (int64), then the Julian day (int32; format section 7.3). Arrow can write INT96 only for
all timestamps of a file at once, which old Java readers refuse, and its decoder misreads what Java writes before 1970
(negative nanoseconds). So both directions use FIXED_LEN_BYTE_ARRAY(12), whose pages have the same bytes. Only the
footer differs between the two, and ``parquet.footer_rewrites`` rewrites it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow import kernels as pc
from paimon_spark.arrow.raw_values import int64_array, int64_values, valid_mask, with_nulls
from paimon_spark.arrow.types import NANOS_PER_UNIT, TYPED, VARIANT, is_variant
from paimon_spark.errors import DataError

Conform = Callable[[pa.Array], pa.Array]
INT96 = pa.binary(12)
_LAYOUT = np.dtype([("nanos", "<i8"), ("day", "<i4")])
_EPOCH_DAY = 2440588
_NANOS_PER_DAY = 86_400 * 10**9
_MOST_ITEMS = 2**31 - 1  # of the offsets of a list


def conformer(source: pa.DataType, target: pa.DataType) -> Conform | None:
    """A function that converts arrays of the source type to the target type; None if they need no conversion.

    The function may raise DataError (a value does not fit) or pa.ArrowInvalid (text that is not UTF-8, a null as
    the key of a map).
    """
    if source.equals(target, check_metadata=True):
        return None
    if pt.is_dictionary(source):
        return _decode_then(source, target)
    if is_variant(target) and pt.is_struct(source):
        return _variant_conformer(source)
    if pt.is_struct(target) and pt.is_struct(source):
        return _struct_conformer(source, target)
    if pt.is_map(target) and pt.is_map(source):
        return _map_conformer(source, target)
    if pt.is_map(target) and _holds_entries(source):
        return _entries_conformer(source, target)
    if pt.is_fixed_size_list(target):
        return _vector_conformer(source, target)
    if pt.is_list(target):
        return _vectors_as_lists(source, target) if pt.is_fixed_size_list(source) else _list_conformer(source, target)
    if pt.is_timestamp(target) and pt.is_timestamp(source):
        return _timestamp_conformer(source, target)
    if pt.is_timestamp(target) and source == INT96:
        return lambda array: decode_int96(array, target)
    if pt.is_timestamp(source) and target == INT96:
        return encode_int96
    if pt.is_time(target) and pt.is_time(source):
        return _time_conformer(source, target)
    if pt.is_time(target) and pt.is_int32(source):
        return lambda array: array.view(target)
    return lambda array: array.cast(target)


def conform(array: pa.Array, target: pa.DataType) -> pa.Array:
    """The array as the target type; the same object where the types are equal."""
    step = conformer(array.type, target)
    return array if step is None else step(array)


def conform_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns of the batch, by position, as exactly this schema."""
    arrays = [conform(array, field.type) for array, field in zip(batch.columns, schema, strict=True)]
    return batch_of(arrays, schema, batch.num_rows)


def batch_of(arrays: Sequence[pa.Array], schema: pa.Schema, row_count: int) -> pa.RecordBatch:
    """A batch of the schema; it keeps its row count even without columns."""
    if arrays:
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
    return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), row_count, [None]))


def _applied(step: Conform | None, array: pa.Array) -> pa.Array:
    return array if step is None else step(array)


def _decode_then(source: pa.DataType, target: pa.DataType) -> Conform:
    step = conformer(source.value_type, target)
    return lambda array: _applied(step, array.dictionary_decode())


def struct_of(array: pa.Array, children: Sequence[pa.Array], fields: Sequence[pa.Field]) -> pa.StructArray:
    """A struct with the nulls of the given one and these children (as long as the array, from its offset on)."""
    if not fields:
        return pa.Array.from_buffers(pa.struct([]), len(array), [None])
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(list(children), fields=list(fields), mask=mask)


def _struct_conformer(source: pa.DataType, target: pa.DataType) -> Conform:
    """Fields are matched by name; a field that the source lacks becomes nulls."""
    fields = list(target)
    steps = [_field_step(source, field) for field in fields]

    def run(array: pa.Array) -> pa.Array:
        return struct_of(array, [step(array) for step in steps], fields)

    return run


def _field_step(source: pa.DataType, field: pa.Field) -> Conform:
    index = source.get_field_index(field.name)
    if index < 0:
        return lambda array: pa.nulls(len(array), field.type)
    step = conformer(source.field(index).type, field.type)
    return lambda array: _applied(step, array.field(index))


def _variant_conformer(source: pa.DataType) -> Conform:
    """Value and metadata are matched by name; shredded values are made whole."""
    if source.get_field_index(TYPED) >= 0:
        from paimon_spark.arrow.variant_rebuilding import whole_variants

        return whole_variants
    return _struct_conformer(source, VARIANT)


def list_of(array: pa.Array, values: pa.Array, target: pa.DataType) -> pa.Array:
    """A list array with the nulls and offsets of the given one and other values, of the given list type."""
    validity, offsets = array.buffers()[:2]
    return pa.Array.from_buffers(target, len(array), [validity, offsets], -1, array.offset, [values])


def map_of(array: pa.Array, keys: pa.Array, items: pa.Array, target: pa.DataType) -> pa.Array:
    """A map array with the nulls and offsets of the given one and other keys and items, of the given map type."""
    fields = [target.key_field, target.item_field]
    entries = pa.StructArray.from_arrays([keys, items], fields=fields)
    return list_of(array, entries, target)


def _list_conformer(source: pa.DataType, target: pa.DataType) -> Conform:
    if not pt.is_list(source):
        plain = pa.list_(source.value_field) if hasattr(source, "value_field") else target
        after = conformer(plain, target)
        return lambda array: _applied(after, array.cast(plain))
    step = conformer(source.value_type, target.value_type)
    return lambda array: list_of(array, _applied(step, array.values), target)


def _vector_conformer(source: pa.DataType, target: pa.DataType) -> Conform:
    """Lists as vectors, which are all of one length and hold no null."""
    step = conformer(source.value_type, target.value_type) if hasattr(source, "value_type") else None
    size = target.list_size

    def run(array: pa.Array) -> pa.Array:
        if not pt.is_list(array.type) and not pt.is_fixed_size_list(array.type):
            array = array.cast(pa.list_(array.type.value_field))
        lengths = pc.list_value_length(array).drop_null()
        wrong = lengths.filter(pc.not_equal(lengths, size))
        if len(wrong):
            raise DataError(f"a value of {wrong[0]} elements is no VECTOR of {size}")
        items = _applied(step, array.flatten())  # of null rows it has none
        if items.null_count:
            raise DataError(f"an element of a VECTOR of {size} is null")
        if not array.null_count:
            return pa.Array.from_buffers(target, len(array), [None], 0, 0, [items])
        valid = array.is_valid()
        if not len(items):
            return pa.nulls(len(array), target)
        first = np.maximum(np.cumsum(valid.to_numpy(zero_copy_only=False)) - 1, 0) * size
        places = (first[:, None] + np.arange(size)).ravel()  # null rows get the elements of a neighbour
        return pa.Array.from_buffers(target, len(array), [valid.buffers()[1]], -1, 0, [items.take(pa.array(places))])

    return run


def _vectors_as_lists(source: pa.DataType, target: pa.DataType) -> Conform:
    step, size = conformer(source.value_type, target.value_type), source.list_size

    def run(array: pa.Array) -> pa.Array:
        valid = array.is_valid()
        ends = np.cumsum(valid.to_numpy(zero_copy_only=False), dtype=np.int64) * size
        if len(ends) and ends[-1] > _MOST_ITEMS:
            raise DataError(f"{len(array)} values of VECTOR of {size} are too many for one list array")
        offsets = pa.py_buffer(np.concatenate((np.zeros(1, np.int32), ends.astype(np.int32))))
        validity = valid.buffers()[1] if array.null_count else None
        return pa.Array.from_buffers(target, len(array), [validity, offsets], -1, 0, [_applied(step, array.flatten())])

    return run


def _map_conformer(source: pa.DataType, target: pa.DataType) -> Conform:
    key_step = conformer(source.key_type, target.key_type)
    item_step = conformer(source.item_type, target.item_type)
    return lambda array: map_of(array, _applied(key_step, array.keys), _applied(item_step, array.items), target)


def _holds_entries(source: pa.DataType) -> bool:
    """True if this is the type that Arrow gives a map of optional keys without annotation (see ``maps_as_structs``)."""
    if not pt.is_struct(source) or source.num_fields != 1 or not pt.is_list(source.field(0).type):
        return False
    entry = source.field(0).type.value_type
    return bool(pt.is_struct(entry) and entry.num_fields == 2)


def _entries_conformer(source: pa.DataType, target: pa.DataType) -> Conform:
    """The struct holds the nulls of the maps, its list their offsets; fields are matched by position: names vary."""
    entry = source.field(0).type.value_type
    key_step = conformer(entry.field(0).type, target.key_type)
    item_step = conformer(entry.field(1).type, target.item_type)

    def run(array: pa.Array) -> pa.Array:
        if not len(array):
            return pa.array([], target)
        lists = array.field(0)
        keys, items = lists.values.field(0), lists.values.field(1)
        if keys.null_count:
            raise pa.ArrowInvalid("a map has a null as key, which maps cannot have here")
        validity = array.is_valid().buffers()[1] if array.null_count else None
        offsets = lists.buffers()[1].slice(lists.offset * 4)
        fields = [target.key_field, target.item_field]
        entries = pa.StructArray.from_arrays([_applied(key_step, keys), _applied(item_step, items)], fields=fields)
        return pa.Array.from_buffers(target, len(array), [validity, offsets], -1, 0, [entries])

    return run


def _timestamp_conformer(source: pa.DataType, target: pa.DataType) -> Conform:
    have, want = NANOS_PER_UNIT[source.unit], NANOS_PER_UNIT[target.unit]
    if have == want:
        return lambda array: array.view(target)
    if have < want:
        return lambda array: rescale(array, 1, want // have, target)
    return lambda array: rescale(array, have // want, 1, target)


def _time_conformer(source: pa.DataType, target: pa.DataType) -> Conform:
    have, want = NANOS_PER_UNIT[source.unit], NANOS_PER_UNIT[target.unit]
    factor, divisor = max(have // want, 1), max(want // have, 1)
    wide = pa.int32() if pt.is_time32(source) else pa.int64()

    def run(array: pa.Array) -> pa.Array:
        counts = array.view(wide).cast(pa.int64())
        return rescale(counts, factor, divisor, pa.int64()).cast(pa.int32()).view(target)

    return run


def rescale(array: pa.Array, factor: int, divisor: int, target: pa.DataType) -> pa.Array:
    """64-bit counts times factor, or floor-divided, as a 64-bit target type.

    Raises:
        DataError: a product beyond 64 bits, for instance a timestamp outside 1677..2262 in nanoseconds.
    """
    counts = int64_values(array)
    if factor == 1:
        return int64_array(np.floor_divide(counts, divisor), array, target)
    bound = (2**63 - 1) // factor
    outside = (counts > bound) | (counts < -bound)
    if outside.any() and (outside & valid_mask(array)).any():
        raise DataError(f"a value of type {array.type} is outside the range of {target}")
    return int64_array(counts * factor, array, target)


def decode_int96(array: pa.Array, target: pa.DataType) -> pa.Array:
    """INT96 bytes as a timestamp type; finer digits than its unit are dropped (floor).

    Raises:
        DataError: a value is outside the range of the target, for nanoseconds 1677..2262.
    """
    raw = np.frombuffer(array.buffers()[1] or b"", _LAYOUT, len(array), array.offset * 12)
    unit = NANOS_PER_UNIT[target.unit]
    days = raw["day"].astype(np.int64) - _EPOCH_DAY
    counts = days * (_NANOS_PER_DAY // unit) + np.floor_divide(raw["nanos"], unit)
    rough = days * (_NANOS_PER_DAY / unit) + raw["nanos"] / unit
    unset = (raw["day"] == 0) & (raw["nanos"] == 0)  # a NOT NULL field in a null struct
    outside = (np.abs(rough - counts) > 2.0**62) & ~unset
    if outside.any() and (outside & valid_mask(array)).any():
        raise DataError(f"a timestamp in the file is outside the range of {target}")
    return int64_array(counts, array, target)


def encode_int96(array: pa.Array) -> pa.Array:
    """Timestamps as INT96 bytes, nanoseconds of the day never negative."""
    unit = NANOS_PER_UNIT[array.type.unit]
    days, rest = np.divmod(int64_values(array), _NANOS_PER_DAY // unit)
    raw = np.empty(len(array), _LAYOUT)
    raw["nanos"] = rest * unit
    raw["day"] = days + _EPOCH_DAY
    return with_nulls(pa.Array.from_buffers(INT96, len(raw), [None, pa.py_buffer(raw)]), array)
