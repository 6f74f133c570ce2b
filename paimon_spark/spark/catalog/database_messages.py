"""What ``SessionCatalog.sync_database`` does: the tables of a database follow one stream of change messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import Identifier, check_not_system
from paimon_spark.format.schema import TableSchema
from paimon_spark.spark.adapters.errors import named_batch
from paimon_spark.spark.adapters.options import path_in_session
from paimon_spark.spark.cdc.database_sync import DatabasePlan, DatabaseTarget, NewTables, sync_database_batch
from paimon_spark.spark.cdc.table_sync import Once, check_stream
from paimon_spark.spark.stream_sink.query import StreamIdentity
from paimon_spark.spark.table.table_api import PaimonTable
from paimon_spark.spark.table.table_writes import TableTarget
from paimon_spark.writes.write_job import WriteResult

__all__ = ["DatabasePlan", "NewTables", "keys_by_table", "sync_messages"]


def keys_by_table(keys: Mapping[str, Sequence[str]] | Sequence[str]) -> Mapping[str, Sequence[str]]:
    """The keys by table; a list of columns is the key of all tables."""
    return keys if isinstance(keys, Mapping) else {"*": keys} if keys else {}


def sync_messages(
    catalog: Catalog,
    messages: DataFrame,
    database: str,
    plan: DatabasePlan,
    dead_letters: str | None,
    checkpoint: str | None,
    once: Once | None,
) -> dict[str, WriteResult] | DataStreamWriter:
    """Writes a batch, or makes the writer of a stream.

    Args:
        database: of the catalog; it is made if it is missing.
        dead_letters: the path of a table for them; None: there must be none.
        checkpoint: of a stream.
    """
    check_stream(messages, checkpoint)
    catalog.create_database(database, ignore_if_exists=True)
    if not messages.isStreaming:
        target = _target(messages.sparkSession, catalog, database, dead_letters)
        return sync_database_batch(messages, plan, target, once)
    identity = StreamIdentity(checkpoint)

    def batch(frame: DataFrame, number: int) -> None:
        spark = frame.sparkSession
        with named_batch(number, f"the database {database}"):
            target = _target(spark, catalog, database, dead_letters)
            sync_database_batch(frame, plan, target, (identity.query(spark), number))

    return messages.writeStream.foreachBatch(batch).option("checkpointLocation", checkpoint or "")


def _target(spark: SparkSession, catalog: Catalog, database: str, dead_letters: str | None) -> DatabaseTarget:
    options = catalog.table_options()

    def opened(name: str) -> TableTarget:
        return TableTarget(PaimonTable(spark, catalog.table_location(Identifier(database, name)), options))

    def find(name: str) -> TableTarget | None:
        check_not_system(Identifier(database, name), "writing change messages to")  # a message says the name
        return None if catalog.find_table(Identifier(database, name)) is None else opened(name)

    def create(name: str, schema: TableSchema) -> TableTarget:
        catalog.create_table(Identifier(database, name), schema, ignore_if_exists=True)
        return opened(name)

    place = None if dead_letters is None else path_in_session(spark, dead_letters)
    letters = None if place is None else TableTarget(PaimonTable(spark, place, options))
    return DatabaseTarget(find, create, letters)
