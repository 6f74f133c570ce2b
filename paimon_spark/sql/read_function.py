"""Statements of functions that a catalog of ours would store (features 8.3): all are refused by name."""

from __future__ import annotations

from paimon_spark.sql.queries.catalog_functions import refuse
from paimon_spark.sql.text.cursor import Cursor

_KINDS = ("USER", "SYSTEM", "ALL")


def refuse_function(cursor: Cursor) -> None:
    """Refuses CREATE, DROP, DESCRIBE, REFRESH and SHOW of functions of ours; leaves all other statements alone.

    Raises:
        UnsupportedFeature: the function is one of ours.
    """
    verb = cursor.accept_any("CREATE", "DROP", "DESCRIBE", "DESC", "REFRESH", "SHOW")
    if verb == "SHOW":
        _refuse_list(cursor)
        return
    cursor.accept("OR", "REPLACE")
    if not cursor.accept("FUNCTION"):  # a temporary function is Spark's
        return
    cursor.accept("IF", "NOT", "EXISTS")
    cursor.accept("IF", "EXISTS")
    cursor.accept("EXTENDED")
    token, at = cursor.peek(), cursor.offset()
    if token is None or not token.is_name:
        return
    parts = cursor.parts("the name of a function")
    changes = verb in ("CREATE", "DROP")  # names without the catalog of built-in functions can be described
    if cursor.names.is_certain(parts) or (changes and cursor.names.find_table(parts) is not None):
        refuse(cursor.text, at, f"{verb} FUNCTION {'.'.join(parts)}")


def _refuse_list(cursor: Cursor) -> None:
    cursor.accept_any(*_KINDS)
    if not cursor.accept("FUNCTIONS") or cursor.accept_any("FROM", "IN") is None:
        return
    token, at = cursor.peek(), cursor.offset()
    if token is not None and token.is_name:
        parts = cursor.parts("the name of a database")
        if cursor.names.find_database(parts) is not None or parts[0].lower() == cursor.names.catalog.lower():
            refuse(cursor.text, at, f"SHOW FUNCTIONS IN {'.'.join(parts)}")
