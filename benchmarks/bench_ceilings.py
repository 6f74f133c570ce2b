"""Tables at the ends of what one may have: time and peak memory of each operation, in a process of its own.

Rows of 100 MB, a bucket of 100 million rows, 10,000 columns, a million partitions, 100,000 manifests and 50,000
snapshots. Those of metadata name files that do not exist: nothing here opens one.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import bench_plan
import numpy as np
import pyarrow as pa
from measure import Results, printed_apart, resident_peak

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.paths import snapshot_path
from paimon_spark.format.snapshot import encode_snapshot
from paimon_spark.store.checks.table import check
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

MIB = 2**20
ROW_BYTES = 100 * MIB
RUNS = 5
_SMALL_ROWS = pa.schema([pa.field("k", pa.int64(), False), pa.field("v", pa.int64())])


def drained(batches: Iterator[pa.RecordBatch]) -> int:
    return sum(batch.num_rows for batch in batches)


def commit_of_a_file(path: str) -> None:
    """By a user of its own: the commit of one who has committed before is found instead of made."""
    TableCommit(open_table(path), f"bench-{time.time_ns()}").append([bench_plan.message(10**6, 1)])


OPERATIONS: dict[str, Callable[[str], object]] = {
    "append of a row": lambda path: open_table(path).append(large_rows(1000, 1)),
    "read in batches": lambda path: drained(open_table(path).scan().to_batches()),
    "compaction": lambda path: open_table(path).compact(full=True),
    "check": check,
    "upsert of 200,000 rows": lambda path: open_table(path).append(upserts(200_000)),
    "row by its key": lambda path: open_table(path).scan(where="k = 4711").to_arrow().num_rows,
    "count": lambda path: open_table(path).scan().count(),
    "append of 100 rows": lambda path: open_table(path).append(wide_rows(open_table(path), 100)),
    "read of two columns": lambda path: drained(open_table(path).scan(columns=["c0", "c9"]).to_batches()),
    "plan of all": lambda path: open_table(path).scan().plan(),
    "plan of one partition": lambda path: open_table(path).scan(where="s2 = 'category-0007'").plan(),
    "partitions": lambda path: open_table(path).system_table("partitions").count(),
    "commit": commit_of_a_file,
    "opening": lambda path: open_table(path).scan().count(),
    "history": lambda path: len(open_table(path).system_table("snapshots").to_arrow()),
    "time travel": lambda path: open_table(path, {"scan.timestamp-millis": "1700000025000"}).scan().count(),
    "append": lambda path: open_table(path).append({"k": [1]}),
    "expiry of 1,000": lambda path: open_table(path).expire_snapshots(retain_max=10, max_deletes=1000),
}


def run_one(name: str, path: str) -> None:
    """Does one operation; prints its seconds and the peak of the process in bytes."""
    began = time.perf_counter()
    OPERATIONS[name](path)
    print(json.dumps({"seconds": time.perf_counter() - began, "rss": resident_peak()}))


def large_rows(first: int, count: int) -> pa.Table:
    """Rows of 100 MB that no codec makes small."""
    draw = np.random.default_rng(first)
    texts = pa.array([draw.bytes(ROW_BYTES) for _ in range(count)], pa.binary())
    return pa.table({"k": pa.array(range(first, first + count), pa.int64()), "v": texts})


def table_of_large_rows(root: Path, rows: int) -> str:
    path = str(root / f"large-rows-{rows}")
    if not Path(path).exists():
        schema = pa.schema([pa.field("k", pa.int64(), False), pa.field("v", pa.binary())])
        create_table(path, new_schema(schema, ("k",), (), {"bucket": "1", "write-only": "true"}))
        for _ in range(0, rows, 4):  # the same keys each time
            open_table(path).append(large_rows(0, 4))
    return path


def run_of_rows(first: int, count: int) -> Iterator[pa.RecordBatch]:
    """A sorted run: every third key, beginning with the first."""
    for start in range(0, count, MIB):
        keys = np.arange(start, min(start + MIB, count)) * 3 + first
        yield pa.record_batch({"k": keys, "v": keys * 7}, _SMALL_ROWS)


def upserts(count: int) -> pa.Table:
    keys = np.random.default_rng(3).choice(count * 100, count, replace=False)
    return pa.table({"k": keys, "v": -keys}, _SMALL_ROWS)


def table_of_one_bucket(root: Path, rows: int) -> str:
    """Five sorted runs over the same range of keys; two of them have the keys of two others."""

    def make(path: Path) -> None:
        create_table(str(path), new_schema(_SMALL_ROWS, ("k",), (), {"bucket": "1", "write-only": "true"}))
        for run in range(RUNS):
            batches = run_of_rows(run % 3, rows // RUNS)
            open_table(str(path)).append(pa.RecordBatchReader.from_batches(_SMALL_ROWS, batches))

    return _made_once(root / f"bucket-{rows}", make)


def _made_once(path: Path, make: Callable[[Path], None]) -> str:
    """The path of a table; what a run that was ended has left of one is made anew."""
    done = path.with_suffix(".done")
    if not done.exists():
        shutil.rmtree(path, ignore_errors=True)
        make(path)
        done.touch()
    return str(path)


def wide_rows(table: Table, rows: int) -> pa.Table:
    return pa.table({field.name: pa.array(range(rows), pa.int64()) for field in table.schema.fields})


def wide_table(root: Path, columns: int) -> str:
    path = str(root / f"wide-{columns}")
    if not Path(path).exists():
        schema = pa.schema([pa.field(f"c{number}", pa.int64()) for number in range(columns)])
        create_table(path, new_schema(schema, (), (), {"bucket": "-1"}))
        open_table(path).append(wide_rows(open_table(path), 1000))
    return path


def table_of_partitions(root: Path, partitions: int) -> str:
    """One file in each partition."""
    path = root / f"partitions-{partitions}"
    return _table_of_messages(
        path,
        {},
        (
            CommitMessage(
                encode_arity_row((f"category-{part:07d}",), (bench_plan.STRING,)), 0, -1, (bench_plan.data_file(part),)
            )
            for part in range(partitions)
        ),
    )


def table_of_manifests(root: Path, manifests: int) -> str:
    """One file in each manifest."""
    options = {"manifest.target-file-size": "1 b"}
    path = root / f"manifests-{manifests}"
    return _table_of_messages(path, options, (bench_plan.message(part, 1) for part in range(manifests)))


def _table_of_messages(path: Path, options: dict[str, str], messages: Iterator[CommitMessage]) -> str:
    def make(path: Path) -> None:
        schema = bench_plan.data.batch("int64 dense", np.arange(1), 0).schema
        create_table(str(path), new_schema(schema, (), ("s2",), {"bucket": "-1", **options}))
        TableCommit(open_table(str(path)), "bench").append(list(messages))

    return _made_once(path, make)


def table_of_snapshots(root: Path, snapshots: int) -> str:
    """A snapshot a second, each of the same file."""
    path = root / f"snapshots-{snapshots}"
    shutil.rmtree(path, ignore_errors=True)
    create_table(str(path), new_schema(pa.schema([pa.field("k", pa.int64())]), (), (), {"write-only": "true"}))
    table = open_table(str(path))
    table.append({"k": [1]})
    first = table.snapshots.latest()
    assert first is not None
    for number in range(2, snapshots + 1):
        made = replace(first, id=number, time_millis=1_700_000_000_000 + 1000 * number, commit_identifier=number)
        Path(snapshot_path(str(path), number)).write_bytes(encode_snapshot(made))
    (path / "snapshot" / "LATEST").write_text(str(snapshots))
    return str(path)


CEILINGS: tuple[tuple[str, Callable[[Path, int], str], int, dict[str, tuple[float, float]]], ...] = (
    (
        "rows of 100 MB",
        table_of_large_rows,
        12,
        {"append of a row": (10, 1500), "read in batches": (20, 4500), "check": (30, 4500), "compaction": (60, 4500)},
    ),
    (
        "rows in a bucket",
        table_of_one_bucket,
        100_000_000,
        {
            "count": (60, 1000),
            "read in batches": (120, 1500),
            "row by its key": (5, 500),
            "upsert of 200,000 rows": (10, 500),
            "check": (300, 1500),
            "compaction": (300, 1500),
        },
    ),
    (
        "columns",
        wide_table,
        10_000,
        {
            "append of 100 rows": (30, 1000),
            "read in batches": (30, 1000),
            "read of two columns": (10, 500),
            "check": (60, 1500),
        },
    ),
    (
        "partitions",
        table_of_partitions,
        1_000_000,
        {
            "plan of all": (180, 4000),
            "plan of one partition": (10, 1000),
            "partitions": (180, 4000),
            "commit": (30, 2000),
        },
    ),
    (
        "manifests",
        table_of_manifests,
        100_000,
        {"plan of all": (30, 1500), "plan of one partition": (10, 500), "commit": (30, 1000)},
    ),
    (
        "snapshots",
        table_of_snapshots,
        50_000,
        {
            "opening": (5, 300),
            "history": (60, 1000),
            "time travel": (5, 300),
            "append": (5, 300),
            "expiry of 1,000": (30, 500),
        },
    ),
)
"""What there is much of, its table, how much, and by operation the most seconds and megabytes."""


def run(results: Results, root: Path, scale: float) -> None:
    for what, table, most, operations in CEILINGS:
        path = table(root, max(4, int(most * scale)))
        for name, (seconds, megabytes) in operations.items():
            seen = printed_apart(f"bench_ceilings.run_one({name!r}, {path!r})")
            line = f"{max(4, int(most * scale)):,} {what}: {name}"
            results.lower(line, seen["seconds"], "s", seconds, f"peak {seen['rss'] / MIB:.0f} MB")
            results.lower(f"{line}: memory", seen["rss"] / MIB, "MB", megabytes)
