"""The quick start of the README as a script: create, upsert, read, travel back.

Run it with ``python examples/quickstart.py [DIRECTORY]``, by spark-submit, or on Spark Connect with
``SPARK_REMOTE=local[2]``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from paimon_spark import PaimonTable, open_table, register


def main(directory: str) -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.appName("paimon_spark quick start").getOrCreate()
    register(spark)  # only for spark-submit --py-files: an installed package is found by Spark itself
    path = f"{directory}/shop.db/orders"

    orders = spark.createDataFrame(
        [(7, "2026-11-01", 12.5), (8, "2026-11-01", 3.0), (9, "2026-11-02", 40.0)], "id long, dt string, total double"
    )
    # The first write creates the table from the DataFrame's columns and the options.
    writer = orders.write.format("paimon").mode("append").option("primary-key", "id").option("partition", "dt")
    writer.option("bucket", "4").save(path)
    # A row with the same key replaces the old one.
    spark.createDataFrame([(7, "2026-11-01", 99.0)], orders.schema).write.format("paimon").mode("append").save(path)
    spark.read.format("paimon").load(path).where("dt = '2026-11-01' and id = 7").show()

    # From SQL, and as it was before. A view keeps the snapshot of its first query, here the one after the INSERT.
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW orders USING paimon OPTIONS (path '{path}')")
    spark.sql("INSERT INTO orders VALUES (10, '2026-11-02', 5.0)")
    spark.sql("SELECT * FROM orders ORDER BY id").show()
    spark.read.format("paimon").option("scan.snapshot-id", 1).load(path).orderBy("id").show()

    # With a shuffle by bucket, for big loads; every call says what it did.
    table = PaimonTable.forPath(spark, path)
    print(table.overwrite(spark.createDataFrame([(11, "2026-11-02", 1.0)], orders.schema), where="dt = '2026-11-02'"))
    table.toDF(columns=["id", "total"], where="total > 10 or id = 11").show()
    table.history().select("snapshot_id", "commit_kind", "total_record_count").show()

    # The same table without Spark.
    print(open_table(path).scan(columns=["id", "total"], where="total > 10").to_arrow().to_pylist())
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(Path("quickstart-output").resolve()))
