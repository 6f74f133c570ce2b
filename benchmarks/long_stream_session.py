"""Two streams of very many micro-batches in one Spark session, and their memory. Prints lines of JSON.

``python long_stream_session.py FOLDER BATCHES``. One stream writes micro-batches into a key table, which is compacted
and whose snapshots expire as it is written; the other one reads the changes of that table by its name.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from streams_session import CATALOG, DATABASE, events, session, source, usage

STEPS = 20
TABLE = "changes"
KEPT_BATCHES = 100  # whose progress Spark keeps


def java_heap(spark: SparkSession) -> int:
    """The bytes of objects of the JVM of the session that are in use."""
    java = spark._jvm.java.lang  # type: ignore[union-attr]  # a classic session has a JVM
    java.System.gc()
    runtime = java.Runtime.getRuntime()
    return int(runtime.totalMemory() - runtime.freeMemory())


def main(folder: str, batches: str) -> None:
    root, step = Path(folder), max(int(batches) // STEPS, 1)
    spark = session("paimon", folder, None)
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", KEPT_BATCHES)
    path, table = str(root / f"{DATABASE}.db" / TABLE), f"{CATALOG}.{DATABASE}.{TABLE}"
    writer = events(spark).writeStream.format("paimon").option("checkpointLocation", str(root / "ck-writer"))
    reader = source(spark, table, {"scan.mode": "latest"}).writeStream.format("noop")
    reading = reader.option("checkpointLocation", str(root / "ck-reader")).start()
    writing = writer.start(path)
    for until in range(step, int(batches) + 1, step):
        while (last := writing.lastProgress) is None or last["batchId"] < until:
            for query in (writing, reading):
                if query.awaitTermination(0.1):
                    raise SystemExit(str(query.exception()))
        found = {
            "batch": last["batchId"],
            "millis": statistics.median(p["durationMs"]["triggerExecution"] for p in writing.recentProgress),
            "read": reading.lastProgress["batchId"],
            "python": usage().resident / 2**20,
            "java": java_heap(spark) / 2**20,
        }
        print(json.dumps(found), flush=True)
    for query in (writing, reading):
        query.stop()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
