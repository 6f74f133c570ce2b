"""Planning a table of 100,000 files and committing to small and large tables: metadata only, no data file is opened."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import data
import numpy as np
from measure import Results, fastest, printed_apart, resident_peak

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.manifest import DataFileMeta, SimpleStats
from paimon_spark.format.types import DataType, Root
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.remembered import forget_all
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.maintenance import maintain
from paimon_spark.tables.open import open_table

BIGINT, STRING = DataType(Root.BIGINT), DataType(Root.VARCHAR, length=2**31 - 1)
FILES_PER_PARTITION = 250
AGE_SECONDS = 6.0
"""A manifest that is younger is decoded anew by each plan."""


def table_of_files(root: Path, files: int) -> Table:
    """An append table, partitioned by s2, whose manifests name `files` files that do not exist."""
    path = root / f"files-{files}"
    done = path.with_suffix(".done")
    if not done.exists():
        shutil.rmtree(path, ignore_errors=True)
        schema = data.batch("int64 dense", np.arange(1), 0).schema
        create_table(str(path), new_schema(schema, (), ("s2",), {"bucket": "-1"}))
        table = open_table(str(path))
        messages = [message(part, min(FILES_PER_PARTITION, files)) for part in range(-(-files // FILES_PER_PARTITION))]
        TableCommit(table, "bench").append(messages)
        done.touch()
    return open_table(str(path))


def done_at(table: Table) -> float:
    """When the last file of the table was made, in seconds."""
    return max(path.stat().st_ctime for path in Path(table.location).rglob("*"))


def message(part: int, files: int) -> CommitMessage:
    """The files of one partition, with min, max and null counts of nine columns as a real writer leaves them."""
    metas = tuple(data_file(part * files + number) for number in range(files))
    return CommitMessage(encode_arity_row((f"category-{part:04d}",), (STRING,)), 0, -1, metas)


def data_file(number: int) -> DataFileMeta:
    low, high = number * 10_000, number * 10_000 + 9_999
    types = (BIGINT, STRING, STRING, BIGINT, BIGINT)
    stats = SimpleStats(
        encode_arity_row((low, f"text-{low:012d}", "category-0000", 0, 1), types),
        encode_arity_row((high, f"text-{high:012d}", "category-0999", 999, 10**12), types),
        (0, 0, 0, 0, 0),
    )
    empty = DataFileMeta(
        file_name=f"data-0b5d3c1e-1f2a-4b6c-8d7e-{number:012d}-0.parquet",
        file_size=1_000_000 + number,
        row_count=10_000,
        min_key=bytes(12),
        max_key=bytes(12),
        key_stats=SimpleStats(),
        value_stats=stats,
        min_sequence_number=low,
        max_sequence_number=high,
        schema_id=0,
        level=0,
        creation_time=1_700_000_000_000 + number,
        delete_row_count=0,
        file_source=0,
    )
    return empty._replace(value_stats_cols=("id", "s1", "s2", "l1", "l2"))


def run(results: Results, root: Path, scale: float) -> None:
    files = max(1000, int(100_000 * scale))
    table = table_of_files(root / "bench.db", files)
    one = "s2 = 'category-0007'"
    time.sleep(max(0.0, done_at(table) + AGE_SECONDS - time.time()))

    def plan(where: str | None = None) -> object:
        return open_table(table.location).scan(where=where).plan()

    best = fastest(
        {
            "first": lambda: (forget_all(), plan()),
            "first partition": lambda: (forget_all(), plan(one)),
            "full": plan,
            "partition": lambda: plan(one),
            "count": lambda: open_table(table.location).scan().count(),
            "max": lambda: open_table(table.location).scan().max("id"),
        }
    )
    goal = files / 100_000
    what = f"plan of {files:,} files"
    results.lower(f"{what}, first of a session", best["first"], "s", 0.2 * goal)
    results.lower(what, best["full"], "s", 0.2 * goal, "its manifests are decoded already")
    what = f"plan of one of {files // FILES_PER_PARTITION} partitions of {files:,} files"
    results.lower(f"{what}, first of a session", best["first partition"] * 1000, "ms", 200 * goal)
    results.lower(what, best["partition"] * 1000, "ms", 30 * goal, "its manifests are decoded already")
    results.lower(f"count of {files:,} files", best["count"], "s", 0.1 * goal, "its manifests are decoded already")
    results.lower(
        f"max of a column of {files:,} files", best["max"], "s", 0.8 * goal, "its manifests are decoded already"
    )
    many = max(10_000, int(1_000_000 * scale))
    for live in (10, 10_000, many):
        commit_latency(results, root, live)
    first_plan(results, table_of_files(root / "bench.db", many), many)


def first_plan(results: Results, table: Table, files: int) -> None:
    """A plan of very many files, in a process of its own."""
    found = printed_apart(f"bench_plan.plan_apart({table.location!r})")
    what = f"plan of {files:,} files, first of a session"
    results.lower(what, found["seconds"], "s", 2.5 * files / 1_000_000)
    results.lower(f"{what}: memory", found["peak"] / 2**20, "MB", 1024)


def plan_apart(path: str) -> None:
    """Prints the seconds that a plan takes, and the bytes that the process needed at its peak."""
    began = time.perf_counter()
    splits = open_table(path).scan().plan()
    print(json.dumps({"seconds": time.perf_counter() - began, "peak": resident_peak(), "splits": len(splits.splits)}))


def commit_latency(results: Results, root: Path, live: int) -> None:
    """One file added by one commit, manifests, snapshot and fsync included; the table is opened anew as a job would."""
    source = table_of_files(root / "bench.db", live)
    path = root / f"commits-{live}"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(source.location, path)
    turn = iter(range(10_000))

    def commit() -> None:
        number = 10_000_000 + next(turn)
        partition = encode_arity_row(("category-0001",), (STRING,))
        new = CommitMessage(partition, 0, -1, (data_file(number),))
        TableCommit(table, f"bench-{number}").append([new])

    def commit_and_maintain() -> None:
        commit()
        maintain(table)

    table = open_table(str(path), {"write-only": "false"})
    commit()
    best = fastest({"commit": commit, "maintained": commit_and_maintain}, 20)
    note = f"snapshot {open_table(str(path)).snapshots.latest_id()}, local disk"
    what = f"commit of one file, {live:,} live files"
    results.lower(what, best["commit"] * 1000, "ms", 10, note)
    results.lower(f"{what}, and what follows it", best["maintained"] * 1000, "ms", 10, "nothing is due")
