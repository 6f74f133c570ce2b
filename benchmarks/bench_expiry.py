"""Expiry of 1,000 snapshots of a table of 100,000 files; the files hold a few bytes, the metadata are real."""

from __future__ import annotations

import resource
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

import bench_plan
from measure import Results

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.spec.binary_row import encode_arity_row
from paimon_spark.spec.manifest import DataFileMeta, FileKind, ManifestEntry
from paimon_spark.spec.snapshot import CommitKind
from paimon_spark.store.changes import Changes
from paimon_spark.store.commit import commit_request
from paimon_spark.store.commit_attempt import CommitRequest
from paimon_spark.store.create import create_table, new_schema
from paimon_spark.store.expire import ExpiryResult, expire_snapshots
from paimon_spark.store.file_paths import bucket_directory
from paimon_spark.store.table import Table, open_table

PARTITIONS = 40
SECONDS = 20.0  # goal: 5,000 files a second on a local disk


def run(results: Results, root: Path, scale: float) -> None:
    snapshots, files = max(20, int(1000 * scale)), max(2000, int(100_000 * scale))
    shutil.rmtree(root / "bench.db" / "expiry", ignore_errors=True)
    table = lived(root / "bench.db" / "expiry", snapshots, files)
    before = peak()
    began = time.perf_counter()
    result: ExpiryResult = expire_snapshots(table, retain_max=1, retain_min=1, max_deletes=2**31 - 1)
    seconds = time.perf_counter() - began
    what = f"expire {len(result.ids):,} snapshots of {files:,} files"
    results.lower(what, seconds, "s", SECONDS * scale, f"{len(result.paths):,} files deleted")
    results.higher(f"{what}: files", len(result.paths) / seconds, "/s", 5000)
    results.lower(f"{what}: memory", max(0.0, peak() - before), "MB", 500)


def lived(path: Path, snapshots: int, files: int) -> Table:
    """An append table of partitions; each snapshot replaces as many files as all of them together replace the table."""
    schema = arrow_schema(bench_plan.table_of_files(path.parent, 1000).schema.fields)
    create_table(str(path), new_schema(schema, (), ("s2",), {"bucket": "-1", "write-only": "true"}))
    table = open_table(str(path))
    live = [_entry(number) for number in range(files)]
    _store(table, live)
    _commit(table, 0, live)
    each = max(1, files // snapshots)
    for number in range(1, snapshots + 1):
        gone, live = live[:each], live[each:]
        new = [_entry(files + number * each + i) for i in range(each)]
        _store(table, new)
        _commit(table, number, [*(replace(entry, kind=FileKind.DELETE) for entry in gone), *new])
        live += new
    return table


def _entry(number: int) -> ManifestEntry:
    file: DataFileMeta = bench_plan.data_file(number)
    part = encode_arity_row((f"category-{number % PARTITIONS:04d}",), (bench_plan.STRING,))
    return ManifestEntry(FileKind.ADD, part, 0, -1, file)


def _store(table: Table, entries: list[ManifestEntry]) -> None:
    for entry in entries:
        directory = Path(bucket_directory(table, entry.partition, entry.bucket))
        directory.mkdir(parents=True, exist_ok=True)
        (directory / entry.file.file_name).write_bytes(b"some")


def _commit(table: Table, number: int, entries: list[ManifestEntry]) -> None:
    changes = Changes(tuple(entries))
    request = CommitRequest("bench", number, CommitKind.APPEND, None, lambda state: changes, checks_files=False)
    commit_request(table, request, None)


def peak() -> float:
    """The most memory this process has had so far, MB."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (2**20 if sys.platform == "darwin" else 2**10)
