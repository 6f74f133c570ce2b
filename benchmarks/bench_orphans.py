"""Orphan files of a table of 100,000 files in 40 partitions and 100 snapshots; the files hold a few bytes."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

from bench_expiry import PARTITIONS, lived
from measure import Results, printed_apart, resident_peak

from paimon_spark.store.clean.orphans import RemoveOrphanFilesResult, remove_orphans_before
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

SECONDS = 2.5  # goal: 84,000 listed files a second on a local disk
BUCKETS = "s2=category-{:04d}/bucket-0"


def run(results: Results, root: Path, scale: float) -> None:
    snapshots, files = max(10, int(100 * scale)), max(2000, int(100_000 * scale))
    place = root / "bench.db" / "orphans"
    shutil.rmtree(place, ignore_errors=True)
    table = lived(place, snapshots, files)
    orphans = leave_orphans(table, files // 10)
    found = printed_apart(f"bench_orphans.find({table.location!r})")
    what, stored = f"orphans among {files:,} live files", files + files // snapshots * snapshots + orphans
    assert found["orphans"] == orphans
    seconds = found["seconds"]
    results.lower(f"{what}: find", seconds, "s", SECONDS * scale, f"{stored:,} files listed, {orphans:,} orphans")
    results.higher(f"{what}: listed", stored / seconds, "/s", 20_000)
    results.lower(f"{what}: memory", found["peak"] / 2**20, "MB", 300)
    began = time.perf_counter()
    gone = removal(table, dry_run=False)
    assert len(gone.paths) == orphans
    results.lower(f"{what}: find and delete", time.perf_counter() - began, "s", 2 * SECONDS * scale)


def find(path: str) -> None:
    """Looks for the orphans of the table at path; prints how many, the seconds, and the bytes that it needed."""
    table, before, began = open_table(path), resident_peak(), time.perf_counter()
    found = removal(table, dry_run=True)
    seconds = time.perf_counter() - began
    print(json.dumps({"orphans": len(found.paths), "seconds": seconds, "peak": resident_peak() - before}))


def leave_orphans(table: Table, count: int) -> int:
    """Data files that nothing names."""
    for number in range(count):
        directory = BUCKETS.format(number % PARTITIONS)
        Path(table.location, directory, f"data-orphan-{number}.parquet").write_bytes(b"some")
    return count


def removal(table: Table, dry_run: bool) -> RemoveOrphanFilesResult:
    """Of files however young."""
    return remove_orphans_before(table, time.time_ns() // 1_000_000 + 60_000, dry_run)
