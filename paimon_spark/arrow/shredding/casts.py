"""What VARIANT values are as values of a type, as Spark's ``variant_get`` has them (VariantGet.cast).

A number becomes a number by Spark's rules of ANSI: fractions are cut off, decimals are rounded half up, and what is
out of range does not fit. Casts for which Spark reads texts, or prints fractions, dates and times, are refused.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow import variant_values as vv
from paimon_spark.arrow.raw_values import Booleans, Int64s, from_numpy, placed
from paimon_spark.arrow.shredding.paths import Found
from paimon_spark.arrow.shredding.scalars import Scalars
from paimon_spark.arrow.types import arrow_type
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import INTEGERS, DataType, Root

_EXACT = Context(prec=100)
_KINDS = ("null", "boolean", "whole number", "double", "decimal", "date", "instant", "local time", "float", "bytes",
          "text", "object", "array", "time or UUID")  # fmt: skip
_NUMBERS = (vv.INTEGER, vv.DECIMAL, vv.DOUBLE, vv.FLOAT)
_SUPPORTED: dict[Root, tuple[int, ...]] = {
    **dict.fromkeys(INTEGERS, (*_NUMBERS, vv.BOOLEAN)),
    Root.DOUBLE: (*_NUMBERS, vv.BOOLEAN),
    Root.DECIMAL: (vv.INTEGER, vv.DECIMAL, vv.BOOLEAN),
    Root.BOOLEAN: (*_NUMBERS, vv.BOOLEAN),
    Root.VARCHAR: (vv.TEXT, vv.INTEGER, vv.BOOLEAN, vv.DECIMAL),
    Root.DATE: (vv.DATE,),
}
"""By the type, the kinds of values that are cast here."""
_NEVER: dict[Root, tuple[int, ...]] = {
    **dict.fromkeys((*INTEGERS, Root.DOUBLE, Root.DECIMAL, Root.BOOLEAN), (vv.OBJECT, vv.ARRAY, vv.DATE, vv.BINARY)),
    Root.VARCHAR: (),
    Root.DATE: (vv.OBJECT, vv.ARRAY, vv.BOOLEAN, *_NUMBERS, vv.BINARY),
}
"""The kinds that have no cast to it at all."""


def is_supported(target: DataType) -> bool:
    """True if values may become values of the type."""
    return target.root in _SUPPORTED and (target.root is not Root.VARCHAR or target.length == 2**31 - 1)


def cast(found: Found, target: DataType, fails: bool, what: str) -> pa.Array:
    """The values of a type; null where there is nothing, or the null of JSON.

    Args:
        found: what lies at a path.
        target: of which ``is_supported`` is true.
        fails: a value that does not fit is an error, as of ``variant_get``; False: it is null, as of
            ``try_variant_get``.
        what: the path and the type, for messages.

    Raises:
        DataError: a value does not fit.
        UnsupportedFeature: a value is of a kind whose cast is not done here.
    """
    kinds = found.kinds
    done = _SUPPORTED[target.root]
    wanted = kinds != vv.NULL
    misfit = np.isin(kinds, _NEVER[target.root])
    other = wanted & ~misfit & ~np.isin(kinds, done)
    if other.any():
        raise UnsupportedFeature(
            f"reading {what}: the cast of a value of the kind '{_KINDS[int(kinds[other][0])]}' to {type_sql(target)} "
            "is not done without Spark; read the path by cat.sql, or the VARIANT as a whole"
        )
    fits, values = _Cast(Scalars(found.values, found.places, kinds), kinds).to(target)
    bad = wanted & ~fits
    if fails and bad.any():
        raise DataError(
            f"reading {what}: a value of the kind '{_KINDS[int(kinds[bad][0])]}' is no {type_sql(target)}; take "
            "try_variant_get, which makes it NULL"
        )
    present = np.zeros(len(found.present), np.bool_)
    present[found.present] = fits
    return values.take(placed(np.flatnonzero(fits), present))


class _Cast:
    def __init__(self, scalars: Scalars, kinds: npt.NDArray[np.uint8]) -> None:
        self._scalars, self._kinds = scalars, kinds

    def to(self, target: DataType) -> tuple[Booleans, pa.Array]:
        """Which values fit, and an array of all."""
        root = target.root
        if root in INTEGERS:
            return self._integers(arrow_type(target))
        if root is Root.DOUBLE:
            return self._doubles()
        if root is Root.BOOLEAN:
            return self._booleans()
        if root is Root.DATE:
            return self._scalars.dates()
        return self._decimals(target) if root is Root.DECIMAL else self._texts()

    def _decimal_values(self) -> tuple[list[int], list[Decimal]]:
        rows = np.flatnonzero(self._kinds == vv.DECIMAL).tolist()
        return rows, [_EXACT.scaleb(Decimal(n), -scale) for n, scale in self._scalars.decimals()]

    def _floating(self) -> tuple[Booleans, npt.NDArray[np.float64]]:
        is_double, doubles = self._scalars.floats(is_double=True)
        is_single, singles = self._scalars.floats(is_double=False)
        return is_double | is_single, np.where(is_single, singles.astype(np.float64), doubles)

    def _integers(self, arrow: pa.DataType) -> tuple[Booleans, pa.Array]:
        dtype = np.dtype(arrow.to_pandas_dtype())
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        fits, numbers = self._scalars.whole_numbers()
        is_boolean = self._kinds == vv.BOOLEAN
        numbers = np.where(is_boolean, self._scalars.truths(), numbers)
        fits = (fits | is_boolean) & (numbers >= low) & (numbers <= high)
        floating, values = self._floating()
        inside = floating & (np.floor(values) <= float(high)) & (np.ceil(values) >= float(low))
        numbers[inside] = _truncated(values[inside], low, high)
        fits |= inside
        for row, value in zip(*self._decimal_values(), strict=True):
            fits[row] = low <= int(value) <= high
            numbers[row] = int(value) if fits[row] else 0
        return fits, from_numpy(numbers.astype(dtype))

    def _doubles(self) -> tuple[Booleans, pa.Array]:
        fits, numbers = self._scalars.whole_numbers()
        is_boolean = self._kinds == vv.BOOLEAN
        floating, values = self._floating()
        found = np.where(floating, values, np.where(is_boolean, self._scalars.truths(), numbers).astype(np.float64))
        for row, value in zip(*self._decimal_values(), strict=True):
            found[row] = float(value)
        return fits | is_boolean | floating | (self._kinds == vv.DECIMAL), from_numpy(found)

    def _booleans(self) -> tuple[Booleans, pa.Array]:
        fits, numbers = self._scalars.whole_numbers()
        floating, values = self._floating()
        found = np.where(floating, values != 0, numbers != 0)
        is_boolean = self._kinds == vv.BOOLEAN
        found = np.where(is_boolean, self._scalars.truths() == 1, found)
        for row, value in zip(*self._decimal_values(), strict=True):
            found[row] = value != 0
        return fits | floating | is_boolean | (self._kinds == vv.DECIMAL), from_numpy(found)

    def _decimals(self, target: DataType) -> tuple[Booleans, pa.Array]:
        precision, scale = target.precision or 10, target.scale or 0
        unit, most = Decimal(1).scaleb(-scale), 10**precision
        is_integer, numbers = self._scalars.whole_numbers()
        is_boolean = self._kinds == vv.BOOLEAN
        whole = np.where(is_boolean, self._scalars.truths(), numbers)
        found: list[Decimal | None] = [None] * len(whole)
        for row in np.flatnonzero(is_integer | is_boolean).tolist():
            found[row] = Decimal(int(whole[row]))
        for row, value in zip(*self._decimal_values(), strict=True):
            found[row] = value.quantize(unit, ROUND_HALF_UP, _EXACT)
        kept = [v if v is not None and abs(_EXACT.scaleb(v, scale)) < most else None for v in found]
        fits = np.array([value is not None for value in kept], np.bool_)
        return fits, pa.array([Decimal(0) if value is None else value for value in kept], arrow_type(target))

    def _texts(self) -> tuple[Booleans, pa.Array]:
        fits, texts = self._scalars.texts(pa.string())
        is_integer, numbers = self._scalars.whole_numbers()
        is_boolean, truths = self._kinds == vv.BOOLEAN, self._scalars.truths() == 1
        if not (is_integer.any() or is_boolean.any() or (self._kinds == vv.DECIMAL).any()):
            return fits, texts
        shown = np.array(from_numpy(numbers).cast(pa.string()).to_pylist(), object)
        shown[is_boolean] = np.where(truths[is_boolean], "true", "false")
        for row, value in zip(*self._decimal_values(), strict=True):
            text = format(value, "f")
            shown[row] = text.rstrip("0").rstrip(".") if "." in text else text
        shown[fits] = np.array(texts.to_pylist(), object)[fits]
        return fits | is_integer | is_boolean | (self._kinds == vv.DECIMAL), pa.array(shown.tolist(), pa.string())


def _truncated(values: npt.NDArray[np.float64], low: int, high: int) -> Int64s:
    """Without fractions; 2**63 as a double is beyond the greatest long, which it becomes, as in Java."""
    cut = np.trunc(values)
    return np.where(cut >= 2.0**63, high, np.where(cut <= -(2.0**63), low, cut)).astype(np.int64)
