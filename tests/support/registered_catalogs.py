"""Takes catalogs out of a session again that tests share: a user registers a catalog for the life of the session."""

from __future__ import annotations

from pyspark.sql import SparkSession

from paimon_spark.spark.adapters import open_catalogs
from paimon_spark.spark.spark_catalog.registration import registered_catalogs
from paimon_spark.spark.spark_catalog.spark_internals import remove_catalog


def forget_catalogs(spark: SparkSession) -> None:
    """Spark knows none of the registered catalogs any more, no statement is looked at, and no catalog is open."""
    open_catalogs._OPEN.pop(spark, None)
    registry = registered_catalogs(spark)
    if registry is None:
        return
    spark.catalog.setCurrentCatalog("spark_catalog")
    for name in registry.catalogs:
        remove_catalog(spark._jsparkSession, name)
    registry.catalogs.clear()
    registry.version += 1
