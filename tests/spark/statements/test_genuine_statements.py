"""Statements return what the official connector returned for them (release 2.0.0, stored by tests/release).

CI runs one of the scripts, by the driver or by jobs, and each run another; ``PAIMON_LONG=1`` runs all on both roads.
``PAIMON_STATEMENTS`` names those to run.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.long_runs import LONG, draws
from support.oracles.statement_results import result_of

import paimon_spark

OPEN = {
    "11_casts",
    "12_metadata_columns",
    "20_create_tables",
    "22_properties",
    "23_databases",
    "25_tags_branches",
    "26_inserts",
    "30_defaults",
    "31_char_varchar",
    "32_updates",
    "33_deletes",
    "34_merges",
    "35_travel",
    "36_queries",
    "37_system_tables",
    "38_procedures",
    "39_views_analyze",
    "40_copy_into",
    "41_other_words",
    "42_engines",
}
"""Scripts with statements that this release does not answer alike yet, or that have to be recorded again (11, 12)."""
GENUINE = Path(__file__).parent / "genuine"
NAMED = [name for name in os.environ.get("PAIMON_STATEMENTS", "").split(",") if name]
SCRIPTS = NAMED or sorted({path.stem for path in GENUINE.glob("*.json")} - OPEN)
UNCOMPILED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
ROADS = {
    "driver": {"spark.paimon.read.local": "true", "spark.paimon.write.local": "true"},
    "jobs": {"spark.paimon.read.local": "false", "spark.paimon.write.local": "false"},
}
"""Who reads and writes small tables."""
RUNS = [(script, road) for script in SCRIPTS for road in ROADS]
SHARE = RUNS if LONG or NAMED else draws().sample(RUNS, 1)

DIFFERENT = {
    "01_tables": {
        "DESCRIBE DATABASE shop": "our catalog tells the location",
        "SHOW COLUMNS IN shop.orders": "ours has the name of Spark's own: col_name",
    },
    "03_reads": {
        "SELECT key, value FROM `k$options`": "the official connector stores who has created the table, as its owner",
        "SELECT sys.max_pt('k')": "the official one calls the column applyfunctionexpression(k)",
        "SELECT * FROM k WHERE": "Spark takes WHERE for an alias, where somebody has not finished a condition",
    },
    "04_types": {
        "SELECT id, s, vc, hex(bin), CAST(dt AS STRING), CAST(ts AS STRING), CAST(ntz AS STRING) FROM t": (
            "the official connector reads the date 0001-01-01, which it wrote, as 0000-12-30"
        ),
    },
    "05_calls": {"CALL sys.compact_database()": "the official one fails where all its arguments are left out"},
    "06_alters": {
        "ALTER TABLE t ALTER COLUMN n DROP DEFAULT": "the official connector fails at a default value that goes",
        "SELECT ars FROM t": "the official one loses an array where its structs have none of their fields in a file",
    },
    "06_deletes": {
        "SELECT * FROM fr": "the official one shows no row of a first-row table whose files DELETE has rewritten",
    },
    "20_create_tables": {
        "DROP TABLE part_last PURGE": "the official connector refuses PURGE; ours keeps no trash anyway"
    },
    "25_tags_branches": {
        "ALTER TABLE t REPLACE TAG `never made` AS OF VERSION 1": "the official connector makes the tag, as CREATE does"
    },
    "31_char_varchar": dict.fromkeys(
        (
            "UPDATE k SET v = v + 10 WHERE c = 'y'",
            "DELETE FROM k WHERE c = 'y'",
            "MERGE INTO k USING (SELECT 'x' AS c, 77 AS v) s ON k.c = s.c WHEN MATCHED THEN UPDATE SET v = s.v "
            "WHEN NOT MATCHED THEN INSERT *",
            "MERGE INTO k USING (SELECT 'q' AS c, 5 AS v) s ON k.c = s.c WHEN MATCHED THEN DELETE "
            "WHEN NOT MATCHED THEN INSERT *",
        ),
        "the official connector cannot change rows of a table with a CHAR key (MISSING_ATTRIBUTES)",
    ),
    "32_updates": {
        "UPDATE pu SET a = NULL WHERE id = 1": "the official connector changes nothing, and says nothing",
        "UPDATE sq SET v = 'lower', s = 1 WHERE id = 1": "the official connector changes nothing, and says nothing",
    },
    "33_deletes": {"DELETE FROM a WHERE NULL": "the official connector fails at a condition that is NULL"},
    "34_merges": {
        "MERGE INTO dv USING (VALUES (100, 1, 'val')) AS q(a, b, c) ON dv.a = q.a WHEN NOT MATCHED THEN INSERT *": (
            "the official connector does not read an alias with columns"
        ),
        "MERGE INTO k USING s ON k.a = s.a WHEN MATCHED THEN UPDATE SET a = s.a + 1": (
            "the official connector leaves the old row there, and writes one with another key"
        ),
        "MERGE INTO k USING (SELECT 1 AS a, 1 AS b, 'd1' AS c UNION ALL SELECT 1, 2, 'd2') q ON k.a = q.a "
        "WHEN MATCHED THEN DELETE": "several rows may delete one row, as Spark's documentation of MERGE has it",
    },
    "37_system_tables": {
        "SELECT * FROM `k$snapshots`": "ours has the column writer_version too, as later releases",
        "SELECT * FROM `k$consumers` WHERE 1 = 0": "ours tells how far a consumer is behind",
    },
    "42_engines": {
        "CREATE TABLE bad2 (id INT, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'merge-engine' = 'aggregation', "
        "'fields.v.aggregate-function' = 'sum')": "the official connector refuses the first INSERT only",
    },
    "10_ddl": {
        "SELECT * FROM d1": "the official connector takes NULL behind DEFAULT of a STRING for the text NULL",
        "CALL sys.rescale(table => 'ddl.rs', bucket_num => 2)": "ours gives a table without rows the number of buckets",
    },
}
"""Statements of a script whose results differ on purpose, and why. One whose results are equal has no place here."""


def results(script: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((GENUINE / f"{script}.json").read_text("utf-8"))
    return found


def is_equal(ours: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Both are refused, or have the same columns and the same rows."""
    refused = "refused" in ours, "refused" in expected
    return all(refused) or (not any(refused) and without_counts(ours) == expected)


def without_counts(result: dict[str, Any]) -> dict[str, Any]:
    """DELETE, UPDATE and MERGE tell how many rows have changed; the official ones return nothing."""
    columns = result.get("columns", [])
    counts = bool(columns) and all(column.startswith("num_") for column in columns)
    return {"sql": result["sql"]} if counts else result


@pytest.mark.parametrize(("script", "road"), SHARE)
def test_statements_return_what_the_official_connector_returns(
    spark: SparkSession, script: str, road: str, tmp_path: Path
) -> None:
    session = spark.newSession()
    for key, value in (UNCOMPILED | ROADS[road]).items():
        session.conf.set(key, value)
    catalog = paimon_spark.catalog(session, str(tmp_path))
    known = DIFFERENT.get(script, {})
    equal, wrong = set(known), []
    for expected in results(script):
        ours = result_of(catalog.sql, expected["sql"], str(tmp_path))
        if not is_equal(ours, expected):
            equal.discard(expected["sql"])
            if expected["sql"] not in known:
                wrong.append(f"{expected['sql'][:200]}\n  official: {expected}\n  ours:     {ours}")
    assert not wrong, "\n".join(wrong)
    assert not equal, f"these need no reason any more: {equal}"
