"""Permanent names of tables in Spark's own catalog.

Spark keeps neither the path nor the options of a table whose source is written in Python. It keeps the text of a view
over such a table, though, and with it the options behind WITH. So a published table is two entries of Spark's catalog:
a table that only has the columns, and a view over it that has the path.
"""

from __future__ import annotations

from paimon_spark.errors import NameTaken, OptionError, SqlError
from paimon_spark.format.quoting import quoted
from paimon_spark.spark.adapters.options import PATH
from paimon_spark.spark.adapters.types import declared_type
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.sql.text.names import TableName
from paimon_spark.sql.text.single_name import read_parts
from paimon_spark.sql.text.writing import literal_text
from paimon_spark.store.storage.publishers import CONNECTION

_COLUMNS_SUFFIX = "__paimon_columns"
_SECRETS = ("secret", "password", "token", "access-key", "accesskey")


def publish(session: SqlSession, name: TableName, as_: str) -> None:
    """Makes the permanent view, or makes it anew; see SessionCatalog.publish.

    Raises:
        TableNotFound: there is no such table.
        SqlError: the name for Spark is none.
        OptionError: the options of the catalog hold secrets, which Spark would keep as plain text.
        NameTaken: Spark has a table of that name, or a view that was not published.
    """
    secrets = sorted(key for key in session.storage_options if any(word in key.lower() for word in _SECRETS))
    if secrets:
        raise OptionError(
            f"publishing {name}: the options {', '.join(secrets)} of the catalog would stand as plain text in Spark's "
            "catalog; give the credentials through the environment of the processes instead"
        )
    columns = ", ".join(f"{quoted(f.name)} {declared_type(f.type)}" for f in session.fields(name))
    parts = _parts(session, as_)
    view = ".".join(quoted(part) for part in parts)
    carrier = ".".join(quoted(part) for part in (*parts[:-1], f"{parts[-1]}{_COLUMNS_SUFFIX}"))
    _check_free(session, view, carrier)
    storage = {key: value for key, value in session.storage_options.items() if key != CONNECTION}  # a view only reads
    options = {PATH: session.location(name), **storage}
    pairs = ", ".join(f"{literal_text(key)} = {literal_text(value)}" for key, value in options.items())
    session.spark.sql(f"DROP VIEW IF EXISTS {view}")
    session.spark.sql(f"DROP TABLE IF EXISTS {carrier}")
    session.spark.sql(f"CREATE TABLE {carrier} ({columns}) USING paimon")
    session.spark.sql(f"CREATE VIEW {view} AS SELECT * FROM {carrier} WITH ({pairs})")


def _parts(session: SqlSession, as_: str) -> tuple[str, ...]:
    parts = read_parts(as_, session.names)
    if session.names.is_certain(parts):
        raise SqlError(f"publishing as {as_}: this is a name of the catalog {session.catalog.name}, not one of Spark's")
    return parts


def _check_free(session: SqlSession, view: str, carrier: str) -> None:
    """Refuses a name that Spark has for something else than a table that was published."""
    if session.spark.catalog.tableExists(view) and not session.spark.catalog.tableExists(carrier):
        raise NameTaken(f"publishing as {view}: Spark's catalog has another table or view of that name; choose another")
