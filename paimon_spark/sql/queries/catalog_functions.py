"""Functions that a catalog of ours would store (features 8.3) are refused by name: nobody runs them here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.sql.text.lexer import Kind, Token, error_at

_HOW = (
    "make a function of Spark (CREATE TEMPORARY FUNCTION); the functions of a REST catalog are read and changed by "
    "load_function, create_function, alter_function, drop_function and list_functions of cat.catalog"
)
_BEFORE_VALUES = frozenset(
    {"SELECT", "DISTINCT", "WHERE", "AND", "OR", "NOT", "ON", "BY", "HAVING", "WHEN", "THEN", "ELSE", "CASE", "BETWEEN"}
)
_NO_OPERATORS = frozenset({")", "]", ".", ";"})


def refuse(text: str, at: int, doing: str) -> NoReturn:
    """Refuses what a text asks for at an offset.

    Raises:
        UnsupportedFeature: always.
    """
    message = f"{doing}: this release of paimon_spark runs no functions of a catalog of Paimon; {_HOW}"
    raise UnsupportedFeature(str(error_at(text, at, message)))


def is_called(tokens: Sequence[Token], first: int, last: int) -> bool:
    """True if a name is that of a function: parentheses follow it, where a value stands.

    Parentheses may follow the name of a table too, as in ``INSERT INTO paimon.shop.orders (id)``.
    """
    if first == 0 or last + 1 == len(tokens) or tokens[last + 1].upper != "(":
        return False
    before = tokens[first - 1]
    is_operator = before.kind is Kind.SYMBOL and before.upper not in _NO_OPERATORS
    return is_operator or before.upper in _BEFORE_VALUES
