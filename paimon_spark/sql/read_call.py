"""CALL of a procedure, whose arguments are literals."""

from __future__ import annotations

from paimon_spark.sql.statements import Call
from paimon_spark.sql.text.cursor import Cursor
from paimon_spark.sql.text.literals import Value


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
    return parts[1].lower() if len(parts) == 2 and parts[0].lower() == "sys" else None


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
