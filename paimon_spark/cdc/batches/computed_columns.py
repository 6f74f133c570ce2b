"""Columns made of others, such as ``day=date_format(at, yyyy-MM-dd)`` (Java: ComputedColumnUtils)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

import pyarrow as pa

from paimon_spark.cdc.batches.expressions import EXPRESSIONS, Expression
from paimon_spark.errors import OptionError
from paimon_spark.format.types import DataField, DataType

_FORM = re.compile(r"\s*([^=]+?)\s*=\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)


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
