"""Queries that need no rows of a table, but aggregates of them.

Such a query, as ``SELECT dt, count(*), max(n) FROM t GROUP BY dt``, gives the same result over few rows that stand for
many: for each group the least and the greatest values, and the number of rows in a column of its own, which is summed
where the text has ``count(*)``. So it does over partial aggregates, if the text finishes them where it has aggregates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sqlglot import exp

from paimon_spark.sql.queries.aggregate_calls import (
    AVG,
    COUNT,
    COUNT_ROWS,
    MAX,
    MIN,
    SUM,
    AggregateCall,
    Constant,
    Term,
)
from paimon_spark.sql.queries.query import Totals, fold
from paimon_spark.sql.queries.tree import Node, alias_columns, select_of, start_of, where_conjuncts
from paimon_spark.sql.text.lexer import Token

ROWS = "__paimon_rows"
"""The column that has the number of rows."""
_SUM, _NAME = f"coalesce(sum(`{ROWS}`), 0L)", " AS `count(1)`"

_CLAUSES = frozenset(
    {"expressions", "from", "from_", "where", "group", "having", "order", "limit", "offset", "distinct"}
)
_OF_TABLE = frozenset({"sample", "pivots", "joins", "laterals", "hints", "only", "partition"})
_FUNCTIONS = {exp.Count: COUNT, exp.Sum: SUM, exp.Avg: AVG, exp.Min: MIN, exp.Max: MAX}
_AGGREGATES, _ENDS = tuple(_FUNCTIONS), (exp.Min, exp.Max)
_SIGNS = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}
_NUMBER = re.compile(r"(\d{1,18})(?:\.(\d{1,18}))?")
_PLAIN = (
    exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Alias, exp.Paren, exp.Star, exp.Placeholder,
    exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.In, exp.Between,
    exp.Is, exp.Like, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Cast, exp.TryCast, exp.DataType,
    exp.DataTypeParam, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit, exp.Offset, exp.Distinct,
    *_AGGREGATES,
)  # fmt: skip
"""What gives the same for equal values. Everything else, sub-queries and functions among it, needs the rows."""


def totals(
    tree: Node,
    node: Node,
    tokens: Sequence[Token],
    qualifiers: Sequence[tuple[str, ...]],
    where: Sequence[tuple[int, int]],
) -> Totals | None:
    """What a query needs of a table that is the only one in its FROM; None: it needs rows.

    Args:
        tree: of the whole text.
        node: of the table.
        tokens: of the text.
        qualifiers: what may stand before the columns of the table.
        where: (start, end) of the parts of the WHERE.
    """
    select = select_of(node)
    if select is None or set(_clauses(select)) - _CLAUSES or set(_clauses(node)) & _OF_TABLE or alias_columns(node):
        return None
    items = select.expressions
    parts = {clause: _walk(value) for clause, value in _clauses(select).items() if clause not in ("from", "from_")}
    condition = parts.pop("where", [])
    nodes = [n for found in parts.values() for n in found]
    if not all(type(n) in _PLAIN for n in nodes) or not _is_plain(select, nodes):
        return None
    if any(isinstance(n, exp.Query) for n in condition):
        return None
    if not (select.args.get("group") or select.args.get("distinct") or any(item.find(*_AGGREGATES) for item in items)):
        return None
    columns = [n for n in (*nodes, *condition) if isinstance(n, exp.Column)]
    allowed = {tuple(map(fold, parts)) for parts in qualifiers} | {()}
    if any(tuple(fold(part.name) for part in column.parts[:-1]) not in allowed for column in columns):
        return None
    counts = _counts(tree, select, tokens, node)
    calls = None if counts is None else _calls(select, nodes, tokens)
    if counts is None or calls is None:
        return None
    filtered = {id(n) for n in condition}
    outer = [c for c in columns if id(c) not in filtered and not c.find_ancestor(*_AGGREGATES)]
    has_bare = any(item.find(*_AGGREGATES) for item in items if not isinstance(item, (exp.Alias, *_AGGREGATES)))
    edits = tuple((call.start, call.end, _SUM + _NAME * bool(call.name)) for call in counts)
    # The rows that stand for others have the values of the condition; it decides the same for them if it is plain.
    are_plain = all(isinstance(n, _ENDS) or _counts_rows(n) for n in _aggregates(nodes))
    are_plain = are_plain and all(type(n) in _PLAIN for n in condition)
    return Totals(
        edits=edits if are_plain else None,
        ends=frozenset(fold(c.name) for c in columns if isinstance(c.parent, _ENDS)),
        plain=frozenset(fold(c.name) for c in outer),
        filtered=frozenset(fold(c.name) for c in columns if id(c) in filtered),
        aliases=frozenset(fold(item.alias) for item in items if isinstance(item, exp.Alias)),
        conditions=len(where_conjuncts(select)),
        where=(where[0][0], where[-1][1]) if where else None,
        calls=None if has_bare else (*counts, *calls),
    )


def _clauses(node: Node) -> dict[str, Node]:
    return {key: value for key, value in node.args.items() if value}


def _walk(value: Node) -> list[Node]:
    values = value if isinstance(value, list) else [value]
    return [n for each in values if isinstance(each, exp.Expression) for n in each.walk()]


def _aggregates(nodes: Sequence[Node]) -> Iterator[Node]:
    return (n for n in nodes if isinstance(n, _AGGREGATES))


def _is_plain(select: Node, parts: Sequence[Node]) -> bool:
    """True if aggregates are of a column alone, of all rows, or sums of a term, and Spark names none after itself."""
    for part in parts:
        if isinstance(part, _AGGREGATES) and not _counts_rows(part):
            is_of_term = isinstance(part, exp.Sum) and _is_sum_of_term(part, select)
            if part.expressions or not (isinstance(part.this, exp.Column) or is_of_term):
                return False
        if isinstance(part, exp.Star) and not isinstance(part.parent, exp.Count):
            return False
        if isinstance(part, exp.Distinct) and (part.parent is not select or part.args.get("on") or part.expressions):
            return False
        if isinstance(part, exp.Group) and set(_clauses(part)) - {"expressions", "all"}:
            return False
    bare = (item for item in select.expressions if not isinstance(item, exp.Alias | exp.Count))
    return not any(item.find(exp.Count) for item in bare)


def _is_sum_of_term(node: Node, select: Node) -> bool:
    return isinstance(_term(node.this), tuple) and not any(item is node for item in select.expressions)


def _term(node: Node) -> Term | None:
    """What is summed; None: it is more than columns, numbers and signs, or a part of it has no column."""
    match node:
        case exp.Column():
            return fold(node.name)
        case exp.Paren():
            return _term(node.this)
        case exp.Literal():
            number = None if node.is_string else _NUMBER.fullmatch(node.name)
            if number is None:
                return None
            whole, rest = number[1], number[2] or ""
            units, scale = int(whole + rest), len(rest)
            return Constant(units, max(len(str(units)), scale), scale)
    if type(node) not in _SIGNS:
        return None
    left, right = _term(node.this), _term(node.expression)
    if left is None or right is None or (isinstance(left, Constant) and isinstance(right, Constant)):
        return None
    return _SIGNS[type(node)], left, right


def _counts_rows(node: Node) -> bool:
    if not isinstance(node, exp.Count):
        return False
    is_one = isinstance(node.this, exp.Literal) and not node.this.is_string and node.this.name == "1"
    return (isinstance(node.this, exp.Star) or is_one) and not node.expressions


def _counts(tree: Node, select: Node, tokens: Sequence[Token], node: Node) -> list[AggregateCall] | None:
    """Each ``count(*)``; None: it is not known which of them are of this SELECT."""
    found = [count for count in tree.find_all(exp.Count) if _counts_rows(count)]
    mine = [count.find_ancestor(exp.Select) is select for count in found]
    if not any(mine):
        return []
    if not all(mine):
        return None
    words = [token.upper for token in tokens]
    at = [i for i in range(len(words) - 3) if words[i : i + 2] == ["COUNT", "("] and words[i + 3] == ")"]
    at = [i for i in at if tokens[i + 2].text in ("*", "1")]
    table = start_of(node.parts[0])
    if len(at) != len(found) or table is None:
        return None
    bare = [i for i in at if tokens[i].start < table and words[i - 1] in ("SELECT", "DISTINCT", ",")]
    bare = [i for i in bare if words[i + 4] in (",", "FROM")]
    if len(bare) != sum(_counts_rows(item) for item in select.expressions):
        return None
    return [
        AggregateCall(COUNT_ROWS, "", tokens[i].start, tokens[i + 3].end, "count(1)" if i in bare else "") for i in at
    ]


def _calls(select: Node, nodes: Sequence[Node], tokens: Sequence[Token]) -> list[AggregateCall] | None:
    """The aggregates of columns and terms; None: it is not known where one stands."""
    places = {token.start: at for at, token in enumerate(tokens)}
    found = []
    for node in _aggregates(nodes):
        if _counts_rows(node):
            continue
        function, of = _FUNCTIONS[type(node)], _term(node.this)
        names = sorted(places.get(start_of(column.parts[-1]) or 0, 0) for column in node.find_all(exp.Column))
        call = _call_around(tokens, function.upper(), names)
        if call is None or of is None:
            return None
        first, last = call
        is_bare = any(item is node for item in select.expressions)
        name = f"{function}({tokens[names[0]].text.strip('`')})" if is_bare else ""
        found.append(AggregateCall(function, of, tokens[first].start, tokens[last].end, name))
    return found


def _call_around(tokens: Sequence[Token], function: str, names: Sequence[int]) -> tuple[int, int] | None:
    """The tokens of the name of a function and of its last parenthesis; None: they are not found.

    Args:
        names: the tokens of the columns in its argument, in their order.
    """
    words, depth = [token.upper for token in tokens[: names[0]]], 0
    first = next((at for at in range(names[0] - 2, -1, -1) if words[at : at + 2] == [function, "("]), None)
    if first is None:
        return None
    for last in range(first + 1, len(tokens)):
        depth += (tokens[last].text == "(") - (tokens[last].text == ")")
        if depth == 0:
            return (first, last) if names[-1] < last else None
    return None
