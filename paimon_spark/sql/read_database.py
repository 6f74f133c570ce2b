"""CREATE, DROP and ALTER DATABASE, USE and SET CATALOG."""

from __future__ import annotations

from dataclasses import replace

from paimon_spark.sql.listings import AlterDatabase, CreateDatabase, DropDatabase, UseDatabase
from paimon_spark.sql.read_listing import DATABASE_WORDS
from paimon_spark.sql.statements import Statement
from paimon_spark.sql.text.cursor import Cursor
from paimon_spark.sql.text.lexer import Kind


def _database(cursor: Cursor) -> str | None:
    """The database of ours that comes next; None: one of Spark."""
    token, at = cursor.peek(), cursor.offset()
    if token is None or not token.is_name:
        return None
    parts = cursor.parts("the name of a database")
    if cursor.names.is_certain(parts) and len(parts) != 2:
        raise cursor.error(f"{'.'.join(parts)} names no database: write {cursor.names.catalog}.<database>", at)
    return cursor.names.find_database(parts)


def read_create_database(cursor: Cursor) -> Statement | None:
    """CREATE DATABASE [IF NOT EXISTS] d [COMMENT '...'] [LOCATION '...'] [WITH DBPROPERTIES (...)]."""
    cursor.expect("CREATE")
    if cursor.accept_any(*DATABASE_WORDS) is None:
        return None
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    database = _database(cursor)
    if database is None:
        return None
    made = CreateDatabase(database, if_not_exists)
    while not cursor.is_done:
        if cursor.accept("COMMENT"):
            made = replace(made, comment=cursor.string("the comment"))
        elif cursor.accept("LOCATION"):
            made = replace(made, location=cursor.string("the location"))
        elif cursor.accept("WITH", "DBPROPERTIES") or cursor.accept("WITH", "PROPERTIES"):
            made = replace(made, properties=cursor.properties())
        else:
            raise cursor.error("COMMENT, LOCATION, WITH DBPROPERTIES or the end is needed here")
    return made


def read_drop_database(cursor: Cursor) -> Statement | None:
    """DROP DATABASE [IF EXISTS] d [RESTRICT | CASCADE]."""
    cursor.expect("DROP")
    if cursor.accept_any(*DATABASE_WORDS) is None:
        return None
    if_exists = cursor.accept("IF", "EXISTS")
    database = _database(cursor)
    if database is None:
        return None
    cascade = cursor.accept_any("RESTRICT", "CASCADE") == "CASCADE"
    cursor.expect_end()
    return DropDatabase(database, if_exists, cascade)


def read_alter_database(cursor: Cursor) -> Statement | None:
    """ALTER DATABASE d SET or UNSET DBPROPERTIES, or SET LOCATION."""
    cursor.expect("ALTER")
    if cursor.accept_any(*DATABASE_WORDS) is None:
        return None
    database = _database(cursor)
    if database is None:
        return None
    if cursor.accept("SET", "LOCATION"):
        made = AlterDatabase(database, location=cursor.string("the location"))
    elif cursor.accept("SET", "DBPROPERTIES") or cursor.accept("SET", "PROPERTIES"):
        made = AlterDatabase(database, properties=cursor.properties())
    elif cursor.accept("UNSET", "DBPROPERTIES") or cursor.accept("UNSET", "PROPERTIES"):
        made = AlterDatabase(database, unset=cursor.listed(cursor.property_key))
    else:
        raise cursor.error("SET DBPROPERTIES, UNSET DBPROPERTIES or SET LOCATION is needed here")
    cursor.expect_end()
    return made


def read_comment_on_database(cursor: Cursor) -> Statement | None:
    """COMMENT ON DATABASE d IS 'text'."""
    if not cursor.accept("COMMENT", "ON") or cursor.accept_any(*DATABASE_WORDS) is None:
        return None
    database = _database(cursor)
    if database is None:
        return None
    cursor.expect("IS")
    if cursor.accept("NULL"):
        return AlterDatabase(database, unset=("comment",))
    return AlterDatabase(database, properties={"comment": cursor.string("the comment")})


def read_use(cursor: Cursor) -> Statement | None:
    """USE [DATABASE] d, USE <catalog>, USE <catalog>.d; None: the session stays with Spark's catalogs."""
    cursor.expect("USE")
    is_database = cursor.accept_any(*DATABASE_WORDS) is not None
    token = cursor.peek()
    if token is None or not token.is_name:
        return None
    parts, names = cursor.parts("the name of a database"), cursor.names
    cursor.expect_end()
    if not is_database and names.is_catalog(parts):
        return UseDatabase(names.first_database, cursor.text)
    database = names.find_database(parts)
    if database is None and names.database is None:
        return None
    return UseDatabase(database, cursor.text)


def read_set_catalog(cursor: Cursor) -> Statement | None:
    """SET CATALOG c, a name or a string; None: another SET, or the session stays with Spark's catalogs."""
    token = cursor.peek(2)
    if not cursor.accept("SET", "CATALOG") or token is None or not (token.is_name or token.kind is Kind.STRING):
        return None
    parts = cursor.parts() if token.is_name else (cursor.string("the name of a catalog"),)
    cursor.expect_end()
    if cursor.names.is_catalog(parts):
        return UseDatabase(cursor.names.first_database, cursor.text)
    return None if cursor.names.database is None else UseDatabase(None, cursor.text)
