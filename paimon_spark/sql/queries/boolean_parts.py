"""The parts of a condition that AND or OR joins, by its tokens."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_spark.sql.text.lexer import Token


def and_parts(condition: Sequence[Token]) -> list[list[Token]]:
    """The parts that AND joins outside of parentheses; the condition itself, if OR joins them."""
    return [list(condition)] if len(or_parts(condition)) > 1 else _split(condition, "AND")


def or_parts(condition: Sequence[Token]) -> list[list[Token]]:
    """The parts that OR joins outside of parentheses."""
    return _split(condition, "OR")


def without_parentheses(condition: Sequence[Token]) -> Sequence[Token]:
    """The condition without parentheses around all of it."""
    while len(condition) > 2 and condition[0].upper == "(" and _closes_at(condition) == len(condition) - 1:
        condition = condition[1:-1]
    return condition


def _closes_at(condition: Sequence[Token]) -> int:
    depth = 0
    for at, token in enumerate(condition):
        depth += {"(": 1, ")": -1}.get(token.upper, 0)
        if depth == 0:
            return at
    return -1


def _split(condition: Sequence[Token], word: str) -> list[list[Token]]:
    """An AND that belongs to BETWEEN joins no parts, nor does what stands in CASE."""
    found: list[list[Token]] = [[]]
    depth = cases = betweens = 0
    for token in condition:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(token.upper, 0)
        if depth == 0:
            cases += {"CASE": 1, "END": -1}.get(token.upper, 0)
        is_outer = depth == 0 and cases == 0
        betweens += is_outer and token.upper == "BETWEEN"
        if is_outer and token.upper == "AND" and betweens:
            betweens -= 1
        elif is_outer and token.upper == word:
            found.append([])
            continue
        found[-1].append(token)
    return [part for part in found if part]
