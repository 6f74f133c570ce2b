"""INSERT, also behind WITH."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_spark.sql.queries.query import Query
from paimon_spark.sql.queries.read_query import QUERY_VERBS, read_query
from paimon_spark.sql.statements import Insert
from paimon_spark.sql.text.cursor import Cursor, read_partition
from paimon_spark.sql.text.lexer import Token


def read_insert(cursor: Cursor, common: Sequence[Token] = ()) -> Insert | None:
    """INSERT INTO or OVERWRITE a table of ours; None: one of Spark, or a directory.

    Args:
        common: the tokens of a WITH that stands before INSERT.

    Raises:
        SqlError: it is put together wrongly.
    """
    cursor.expect("INSERT")
    evolves = {"write.merge-schema": "true"} if cursor.accept("WITH", "SCHEMA", "EVOLUTION") else {}
    verb = cursor.accept_any("INTO", "OVERWRITE")
    cursor.accept("TABLE")
    token = cursor.peek()
    if verb is None or token is None or not token.is_name or cursor.sees("DIRECTORY") or cursor.sees("LOCAL"):
        return None
    table = cursor.table()
    if table is None:
        return None
    options = cursor.properties() if cursor.sees("WITH", "(") and cursor.accept("WITH") else {}
    partition = read_partition(cursor)
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    by_name = cursor.accept("BY", "NAME")
    columns = () if by_name or not _is_column_list(cursor) else cursor.name_list("the name of a column")
    replace_where = None
    if verb == "INTO" and cursor.accept("REPLACE", "WHERE"):
        replace_where = cursor.text_until(lambda: _sees_query(cursor), "a condition")
    return Insert(
        table=table,
        query=read_inner(cursor, common),
        overwrite=verb == "OVERWRITE",
        partition=partition,
        if_not_exists=if_not_exists,
        by_name=by_name,
        columns=columns,
        replace_where=replace_where,
        options={**evolves, **options},
    )


def read_inner(cursor: Cursor, common: Sequence[Token] = ()) -> Query:
    """The query that the rest of a statement is; it may hold tables of Spark alone.

    Raises:
        SqlError: the rest is no query.
    """
    token = cursor.peek()
    if token is None or token.upper not in QUERY_VERBS:
        raise cursor.error("a query is needed here, such as SELECT or VALUES")
    rest = cursor.tokens[cursor.at :]
    if not common:
        return read_query(cursor.text, rest, cursor.names)
    between = cursor.text[common[-1].end : rest[0].start]
    blank = "".join(c if c == "\n" else " " for c in between)
    text = cursor.text[: common[-1].end] + blank + cursor.text[rest[0].start :]
    return read_query(text, (*common, *rest), cursor.names)


def _sees_query(cursor: Cursor) -> bool:
    return any(cursor.sees(verb) for verb in ("SELECT", "WITH", "FROM", "VALUES", "TABLE"))


def _is_column_list(cursor: Cursor) -> bool:
    following = cursor.peek(1)
    return cursor.sees("(") and following is not None and following.upper not in QUERY_VERBS
