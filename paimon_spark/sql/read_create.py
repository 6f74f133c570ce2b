"""CREATE TABLE with all its clauses, REPLACE TABLE, and CREATE TABLE ... LIKE."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.sql.queries.read_query import QUERY_VERBS
from paimon_spark.sql.queries.references import refuse_foreign
from paimon_spark.sql.read_insert import read_inner
from paimon_spark.sql.statements import ColumnDefinition, CreateTable
from paimon_spark.sql.text.cursor import Cursor
from paimon_spark.sql.text.names import TableName

_REFUSED = {
    "CLUSTERED": "set the table properties 'bucket' and 'bucket-key' instead",
    "CLUSTER": "set the table property 'clustering.columns' instead",
    "SKEWED": "Paimon tables have none",
    "STORED": "set the table property 'file.format' instead",
    "ROW": "Paimon tables have none",
    "DEFAULT": "Paimon tables have none",
}
_CONSTRAINTS = (("CONSTRAINT",), ("PRIMARY", "KEY"), ("UNIQUE", "("), ("FOREIGN", "KEY"), ("CHECK", "("))
_CHECKS = "Paimon checks no conditions on rows, so CHECK is not supported: filter the rows before they are written"
_KEYS = "set the table property 'primary-key' instead, such as TBLPROPERTIES ('primary-key' = 'id,dt')"


def read_create_table(cursor: Cursor) -> CreateTable | None:
    """CREATE [OR REPLACE] TABLE or REPLACE TABLE of ours; None: another statement, or a table of Spark.

    Raises:
        SqlError: it is put together wrongly.
        UnsupportedFeature: a clause that Paimon tables do not have.
    """
    create = cursor.accept("CREATE")
    is_replaced = cursor.accept("OR", "REPLACE") or (not create and cursor.accept("REPLACE"))
    cursor.accept("EXTERNAL")
    if not cursor.accept("TABLE"):
        return None
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    token = cursor.peek()
    if token is None or not token.is_name:
        return None
    first = cursor.at
    table = cursor.table()
    if table is None:
        _refuse_provider(cursor, "".join(token.text for token in cursor.tokens[first : cursor.at]))
        _refuse_like(cursor)
        return None
    if is_replaced and if_not_exists:
        raise cursor.error("OR REPLACE and IF NOT EXISTS exclude each other")
    made = CreateTable(table, if_not_exists=if_not_exists, replace=is_replaced, create=create)
    if cursor.accept("LIKE"):
        return _clauses(cursor, replace(made, like=cursor.parts("the name of a table")))
    if cursor.sees("(") and not _is_query(cursor):
        made = replace(made, columns=cursor.listed(lambda: read_column(cursor)))
    made = _clauses(cursor, made)
    if cursor.accept("AS") or _is_query(cursor):
        return replace(made, query=read_inner(cursor))
    cursor.expect_end()
    return made


def _refuse_provider(cursor: Cursor, name: str) -> None:
    """Refuse a table of Paimon in Spark's own catalog, which would keep its name and lose its place."""
    words = [token.upper for token in cursor.tokens[cursor.at :]]
    if ("USING", "PAIMON") in itertools.pairwise(words):
        names = cursor.names
        raise UnsupportedFeature(
            f"CREATE TABLE {name} USING paimon: Spark's own catalog, in which the name is, has no tables of Paimon; "
            f"write {names.catalog}.{names.first_database}.{name.rpartition('.')[2]}, and read a path by CREATE "
            "TEMPORARY VIEW v USING paimon OPTIONS (path '...')"
        )


def _refuse_like(cursor: Cursor) -> None:
    """Refuse a table of Spark that is to be made like one of ours."""
    if cursor.accept("LIKE") and cursor.peek() is not None and cursor.table() is not None:
        raise UnsupportedFeature("SQL: a table of Spark cannot be created LIKE one of Paimon; use CREATE TABLE ... AS")


def _is_query(cursor: Cursor) -> bool:
    token, following = cursor.peek(), cursor.peek(1)
    if token is None or token.upper not in QUERY_VERBS:
        return False
    return token.upper != "(" or (following is not None and following.upper in QUERY_VERBS)


# -------------------------------------------------------------------------------------------------------------- columns


def read_column(cursor: Cursor) -> ColumnDefinition:
    """``name type [NOT NULL] [COMMENT '...'] [DEFAULT expression]``.

    Raises:
        SqlError: it is put together wrongly.
        UnsupportedFeature: a constraint, or a generated column.
    """
    named = cursor.peek(2) if cursor.sees("CONSTRAINT") else None
    if cursor.sees("CHECK", "(") or (named is not None and named.upper == "CHECK"):
        raise cursor.unsupported(_CHECKS)
    if any(cursor.sees(*words) for words in _CONSTRAINTS):
        raise cursor.unsupported(f"constraints of a table are not supported: {_KEYS}")
    column = ColumnDefinition(cursor.name("the name of a column"), column_type(cursor))
    may_be_null = False
    while not (cursor.sees(",") or cursor.sees(")") or cursor.is_done):
        if cursor.accept("NOT", "NULL"):
            column = replace(column, nullable=False)
        elif cursor.accept("NULL"):
            may_be_null = True
        elif cursor.accept("COMMENT"):
            column = replace(column, comment=cursor.string("the comment"))
        elif cursor.accept("DEFAULT"):
            stops = lambda: cursor.sees("NOT", "NULL") or cursor.sees("COMMENT")  # noqa: E731
            column = replace(column, default=cursor.text_until(stops, "the default value"))
        elif cursor.sees("GENERATED"):
            raise cursor.unsupported(
                f"columns whose values are generated are not supported, as {column.name}: Paimon has none; compute the "
                "values in the query that inserts the rows, such as uuid() or monotonically_increasing_id()"
            )
        elif cursor.sees("CHECK"):
            raise cursor.unsupported(f"the column {column.name}: {_CHECKS}")
        elif cursor.sees("CONSTRAINT"):
            refuse_foreign(cursor, ("CONSTRAINT",), (), cursor.offset())
        elif cursor.sees("PRIMARY") or cursor.sees("UNIQUE"):
            raise cursor.unsupported(f"this is not supported for the column {column.name}: {_KEYS}")
        else:
            raise cursor.error("NOT NULL, COMMENT, DEFAULT or the end of the column is needed here")
        if may_be_null and not column.nullable:
            raise cursor.error(f"the column {column.name} is NOT NULL and NULL: leave one of them out")
    return column


def column_type(cursor: Cursor, *stops: tuple[str, ...]) -> str:
    """The type of a column as it is written; stops: further words that can follow it."""
    words = (
        *stops,
        ("NOT", "NULL"),
        ("NULL",),
        ("COMMENT",),
        ("DEFAULT",),
        ("GENERATED",),
        ("PRIMARY",),
        ("UNIQUE",),
        ("CHECK",),
    )
    return cursor.text_until(lambda: any(cursor.sees(*word) for word in words), "the type of the column", "([<")


# -------------------------------------------------------------------------------------------------------------- clauses


def _clauses(cursor: Cursor, made: CreateTable) -> CreateTable:
    """The clauses behind the columns, in any order, each once."""
    seen: set[str] = set()
    while (token := cursor.peek()) is not None and token.upper not in ("AS", *QUERY_VERBS):
        word, at = token.upper, cursor.offset()
        if word in seen:
            raise cursor.error(f"{word} stands here a second time", at)
        seen.add(word)
        if word in ("SHALLOW", "DEEP", "CLONE"):
            refuse_foreign(cursor, ("CLONE",), _cloned(cursor), at)
        if word in _REFUSED:
            raise cursor.unsupported(f"this clause is not supported for a table: {_REFUSED[word]}")
        read = _CLAUSES.get(word)
        if read is None:
            raise cursor.error("a clause of CREATE TABLE is needed here, such as PARTITIONED BY or TBLPROPERTIES")
        cursor.at += 1
        made = read(cursor, made)
    return made


def _cloned(cursor: Cursor) -> tuple[str, ...]:
    cursor.accept_any("SHALLOW", "DEEP")
    cursor.expect("CLONE")
    return cursor.parts("the name of a table")


def _partitioned(cursor: Cursor, made: CreateTable) -> CreateTable:
    cursor.expect("BY")
    columns: list[ColumnDefinition] = []

    def read() -> str:
        following = cursor.peek(1)
        name = cursor.name("a partition column")
        if cursor.sees("("):
            raise cursor.unsupported(
                f"PARTITIONED BY takes columns alone, not {name}(...): add a column with that value"
            )
        if following is not None and following.is_name:  # with its type, as Hive has it
            cursor.at -= 1
            columns.append(read_column(cursor))
        return name

    names = cursor.listed(read)
    return replace(made, partitioned_by=names, columns=(*made.columns, *columns))


def _provider(cursor: Cursor, made: CreateTable) -> CreateTable:
    return replace(made, provider=".".join(cursor.parts("the format of the table")).lower())


_CLAUSES: dict[str, Callable[[Cursor, CreateTable], CreateTable]] = {
    "USING": _provider,
    "PARTITIONED": _partitioned,
    "TBLPROPERTIES": lambda cursor, made: replace(made, properties=cursor.properties()),
    "OPTIONS": lambda cursor, made: replace(made, options=cursor.properties()),
    "LOCATION": lambda cursor, made: replace(made, location=cursor.string("the location")),
    "COMMENT": lambda cursor, made: replace(made, comment=cursor.string("the comment")),
}


def same_database(cursor: Cursor, table: TableName) -> TableName:
    """The next name as one of our catalog; without a database it is in that of another table."""
    at = cursor.offset()
    parts = cursor.parts("the new name")
    names = replace(cursor.names, database=table.database or cursor.names.database)
    found = cursor.located(at, lambda: names.find_table(parts))
    if found is None:
        raise cursor.error(f"{'.'.join(parts)} is no name of the catalog {names.catalog}: {names.how_to}", at)
    return replace(found, is_bare=False)
