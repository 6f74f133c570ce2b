"""Queries of a table with shredded values of VARIANT, by SQL, in one Spark session. Prints one line of JSON.

``python variants_session.py cat.sql|spark.sql|jvm WAREHOUSE TABLE [JAR]``; the kinds are those of ``merged_session``.
For each query the least seconds, the least bytes that the session and its workers got by system calls, and the answer.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from rows_session import session

QUERIES = {
    "a condition on a path": "select count(*), sum(variant_get(v, '$.ms', 'bigint')) from {} "
    "where variant_get(v, '$.user.id', 'bigint') % 1000 = 7",
    "a condition that few files have": "select count(*), sum(variant_get(v, '$.ms', 'bigint')) from {} "
    "where variant_get(v, '$.at', 'bigint') between 1000 and 2000",
    "groups of a path": "select variant_get(v, '$.city', 'string') c, count(*) from {} group by 1 order by 1 limit 5",
}
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
    best = {what: [float("inf"), float("inf"), ""] for what in QUERIES}
    for _ in range(ROUNDS):
        for what, text in QUERIES.items():
            began, before = time.perf_counter(), bytes_read(os.getpid())
            answer = repr([tuple(row) for row in run(text.format(f"paimon.bench.`{table}`")).collect()])
            seconds, size, _ = best[what]
            took, got = time.perf_counter() - began, bytes_read(os.getpid()) - before
            best[what] = [min(took, float(seconds)), min(got, float(size)), answer]
    print(json.dumps(best), flush=True)
    spark.stop()


def bytes_read(process: int) -> int:
    """The bytes that a process and those that it started have read."""
    children = Path(f"/proc/{process}/task").glob("*/children")
    total = sum(bytes_read(int(child)) for path in children for child in path.read_text().split())
    lines = Path(f"/proc/{process}/io").read_text().splitlines()
    return total + sum(int(line.split()[1]) for line in lines if line.startswith("rchar"))


if __name__ == "__main__":
    main(*sys.argv[1:])
