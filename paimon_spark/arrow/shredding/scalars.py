"""Scalar values of VARIANT as columns of a type, where the type holds them without loss (Java: tryTypedShred)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow import variant_values as vv
from paimon_spark.arrow.raw_values import Booleans, Int64s, from_numpy
from paimon_spark.arrow.variant_values import Places, VariantValues, slices
from paimon_spark.format.types import BINARIES, INTEGERS, STRINGS, DataType, Root

_NO_ROWS = np.empty(0, np.int64)


class Scalars:
    """Values of any kind, which are all there."""

    def __init__(self, values: VariantValues, places: Places, kinds: npt.NDArray[np.uint8]) -> None:
        self._values, self._places, self._kinds = values, places, kinds

    def of(self, shape: DataType, arrow: pa.DataType) -> tuple[Booleans, pa.Array]:
        """Which values fit, and an array of all, whose values are arbitrary where they do not fit."""
        if shape.root in INTEGERS:
            return self._integers(np.dtype(arrow.to_pandas_dtype()), arrow)
        if shape.root is Root.DECIMAL:
            return self._decimals(shape.precision or 10, shape.scale or 0, arrow)
        if shape.root in STRINGS or shape.root in BINARIES:
            return self.texts(arrow)
        if shape.root is Root.BOOLEAN:
            return self._kinds == vv.BOOLEAN, from_numpy(self.truths() == 1)
        fits, found = self.floats(is_double=shape.root is Root.DOUBLE)
        return fits, from_numpy(found)

    def truths(self) -> Int64s:
        """1 for true, 0 for all other values."""
        truths: Int64s = (self._values.buffer.bytes[self._places.starts] == 1 << 2).astype(np.int64)
        return truths

    def floats(self, is_double: bool) -> tuple[Booleans, npt.NDArray[Any]]:
        """The values that are doubles, or floats."""
        fits = self._kinds == (vv.DOUBLE if is_double else vv.FLOAT)
        found = np.zeros(len(fits), np.float64 if is_double else np.float32)
        found[fits] = self._values.buffer.numbers(self._starts(fits) + 1, "<f8" if is_double else "<f4")
        return fits, found

    def dates(self) -> tuple[Booleans, pa.Array]:
        """The values that are dates."""
        fits = self._kinds == vv.DATE
        days = np.zeros(len(fits), np.int32)
        days[fits] = self._values.buffer.numbers(self._starts(fits) + 1, "<i4")
        return fits, from_numpy(days).view(pa.date32())

    def _starts(self, which: Booleans) -> Int64s:
        """Where values lie, whose bytes are surely within their bounds."""
        some = self._places.at(which)
        self._values.sizes(some)
        return some.starts

    def whole_numbers(self) -> tuple[Booleans, Int64s]:
        """The values that are integers."""
        fits = self._kinds == vv.INTEGER
        starts = self._starts(fits)
        widths = self._values.sizes(self._places.at(fits)) - 1
        raw = self._values.buffer.numbers(starts + 1, "<i8").astype(np.int64)
        shift = 64 - 8 * widths
        numbers = np.zeros(len(fits), np.int64)
        numbers[fits] = raw << shift >> shift
        return fits, numbers

    def unscaled(self) -> tuple[Booleans, Int64s, Int64s, list[int]]:
        """The values that are decimals: which, their scales, the digits of those below 64 bits, and others' numbers."""
        fits = self._kinds == vv.DECIMAL
        starts = self._starts(fits)
        data = self._values.buffer
        sizes = self._values.sizes(self._places.at(fits)) - 2
        low = data.numbers(starts + 2, "<i8").astype(np.int64)
        shift = np.where(sizes == 4, 32, 0)
        low = low << shift >> shift
        high = np.where(
            sizes == 16, data.numbers(np.minimum(starts + 10, data.size + 8), "<i8").astype(np.int64), low >> 63
        )
        scales, digits = np.zeros(len(fits), np.int64), np.zeros(len(fits), np.int64)
        scales[fits], digits[fits] = data.bytes[starts + 1], low
        return fits, scales, digits, np.flatnonzero(fits)[high != low >> 63].tolist()

    def _integers(self, dtype: np.dtype[np.int64], arrow: pa.DataType) -> tuple[Booleans, pa.Array]:
        fits, numbers = self.whole_numbers()
        is_decimal, scales, digits, wide = self.unscaled()
        if is_decimal.any():
            powers = _powers(scales)
            whole = is_decimal & (digits % powers == 0) & ((scales <= 18) | (digits == 0))
            whole[wide] = False
            numbers = np.where(whole, digits // powers, numbers)
            for at in wide:  # beyond 64 bits: few
                value, scale = self._wide(at)
                if value % 10**scale == 0 and -(2**63) <= value // 10**scale < 2**63:
                    numbers[at], whole[at] = value // 10**scale, True
            fits = fits | whole
        short = numbers.astype(dtype)
        return fits & (short == numbers), from_numpy(short)

    def decimals(self) -> list[tuple[int, int]]:
        """The digits and the scale of each value that is a decimal; a loop, for samples of values."""
        fits, scales, digits, wide = self.unscaled()
        beyond = set(wide)
        return [
            self._wide(at) if at in beyond else (int(digits[at]), int(scales[at]))
            for at in np.flatnonzero(fits).tolist()
        ]

    def _wide(self, at: int) -> tuple[int, int]:
        start = int(self._places.starts[at])
        data = self._values.buffer.bytes
        return int.from_bytes(data[start + 2 : start + 18].tobytes(), "little", signed=True), int(data[start + 1])

    def _decimals(self, precision: int, scale: int, arrow: pa.DataType) -> tuple[Booleans, pa.Array]:
        """Integers and decimals that have so many digits at this scale, without those that are cut off."""
        is_integer, numbers = self.whole_numbers()
        is_decimal, scales, digits, wide = self.unscaled()
        digits = np.where(is_integer, numbers, digits)
        fits = is_integer | is_decimal
        down = _powers(np.maximum(scales - scale, 0))
        exact = (digits % down == 0) & ((scales - scale <= 18) | (digits == 0))
        digits = digits // down
        up = np.maximum(scale - scales, 0)
        is_short = precision <= 18
        if is_short:
            bounds = _powers(np.maximum(precision - up, 0))
            fits &= (digits < bounds) & (digits > -bounds)
        fits &= exact
        fits[wide] = False
        raw = np.zeros((len(fits), 2), np.int64)
        if is_short:
            raw[fits, 0] = digits[fits] * _powers(up[fits])
            raw[:, 1] = raw[:, 0] >> 63
        rest = _NO_ROWS if is_short else np.flatnonzero(fits)
        for at in (*rest.tolist(), *wide):  # more than 64 bits
            value, own = self._wide(at) if at in wide else (int(digits[at]), scale - int(up[at]))
            rescaled, left = divmod(value * 10 ** max(scale - own, 0), 10 ** max(own - scale, 0))
            fits[at] = left == 0 and abs(rescaled) < 10**precision
            if fits[at]:
                raw[at] = np.frombuffer(rescaled.to_bytes(16, "little", signed=True), np.int64)
        return fits, pa.Array.from_buffers(arrow, len(fits), [None, pa.py_buffer(raw)])

    def texts(self, arrow: pa.DataType) -> tuple[Booleans, pa.Array]:
        """The values that are texts, or bytes."""
        is_text = pa.types.is_string(arrow)
        fits = self._kinds == (vv.TEXT if is_text else vv.BINARY)
        some = self._places.at(fits)
        ends = some.starts + self._values.sizes(some)
        is_short = self._values.buffer.bytes[some.starts] & 3 == 1
        found = slices(self._values.buffer.bytes, some.starts + np.where(is_short, 1, 5), ends, fits)
        try:
            return fits, found.cast(pa.binary()).cast(arrow)
        except pa.ArrowInvalid:
            raise vv.malformed() from None


def _powers(exponents: Int64s) -> Int64s:
    """Powers of ten; those beyond 64 bits are the greatest below."""
    return np.array([10**n for n in range(19)], np.int64)[np.clip(exponents, 0, 18)]
