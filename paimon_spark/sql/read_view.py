"""CREATE, DROP and ALTER of a view that a catalog of ours stores."""

from __future__ import annotations

from dataclasses import replace

from paimon_spark.sql.queries.read_query import QUERY_VERBS
from paimon_spark.sql.statements import (
    CreateCatalogView,
    DropView,
    RenameView,
    ReplaceViewQuery,
    SetViewProperties,
    Statement,
    UnsetViewProperties,
)
from paimon_spark.sql.text.cursor import Cursor
from paimon_spark.sql.text.names import TableName


def read_create_view(cursor: Cursor) -> Statement | None:
    """CREATE [OR REPLACE] VIEW [IF NOT EXISTS] v [(columns)] [COMMENT '...'] [TBLPROPERTIES (...)] AS query.

    None: another statement, a temporary view, or a view of Spark.

    Raises:
        SqlError: it is put together wrongly.
        UnsupportedFeature: a clause that these views do not have.
    """
    cursor.expect("CREATE")
    is_replaced = cursor.accept("OR", "REPLACE")
    if not cursor.accept("VIEW"):
        return None
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    view = _view(cursor)
    if view is None:
        return None
    if is_replaced and if_not_exists:
        raise cursor.error("OR REPLACE and IF NOT EXISTS exclude each other")
    made = CreateCatalogView(view, "", is_replaced, if_not_exists)
    if cursor.sees("("):
        made = replace(made, columns=cursor.listed(lambda: _column(cursor)))
    while not cursor.accept("AS"):
        if cursor.accept("COMMENT"):
            made = replace(made, comment=cursor.string("the comment"))
        elif cursor.accept("TBLPROPERTIES"):
            made = replace(made, properties=cursor.properties())
        elif cursor.sees("WITH"):
            raise cursor.unsupported("views of a catalog have no METRICS and no SCHEMA clause")
        else:
            raise cursor.error("COMMENT, TBLPROPERTIES or AS with a query is needed here")
    return replace(made, text=_query(cursor))


def read_drop_view(cursor: Cursor) -> Statement | None:
    """DROP VIEW [IF EXISTS] v."""
    cursor.expect("DROP")
    if not cursor.accept("VIEW"):
        return None
    if_exists = cursor.accept("IF", "EXISTS")
    view = _view(cursor)
    if view is None:
        return None
    cursor.expect_end()
    return DropView(view, if_exists)


def read_alter_view(cursor: Cursor) -> Statement | None:
    """ALTER VIEW v RENAME TO, SET or UNSET TBLPROPERTIES, AS query."""
    cursor.expect("ALTER")
    if not cursor.accept("VIEW"):
        return None
    view = _view(cursor)
    if view is None:
        return None
    if cursor.accept("AS"):
        return ReplaceViewQuery(view, _query(cursor))
    made: Statement
    if cursor.accept("RENAME", "TO"):
        made = RenameView(view, _new_name(cursor, view))
    elif cursor.accept("SET", "TBLPROPERTIES"):
        made = SetViewProperties(view, cursor.properties())
    elif cursor.accept("UNSET", "TBLPROPERTIES"):
        cursor.accept("IF", "EXISTS")
        made = UnsetViewProperties(view, cursor.listed(cursor.property_key))
    else:
        raise cursor.unsupported("RENAME TO, SET TBLPROPERTIES, UNSET TBLPROPERTIES or AS with a query is needed here")
    cursor.expect_end()
    return made


def _view(cursor: Cursor) -> TableName | None:
    """The name of a view of ours; None: it is Spark's."""
    token, at = cursor.peek(), cursor.offset()
    found = cursor.table() if token is not None and token.is_name else None
    if found is not None and (found.is_path or found.suffixes):
        raise cursor.error(f"{found} is no name of a view: write {cursor.names.catalog}.<database>.<view>", at)
    return found


def _new_name(cursor: Cursor, view: TableName) -> TableName:
    at = cursor.offset()
    parts = cursor.parts("the new name")
    if len(parts) == 1:
        return TableName((*view.parts[:-1], *parts), view.database, parts[0])
    found = cursor.located(at, lambda: cursor.names.load_table(parts))
    if found.is_path or found.suffixes:
        raise cursor.error(f"{found} is no name of a view", at)
    return found


def _column(cursor: Cursor) -> tuple[str, str | None]:
    name = cursor.name("the name of a column")
    return name, cursor.string("the comment") if cursor.accept("COMMENT") else None


def _query(cursor: Cursor) -> str:
    """The characters of the query that ends the statement."""
    token = cursor.peek()
    if token is None or token.upper not in QUERY_VERBS:
        raise cursor.error("a query is needed here")
    return cursor.text[token.start : cursor.tokens[-1].end]
