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
    return "\n".join(_explained(use, read) for use, read in plan_query(session, query, args).explanations)


def _explained(use: Use, read: ReadExplanation) -> str:
    columns = (
        f"all, because {use.why_all}" if read.columns is None else ", ".join(read.columns) or "none, rows are counted"
    )
    merged = "none" if not read.merged_splits else f"{read.merged_splits} splits of {read.merged_files} files"
    readers = [f"  read by Spark: {read.native_files} files", f"  read and merged by paimon_spark: {merged}"]
    if read.local_rows:
        readers = ["  read by the driver: all, for the rows are few"]
    if read.from_metadata is not None:
        readers = []
    lines = [
        str(use.name),
        f"  snapshot: {'none' if read.snapshot is None else read.snapshot.id}",
        f"  columns: {columns}",
        f"  condition: {read.where or 'none'}",
        *_by_metadata(read),
        *readers,
        *(f"    because {reason}" for reason in read.reasons),
        *([f"  left out by file indexes: {read.skipped_by_index} files"] if read.skipped_by_index else ()),
        *([f"  left out by the order and its limit: {read.skipped_by_order} files"] if read.skipped_by_order else ()),
    ]
    return "\n".join(lines)


def _by_metadata(read: ReadExplanation) -> list[str]:
    if read.from_metadata is not None:
        return [f"  answered by metadata: {read.from_metadata} files, of which none is opened"]
    return [f"  not answered by metadata, because {reason}" for reason in read.needs_rows]
