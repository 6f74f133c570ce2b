"""The quick start of the README as a script: create, upsert, read, travel back.

Run it with ``python examples/quickstart.py [DIRECTORY]``, by spark-submit, or on Spark Connect with
``SPARK_REMOTE=local[2]``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import paimon_spark
from paimon_spark import open_table, register


def main(directory: str) -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.appName("paimon_spark quick start").getOrCreate()
    register(spark)  # only for spark-submit --py-files: an installed package is found by Spark itself
    cat = paimon_spark.catalog(spark, directory)

    cat.sql("CREATE DATABASE IF NOT EXISTS paimon.shop")
    cat.sql("""
        CREATE TABLE paimon.shop.orders (id BIGINT, dt STRING, total DOUBLE)
        PARTITIONED BY (dt) TBLPROPERTIES ('primary-key' = 'dt,id', 'bucket' = '4')
    """)
    cat.sql("""
        INSERT INTO paimon.shop.orders
        VALUES (7, '2026-11-01', 12.5), (8, '2026-11-01', 3.0), (9, '2026-11-02', 40.0)
    """)
    # A row with the same key replaces the old one.
    cat.sql("INSERT INTO paimon.shop.orders VALUES (7, '2026-11-01', 99.0)")
    cat.sql("SELECT * FROM paimon.shop.orders WHERE dt = '2026-11-01' AND id = 7").show()
    cat.sql("SELECT * FROM paimon.shop.orders VERSION AS OF 1 ORDER BY id").show()

    # The table as an object: writes of DataFrames, with a shuffle by bucket; every call says what it did.
    table = cat["shop.orders"]
    later = spark.createDataFrame([(11, "2026-11-02", 1.0)], "id long, dt string, total double")
    print(table.overwrite(later, where="dt = '2026-11-02'"))
    cat.sql("CALL sys.compact(table => 'shop.orders')").show()
    cat.table("shop.orders", columns=["id", "total"], where="total > 10 or id = 11").orderBy("id").show()
    table.history().select("snapshot_id", "commit_kind", "total_record_count").show()

    # By path, as any data source of Spark.
    path = f"{directory}/shop.db/orders"
    later.write.format("paimon").mode("append").save(path)
    spark.read.format("paimon").option("scan.snapshot-id", 1).load(path).orderBy("id").show()

    # The same table without Spark.
    print(open_table(path).scan(columns=["id", "total"], where="total > 10").to_arrow().to_pylist())
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(Path("quickstart-output").resolve()))
