"""BinaryRow: the bytes of rows in manifests, which hashes are made of too (format section 5; Java: BinaryRow).

A row is a header with the null bits, 8 bytes for each field, and a variable part that fields point into by offset and
length. Its hash is Murmur3 (format section 5.3; Java: MurmurHashUtils). Manifests put the number of fields before it,
as 4 big-endian bytes: that form is called an arity row here.

Values are internal values (format/types.py); nested ones are tuple (ROW), list (ARRAY, VECTOR), list of pairs (MAP and
MULTISET; a dict is taken too) and (value bytes, metadata bytes) for VARIANT.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any

from paimon_spark.errors import CorruptFile, DataError
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import BINARIES, STRINGS, TIMESTAMPS, DataType, Root

COMPACT_DECIMAL = 18  # the highest precision whose unscaled value is stored as 8 bytes
COMPACT_TIMESTAMP = 3  # the highest precision whose time is stored as milliseconds in 8 bytes
_MILLI = 10**6
_CONTEXT = Context(prec=80)
_FIXED = {
    Root.BOOLEAN: "<?", Root.TINYINT: "<b", Root.SMALLINT: "<h", Root.INT: "<i", Root.DATE: "<i", Root.TIME: "<i",
    Root.BIGINT: "<q", Root.FLOAT: "<f", Root.DOUBLE: "<d",
}  # fmt: skip
_BYTES_ROOTS = BINARIES | {Root.BLOB, Root.GEOMETRY, Root.GEOGRAPHY}
Writer = Callable[[bytearray, int, Any], None]  # (row or array so far, position of its 8-byte slot, value)
Reader = Callable[[bytes, int], Any]  # (row or array, position of its slot)
SEED = 42
_MASK = 0xFFFFFFFF


def header_size(arity: int) -> int:
    """Bytes before the first field: the row kind, then one null bit a field, in whole 8-byte words."""
    return (arity + 8 + 63) // 64 * 8


def row_hash(row: bytes) -> int:
    """The hash of a row without its arity, a signed 32-bit integer (Java: BinaryRow.hashCode)."""
    return murmur_hash(row)


def reserves_null(data_type: DataType) -> bool:
    """True if a null of the type takes zeroed bytes in the variable part, which changes hashes and buckets."""
    if data_type.root is Root.DECIMAL:
        return (data_type.precision or 0) > COMPACT_DECIMAL
    return data_type.root in TIMESTAMPS and (data_type.precision or 0) > COMPACT_TIMESTAMP


# ---------------------------------------------------------------------------------------------------------- encoding


def encode_row(values: Sequence[Any], types: Sequence[DataType]) -> bytes:
    """The row as bytes, without arity, of row kind +I.

    Raises:
        DataError: a value does not fit its type.
    """
    header = header_size(len(types))
    out = bytearray(header + 8 * len(types))
    for i, (value, data_type) in enumerate(zip(values, types, strict=True)):
        if value is None:
            out[(i + 8) >> 3] |= 1 << (i & 7)
            if reserves_null(data_type):
                struct.pack_into("<ii", out, header + 8 * i, 0, len(out))
                out += bytes(16 if data_type.root is Root.DECIMAL else 8)
        else:
            _write(out, header + 8 * i, value, data_type)
    return bytes(out)


def encode_arity_row(values: Sequence[Any], types: Sequence[DataType]) -> bytes:
    """The row as manifests hold it: the number of fields, then the bytes of encode_row.

    Raises:
        DataError: a value does not fit its type.
    """
    return struct.pack(">i", len(types)) + encode_row(values, types)


def _write(out: bytearray, slot: int, value: Any, data_type: DataType) -> None:
    try:
        _writer(data_type)(out, slot, value)
    except (struct.error, ValueError, TypeError, AttributeError, ArithmeticError) as error:
        raise DataError(f"cannot store {value!r:.100} as {type_sql(data_type)}: {error}") from None


@lru_cache(maxsize=1024)
def _writer(t: DataType) -> Writer:
    if t.root in _FIXED:
        fixed = struct.Struct(_FIXED[t.root])
        if t.root in (Root.FLOAT, Root.DOUBLE):  # Java writes one NaN only
            return lambda out, slot, v: fixed.pack_into(out, slot, math.nan if v != v else v)
        return fixed.pack_into
    if t.root in STRINGS:
        return lambda out, slot, v: _put_bytes(out, slot, v.encode("utf-8"))
    if t.root in _BYTES_ROOTS:
        return lambda out, slot, v: _put_bytes(out, slot, bytes(memoryview(v)))
    if t.root is Root.DECIMAL:
        return _decimal_writer(t)
    if t.root in TIMESTAMPS:
        return _put_millis if (t.precision or 0) <= COMPACT_TIMESTAMP else _put_timestamp
    match t.root:
        case Root.ROW:
            types = tuple(f.type for f in t.fields)
            return lambda out, slot, v: _put_variable(out, slot, encode_row(v, types))
        case Root.ARRAY:
            return lambda out, slot, v: _put_variable(out, slot, _encode_array(v, t.inner))
        case Root.MAP:
            return lambda out, slot, v: _put_variable(out, slot, _encode_map(v, t.key_type, t.inner))
        case Root.MULTISET:
            return lambda out, slot, v: _put_variable(out, slot, _encode_map(v, t.inner, DataType(Root.INT)))
        case Root.VECTOR:
            return lambda out, slot, v: _put_variable(out, slot, _encode_vector(v, t))
        case Root.VARIANT:
            return lambda out, slot, v: _put_variable(out, slot, struct.pack("<i", len(v[0])) + v[0] + v[1])
    raise TypeError(f"BinaryRow has no form for {t.root}")


def _put_variable(out: bytearray, slot: int, payload: bytes) -> None:
    struct.pack_into("<ii", out, slot, len(payload), len(out))
    out += payload
    out += bytes(-len(payload) % 8)


def _put_bytes(out: bytearray, slot: int, payload: bytes) -> None:
    if len(payload) > 7:
        _put_variable(out, slot, payload)
    else:
        out[slot : slot + 8] = payload.ljust(7, b"\0") + bytes([0x80 | len(payload)])


def _put_millis(out: bytearray, slot: int, nanos: int) -> None:
    struct.pack_into("<q", out, slot, nanos // _MILLI)


def _put_timestamp(out: bytearray, slot: int, nanos: int) -> None:
    millis, nano_of_milli = divmod(nanos, _MILLI)
    struct.pack_into("<ii", out, slot, nano_of_milli, len(out))
    out += struct.pack("<q", millis)


def _decimal_writer(t: DataType) -> Writer:
    precision, scale = t.precision or 0, t.scale or 0
    limit = 10**precision

    def unscaled(value: Decimal) -> int:
        scaled = _CONTEXT.scaleb(value, scale)
        whole = int(scaled)
        if whole != scaled or abs(whole) >= limit:
            raise ValueError("too many digits")
        return whole

    def compact(out: bytearray, slot: int, value: Decimal) -> None:
        struct.pack_into("<q", out, slot, unscaled(value))

    def wide(out: bytearray, slot: int, value: Decimal) -> None:
        whole = unscaled(value)
        payload = whole.to_bytes((whole if whole >= 0 else ~whole).bit_length() // 8 + 1, "big", signed=True)
        struct.pack_into("<ii", out, slot, len(payload), len(out))
        out += payload.ljust(16, b"\0")

    return compact if precision <= COMPACT_DECIMAL else wide


def _element_size(t: DataType) -> int:
    return struct.calcsize(_FIXED[t.root]) if t.root in _FIXED else 8


def _encode_array(values: Sequence[Any], t: DataType) -> bytes:
    size = _element_size(t)
    header = 4 + (len(values) + 31) // 32 * 4
    out = bytearray((header + size * len(values) + 7) // 8 * 8)
    struct.pack_into("<i", out, 0, len(values))
    for i, value in enumerate(values):
        if value is None:
            out[4 + (i >> 3)] |= 1 << (i & 7)
        else:
            _write(out, header + size * i, value, t)
    return bytes(out)


def _encode_map(value: Mapping[Any, Any] | Sequence[tuple[Any, Any]], key: DataType, item: DataType) -> bytes:
    pairs = list(value.items()) if isinstance(value, Mapping) else value
    keys = _encode_array([k for k, _ in pairs], key)
    return struct.pack("<i", len(keys)) + keys + _encode_array([v for _, v in pairs], item)


def _encode_vector(values: Sequence[Any], t: DataType) -> bytes:
    if len(values) != t.length:
        raise ValueError(f"it has {len(values)} elements")
    elements = struct.pack(f"<{len(values)}{_FIXED[t.inner.root][1]}", *values)
    return struct.pack("<i", len(values)) + elements + bytes(-len(elements) % 8)


# ---------------------------------------------------------------------------------------------------------- decoding


def decode_arity_row(data: bytes, types: Sequence[DataType]) -> tuple[Any, ...]:
    """The values of a row as manifests hold it: the number of fields, then the row.

    Raises:
        CorruptFile: the row has another number of fields than types, is too short, or a field points outside of it or
            holds no value of its type.
    """
    return arity_row_decoder(types)(data)


def arity_row_decoder(types: Sequence[DataType]) -> Callable[[bytes], tuple[Any, ...]]:
    """decode_arity_row for many rows of one shape: a function of the bytes alone, with the types prepared once."""
    arity = len(types).to_bytes(4, "big")
    decode_fields = row_decoder(types)

    def decode(data: bytes) -> tuple[Any, ...]:
        if data[:4] != arity:
            raise CorruptFile(
                f"a row of {len(data)} bytes, beginning with {data[:4].hex()}, does not hold {len(types)} fields"
            )
        return decode_fields(data[4:])

    return decode


def row_decoder(
    types: Sequence[DataType], positions: Iterable[int] | None = None
) -> Callable[[bytes], tuple[Any, ...]]:
    """Decodes rows without arity of one shape: a function of the bytes alone, with the types prepared once.

    Args:
        types: the types of all fields of the rows.
        positions: the fields to decode, in the order of the result; None means all.

    Returns:
        The function. It raises CorruptFile when the row is too short, or a field points outside of it or holds no
        value of its type.
    """
    header = header_size(len(types))
    end = header + 8 * len(types)
    wanted = range(len(types)) if positions is None else positions
    fields = [((i + 8) >> 3, 1 << (i & 7), _reader(types[i]), header + 8 * i) for i in wanted]

    def decode(data: bytes) -> tuple[Any, ...]:
        if len(data) < end:
            raise CorruptFile(f"a row of {len(types)} fields needs {end} bytes, found {len(data)}: {data[:32].hex()}")
        try:
            return tuple(None if data[at] & bit else read(data, slot) for at, bit, read, slot in fields)
        except (struct.error, ValueError, ArithmeticError) as error:
            shape = ", ".join(type_sql(t) for t in types)
            raise CorruptFile(f"cannot read a row of ({shape}): {error}; its bytes are {data[:64].hex()}") from None

    return decode


@lru_cache(maxsize=1024)
def _reader(t: DataType) -> Reader:
    if t.root in _FIXED:
        unpack = struct.Struct(_FIXED[t.root]).unpack_from
        return lambda data, slot: unpack(data, slot)[0]
    if t.root in STRINGS:
        return lambda data, slot: _take_bytes(data, slot).decode("utf-8")
    if t.root in _BYTES_ROOTS:
        return _take_bytes
    if t.root is Root.DECIMAL:
        return _decimal_reader(t)
    if t.root in TIMESTAMPS:
        return _take_millis if (t.precision or 0) <= COMPACT_TIMESTAMP else _take_timestamp
    match t.root:
        case Root.ROW:
            nested = row_decoder(tuple(f.type for f in t.fields))
            return lambda data, slot: nested(_take_variable(data, slot))
        case Root.ARRAY:
            return lambda data, slot: _decode_array(_take_variable(data, slot), t.inner)
        case Root.MAP:
            return lambda data, slot: _decode_map(_take_variable(data, slot), t.key_type, t.inner)
        case Root.MULTISET:
            return lambda data, slot: _decode_map(_take_variable(data, slot), t.inner, DataType(Root.INT))
        case Root.VECTOR:
            return lambda data, slot: _decode_vector(_take_variable(data, slot), t)
        case Root.VARIANT:
            return _take_variant
    raise TypeError(f"BinaryRow has no form for {t.root}")


def _take(data: bytes, offset: int, length: int) -> bytes:
    if offset < 0 or length < 0 or offset + length > len(data):
        raise ValueError(f"a field points to {length} bytes at {offset}, the row ends at {len(data)}")
    return data[offset : offset + length]


def _take_variable(data: bytes, slot: int) -> bytes:
    length, offset = struct.unpack_from("<ii", data, slot)
    return _take(data, offset, length)


def _take_bytes(data: bytes, slot: int) -> bytes:
    mark = data[slot + 7]
    if not mark & 0x80:
        return _take_variable(data, slot)
    if mark > 0x87:
        raise ValueError(f"a field claims {mark & 0x7F} bytes inside its 7")
    return data[slot : slot + (mark & 0x7F)]


def _take_millis(data: bytes, slot: int) -> int:
    millis: int = struct.unpack_from("<q", data, slot)[0]
    return millis * _MILLI


def _take_timestamp(data: bytes, slot: int) -> int:
    nano_of_milli, offset = struct.unpack_from("<ii", data, slot)
    if not 0 <= nano_of_milli < _MILLI:
        raise ValueError(f"a timestamp has {nano_of_milli} nanoseconds of a millisecond")
    return _take_millis(_take(data, offset, 8), 0) + int(nano_of_milli)


def _decimal_reader(t: DataType) -> Reader:
    scale = t.scale or 0
    if (t.precision or 0) <= COMPACT_DECIMAL:
        unpack = struct.Struct("<q").unpack_from
        return lambda data, slot: _CONTEXT.scaleb(Decimal(unpack(data, slot)[0]), -scale)

    def wide(data: bytes, slot: int) -> Decimal:
        payload = _take_variable(data, slot)
        if not 1 <= len(payload) <= 16:
            raise ValueError(f"a decimal has {len(payload)} bytes")
        return _CONTEXT.scaleb(Decimal(int.from_bytes(payload, "big", signed=True)), -scale)

    return wide


def _decode_array(data: bytes, t: DataType) -> list[Any]:
    count: int = struct.unpack_from("<i", data)[0]
    size = _element_size(t)
    header = 4 + (count + 31) // 32 * 4
    if count < 0 or header + size * count > len(data):
        raise ValueError(f"an array claims {count} elements in {len(data)} bytes")
    read = _reader(t)
    return [None if data[4 + (i >> 3)] & 1 << (i & 7) else read(data, header + size * i) for i in range(count)]


def _decode_map(data: bytes, key: DataType, item: DataType) -> list[tuple[Any, Any]]:
    length: int = struct.unpack_from("<i", data)[0]
    keys = _decode_array(_take(data, 4, length), key)
    values = _decode_array(data[4 + length :], item)
    if len(keys) != len(values):
        raise ValueError(f"a map has {len(keys)} keys and {len(values)} values")
    return list(zip(keys, values, strict=True))


def _decode_vector(data: bytes, t: DataType) -> list[Any]:
    (count,) = struct.unpack_from("<i", data)
    if count != t.length:
        raise ValueError(f"a vector has {count} elements")
    return list(struct.unpack_from(f"<{count}{_FIXED[t.inner.root][1]}", data, 4))


def _take_variant(data: bytes, slot: int) -> tuple[bytes, bytes]:
    payload = _take_variable(data, slot)
    length: int = struct.unpack_from("<i", payload)[0]
    return _take(payload, 4, length), payload[4 + length :]


def murmur_hash(data: bytes) -> int:
    """The signed 32-bit hash of data. Bytes after the last whole word are mixed one at a time, as signed integers."""
    whole = len(data) // 4 * 4
    words = struct.unpack_from(f"<{whole // 4}I", data)
    tail = struct.unpack_from(f"<{len(data) - whole}b", data, whole)
    h = SEED
    for k in (*words, *tail):
        k = k * 0xCC9E2D51 & _MASK
        k = (k << 15 | k >> 17) & _MASK
        h ^= k * 0x1B873593 & _MASK
        h = (h << 13 | h >> 19) & _MASK
        h = (h * 5 + 0xE6546B64) & _MASK
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    h ^= h >> 16
    return h - 2**32 if h >= 2**31 else h
