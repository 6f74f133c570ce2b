"""Statements return what the official connector returned for them (release 2.0.0, stored by tests/release).

CI runs one of the scripts, and each run another; ``PAIMON_LONG=1`` runs all.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.long_runs import LONG, draws
from support.oracles.statement_results import result_of

import paimon_spark

GENUINE = Path(__file__).parent / "genuine"
SCRIPTS = sorted(path.stem for path in GENUINE.glob("*.json"))
SHARE = SCRIPTS if LONG else draws().sample(SCRIPTS, 1)

DIFFERENT = {
    "SELECT id, s, vc, hex(bin), CAST(dt AS STRING), CAST(ts AS STRING), CAST(ntz AS STRING) FROM t": (
        "the official connector reads the date 0001-01-01, which it wrote, as 0000-12-30"
    ),
    "ALTER TABLE t ALTER COLUMN n DROP DEFAULT": "the official connector fails at a default value that goes",
    "SELECT ars FROM t": "the official connector loses an array where its structs have none of their fields in a file",
    "DESCRIBE DATABASE shop": "our catalog tells the location",
    "INSERT INTO t VALUES ('1', 'x', 1.0)": "Spark's store assignment refuses a text for a number, and so do we",
    "SELECT key, value FROM `k$options`": "the official connector stores who has created the table, as its owner",
    "CALL sys.compact_database()": "the official one fails where all its arguments are left out",
    "SELECT * FROM fr": "the official connector shows no row of a first-row table whose files DELETE has rewritten",
    "SHOW COLUMNS IN shop.orders": "ours has the name of Spark's own: col_name",
    "SELECT sys.max_pt('k')": "the official one calls the column applyfunctionexpression(k)",
    "SELECT * FROM k WHERE": "Spark takes WHERE for an alias, where somebody has not finished a condition",
}
"""Statements whose results differ on purpose, and why. One whose results are equal has no place here."""


def results(script: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((GENUINE / f"{script}.json").read_text("utf-8"))
    return found


def is_equal(ours: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Both are refused, or have the same columns and the same rows."""
    refused = "refused" in ours, "refused" in expected
    return all(refused) or (not any(refused) and ours == expected)


@pytest.mark.parametrize("script", SHARE)
def test_statements_return_what_the_official_connector_returns(
    spark: SparkSession, script: str, tmp_path: Path
) -> None:
    catalog = paimon_spark.catalog(spark.newSession(), str(tmp_path))
    wrong = []
    for expected in results(script):
        ours = result_of(catalog.sql, expected["sql"], str(tmp_path))
        if is_equal(ours, expected) == (expected["sql"] in DIFFERENT):
            reason = DIFFERENT.get(expected["sql"])
            told = f"equal, so it needs no reason any more: {reason}" if reason else f"ours:     {ours}"
            wrong.append(f"{expected['sql'][:200]}\n  official: {expected}\n  {told}")
    assert not wrong, "\n".join(wrong)
