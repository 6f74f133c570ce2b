"""DEFAULT in the VALUES of an INSERT, which Spark knows only for tables of its own catalogs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paimon_spark.format.types import DataField
from paimon_spark.sql.queries.query import Query
from paimon_spark.sql.text.default_texts import default_expression
from paimon_spark.sql.text.lexer import Token, tokenize


def with_defaults(query: Query, columns: Sequence[DataField]) -> Query:
    """A query whose VALUES have the default expressions of the columns in the place of DEFAULT.

    Args:
        query: of an INSERT.
        columns: where the values of a row go, in their order.
    """
    tokens = tokenize(query.text)
    if query.uses or not tokens or tokens[0].upper != "VALUES":
        return query
    text = query.text
    for token, position in reversed(_defaults(tokens)):
        if position < len(columns):
            text = f"{text[: token.start]}{default_expression(columns[position])}{text[token.end :]}"
    return replace(query, text=text)


def _defaults(tokens: Sequence[Token]) -> list[tuple[Token, int]]:
    """The words DEFAULT that are whole items of a row, each with the position of the item."""
    found = []
    depth = position = 0
    for before, token, after in zip(tokens, tokens[1:], [*tokens[2:], None], strict=False):
        if token.upper == "(":
            depth += 1
            position = 0 if depth == 1 else position
        elif token.upper == ")":
            depth -= 1
        elif token.upper == "," and depth == 1:
            position += 1
        ends = after is not None and after.upper in (",", ")")
        if token.upper == "DEFAULT" and depth == 1 and before.upper in ("(", ",") and ends:
            found.append((token, position))
    return found
