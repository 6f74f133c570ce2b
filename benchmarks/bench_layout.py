"""Sorted files: what a sort costs beside a compaction, and what a range of two columns reads then."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import tables
from bench_spark import session
from java_session import java_lookups
from measure import Results, fastest
from pyspark.sql import functions as sf

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.procedures.local_engine import LocalEngine
from paimon_spark.procedures.rewrites import Compact
from paimon_spark.store.compact.outcomes import CompactResult
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

FILES = 200
SPACE = 2**30
COLUMNS = pa.schema(
    [("session", pa.string()), ("x", pa.int64()), ("y", pa.int64()), ("price", pa.int64()), ("d", pa.float64())]
)
NO_OPTIONS: Mapping[str, str] = {}


def batches(rows: int) -> Iterator[pa.RecordBatch]:
    """Rows in no order, a batch for each file."""
    random = np.random.default_rng(7)
    for _ in range(FILES):
        columns = [
            pa.array([f"{number:016x}" for number in random.integers(0, 2**63, rows).tolist()]),
            pa.array(random.integers(0, SPACE, rows)),
            pa.array(random.integers(0, SPACE, rows)),
            pa.array(random.integers(0, 10**9, rows)),
            pa.array(random.random(rows)),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=COLUMNS)


def filled(root: Path, rows: int) -> Path:
    """A table of many files in no order; reused when it is there."""
    path = root / f"unordered-{rows}"
    done = path.with_suffix(".done")
    if not done.exists():
        create_table(str(path), new_schema(COLUMNS, (), (), {"bucket": "-1", "target-file-row-num": str(rows)}))
        tables.write(open_table(str(path)), batches(rows), "load")
        done.touch()
    return path


def run(results: Results, root: Path, scale: float) -> None:
    rows = max(int(100_000 * scale), 1000)
    source, copy = filled(root / "bench.db", rows), root / "bench.db" / "sorted"

    def timed(call: Compact, options: Mapping[str, str] = NO_OPTIONS) -> tuple[float, CompactResult]:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(source, copy)
        table = open_table(str(copy), options)
        began = time.perf_counter()
        done = call.run(table, LocalEngine())
        return time.perf_counter() - began, done

    rewritten = {"compaction.min.file-num": "1", "target-file-size": "256 mb"}
    rounds = [
        (timed(Compact(full=True), rewritten)[0], timed(Compact(order_strategy="zorder", order_by="x,y"), rewritten)[0])
        for _ in range(2)
    ]
    plain, ordered = (min(times) for times in zip(*rounds, strict=True))
    note = f"{ordered:.1f} s, compaction {plain:.1f} s, {rows * FILES / 1e6:g} million rows in {FILES} files"
    results.higher("z-order: throughput / unordered compaction", plain / ordered, "x", 0.85, note)
    size = max(int(60 * rows), 2**16)
    _, done = timed(Compact(order_strategy="zorder", order_by="x,y"), {"target-file-size": f"{size} b"})
    lookup(results, open_table(str(source)), open_table(str(copy)), done)


def lookup(results: Results, unordered: Table, ordered: Table, done: CompactResult) -> None:
    """A hundredth of the space: a tenth of each column."""
    low, high = SPACE * 4 // 10, SPACE // 2
    where = f"x >= {low} and x < {high} and y >= {low} and y < {high}"
    spark = session()
    paths = [str(path) for path in Path(ordered.location).glob("bucket-0/*.parquet")]
    old = {file.file_name for split in unordered.scan().plan().splits for file in split.files}
    live = {file.file_name for split in ordered.scan().plan().splits for file in split.files}
    assert not old & live
    files = [path for path in paths if Path(path).name in live]

    def with_spark() -> None:
        frame = spark.read.parquet(*files).where(where)
        frame.agg(*[sf.max(name) for name in COLUMNS.names]).collect()

    best = fastest(
        {
            "sorted": lambda: ordered.scan(where=where).to_arrow(),
            "unordered": lambda: unordered.scan(where=where).to_arrow(),
            "spark": with_spark,
        },
        3,
    )
    read = sum(len(list(split.files)) for split in ordered.scan(where=where).plan().splits)
    note = (
        f"{best['sorted'] * 1000:.0f} ms, unordered {best['unordered'] * 1000:.0f} ms, spark.read.parquet on the "
        f"sorted files {best['spark'] * 1000:.0f} ms; {read} of {done.files_after} files read"
    )
    ratio = best["sorted"] / best["unordered"]
    results.lower("range of two columns after a z-order: time / unordered", ratio, "x", 0.2, note)
    results.lower("range of two columns after a z-order: files read", read / done.files_after, "of all", 0.1, note)
    bounds = [("greaterOrEqual", low), ("lessThan", high)]
    java = java_lookups(ordered.location, [[(method, column, value) for column in "xy" for method, value in bounds]])
    if java is None:
        return
    [theirs] = java
    note = f"genuine Java 2.0.0 {theirs.seconds * 1000:.0f} ms, {theirs.files} files read, {theirs.rows} rows"
    results.lower("range of two columns after a z-order: time / Java", best["sorted"] / theirs.seconds, "x", 1, note)
    results.lower("range of two columns after a z-order: files read / Java", read / theirs.files, "x", 1, note)
