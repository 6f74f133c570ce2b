"""Run by test_async_expiry: a Spark job of several commits that ends at once and leaves the expiry to a thread."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

from paimon_spark import PaimonTable

KEEP_TWO = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"}


def main(lake: str) -> None:
    """Writes a table by df.write, whose commits a process of Spark makes, and one by append, whose are made here."""
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    df = spark.createDataFrame([(1, "a"), (2, "b")], "k int, v string")
    options = {**KEEP_TWO, "snapshot.expire.execution-mode": "async", "primary-key": "k", "bucket": "1"}
    for road in ("df.write", "append"):
        df.write.format("paimon").mode("append").options(**options).save(f"{lake}/{road}")
    for _ in range(3):
        df.write.format("paimon").mode("append").save(f"{lake}/df.write")
        PaimonTable.forPath(spark, f"{lake}/append").append(df)


if __name__ == "__main__":
    main(*sys.argv[1:])
