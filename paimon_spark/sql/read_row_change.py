"""DELETE, UPDATE and MERGE (features 2.3). Expressions stay the user's own characters, which Spark reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from paimon_spark.errors import SqlError, UnsupportedFeature
from paimon_spark.format.quoting import quoted
from paimon_spark.sql.queries.query import Query, Use
from paimon_spark.sql.queries.read_query import QUERY_VERBS, closing_of, qualifiers, read_query
from paimon_spark.sql.queries.references import refuse_foreign
from paimon_spark.sql.statements import PREFIX, Delete, Expression, Merge, MergeClause, Update
from paimon_spark.sql.text.cursor import Cursor
from paimon_spark.sql.text.lexer import Kind, Token, tokenize
from paimon_spark.sql.text.names import Names, TableName

_SOURCE = "SELECT * FROM "
_STAR: Mapping[str, Expression] | None = None
_JOINS = ("JOIN", "INNER", "LEFT", "CROSS")
_NO_ALIAS = ("WHERE", "SET", "USING", "ON", "WHEN", *_JOINS)
_NO_END = ("DISTINCT", "NOT", "AND", "OR", "BETWEEN", "LIKE", "CASE", "WHEN", "THEN", "ELSE")
"""Words of an operator, after which FROM is no clause: it belongs to the operator, or is the name of a column."""


def read_row_change(cursor: Cursor) -> Delete | Update | Merge | None:
    """DELETE FROM, UPDATE or MERGE INTO a table of ours; None: one of Spark.

    Raises:
        SqlError: it is put together wrongly.
    """
    kind = cursor.accept_any("UPDATE", "DELETE", "MERGE")
    evolves = kind == "MERGE" and cursor.accept("WITH", "SCHEMA", "EVOLUTION")
    preposition = {"DELETE": "FROM", "MERGE": "INTO"}.get(kind or "")
    if preposition is not None and not cursor.accept(preposition):
        return None
    token = cursor.peek()
    if kind is None or token is None or not token.is_name:
        return None
    at = cursor.at
    table = cursor.table()
    if table is None:
        return None
    parts = table.parts if len(table.parts) else tuple(t.name for t in cursor.tokens[at : cursor.at] if t.is_name)
    alias = _alias(cursor)
    side = _Side(table, parts, alias or table.alias, has_alias=alias is not None)
    read: Mapping[str, Callable[[Cursor, _Side], Delete | Update | Merge]] = {
        "DELETE": _delete,
        "UPDATE": _update,
        "MERGE": _merge,
    }
    found = read[kind](cursor, side)
    cursor.expect_end()
    return replace(found, evolves=True) if evolves and isinstance(found, Merge) else found


def with_common_tables(
    found: Delete | Update | Merge, text: str, common: Sequence[Token], names: Names
) -> Delete | Update | Merge:
    """The statement behind a WITH: its sub-queries, and the source of a MERGE, get the common table expressions.

    Args:
        text: of the statement.
        common: the tokens of the WITH.

    Raises:
        SqlError: one of them has the name of the table that is changed.
        UnsupportedFeature: they have parameters without names.
    """
    tables = _names_of_common(common)
    if found.table.is_bare and found.table.table.lower() in tables:
        raise SqlError(f"SQL: {found.table} is a common table expression here, whose rows cannot be changed")
    if any(token.text == "?" for token in common):
        raise UnsupportedFeature("SQL: a WITH before UPDATE, DELETE or MERGE takes parameters with names, such as :id")
    head = f"WITH {text[common[1].start : common[-1].end]}"

    def expanded(expression: Expression) -> Expression:
        whole = _with_head(expression.query.text, head, tables)
        return Expression(read_query(whole, tokenize(whole), names))

    def all_of(values: Mapping[str, Expression] | None) -> Mapping[str, Expression] | None:
        return values if values is None else {name: expanded(value) for name, value in values.items()}

    if isinstance(found, Merge):
        source = f"{head} {found.source.text}"
        clauses = tuple(
            replace(
                clause,
                condition=None if clause.condition is None else expanded(clause.condition),
                values=all_of(clause.values),
            )
            for clause in found.clauses
        )
        query = read_query(source, tokenize(source), names)
        return replace(found, source=query, condition=expanded(found.condition), clauses=clauses)
    where = None if found.where is None else expanded(found.where)
    if isinstance(found, Delete):
        return replace(found, where=where)
    return replace(found, where=where, values={name: expanded(value) for name, value in found.values.items()})


def _names_of_common(tokens: Sequence[Token]) -> frozenset[str]:
    """The names of the common table expressions of a WITH, in small letters."""
    found, depth = set(), 0
    for before, token in pairwise(tokens):
        depth += before.nesting
        if depth == 0 and before.upper in ("WITH", "RECURSIVE", ",") and token.upper != "RECURSIVE":
            found.add(token.name.lower())
    return frozenset(found)


def _with_head(text: str, head: str, common: frozenset[str]) -> str:
    """A text in which the outermost sub-queries that name a common table expression begin with the WITH of all."""
    tokens, edits, at = tokenize(text), list[tuple[int, int, str]](), 0
    while at + 1 < len(tokens):
        opening, verb = tokens[at], tokens[at + 1]
        at += 1
        if opening.upper != "(" or verb.upper not in QUERY_VERBS - {"("}:
            continue
        end = closing_of(tokens, at - 1)
        if any(token.is_name and token.name.lower() in common for token in tokens[at:end]):
            edits.append(_edit(opening, verb, tokens[at + 1], head))
        at = end
    for start, end, new in reversed(edits):
        text = text[:start] + new + text[end:]
    return text


def _edit(opening: Token, verb: Token, following: Token, head: str) -> tuple[int, int, str]:
    """(start, end, new): what begins the query in these parentheses; its own WITH is one with the other."""
    if verb.upper != "WITH":
        return opening.end, opening.end, f"{head} "
    if following.upper == "RECURSIVE":
        return verb.start, following.end, f"WITH RECURSIVE {head.removeprefix('WITH ')},"
    return verb.start, verb.end, f"{head},"


@dataclass(frozen=True)
class _Side:
    """The target or the source of a statement, and how columns are qualified by it."""

    table: TableName
    parts: tuple[str, ...]
    alias: str
    has_alias: bool

    @property
    def use(self) -> Use:
        """As a table that stands nowhere in an expression."""
        return Use(self.table, -1, -1, alias_at=None if self.has_alias else 0)


def _alias(cursor: Cursor) -> str | None:
    """The alias behind a table.

    Raises:
        SqlError: it names the columns too.
    """
    if not cursor.accept("AS"):
        token = cursor.peek()
        if token is None or not token.is_name or token.upper in _NO_ALIAS:
            return None
    name = cursor.name("an alias")
    if cursor.sees("("):
        raise cursor.error("an alias with names of columns is not possible here")
    return name


def _refuse_other_tables(cursor: Cursor, target: _Side, *words: str) -> None:
    """Refuses a clause in which other systems name a second table, which MERGE INTO does.

    Raises:
        UnsupportedFeature: one of the words comes next.
    """
    found = next((word for word in words if cursor.sees(word)), None)
    if found is not None:
        clause = "JOIN" if found in _JOINS else found
        refuse_foreign(cursor, (cursor.tokens[0].upper, clause), target.parts, cursor.offset())


def _delete(cursor: Cursor, target: _Side) -> Delete:
    _refuse_other_tables(cursor, target, "USING", *_JOINS)
    return Delete(target.table, target.alias, _where(cursor, [target]))


def _update(cursor: Cursor, target: _Side) -> Update:
    _refuse_other_tables(cursor, target, *_JOINS)
    cursor.expect("SET")
    values = _assignments(cursor, [target], ("WHERE", "FROM"))
    _refuse_other_tables(cursor, target, "FROM")
    return Update(target.table, target.alias, values, _where(cursor, [target]))


def _where(cursor: Cursor, sides: Sequence[_Side]) -> Expression | None:
    return _expression(cursor, sides, (), "a condition") if cursor.accept("WHERE") else None


def _assignments(cursor: Cursor, sides: Sequence[_Side], stops: Sequence[str]) -> dict[str, Expression]:
    """``a = 1, b.c = 2``.

    Raises:
        SqlError: a column is assigned twice.
    """
    found: dict[str, Expression] = {}
    while True:
        at = cursor.offset()
        name = _column(cursor, sides[0])
        if not cursor.accept("=") and not cursor.accept("=="):
            raise cursor.error("= is needed here")
        if name in found:
            raise cursor.error(f"{name} is assigned twice", at)
        found[name] = _expression(cursor, sides, stops, f"a value for {name}")
        if not cursor.accept(","):
            return found


def _column(cursor: Cursor, target: _Side) -> str:
    """The name of a column or of a field in it, without the name of the table."""
    parts = cursor.parts("the name of a column")
    full = [part.lower() for part in target.parts]
    for whole in (full, full[1:]):
        if len(whole) > 1 and not target.has_alias and [p.lower() for p in parts[: len(whole)]] == whole:
            parts = (target.alias, *parts[len(whole) :])
    return ".".join(map(quoted, parts))


# ---------------------------------------------------------------------------------------------------------------- MERGE


def _merge(cursor: Cursor, target: _Side) -> Merge:
    cursor.expect("USING")
    source, side = _source(cursor)
    cursor.expect("ON")
    sides = [target] if side is None else [target, side]
    condition = _expression(cursor, sides, ("WHEN",), "a condition")
    clauses = []
    while cursor.accept("WHEN"):
        clauses.append(_clause(cursor, sides))
    if not clauses:
        raise cursor.error("a clause is needed here, such as WHEN MATCHED THEN DELETE")
    alias = None if side is None else side.alias
    return Merge(target.table, target.alias, source, alias, condition, tuple(clauses))


def _source(cursor: Cursor) -> tuple[Query, _Side | None]:
    """The source as a query, and how its columns are qualified; None: it has no name."""
    start, first = cursor.at, cursor.peek()
    if first is None:
        raise cursor.error("a table or a query in parentheses is needed here")
    is_query = first.upper == "("
    parts: tuple[str, ...] = ()
    if is_query:
        cursor.skip_group()
    else:
        parts = cursor.parts("the name of a table")
    begin = cursor.at
    while not cursor.is_done and not cursor.sees("ON"):
        if cursor.sees("("):
            cursor.skip_group()
        else:
            cursor.at += 1
    tokens = cursor.tokens[start : cursor.at]
    text = f"{_SOURCE}{cursor.text[tokens[0].start : tokens[-1].end]}"
    query = read_query(text, tokenize(text), cursor.names)
    last = tokens[-1] if cursor.at > begin else None
    if last is not None and last.is_name:
        return query, _Side(TableName((last.name,), None, last.name), (last.name,), last.name, has_alias=True)
    if is_query:
        return query, None
    table = query.uses[0].name if query.uses else TableName(parts, None, parts[-1])
    return query, _Side(table, parts, table.alias if query.uses else parts[-1], has_alias=False)


def _clause(cursor: Cursor, sides: Sequence[_Side]) -> MergeClause:
    when = "MATCHED"
    if cursor.accept("NOT"):
        cursor.expect("MATCHED")
        by_source = cursor.accept("BY", "SOURCE")
        when = "NOT MATCHED BY SOURCE" if by_source else "NOT MATCHED"
        if not by_source:
            cursor.accept("BY", "TARGET")
    else:
        cursor.expect("MATCHED")
    condition = _expression(cursor, sides, ("THEN",), "a condition") if cursor.accept("AND") else None
    cursor.expect("THEN")
    action = cursor.accept_any("UPDATE", "DELETE", "INSERT")
    if action is None or (action == "INSERT") != (when == "NOT MATCHED"):
        allowed = "INSERT" if when == "NOT MATCHED" else "UPDATE or DELETE"
        raise cursor.error(f"{allowed} is needed behind WHEN {when} THEN")
    if action == "DELETE":
        return MergeClause(when, action, condition)
    if action == "UPDATE":
        cursor.expect("SET")
        values = _STAR if cursor.accept("*") else _assignments(cursor, sides, ("WHEN",))
        return MergeClause(when, action, condition, values)
    return MergeClause(when, action, condition, _STAR if cursor.accept("*") else _inserted(cursor, sides))


def _inserted(cursor: Cursor, sides: Sequence[_Side]) -> dict[str, Expression]:
    """``(a, b) VALUES (1, 2)``."""
    at = cursor.offset()
    names = cursor.listed(lambda: _column(cursor, sides[0]))
    cursor.expect("VALUES")
    values = cursor.listed(lambda: _expression(cursor, sides, (), "a value"))
    if len(names) != len(values) or len(set(names)) != len(names):
        raise cursor.error(f"{len(names)} different columns need as many values; there are {len(values)}", at)
    return dict(zip(names, values, strict=True))


# ---------------------------------------------------------------------------------------------------------- expressions


@dataclass
class _Stop:
    """Finds the word that ends an expression: none does while a CASE is open, whose words are the same."""

    cursor: Cursor
    words: Sequence[str]
    cases: int = 0
    _seen: int = field(default=-1)

    def __call__(self) -> bool:
        token = self.cursor.peek()
        word = "" if token is None else token.upper
        if self.cases == 0 and word in self.words and (word != "FROM" or self._ends_value()):
            return True
        if self._seen != self.cursor.at:
            self._seen = self.cursor.at
            before = self.cursor.peek(-1)
            is_column = before is not None and before.upper == "."
            self.cases += 0 if is_column else {"CASE": 1, "END": -1 if self.cases else 0}.get(word, 0)
        return False

    def _ends_value(self) -> bool:
        """True if what was read last can end a value, so that FROM begins a clause."""
        before = self.cursor.peek(-1)
        assert before is not None
        return before.upper in (")", "]") or (before.kind is not Kind.SYMBOL and before.upper not in _NO_END)


def _expression(cursor: Cursor, sides: Sequence[_Side], stops: Sequence[str], what: str) -> Expression:
    text = cursor.text_until(_Stop(cursor, stops), what)
    tokens = tokenize(text)
    cuts = sorted(span for spans in _cuts(tokens, sides) for span in spans)
    for start, end in reversed(cuts):
        text = text[:start] + text[end:]
    whole = f"{PREFIX}{text}"
    return Expression(read_query(whole, tokenize(whole), cursor.names))


def _cuts(tokens: Sequence[Token], sides: Sequence[_Side]) -> list[tuple[tuple[int, int], ...]]:
    """The characters that go, so that columns are qualified by the last part of the name of their table."""
    aliases = frozenset(side.alias.lower() for side in sides if side.has_alias)
    return [spans for side in sides for spans in qualifiers(tokens, [side.use], aliases).values()]
