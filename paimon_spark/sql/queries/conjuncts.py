"""Conditions of a query that may be applied when a table is read, as the user's own characters.

The tree tells which parts a WHERE has, and the tokens where they stand. Only if both agree is a condition taken: each
piece of text is parsed again, and must be equal to its part of the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paimon_spark.errors import SqlError
from paimon_spark.sql.queries.query import Alternatives, Conjunct, fold
from paimon_spark.sql.queries.tree import Node, column_names, equal_columns, operands_of, parse_condition
from paimon_spark.sql.text.lexer import Token, tokenize

_SET_OPERATORS = frozenset({"UNION", "EXCEPT", "INTERSECT", "MINUS", ";", "|>"})
_CLAUSES = frozenset(
    {"GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET", "WINDOW", "QUALIFY"}
)


def where_parts(tokens: Sequence[Token], behind: int) -> list[tuple[int, int]]:
    """(start, end) of the parts that AND joins in the WHERE of the SELECT whose FROM holds a table.

    Args:
        behind: the offset behind the table.
    """
    return [(part[0].start, part[-1].end) for part in and_parts(_where(tokens, behind))]


def reaches_end(tokens: Sequence[Token], behind: int) -> bool:
    """True if nothing follows the WHERE of ``where_parts``, such as LIMIT, which would say more than the condition."""
    found = _where(tokens, behind)
    return bool(found) and found[-1] is tokens[-1]


def equalities(condition: str) -> tuple[list[tuple[tuple[str, ...], tuple[str, ...]]], bool]:
    """The pairs of columns that the parts of a condition compare with ``=``, by the parts of their names.

    Returns:
        The pairs, and whether the condition has no other parts.
    """
    text = f"WHERE {condition}\n"
    try:
        tokens = tokenize(text)
    except SqlError:
        return [], False
    if not reaches_end(tokens, 0):
        return [], False
    parts = where_parts(tokens, 0)
    trees = [parse_condition(text[start:end]) for start, end in parts]
    found = [None if tree is None else equal_columns(tree) for tree in trees]
    return [pair for pair in found if pair is not None], None not in found


def _where(tokens: Sequence[Token], behind: int) -> list[Token]:
    """The tokens of the first WHERE behind an offset that is in no parentheses of its own."""
    found: list[Token] = []
    depth, is_inside = 0, False
    for token in tokens:
        if token.start < behind:
            continue
        depth += token.nesting
        stops = _CLAUSES | _SET_OPERATORS if is_inside else _SET_OPERATORS
        if depth < 0 or (depth == 0 and token.upper in stops):
            break
        if is_inside:
            found.append(token)
        is_inside = is_inside or (depth == 0 and token.upper == "WHERE")
    return found


def conjuncts(
    text: str,
    masked: str,
    parts: Sequence[tuple[int, int]],
    conditions: Sequence[Node],
    qualifiers: Sequence[tuple[str, ...]],
) -> tuple[Conjunct | Alternatives, ...]:
    """The parts of a WHERE that speak of one table alone, as far as names tell, and what an OR says of it.

    Args:
        parts: (start, end) of each in the text.
        conditions: the same in the tree.
        qualifiers: what may stand before a column of the table.
    """
    trees = [parse_condition(masked[start:end]) for start, end in parts]
    if len(trees) != len(conditions) or any(a != b for a, b in zip(trees, conditions, strict=True)):
        return ()
    folded = {tuple(fold(part) for part in qualifier) for qualifier in qualifiers}
    found: list[Conjunct | Alternatives] = []
    for (start, end), tree in zip(parts, trees, strict=True):
        piece = _Piece(text[start:end], masked[start:end], tree)
        whole, branches = _without_qualifiers(piece, folded), _branches(piece, folded)
        if branches:
            found.append(Alternatives(whole, branches))
        elif whole is not None:
            found.append(whole)
    return tuple(found)


@dataclass(frozen=True)
class _Piece:
    """A part of a condition.

    Attributes:
        text: the user's characters.
        masked: the same as sqlglot reads them.
        tree: of these.
    """

    text: str
    masked: str
    tree: Node


def _branches(piece: _Piece, qualifiers: set[tuple[str, ...]]) -> tuple[tuple[Conjunct, ...], ...]:
    """What the branches of an OR say of one table; (): one says nothing of it, or the condition is no OR."""
    branches = []
    for branch in _pieces(piece, or_parts, "Or"):
        parts = _pieces(branch, and_parts, "And") or [branch]
        kept = [taken for part in parts if (taken := _without_qualifiers(part, qualifiers)) is not None]
        if not kept:
            return ()
        branches.append(tuple(kept))
    return tuple(branches)


def _pieces(whole: _Piece, split: Callable[[Sequence[Token]], list[list[Token]]], kind: str) -> list[_Piece]:
    """The operands of an operator; none: it is another one, or tree and tokens do not agree."""
    operands = operands_of(whole.tree, kind)
    places = [(part[0].start, part[-1].end) for part in split(without_parentheses(tokenize(whole.text)))]
    if len(operands) != len(places):
        return []
    trees = [parse_condition(whole.masked[start:end]) for start, end in places]
    if trees != operands:
        return []
    return [_Piece(whole.text[s:e], whole.masked[s:e], tree) for (s, e), tree in zip(places, trees, strict=True)]


def _without_qualifiers(piece: _Piece, qualifiers: set[tuple[str, ...]]) -> Conjunct | None:
    """A condition on the columns of one table; None: it has others, or something else than columns and literals."""
    columns, cuts, text = [], [], piece.text
    for parts in column_names(piece.tree) or ():
        names = [name for name, _ in parts]
        length = next((n for n in range(len(names)) if tuple(fold(name) for name in names[:n]) in qualifiers), 0)
        if not length and len(names) > 1:  # perhaps a nested column, perhaps one of another table
            return None
        columns.append(names[length])
        cuts.append((parts[0][1], parts[length][1]))
    if not columns:
        return None
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
    return Conjunct(text, tuple(dict.fromkeys(columns)))


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
        depth += token.nesting
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
