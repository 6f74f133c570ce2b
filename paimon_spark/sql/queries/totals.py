"""Queries that need no rows of a table, but their number and the ends of columns.

Such a query, as ``SELECT dt, count(*), max(n) FROM t GROUP BY dt``, gives the same result over few rows that stand for
many: for each group the least and the greatest values, and the number of rows in a column of its own, which is summed
where the text has ``count(*)``.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from paimon_spark.sql.queries.query import Edit, Totals, fold
from paimon_spark.sql.queries.tree import Node, alias_columns, select_of
from paimon_spark.sql.text.lexer import Token

ROWS = "__paimon_rows"
"""The column that has the number of rows."""
_SUM, _NAME = f"coalesce(sum(`{ROWS}`), 0L)", " AS `count(1)`"

_CLAUSES = frozenset(
    {"expressions", "from", "from_", "where", "group", "having", "order", "limit", "offset", "distinct"}
)
_OF_TABLE = frozenset({"sample", "pivots", "joins", "laterals", "hints", "only", "partition"})
_PLAIN = (
    exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Alias, exp.Paren, exp.Star, exp.Placeholder,
    exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.In, exp.Between,
    exp.Is, exp.Like, exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam,
    exp.Count, exp.Min, exp.Max, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit, exp.Offset,
    exp.Distinct,
)  # fmt: skip
"""What gives the same for equal values. Everything else, sub-queries and functions among it, needs the rows."""
_ENDS = (exp.Min, exp.Max)


def totals(tree: Node, node: Node, tokens: Sequence[Token], qualifiers: Sequence[tuple[str, ...]]) -> Totals | None:
    """What a query needs of a table that is the only one in its FROM; None: it needs rows.

    Args:
        tree: of the whole text.
        node: of the table.
        tokens: of the text.
        qualifiers: what may stand before the columns of the table.
    """
    select = select_of(node)
    if select is None or set(_clauses(select)) - _CLAUSES or set(_clauses(node)) & _OF_TABLE or alias_columns(node):
        return None
    items = select.expressions
    parts = [n for clause, value in _clauses(select).items() if clause not in ("from", "from_") for n in _walk(value)]
    if not all(type(n) in _PLAIN for n in parts) or not _is_plain(select, parts):
        return None
    if not (select.args.get("group") or select.args.get("distinct") or any(_aggregates(item) for item in items)):
        return None
    columns = [n for n in parts if isinstance(n, exp.Column)]
    allowed = {tuple(map(fold, parts)) for parts in qualifiers} | {()}
    if any(tuple(fold(part.name) for part in column.parts[:-1]) not in allowed for column in columns):
        return None
    counts = _counts(tree, select, tokens, node)
    if counts is None:
        return None
    return Totals(
        edits=counts,
        ends=frozenset(fold(c.name) for c in columns if isinstance(c.parent, _ENDS)),
        plain=frozenset(fold(c.name) for c in columns if not isinstance(c.parent, _ENDS)),
        aliases=frozenset(fold(item.alias) for item in items if isinstance(item, exp.Alias)),
    )


def _clauses(node: Node) -> dict[str, Node]:
    return {key: value for key, value in node.args.items() if value}


def _walk(value: Node) -> list[Node]:
    values = value if isinstance(value, list) else [value]
    return [n for each in values if isinstance(each, exp.Expression) for n in each.walk()]


def _aggregates(item: Node) -> bool:
    return item.find(exp.Count, *_ENDS) is not None


def _is_plain(select: Node, parts: Sequence[Node]) -> bool:
    """True if aggregates are of a column alone, or of all rows, and none is where Spark would name it after itself."""
    for part in parts:
        if isinstance(part, _ENDS) and (not isinstance(part.this, exp.Column) or part.expressions):
            return False
        if isinstance(part, exp.Count) and not _counts_rows(part):
            return False
        if isinstance(part, exp.Star) and not isinstance(part.parent, exp.Count):
            return False
        if isinstance(part, exp.Distinct) and (part.parent is not select or part.args.get("on") or part.expressions):
            return False
        if isinstance(part, exp.Group) and set(_clauses(part)) - {"expressions", "all"}:
            return False
    bare = (item for item in select.expressions if not isinstance(item, exp.Alias | exp.Count))
    return not any(item.find(exp.Count) for item in bare)


def _counts_rows(count: Node) -> bool:
    is_one = isinstance(count.this, exp.Literal) and not count.this.is_string and count.this.name == "1"
    return (isinstance(count.this, exp.Star) or is_one) and not count.expressions


def _counts(tree: Node, select: Node, tokens: Sequence[Token], node: Node) -> tuple[Edit, ...] | None:
    """What stands in the place of each ``count(*)``; None: it is not known which of them are of this SELECT."""
    found = list(tree.find_all(exp.Count))
    mine = [count.find_ancestor(exp.Select) is select for count in found]
    if not any(mine):
        return ()
    if not all(mine):
        return None
    words = [token.upper for token in tokens]
    at = [i for i in range(len(words) - 3) if words[i : i + 2] == ["COUNT", "("] and words[i + 3] == ")"]
    at = [i for i in at if tokens[i + 2].text in ("*", "1")]
    table = node.parts[0].meta.get("start")
    if len(at) != len(found) or table is None:
        return None
    bare = [i for i in at if tokens[i].start < table and words[i - 1] in ("SELECT", "DISTINCT", ",")]
    bare = [i for i in bare if words[i + 4] in (",", "FROM")]
    if len(bare) != sum(isinstance(item, exp.Count) for item in select.expressions):
        return None
    return tuple((tokens[i].start, tokens[i + 3].end, _SUM + _NAME * (i in bare)) for i in at)
