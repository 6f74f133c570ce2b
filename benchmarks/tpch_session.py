"""The 22 queries of TPC-H in one Spark session: seconds of each, and a digest of its rows. Prints lines of JSON.

``python tpch_session.py paimon|jvm WAREHOUSE TEXTS ROUNDS [JAR]``. `paimon` is this package, in turns with Parquet;
`jvm` is the connector in JAR over the same tables. TEXTS is a JSON list. It imports this package for `paimon` only, so
that a Python with another PySpark can run it.
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

from pyspark.sql import DataFrame, SparkSession

LAYOUTS = ("append", "compacted", "upserted")
TABLES = ("lineitem", "orders", "customer", "part", "partsupp", "supplier", "nation", "region")


def session(jar: str | None, warehouse: str) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "4").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.driver.memory", "4g").config("spark.sql.session.timeZone", "UTC")
    if jar is not None:
        builder = builder.config("spark.jars", jar).config("spark.sql.catalog.paimon.warehouse", f"file:{warehouse}")
        builder = builder.config("spark.sql.catalog.paimon", "org.apache.paimon.spark.SparkCatalog")
        extension = "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions"
        builder = builder.config("spark.sql.extensions", extension)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def candidates(kind: str, spark: SparkSession, warehouse: str) -> dict[str, Callable[[str], DataFrame]]:
    """Who runs a query, by name."""
    found: dict[str, Callable[[str], DataFrame]] = {}
    if kind == "jvm":

        def jvm(text: str, layout: str) -> DataFrame:
            spark.sql(f"USE paimon.{layout}")
            return spark.sql(text)

        return {f"jvm {layout}": lambda text, layout=layout: jvm(text, layout) for layout in LAYOUTS}
    import paimon_spark

    plain = spark.newSession()
    for table in TABLES:
        plain.read.parquet(f"{warehouse}/parquet/{table}").createOrReplaceTempView(table)
    found["parquet"] = plain.sql
    cat = paimon_spark.catalog(spark, warehouse)

    def ours(text: str, layout: str) -> DataFrame:
        cat.use(layout)
        return cat.sql(text)

    found |= {f"cat.sql {layout}": lambda text, layout=layout: ours(text, layout) for layout in LAYOUTS}
    registered = spark.newSession()
    paimon_spark.register_catalog(registered, "lake", warehouse)
    registered.sql(f"USE lake.{LAYOUTS[-1]}")
    return found | {f"spark.sql {LAYOUTS[-1]}": registered.sql}


def digest(frame: DataFrame) -> str:
    """Of the rows in any order, with ten digits of numbers."""
    rows = sorted(repr([text_of(value) for value in row]) for row in frame.collect())
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:12]


def text_of(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float | Decimal) else str(value)


def main(kind: str, warehouse: str, texts: str, rounds: str, jar: str | None = None) -> None:
    spark = session(jar, warehouse)
    queries = json.loads(Path(texts).read_text("utf-8"))
    run = candidates(kind, spark, warehouse)
    for name in run:
        run[name]("select count(*) from lineitem").collect()
    for number, text in enumerate(queries, 1):
        for _ in range(int(rounds)):
            for name, query in run.items():
                began = time.perf_counter()
                found = digest(query(text))
                seconds = time.perf_counter() - began
                print(json.dumps({"query": number, "name": name, "seconds": seconds, "digest": found}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
