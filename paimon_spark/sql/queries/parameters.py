"""Named parameters of a query, ``:name``, as literals in the conditions that are applied when a table is read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from paimon_spark.sql.text.lexer import Kind, tokenize
from paimon_spark.sql.text.writing import literal_text

_MARK = ":"


def with_values(text: str, args: Mapping[str, Any]) -> str | None:
    """A condition with literals in the place of its parameters.

    Only values whose literal surely means what Spark makes of the argument are written: texts, whole numbers, truth
    values, dates and None.

    Returns:
        None: a parameter has no value, or one of another type.
    """
    pieces, at = [], 0
    tokens = tokenize(text)
    for number, token in enumerate(tokens):
        if token.text != _MARK or token.kind is not Kind.SYMBOL:
            continue
        name = tokens[number + 1] if number + 1 < len(tokens) else None
        if name is None or name.kind is not Kind.WORD or name.text not in args:
            return None
        value = _literal(args[name.text])
        if value is None:
            return None
        pieces += [text[at : token.start], value]
        at = name.end
    return "".join([*pieces, text[at:]])


def _literal(value: object) -> str | None:
    if value is None or type(value) in (bool, int, str):
        return literal_text(value)  # type: ignore[arg-type]  # one of these types, which mypy cannot see
    return f"DATE '{value.isoformat()}'" if type(value) is dt.date else None
