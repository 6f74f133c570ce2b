"""Texts of files as values (Java: CsvParser, JsonFileReader and the StringTo* cast rules of release 2.0.0).

A text of the usual form is read by Arrow, with all others of its column. Each other text is read once, by Java's rules
in Python. A text that is none of the values of a type is marked: the format says what becomes of it.
"""

from __future__ import annotations

import math
import re
from binascii import a2b_base64
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.casts import as_instants, cast_array
from paimon_spark.arrow.text_casts import BOOLEANS, EXACT
from paimon_spark.arrow.types import NANOS_PER_UNIT, arrow_type, from_internal, timestamp_unit, to_internal
from paimon_spark.arrow.zones import LocalZone, to_instant
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.java.text import civil_days
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import BINARIES, FLOATS, INTEGERS, STRINGS, DataType, Root

_BITS = {Root.TINYINT: 8, Root.SMALLINT: 16, Root.INT: 32, Root.BIGINT: 64}
_SAFE_DIGITS = {Root.TINYINT: 2, Root.SMALLINT: 4, Root.INT: 9, Root.BIGINT: 18}
_DAY_OF_YEAR = (
    "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|"
    "02-(?:0[1-9]|1[0-9]|2[0-8]))"
)
_CLOCK = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_BASE64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$"
_FLOAT = re.compile(
    r"[\x00-\x20]*([+-]?)(?:(NaN|Infinity)|((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?)[\x00-\x20]*"
)
_HEXADECIMAL = re.compile(r"[\x00-\x20]*[+-]?0[xX].*", re.DOTALL)
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,9})?")
_TIMESTAMP = re.compile(
    r"([0-9]{4}|\+[0-9]{5,9})-([0-9]{0,2})-([0-9]{0,2})(?: ([0-9]{0,2}):([0-9]{0,2}):([0-9]{0,2})(?:\.([0-9]{0,9}))?)?"
)
_NANOS, _DAY_NANOS = 10**9, 86_400 * 10**9
_MOST_YEAR = 9999


@dataclass(frozen=True)
class _Form:
    """How the texts of a type are read. pattern: of texts that ``usual`` reads; ValueError of ``other``: no value."""

    pattern: str
    usual: Callable[[pa.Array], pa.Array]
    other: Callable[[str], Any]


def parse_column(texts: pa.Array, data_type: DataType) -> tuple[pa.Array, pa.Array | None]:
    """The values of texts, and which texts are no values, which are null in the first; null stays null.

    Args:
        texts: of ``pa.string()``.
        data_type: of one value. Times with a zone are those of the clock of this machine, as in Java.

    Returns:
        The values in ``arrow_type(data_type)``, and booleans without nulls; None: all texts are values.

    Raises:
        UnsupportedFeature: Java reads a text by a rule that this release does not have.
    """
    if data_type.root in STRINGS:
        return texts, None
    if data_type.root is Root.BOOLEAN:
        return pc.equal(pc.ascii_lower(texts), "true"), None
    form = _form(data_type)
    usual = pc.match_substring_regex(texts, form.pattern)
    if pc.all(usual, min_count=0).as_py():
        return form.usual(texts), None
    nothing = pa.scalar(None, pa.string())
    odd = pc.if_else(usual, nothing, texts).dictionary_encode()
    values, wrong = list[Any](), list[bool]()
    for text in odd.dictionary.to_pylist():
        try:
            values.append(form.other(text))
            wrong.append(False)
        except ValueError:
            values.append(None)
            wrong.append(True)
    others = from_internal(values, data_type).take(odd.indices)
    bad = pc.fill_null(pa.array(wrong, pa.bool_()).take(odd.indices), False)
    return pc.if_else(odd.indices.is_valid(), others, form.usual(pc.if_else(usual, texts, nothing))), bad


def partition_value(text: str, data_type: DataType) -> Any:
    """The internal value of a partition column that is named in a directory (Java: TypeUtils.castFromString).

    Raises:
        ValueError: the text is no value of the type.
        UnsupportedFeature: as parse_column.
    """
    if data_type.root is Root.BOOLEAN:
        if text.lower() not in BOOLEANS:
            raise ValueError(f"'{text}' is no {type_sql(data_type)}")
        return BOOLEANS[text.lower()]
    if data_type.root in BINARIES:
        return text.encode()
    values, bad = parse_column(pa.array([text]), data_type)
    if bad is not None and bad[0].as_py():
        raise ValueError(f"'{text}' is no {type_sql(data_type)}")
    return to_internal(values[0])


def _form(data_type: DataType) -> _Form:
    root, target = data_type.root, arrow_type(data_type)

    def cast(texts: pa.Array) -> pa.Array:
        return texts.cast(target)

    if root in INTEGERS:
        return _Form(f"^-?[0-9]{{1,{_SAFE_DIGITS[root]}}}$", cast, lambda text: _integer(text, _BITS[root]))
    if root in FLOATS:
        exponent = "(?:[eE][+-]?[0-9]{1,2})?" if root is Root.DOUBLE else ""
        return _Form(rf"^-?[0-9]{{1,15}}(?:\.[0-9]{{1,15}})?{exponent}$", cast, lambda text: _float(text, root))
    if root is Root.DECIMAL:
        precision, scale = data_type.precision or 10, data_type.scale or 0
        whole = f"[0-9]{{1,{precision - scale}}}" if precision > scale else "0"
        fraction = rf"(?:\.[0-9]{{1,{scale}}})?" if scale else ""
        return _Form(f"^-?{whole}{fraction}$", cast, lambda text: _decimal(text, precision, scale))
    if root is Root.DATE:
        return _Form(f"^[0-9]{{4}}-{_DAY_OF_YEAR}$", cast, _date)
    if root is Root.TIME:
        return _Form(rf"^{_CLOCK}(?:\.[0-9]{{1,3}})?$", _times, _time)
    if root in BINARIES:
        return _Form(_BASE64, _bytes, _no_value)
    days = f"^(?:1[7-9]|20|21)[0-9]{{2}}-{_DAY_OF_YEAR}"
    return _Form(
        rf"{days}(?: {_CLOCK}(?:\.[0-9]{{1,9}})?)?$",
        lambda texts: _timestamps(texts, data_type),
        lambda text: _timestamp(text, data_type),
    )


def _no_value(text: str) -> None:
    raise ValueError(text)


def _bytes(texts: pa.Array) -> pa.Array:
    """Base64, of which Java's reader does not ask for the signs of equality at the end."""
    return pa.array([None if text is None else a2b_base64(text + "==") for text in texts.to_pylist()], pa.binary())


def _times(texts: pa.Array) -> pa.Array:
    moments = pc.binary_join_element_wise("1970-01-01", texts, " ").cast(pa.timestamp("ms"))
    return moments.cast(pa.time32("ms"))


def _timestamps(texts: pa.Array, data_type: DataType) -> pa.Array:
    fine, local = DataType(Root.TIMESTAMP, precision=9), DataType(Root.TIMESTAMP, precision=data_type.precision)
    times = cast_array(texts.cast(pa.timestamp("ns")), fine, local)
    return times if data_type.root is Root.TIMESTAMP else as_instants(times, local, LocalZone())


def _integer(text: str, bits: int) -> int:
    """Digits of any script with a sign before them (Java: CsvParser.parseInt, Integer.parseInt)."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isdecimal() or max(digits) > "\uffff" or len(digits) > 4000:
        raise ValueError(text)
    value, limit = int(text), 1 << (bits - 1)
    if not -limit <= value < limit:
        raise ValueError(text)
    return value


def _float(text: str, root: Root) -> float:
    """Java: Double.parseDouble, Float.parseFloat."""
    found = _FLOAT.fullmatch(text)
    if found is None:
        if _HEXADECIMAL.fullmatch(text):
            raise UnsupportedFeature(
                f"the text '{text:.50}' of a {root} column: this release reads no hexadecimal numbers; write it in "
                "decimal digits"
            )
        raise ValueError(text)
    sign, named, number = found.groups()
    value = float({"NaN": "nan", "Infinity": "inf"}[named] if named else number)
    if root is Root.FLOAT and math.isfinite(value):
        value = _nearest_float(value, Decimal(number))
    return -value if sign == "-" else value


def _nearest_float(value: float, exact: Decimal) -> float:
    """The number of 4 bytes that is nearest to a text, and not to the number of 8 bytes that is nearest to it."""
    with np.errstate(over="ignore"):
        near = np.float32(value)
        around = (near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf)))
    if not np.isfinite(near):
        return math.inf
    numbers = (float(one) for one in around if np.isfinite(one))
    return min(numbers, key=lambda one: abs(EXACT.subtract(Decimal(one), exact)))


def _decimal(text: str, precision: int, scale: int) -> Decimal | None:
    """Java: BigDecimal, rounded half up; None: it does not fit."""
    if not _DECIMAL.fullmatch(text) or max(text) > "\uffff":
        raise ValueError(text)
    number = Decimal(text)
    if number.adjusted() >= precision - scale and number:
        return None
    rounded = number.quantize(Decimal(1).scaleb(-scale), context=EXACT)
    return rounded if abs(rounded) < 10 ** (precision - scale) else None


def _date(text: str) -> int:
    """Java: BinaryStringUtils.toDate, DateTimeUtils.parseDate. Digits alone are a number of days."""
    if text.removeprefix("-").isdecimal():
        return _number(text, 32)
    date = text[: text.index(" ")] if " " in text[1:] and text.index(" ") > 0 else text
    parts = [part.strip("".join(map(chr, range(33)))) for part in date.split("-", 2)]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise ValueError(text)
    year, month, day = (*map(int, parts), 1, 1)[:3]
    if year > _MOST_YEAR or not 1 <= month <= 12 or not 1 <= day <= _length(year, month):
        raise ValueError(text)
    return civil_days(year, month, day)


def _number(text: str, bits: int) -> int:
    """Java: BinaryStringUtils.toInt, toLong, of texts that StringUtils.isNumeric takes."""
    if not text.isascii():
        raise ValueError(text)
    return _integer(text, bits)


def _length(year: int, month: int) -> int:
    return civil_days(year + month // 12, month % 12 + 1, 1) - civil_days(year, month, 1)


def _time(text: str) -> int:
    """Milliseconds. Java takes more: offsets, and parts that are left out."""
    if text.removeprefix("-").isdecimal():
        return _number(text, 32)
    if any(mark in text for mark in ":+-"):
        raise UnsupportedFeature(
            f"the text '{text:.50}' of a TIME column: this release reads times such as 12:34:56.789; write it so"
        )
    raise ValueError(text)


def _timestamp(text: str, data_type: DataType) -> int:
    """Nanoseconds (Java: BinaryStringUtils.toTimestamp, DateTimeUtils.DEFAULT_TIMESTAMP_FORMATTER)."""
    precision = 6 if data_type.precision is None else data_type.precision
    unit = 10 ** (9 - precision)
    is_local = data_type.root is Root.TIMESTAMP
    if is_local and text.removeprefix("-").isdecimal():
        if precision % 3:
            raise ValueError(text)
        return _in_range(_number(text, 64) * unit, text, data_type)
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        raise ValueError(text)
    if "" in found.groups()[:6]:
        raise UnsupportedFeature(
            f"the text '{text}' of a {type_sql(data_type)} column: Java takes the part that is left out for its least "
            "value, and this release does not read it; write it in"
        )
    year, month, day = (int(found[n]) for n in (1, 2, 3))
    hour, minute, second = (int(found[n] or 0) for n in (4, 5, 6))
    nano = int((found[7] or "").ljust(9, "0"))
    is_end = (hour, minute, second, nano) == (24, 0, 0, 0)
    if not 1 <= month <= 12 or not 1 <= day <= 31 or not year or (hour > 23 and not is_end) or max(minute, second) > 59:
        raise ValueError(text)
    days = civil_days(year, month, min(day, _length(year, month)))  # Java: ResolverStyle.SMART
    local = days * _DAY_NANOS + ((hour * 60 + minute) * 60 + second) * _NANOS + nano // unit * unit
    return _in_range(local if is_local else to_instant(local, LocalZone()), text, data_type)


def _in_range(nanos: int, text: str, data_type: DataType) -> int:
    """Refuses a time that Java has and that Arrow, or a clock in Python, does not."""
    if abs(nanos) >= NANOS_PER_UNIT[timestamp_unit(data_type.precision)] << 63:
        raise UnsupportedFeature(
            f"the text '{text}' of a {type_sql(data_type)} column: the time is out of the range that this release reads"
        )
    return nanos
