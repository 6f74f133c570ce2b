"""A text that is nothing but a name."""

from __future__ import annotations

from dataclasses import replace

from paimon_spark.sql.text.cursor import Cursor
from paimon_spark.sql.text.lexer import tokenize
from paimon_spark.sql.text.names import Names, TableName


def read_table_name(text: str, names: Names) -> TableName:
    """The table of ours that a name means outside of SQL.

    Args:
        text: ``table``, ``database.table`` or ``catalog.database.table``, with backquotes where a part needs them; or
            the catalog and a path, as in SQL.
        names: with the database of names that have none.

    Raises:
        SqlError: it is no name of a table.
    """
    cursor = Cursor(text, tokenize(text), names)
    found = cursor.own_table()
    cursor.expect_end()
    return replace(found, is_bare=False)


def read_parts(text: str, names: Names) -> tuple[str, ...]:
    """The parts of a name, without backquotes.

    Raises:
        SqlError: it is no name.
    """
    cursor = Cursor(text, tokenize(text), names)
    parts = cursor.parts()
    cursor.expect_end()
    return parts


def column_path(text: str) -> tuple[str, ...]:
    """The parts of the name of a column, or of a field in it: ``address.city``, without backquotes.

    Raises:
        SqlError: it is no name.
    """
    return read_parts(text, Names("", None))
