"""The ``range-bitmap`` index: a sorted dictionary and bit slices of its codes (format section 9; Java: RangeBitmap)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyroaring import BitMap

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.file_index.bit_slices import join_slices, slice_numbers
from paimon_spark.format.file_index.byte_reader import ByteReader, bitmap_bytes
from paimon_spark.format.file_index.keys import Key, KeyForm, key_form
from paimon_spark.format.types import FLOATS, INTEGERS, STRINGS, TIMESTAMPS, DataType, Root

RANGE_BITMAP = "range-bitmap"
VERSION = 1
DEFAULT_CHUNK_SIZE = 16 * 1024

_ROOTS = INTEGERS | FLOATS | STRINGS | TIMESTAMPS | {Root.BOOLEAN, Root.DATE, Root.TIME, Root.DECIMAL}
_ONE_KEY_A_CHUNK = {Root.BOOLEAN, Root.TINYINT, Root.SMALLINT}
_MOST_PRECISE = {Root.DECIMAL: 18, Root.TIMESTAMP: 6, Root.TIMESTAMP_LTZ: 6}


@dataclass(frozen=True)
class RangeBitmap:
    """keys ascending (see ``KeyForm``), and for every row that is not null the number of its key there."""

    form: KeyForm
    row_count: int
    keys: tuple[Key, ...]
    codes: Mapping[int, int]

    def values(self) -> list[Any]:
        """The value of every row."""
        codes = (self.codes.get(row) for row in range(self.row_count))
        return [None if code is None else self.form.value(self.keys[code]) for code in codes]


def decode_range_bitmap(data: bytes, data_type: DataType, where: str) -> RangeBitmap:
    """Raises CorruptFile where the bytes are no index, UnsupportedFeature for a type that it cannot hold."""
    form = _form(data_type)
    reader = ByteReader(data, f"the {RANGE_BITMAP} index of {where}")
    header = _header(reader)
    header.version(VERSION)
    row_count, cardinality = header.int32(), header.int32()
    if cardinality > 0:
        form.decode(header)
        form.decode(header)
    length = header.int32()
    keys = _decode_dictionary(reader.part(reader.position, length), form)
    reader.take(length)
    codes = _decode_codes(reader)
    if len(keys) != cardinality or (codes and (max(codes) >= row_count or max(codes.values()) >= cardinality)):
        raise reader.corrupt(f"{row_count} rows and {cardinality} values are announced, which it does not hold")
    return RangeBitmap(form, row_count, keys, codes)


def encode_range_bitmap(values: Iterable[Any], data_type: DataType, chunk_size: int | None = None) -> bytes:
    """The index of the values of all rows.

    Args:
        chunk_size: option ``chunk-size`` in bytes: how many bytes of keys follow the first key of a chunk.

    Raises:
        UnsupportedFeature: a type that the index cannot hold.
    """
    form = _form(data_type)
    if chunk_size is None:
        chunk_size = 0 if data_type.root in _ONE_KEY_A_CHUNK else DEFAULT_CHUNK_SIZE
    by_row = [None if value is None else form.key(value) for value in values]
    keys = sorted({key for key in by_row if key is not None})
    code_of = {key: code for code, key in enumerate(keys)}
    codes = {row: code_of[key] for row, key in enumerate(by_row) if key is not None}
    dictionary = _encode_dictionary(form, keys, chunk_size)
    ends = form.encode(keys[0]) + form.encode(keys[-1]) if keys else b""
    header = bytes([VERSION]) + _int32(len(by_row)) + _int32(len(keys)) + ends + _int32(len(dictionary))
    # without a value the Java writer has the greatest code -1, which takes all 64 slices
    slice_count = max(1, (len(keys) - 1).bit_length()) if keys else 64
    return _with_length(header) + dictionary + _encode_codes(codes, slice_count)


def _form(data_type: DataType) -> KeyForm:
    form = key_form(data_type, _ROOTS, RANGE_BITMAP)
    limit = _MOST_PRECISE.get(data_type.root)
    if limit is not None and data_type.precision is not None and data_type.precision > limit:
        raise UnsupportedFeature(
            f"a {RANGE_BITMAP} index cannot hold values of type {data_type.root}({data_type.precision}): "
            f"at most precision {limit}"
        )
    return form


def _int32(value: int) -> bytes:
    return value.to_bytes(4, "big", signed=True)


def _with_length(header: bytes) -> bytes:
    return _int32(len(header)) + header


def _header(reader: ByteReader) -> ByteReader:
    """The header that begins here, after its length."""
    length = reader.int32()
    header = reader.part(reader.position, length)
    reader.take(length)
    return header


def _decode_dictionary(reader: ByteReader, form: KeyForm) -> tuple[Key, ...]:
    header = _header(reader)
    header.version(VERSION)
    count, offsets_length, chunks_length = header.int32(), header.int32(), header.int32()
    offsets = reader.part(reader.position, offsets_length)
    chunks = reader.part(reader.position + offsets_length, chunks_length)
    start = reader.position + offsets_length + chunks_length
    keys: list[Key] = []
    for _ in range(count):
        offset = offsets.int32()
        chunk = chunks.part(offset, chunks_length - offset)
        chunk.version(VERSION)
        keys.append(form.decode(chunk))
        code, key_offset, further = chunk.int32(), chunk.int32(), chunk.int32()
        if code != len(keys) - 1:
            raise reader.corrupt(f"a chunk of its dictionary begins with code {code}, not {len(keys) - 1}")
        if form.width is None:
            places_length, keys_length = chunk.int32(), chunk.int32()
            places = reader.part(start + key_offset, places_length)
            area = reader.part(start + key_offset + places_length, keys_length)
            for _ in range(further):
                area.position = places.int32()
                keys.append(form.decode(area))
        else:
            area = reader.part(start + key_offset, chunk.int32())
            keys.extend(form.decode(area) for _ in range(further))
    return tuple(keys)


def _encode_dictionary(form: KeyForm, keys: Sequence[Key], chunk_size: int) -> bytes:
    """Chunks of keys: the first in the chunk's header, the others in an area behind all headers."""
    offsets, chunks, area = bytearray(), bytearray(), bytearray()
    code = 0
    while code < len(keys):
        places, further = bytearray(), bytearray()
        first = code
        code += 1
        while code < len(keys):
            key = form.encode(keys[code])
            if len(further) + len(key) > chunk_size or (form.width is None and len(places) + 4 > chunk_size):
                break
            places += _int32(len(further))
            further += key
            code += 1
        offsets += _int32(len(chunks))
        chunks += bytes([VERSION]) + form.encode(keys[first]) + _int32(first) + _int32(len(area))
        chunks += _int32(code - first - 1)
        if form.width is None:
            chunks += _int32(len(places)) + _int32(len(further))
            area += places + further
        else:
            chunks += _int32(len(further)) + _int32(form.width)
            area += further
    header = bytes([VERSION]) + _int32(len(offsets) // 4) + _int32(len(offsets)) + _int32(len(chunks))
    return bytes(_with_length(header) + offsets + chunks + area)


def _decode_codes(reader: ByteReader) -> dict[int, int]:
    header = _header(reader)
    header.version(VERSION)
    slice_count, rows_length = header.byte(), header.int32()
    header.int32()
    body = reader.position
    rows = reader.part(body, rows_length).bitmap()
    slices = []
    for _ in range(slice_count):
        offset, length = header.int32(), header.int32()
        slices.append(reader.part(body + rows_length + offset, length).bitmap())
    return join_slices(rows, slices)


def _encode_codes(codes: Mapping[int, int], slice_count: int) -> bytes:
    rows = bitmap_bytes(BitMap(codes))
    slices = [bitmap_bytes(members) for members in slice_numbers(codes, slice_count)]
    places, offset = bytearray(), 0
    for raw in slices:
        places += _int32(offset) + _int32(len(raw))
        offset += len(raw)
    header = bytes([VERSION, slice_count]) + _int32(len(rows)) + _int32(len(places)) + bytes(places)
    return _with_length(header) + rows + b"".join(slices)
