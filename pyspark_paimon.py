"""Registers the data source `paimon`: Spark imports every top-level module named ``pyspark_*`` that has a DefaultSource."""

from paimon_spark.spark.source import PaimonDataSource as DefaultSource

__all__ = ["DefaultSource"]
