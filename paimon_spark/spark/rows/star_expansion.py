"""Refuses a star in expressions of DELETE, UPDATE and MERGE: Spark would expand it to the columns of the job too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from paimon_spark.errors import SqlError
from paimon_spark.spark.rows.assignments import Expression
from paimon_spark.sql.text.lexer import Token, tokenize

_QUERY = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "MAP", "REDUCE"})


def check_no_star(what: str, expressions: Iterable[Expression | None]) -> None:
    """Checks that no expression has a star that stands for columns, but in a sub-query.

    Args:
        what: the statement, for messages.
        expressions: SQL; a Column and None are passed over.

    Raises:
        SqlError: an expression has one.
    """
    for expression in expressions:
        if isinstance(expression, str) and _has_star(tokenize(expression)):
            raise SqlError(
                f"{what}: the * in {expression!r} stands for all columns, which is not possible here; name the columns"
            )


def _has_star(tokens: Sequence[Token]) -> bool:
    inside: list[bool] = []  # of each open parenthesis, whether it is, or is in, a sub-query
    before = "("
    for number, token in enumerate(tokens):
        if token.upper == "(":
            following = tokens[number + 1].upper if number + 1 < len(tokens) else ""
            inside.append(following in _QUERY or (bool(inside) and inside[-1]))
        elif token.upper == ")" and inside:
            inside.pop()
        elif token.upper == "*" and before in ("(", ",", ".") and not (inside and inside[-1]):
            return True
        before = token.upper
    return False
