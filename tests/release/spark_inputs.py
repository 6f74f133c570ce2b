"""Runs Spark's own SQL test inputs by cat.sql over Paimon tables and by plain Spark over equal parquet tables.

    python tests/release/spark_inputs.py [folder of the downloads [inputs, such as having.sql or 'subquery/*/*.sql']]

``PAIMON_SHARE=2/5`` in the environment compares the second fifth of each input's queries only.

The folder may hold the resources of Spark's tests already (``sql-tests/inputs``); else they are downloaded. Each table
and temporary view of an input becomes a parquet table on one side and a Paimon table on the other one, if both can hold
its columns, and a temporary view on both sides if not.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

from pyspark.sql import SparkSession
from support.oracles.equal_results import NotComparable, compare
from support.oracles.two_sides import TwoSides, Work, work_of
from support.programs.spark_inputs import INPUTS, TEST_DATA, Input, fetch, read_input

CHOSEN = (
    "alias-resolution-edge-cases.sql",
    "array.sql",
    "column*.sql",
    "comparator.sql",
    "count.sql",
    "cross-join.sql",
    "cte*.sql",
    "except*.sql",
    "explain-cbo.sql",
    "extract*.sql",
    "generators.sql",
    "group*.sql",
    "having*.sql",
    "higher-order-functions.sql",
    "identifier-clause.sql",
    "inner-join.sql",
    "intersect-all.sql",
    "join-*.sql",
    "like-*.sql",
    "limit.sql",
    "listagg.sql",
    "mode.sql",
    "name-precedence*.sql",
    "natural-join.sql",
    "non-excludable-rule.sql",
    "null-*.sql",
    "order-by*.sql",
    "outer-join.sql",
    "percentiles.sql",
    "pipe-operators.sql",
    "pivot.sql",
    "postgreSQL/aggregates*.sql",
    "postgreSQL/case.sql",
    "postgreSQL/float*.sql",
    "postgreSQL/groupingsets.sql",
    "postgreSQL/int*.sql",
    "postgreSQL/join.sql",
    "postgreSQL/limit.sql",
    "postgreSQL/select*.sql",
    "postgreSQL/union.sql",
    "postgreSQL/window*.sql",
    "postgreSQL/with.sql",
    "pred-pushdown.sql",
    "predicate-functions.sql",
    "query_regex_column.sql",
    "replacing-missing*.sql",
    "selectExcept.sql",
    "sql-session-variables.sql",
    "struct.sql",
    "subquery/*.sql",
    "subquery/*/*.sql",
    "subexp-elimination.sql",
    "table-aliases.sql",
    "table-valued-functions.sql",
    "timestamp-ntz.sql",
    "try_aggregates.sql",
    "union*.sql",
    "unpivot.sql",
    "using-join.sql",
    "window*.sql",
)
"""The inputs whose statements query tables and temporary views."""

DIFFERENT: dict[tuple[str, str], str] = {}
"""Statements whose results differ on purpose: (input, how the statement begins, in one line), and why."""


def main(folder: Path, chosen: Sequence[str]) -> int:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[2])
    resources = fetch(folder)
    inputs = resources / INPUTS
    names = sorted({str(path.relative_to(inputs)) for pattern in chosen for path in inputs.glob(pattern)})
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        spark = _session(Path(scratch))
        for number, name in enumerate(names):
            sides = TwoSides(spark, Path(scratch), f"input_{number}", resources / TEST_DATA)
            counts += run_input(sides, read_input(resources, name))
            sides.close()
        spark.stop()
    print(f"{len(names)} inputs:", ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    return counts["different"]


def _session(scratch: Path) -> SparkSession:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.codegen.wholeStage", "false")  # compiling takes longer than the few rows
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.sql.session.timeZone", "America/Los_Angeles")  # as in the suite of Spark
        .config("spark.sql.warehouse.dir", str(scratch / "spark-warehouse"))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return spark


def run_input(sides: TwoSides, given: Input) -> Counter[str]:
    """Runs the statements of an input in their order; prints what is not the same, and the counts."""
    began = time.monotonic()
    for key, value in given.settings:
        sides.set(key, value)
    sides.make_test_tables("\n".join(given.statements))
    counts: Counter[str] = Counter()
    part, parts = (int(number) for number in os.environ.get("PAIMON_SHARE", "1/1").split("/"))
    first, end = (len(given.statements) * at // parts for at in (part - 1, part))
    for at, text in enumerate(given.statements):
        line = " ".join(text.split())
        work = work_of(text)
        if work is not Work.QUERY:
            said = sides.prepare(work, text)
            counts["statements that prepare"] += 1
            if said:
                print(f"{given.name}: {line[:200]}\n    {said}", flush=True)
            continue
        if not first <= at < end:
            continue
        if not sides.reads_tables(text):
            counts["over no table, passed over"] += 1
            continue
        try:
            is_same, said = compare(sides.plain.sql, sides.sql, text)
        except NotComparable as error:
            counts["not comparable"] += 1
            print(f"{given.name}: {line[:200]}\n    not comparable: {error}", flush=True)
            continue
        reason = None if is_same else _reason(given.name, line)
        if is_same:
            counts["refused by both" if "refused" in said else "same results"] += 1
        elif reason:
            counts["different with a reason"] += 1
        else:
            counts["different"] += 1
        if not is_same or "refused otherwise" in said:
            print(f"{given.name}: {line[:300]}\n    {said}{f' [{reason}]' if reason else ''}", flush=True)
    told = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    print(f"{given.name}: {told} ({time.monotonic() - began:.1f} s)", flush=True)
    return counts


def _reason(name: str, line: str) -> str | None:
    return next((why for (of, begin), why in DIFFERENT.items() if of == name and line.startswith(begin)), None)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("build/spark-inputs"), sys.argv[2:] or CHOSEN) > 0)
