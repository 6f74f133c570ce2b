"""The read by our data source, in the Python processes of Spark, which plan it at the first query."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from paimon_spark.spark.native.table_reading import Reading

SOURCE = "paimon"


def read_by_source(spark: SparkSession, reading: Reading) -> DataFrame:
    """The rows of a read, as our data source reads them. Its schema is given, so that Spark asks no process for it."""
    options = reading.source_options()
    return spark.read.format(SOURCE).schema(reading.shown).options(**options).load(reading.options.path)
