"""Memory of a large merge, read or compacted: the peak of Arrow's pool and of the process, in one of its own."""

from __future__ import annotations

import json
from pathlib import Path

import bench_compaction
import pyarrow as pa
import tables
from measure import Results, printed_apart, resident_peak

from paimon_spark.store.compact.compaction import compact_table
from paimon_spark.store.compact.local_pool import LocalRunner
from paimon_spark.tables.open import open_table

MIB = 2**20


def read(path: str) -> None:
    """Read the table at path, batch by batch; print rows and peaks in bytes."""
    show(tables.drain(open_table(path).scan().to_batches()))


def compact(path: str) -> None:
    """Compact the table at path in this process; print rows and peaks in bytes."""
    show(compact_table(open_table(path), LocalRunner(max_processes=1)).rows_after)


def show(rows: int) -> None:
    print(json.dumps({"rows": rows, "pool": pa.default_memory_pool().max_memory(), "rss": resident_peak()}))


def run(results: Results, root: Path, scale: float) -> None:
    for count, upserts in ((int(5_000_000 * scale), int(200_000 * scale)), (int(20e6 * scale), int(1e6 * scale))):
        table = tables.primary_key_table(root / "bench.db", "int64 dense", count, upserts, 8, buckets=1)
        total = (count + 8 * upserts) / 1e6
        copy = bench_compaction.copied(table, root / "compacted-alone")
        for what, function, path in (("merge", read, table.location), ("compaction", compact, copy.location)):
            seen = printed_apart(f"bench_memory.{function.__name__}({path!r})")
            note = f"{seen['rows']:,} rows out; resident set peak {seen['rss'] / MIB:.0f} MB"
            results.lower(f"{what} of {total:.1f} M rows in 9 runs: pool peak", seen["pool"] / MIB, "MB", 400, note)
