"""File indexes on unordered columns: lookups with and without them, and what they cost a write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import tables
from bench_spark import session
from java_session import Condition, java_lookups
from measure import Results, fastest

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

FILES = 200
COLUMNS = pa.schema(
    [("session", pa.string()), ("user", pa.int64()), ("kind", pa.string()), ("price", pa.int64()), ("d", pa.float64())]
)
BLOOMS = {"file-index.bloom-filter.columns": "session,user"}
INDEXES = {**BLOOMS, "file-index.bitmap.columns": "kind", "file-index.range-bitmap.columns": "price"}
WITHOUT = {"file-index.read.enabled": "false"}
PRICES = 10**9


def batch(random: np.random.Generator, rows: int) -> pa.RecordBatch:
    """Rows in no order; a few of the kinds are rare."""
    kinds = np.minimum(random.geometric(0.2, rows), 60)
    return pa.record_batch(
        [
            pa.array([f"{number:016x}" for number in random.integers(0, 2**63, rows).tolist()]),
            pa.array(random.integers(0, 2**40, rows)),
            pa.array([f"kind {number}" for number in kinds.tolist()]),
            pa.array(random.integers(0, PRICES, rows)),
            pa.array(random.random(rows)),
        ],
        schema=COLUMNS,
    )


def batches(files: int, rows: int) -> Iterator[pa.RecordBatch]:
    random = np.random.default_rng(7)
    return (batch(random, rows) for _ in range(files))


def filled(root: Path, rows: int) -> Table:
    """A table of many files with all indexes; reused when it is there."""
    path = root / f"indexed-{rows}"
    done = path.with_suffix(".done")
    if not done.exists():
        items = {f"file-index.bloom-filter.{name}.items": str(rows) for name in ("session", "user")}
        options = {"bucket": "-1", "target-file-row-num": str(rows), **INDEXES, **items}
        create_table(str(path), new_schema(COLUMNS, (), (), options))
        tables.write(open_table(str(path)), batches(FILES, rows), "load")
        done.touch()
    return open_table(str(path))


def run(results: Results, root: Path, scale: float) -> None:
    table = filled(root / "bench.db", max(int(100_000 * scale), 1000))
    first = next(batches(1, max(int(100_000 * scale), 1000)))
    low = first.column("price")[0].as_py()
    point: Condition = [("equal", "session", first.column("session")[0].as_py())]
    between: Condition = [("greaterOrEqual", "price", low), ("lessThan", "price", low + 50)]
    lookup(results, table, "point lookup with a bloom filter", point, 0.2)
    lookup(results, table, "equality with a bitmap", [("equal", "kind", "kind 59")], 0.5)
    lookup(results, table, "range of 50 values with a range bitmap", between, 0.2)
    first_rows(results, table, "price", 10, 0.5)
    first_rows(results, table, "price", 100, 0.5)
    write(results, int(2_000_000 * scale))


def lookup(results: Results, table: Table, what: str, condition: Condition, goal: float) -> None:
    """The time of a lookup, planning included, with indexes over that without; against Spark and genuine Java."""
    signs = {"equal": "=", "greaterOrEqual": ">=", "lessThan": "<"}
    where = " and ".join(f"{column} {signs[method]} {value!r}" for method, column, value in condition)
    plain = session().read.parquet(*file_paths(table))
    path = table.location
    explained = open_table(path).scan(where=where).explain()
    best = fastest(
        {
            "with": lambda: open_table(path).scan(where=where).to_arrow(),
            "without": lambda: open_table(path, WITHOUT).scan(where=where).to_arrow(),
            "parquet": lambda: plain.where(where).toArrow(),
        },
        3,
    )
    assert explained is not None
    note = (
        f"{best['with'] * 1000:.0f} ms, without {best['without'] * 1000:.0f} ms, spark.read.parquet "
        f"{best['parquet'] * 1000:.0f} ms; {explained.after_indexes} of {explained.after_statistics} files read"
    )
    results.lower(f"{what}: time / without", best["with"] / best["without"], "x", goal, note)
    java = java_lookups(path, [condition])
    if java is None:
        return
    [theirs] = java
    note = f"genuine Java 2.0.0 {theirs.seconds * 1000:.0f} ms, {theirs.files} files read, {theirs.rows} rows"
    results.lower(f"{what}: time / Java", best["with"] / theirs.seconds, "x", 1, note)
    results.lower(f"{what}: files read / Java", explained.after_indexes / max(theirs.files, 1), "x", 1, note)


def first_rows(results: Results, table: Table, column: str, count: int, goal: float) -> None:
    """The time of the rows with the least values, with a range bitmap over that without; against Spark and Java."""
    path, what = table.location, f"first {count} rows by a range bitmap"
    plain = session().read.parquet(*file_paths(table))
    best = fastest(
        {
            "with": lambda: open_table(path).scan().top(column, count),
            "without": lambda: open_table(path, WITHOUT).scan().top(column, count),
            "parquet": lambda: plain.orderBy(column).limit(count).toArrow(),
        },
        3,
    )
    note = (
        f"{best['with'] * 1000:.0f} ms, without {best['without'] * 1000:.0f} ms, spark.read.parquet "
        f"{best['parquet'] * 1000:.0f} ms"
    )
    results.lower(f"{what}: time / without", best["with"] / best["without"], "x", goal, note)
    java = java_lookups(path, [(column, count)])
    if java is None:
        return
    [theirs] = java
    note = f"genuine Java 2.0.0 {theirs.seconds * 1000:.0f} ms, {theirs.files} files read, {theirs.rows} rows unsorted"
    results.lower(f"{what}: time / Java", best["with"] / theirs.seconds, "x", 1, note)


def file_paths(table: Table) -> list[str]:
    return [f"{split.bucket_path}/{file.file_name}" for split in table.scan().plan().splits for file in split.files]


def write(results: Results, rows: int) -> None:
    """Writing with two bloom filters over writing without."""
    parts = list(batches(4, max(rows // 4, 1)))

    def load(options: dict[str, str]) -> None:
        with TemporaryDirectory() as folder:
            create_table(f"{folder}/t", new_schema(COLUMNS, (), (), {"bucket": "-1", **options}))
            tables.write(open_table(f"{folder}/t"), parts, "load")

    best = fastest({"with": lambda: load(BLOOMS), "without": lambda: load({})}, 3)
    note = f"{best['with']:.2f} s, without {best['without']:.2f} s, {rows} rows"
    results.lower("write with two bloom filters: time / without", best["with"] / best["without"], "x", 1.15, note)
