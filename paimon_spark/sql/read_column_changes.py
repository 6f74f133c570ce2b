"""ALTER TABLE ... ADD, DROP, RENAME, ALTER, CHANGE, REPLACE COLUMN(S), in the grammar of Spark 4."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from paimon_spark.sql.read_create import column_type
from paimon_spark.sql.statements import (
    AddColumn,
    AlterColumns,
    ChangeColumn,
    ColumnChange,
    DropColumn,
    RenameColumn,
    ReplaceColumns,
)
from paimon_spark.sql.text.cursor import Cursor
from paimon_spark.sql.text.names import TableName

T = TypeVar("T")
_COLUMN = "the name of a column"
_WORDS = ("COLUMN", "COLUMNS")
_PLACES = (("FIRST",), ("AFTER",))


def read_column_changes(cursor: Cursor, table: TableName) -> AlterColumns | None:
    """The changes of columns behind ALTER TABLE t; None: it changes something else.

    Raises:
        SqlError: it is put together wrongly.
    """
    found: tuple[ColumnChange, ...]
    if cursor.sees("ADD", "COLUMN") or cursor.sees("ADD", "COLUMNS"):
        cursor.at += 2
        found = _some(cursor, lambda: _added(cursor))
    elif cursor.accept("RENAME", "COLUMN"):
        path = cursor.parts(_COLUMN)
        cursor.expect("TO")
        found = (RenameColumn(path, cursor.name(_COLUMN)),)
    elif cursor.sees("DROP", "COLUMN") or cursor.sees("DROP", "COLUMNS"):
        cursor.at += 2
        if_exists = cursor.accept("IF", "EXISTS")
        found = tuple(DropColumn(path, if_exists) for path in _some(cursor, lambda: cursor.parts(_COLUMN)))
    elif cursor.accept("REPLACE", "COLUMNS"):
        _some(cursor, lambda: _added(cursor))
        found = (ReplaceColumns(),)
    elif cursor.accept_any("ALTER", "CHANGE") is not None:
        cursor.accept_any(*_WORDS)
        found = _listed(cursor, lambda: _changed(cursor))
    else:
        return None
    return AlterColumns(table, found)


def _some(cursor: Cursor, item: Callable[[], T]) -> tuple[T, ...]:
    """A list with commas, in parentheses or without."""
    return cursor.listed(item) if cursor.sees("(") else _listed(cursor, item)


def _listed(cursor: Cursor, item: Callable[[], T]) -> tuple[T, ...]:
    items = [item()]
    while cursor.accept(","):
        items.append(item())
    return tuple(items)


def _ends(cursor: Cursor) -> bool:
    return cursor.is_done or cursor.sees(",") or cursor.sees(")")


def _added(cursor: Cursor) -> AddColumn:
    column = AddColumn(cursor.parts(_COLUMN), column_type(cursor, *_PLACES))
    while not _ends(cursor):
        if cursor.accept("NOT", "NULL"):
            column = replace(column, nullable=False)
        elif cursor.accept("COMMENT"):
            column = replace(column, comment=cursor.string("the comment"))
        elif cursor.accept("DEFAULT"):
            column = replace(column, default=_default(cursor))
        elif cursor.accept("FIRST"):
            column = replace(column, first=True)
        elif cursor.accept("AFTER"):
            column = replace(column, after=cursor.name(_COLUMN))
        else:
            raise cursor.error("NOT NULL, COMMENT, DEFAULT, FIRST, AFTER or the end of the column is needed here")
    return column


def _default(cursor: Cursor) -> str:
    stops = (("NOT", "NULL"), ("COMMENT",), *_PLACES)
    return cursor.text_until(lambda: any(cursor.sees(*words) for words in stops), "the default value")


def _changed(cursor: Cursor) -> ChangeColumn:
    path = cursor.parts(_COLUMN)
    made = ChangeColumn(path)
    if cursor.accept("TYPE"):
        return replace(made, type=column_type(cursor, *_PLACES))
    if cursor.accept("COMMENT"):
        return replace(made, comment=cursor.string("the comment"))
    if cursor.accept("FIRST"):
        return replace(made, first=True)
    if cursor.accept("AFTER"):
        return replace(made, after=cursor.name(_COLUMN))
    if cursor.accept("SET", "DEFAULT"):
        return replace(made, default=cursor.text_until(lambda: False, "the default value"))
    if cursor.accept("DROP", "DEFAULT"):
        return replace(made, default="")
    dropped = cursor.accept_any("SET", "DROP")
    if dropped is not None:
        cursor.expect("NOT", "NULL")
        return replace(made, nullable=dropped == "DROP")
    return _as_in_hive(cursor, made)


def _as_in_hive(cursor: Cursor, made: ChangeColumn) -> ChangeColumn:
    """``CHANGE COLUMN name name TYPE [COMMENT '...'] [FIRST | AFTER ...]``."""
    at = cursor.offset()
    token = cursor.peek()
    if token is None or not token.is_name:
        raise cursor.error("TYPE, COMMENT, FIRST, AFTER, SET or DROP is needed here")
    name = cursor.name(_COLUMN)
    if name.lower() != made.path[-1].lower():
        raise cursor.error(f"CHANGE COLUMN gives no other name; write RENAME COLUMN {made.path[-1]} TO {name}", at)
    made = replace(made, type=column_type(cursor, *_PLACES))
    if cursor.accept("COMMENT"):
        made = replace(made, comment=cursor.string("the comment"))
    if cursor.accept("FIRST"):
        made = replace(made, first=True)
    elif cursor.accept("AFTER"):
        made = replace(made, after=cursor.name(_COLUMN))
    return made
