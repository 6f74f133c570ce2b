"""System tables of a table of 100,000 files: metadata only, no data file is opened."""

from __future__ import annotations

from pathlib import Path

from bench_plan import FILES_PER_PARTITION, table_of_files
from measure import Results, fastest

from paimon_spark.tables.open import open_table

NARROW = ("file_path", "record_count")


def run(results: Results, root: Path, scale: float) -> None:
    files = max(1000, int(100_000 * scale))
    path = table_of_files(root / "bench.db", files).location
    one = "partition = '{category-0007}'"
    best = fastest(
        {
            "all": lambda: open_table(path).system_table("files").to_arrow(),
            "narrow": lambda: open_table(path).system_table("files", NARROW).to_arrow(),
            "one": lambda: open_table(path).system_table("files", where=one).to_arrow(),
            "partitions": lambda: open_table(path).system_table("partitions").to_arrow(),
        }
    )
    note = f"two columns: {best['narrow']:.2f} s, one partition of {files // FILES_PER_PARTITION}: {best['one']:.2f} s"
    results.lower(f"$files of {files:,} files, all columns", best["all"], "s", 2.0 * files / 100_000, note)
    results.lower(f"$partitions of {files:,} files", best["partitions"], "s", 1.0 * files / 100_000)
