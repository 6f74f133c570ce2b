"""Conditions of a query that may be applied when a table is read, as the user's own characters.

The tree tells which parts a WHERE has, and the tokens where they stand. Only if both agree is a condition taken: each
piece of text is parsed again, and must be equal to its part of the tree.
"""

from __future__ import annotations

from collections.abc import Sequence

from paimon_spark.errors import SqlError
from paimon_spark.sql.queries.query import Conjunct, fold
from paimon_spark.sql.queries.tree import Node, column_names, equal_columns, parse_condition
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
    condition = _where(tokens, behind)
    found: list[list[Token]] = [[]]
    depth = cases = betweens = 0
    is_or = False
    for token in condition:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(token.upper, 0)
        if depth == 0:
            cases += {"CASE": 1, "END": -1}.get(token.upper, 0)
        is_outer = depth == 0 and cases == 0
        is_or = is_or or (is_outer and token.upper == "OR")
        betweens += is_outer and token.upper == "BETWEEN"
        if is_outer and token.upper == "AND":
            if betweens:
                betweens -= 1
            else:
                found.append([])
                continue
        found[-1].append(token)
    if is_or:
        found = [condition]
    return [(part[0].start, part[-1].end) for part in found if part]


def equalities(condition: str) -> tuple[list[tuple[tuple[str, ...], tuple[str, ...]]], bool]:
    """The pairs of columns that the parts of a condition compare with ``=``, by the parts of their names.

    Returns:
        The pairs, and whether the condition has no other parts.
    """
    text = f"WHERE {condition}\n"
    try:
        parts = where_parts(tokenize(text), 0)
    except SqlError:
        return [], False
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
        depth += {"(": 1, ")": -1}.get(token.upper, 0)
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
) -> tuple[Conjunct, ...]:
    """The parts of a WHERE that speak of one table alone, as far as names tell.

    Args:
        parts: (start, end) of each in the text.
        conditions: the same in the tree.
        qualifiers: what may stand before a column of the table.
    """
    trees = [parse_condition(masked[start:end]) for start, end in parts]
    if len(trees) != len(conditions) or any(a != b for a, b in zip(trees, conditions, strict=True)):
        return ()
    folded = {tuple(fold(part) for part in qualifier) for qualifier in qualifiers}
    found = []
    for (start, end), tree in zip(parts, trees, strict=True):
        taken = _without_qualifiers(text[start:end], tree, folded)
        if taken is not None:
            found.append(taken)
    return tuple(found)


def _without_qualifiers(text: str, tree: Node, qualifiers: set[tuple[str, ...]]) -> Conjunct | None:
    """A condition on the columns of one table; None: it has others, or something else than columns and literals."""
    columns, cuts = [], []
    for parts in column_names(tree) or ():
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
