"""``python started_pythons.py WAREHOUSE``: a new session streams a table by name, and writes into another.

It prints the modules of PySpark that the Python processes below this one run (Linux), and at last the rows.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import paimon_spark
from support.cluster.standalone import python_children


def main(warehouse: str) -> None:
    spark = SparkSession.builder.master("local[1]").config("spark.sql.shuffle.partitions", "1").getOrCreate()
    paimon_spark.register_catalog(spark, "lake", warehouse)
    spark.sql("CREATE DATABASE lake.d")
    spark.sql("CREATE TABLE lake.d.copy (id BIGINT, p STRING) PARTITIONED BY (p)")
    print("procedures of a CREATE TABLE:", sum(name.startswith("paimon_spark.procedures") for name in sys.modules))
    spark.sql("CREATE TABLE lake.d.t AS SELECT id, 'a' p FROM range(3)")
    stream = spark.readStream.table("lake.d.t").writeStream.trigger(availableNow=True)
    stream.option("checkpointLocation", f"{warehouse}/_ck").toTable("lake.d.copy").awaitTermination()
    spark.table("lake.d.t").where("id = 2").writeTo("lake.d.copy").overwritePartitions()
    spark.sql("SELECT 5L id, 'b' p").write.format("paimon").mode("append").insertInto("lake.d.copy")
    for pid in python_children(os.getpid()):
        words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        print(*(word for word in words if word.startswith("pyspark.")))
    print(sorted(row.id for row in spark.table("lake.d.copy").collect()))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
