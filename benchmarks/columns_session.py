"""A MERGE that sets one of many columns, by SQL, in one Spark session. Prints one line of JSON.

``python columns_session.py cat.sql|spark.sql|jvm WAREHOUSE TABLE COUNT [JAR]``; the kinds as for ``merged_session``.
For each share of the rows: the seconds, the bytes of the files that are new, and the sum of the column.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from rows_session import session

SHARES = {"all rows, first of the session": 1, "a tenth of the rows": 10, "all rows again": 1}


def main(kind: str, warehouse: str, table: str, count: str, jar: str | None = None) -> None:
    spark = session(jar, warehouse)
    run = spark.sql
    if kind == "cat.sql":
        import paimon_spark

        run = paimon_spark.catalog(spark, warehouse).sql
    elif kind == "spark.sql":
        import paimon_spark

        paimon_spark.register_catalog(spark, "paimon", warehouse)
    name = f"paimon.bench.`{table}`"
    run(f"select count(*) from {name}").collect()
    found = {}
    for number, (share, step) in enumerate(SHARES.items(), 1):
        spark.range(0, int(count), step).selectExpr("id", f"id * {number}.5D v").createOrReplaceTempView("changes")
        before, began = _size(warehouse, table), time.perf_counter()
        run(f"merge into {name} t using changes s on t.id = s.id when matched then update set c7 = s.v")
        seconds = time.perf_counter() - began
        answer = str(run(f"select sum(c7) from {name}").collect()[0][0])
        found[share] = [seconds, _size(warehouse, table) - before, answer]
    print(json.dumps(found), flush=True)
    spark.stop()


def _size(warehouse: str, table: str) -> int:
    return sum(path.stat().st_size for path in Path(warehouse, "bench.db", table).rglob("*") if path.is_file())


if __name__ == "__main__":
    main(*sys.argv[1:])
