"""One Spark session from its start, and its first calls. Prints one line of JSON: seconds, and processor seconds.

``python cold_session.py KIND DOOR DIRECTORY [JAR]``. KIND is `path` (this package by path), `name` (its catalog in
Spark, by the name of a table), `catalog` (``paimon_spark.catalog``), `nothing` (a Python data source that does no work
at all: what Spark itself costs) or `jvm` (the connector in JAR). DOOR is `rows`, which writes and reads 1,000 rows of a
new table, or one of SQL or `stream`: the first call of a session on the table `default.t` that is there. Only `name`
and `catalog` import this package, so that a Python with another PySpark can run the others.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from connector import with_connector
from process_times import CountedCalls, processor_seconds
from pyspark.sql import DataFrame, SparkSession

ROWS = 1000
TABLE = "paimon.default.t"
COLUMNS, PROPERTIES = "id bigint not null, dt string, total double", "'primary-key'='id', 'bucket'='2'"
SOURCES = {"path": "paimon", "nothing": "cold_nothing"}
SQL = {
    "select": f"select * from {TABLE}",
    "files": f"select * from {TABLE[:-1]}`t$files`",
    "call": "call paimon.sys.create_tag(table => 'default.t', tag => 'first')",
    "merge": f"merge into {TABLE} t using (select 1L id, 'm' dt, 0.5D total union all select -1L, 'n', 0.5D) s "
    "on t.id = s.id when matched then update set dt = s.dt when not matched then insert *",
}
SCHEMA = "id long, dt string, total double"


def session(kind: str, root: str, jar: str | None) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    if kind == "nothing":
        here = str(Path(__file__).with_name("nothing"))
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.sql.session.timeZone", "UTC")
    if kind == "jvm":
        builder = with_connector(builder, str(jar), root)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def run_sql(spark: SparkSession, kind: str, root: str, text: str) -> DataFrame:
    """Runs a statement; the first one of ours in a session makes the catalog known, as the JVM connector's does too."""
    if kind == "jvm":
        return spark.sql(text)
    import paimon_spark

    if kind == "catalog":
        return paimon_spark.catalog(spark, root).sql(text)
    paimon_spark.register_catalog(spark, "paimon", root)
    return spark.sql(text)


def write(spark: SparkSession, kind: str, root: str, rows: DataFrame) -> None:
    if kind in SOURCES:
        writer = rows.write.format(SOURCES[kind]).mode("append").option("primary-key", "id").option("bucket", "2")
        writer.save(f"{root}/default.db/t")
        return
    run_sql(spark, kind, root, f"create table {TABLE} ({COLUMNS}) tblproperties ({PROPERTIES})")
    if kind == "catalog":
        import paimon_spark

        paimon_spark.catalog(spark, root)["default.t"].append(rows)
    else:
        rows.write.format("paimon").mode("append").insertInto(TABLE)


def read(spark: SparkSession, kind: str, root: str) -> list[Any]:
    if kind in SOURCES:
        return spark.read.format(SOURCES[kind]).load(f"{root}/default.db/t").collect()
    return run_sql(spark, kind, root, SQL["select"]).collect()


def stream(spark: SparkSession, kind: str, root: str) -> None:
    if kind in SOURCES:
        frame = spark.readStream.format(SOURCES[kind]).load(f"{root}/default.db/t")
    else:
        run_sql(spark, kind, root, "select 1")  # the catalog is known
        frame = spark.readStream.table(TABLE)
    frame.writeStream.format("noop").trigger(availableNow=True).start().awaitTermination()


def steps(spark: SparkSession, kind: str, door: str, root: str, rows: DataFrame) -> dict[str, Callable[[], Any]]:
    if door == "stream":
        return {"stream": lambda: stream(spark, kind, root)}
    if door != "rows":
        return {door: lambda: run_sql(spark, kind, root, SQL[door]).collect()}
    reads = dict.fromkeys(("first read", "second read"), lambda: read(spark, kind, root))
    return {"first write": lambda: write(spark, kind, root, rows), **reads}


def main(kind: str, door: str, root: str, jar: str | None = None) -> None:
    spark = session(kind, root, jar)
    rows = spark.createDataFrame([(i, f"2026-11-{1 + i % 28:02}", i / 7) for i in range(ROWS)], SCHEMA)
    assert rows.count() == ROWS  # the JVM has run a job: what follows is the first use of the source
    calls, found = CountedCalls(), {}
    for step, run in steps(spark, kind, door, root, rows).items():
        before, sent = processor_seconds(), calls.sent
        began = time.perf_counter()
        given = run()
        seconds, after = time.perf_counter() - began, processor_seconds()
        assert door != "rows" or given is None or len(given) == ROWS, f"{step}: {len(given)} rows"
        spent = {name: round(after[name] - before.get(name, 0), 2) for name in after}
        found[step] = {"seconds": seconds, "processor": spent, "round trips": calls.sent - sent}
    print(json.dumps(found), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
