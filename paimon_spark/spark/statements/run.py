"""The entry: does what a text of SQL asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from paimon_spark.errors import DatabaseNotFound, TableNotFound
from paimon_spark.spark.adapters.errors import not_logged, without_call_sites
from paimon_spark.spark.queries.asking import Args
from paimon_spark.spark.queries.reading import named_in_spark, read_statement
from paimon_spark.spark.queries.run_query import run_query, run_untouched
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.sql import statements as s
from paimon_spark.sql.queries.query import Query

if TYPE_CHECKING:
    from paimon_spark.procedures.databases import RefreshMaterializedTableResult
    from paimon_spark.sql.text.names import TableName
    from paimon_spark.store.compact.partition_choice import Partitions


def run_sql(session: SqlSession, text: str, args: Args = None) -> DataFrame:
    """Runs one statement.

    Args:
        text: SQL of Spark, with the statements and the names of Paimon.
        args: for parameters of queries, as ``spark.sql`` takes them.

    Returns:
        What Spark would return: the rows of a query or of what is shown, no rows of other statements. A query runs when
        its rows are asked for; all other statements have been done.

    Raises:
        SqlError: something of ours is named, and the text is not understood.
        UnsupportedFeature: something of ours is named in a statement that this release does not have.
        PaimonError: the statement cannot be done.
        AnalysisException, ParseException: of Spark, for what it runs.
    """
    statement = read_statement(session, text)
    try:
        with not_logged():
            return run_statement(session, statement, args)
    except (TableNotFound, DatabaseNotFound) as error:
        raise named_in_spark(session, statement, error) from None


@without_call_sites()
def run_statement(session: SqlSession, statement: s.Statement, args: Args = None) -> DataFrame:
    """Does a statement that is read already; see run_sql."""
    session.begin()
    if isinstance(statement, Query):
        return run_query(session, statement, args)
    if isinstance(statement, s.Untouched):
        return run_untouched(session, statement, args)
    if isinstance(statement, s.Call):
        from paimon_spark.spark.statements.calls import run_call  # without what does the other statements

        return run_call(session, statement, _refresh)
    from paimon_spark.spark.statements.runners import run_change  # a session that only asks does not wait for it

    return run_change(session, statement, args, read_statement)


def _refresh(session: SqlSession, name: TableName, partition: Partitions | None) -> RefreshMaterializedTableResult:
    from paimon_spark.spark.statements.refreshes import refresh

    return refresh(read_statement, session, name, partition)
