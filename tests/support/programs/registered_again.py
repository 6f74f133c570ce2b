"""A catalog is registered, Spark is stopped and started, and the catalog registered again. Run by test_registration."""

from __future__ import annotations

import gc
import sys
import weakref

from pyspark.sql import SparkSession

import paimon_spark


def started(lake: str) -> SparkSession:
    spark = SparkSession.builder.getOrCreate()
    assert "lake" not in [row[0] for row in spark.sql("SHOW CATALOGS").collect()]
    paimon_spark.register_catalog(spark, "lake", lake)
    return spark


def main(lake: str) -> None:
    spark = started(lake)
    context = weakref.ref(spark.sparkContext)
    spark.sql("CREATE TABLE lake.default.t AS SELECT 7 AS id")
    assert spark.table("lake.default.t").collect()[0].id == 7
    spark.stop()
    del spark
    spark = started(lake)
    spark.sql("UPDATE lake.default.t SET id = 8")
    assert spark.newSession().table("lake.default.t").collect()[0].id == 8
    gc.collect()
    assert context() is None, "the stopped SparkContext is still held"
    print("registered again")


if __name__ == "__main__":
    main(sys.argv[1])
