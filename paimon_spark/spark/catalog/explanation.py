"""How the tables of a query are read, as text."""

from __future__ import annotations

from paimon_spark.errors import SqlError
from paimon_spark.spark.native.read_table import ReadExplanation
from paimon_spark.spark.queries.asking import Args
from paimon_spark.spark.queries.reading import read_statement
from paimon_spark.spark.queries.run_query import plan_query
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.sql import statements as s
from paimon_spark.sql.queries.query import Query, Use
from paimon_spark.sql.row_statements import Delete, Merge, Update


def explain_text(session: SqlSession, text: str, args: Args = None) -> str:
    """Plans the reads of the tables of a statement, and tells of each what it is. It reads metadata, and small tables.

    Raises:
        SqlError: the statement has no query over tables of this catalog.
    """
    statement = read_statement(session, text)
    query = statement if isinstance(statement, Query) else getattr(statement, "query", None)
    if isinstance(statement, s.Explain) and isinstance(statement.inner, Query):
        query = statement.inner
    if isinstance(statement, Delete | Update | Merge):
        where = " WHERE <condition>" if not isinstance(statement, Merge) else ""
        raise SqlError(
            f"SQL: this explains how a query reads its tables, and {type(statement).__name__.upper()} is none; explain "
            f"the query of the same rows: SELECT * FROM {statement.table}{where}"
        )
    if not isinstance(query, Query) or not query.uses:
        raise SqlError(f"SQL: no table of the catalog {session.catalog.name} is read here; {session.names.how_to}")
    return "\n".join(_told(use, told) for use, told in plan_query(session, query, args).told)


def _told(use: Use, told: ReadExplanation) -> str:
    columns = (
        f"all, because {use.why_all}" if told.columns is None else ", ".join(told.columns) or "none, rows are counted"
    )
    merged = "none" if not told.merged_splits else f"{told.merged_splits} splits of {told.merged_files} files"
    readers = [f"  read by Spark: {told.native_files} files", f"  read and merged by paimon_spark: {merged}"]
    if told.local_rows:
        readers = ["  read by the driver: all, for the rows are few"]
    if told.from_metadata is not None:
        readers = []
    lines = [
        str(use.name),
        f"  snapshot: {'none' if told.snapshot is None else told.snapshot.id}",
        f"  columns: {columns}",
        f"  condition: {told.where or 'none'}",
        *_by_metadata(told),
        *readers,
        *(f"    because {reason}" for reason in told.reasons),
        *([f"  left out by file indexes: {told.skipped_by_index} files"] if told.skipped_by_index else ()),
        *([f"  left out by the order and its limit: {told.skipped_by_order} files"] if told.skipped_by_order else ()),
    ]
    return "\n".join(lines)


def _by_metadata(told: ReadExplanation) -> list[str]:
    if told.from_metadata is not None:
        return [f"  answered by metadata: {told.from_metadata} files, of which none is opened"]
    return [f"  not answered by metadata, because {reason}" for reason in told.needs_rows]
