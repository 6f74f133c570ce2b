"""A new table with the rows of a query: both, or neither."""

from __future__ import annotations

from pyspark.sql import DataFrame

from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.format.schema import TableSchema
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.table.table_api import PaimonTable


def create_filled_table(
    session: SqlSession, identifier: Identifier, schema: TableSchema, rows: DataFrame | None
) -> None:
    """Creates a table and writes its rows. If they cannot be written, the table is dropped again.

    Args:
        rows: None: the table is empty.

    Raises:
        TableAlreadyExists: there is one.
        PaimonError: the rows cannot be written.
    """
    session.catalog.create_table(identifier, schema)
    if rows is None:
        return
    try:
        PaimonTable(session.spark, session.catalog.table_location(identifier), session.storage_options).append(rows)
    except BaseException:
        session.catalog.drop_table(identifier, ignore_if_not_exists=True)
        raise
