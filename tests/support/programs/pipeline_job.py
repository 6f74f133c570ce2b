"""One job of the pipeline that test_pipeline keeps alive: ``pipeline_job.py NAME FOLDER [end]``.

`generate` writes numbered batches of changes into `orders`, without Spark; `add` streams the changelog of `orders` into
sums by group; `deliver` streams the changelog of the sums into a table of their states; `maintain` compacts and expires
all of them, without Spark. With `end` a job finishes what there is, and ends; else it goes on until it is killed.
"""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from threading import Event

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import IntegerType, LongType, StringType, StructType

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import CommitConflict
from paimon_spark.spark.stream_sink.writer import BatchFiles, open_stream_writer
from paimon_spark.store.compact.compaction import compact_table
from paimon_spark.store.compact.local_pool import LocalRunner
from paimon_spark.store.expire.snapshots import expire_snapshots
from paimon_spark.store.stream_notes.notes import find_note
from paimon_spark.tables.open import open_table
from paimon_spark.writes.task_rows import write_rows

GROUPS, KEYS, ROWS = 7, 2_000, 200
QUERY = "generator"
USER = f"spark-{QUERY}"
TABLES = ("orders", "sums", "delivered")
CHANGES = StructType().add("k", IntegerType()).add("g", IntegerType()).add("v", LongType()).add("op", StringType())
_ARROW = pa.schema([("k", pa.int32()), ("g", pa.int32()), ("v", pa.int64()), ("op", pa.string())])
_KEPT = {"snapshot.time-retained": "60 s", "snapshot.num-retained.min": "2"}
_PAUSE = 2.0  # seconds between two batches of the generator
_never = Event()


def changes(number: int) -> list[tuple[int, int, int, str]]:
    """The rows of a batch of the generator: the same ones whenever it is asked."""
    draws = random.Random(f"batch {number}")
    keys = draws.sample(range(KEYS), ROWS)
    return [(k, k % GROUPS, draws.randrange(1000), "-D" if draws.random() < 0.2 else "+U") for k in keys]


def create_tables(folder: str) -> None:
    lookup = {"bucket": "1", "changelog-producer": "lookup", **_KEPT}
    orders, sums = _ARROW.remove(3), pa.schema([("g", pa.int32()), ("v", pa.int64()), ("n", pa.int64())])
    create_table(f"{folder}/orders", new_schema(orders, ("k",), (), lookup | {"bucket": "2"}))
    added = {"merge-engine": "aggregation", **{f"fields.{name}.aggregate-function": "sum" for name in ("v", "n")}}
    create_table(f"{folder}/sums", new_schema(sums, ("g",), (), lookup | added))
    create_table(f"{folder}/delivered", new_schema(sums, ("g",), (), {"bucket": "1", **_KEPT}))


def written(folder: str) -> int:
    """The number of the last batch that the generator has begun to commit; -1: none."""
    note = find_note(open_table(f"{folder}/orders"), USER)
    return -1 if note is None else note.batch


def generate(folder: str, ends: bool) -> None:
    """The last batch comes first once more, as nobody knows whether all of it was done."""
    number = max(written(folder), 0)
    while True:
        options = {"path": f"{folder}/orders", "row-kind-column": "op"}
        made = open_stream_writer(options, CHANGES, False)
        rows = changes(number)
        columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), _ARROW, strict=True)]
        job = replace(made._job, commit_user=USER)
        files = write_rows(job, 0, [pa.RecordBatch.from_arrays(columns, schema=_ARROW)])
        state = (job.plan.since, job.plan.base, job.table.schema.id, job.table.opened)
        task = BatchFiles(tuple(files), QUERY, number, len(rows), None, *state)
        made.commit([task], number)
        if ends:
            return
        number += 1
        _never.wait(_PAUSE)


def maintain(folder: str, ends: bool) -> None:
    while True:
        for name in TABLES:
            try:
                compact_table(open_table(f"{folder}/{name}"), LocalRunner(1), full=True)
            except CommitConflict as error:
                print(f"{name}: {error}", flush=True)
            expire_snapshots(open_table(f"{folder}/{name}"))
        if ends:
            return
        _never.wait(4 * _PAUSE)


def stream(folder: str, ends: bool, source: str, target: str) -> None:
    import paimon_spark

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.driver.memory", "512m")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    paimon_spark.register(spark)
    options = {"row-kinds": "true", "consumer-id": target, "read.stream.maxFilesPerTrigger": "20"}
    rows = spark.readStream.format("paimon").options(**options).load(f"{folder}/{source}")
    if target == "sums":
        rows = rows.select("g", "v", sf.lit(1).cast("long").alias("n"), "_row_kind")
    writer = rows.coalesce(1).writeStream.format("paimon").option("checkpointLocation", f"{folder}/ck-{target}")
    writer = writer.option("row-kind-column", "_row_kind")
    writer = writer.trigger(availableNow=True) if ends else writer.trigger(processingTime="1 second")
    writer.start(f"{folder}/{target}").awaitTermination()


def main(name: str, folder: str, *more: str) -> None:
    ends = more == ("end",)
    if name == "add":
        stream(folder, ends, "orders", "sums")
    elif name == "deliver":
        stream(folder, ends, "sums", "delivered")
    else:
        {"generate": generate, "maintain": maintain}[name](folder, ends)


if __name__ == "__main__":
    main(*sys.argv[1:])
