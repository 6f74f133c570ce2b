"""Small system tables that are made from metadata, which the driver reads itself.

Our data source would read them in Python processes that Spark starts one after the other, for a few rows.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from paimon_spark.spark.native.local_read import SMALL_BYTES, rows_if_small
from paimon_spark.spark.native.session_settings import SessionSettings
from paimon_spark.spark.native.table_reading import Reading
from paimon_spark.store.system_tables.table import MetadataScan, SystemTable, Whole


def small_system_rows(
    spark: SparkSession, reading: Reading, table: SystemTable, settings: SessionSettings
) -> DataFrame | None:
    """The rows of a system table, read now and by this process; None: it shows rows of the table, or is large.

    Args:
        spark: the session.
        reading: what was asked for.
        table: of it.
        settings: of the session.

    Raises:
        CorruptFile: metadata are missing or damaged.
    """
    said = reading.options.local
    if not (settings.local if said is None else said):
        return None
    size = table.metadata_size()
    if size is None or size > SMALL_BYTES:
        return None
    scan = table.scan(reading.shown.names, reading.options.where)
    if not isinstance(scan, MetadataScan):
        return None
    return rows_if_small(spark, scan.read, [Whole()], reading.shown)
