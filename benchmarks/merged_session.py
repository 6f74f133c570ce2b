"""Reads of a key table that is not compacted, by SQL, in one Spark session. Prints one line of JSON: seconds by read.

``python merged_session.py cat.sql|spark.sql|jvm WAREHOUSE TABLE [JAR]``. The first two are this package, by its own
``sql`` and as a catalog that Spark knows; `jvm` is the connector in JAR. It does not import this package for `jvm`, so
that a Python with another PySpark can run it.
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
    "sum with a condition": "select sum(d1) from {} where id % 10 = 3",
    "sum by groups": "select s2, count(*), sum(l1), max(l2) from {} group by s2",
    "count": "select count(*) from {}",
    "first 10 by the key": "select * from {} order by id limit 10",
}
WHOLE = ("2 columns", "all columns")
"""Reads whose rows are written to nowhere; those of others are few."""
ROUNDS = 5


def main(kind: str, warehouse: str, table: str, jar: str | None = None) -> None:
    spark = session(jar, warehouse)
    run = spark.sql
    if kind == "cat.sql":
        import paimon_spark

        run = paimon_spark.catalog(spark, warehouse).sql
    elif kind == "spark.sql":
        import paimon_spark

        paimon_spark.register_catalog(spark, "paimon", warehouse)
    best = dict.fromkeys(READS, float("inf"))
    for _ in range(ROUNDS):
        for what, text in READS.items():
            began = time.perf_counter()
            frame = run(text.format(f"paimon.bench.`{table}`"))
            if what in WHOLE:
                frame.write.format("noop").mode("overwrite").save()
            else:
                assert frame.collect()
            best[what] = min(best[what], time.perf_counter() - began)
    print(json.dumps(best), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
