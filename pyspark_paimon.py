"""Registers the data source `paimon`: Spark looks for DefaultSource in every top-level module named ``pyspark_*``."""

from paimon_spark.spark.source.source import PaimonDataSource as DefaultSource

__all__ = ["DefaultSource"]
