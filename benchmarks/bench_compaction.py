"""Compaction: full, after each write, over many commits; and what reading costs afterwards."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path

import bench_spark
import data
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tables
from measure import Results, fastest
from pyspark.sql import SparkSession

from paimon_spark import PaimonTable
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.compact.compaction import compact_table
from paimon_spark.store.compact.live_buckets import live_buckets
from paimon_spark.store.compact.local_pool import LocalRunner
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.finish_write import compact_after_write
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

SHAPE = "int64 dense"
JVM_ROWS = 1.0  # M rows/s of full compaction by paimon-spark 2.0.0 on a machine of this kind
JAVA_AMPLIFICATION = 3.98  # bytes a byte, measured by java_amplification.py over the same first writes
UPSERT_COMMITS = 5
BUCKETS = 2
NO_OPTIONS: Mapping[str, str] = {}


@dataclass(frozen=True)
class Kind:
    """A table that upserts go into. goal: seconds a commit at most, as a multiple of a write-only commit."""

    options: Mapping[str, str]
    goal: float


KINDS = {
    "plain inline compaction": Kind({}, 5),
    "deletion vectors": Kind({"deletion-vectors.enabled": "true"}, 10),
    "lookup changelog": Kind({"changelog-producer": "lookup"}, 10),
}


def copied(table: Table, target: Path, options: Mapping[str, str] = NO_OPTIONS) -> Table:
    """A copy of the table on disk, as if it had been created with these options too."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(table.location, target)
    path = target / "schema" / "schema-0"
    schema = json.loads(path.read_text())
    path.write_text(json.dumps({**schema, "options": {**schema["options"], **options}}))
    return open_table(str(target))


def live_files(table: Table) -> list[str]:
    """The paths of the live data files."""
    root, snapshot = Path(table.location), table.snapshots.latest()
    names = {file.file_name for bucket in live_buckets(table, snapshot) for file in bucket.files}
    return sorted(str(path) for path in root.rglob("data-*") if path.name in names)


def full_compaction(results: Results, spark: SparkSession, root: Path, merged: Table, rows: int) -> Table:
    """Compacts copies of a table of many runs on Spark; returns the last copy."""
    target = root / "compacted"
    best = floor = float("inf")
    for _ in range(3):
        table = copied(merged, target)
        began = time.perf_counter()
        metrics = PaimonTable.forPath(spark, table.location).optimize().compact()
        best = min(best, time.perf_counter() - began)
        floor = min(floor, decoded_and_encoded(merged, table, root / "encoded"))
    note = (
        f"{rows:,} rows in {best:.1f} s, {metrics.rows_after:,} come out; PyArrow alone decodes the same files and "
        f"encodes the same rows at {rows / floor / 1e6:.2f} M rows/s on 2 cores; JVM Paimon 2.0.0 {JVM_ROWS} M rows/s"
    )
    results.higher("full compaction on 2 cores", rows / best / 1e6, "M rows/s", 4, note)
    return open_table(str(target))


def decoded_and_encoded(before: Table, after: Table, folder: Path) -> float:
    """Seconds in which a process for each bucket decodes its files of `before` and encodes its rows of `after`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(BUCKETS + 1)
    jobs = [
        context.Process(target=_decode_and_encode, args=(ready, files, rows, folder / f"{number}.parquet"))
        for number, (files, rows) in enumerate(zip(_by_bucket(before), _by_bucket(after), strict=True))
    ]
    for job in jobs:
        job.start()
    ready.wait()
    began = time.perf_counter()
    for job in jobs:
        job.join()
    assert [job.exitcode for job in jobs] == [0] * BUCKETS
    return time.perf_counter() - began


def _by_bucket(table: Table) -> list[list[str]]:
    files = live_files(table)
    return [[file for file in files if f"/bucket-{number}/" in file] for number in range(BUCKETS)]


def _decode_and_encode(ready: Barrier, files: list[str], rows: list[str], target: Path) -> None:
    pa.set_cpu_count(1)
    table = pq.read_table(rows)
    ready.wait()
    tables.drain(tables.decode(files, None))
    pq.write_table(table, target, compression="zstd", compression_level=1)


def read_after(results: Results, spark: SparkSession, table: Table) -> None:
    """A full read of a compacted table merges nothing."""
    best = fastest(
        {
            "ours": lambda: bench_spark.noop(spark.read.format("paimon").load(table.location)),
            "parquet": lambda: bench_spark.noop(spark.read.parquet(*live_files(table)).select(*table.schema.names)),
        },
        4,
    )
    note = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in best.items())
    what = "read after full compaction: time / spark.read.parquet"
    results.lower(what, best["ours"] / best["parquet"], "x", 1.7, note)


def upsert(table: Table, number: int, count: int, rows: int) -> None:
    """One commit of upserts, about 30 % of them new keys, with its compaction."""
    keys = np.random.default_rng(number).choice(int(count * 1.1), rows, replace=False)
    user = f"upsert-{number}"
    writer = TableWrite(table, user)
    for batch in data.rows(SHAPE, keys, number):
        writer.write(batch)
    messages = writer.finish()
    TableCommit(table, user).append(messages)
    compact_after_write(table, messages, LocalRunner())


def upserts(results: Results, root: Path, base: Table, count: int, rows: int) -> None:
    """Seconds of a commit of upserts into a table of one run, by what its options make of it."""
    kinds = {"write-only": Kind({"write-only": "true"}, 1), **KINDS}
    seconds: dict[str, float] = {}
    for name, kind in kinds.items():
        table = copied(base, root / "upserted", {"write-only": "false", **kind.options})
        began = time.perf_counter()
        for number in range(UPSERT_COMMITS):
            upsert(table, number, count, rows)
        seconds[name] = (time.perf_counter() - began) / UPSERT_COMMITS
    for name, kind in KINDS.items():
        note = f"{seconds[name]:.2f} s a commit of {rows:,} rows, write-only {seconds['write-only']:.2f} s"
        what = f"upserts into {count:,} rows, {name}: time / write-only"
        results.lower(what, seconds[name] / seconds["write-only"], "x", kind.goal, note)
    name = "plain inline compaction"
    results.lower(f"upsert of {rows:,} rows into {count:,}, with its compaction", seconds[name], "s", 0.3)


def amplification_table(path: Path) -> Table:
    """An empty table of one bucket with default options."""
    shutil.rmtree(path, ignore_errors=True)
    schema = data.batch(SHAPE, np.arange(1), 0).schema
    create_table(str(path), new_schema(schema, data.KEYS[SHAPE], (), {"bucket": "1"}))
    return open_table(str(path))


def bytes_written(table: Table) -> int:
    """Of all data files ever written: nothing has expired."""
    return sum(path.stat().st_size for path in Path(table.location).rglob("data-*"))


def write_amplification(results: Results, root: Path, commits: int, rows: int) -> None:
    """Bytes of all data files ever written, over those of the first write of each row."""
    table = amplification_table(root / "amplified")
    written = 0
    for number in range(commits):
        before = bytes_written(table)
        user = f"commit-{number}"
        writer = TableWrite(table, user)
        for batch in data.rows(SHAPE, keys_of_commit(number, commits, rows), number):
            writer.write(batch)
        messages = writer.finish()
        written += bytes_written(table) - before
        TableCommit(table, user).append(messages)
        compact_after_write(table, messages, LocalRunner())
    ours = bytes_written(table) / written
    note = f"{ours:.2f} bytes a byte over {commits} commits of {rows:,} rows, Java 2.0.0 {JAVA_AMPLIFICATION:.2f}"
    results.lower("write amplification / Java 2.0.0", ours / JAVA_AMPLIFICATION, "x", 1.0, note)


def keys_of_commit(number: int, commits: int, rows: int) -> np.ndarray:
    """Keys drawn from half as many as there are rows in all: most are updates in the end."""
    return np.random.default_rng(number).choice(commits * rows // 2, rows, replace=False)


def run(results: Results, root: Path, scale: float) -> None:
    count, rows = int(5e6 * scale), int(2e5 * scale)
    merged = tables.primary_key_table(root / "bench.db", SHAPE, count, rows, 8)
    write_amplification(results, root, 200, int(5e4 * scale))
    base = copied(tables.primary_key_table(root / "bench.db", SHAPE, count, rows, 0), root / "base")
    compact_table(base, LocalRunner())
    upserts(results, root, base, count, rows)
    spark = bench_spark.session()
    compacted = full_compaction(results, spark, root, merged, count + 8 * rows)
    read_after(results, spark, compacted)
    spark.stop()
