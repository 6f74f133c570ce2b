"""What the release matrix runs in each environment: create, upsert, SQL, PaimonTable, streams, the program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession
from release_streams import check_streams

import paimon_spark
from paimon_spark import PaimonTable


def main() -> None:
    here, path = Path.cwd(), str(Path.cwd() / "lake" / "shop.db" / "orders")
    assert here not in Path(paimon_spark.__file__).parents
    spark = SparkSession.builder.getOrCreate()
    rows = spark.createDataFrame([(7, "2026-11-01", 12.5), (8, "2026-11-02", 3.0)], "id long, dt string, total double")
    options = {"primary-key": "id", "partition": "dt", "bucket": "2"}
    rows.write.format("paimon").mode("append").options(**options).save(path)
    changed = spark.createDataFrame([(7, "2026-11-01", 99.0)], rows.schema)
    changed.write.format("paimon").mode("append").save(path)
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW orders USING paimon OPTIONS (path '{path}')")
    spark.sql("INSERT INTO orders VALUES (10, '2026-11-02', 5.0)")
    PaimonTable.forPath(spark, path).append(spark.createDataFrame([(11, "2026-11-02", 1.0)], rows.schema))
    found = sorted(tuple(row) for row in spark.read.format("paimon").load(path).collect())
    expected = [(7, "2026-11-01", 99.0), (8, "2026-11-02", 3.0), (10, "2026-11-02", 5.0), (11, "2026-11-02", 1.0)]
    assert found == expected, found
    first = spark.read.format("paimon").option("scan.snapshot-id", "1").load(path)
    assert first.count() == 2
    check_streams(spark, Path.cwd() / "lake" / "streams.db")
    if hasattr(spark, "_jsparkSession"):  # on Spark Connect, Python has no access to the catalogs of Spark
        check_catalog(spark, str(Path.cwd() / "lake"))
    spark.stop()
    program = str(Path(sys.executable).with_name("paimon-spark"))
    command = [program, "read", path, "--where", "id = 7", "--output", "json"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert json.loads(printed) == {"id": 7, "dt": "2026-11-01", "total": 99.0}, printed
    print(
        f"PySpark {pyspark.__version__}, Python {sys.version.split()[0]}: {len(found)} rows are right, and streams:",
        end=" ",
    )


def check_catalog(spark: SparkSession, warehouse: str) -> None:
    """The tables by Spark's own names: with all that Spark asks a catalog, and with its private names."""
    paimon_spark.register_catalog(spark, "lake", warehouse)
    spark.sql("CREATE DATABASE lake.e")
    spark.sql("USE lake.e")
    spark.sql("CREATE TABLE t TBLPROPERTIES ('primary-key' = 'id') AS SELECT id, id * 2 AS v FROM range(100)")
    spark.range(50, 150).selectExpr("id", "-1L AS v").writeTo("lake.e.t").append()
    spark.sql("UPDATE t SET v = :v WHERE id = :id", {"v": 7, "id": 1})
    spark.sql("DELETE FROM t WHERE id >= 140")
    spark.sql("ALTER TABLE t ADD COLUMN more STRING")
    spark.sql("ALTER TABLE t CREATE TAG one")
    assert spark.sql("SELECT count(*), sum(v) FROM t").collect()[0][:] == (140, 2450 - 2 + 7 - 90)
    assert spark.table("t").where("id = 1").collect()[0][:] == (1, 7, None)
    assert spark.sql("SELECT count(*) FROM t VERSION AS OF 1").collect()[0][0] == 100
    spark.sql("CREATE TABLE p (id INT, dt STRING) PARTITIONED BY (dt)")
    spark.sql("INSERT INTO p VALUES (1, 'x'), (2, 'y')")
    spark.sql("INSERT OVERWRITE p PARTITION (dt = 'y') SELECT 3")
    assert spark.sql("SELECT dt, count(*), max(id) FROM p GROUP BY dt ORDER BY dt").collect()[1][:] == ("y", 1, 3)
    stream = spark.readStream.table("lake.e.t").writeStream.trigger(availableNow=True)
    stream.option("checkpointLocation", f"{warehouse}/_ck").toTable("lake.e.copy").awaitTermination()
    assert spark.newSession().table("lake.e.copy").count() == 140
    spark.sql("DROP DATABASE lake.e CASCADE")


if __name__ == "__main__":
    main()
