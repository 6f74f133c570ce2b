"""Statements of functions of a catalog of ours (features 8.3): DROP and SHOW; the others are refused by name."""

from __future__ import annotations

from paimon_spark.sql.listings import DropFunction, ShowFunctions
from paimon_spark.sql.queries.catalog_functions import refuse
from paimon_spark.sql.read_listing import pattern_of
from paimon_spark.sql.statements import Statement
from paimon_spark.sql.text.cursor import Cursor

_KINDS = ("USER", "SYSTEM", "ALL")


def read_function(cursor: Cursor) -> Statement | None:
    """DROP and SHOW of functions of ours; None: another statement, or one of Spark.

    Raises:
        SqlError: it is put together wrongly.
        UnsupportedFeature: CREATE, DESCRIBE or REFRESH of a function of ours.
    """
    verb = cursor.accept_any("CREATE", "DROP", "DESCRIBE", "DESC", "REFRESH", "SHOW")
    if verb == "SHOW":
        return _listed(cursor)
    cursor.accept("OR", "REPLACE")
    if not cursor.accept("FUNCTION"):  # a temporary function is Spark's
        return None
    cursor.accept("IF", "NOT", "EXISTS")
    if_exists = cursor.accept("IF", "EXISTS")
    cursor.accept("EXTENDED")
    token, at = cursor.peek(), cursor.offset()
    if token is None or not token.is_name:
        return None
    parts = cursor.parts("the name of a function")
    changes = verb in ("CREATE", "DROP")  # names without the catalog of built-in functions can be described
    found = cursor.names.find_table(parts) if changes else None
    if not cursor.names.is_certain(parts) and found is None:
        return None
    if verb != "DROP" or found is None or found.database is None:
        refuse(cursor.text, at, f"{verb} FUNCTION {'.'.join(parts)}")
    cursor.expect_end()
    return DropFunction(found.database, found.table, if_exists)


def _listed(cursor: Cursor) -> Statement | None:
    kind = cursor.accept_any(*_KINDS) or "ALL"
    if not cursor.accept("FUNCTIONS") or cursor.accept_any("FROM", "IN") is None:
        return None
    token, at = cursor.peek(), cursor.offset()
    if token is None or not token.is_name:
        return None
    parts = cursor.parts("the name of a database")
    if len(parts) == 1 and parts[0].lower() == cursor.names.catalog.lower():
        refuse(cursor.text, at, f"SHOW FUNCTIONS IN {'.'.join(parts)}")
    database = cursor.names.find_database(parts)
    if database is None:
        return None
    found = ShowFunctions(database, kind, pattern_of(cursor))
    cursor.expect_end()
    return found
