"""Columns made of others, such as ``day=date_format(at, yyyy-MM-dd)`` (Java: ComputedColumnUtils).

The functions of computed columns (Java: Expression, 2.0.0).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.casts import cast_array
from paimon_spark.arrow.raw_values import with_nulls
from paimon_spark.arrow.types import arrow_type
from paimon_spark.cdc.encodings import TEXT, Form
from paimon_spark.cdc.plain_values import PlainRules, array_of_texts
from paimon_spark.errors import DataError, OptionError, PaimonError
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import INTEGERS, STRINGS, TIMESTAMPS, DataField, DataType, Root

_FORM = re.compile(r"\s*([^=]+?)\s*=\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)
Compute = Callable[[pa.Array], pa.Array]
Made = tuple[DataType, Compute]
_INT = DataType(Root.INT)
_FINEST = DataType(Root.TIMESTAMP, precision=9)
_UNITS = {"0": "s", "3": "ms", "6": "us", "9": "ns"}
_PATTERN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")
_LETTERS = {
    "yyyy": "%Y",
    "uuuu": "%Y",
    "yy": "%y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
    "DDD": "%j",
}
_BLANKS = "".join(map(chr, range(33)))  # what Java's trim takes away


@dataclass(frozen=True)
class ComputedColumn:
    """A column that an expression makes.

    Attributes:
        name: of the column.
        place: among the definitions.
        source: the column that it is made of; None: of none.
        type: of its values.
        compute: its values of those of the source, or of nulls.
    """

    name: str
    place: int
    source: str | None
    type: DataType
    compute: Callable[[pa.Array], pa.Array]


def computed_columns(texts: Sequence[str], fields: Sequence[DataField]) -> tuple[ComputedColumn, ...]:
    """The columns of these definitions, each after those that it is made of.

    Raises:
        OptionError: a definition cannot be understood, or refers to a column that is not there, or to itself.
    """
    parsed = {name: (function, arguments) for name, function, arguments in map(_parsed, texts)}
    if len(parsed) < len(texts):
        raise OptionError(f"a computed column is defined twice: {'; '.join(texts)}")
    known = {field.name: field.type for field in fields}
    places = {name: place for place, name in enumerate(parsed)}
    columns = []
    for name in _ordered({name: _source(*definition) for name, definition in parsed.items()}):
        if name not in parsed:
            continue
        column = _column(name, *parsed[name], known, places[name])
        known[name] = column.type
        columns.append(column)
    return tuple(columns)


def name_of(text: str) -> str:
    """The name of the column that a definition makes."""
    return text.partition("=")[0].strip()


def _parsed(text: str) -> tuple[str, Expression, list[str]]:
    match = _FORM.fullmatch(text)
    if match is None:
        raise OptionError(f"computed column '{text}' is not of the form column=function(arguments)")
    expression = EXPRESSIONS.get(match[2].lower())
    if expression is None:
        known = ", ".join(EXPRESSIONS)
        raise OptionError(f"computed column '{text}': there is no function '{match[2]}'; there are {known}")
    return match[1], expression, [part.strip() for part in match[3].split(",")] if match[3].strip() else []


def _source(expression: Expression, arguments: list[str]) -> str | None:
    return arguments[0] if expression.reads_column and arguments else None


def _ordered(sources: dict[str, str | None]) -> list[str]:
    try:
        return list(TopologicalSorter({name: [s] if s else [] for name, s in sources.items()}).static_order())
    except CycleError as error:
        raise OptionError(f"computed columns are made of each other: {' -> '.join(error.args[1])}") from None


def _column(
    name: str, expression: Expression, arguments: list[str], known: dict[str, DataType], place: int
) -> ComputedColumn:
    source = _source(expression, arguments)
    literals = arguments[1:] if expression.reads_column else arguments
    if expression.reads_column and source not in known:
        raise OptionError(f"computed column '{name}' is made of '{source}', which is none of {', '.join(known)}")
    try:
        data_type, compute = expression.make(known.get(source or ""), literals)
    except ValueError as error:
        raise OptionError(f"computed column '{name}': {error}") from None
    return ComputedColumn(name, place, source, data_type, compute)


@dataclass(frozen=True)
class Expression:
    """A function.

    Attributes:
        make: of the type of the column that it reads and its other arguments, the type of its values and how they are
            computed; raises ValueError for arguments that it does not take.
        reads_column: whether its first argument is a column.
    """

    make: Callable[[DataType | None, list[str]], Made]
    reads_column: bool = True


def _temporal(part: Callable[[pa.Array], pa.Array]) -> Expression:
    def make(source: DataType | None, literals: list[str]) -> Made:
        _counted(literals, 0, 1)
        local = _to_local(source, literals[0] if literals else None)
        return _INT, lambda array: part(local(array)).cast(pa.int32())

    return Expression(make)


def _counted(literals: list[str], least: int, most: int) -> None:
    if not least <= len(literals) <= most:
        raise ValueError(f"it takes {least} to {most} arguments besides the column, found {len(literals)}")


def _to_local(source: DataType | None, unit: str | None) -> Compute:
    """Values of a column as local times: whole numbers count seconds, or the unit of a precision."""
    if source is None:
        raise ValueError("it reads a column")
    if source.root in INTEGERS or unit is not None:
        if (unit or "0") not in _UNITS:
            raise ValueError(f"the precision {unit} is none of 0, 3, 6, 9")
        return lambda array: array.cast(pa.int64()).cast(pa.timestamp(_UNITS[unit or "0"]))
    if source.root in STRINGS:
        return lambda array: array_of_texts(array, _FINEST, PlainRules())
    if source.root in TIMESTAMPS:
        return lambda array: array.cast(pa.timestamp(array.type.unit))
    if source.root is Root.DATE:
        return lambda array: array.cast(pa.timestamp("s"))
    raise ValueError(f"it does not read columns of type {source.root}")


def _date_format(source: DataType | None, literals: list[str]) -> Made:
    _counted(literals, 1, 2)
    local = _to_local(source, literals[1] if len(literals) > 1 else None)
    pattern = _strftime(literals[0])
    return TEXT, lambda array: pc.strftime(local(array).cast(pa.timestamp("s"), safe=False), format=pattern)


def _strftime(pattern: str) -> str:
    """A pattern of Java's DateTimeFormatter for strftime.

    Raises:
        ValueError: it has letters that are not known here.
    """
    parts = []
    position = 0
    for match in _PATTERN.finditer(pattern):
        if match.start() != position:
            break
        position = match.end()
        word = match[0]
        if match[1] is not None:
            word = match[1].replace("''", "'") or "'"
        elif match[2]:
            if word not in _LETTERS:
                raise ValueError(f"the pattern letters '{word}' are not supported; there are {', '.join(_LETTERS)}")
            parts.append(_LETTERS[word])
            continue
        parts.append(word.replace("%", "%%"))
    if position != len(pattern):
        raise ValueError(f"the pattern '{pattern}' cannot be understood")
    return "".join(parts)


def _substring(source: DataType | None, literals: list[str]) -> Made:
    _counted(literals, 1, 2)
    try:
        begin, *rest = map(int, literals)
    except ValueError:
        raise ValueError(f"the positions {', '.join(literals)} are not whole numbers") from None
    end = rest[0] if rest else None
    if begin < 0 or (end is not None and end <= begin):
        raise ValueError(f"the positions {', '.join(literals)} are no range from 0 on")

    def compute(array: pa.Array) -> pa.Array:
        texts = _as_text(array, source)
        shortest = pc.min(pc.utf8_length(texts)).as_py()
        if shortest is not None and shortest < (begin if end is None else end):
            raise DataError(f"a text of {shortest} characters is too short for substring({', '.join(literals)})")
        return pc.utf8_slice_codeunits(texts, begin, end)

    return TEXT, compute


def _as_text(array: pa.Array, source: DataType | None) -> pa.Array:
    return array if source is None or source.root in STRINGS else cast_array(array, source, TEXT)


def _truncate(source: DataType | None, literals: list[str]) -> Made:
    _counted(literals, 1, 1)
    try:
        width = int(literals[0])
    except ValueError:
        raise ValueError(f"the width {literals[0]} is no whole number") from None
    if source is None or width <= 0:
        raise ValueError(f"the width {width} is not positive")
    if source.root in INTEGERS:
        return source, lambda array: _floored(array, width)
    if source.root is Root.DECIMAL:
        return source, lambda array: _floored_decimals(array, width)
    if source.root in STRINGS:
        return TEXT, _substring(source, ["0", str(width)])[1]
    raise ValueError(f"it does not read columns of type {source.root}")


def _floored(array: pa.Array, width: int) -> pa.Array:
    numbers = pc.fill_null(array.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return with_nulls(pa.array(numbers - np.mod(numbers, width)).cast(array.type), array)


def _floored_decimals(array: pa.Array, width: int) -> pa.Array:
    """Down to a multiple of the width in units of the last digit."""
    unit = Decimal(1).scaleb(-array.type.scale)

    def floored(value: Decimal) -> Decimal:
        unscaled = int(value / unit)
        return (unscaled - unscaled % width) * unit

    return pa.array([None if value is None else floored(value) for value in array.to_pylist()], array.type)


def _cast(source: DataType | None, literals: list[str]) -> Made:
    _counted(literals, 1, 2)
    try:
        to = parse_type(literals[1]) if len(literals) > 1 else TEXT
    except PaimonError as error:
        raise ValueError(str(error)) from None
    value = array_of_texts(pa.array([literals[0]]), to, PlainRules(binary=Form.PLAIN))[0]
    return to, lambda array: pa.repeat(value, len(array))


def _now(source: DataType | None, literals: list[str]) -> Made:
    _counted(literals, 0, 0)
    to = DataType(Root.TIMESTAMP, precision=3)

    def compute(array: pa.Array) -> pa.Array:
        now = datetime.now(UTC).replace(tzinfo=None)
        return pa.repeat(pa.scalar(now).cast(arrow_type(to), safe=False), len(array))

    return to, compute


def _text_function(function: Compute) -> Expression:
    def make(source: DataType | None, literals: list[str]) -> Made:
        _counted(literals, 0, 0)
        if source is None or source.root not in STRINGS:
            raise ValueError("it reads columns of texts only")
        return TEXT, function

    return Expression(make)


EXPRESSIONS = {
    "year": _temporal(pc.year),
    "month": _temporal(pc.month),
    "day": _temporal(pc.day),
    "hour": _temporal(pc.hour),
    "minute": _temporal(pc.minute),
    "second": _temporal(pc.second),
    "date_format": Expression(_date_format),
    "substring": Expression(_substring),
    "truncate": Expression(_truncate),
    "cast": Expression(_cast, reads_column=False),
    "now": Expression(_now, reads_column=False),
    "upper": _text_function(pc.utf8_upper),
    "lower": _text_function(pc.utf8_lower),
    "trim": _text_function(lambda array: pc.utf8_trim(array, _BLANKS)),
}
