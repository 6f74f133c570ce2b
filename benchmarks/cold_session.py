"""One Spark session from its start: the first write and the first read of 1,000 rows. Prints one line of JSON.

``python cold_session.py paimon|catalog|nothing|jvm DIRECTORY [JAR]``: `paimon` is this package by path, `catalog` by
the name of a table, `nothing` a Python data source that does no work at all, which is what Spark itself costs, and
`jvm` the connector in JAR. Only `catalog` imports this package, so that a Python with another PySpark can run the
others.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

ROWS = 1000
SCHEMA = "id long, dt string, total double"


def session(kind: str, root: str, jar: str | None) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    here = str(Path(__file__).parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.sql.session.timeZone", "UTC")
    if kind == "jvm":
        builder = builder.config("spark.jars", str(jar)).config("spark.sql.catalog.paimon.warehouse", f"file:{root}")
        builder = builder.config("spark.sql.catalog.paimon", "org.apache.paimon.spark.SparkCatalog")
        extension = "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions"
        builder = builder.config("spark.sql.extensions", extension)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def write(spark: SparkSession, kind: str, path: str, rows: DataFrame) -> None:
    if kind == "catalog":
        import paimon_spark

        cat = paimon_spark.catalog(spark, str(Path(path).parents[1]))
        cat.create_database("default", ignore_if_exists=True)
        columns, properties = "id bigint not null, dt string, total double", "'primary-key'='id', 'bucket'='2'"
        cat.sql(f"create table paimon.default.t ({columns}) tblproperties ({properties})")
        cat["default.t"].append(rows)
    elif kind == "jvm":  # a table by name; SQL makes it, as the connector's guide does
        columns, properties = "id bigint not null, dt string, total double", "'primary-key'='id', 'bucket'='2'"
        spark.sql(f"create table paimon.default.t ({columns}) tblproperties ({properties})")
        rows.write.format("paimon").mode("append").insertInto("paimon.default.t")
    else:
        source = "paimon" if kind == "paimon" else "cold_nothing"
        writer = rows.write.format(source).mode("append").option("primary-key", "id").option("bucket", "2")
        writer.save(path)


def read(spark: SparkSession, kind: str, path: str) -> list[Any]:
    if kind == "jvm":
        return spark.table("paimon.default.t").collect()
    if kind == "catalog":
        import paimon_spark

        return paimon_spark.catalog(spark, str(Path(path).parents[1])).table("default.t").collect()
    return spark.read.format("paimon" if kind == "paimon" else "cold_nothing").load(path).collect()


def main(kind: str, root: str, jar: str | None = None) -> None:
    path = f"{root}/default.db/t"
    began = time.perf_counter()
    spark = session(kind, root, jar)
    if kind == "nothing":
        from cold_nothing import NothingSource

        spark.dataSource.register(NothingSource)
    rows = spark.createDataFrame([(i, f"2026-11-{1 + i % 28:02}", i / 7) for i in range(ROWS)], SCHEMA)
    assert rows.count() == ROWS  # the JVM has run a job: what follows is the first use of the source
    seconds = {"start": time.perf_counter() - began}
    for step, run in (
        ("first write", lambda: write(spark, kind, path, rows)),
        ("first read", lambda: read(spark, kind, path)),
        ("second read", lambda: read(spark, kind, path)),
    ):
        began = time.perf_counter()
        found = run()
        seconds[step] = time.perf_counter() - began
        assert found is None or len(found) == ROWS, f"{step}: {len(found)} rows"
    print(json.dumps(seconds), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
