"""Parameters of a statement, ``:name`` and ``?``, as literals: in conditions that are applied when a table is read, and
in expressions that Spark reads without arguments.

Arguments of a statement, Python's values, as literals of Spark SQL. Each becomes an expression of the type and value
that ``pyspark.sql.functions.lit`` gives it.
"""

from __future__ import annotations

import datetime as dt
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from paimon_spark.errors import SqlError, UnsupportedFeature
from paimon_spark.sql.queries.masking import is_variant_path
from paimon_spark.sql.text.lexer import Kind, Token, tokenize
from paimon_spark.sql.text.literals import literal_text

_MARKS = (":", "?")
_MICROS = 1_000_000


@dataclass(frozen=True)
class Parameter:
    """A parameter in a text.

    Attributes:
        name: behind the colon; None: it is a ``?``.
        start, end: its place.
    """

    name: str | None
    start: int
    end: int


def parameters(tokens: Sequence[Token]) -> Iterator[Parameter]:
    """The parameters of a text, in order. A colon before something else than a name is none."""
    for at, token in enumerate(tokens):
        if token.kind is not Kind.SYMBOL or token.text not in _MARKS or is_variant_path(tokens, at):
            continue
        following = tokens[at + 1] if at + 1 < len(tokens) else None
        if token.text == "?":
            yield Parameter(None, token.start, token.end)
        elif following is not None and following.is_name:
            yield Parameter(following.name, token.start, following.end)


def question_marks(text: str) -> int:
    """How many parameters without a name a text has."""
    return sum(found.name is None for found in parameters(tokenize(text)))


def _where(name: str | None) -> str:
    return " in args" if name is None else f": args={{'{name}': ...}}, or --param {name}=... of paimon-spark sql"


def with_arguments(text: str, named: Mapping[str, Any], positional: Iterator[Any]) -> str:
    """An expression with literals in the place of its parameters.

    Args:
        positional: the arguments of the ``?`` that are left; as many as the text has are taken.

    Raises:
        SqlError: a parameter has no argument.
        UnsupportedFeature: an argument has a type that no literal is known for.
    """

    def literal(shown: str, value: Any) -> str:
        made = argument_literal(value)
        if made is None:
            raise UnsupportedFeature(
                f"SQL: the value of the parameter {shown} is a {type(value).__name__}, which an expression of DELETE, "
                "UPDATE or MERGE cannot take; give a number, text, date, time, or a list or dict of these"
            )
        return made

    return with_literals(text, named, positional, literal)


def with_literals(
    text: str, named: Mapping[str, Any], positional: Iterator[Any], literal: Callable[[str, Any], str]
) -> str:
    """A text with literals in the place of its parameters; arguments as of with_arguments.

    Args:
        literal: makes a literal of a value; it also gets the parameter as it is written, for a message.

    Raises:
        SqlError: a parameter has no argument.
    """

    def of(found: Parameter) -> str:
        shown = "?" if found.name is None else f":{found.name}"
        try:
            value = next(positional) if found.name is None else named[found.name]
        except (KeyError, StopIteration):
            raise SqlError(f"SQL: the parameter {shown} has no value; give it one{_where(found.name)}") from None
        return literal(shown, value)

    return _edited(text, [(found.start, found.end, of(found)) for found in parameters(tokenize(text))])


def with_values(text: str, args: Mapping[str, Any]) -> str | None:
    """A condition with literals in the place of its parameters.

    Only values whose literal surely means what Spark makes of the argument are written: texts, whole numbers, truth
    values, dates and None.

    Returns:
        None: a parameter has no value, or one of another type.
    """
    edits = []
    for found in parameters(tokenize(text)):
        if found.name is None or found.name not in args:
            return None
        value = args[found.name]
        literal = argument_literal(value) if value is None or type(value) in (bool, int, str, dt.date) else None
        if literal is None:
            return None
        edits.append((found.start, found.end, literal))
    return _edited(text, edits)


def _edited(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    """The text with others in some places. A blank stands before each: two minus signs would begin a comment."""
    pieces, at = [], 0
    for start, end, new in edits:
        pieces += [text[at:start], " " if new.startswith("-") else "", new]
        at = end
    return "".join([*pieces, text[at:]])


def argument_literal(value: object) -> str | None:
    """The literal; None: the value has a type that no literal is known for.

    A time without a zone is in the time zone of this process, as in PySpark.
    """
    match value:
        case None | bool() | bytes():
            return literal_text(value)
        case str():
            return literal_text(value).replace("${", "\\u0024{")  # which Spark would take for a variable
        case int():
            return literal_text(int(value))
        case float():
            return _float(value)
        case Decimal():
            return f"{value:f}BD" if value.is_finite() else None
        case dt.datetime():
            return f"timestamp_micros({_epoch_micros(value)})"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
        case dt.timedelta():
            micros = value // dt.timedelta(microseconds=1)
            return f"make_dt_interval(0, 0, 0, {Decimal(micros).scaleb(-6):f})"
        case list() | tuple():
            return _call("array", [argument_literal(item) for item in value])
        case dict():
            return _call("map", [argument_literal(item) for pair in value.items() for item in pair])
    return None


def _call(function: str, items: list[str | None]) -> str | None:
    known = [item for item in items if item is not None]
    return f"{function}({', '.join(known)})" if len(known) == len(items) else None


def _float(value: float) -> str:
    return f"{float(value)!r}D" if math.isfinite(value) else f"double('{value}')"


def _epoch_micros(value: dt.datetime) -> int:
    if value.tzinfo is None:
        return int(time.mktime(value.timetuple())) * _MICROS + value.microsecond
    return (value - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)
