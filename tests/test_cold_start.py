"""What each Python process that Spark starts for a first write and a first read imports: the user waits for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.programs import cold_steps
from support.programs.cold_steps import STEPS, Step

from paimon_spark import create_table

# Libraries that a plain write or read of a Parquet table on a local disk has no use for, and those of some steps only.
NEVER = {"sqlglot", "obstore", "typer", "rich", "datasketches", "_datasketches", "xxhash", "pkg_resources"}
NOT_IN = {
    "lookup": {"pyarrow", "numpy", "pandas", "fastavro"},
    "open_write": {"pandas", "multiprocessing", "tenacity"},
    "write": {"pandas", "tenacity", "multiprocessing", "fastavro"},
    "commit": {"pandas", "multiprocessing", "http"},
    "create": {"pyarrow", "numpy", "pandas", "fastavro"},
    "plan": {"pandas", "multiprocessing", "tenacity"},
    "read": {"pandas", "multiprocessing", "tenacity"},
}
# Modules of this package, at most: somewhat more than what was there when this was written.
OWN = {"lookup": 6, "open_write": 118, "write": 141, "commit": 176, "create": 71, "plan": 139, "read": 167}


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Step]:
    return cold_steps.run_steps(tmp_path_factory.mktemp("cold"))


@pytest.mark.parametrize("name", STEPS)
def test_a_step_imports_what_it_needs(steps: dict[str, Step], name: str) -> None:
    step = steps[name]
    assert step.libraries & (NEVER | NOT_IN[name]) == set()
    assert step.own <= OWN[name], sorted(module for module in step.modules if module.startswith("paimon_spark"))


@pytest.mark.parametrize("name", ["open_write", "commit", "create", "plan"])
def test_a_step_that_computes_nothing_waits_for_no_functions_of_arrow(steps: dict[str, Step], name: str) -> None:
    assert "pyarrow.compute" not in steps[name].modules


def test_a_commit_after_which_nothing_is_compacted_imports_no_compaction(steps: dict[str, Step]) -> None:
    others = ("compaction_job", "commit", "append_plan", "bucket")
    assert [other for other in others if f"paimon_spark.store.compact.{other}" in steps["commit"].modules] == []


def test_formats_and_engines_that_a_table_does_not_have_stay_away(steps: dict[str, Step]) -> None:
    loaded = {module for name in ("write", "plan", "read") for module in steps[name].modules}
    others = (
        "arrow.formats.orc_", "arrow.formats.avro_data", "merge.engines.aggregation", "merge.engines.partial",
        "merge.compaction.merge", "store.compact.",
    )  # fmt: skip
    assert [m for m in sorted(loaded) if m.startswith(tuple(f"paimon_spark.{other}" for other in others))] == []


# What a catalog of Spark imports before its first read, and before its first write, at most: somewhat more than now.
READS_OWN, SQL_OWN, WRITES_OWN, CALL_OWN = 262, 300, 405, 380
READS = "paimon_spark.register_catalog"
WRITES = f"{READS}; import paimon_spark.spark.spark_catalog.write_builder"
CALL = f"""{READS}; import paimon_spark.spark.spark_catalog.procedure_calls
from paimon_spark.spark.statements.calls import bind, run_call; bind('create_tag', ['t', 'first'])"""
OF_OTHER_DOORS = (
    "cdc.", "merge.engines.aggregation", "procedures", "row_changes", "spark.cdc", "spark.merge_into", "spark.rows",
    "spark.statements.runners", "spark.table.table_api", "store.checks", "store.clean.orphans",
)  # fmt: skip
OF_SQL = ("spark.queries.run_query", "spark.statements.run", "sql.parse", "sql.read_")
OF_OTHER_CALLS = (
    "merge.engines.aggregation", "procedures.databases", "procedures.orphan_files", "procedures.rewrites",
    "procedures.snapshots", "spark.jobs.compact_job", "spark.jobs.engine_work", "spark.statements.inserts",
    "spark.statements.runners", "spark.table.table_api", "store.clean", "store.compact", "store.expire.snapshots",
    "store.indexing", "store.rescale",
)  # fmt: skip
OF_WRITES = ("spark.jobs", "spark.table", "store.clean", "store.commit.attempt", "store.compact", "store.expire")


@pytest.mark.parametrize(
    ("use", "most", "others", "libraries"),
    [
        (READS, READS_OWN, (*OF_OTHER_DOORS, *OF_SQL, *OF_WRITES), {"sqlglot", "tenacity"}),
        (WRITES, WRITES_OWN, (*OF_OTHER_DOORS, *OF_SQL), {"sqlglot"}),
        (CALL, CALL_OWN, OF_OTHER_CALLS, {"pandas", "tenacity"}),
        ("paimon_spark.catalog", SQL_OWN, (*OF_OTHER_DOORS[1:], *OF_WRITES), {"pandas", "tenacity"}),
    ],
    ids=["read", "write", "call", "sql"],
)
def test_a_catalog_of_spark_imports_what_it_needs(
    use: str, most: int, others: tuple[str, ...], libraries: set[str]
) -> None:
    """Here the user waits in one process, that of the session, at its first statement."""
    program = "import sys; import pyspark.sql; before = set(sys.modules); import paimon_spark\n"
    program += f"{use}; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    step = Step(0, 0, frozenset(done.stdout.split()))
    assert step.libraries & (NEVER - {"sqlglot"} | libraries | {"multiprocessing"}) == set()
    unwanted = tuple(f"paimon_spark.{other}" for other in others)
    assert sorted(module for module in step.modules if module.startswith(unwanted)) == []
    assert step.own <= most


def test_facts_of_a_table_need_no_pandas_and_no_parser_of_sql(tmp_path: Path) -> None:
    """`paimon-spark info` is what a user types first; these two would take longer than all the rest."""
    table = create_table(tmp_path / "t", {"id": "INT", "dt": "STRING", "n": "INT"}, "id, dt, n", "dt, n")
    table.append({"id": [1, 2], "dt": ["a", "b"], "n": [1, 2]})
    table.create_tag("x")
    program = "import atexit, sys; from paimon_spark.cli.program import main\n"
    program += "atexit.register(lambda: sys.stderr.write(' '.join(sys.modules)))\nmain()"
    done = subprocess.run([sys.executable, "-c", program, "info", str(tmp_path / "t")], capture_output=True, check=True)
    assert b"partitions    2 by dt, n" in done.stdout
    assert {"pandas", "sqlglot", "pyspark"} & set(done.stderr.decode().split()) == set()
