"""The entry: which statement a text is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from paimon_spark.errors import SqlError, UnsupportedFeature, similar_names
from paimon_spark.sql.queries.query import Query
from paimon_spark.sql.queries.read_query import QUERY_VERBS, keep_tokens, read_query
from paimon_spark.sql.queries.references import is_named, named_tables, refuse_foreign
from paimon_spark.sql.read_copy import read_copy
from paimon_spark.sql.read_create import read_create_table
from paimon_spark.sql.read_database import (
    read_alter_database,
    read_comment_on_database,
    read_create_database,
    read_drop_database,
    read_set_catalog,
    read_use,
)
from paimon_spark.sql.read_function import read_function
from paimon_spark.sql.read_insert import read_insert
from paimon_spark.sql.read_listing import read_describe, read_show
from paimon_spark.sql.read_row_change import read_row_change, with_common_tables
from paimon_spark.sql.read_table import (
    read_alter,
    read_analyze,
    read_comment,
    read_drop,
    read_refresh,
    read_repair,
    read_truncate,
)
from paimon_spark.sql.read_view import read_alter_view, read_create_view, read_drop_view
from paimon_spark.sql.statements import (
    CacheQuery,
    Call,
    CreateView,
    Explain,
    InsertSeveral,
    Refresh,
    Statement,
    Untouched,
    ViewColumn,
)
from paimon_spark.sql.text.cursor import Cursor
from paimon_spark.sql.text.lexer import Kind, Token, error_at, tokenize
from paimon_spark.sql.text.literals import Value
from paimon_spark.sql.text.names import Names

_ROW_CHANGES = frozenset({"MERGE", "UPDATE", "DELETE"})
_EXPLAIN_MODES = ("EXTENDED", "CODEGEN", "COST", "FORMATTED")


def parse(text: str, names: Names) -> Statement:
    """What a text of one statement asks for.

    Args:
        text: in the SQL of Spark 4 and Paimon. A semicolon may end it.
        names: how the session names tables of ours.

    Returns:
        ``Untouched`` if no table, database or procedure of ours is named, also if the text is no SQL at all.

    Raises:
        SqlError: something of ours is named, and the text is not understood, or holds several statements.
        UnsupportedFeature: something of ours is named in a statement that this release does not have.
    """
    try:
        tokens = tokenize(text)
    except SqlError:
        ours = rf"\b(?:{re.escape(names.catalog)}|paimon_incremental_\w+|(?:vector|full_text)_search)\b"
        if re.search(ours, text, re.IGNORECASE):
            raise
        return Untouched(text)
    while tokens and tokens[-1].upper == ";":
        tokens = tokens[:-1]
    if not tokens:
        return Untouched(text)
    for token, following in pairwise(tokens):
        if token.upper == ";":
            said = "one statement at a time: a second one begins here; run each by a call of its own"
            if tokens[0].upper == "BEGIN":
                if not named_tables(tokens, names):
                    return Untouched(text)
                said = "one statement at a time: Spark runs scripts (BEGIN ... END), and does not know tables of ours"
            raise error_at(text, following.start, said)
    return _statement(text, tokens, names)


def _statement(text: str, tokens: Sequence[Token], names: Names) -> Statement:
    cursor = Cursor(text, tokens, names)
    for read in _READERS.get(tokens[0].upper, ()):
        cursor.at = 0
        found = read(cursor)
        if found is not None:
            return found
    return _in_spark(Cursor(text, tokens, names))


def _explain(cursor: Cursor) -> Statement | None:
    cursor.expect("EXPLAIN")
    mode = cursor.accept_any(*_EXPLAIN_MODES) or ""
    rest = cursor.tokens[cursor.at :]
    if not rest:
        return None
    inner = _statement(keep_tokens(cursor.text, rest), rest, cursor.names)
    return None if isinstance(inner, Untouched) else Explain(mode, inner)


def _with(cursor: Cursor) -> Statement | None:
    """INSERT, UPDATE, DELETE or MERGE behind WITH."""
    for at in _outer_tokens(cursor):
        verb = cursor.tokens[at].upper
        if at == 0 or cursor.tokens[at - 1].upper != ")":
            continue
        if verb == "FROM":
            return _inserts(cursor, at)
        cursor.at = at
        if verb == "INSERT":
            return read_insert(cursor, cursor.tokens[:at])
        if verb in _ROW_CHANGES:
            found = read_row_change(cursor)
            return None if found is None else with_common_tables(found, cursor.text, cursor.tokens[:at], cursor.names)
    return None


def _from(cursor: Cursor) -> Statement | None:
    """FROM ... INSERT ..., once or several times."""
    return _inserts(cursor, 0)


def _inserts(cursor: Cursor, start: int) -> Statement | None:
    """The INSERTs behind a FROM; None: none of their tables is ours.

    Args:
        start: the index of FROM.

    Raises:
        UnsupportedFeature: some of several tables are ours, and some are Spark's.
    """
    tokens = cursor.tokens
    starts = [
        at
        for at in _outer_tokens(cursor)
        if at > start and tokens[at].upper == "INSERT" and tokens[at + 1 : at + 2]
        and tokens[at + 1].upper in ("INTO", "OVERWRITE")
    ]  # fmt: skip
    found = []
    for at, end in pairwise([*starts, len(tokens)]):
        inner = Cursor(cursor.text, tokens[:end], cursor.names)
        inner.at = at
        found.append(read_insert(inner, tokens[: starts[0]]))
    inserts = [insert for insert in found if insert is not None]
    if not inserts:
        return None
    if len(inserts) < len(found):
        cursor.at = starts[found.index(None)]
        raise cursor.unsupported("this table is Spark's, and another INSERT behind FROM is ours; write two statements")
    return inserts[0] if len(inserts) == 1 else InsertSeveral(tuple(inserts))


def _outer_tokens(cursor: Cursor) -> Iterator[int]:
    """The indexes of the tokens that stand in no parentheses."""
    depth = 0
    for at, token in enumerate(cursor.tokens):
        depth += token.nesting
        if depth == 0:
            yield at


def _cache(cursor: Cursor) -> Statement | None:
    """CACHE [LAZY] TABLE: of a query over tables of ours; None: of a temporary view, or of Spark alone."""
    cursor.expect("CACHE")
    is_lazy = cursor.accept("LAZY")
    token = cursor.peek(1)
    if not cursor.accept("TABLE") or token is None or not token.is_name:
        return None
    at, parts = cursor.offset(), cursor.parts()
    options = cursor.properties() if cursor.accept("OPTIONS") else {}
    cursor.accept("AS")
    if not cursor.is_done:
        query = read_query(cursor.text, cursor.tokens[cursor.at :], cursor.names)
        return CacheQuery(".".join(parts), query, is_lazy, options) if query.uses else Untouched(cursor.text)
    if not cursor.names.may_be_ours(parts):
        return None
    name = ".".join(parts)
    said = (
        f"CACHE TABLE {name}: each query plans the reads of its tables anew, so Spark would not find what it cached; "
        f"write CACHE TABLE <a new name> AS SELECT * FROM {name}, and read that"
    )
    raise UnsupportedFeature(str(error_at(cursor.text, at, said)))


def _uncache(cursor: Cursor) -> Statement | None:
    """UNCACHE TABLE of one of ours, of which nothing is cached; None: of a temporary view, or of Spark."""
    cursor.expect("UNCACHE")
    if not cursor.accept("TABLE"):
        return None
    if_exists = cursor.accept("IF", "EXISTS")
    token = cursor.peek()
    table = cursor.table() if token is not None and token.is_name else None
    return None if table is None else Refresh(table, if_exists)


_OF_OTHERS = frozenset({"OPTIMIZE", "VACUUM", "RESTORE", "FSCK", "REORG", "UNDROP", "CONVERT"})
_BEFORE_NAME = ("REPAIR", "TABLE", "FULL", "LITE", "TO", "DELTA")


def _of_others(cursor: Cursor) -> None:
    """A statement of another system about a table of ours is refused with what is written here; others are Spark's."""
    word, at = cursor.tokens[0].upper, cursor.offset()
    cursor.at = 1
    while cursor.accept_any(*_BEFORE_NAME) is not None:
        pass
    token = cursor.peek()
    if token is not None and token.is_name:
        parts = cursor.parts()
        if cursor.names.may_be_ours(parts):
            refuse_foreign(cursor, (word,), parts, at)


Reader: TypeAlias = Callable[[Cursor], Statement | None]


# -------------------------------------------------------------------------------------------------- statements of Spark


def _in_spark(cursor: Cursor) -> Statement:
    """A statement that Spark runs, in which tables of ours may be read."""
    text, tokens, names = cursor.text, cursor.tokens, cursor.names
    if names.database is None and not is_named(tokens, names):
        return Untouched(text)
    verb = tokens[0].upper
    if verb in QUERY_VERBS or verb in _ROW_CHANGES:
        return _or_untouched(read_query(text, tokens, names, whole=text))
    at = _query_start(tokens)
    if verb in ("DESC", "DESCRIBE") and (tokens[1].upper == "QUERY" or tokens[1].upper in QUERY_VERBS):
        return _or_untouched(read_query(text, tokens[2 if tokens[1].upper == "QUERY" else 1 :], names, whole=text))
    if verb == "CREATE" and at is not None and (view := _view(Cursor(text, tokens, names), at)) is not None:
        return view
    if at is not None and (verb == "INSERT" or [token.upper for token in tokens[:2]] == ["CREATE", "TABLE"]):
        return _or_untouched(read_query(text, tokens[at:], names, whole=text))
    if at is not None and [token.upper for token in tokens[:2]] in (["SET", "VAR"], ["SET", "VARIABLE"]):
        return _or_untouched(read_query(text, tokens[at:], names, whole=text))
    named = named_tables(tokens, names)
    if not named:
        return Untouched(text)
    raise _not_of_ours(tokens, named[0][1], "it is not left to Spark, which does not know them")


def _not_of_ours(tokens: Sequence[Token], parts: Sequence[str], what_then: str) -> UnsupportedFeature:
    words = " ".join(token.text for token in tokens[:2])
    near = similar_names(tokens[0].upper, (*_READERS, *QUERY_VERBS))
    if near and tokens[0].upper not in near:
        what_then = f"did you mean {near[0]}?"
    return UnsupportedFeature(
        f"SQL: {'.'.join(parts)} stands in a statement that begins with {words}, which this release of paimon_spark "
        f"does not have for tables of its own; {what_then}"
    )


def _or_untouched(query: Query) -> Statement:
    return query if query.uses else Untouched(query.text)


def _query_start(tokens: Sequence[Token]) -> int | None:
    """The index of the first token of the query in a statement; None: it has none."""
    depth = 0
    for at, token in enumerate(tokens):
        following = tokens[at + 1].upper if at + 1 < len(tokens) else ""
        if depth == 0 and at > 1 and token.kind in (Kind.WORD, Kind.SYMBOL):
            before = tokens[at - 1].upper
            if token.upper in ("SELECT", "VALUES", "FROM") or (
                token.upper == "WITH" and following not in ("(", "SCHEMA")
            ):
                return at
            if token.upper == "TABLE" and before not in ("INTO", "OVERWRITE", "CREATE", "REPLACE"):
                return at
            if token.upper == "(" and following in ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "("):
                return at
        depth += token.nesting
    return None


def _view(cursor: Cursor, at: int) -> Statement | None:
    """CREATE VIEW over tables of ours; None: another statement, or a view over Spark's tables alone."""
    cursor.expect("CREATE")
    replace = cursor.accept("OR", "REPLACE")
    is_global = cursor.accept("GLOBAL")
    temporary = cursor.accept_any("TEMP", "TEMPORARY") is not None
    if not cursor.accept("VIEW"):
        return None
    query = read_query(cursor.text, cursor.tokens[at:], cursor.names)
    if not query.uses:
        return Untouched(cursor.text)
    if not temporary:
        raise UnsupportedFeature(
            f"SQL: a permanent view over {query.uses[0].name} is not possible in Spark's catalog, since Spark keeps "
            "its text and knows no tables of ours; create it in a catalog of ours that has views "
            f"({cursor.names.catalog}.<database>.<view>), create a TEMPORARY VIEW, or publish the table"
        )
    name = cursor.name("the name of the view")
    columns = cursor.listed(lambda: _view_column(cursor)) if cursor.sees("(") else ()
    if cursor.accept("COMMENT"):
        cursor.string("the comment")  # Spark shows it nowhere
    cursor.expect("AS")
    if cursor.at != at:
        raise cursor.error("a temporary view over tables of ours takes a name, columns and AS with a query")
    return CreateView(name, query, replace, is_global, columns)


def _view_column(cursor: Cursor) -> ViewColumn:
    name = cursor.name("the name of a column")
    return ViewColumn(name, cursor.string("the comment") if cursor.accept("COMMENT") else None)


def read_call(cursor: Cursor) -> Call | None:
    """``CALL [catalog.]sys.procedure(value, name => value)``; None: a procedure of Spark.

    Raises:
        SqlError: an argument is an expression, is given twice, or has no name behind one that has.
    """
    cursor.expect("CALL")
    name = _procedure(cursor)
    if name is None:
        return None
    if not cursor.sees("("):
        raise cursor.error(f"the arguments of {name} are needed here in parentheses, such as (table => 'db.t')")
    positional: list[Value] = []
    named: dict[str, Value] = {}
    if not cursor.accept("(", ")"):
        cursor.listed(lambda: _argument(cursor, positional, named))
    cursor.expect_end()
    return Call(name, tuple(positional), named)


def _procedure(cursor: Cursor) -> str | None:
    """The name of a procedure of ours, in small letters."""
    token, at = cursor.peek(), cursor.offset()
    if token is None or not token.is_name:
        return None
    parts = cursor.parts("the name of a procedure")
    if cursor.names.is_certain(parts):
        if len(parts) != 3 or parts[1].lower() != "sys":
            name = parts[2] if len(parts) == 3 else "<procedure>"
            raise cursor.error(f"{'.'.join(parts)} names no procedure: write {cursor.names.catalog}.sys.{name}", at)
        return parts[2].lower()
    if len(parts) == 1 and cursor.names.database is not None:  # it means the current catalog, which is ours
        raise cursor.error(f"{parts[0]} names no procedure without its database: write sys.{parts[0]}", at)
    is_ours = cursor.names.is_alone or cursor.names.database is not None
    return parts[1].lower() if is_ours and len(parts) == 2 and parts[0].lower() == "sys" else None


def _argument(cursor: Cursor, positional: list[Value], named: dict[str, Value]) -> None:
    token, mark, at = cursor.peek(), cursor.peek(1), cursor.offset()
    if token is not None and token.is_name and mark is not None and mark.upper in ("=>", "="):
        name = token.name.lower()
        cursor.at += 2
        if name in named:
            raise cursor.error(f"the argument {name} is given twice", at)
        named[name] = cursor.literal(f"the argument {name}")
    elif named:
        raise cursor.error("an argument without a name cannot stand behind one with a name", at)
    else:
        name = f"number {len(positional) + 1}"
        positional.append(cursor.literal(f"the argument {name}"))
    if not cursor.is_literal_end():
        raise cursor.error(f"the argument {name} must be a literal: an expression is not possible here")


_READERS: Mapping[str, tuple[Reader, ...]] = {
    "EXPLAIN": (_explain,),
    "CALL": (read_call,),
    "WITH": (_with,),
    "FROM": (_from,),
    "INSERT": (read_insert,),
    "UPDATE": (read_row_change,),
    "DELETE": (read_row_change,),
    "MERGE": (read_row_change,),
    "COPY": (read_copy,),
    "CREATE": (read_function, read_create_table, read_create_database, read_create_view),
    "REPLACE": (read_create_table,),
    "DROP": (read_function, read_drop, read_drop_database, read_drop_view),
    "ALTER": (read_alter, read_alter_database, read_alter_view),
    "COMMENT": (read_comment, read_comment_on_database),
    "TRUNCATE": (read_truncate,),
    "ANALYZE": (read_analyze,),
    "REFRESH": (read_function, read_refresh),
    "MSCK": (read_repair,),
    "REPAIR": (read_repair,),
    "SHOW": (read_function, read_show),
    "DESCRIBE": (read_function, read_describe),
    "DESC": (read_function, read_describe),
    "USE": (read_use,),
    "SET": (read_set_catalog,),
    "CACHE": (_cache,),
    "UNCACHE": (_uncache,),
    **dict.fromkeys(_OF_OTHERS, (_of_others,)),
}
"""By the first word, what may read a statement of ours. Each returns None for a statement that is not its own."""
