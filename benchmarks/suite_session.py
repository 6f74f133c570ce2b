"""Queries of a suite in one Spark session, by several candidates in turn.

``python suite_session.py WAREHOUSE NAMES [JAR]`` reads numbers of queries, a line each, and prints for each a line of
JSON: a list with the name, the seconds and a digest of the rows of each candidate. A query that fails has its error in
place of a digest, and no seconds. The folder WAREHOUSE has ``texts.json``, which is an object of texts by their
numbers, ``parquet``, with a folder for each table, and databases with these tables. NAMES are the candidates, with
commas between them: ``parquet``, ``cat.sql LAYOUT``, ``spark.sql LAYOUT``, ``jvm LAYOUT``. `jvm` is the connector in
JAR. This package is imported for `cat.sql` and `spark.sql` only, so that a Python with another PySpark can run the
others.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from connector import with_connector
from pyspark.sql import DataFrame, SparkSession


def session(jar: str | None, warehouse: Path) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "4").config("spark.ui.showConsoleProgress", "false")
    # The tables that several candidates have sent to all tasks stay in memory for a while: 4 GB were too few.
    builder = builder.config("spark.driver.memory", "6g").config("spark.sql.session.timeZone", "UTC")
    if jar is not None:
        builder = with_connector(builder, jar, str(warehouse))
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def candidate(name: str, spark: SparkSession, warehouse: Path) -> Callable[[str], DataFrame]:
    """Who runs a query, in a session of its own."""
    door, _, layout = name.partition(" ")
    spark = spark.newSession()
    if door == "parquet":
        for table in (warehouse / "parquet").iterdir():
            spark.read.parquet(str(table)).createOrReplaceTempView(table.name)
        return spark.sql
    if door == "jvm":
        spark.sql(f"USE paimon.{layout}")
        return spark.sql
    import paimon_spark

    if door == "cat.sql":
        cat = paimon_spark.catalog(spark, str(warehouse))
        cat.use(layout)
        return cat.sql
    paimon_spark.register_catalog(spark, "lake", str(warehouse))
    spark.sql(f"USE lake.{layout}")
    return spark.sql


def digest(frame: DataFrame) -> str:
    """Of the rows in any order, with ten digits of numbers."""
    rows = sorted(repr([text_of(value) for value in row]) for row in frame.collect())
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:12]


def text_of(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float | Decimal) else str(value)


def said(name: str, query: Callable[[str], DataFrame], text: str) -> dict[str, Any]:
    began = time.perf_counter()
    try:
        return {"name": name, "digest": digest(query(text)), "seconds": time.perf_counter() - began}
    except Exception as error:  # whatever it is, it is what the user sees
        return {"name": name, "digest": f"fails: {type(error).__name__}: {error}"[:300]}


def main(warehouse: Path, names: list[str], jar: str | None = None) -> None:
    spark = session(jar, warehouse)
    texts = json.loads((warehouse / "texts.json").read_text("utf-8"))
    run = {name: candidate(name, spark, warehouse) for name in names}
    first = next((warehouse / "parquet").iterdir()).name
    for query in run.values():
        query(f"select count(*) from {first}").collect()
    for number in map(str.strip, sys.stdin):
        print(json.dumps([said(name, query, texts[number]) for name, query in run.items()]), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2].split(","), *sys.argv[3:])
