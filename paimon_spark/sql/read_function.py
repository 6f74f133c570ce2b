"""Statements of functions (features 8.3): CREATE, DROP, SHOW and DESCRIBE."""

from __future__ import annotations

from dataclasses import replace

from paimon_spark.sql.listings import DescribeFunction, DropFunction, ShowFunctions
from paimon_spark.sql.queries.read_query import QUERY_VERBS
from paimon_spark.sql.queries.references import refuse
from paimon_spark.sql.read_create import column_type, read_column
from paimon_spark.sql.read_listing import pattern_of
from paimon_spark.sql.statements import ColumnDefinition, CreateFunction, Statement
from paimon_spark.sql.text.cursor import Cursor

_KINDS = ("USER", "SYSTEM", "ALL")
_RESOURCES = ("JAR", "FILE", "ARCHIVE")
_BEHIND_TYPE = (
    ("NOT",),
    ("LANGUAGE",),
    ("SPECIFIC",),
    ("DETERMINISTIC",),
    ("CONTAINS",),
    ("READS",),
    ("SQL",),
    ("RETURN",),
)
_SYSTEM = "sys"


def read_function(cursor: Cursor) -> Statement | None:
    """A statement of functions of ours; None: another statement, or one of Spark.

    Raises:
        SqlError: it is put together wrongly.
        UnsupportedFeature: a table function, or REFRESH of a function of ours.
    """
    verb = cursor.accept_any("CREATE", "DROP", "DESCRIBE", "DESC", "REFRESH", "SHOW")
    if verb == "SHOW":
        return _shown(cursor)
    replaces = cursor.accept("OR", "REPLACE")
    if not cursor.accept("FUNCTION"):  # a temporary function is Spark's
        return None
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    if_exists = cursor.accept("IF", "EXISTS")
    extended = cursor.accept("EXTENDED")
    token, at = cursor.peek(), cursor.offset()
    if token is None or not token.is_name:
        return None
    parts = cursor.parts("the name of a function")
    found = cursor.names.find_table(parts)
    if found is None or (parts[0].lower() == _SYSTEM and verb not in ("CREATE", "DROP")):
        return None
    if found.database is None or verb == "REFRESH":
        refuse(cursor.text, at, f"{verb} FUNCTION {'.'.join(parts)}")
    if verb == "CREATE":
        if replaces and if_not_exists:
            raise cursor.error("OR REPLACE and IF NOT EXISTS exclude each other: leave one of them out", at)
        return _created(cursor, CreateFunction(found.database, found.table, replaces, if_not_exists))
    cursor.expect_end()
    if verb == "DROP":
        return DropFunction(found.database, found.table, if_exists)
    return DescribeFunction(found.database, found.table, extended, len(parts) == 1)


def _shown(cursor: Cursor) -> Statement | None:
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


def _created(cursor: Cursor, made: CreateFunction) -> CreateFunction:
    """What stands behind the name: ``AS '<class>' USING ...``, or parameters, clauses and ``RETURN <body>``."""
    if cursor.accept("AS"):
        made = replace(made, class_name=cursor.string("the name of a class"))
        resources: list[tuple[str, str]] = []
        while cursor.accept("," if resources else "USING"):
            resources.append(_resource(cursor))
        cursor.expect_end()
        return replace(made, resources=tuple(resources))
    is_empty = cursor.accept("(", ")")
    made = replace(made, parameters=() if is_empty else cursor.listed(lambda: _parameter(cursor)))
    if cursor.accept("RETURNS"):
        if cursor.sees("TABLE"):
            raise cursor.unsupported(
                "functions that return a table are not stored, as the official connector stores none; make a view, or "
                "a function that returns one value"
            )
        made = replace(made, returns=column_type(cursor, *_BEHIND_TYPE))
    while not cursor.accept("RETURN"):
        made = _clause(cursor, made)
    first = cursor.peek()
    if first is None:
        raise cursor.error("an expression or a query is needed here")
    body = cursor.text[first.start : cursor.tokens[-1].end]
    return replace(made, body=body, is_query=first.upper in QUERY_VERBS and first.upper != "(")


def _resource(cursor: Cursor) -> tuple[str, str]:
    kind = cursor.accept_any(*_RESOURCES)
    if kind is None:
        raise cursor.error("JAR, FILE or ARCHIVE is needed here")
    return kind.lower(), cursor.string("the path of the file")


def _parameter(cursor: Cursor) -> ColumnDefinition:
    found = read_column(cursor)
    if not found.nullable:
        raise cursor.error(f"the parameter {found.name} is NOT NULL, which no parameter can be")
    return found


def _clause(cursor: Cursor, made: CreateFunction) -> CreateFunction:
    if cursor.accept("LANGUAGE", "SQL"):
        return made
    if cursor.accept("COMMENT"):
        return replace(made, comment=cursor.string("the comment"))
    if cursor.accept("DETERMINISTIC"):
        return replace(made, deterministic=True)
    if cursor.accept("NOT", "DETERMINISTIC"):
        return replace(made, deterministic=False)
    if cursor.accept("CONTAINS", "SQL"):
        return replace(made, contains_sql=True)
    if cursor.accept("READS", "SQL", "DATA"):
        return replace(made, contains_sql=False)
    raise cursor.error("RETURN is needed here, or LANGUAGE SQL, COMMENT, [NOT] DETERMINISTIC, CONTAINS SQL")
