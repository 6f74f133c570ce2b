"""Streams in one Spark session: milliseconds and processor time of micro-batches. Prints lines of JSON.

``python streams_session.py paimon|jvm FOLDER BATCHES [JAR]``. `paimon` is this package, `jvm` the connector in JAR;
both run the same queries over equal tables of the database in FOLDER. This package also reads by name, from its catalog
of Spark. It imports this package for `paimon` only, so that a Python with another PySpark can run it.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

WARM = 10  # batches, in which Spark starts its Python processes
ROWS = 1_000  # of a batch
KEYS = 100_000
IDLE = 10.0  # seconds
BEHIND_ROUNDS = 4  # Java compiles in the first ones
CATALOG, DATABASE = "lake", "bench"
SINKS = {"write-only": "fresh", "inline compaction": "inline", "write-only, 10,000 files": "many"}
_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Usage:
    """What the processes below this one have used: seconds of processor by process id, bytes in memory of Pythons."""

    seconds: dict[int, float] = field(default_factory=dict)
    resident: int = 0

    def seconds_since(self, before: Usage) -> float:
        """Of the processes that are there still: what one that has ended used before is no gain."""
        return round(sum(seconds - before.seconds.get(pid, 0.0) for pid, seconds in self.seconds.items()), 3)


def usage() -> Usage:
    """Of this process, its JVM, and the Python processes of that."""
    parents, seconds, resident, names = {}, {}, {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().rpartition(")")
        except OSError:
            continue
        words, pid = rest.split(), int(stat.parent.name)
        parents[pid] = int(words[1])
        seconds[pid] = (int(words[11]) + int(words[12])) / _TICK
        names[pid], resident[pid] = name.partition("(")[2], int(words[21]) * _PAGE
    mine = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in mine and pid not in mine}:
        mine |= more
    return Usage({pid: seconds[pid] for pid in mine}, sum(resident[pid] for pid in mine if "python" in names[pid]))


def session(kind: str, folder: str, jar: str | None) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.driver.memory", "2g").config("spark.sql.session.timeZone", "UTC")
    builder = builder.config("spark.sql.streaming.numRecentProgressUpdates", "100000")
    if jar is not None:
        builder = builder.config("spark.jars", jar)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    if kind == "paimon":
        import paimon_spark

        paimon_spark.register(spark)
        paimon_spark.register_catalog(spark, CATALOG, folder)
    return spark


def events(spark: SparkSession) -> DataFrame:
    rate = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS).option("numPartitions", 2)
    return rate.option("startTimestamp", 0).load().selectExpr(f"value % {KEYS} id", "value v", "'text' s")


def micro_batches(frame: DataFrame, form: str, path: str, checkpoint: Path, batches: int) -> dict[str, Any]:
    """A stream of so many batches: what they take, after the first ones."""
    writer = frame.writeStream.format(form).option("checkpointLocation", str(checkpoint))
    query = writer.start(path) if path else writer.start()
    before = after = Usage()
    first = last = 0
    while last < batches and not query.awaitTermination(0.05):
        last = -1 if query.lastProgress is None else query.lastProgress["batchId"] + 1
        if not before.seconds and last >= WARM:
            before, first = usage(), last
    after = usage()
    progress = [p for p in query.recentProgress if p["numInputRows"]][first:]
    if query.exception() is not None:
        raise SystemExit(str(query.exception()))
    query.stop()
    millis = [p["durationMs"]["triggerExecution"] for p in progress]
    fifth = max(len(millis) // 5, 1)
    return {
        "millis": statistics.median(millis),
        "begin": statistics.median(millis[:fifth]),
        "end": statistics.median(millis[-fifth:]),
        "batches": last,
        "cpu": after.seconds_since(before) / max(last - first, 1),
        "spawned": len(after.seconds.keys() - before.seconds.keys()),
        "grown": (after.resident - before.resident) / 2**20,
    }


def source(spark: SparkSession, table: str, options: dict[str, str]) -> DataFrame:
    """The stream of a table, by its path or by its name."""
    reader = spark.readStream.options(**options)
    return reader.format("paimon").load(table) if "/" in table else reader.table(table)


def rows_behind(spark: SparkSession, path: str, table: str, checkpoint: Path) -> dict[str, float]:
    """Seconds of a batch read of all rows, and of a stream that begins before the first: of each the best round.

    Args:
        path: of the table.
        table: its path or its name, for the stream.
        checkpoint: the beginning of the paths of checkpoints.
    """
    batch, streamed, rows = [], [], 0
    for number in range(BEHIND_ROUNDS):
        began = time.perf_counter()
        spark.read.format("paimon").load(path).write.format("noop").mode("overwrite").save()
        batch.append(time.perf_counter() - began)
        start = {"scan.mode": "from-snapshot", "scan.snapshot-id": "1"}
        stream = source(spark, table, start).writeStream.format("noop")
        query = stream.option("checkpointLocation", f"{checkpoint}-{number}").trigger(availableNow=True).start()
        query.awaitTermination()
        streamed.append(sum(p["durationMs"]["triggerExecution"] for p in query.recentProgress) / 1000)
        rows = sum(p["numInputRows"] for p in query.recentProgress)
    return {"batch": min(batch), "stream": min(streamed), "rows": rows}


def idle(spark: SparkSession, table: str, checkpoint: Path, **trigger: str) -> float:
    """Seconds of processor that a stream takes for a second in which nothing comes."""
    stream = source(spark, table, {"scan.mode": "latest"}).writeStream.format("noop")
    query = stream.option("checkpointLocation", str(checkpoint)).trigger(**trigger).start()
    query.awaitTermination(IDLE / 2)
    before = usage()
    query.awaitTermination(IDLE)
    spent = usage().seconds_since(before)
    query.stop()
    return spent / IDLE


def main(kind: str, folder: str, batches: str, jar: str | None = None) -> None:
    root, count = Path(folder), int(batches)
    spark = session(kind, folder, jar)
    tables, checkpoints = root / f"{DATABASE}.db", root / "checkpoints"
    found = micro_batches(events(spark), "noop", "", checkpoints / "floor", count)
    print(json.dumps({"what": "floor", **found}), flush=True)
    for what, table in SINKS.items():
        found = micro_batches(events(spark), "paimon", str(tables / table), checkpoints / table, count)
        print(json.dumps({"what": what, **found}), flush=True)
    path = str(tables / "behind")
    readers = {"": path} | ({" by name": f"{CATALOG}.{DATABASE}.behind"} if kind == "paimon" else {})
    for number, (by, table) in enumerate(readers.items()):
        behind = rows_behind(spark, path, table, checkpoints / f"behind-{number}")
        print(json.dumps({"what": f"behind{by}", **behind}), flush=True)
        each_second = idle(spark, table, checkpoints / f"second-{number}", processingTime="1 second")
        always = idle(spark, table, checkpoints / f"always-{number}", processingTime="0 seconds")
        print(json.dumps({"what": f"idle{by}", "cpu": always, "each second": each_second}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
