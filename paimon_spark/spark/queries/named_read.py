"""A table by its name, as a DataFrame: what ``catalog.table`` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame

from paimon_spark.errors import OptionError
from paimon_spark.format.options.column_names import parse_columns
from paimon_spark.spark.queries.run_query import run_view
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.queries.table_use import ReadWish, plan_read
from paimon_spark.sql.queries.query import Travel
from paimon_spark.sql.text.names import TableName


def read_named(
    session: SqlSession,
    name: TableName,
    columns: str | Sequence[str] | None,
    where: str | Column | None,
    travel: Travel | None,
    options: Mapping[str, str],
    native: bool | None,
) -> DataFrame:
    """The rows of a table; see SessionCatalog.table."""
    names = parse_columns(columns) if isinstance(columns, str) else None if columns is None else tuple(columns)
    text = where if isinstance(where, str) else None
    view = session.find_view(name)
    if view is not None:
        if columns is not None or where is not None or travel is not None or options or native is not None:
            raise OptionError(f"reading {name}: it is a view, so choose columns and rows of the DataFrame")
        return run_view(session, name, view)
    frame = plan_read(session, ReadWish(name, names, text, travel, options, native)).run(session.spark).frame
    return frame if where is None or isinstance(where, str) else frame.where(where)
