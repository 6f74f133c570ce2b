"""Runs statements of SQL in one Spark session, as they come as lines of JSON: prints the seconds of each.

``python statements_session.py paimon|jvm WAREHOUSE [JAR] [OPTIONS]``. `paimon` is this package, `jvm` the connector in
JAR; OPTIONS are those of the catalog, as JSON. Each line is a text; the answer is the seconds until its rows have been
collected.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

from pyspark.sql import DataFrame
from rows_session import session


def main(kind: str, warehouse: str, jar: str = "", options: str = "{}") -> None:
    storage = json.loads(options)
    spark = session(jar or None, warehouse, storage)
    run: Callable[[str], DataFrame] = spark.sql
    if kind == "paimon":
        import paimon_spark

        run = paimon_spark.catalog(spark, {"warehouse": warehouse, **storage}).sql
    for line in sys.stdin:
        text = json.loads(line)
        began = time.perf_counter()
        run(text).collect()
        print(json.dumps({"seconds": time.perf_counter() - began}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
