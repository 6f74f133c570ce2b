"""JSON values without an encoding as the type of their column (Java: TypeUtils.castFromCdcValueString).

Unlike Java: a text cut short, a decimal that does not fit and a fraction in a column of integers are errors; bytes are
decoded; a time with a zone keeps its instant.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.casts import cast_array
from paimon_spark.arrow.text_casts import parse_texts
from paimon_spark.arrow.types import UTC, arrow_type
from paimon_spark.cdc.encoded_values import decoded_values
from paimon_spark.cdc.encodings import BYTES, TEXT, Encoding, Form
from paimon_spark.cdc.json_values import NumberText, parse_json, value_text
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format.types import BINARIES, INTEGERS, MAX_LENGTH, STRINGS, TIMESTAMPS, DataType, Root

_ZONED = r"[0-9]:[0-9]{2}.*(?:Z|z|[+-][0-9]{2}:?[0-9]{2})$"
_DIGITS = {"ms": 3, "us": 6, "ns": 9}


@dataclass(frozen=True)
class PlainRules:
    """How values are read where no message says it.

    Attributes:
        binary: how bytes are written: BASE64, HEX or LATIN1; PLAIN: as the text itself in UTF-8.
        time_unit: what whole numbers in columns of time count: MILLIS, MICROS or NANOS; None: Java's units, which
            follow from the precision of the column (0: seconds, 3, 6, 9), and milliseconds of the day.
        time_zone: of times without a zone in columns with a local time zone.
    """

    binary: Form = Form.BASE64
    time_unit: Form | None = None
    time_zone: str = "UTC"


def plain_array(values: Sequence[Any], target: DataType, rules: PlainRules) -> pa.Array:
    """The values as the type of a column.

    Raises:
        ValueError, TypeError, ArithmeticError, pa.ArrowException: a value does not fit.
    """
    root = target.root
    if root in STRINGS:
        return within_length(_texts(values), target)
    nested = _NESTED.get(root)
    if nested is not None:
        return nested(values, target, rules)
    if root in BINARIES:
        return _bytes(values, target, rules)
    if root in INTEGERS or root is Root.BOOLEAN:
        try:
            return pa.array(values, arrow_type(target))  # refuses texts, which NumberText is, and other kinds
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            pass
    if root in _OF_TIME and _all_whole(values):
        return _counted(values, target, rules)
    return array_of_texts(_texts(values), target, rules)


def array_of_texts(texts: pa.Array, target: DataType, rules: PlainRules) -> pa.Array:
    """Texts as a plain type.

    Raises:
        ValueError, pa.ArrowException: a text is no value of the type.
    """
    root = target.root
    if root in STRINGS:
        return within_length(texts, target)
    if root in INTEGERS:
        return _integers(texts, target)
    if root in TIMESTAMPS:
        return timestamps_of_texts(texts, target, rules.time_zone)
    if root is Root.FLOAT:
        return _floats(texts)
    if root in BINARIES:
        return _bytes(texts.to_pylist(), target, rules)
    if root not in _BY_ARROW | _BY_JAVA:
        raise UnsupportedFeature(f"change messages cannot be read into a column of type {root}")
    if root in _BY_ARROW and (root is not Root.DECIMAL or _are_plain_decimals(texts)):
        try:
            return texts.cast(arrow_type(target))
        except pa.ArrowInvalid:
            pass
    parsed = parse_texts(texts, TEXT, target)
    if parsed.null_count != texts.null_count:
        raise DataError("it has more digits than the column")
    return parsed


_BY_ARROW = frozenset({Root.DECIMAL, Root.DOUBLE, Root.DATE, Root.BOOLEAN})
_PLAIN_DECIMAL = r"^[+-]?[0-9]{1,38}(\.[0-9]{1,38})?$"
_BY_JAVA = frozenset({Root.TIME})
_OF_TIME = frozenset({Root.DATE, Root.TIME, *TIMESTAMPS})
_UNITS_OF_JAVA = {3: Form.MILLIS, 6: Form.MICROS, 9: Form.NANOS}


def _are_plain_decimals(texts: pa.Array) -> bool:
    """True if Arrow can read all texts as decimals. With more digits behind the point, an exponent counted, than it has
    powers of ten for, its cast reads memory beyond them: the process ends, or the value is wrong."""
    return bool(pc.all(pc.match_substring_regex(texts, _PLAIN_DECIMAL), min_count=0).as_py())


def within_length(array: pa.Array, target: DataType) -> pa.Array:
    """The texts or bytes; one that is longer than the type says is an error, as in Java."""
    limit = target.length or 1
    if limit < MAX_LENGTH:
        sizes = (pc.utf8_length if target.root in STRINGS else pc.binary_length)(array)
        longest = pc.max(sizes).as_py()
        if longest is not None and longest > limit:
            raise DataError(f"it has a length of {longest}")
    return array


def _texts(values: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(values, pa.string())
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return pa.array([value_text(value) for value in values], pa.string())


def _integers(texts: pa.Array, target: DataType) -> pa.Array:
    """Digits with a sign; nothing else that Arrow or Python take for a whole number."""
    plain = pc.match_substring_regex(texts, r"^[+-]?[0-9]{1,20}$")
    if pc.all(plain).as_py() is False:
        raise DataError("it is no whole number")
    return pc.utf8_ltrim(texts, "+").cast(arrow_type(target))


def _floats(texts: pa.Array) -> pa.Array:
    """FLOAT; a number with more digits than it holds is an error, as in Java: the column should be DOUBLE."""
    doubles = array_of_texts(texts, DataType(Root.DOUBLE), PlainRules())
    floats = doubles.cast(pa.float32(), safe=False)
    same = pc.or_(
        pc.equal(floats.cast(pa.float64()), doubles), pc.equal(floats.cast(pa.string()).cast(pa.float64()), doubles)
    )
    if pc.all(pc.or_(same, pc.is_nan(doubles))).as_py() is False:
        raise DataError("it has more digits than a FLOAT holds")
    return floats


def _bytes(values: Sequence[Any], target: DataType, rules: PlainRules) -> pa.Array:
    if rules.binary is Form.PLAIN:
        return within_length(_texts(values).cast(pa.binary()), target)
    return within_length(decoded_values(values, Encoding(BYTES, rules.binary), BYTES)[0], target)


def _all_whole(values: Sequence[Any]) -> bool:
    return all(value is None or (isinstance(value, int) and not isinstance(value, bool)) for value in values)


def _counted(values: Sequence[Any], target: DataType, rules: PlainRules) -> pa.Array:
    """Whole numbers in a column of time: days, or the unit that is given, or the one of the column's precision."""
    if target.root is Root.DATE:
        return decoded_values(values, Encoding(target, Form.DAYS), target)[0]
    kind = DataType(Root.TIME if target.root is Root.TIME else Root.TIMESTAMP)
    unit = rules.time_unit or (Form.MILLIS if kind.root is Root.TIME else _UNITS_OF_JAVA.get(_digits(target)))
    if unit is None:
        if _digits(target) != 0:
            raise DataError(f"whole numbers in a {target.root} of precision {_digits(target)} need time_unit")
        values, unit = [None if value is None else value * 1000 for value in values], Form.MILLIS
    array, source = decoded_values(values, Encoding(kind, unit), target)
    return cast_array(array, source, target)


def _digits(target: DataType) -> int:
    return 6 if target.precision is None else target.precision


def _parsed(value: Any, kind: type) -> Any:
    """A nested value, which may also be written as a JSON text in a text."""
    if isinstance(value, str) and not isinstance(value, NumberText):
        value = parse_json(value)
    if value is not None and not isinstance(value, kind):
        raise DataError(f"it is a JSON {type(value).__name__}")
    return value


def _missing(values: Sequence[Any]) -> pa.Array | None:
    return pa.array([value is None for value in values], pa.bool_()) if any(value is None for value in values) else None


def _offsets(items: Sequence[Sized]) -> pa.Array:
    return pa.array([0, *itertools.accumulate(map(len, items))], pa.int32())


def _lists(values: Sequence[Any], target: DataType, rules: PlainRules) -> pa.Array:
    parsed = [_parsed(value, list) for value in values]
    items = [value or [] for value in parsed]
    flat = plain_array(list(itertools.chain.from_iterable(items)), target.inner, rules)
    return pa.ListArray.from_arrays(_offsets(items), flat, type=arrow_type(target), mask=_missing(parsed))


def _maps(values: Sequence[Any], target: DataType, rules: PlainRules) -> pa.Array:
    parsed = [_parsed(value, dict) for value in values]
    items = [value or {} for value in parsed]
    keys = plain_array([key for value in items for key in value], target.key_type, rules)
    flat = plain_array([item for value in items for item in value.values()], target.inner, rules)
    return pa.MapArray.from_arrays(_offsets(items), keys, flat, type=arrow_type(target), mask=_missing(parsed))


def _rows(values: Sequence[Any], target: DataType, rules: PlainRules) -> pa.Array:
    parsed = [_parsed(value, dict) for value in values]
    children = [
        plain_array([None if value is None else value.get(field.name) for value in parsed], field.type, rules)
        for field in target.fields
    ]
    return pa.StructArray.from_arrays(children, fields=list(arrow_type(target)), mask=_missing(parsed))


def timestamps_of_texts(texts: pa.Array, target: DataType, zone: str) -> pa.Array:
    """Texts such as ``2026-11-01 12:00:00.5`` or ``2026-11-01T12:00:00Z`` as timestamps.

    Digits alone count units of the precision (Java). A text with a zone is an instant: a TIMESTAMP shows it in UTC.

    Args:
        zone: of texts without one, in a TIMESTAMP_LTZ.

    Raises:
        DataError, pa.ArrowException: a text is none, or such a time does not exist in the zone.
    """
    local = DataType(Root.TIMESTAMP, precision=target.precision)
    zoned = pc.fill_null(pc.match_substring_regex(texts, _ZONED), False)
    if not pc.any(zoned).as_py():
        return _placed(_local(texts, local), target, zone)
    none = pa.scalar(None, pa.string())
    instants = _instants(pc.if_else(zoned, texts, none), local)
    if target.root is Root.TIMESTAMP_LTZ:
        instants = instants.cast(arrow_type(target))
    return pc.coalesce(instants, _placed(_local(pc.if_else(zoned, none, texts), local), target, zone))


def _instants(texts: pa.Array, local: DataType) -> pa.Array:
    """Texts with a zone, as local times of UTC."""
    compact = pc.replace_substring_regex(texts, r"([+-][0-9]{2}):?([0-9]{2})$", r"\1:\2")
    nanos = compact.cast(pa.timestamp("ns", UTC)) if _finest(local) else compact.cast(pa.timestamp("us", UTC))
    plain = nanos.cast(pa.timestamp(nanos.type.unit))
    return cast_array(plain, DataType(Root.TIMESTAMP, precision=_DIGITS[nanos.type.unit]), local)


def _finest(local: DataType) -> bool:
    return (6 if local.precision is None else local.precision) > 6


def _local(texts: pa.Array, local: DataType) -> pa.Array:
    """Texts without a zone; Arrow reads most, Java's rule the others."""
    arrow = arrow_type(local)
    try:
        found = texts.cast(arrow)
    except pa.ArrowInvalid:
        return parse_texts(texts, TEXT, local)
    return cast_array(found, DataType(Root.TIMESTAMP, precision=_DIGITS[arrow.unit]), local)


def _placed(local: pa.Array, target: DataType, zone: str) -> pa.Array:
    if target.root is Root.TIMESTAMP:
        return local
    placed = local if zone == UTC else pc.assume_timezone(local, zone, ambiguous="earliest", nonexistent="latest")
    return placed.cast(arrow_type(target)) if zone != UTC else local.cast(arrow_type(target))


_NESTED: dict[Root, Callable[[Sequence[Any], DataType, PlainRules], pa.Array]] = {
    Root.ARRAY: _lists,
    Root.MAP: _maps,
    Root.ROW: _rows,
}
