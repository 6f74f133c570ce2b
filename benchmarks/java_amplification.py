"""What genuine Java 2.0.0 writes for the commits of bench_compaction: python benchmarks/java_amplification.py [ROWS].

The rows of each commit are written by us without compaction, then Java compacts what its own picks say. Needs Java and
the jar that the interop tests use; measured once, the figure stands in bench_compaction.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import data
import tables
from bench_compaction import SHAPE, amplification_table, bytes_written, keys_of_commit

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "interop"))

from genuine import java_process  # the interop tests are no package

COMMITS = 200


def main(rows: int) -> None:
    """Prints bytes written in all over bytes of the first write of each row."""
    with tempfile.TemporaryDirectory() as directory, java_process("2.0.0") as java:
        table = amplification_table(Path(directory) / "amplified")
        written = 0
        for number in range(COMMITS):
            before = bytes_written(table)
            batches = data.rows(SHAPE, keys_of_commit(number, COMMITS, rows), number)
            tables.write(table.with_options({"write-only": "true"}), batches, f"commit-{number}")
            written += bytes_written(table) - before
            java.compact(table.location, full=False)
        print(f"{COMMITS} commits of {rows:,} rows: {bytes_written(table) / written:.3f} bytes a byte")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)
