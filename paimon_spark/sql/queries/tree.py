"""The syntax tree of a query, made by sqlglot: which names are tables, and what a query may need of each.

Nothing is printed from the tree, and no name is resolved in it. Where a rule is not sure, all columns are needed, and
no condition is pushed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from paimon_spark.sql.queries.query import fold

Node: TypeAlias = Any  # sqlglot's base of all nodes; its name is not the same in all releases
_STUMBLES = (AttributeError, KeyError, IndexError, TypeError, ValueError, AssertionError)  # sqlglot's, over some texts
_CALL = re.compile(r"(?<![.\w`])([A-Za-z_]\w*)(?=\s*\()")
_NAME_OF_TABLE = re.compile(r"(?:\bFROM|\bJOIN|,)\s*(\w+)\b(?!\s*\()", re.IGNORECASE)
_STATEMENTS = (exp.Query, exp.Insert, exp.Merge, exp.Update, exp.Delete, exp.Create)


class NotUnderstood(Exception):
    """sqlglot has no tree for a text.

    Attributes:
        line: where it stopped, from 1; None: it does not say.
        column: from 1.
        near: the words at which it stopped.
    """

    def __init__(self, line: int | None, column: int | None, near: str) -> None:
        super().__init__(near)
        self.line = line
        self.column = column
        self.near = near


def parse_tree(masked: str) -> Node:
    """The tree of one statement.

    Raises:
        NotUnderstood: the text is not SQL, or SQL that sqlglot does not know.
    """
    try:
        return _statement(masked)
    except NotUnderstood:
        others = _with_unknown_functions(masked)
        if others == masked:
            raise
        try:
            return _statement(others)
        except NotUnderstood:
            pass
        raise


def _statement(masked: str) -> Node:
    try:
        trees = sqlglot.parse(masked, read="spark")
    except SqlglotError as error:
        place = (getattr(error, "errors", None) or [{}])[0]
        raise NotUnderstood(place.get("line"), place.get("col"), str(place.get("highlight") or "")) from None
    except RecursionError:
        raise NotUnderstood(None, None, "it is nested too deeply") from None
    except _STUMBLES:
        raise NotUnderstood(None, None, "") from None
    if len(trees) != 1 or not isinstance(trees[0], _STATEMENTS):
        raise NotUnderstood(None, None, "")
    return trees[0]


def _with_unknown_functions(masked: str) -> str:
    """The text with other names for the functions whose arguments sqlglot counts: Spark 4 takes more of some.

    Those with a syntax of their own keep their names, and so do those whose name a table has too.
    """
    parser = Spark.Parser
    counted = set(parser.FUNCTIONS) - set(parser.FUNCTION_PARSERS) - {"COUNT"}
    elsewhere = {word.upper() for word in _NAME_OF_TABLE.findall(masked)}

    def renamed(call: re.Match[str]) -> str:
        name = call[1]
        return f"f{'_' * (len(name) - 1)}" if name.upper() in counted - elsewhere else name

    return _CALL.sub(renamed, masked)


def start_of(node: Node) -> int | None:
    """The offset of the first character of a name; None: sqlglot made it up."""
    start = node.meta.get("start")
    return int(start) if start is not None else None


def tables(tree: Node) -> Iterator[tuple[int, Node]]:
    """(offset, node) of each table that a text names, common table expressions and hints apart."""
    for node in tree.find_all(exp.Table):
        if not isinstance(node.this, exp.Identifier) or node.find_ancestor(exp.Hint) or _is_common(node):
            continue
        start = start_of(node.parts[0])
        if start is not None:
            yield start, node


def alias_of(node: Node) -> str | None:
    """The alias that the user gave a table."""
    return node.alias or None


def alias_columns(node: Node) -> bool:
    """True if an alias names the columns too, by their position."""
    alias = node.args.get("alias")
    return alias is not None and bool(alias.args.get("columns"))


def aliases(tree: Node) -> frozenset[str]:
    """All aliases of tables in the text, folded."""
    return frozenset(fold(alias.name) for alias in tree.find_all(exp.TableAlias))


def _is_common(node: Node) -> bool:
    """True if a one-part name is that of a common table expression that is visible there.

    In its own body, and in those before it, the name means the table, unless WITH is recursive.
    """
    if len(node.parts) != 1:
        return False
    name, child, parent = fold(node.name), node, node.parent
    while parent is not None:
        visible: Any
        if isinstance(parent, exp.With):
            at = next(i for i, item in enumerate(parent.expressions) if item is child)
            visible = parent.expressions[: at + bool(parent.args.get("recursive"))]
        else:
            with_ = parent.args.get("with_") or parent.args.get("with")  # the key has two names in sqlglot's releases
            visible = with_.expressions if with_ is not None and with_ is not child else ()
        if any(fold(item.alias) == name for item in visible):
            return True
        child, parent = parent, parent.parent
    return False


# -------------------------------------------------------------------------------------------------------------- columns


def stars(tree: Node) -> list[tuple[Node | None, str | None]]:
    """(SELECT, folded qualifier) of every star but those of ``count(*)`` and of ``EXISTS (SELECT * ...)``."""
    found = []
    for star in tree.find_all(exp.Star):
        parent = star.parent
        if isinstance(parent, exp.Count) and parent.this is star and not parent.expressions:
            continue
        if isinstance(parent, exp.Select) and isinstance(parent.parent, exp.Exists):
            continue
        qualifier = fold(parent.table) if isinstance(parent, exp.Column) and parent.table else None
        found.append((star.find_ancestor(exp.Select), qualifier))
    return found


def count_stars(tree: Node) -> int:
    """How many ``*`` the text of a tree has: stars and products."""
    return sum(1 for _ in tree.find_all(exp.Star, exp.Mul))


def why_all_columns(node: Node, alias: str, found: Sequence[tuple[Node | None, str | None]]) -> str:
    """Why a query needs all columns of a table; "" if its words tell which it needs.

    Args:
        alias: what qualifies the table's columns.
        found: the stars of the tree.
    """
    unnamed = why_unnamed(node)
    if unnamed:
        return unnamed
    select, mine = select_of(node), fold(alias)
    if any(of is None or (of is select and qualifier is None) or qualifier == mine for of, qualifier in found):
        return "the query has a star"
    return ""


def why_unnamed(node: Node) -> str:
    """Why the number of columns of a table, or all their names, matter to a query that has no star; "": they do not."""
    select = select_of(node)
    if select is None:
        return "the table does not stand in a FROM or JOIN of its own"
    if not select.expressions:
        return "the query has no select list"
    if node.args.get("pivots"):
        return "PIVOT groups by all other columns"
    if any(join.method.upper() == "NATURAL" for join in select.args.get("joins") or ()):
        return "NATURAL JOIN compares all columns"
    if alias_columns(node):
        return "the alias names the columns by their position"
    return ""


def select_of(node: Node) -> Node | None:
    """The SELECT in whose FROM or JOIN a table stands; None: it stands elsewhere."""
    at = node.parent
    at = at.parent if isinstance(at, exp.Join | exp.From) else None
    return at if isinstance(at, exp.Select) else None


# ----------------------------------------------------------------------------------------------------------- conditions


def where_conjuncts(select: Node) -> list[Node]:
    """The conjuncts of the WHERE of a SELECT; none: it has no WHERE."""
    where = select.args.get("where")
    if where is None:
        return []
    return list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this.unnest()]


def conditions(node: Node) -> list[Node]:
    """The conjuncts of the WHERE of a table's SELECT, if rows that fail one of them may be dropped before its joins."""
    select = select_of(node)
    if select is None:
        return []
    if not _is_plain(node) or select.args.get("laterals"):
        return []
    joins = select.args.get("joins") or ()
    if any(not _commutes(join, node) for join in joins):
        return []
    return where_conjuncts(select)


def _is_plain(node: Node) -> bool:
    parts = ("sample", "pivots", "joins", "laterals")
    return not any(node.args.get(part) for part in parts) and not alias_columns(node)


def _commutes(join: Node, node: Node) -> bool:
    """True if rows of a table may be dropped before a join of its SELECT instead of behind it."""
    side, kind = join.side.upper(), join.kind.upper()
    if join.method or join.args.get("using") or not isinstance(join.this, exp.Table | exp.Subquery):
        return False
    if side not in ("", "LEFT") or kind not in ("", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"):
        return False
    is_outer = side == "LEFT" or kind in ("SEMI", "ANTI")
    return not (is_outer and join.this is node)


def parse_condition(masked: str) -> Node | None:
    """The tree of one conjunct; None: it is not one."""
    try:
        return sqlglot.parse_one(masked, read="spark").unnest()
    except (SqlglotError, RecursionError, *_STUMBLES):
        return None


def operands_of(condition: Node, kind: str) -> list[Node]:
    """The operands of ``And`` or ``Or``, which the kind names; none: the condition is another one."""
    is_one = isinstance(condition, exp.And if kind == "And" else exp.Or)
    return list(condition.flatten()) if is_one else []


def column_names(condition: Node) -> list[list[tuple[str, int]]] | None:
    """(name, offset) of the parts of each column of a condition.

    Returns:
        None: it holds something else than plain columns, literals and named parameters.
    """
    if condition.find(exp.Query, exp.Subquery, exp.Star, exp.Parameter):
        return None
    if any(not placeholder.name for placeholder in condition.find_all(exp.Placeholder)):
        return None
    found = []
    for column in condition.find_all(exp.Column):
        parts = [(part.name, start_of(part)) for part in column.parts if isinstance(part, exp.Identifier)]
        if isinstance(column.parent, exp.Dot) or len(parts) != len(column.parts):
            return None
        found.append([(name, start) for name, start in parts if start is not None])
        if len(found[-1]) != len(parts):
            return None
    return found or None


def equal_columns(condition: Node) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The parts of the names of two columns that a condition compares with ``=``; None: it is another condition."""
    if not isinstance(condition, exp.EQ):
        return None
    sides = [side.unnest() for side in (condition.this, condition.expression)]
    if not all(isinstance(side, exp.Column) for side in sides):
        return None
    left, right = (tuple(part.name for part in side.parts) for side in sides)
    return left, right
