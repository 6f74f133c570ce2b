"""What may stand at the cursor: keywords, databases, tables, columns, procedures and their arguments.

By the words before the cursor, without a parse: a statement that is being typed is no statement yet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import PaimonError, SqlError
from paimon_spark.format.quoting import quoted
from paimon_spark.procedures.catalogue import PROCEDURES
from paimon_spark.procedures.procedure import sql_signature
from paimon_spark.sql.text.lexer import Token, tokenize
from paimon_spark.store.system_tables.names import NAMES

STATEMENTS = (
    "ALTER", "ANALYZE", "CALL", "CREATE", "DESCRIBE", "DROP", "EXPLAIN", "FROM", "INSERT", "REFRESH", "SELECT", "SET",
    "SHOW", "TABLE", "TRUNCATE", "USE", "VALUES", "WITH",
)  # fmt: skip
"""Words that a statement begins with."""
WORDS = (
    *STATEMENTS, "ADD", "ALL", "AND", "ANTI", "ARRAY", "AS", "ASC", "BETWEEN", "BIGINT", "BINARY", "BOOLEAN", "BY",
    "CASE", "CAST", "COLUMN", "COLUMNS", "COMMENT", "CROSS", "CURRENT_DATE", "CURRENT_TIMESTAMP", "DATABASE",
    "DATABASES", "DATE", "DECIMAL", "DELETE", "DESC", "DISTINCT", "DOUBLE", "ELSE", "END", "EXCEPT", "EXISTS",
    "EXTENDED", "FALSE", "FILTER", "FLOAT", "FORMATTED", "FULL", "GROUP", "HAVING", "IF", "IN", "INNER", "INT",
    "INTERSECT", "INTERVAL", "INTO", "IS", "JOIN", "LATERAL", "LEFT", "LIKE", "LIMIT", "MAP", "NOT", "NULL", "NULLS",
    "OF", "OFFSET", "ON", "OR", "ORDER", "OUTER", "OVER", "OVERWRITE", "PARTITION", "PARTITIONED", "PARTITIONS",
    "PRIMARY", "PROCEDURES", "QUALIFY", "RENAME", "REPLACE", "RIGHT", "RLIKE", "ROWS", "SCHEMA", "SEMI", "SMALLINT",
    "STRING", "STRUCT", "SYSTEM_TIME", "TABLES", "TAG", "TAGS", "TBLPROPERTIES", "TEMPORARY", "THEN", "TIMESTAMP",
    "TIMESTAMP_NTZ", "TINYINT", "TO", "TRUE", "UNION", "UPDATE", "USING", "VERSION", "VIEW", "VIEWS", "WHEN", "WHERE",
    "WINDOW",
)  # fmt: skip
"""All of them."""
BEFORE_RELATIONS = frozenset(
    {"FROM", "JOIN", "INTO", "TABLE", "OVERWRITE", "UPDATE", "DESCRIBE", "DESC", "EXTENDED", "PARTITIONS",
     "TBLPROPERTIES", "REFRESH", "COLUMNS", "TAGS"}
)  # fmt: skip
"""Words that the name of a table follows."""
BEFORE_DATABASES = frozenset({"USE", "DATABASE", "SCHEMA", "NAMESPACE"})
"""Words that the name of a database follows."""
CLAUSES = frozenset({"SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "ON", "SET", "VALUES", "WINDOW", "LIMIT"})
"""Words that a clause begins with."""
_AT_CURSOR = re.compile(r"((?:(?:\w+|`(?:[^`]|``)+`)\.)*)(`[^`]*|[\w$]*)$")
_QUALIFIER = re.compile(r"(\w+)\.|`((?:[^`]|``)+)`\.")
_PLAIN = re.compile(r"[A-Za-z_]\w*(?:\$\w+)*")
_RESERVED = frozenset(WORDS)
Found = tuple[str, ...]


@dataclass(frozen=True)
class Suggestion:
    """One way to go on.

    Attributes:
        text: stands in the place of the characters before the cursor, of which there are ``replaces``.
        kind: what it is: a keyword, table, column, ...
    """

    text: str
    replaces: int
    kind: str


@dataclass(frozen=True)
class _Place:
    """Where the cursor is.

    Attributes:
        before: the tokens of the statement before the name at the cursor.
        after: those behind it.
        qualifiers: the parts of the name that are written already.
        prefix: what is written of its last part, as it is written.
    """

    before: Sequence[Token]
    after: Sequence[Token]
    qualifiers: tuple[str, ...]
    prefix: str

    @property
    def last(self) -> str:
        return self.before[-1].upper if self.before else ""

    def word(self, at: int) -> str:
        return self.before[at].upper if at < len(self.before) else ""


def suggest(before: str, after: str, names: Names, database: str) -> list[Suggestion]:
    """What may stand at the cursor, the likeliest first.

    Args:
        before, after: the text on both sides of the cursor.
        database: the current one.
    """
    place = _place(before, after)
    if place is None:
        return []
    found = dict.fromkeys(_candidates(place, names, database))
    return [
        Suggestion(_written(text, kind, place.prefix), len(place.prefix), kind)
        for text, kind in found
        if _fits(text, place.prefix)
    ]


def _place(before: str, after: str) -> _Place | None:
    """None: the cursor is in a string or in a comment."""
    match = _AT_CURSOR.search(before)
    if match is None:
        return None
    start = match.start()
    try:
        tokens = tokenize(f"{before[:start]}x")  # which a comment would swallow
    except SqlError:
        return None
    if not tokens or tokens[-1].start != start:
        return None
    try:
        following = tokenize(after)
    except SqlError:
        following = ()
    qualifiers = tuple(plain or in_quotes.replace("``", "`") for plain, in_quotes in _QUALIFIER.findall(match[1]))
    return _Place(_statement(tokens[:-1]), following, qualifiers, match[2])


def _statement(tokens: Sequence[Token]) -> Sequence[Token]:
    """The tokens behind the last semicolon."""
    ends = [at for at, token in enumerate(tokens) if token.upper == ";"]
    return tokens[ends[-1] + 1 :] if ends else tokens


Candidates = Iterator[tuple[str, str]]


def _candidates(place: _Place, names: Names, database: str) -> Candidates:
    if not place.before:
        yield from _of_kind("keyword", () if place.qualifiers else STATEMENTS)
    elif place.word(0) == "CALL":
        yield from _call(place, names)
    elif place.last in BEFORE_DATABASES or _is_show_in(place):
        yield from _databases(place, names)
    elif _is_relation(place):
        yield from _relations(place, names, database)
    else:
        yield from _columns(place, names, database)


def _is_show_in(place: _Place) -> bool:
    """SHOW TABLES IN, where a database follows; but SHOW COLUMNS IN t is one of the tables."""
    return place.word(0) == "SHOW" and place.word(1) in ("TABLES", "VIEWS") and place.last in ("IN", "FROM")


def _is_relation(place: _Place) -> bool:
    if place.last in BEFORE_RELATIONS or (place.word(0) == "SHOW" and place.last == "IN"):
        return True
    depth = 0
    for token in reversed(place.before) if place.last == "," else ():  # FROM a, b
        depth += {")": 1, "(": -1}.get(token.upper, 0)
        if depth < 0:
            return False
        if depth == 0 and token.upper in CLAUSES:
            return token.upper == "FROM"
    return False


def _call(place: _Place, names: Names) -> Candidates:
    opened = next((at for at, token in enumerate(place.before) if token.upper == "("), None)
    if opened is not None:
        if place.last in ("(", ","):
            arguments = names.procedures.get(place.before[opened - 1].name.lower(), ())
            yield from _of_kind("argument", (f"{name} => " for name in arguments))
    elif not place.qualifiers or place.qualifiers == (names.catalog,):
        yield from _of_kind("procedure", (f"sys.{name}" for name in sorted(names.procedures)))
    elif place.qualifiers[-1].lower() == "sys":
        yield from _of_kind("procedure", sorted(names.procedures))


def _databases(place: _Place, names: Names) -> Candidates:
    if place.qualifiers in ((), (names.catalog,)):
        yield from _of_kind("database", names.databases())
    if not place.qualifiers:
        yield names.catalog, "catalog"


def _relations(place: _Place, names: Names, database: str) -> Candidates:
    table, dollar, _ = place.prefix.strip("`").partition("$")
    if dollar:
        yield from _of_kind("system table", (f"{table}${name}" for name in names.system_tables))
    elif not place.qualifiers:
        yield from _of_kind("table", names.tables(database))
        yield from _databases(place, names)
    elif place.qualifiers == (names.catalog,):
        yield from _databases(place, names)
    else:
        yield from _of_kind("table", names.tables(place.qualifiers[-1]))


def _columns(place: _Place, names: Names, database: str) -> Candidates:
    """Columns of the tables that the statement names, and keywords."""
    tables = dict(_named_tables([*place.before, *place.after], database))
    if place.qualifiers:
        found = tables.get(place.qualifiers[-1].lower())
        yield from _of_kind("column", () if found is None else names.columns(*found))
        return
    for found in dict.fromkeys(tables.values()):
        yield from _of_kind("column", names.columns(*found))
    yield from _of_kind("table", tables)
    yield from _of_kind("keyword", WORDS)


def _named_tables(tokens: Sequence[Token], database: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """The tables that a statement names: by alias or name in small letters, the database and the table."""
    at = 0
    while at < len(tokens):
        expected = tokens[at].upper in BEFORE_RELATIONS
        at += 1
        while expected and at < len(tokens) and tokens[at].is_name:
            parts = [tokens[at].name]
            while at + 2 < len(tokens) and tokens[at + 1].upper == "." and tokens[at + 2].is_name:
                at += 2
                parts.append(tokens[at].name)
            at += 1
            table = parts[-1].partition("$")[0]
            found = (parts[-2] if len(parts) > 1 else database, table)
            yield table.lower(), found
            at += at < len(tokens) and tokens[at].upper == "AS"
            if at < len(tokens) and tokens[at].is_name and tokens[at].upper not in _RESERVED:
                yield tokens[at].name.lower(), found
                at += 1
            expected = at < len(tokens) and tokens[at].upper == ","
            at += expected


def _of_kind(kind: str, texts: Iterable[str]) -> Candidates:
    return ((text, kind) for text in texts)


def _fits(text: str, prefix: str) -> bool:
    return text.lower().startswith(prefix.removeprefix("`").lower())


def _written(text: str, kind: str, prefix: str) -> str:
    """As it is put into the text: keywords in the user's letter case, other names in backquotes if they need it."""
    if kind == "keyword":
        return text.lower() if prefix.islower() else text
    if kind in ("procedure", "argument"):
        return text
    is_plain = _PLAIN.fullmatch(text) and text.upper() not in _RESERVED
    return text if is_plain and not prefix.startswith("`") else quoted(text)


class Names(Protocol):
    """What there is."""

    @property
    def catalog(self) -> str: ...

    @property
    def system_tables(self) -> Found: ...

    @property
    def procedures(self) -> Mapping[str, Found]:
        """The names of the arguments of each."""
        ...

    def databases(self) -> Found: ...

    def tables(self, database: str) -> Found: ...

    def columns(self, database: str, table: str) -> Found: ...


class KnownNames:
    """The names of a catalog. What cannot be looked up is not completed: the statement itself will tell why."""

    system_tables = NAMES
    procedures: Mapping[str, Found] = {name: tuple(chain(*sql_signature(found))) for name, found in PROCEDURES.items()}

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: dict[tuple[str, ...], Found] = {}

    @property
    def catalog(self) -> str:
        return self._catalog.name

    def forget(self) -> None:
        """Looks names up again from here on."""
        self._known = {}

    def databases(self) -> Found:
        return self._look_up((), lambda: tuple(self._catalog.list_databases()))

    def tables(self, database: str) -> Found:
        return self._look_up((database,), lambda: tuple(self._catalog.list_tables(database)))

    def columns(self, database: str, table: str) -> Found:
        def names() -> Found:
            schema = self._catalog.find_table(Identifier(database, table))
            return () if schema is None else tuple(schema.names)

        return self._look_up((database, table), names)

    def _look_up(self, key: tuple[str, ...], read: Callable[[], Found]) -> Found:
        if key not in self._known:
            try:
                self._known[key] = read()
            except PaimonError:  # no such database, or the storage does not answer
                self._known[key] = ()
        return self._known[key]
