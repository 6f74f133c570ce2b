"""Queries: each table of ours becomes a DataFrame with the columns and rows that the query needs; Spark runs the rest.

The user's own characters go to ``spark.sql``, with ``{paimon_0}`` in the place of the first table, and so on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from paimon_spark.format.quoting import quoted
from paimon_spark.spark.native.read_table import ReadExplanation
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.queries.table_use import TableRead, plan_use
from paimon_spark.sql.queries.query import Query, Use
from paimon_spark.sql.statements import Untouched

Args = Mapping[str, Any] | Sequence[Any] | None
_FRAME = "paimon_{}"


@dataclass(frozen=True)
class QueryFrames:
    """A query with the DataFrames of its tables.

    Attributes:
        text: for ``spark.sql(text, **frames)``.
        frames: by their names in the text.
        told: of each table that was exchanged, how it is read.
    """

    text: str
    frames: Mapping[str, DataFrame]
    told: tuple[tuple[Use, ReadExplanation], ...]


def run_query(session: SqlSession, query: Query, args: Args = None) -> DataFrame:
    """The result of a query, as a DataFrame.

    Args:
        args: for the parameters of the query, as ``spark.sql`` takes them.

    Raises:
        TableNotFound: a table of ours is not there.
        PaimonError: a table of ours cannot be read as the query asks.
        AnalysisException: Spark does not understand the rest.
    """
    planned = plan_query(session, query, args)
    return session.spark.sql(planned.text, args, **planned.frames)  # type: ignore[arg-type]  # its stub lacks Mapping


def run_untouched(session: SqlSession, statement: Untouched, args: Args = None) -> DataFrame:
    """What Spark makes of a statement that names nothing of ours."""
    return session.spark.sql(statement.text, args)  # type: ignore[arg-type]  # its stub lacks Mapping


def plan_query(session: SqlSession, query: Query, args: Args = None) -> QueryFrames:
    """The DataFrames of the tables of a query. Equal uses of a table share one, so that it is planned once."""
    named = args if isinstance(args, Mapping) else {}
    frames: dict[str, DataFrame] = {}
    made: dict[TableRead, str] = {}
    names: list[str | None] = []
    told: list[tuple[Use, ReadExplanation]] = []
    for use in query.uses:
        if use.name.is_bare and is_temporary_view(session, use.name.table):
            names.append(None)
            continue
        used = plan_use(session, use, named)
        if used not in made:
            made[used] = _FRAME.format(len(made))
            found = used.run(session.spark)
            frames[made[used]] = found.frame
            told.append((use, found.told))
        names.append(made[used])
    return QueryFrames(query.render(names), frames, tuple(told))


def is_temporary_view(session: SqlSession, name: str) -> bool:
    """Whether Spark has a temporary view of a name, which comes before a table of the current database."""
    try:
        return session.spark.catalog.getTable(quoted(name)).isTemporary
    except AnalysisException:
        return False
