"""The one procedure that Spark sees: it runs a statement that Spark itself cannot hand to a catalog.

Java: org.apache.spark.sql.connector.catalog.procedures. Spark runs a procedure when it analyses CALL, and not for
EXPLAIN.
"""

from __future__ import annotations

from paimon_spark.errors import OptionError
from paimon_spark.format.quoting import quoted
from paimon_spark.spark.queries.reading import read_statement
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.spark_catalog.jvm_objects import Java, JvmObjects
from paimon_spark.spark.spark_catalog.scans import local_scan
from paimon_spark.spark.spark_catalog.sessions import CatalogSessions
from paimon_spark.spark.spark_catalog.spark_internals import dataset_of, has_no_cached_rows
from paimon_spark.spark.statements.run import run_sql
from paimon_spark.sql.statements import Call
from paimon_spark.sql.text.names import TableName

_PROCEDURES = "org.apache.spark.sql.connector.catalog.procedures."
_NAME, _ARGUMENT = "execute", "statement"


def execution(catalog: str, statement: str) -> str:
    """CALL of the procedure for a statement, whose bytes no setting of the parser changes."""
    quoted = catalog.replace("`", "``")
    return f"CALL `{quoted}`.sys.{_NAME}(X'{statement.encode().hex()}')"


def execute_procedure(sessions: CatalogSessions, name: str) -> Java:
    """The procedure of that name.

    Raises:
        OptionError: it is another one: the parser of the session is not ours.
    """
    if name != _NAME:
        raise OptionError(
            f"CALL of sys.{name}: the parser of this session was exchanged after the catalog was registered; register "
            "the catalog again"
        )
    constants = {"name": _NAME, "description": "Runs a statement of this catalog."}
    target = UnboundProcedure(sessions)
    return sessions.objects.make([_PROCEDURES + "UnboundProcedure"], target, constants)


class UnboundProcedure:
    """Answers for the procedure before its argument is known."""

    def __init__(self, sessions: CatalogSessions) -> None:
        self._sessions = sessions

    def bind(self, types: Java) -> Java:
        objects: JvmObjects = self._sessions.objects
        text, data_type = objects.type("java.lang.String"), objects.type("org.apache.spark.sql.types.DataType")
        binary = objects.static("org.apache.spark.sql.types.DataType.fromDDL")("BINARY")
        method = objects.type(_PROCEDURES + "ProcedureParameter").getMethod(
            "in", objects.array("java.lang.Class", [text, data_type])
        )  # a word of Python
        parameter = method.invoke(None, objects.array("java.lang.Object", [_ARGUMENT, binary])).build()
        constants = {
            "name": _NAME,
            "description": "",
            "isDeterministic": False,
            "parameters": objects.array(_PROCEDURES + "ProcedureParameter", [parameter]),
        }
        return objects.make([_PROCEDURES + "BoundProcedure"], BoundProcedure(self._sessions), constants)


class BoundProcedure:
    """Answers for the procedure: runs the statement in the session that calls it."""

    def __init__(self, sessions: CatalogSessions) -> None:
        self._sessions = sessions

    def call(self, row: Java) -> Java:
        session, text = self._sessions.current_with_names(), bytes(row.getBinary(0)).decode()
        result = run_sql(session, text)
        _refresh_cached(session, text)
        scans = self._sessions.objects.static("java.util.ArrayList")()
        if result.schema.fields:
            scans.add(local_scan(self._sessions.objects, dataset_of(result), "result of a statement"))
        return scans.iterator()


def _refresh_cached(session: SqlSession, text: str) -> None:
    """Spark reads a table again that it has cached and that a statement has changed, as after its own INSERT."""
    if has_no_cached_rows(session.spark):
        return
    statement = read_statement(session, text)
    changed = getattr(statement, "table", None)
    if isinstance(statement, Call):
        given = statement.named.get("table", statement.positional[0] if statement.positional else None)
        changed = changed or (session.table_name(given) if isinstance(given, str) else None)
    if isinstance(changed, TableName) and changed.database is not None:
        name = ".".join(map(quoted, (session.catalog.name, changed.database, changed.table)))
        if session.spark.catalog.tableExists(name):
            session.spark.catalog.refreshTable(name)
