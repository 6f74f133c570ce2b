"""The ``bsi`` index: integers in bit slices (format section 9; Java: BitSliceIndexBitmapFileIndex)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paimon_spark.format.file_index.bit_slices import BitSlices
from paimon_spark.format.file_index.byte_reader import ByteReader, bitmap_bytes
from paimon_spark.format.file_index.keys import KeyForm, key_form
from paimon_spark.format.file_index.row_sets import Ints, RowSet, row_set, rows_until
from paimon_spark.format.file_index.settings import BSI
from paimon_spark.format.types import DataType

VERSION = 1


@dataclass(frozen=True)
class _Side:
    """The amounts of the rows of one sign, each at least low."""

    low: int
    slices: BitSlices


_NO_ROWS = _Side(0, BitSlices(RowSet(), ()))


@dataclass(frozen=True)
class BsiIndex:
    """The integer key (see ``KeyForm``) of every row that is not null."""

    form: KeyForm
    row_count: int
    positive: _Side
    negative: _Side

    @property
    def present(self) -> RowSet:
        """The rows that are not null."""
        return self.positive.slices.rows | self.negative.slices.rows

    @property
    def nulls(self) -> RowSet:
        return rows_until(self.row_count) - self.present

    def equal(self, key: int) -> RowSet:
        """The rows with this key."""
        side = self.negative if key < 0 else self.positive
        return side.slices.equal(abs(key) - side.low)

    def below(self, key: int) -> RowSet:
        """The rows with a lesser key."""
        if key >= 0:
            return self.negative.slices.rows | self.positive.slices.below(key - self.positive.low)
        side = self.negative
        return side.slices.rows - side.slices.below(-key + 1 - side.low)

    def may_hold(self, low: int | None, high: int | None) -> bool:
        """True: only the slices tell which keys there are."""
        return True


def open_bsi(reader: ByteReader, data_type: DataType) -> BsiIndex:
    """The index that begins at the reader's position.

    Raises:
        CorruptFile: the bytes are no index.
        UnsupportedFeature: a type that the index cannot hold.
    """
    form = key_form(data_type, BSI)
    reader.version(VERSION)
    row_count = reader.int32()
    positive = _decode_side(reader) if reader.flag() else _NO_ROWS
    negative = _decode_side(reader) if reader.flag() else _NO_ROWS
    index = BsiIndex(form, row_count, positive, negative)
    if index.present and index.present.max() >= row_count:
        raise reader.corrupt(f"it names row {index.present.max()} of {row_count}")
    return index


def write_bsi(keys: Ints, valid: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> bytes:
    """The index of a column; keys are above -2**63, and those of rows that are not valid do not count."""
    out = bytearray([VERSION]) + len(keys).to_bytes(4, "big")
    for chosen in (valid & (keys >= 0), valid & (keys < 0)):
        rows = np.flatnonzero(chosen)
        out += b"\1" + _encode_side(rows, np.abs(keys[rows])) if len(rows) else b"\0"
    return bytes(out)


def _decode_side(reader: ByteReader) -> _Side:
    """The amounts of the rows of one sign."""
    reader.version(VERSION)
    low = reader.int64()
    reader.int64()
    rows = reader.bitmap()
    return _Side(low, BitSlices(rows, [reader.bitmap() for _ in range(reader.int32())]))


def _encode_side(rows: Ints, amounts: Ints) -> bytes:
    """The smallest amount is always written as 0, as the Java writer has it."""
    high = int(amounts.max())
    slices = [bitmap_bytes(row_set(rows[(amounts >> bit & 1).astype(np.bool_)])) for bit in range(high.bit_length())]
    out = bytearray([VERSION]) + bytes(8) + high.to_bytes(8, "big") + bitmap_bytes(row_set(rows))
    return bytes(out + len(slices).to_bytes(4, "big") + b"".join(slices))
