"""``./dev bench``: run the benchmarks and write benchmarks/RESULTS.md, or compare a short set with another commit."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import bench_ceilings
import bench_cold
import bench_columns
import bench_compaction
import bench_dynamic
import bench_engines
import bench_executors
import bench_expiry
import bench_growth
import bench_here
import bench_indexes
import bench_layout
import bench_long_streams
import bench_memory
import bench_native
import bench_orphans
import bench_page
import bench_plan
import bench_read
import bench_requests
import bench_rows
import bench_spark
import bench_statements
import bench_streams
import bench_system
import bench_tpcds
import bench_tpch
import bench_variants
import bench_write
from compare import run_compare
from measure import Results, write_results

PARTS = {
    "cold": bench_cold.run,
    "read": bench_read.run,
    "engines": bench_engines.run,
    "write": bench_write.run,
    "dynamic": bench_dynamic.run,
    "here": bench_here.run,
    "plan": bench_plan.run,
    "system": bench_system.run,
    "expiry": bench_expiry.run,
    "orphans": bench_orphans.run,
    "page": bench_page.run,
    "spark": bench_spark.run,
    "native": bench_native.run,
    "tpch": bench_tpch.run,
    "tpcds": bench_tpcds.run,
    "variants": bench_variants.run,
    "columns": bench_columns.run,
    "rows": bench_rows.run,
    "statements": bench_statements.run,
    "requests": bench_requests.run,
    "streams": bench_streams.run,
    "indexes": bench_indexes.run,
    "layout": bench_layout.run,
    "compaction": bench_compaction.run,
    "memory": bench_memory.run,
    "ceilings": bench_ceilings.run,
    "executors": bench_executors.run,
    "growth": bench_growth.run,
    "long-streams": bench_long_streams.run,
}
ONLY_BY_NAME = {"long-streams"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument(
        "parts", nargs="*", choices=[*PARTS, []], help="which parts to run; all but long-streams without a name"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="factor on row and file counts (0.1: a quick look)")
    parser.add_argument("--dir", type=Path, help="where tables are kept between runs (default: a temporary directory)")
    parser.add_argument(
        "--compare", metavar="COMMIT", help="run the short set in turns with this commit; fail if slower"
    )
    chosen = parser.parse_args()
    # With it each Python worker would compile the package anew, whose modules are compiled where it is installed.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if chosen.compare:
        sys.exit(0 if run_compare(chosen.compare) else 1)
    began, results = time.perf_counter(), Results()
    with tempfile.TemporaryDirectory() as temporary:
        root = (chosen.dir or Path(temporary)).resolve()
        (root / "bench.db").mkdir(parents=True, exist_ok=True)
        for name in chosen.parts or [name for name in PARTS if name not in ONLY_BY_NAME]:
            PARTS[name](results, root, chosen.scale)
    if not chosen.parts and chosen.scale == 1:
        write_results(results, Path(__file__).parent / "RESULTS.md", (time.perf_counter() - began) / 60)


if __name__ == "__main__":
    main()
