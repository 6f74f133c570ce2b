"""The ``bsi`` index: integers in bit slices (format section 9; Java: BitSliceIndexBitmapFileIndex)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyroaring import BitMap

from paimon_spark.errors import DataError
from paimon_spark.format.file_index.bit_slices import join_slices, slice_numbers
from paimon_spark.format.file_index.byte_reader import ByteReader, bitmap_bytes
from paimon_spark.format.file_index.keys import KeyForm, key_form
from paimon_spark.format.types import INTEGERS, TIMESTAMPS, DataType, Root

BSI = "bsi"
VERSION = 1

_ROOTS = INTEGERS | TIMESTAMPS | {Root.DATE, Root.TIME, Root.DECIMAL}


@dataclass(frozen=True)
class BsiIndex:
    """The integer key (see ``KeyForm``) of every row that is not null."""

    form: KeyForm
    row_count: int
    numbers: Mapping[int, int]

    def values(self) -> list[Any]:
        """The value of every row."""
        numbers = (self.numbers.get(row) for row in range(self.row_count))
        return [None if number is None else self.form.value(number) for number in numbers]


def decode_bsi(data: bytes, data_type: DataType, where: str) -> BsiIndex:
    """Raises CorruptFile where the bytes are no index, UnsupportedFeature for a type that it cannot hold."""
    form = key_form(data_type, _ROOTS, BSI)
    reader = ByteReader(data, f"the {BSI} index of {where}")
    reader.version(VERSION)
    row_count = reader.int32()
    numbers = _decode_side(reader) if reader.flag() else {}
    if reader.flag():
        numbers |= {row: -number for row, number in _decode_side(reader).items()}
    if numbers and max(numbers) >= row_count:
        raise reader.corrupt(f"it names row {max(numbers)} of {row_count}")
    return BsiIndex(form, row_count, numbers)


def encode_bsi(values: Iterable[Any], data_type: DataType) -> bytes:
    """The index of the values of all rows.

    Raises:
        UnsupportedFeature: a type that the index cannot hold.
        DataError: a value beyond 63 bits.
    """
    form = key_form(data_type, _ROOTS, BSI)
    positive: dict[int, int] = {}
    negative: dict[int, int] = {}
    row_count = 0
    for row, value in enumerate(values):
        row_count += 1
        if value is None:
            continue
        number = int(form.key(value))
        if abs(number) >= 2**63:
            raise DataError(
                f"writing a {BSI} index: the value {value} needs more than 63 bits; "
                f"take the column out of file-index.{BSI}.columns"
            )
        (negative if number < 0 else positive)[row] = abs(number)
    out = bytearray([VERSION]) + row_count.to_bytes(4, "big")
    for side in (positive, negative):
        out += b"\1" + _encode_side(side) if side else b"\0"
    return bytes(out)


def _decode_side(reader: ByteReader) -> dict[int, int]:
    """The amounts of the rows of one sign."""
    reader.version(VERSION)
    low = reader.int64()
    reader.int64()
    rows = reader.bitmap()
    slices = [reader.bitmap() for _ in range(reader.int32())]
    return {row: low + number for row, number in join_slices(rows, slices).items()}


def _encode_side(numbers: Mapping[int, int]) -> bytes:
    """The smallest amount is always written as 0, as the Java writer has it."""
    high = max(numbers.values())
    slices = slice_numbers(numbers, high.bit_length())
    out = bytearray([VERSION]) + bytes(8) + high.to_bytes(8, "big") + bitmap_bytes(BitMap(numbers))
    return bytes(out + len(slices).to_bytes(4, "big") + b"".join(map(bitmap_bytes, slices)))
