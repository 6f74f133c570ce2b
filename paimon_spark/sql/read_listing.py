"""SHOW and DESCRIBE."""

from __future__ import annotations

from collections.abc import Callable

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.sql.listings import (
    DescribeDatabase,
    DescribeProcedure,
    DescribeTable,
    ShowCatalogs,
    ShowColumns,
    ShowCreateTable,
    ShowDatabases,
    ShowNamespace,
    ShowPartitions,
    ShowProcedures,
    ShowProperties,
    ShowTables,
    ShowTags,
)
from paimon_spark.sql.statements import Statement
from paimon_spark.sql.text.cursor import Cursor, read_partition
from paimon_spark.sql.text.lexer import Kind, error_at
from paimon_spark.sql.text.names import TableName

DATABASE_WORDS = ("DATABASE", "SCHEMA", "NAMESPACE")


def read_show(cursor: Cursor) -> Statement | None:
    """SHOW of something of ours; None: of Spark.

    Raises:
        SqlError: it is put together wrongly.
    """
    cursor.expect("SHOW")
    for words, read in _SHOWS.items():
        if cursor.accept(*words):
            found = read(cursor)
            if found is not None:
                cursor.expect_end()
            return found
    return None


def _place(cursor: Cursor) -> str | None:
    """The database of ours behind FROM or IN, or the current one; None: one of Spark."""
    if cursor.accept_any("FROM", "IN"):
        token = cursor.peek()
        if token is None or not token.is_name:
            return None
        return cursor.names.find_database(cursor.parts("the name of a database"))
    return cursor.names.database


def pattern_of(cursor: Cursor) -> str | None:
    """The pattern of LIKE, whose word may be missing; None: there is none."""
    token = cursor.peek()
    if cursor.accept("LIKE") or (token is not None and token.kind is Kind.STRING):
        return cursor.string("the pattern")
    return None


def _tables(kind: str) -> Callable[[Cursor], Statement | None]:
    def read(cursor: Cursor) -> Statement | None:
        database = _place(cursor)
        if database is None:
            return None
        pattern = pattern_of(cursor)
        if kind == "TABLE EXTENDED" and pattern is None:
            raise cursor.error("LIKE with a pattern is needed here")
        return ShowTables(database, kind, pattern, read_partition(cursor))

    return read


def _in_catalog(make: Callable[[str | None], Statement]) -> Callable[[Cursor], Statement | None]:
    """Databases or procedures of our catalog, if it is named or the current database is in it."""

    def read(cursor: Cursor) -> Statement | None:
        if cursor.accept_any("FROM", "IN"):
            token = cursor.peek()
            if token is None or not token.is_name or not cursor.names.is_catalog(cursor.parts()):
                return None
        elif cursor.names.database is None:
            return None
        return make(pattern_of(cursor))

    return read


def _procedures(cursor: Cursor) -> Statement | None:
    """All procedures are in the database sys of our catalog; Spark's own catalog has none."""
    names, at = cursor.names, cursor.offset()
    if cursor.accept_any("FROM", "IN"):
        token = cursor.peek()
        parts = cursor.parts() if token is not None and token.is_name else ()
        own = [part.lower() for part in (parts if names.is_catalog(parts[:1]) else (names.catalog, *parts))]
        if own[1:] not in ([], ["sys"]):
            raise cursor.error(f"{'.'.join(parts)} has no procedures: write SHOW PROCEDURES IN {names.catalog}", at)
    elif names.database is None:
        raise cursor.error(
            f"Spark's own catalog, which is current, has no procedures: write SHOW PROCEDURES IN {names.catalog}",
            at,
        )
    return ShowProcedures(pattern_of(cursor))


def _namespace(cursor: Cursor) -> Statement | None:
    return None if cursor.names.database is None else ShowNamespace(cursor.names.database)


def _of_table(make: Callable[[Cursor, TableName], Statement]) -> Callable[[Cursor], Statement | None]:
    def read(cursor: Cursor) -> Statement | None:
        token = cursor.peek()
        table = cursor.table() if token is not None and token.is_name else None
        return None if table is None else make(cursor, table)

    return read


def _columns(cursor: Cursor) -> Statement | None:
    """``SHOW COLUMNS FROM t [FROM db]``."""
    if cursor.accept_any("FROM", "IN") is None:
        return None
    token, at = cursor.peek(), cursor.offset()
    if token is None or not token.is_name:
        return None
    parts = cursor.parts("the name of a table")
    if cursor.accept_any("FROM", "IN"):
        parts = (*cursor.parts("the name of a database"), parts[-1])
    table = cursor.located(at, lambda: cursor.names.find_table(parts))
    return None if table is None else ShowColumns(table)


def _properties(cursor: Cursor, table: TableName) -> Statement:
    key = None
    if cursor.accept("("):
        key = cursor.property_key()
        cursor.expect(")")
    return ShowProperties(table, key)


def _create_table(cursor: Cursor, table: TableName) -> Statement:
    at = cursor.offset()
    if cursor.accept("AS", "SERDE"):
        said = "AS SERDE shows a table of Hive, which this is not; leave it out"
        raise UnsupportedFeature(str(error_at(cursor.text, at, said)))
    return ShowCreateTable(table)


_SHOWS: dict[tuple[str, ...], Callable[[Cursor], Statement | None]] = {
    ("TABLES",): _tables("TABLES"),
    ("VIEWS",): _tables("VIEWS"),
    ("TABLE", "EXTENDED"): _tables("TABLE EXTENDED"),
    ("CATALOGS",): lambda cursor: ShowCatalogs(pattern_of(cursor)),
    ("DATABASES",): _in_catalog(ShowDatabases),
    ("SCHEMAS",): _in_catalog(ShowDatabases),
    ("NAMESPACES",): _in_catalog(ShowDatabases),
    ("PROCEDURES",): _procedures,
    ("CURRENT", "DATABASE"): _namespace,
    ("CURRENT", "SCHEMA"): _namespace,
    ("CURRENT", "NAMESPACE"): _namespace,
    ("PARTITIONS",): _of_table(lambda cursor, table: ShowPartitions(table, read_partition(cursor))),
    ("COLUMNS",): _columns,
    ("CREATE", "TABLE"): _of_table(_create_table),
    ("TBLPROPERTIES",): _of_table(_properties),
    ("TAGS",): _of_table(lambda cursor, table: ShowTags(table)),
}


# ------------------------------------------------------------------------------------------------------------- DESCRIBE


def read_describe(cursor: Cursor) -> Statement | None:
    """DESCRIBE of a table, database or procedure of ours; None: of Spark, or of a query.

    Raises:
        SqlError: it is put together wrongly.
    """
    cursor.accept_any("DESCRIBE", "DESC")
    if cursor.accept_any(*DATABASE_WORDS):
        extended = cursor.accept("EXTENDED")
        token = cursor.peek()
        database = cursor.names.find_database(cursor.parts()) if token is not None and token.is_name else None
        return None if database is None else DescribeDatabase(database, extended)
    if cursor.accept("PROCEDURE"):
        parts = cursor.parts("the name of a procedure")
        is_ours = parts[-2:-1] == ("sys",) and (len(parts) == 2 or cursor.names.is_certain(parts))
        return DescribeProcedure(parts[-1].lower()) if is_ours else None
    cursor.accept("TABLE")
    extended = cursor.accept_any("EXTENDED", "FORMATTED") is not None
    token = cursor.peek()
    if token is None or not token.is_name or token.upper in ("QUERY", "FUNCTION", "SELECT", "WITH", "FROM", "VALUES"):
        return None
    table = cursor.table()
    if table is None:
        return None
    partition = read_partition(cursor)
    following = cursor.peek()
    is_column = following is not None and following.is_name and not cursor.sees("AS", "JSON")
    column = cursor.parts("the name of a column") if is_column else ()
    as_json = cursor.accept("AS", "JSON")
    cursor.expect_end()
    return DescribeTable(table, extended, partition, column, as_json)
