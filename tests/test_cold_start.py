"""What each Python process that Spark starts for a first write and a first read imports: the user waits for it."""

from __future__ import annotations

import pytest
from support.programs import cold_steps
from support.programs.cold_steps import STEPS, Step

# Libraries that a plain write or read of a Parquet table on a local disk has no use for, and those of some steps only.
NEVER = {"sqlglot", "obstore", "typer", "rich", "datasketches", "_datasketches", "xxhash", "pkg_resources"}
NOT_IN = {
    "lookup": {"pyarrow", "numpy", "pandas", "fastavro"},
    "open_write": {"pandas", "multiprocessing", "tenacity"},
    "write": {"pandas", "tenacity", "multiprocessing"},
    "commit": {"pandas", "multiprocessing"},
    "create": {"pyarrow", "numpy", "pandas", "fastavro"},
    "plan": {"pandas", "multiprocessing", "tenacity"},
    "read": {"pandas", "multiprocessing", "tenacity"},
}
# Modules of this package, at most: somewhat more than what was there when this was written.
OWN = {"lookup": 6, "open_write": 163, "write": 155, "commit": 199, "create": 69, "plan": 139, "read": 162}


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Step]:
    return cold_steps.run_steps(tmp_path_factory.mktemp("cold"))


@pytest.mark.parametrize("name", STEPS)
def test_a_step_imports_what_it_needs(steps: dict[str, Step], name: str) -> None:
    step = steps[name]
    assert step.libraries & (NEVER | NOT_IN[name]) == set()
    assert step.own <= OWN[name], sorted(module for module in step.modules if module.startswith("paimon_spark"))


def test_formats_and_engines_that_a_table_does_not_have_stay_away(steps: dict[str, Step]) -> None:
    loaded = {module for name in ("write", "plan", "read") for module in steps[name].modules}
    others = (
        "arrow.formats.orc_", "arrow.formats.avro_data", "merge.engines.aggregation", "merge.engines.partial",
        "merge.compaction.merge", "store.compact.",
    )  # fmt: skip
    assert [m for m in sorted(loaded) if m.startswith(tuple(f"paimon_spark.{other}" for other in others))] == []
