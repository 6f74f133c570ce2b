"""Reads of a key table that is not compacted, by SQL, in one Spark session. Prints one line of JSON: seconds by read.

``python merged_session.py paimon|jvm WAREHOUSE TABLE [JAR]``. `paimon` is this package, `jvm` the connector in JAR. It
imports this package for `paimon` only, so that a Python with another PySpark can run it.
"""

from __future__ import annotations

import json
import sys
import time

from rows_session import session

READS = {
    "row by its key": "select * from {} where id = 123456",
    "2 columns": "select id, d1 from {}",
    "all columns": "select * from {}",
}
ROUNDS = 5


def main(kind: str, warehouse: str, table: str, jar: str | None = None) -> None:
    spark = session(jar, warehouse)
    run = spark.sql
    if kind == "paimon":
        import paimon_spark

        run = paimon_spark.catalog(spark, warehouse).sql
    best = dict.fromkeys(READS, float("inf"))
    for _ in range(ROUNDS):
        for what, text in READS.items():
            began = time.perf_counter()
            frame = run(text.format(f"paimon.bench.`{table}`"))
            if what == "row by its key":
                assert len(frame.collect()) == 1
            else:
                frame.write.format("noop").mode("overwrite").save()
            best[what] = min(best[what], time.perf_counter() - began)
    print(json.dumps(best), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
