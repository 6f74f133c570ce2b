"""Queries that need few rows of a table: those that come first in the order of a column (``ORDER BY c LIMIT n``)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from paimon_spark.sql.queries.query import TopNClause, fold
from paimon_spark.sql.queries.tree import Node, alias_columns, select_of, where_conjuncts

_CLAUSES = frozenset({"expressions", "from", "from_", "where", "order", "limit", "offset", "with", "with_", "hint"})
_OF_TABLE = frozenset({"sample", "pivots", "joins", "laterals", "only", "partition"})
_OF_EACH_ROW = (
    exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Alias, exp.Paren, exp.Star, exp.Placeholder,
    exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.In, exp.Between,
    exp.Is, exp.Like, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.Cast, exp.TryCast, exp.DataType,
    exp.DataTypeParam, exp.Dot, exp.Bracket, exp.Case, exp.If, exp.Coalesce, exp.Upper, exp.Lower, exp.Trim, exp.Abs,
    exp.Round, exp.Substring, exp.Concat, exp.Length, exp.Year, exp.Month, exp.Day,
)  # fmt: skip
"""What makes one row of each row. Aggregates, windows and generators need other rows, and any other function may be one
of these."""

_WORD = re.compile(r"\w+")
_MOST_DIGITS = 18
_MADE_UP = "()"


def top_n(node: Node, qualifiers: Sequence[tuple[str, ...]]) -> TopNClause | None:
    """The rows of a table that a query needs, if the table is the only one in its FROM; None: all, or not known.

    Args:
        node: of the table.
        qualifiers: what may stand before the columns of the table.
    """
    select = select_of(node)
    if select is None or set(_clauses(select)) - _CLAUSES or set(_clauses(node)) & _OF_TABLE or alias_columns(node):
        return None
    order, count = select.args.get("order"), _count(select)
    if order is None or count is None or count < 1 or set(_clauses(order)) != {"expressions"}:
        return None
    by = order.expressions[0]
    own = {tuple(map(fold, parts)) for parts in qualifiers} | {()}
    if not isinstance(by, exp.Ordered) or by.args.get("with_fill") or not isinstance(by.this, exp.Column):
        return None
    column = fold(by.this.name)
    if not _is_of(by.this, own) or column == "all" or not _keeps_rows(select, by.this, own):
        return None
    return TopNClause(
        column=column,
        count=count,
        descending=bool(by.args.get("desc")),
        nulls_first=bool(by.args.get("nulls_first")),
        with_ties=len(order.expressions) > 1,
        conditions=len(where_conjuncts(select)),
    )


def _clauses(node: Node) -> set[str]:
    return {key for key, value in node.args.items() if value}


def _count(select: Node) -> int | None:
    """How many rows LIMIT and OFFSET ask for together; None: it is not written as a number."""
    limit, offset = (_number(select.args.get(clause)) for clause in ("limit", "offset"))
    return None if limit is None or (offset is None and select.args.get("offset")) else limit + (offset or 0)


def _number(clause: Node | None) -> int | None:
    if not isinstance(clause, exp.Limit | exp.Offset) or _clauses(clause) != {"expression"}:
        return None
    value = clause.expression
    is_number = isinstance(value, exp.Literal) and not value.is_string and value.name.isascii() and value.name.isdigit()
    return int(value.name) if is_number and len(value.name) <= _MOST_DIGITS else None


def _keeps_rows(select: Node, by: Node, own: set[tuple[str, ...]]) -> bool:
    """True if the select list makes one row of each, and nothing else in it can be what the ORDER BY names.

    Spark looks for the names of an ORDER BY among the columns that a query returns, and only then among those of the
    table (ResolveReferencesInSort). So ``c`` may be the result of an expression, and ``x.c`` a field of a result
    ``x``.
    """
    *qualifier, column = (fold(part.name) for part in by.parts)
    for item in select.expressions:
        if not all(type(part) in _OF_EACH_ROW for part in item.walk()):
            return False
        if isinstance(item, exp.Star):
            if qualifier and _clauses(item):
                return False  # without the column itself, the qualifier may be a struct that is left
            continue
        if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
            if not _is_of(item, own) or (qualifier and _clauses(item.this)):
                return False  # the fields of a struct, of which one may have the name
            continue
        name = _name_of_result(item)
        if name is None or name in qualifier or (name == _MADE_UP and not _WORD.fullmatch(column)):
            return False
        value = item.this if isinstance(item, exp.Alias) else item
        if name == column and not (isinstance(value, exp.Column) and fold(value.name) == column and _is_of(value, own)):
            return False
    return True


def _is_of(column: Node, own: set[tuple[str, ...]]) -> bool:
    """True if a column, or a star, is of the table itself."""
    return tuple(fold(part.name) for part in column.parts[:-1]) in own


def _name_of_result(item: Node) -> str | None:
    """The folded name of an item of a select list; _MADE_UP: one that is no word, such as ``upper(c)``; None: any.

    Spark calls ``(s.c)`` and ``CAST(s.c AS STRING)`` by the name of the column, and a literal by its value
    (ResolveAliases).
    """
    if isinstance(item, exp.Alias):
        return fold(item.alias)
    value = item
    while isinstance(value, exp.Paren | exp.Cast):
        value = value.this
    if isinstance(value, exp.Column | exp.Dot):
        return fold(value.name)
    return _MADE_UP if value.find(exp.Column) else None
