"""Statements return what the official connector returned for them (release 2.0.0, stored by tests/release).

They go through ``cat.sql``, or through ``spark.sql`` of a session with ``register_catalog``. CI runs one of the
scripts, by the driver or by jobs, and each run another; ``PAIMON_LONG=1`` runs all in every way. ``PAIMON_STATEMENTS``
names those to run.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.long_runs import LONG, draws
from support.oracles.statement_results import result_of
from support.registered_catalogs import forget_catalogs

import paimon_spark

GENUINE = Path(__file__).parent / "genuine"
NAMED = [name for name in os.environ.get("PAIMON_STATEMENTS", "").split(",") if name]
SCRIPTS = NAMED or sorted(path.stem for path in GENUINE.glob("*.json"))
UNCOMPILED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
ROADS = {
    "driver": {"spark.paimon.read.local": "true", "spark.paimon.write.local": "true"},
    "jobs": {"spark.paimon.read.local": "false", "spark.paimon.write.local": "false"},
}
"""Who reads and writes small tables."""
DOORS = ("cat.sql", "spark.sql")
RUNS = [(script, door, road) for script in SCRIPTS for door in DOORS for road in ROADS]
SHARE = RUNS if LONG or NAMED else draws().sample(RUNS, 1)

DIFFERENT = {
    "01_tables": {"DESCRIBE DATABASE shop": "our catalog tells the location"},
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
        "DROP TABLE part_last PURGE": "the official connector refuses PURGE; ours keeps no trash anyway",
        "SELECT * FROM `odd name` WHERE `c.d` = 'dot'": "the official one finds no row by a name with a dot",
    },
    "22_properties": {
        "ALTER TABLE own SET TBLPROPERTIES ('path' = '/tmp/elsewhere')": (
            "the official connector says nothing, and changes nothing; ours refuses"
        ),
    },
    "25_tags_branches": {
        "ALTER TABLE t REPLACE TAG `never made` AS OF VERSION 1": (
            "the official connector makes the tag, as CREATE does"
        ),
        "CALL sys.delete_tag(table => 'tg.t', tag => 'p1')": "ours says that there was no such tag",
    },
    "30_defaults": {
        "MERGE INTO t USING (SELECT 50 AS id) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, a) "
        "VALUES (s.id, DEFAULT)": "the official connector fails at DEFAULT in MERGE",
        "MERGE INTO t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET b = DEFAULT": (
            "the official connector fails at DEFAULT in MERGE"
        ),
        "SELECT id, a, b, c FROM t WHERE id >= 50 OR id = 1 ORDER BY id": "row 50 is that of the MERGE with DEFAULT",
        "CREATE TABLE calls (a INT, c STRING DEFAULT upper('x'))": (
            "the official connector gives rows the text upper('x') as their value; ours refuses"
        ),
        "CREATE TABLE null_default (a INT, b INT DEFAULT NULL)": "the official connector fails at DEFAULT NULL",
    },
    "31_char_varchar": dict.fromkeys(
        (
            "UPDATE t SET v = 'cut    ' WHERE id = 2",
            "SELECT id, c, length(c), v, length(v) FROM t WHERE id < 3 ORDER BY id",  # what that UPDATE has changed
            "SELECT id, c, length(c), v FROM t ORDER BY id",
            "UPDATE k SET v = v + 10 WHERE c = 'y'",
            "DELETE FROM k WHERE c = 'y'",
            "MERGE INTO k USING (SELECT 'x' AS c, 77 AS v) s ON k.c = s.c WHEN MATCHED THEN UPDATE SET v = s.v "
            "WHEN NOT MATCHED THEN INSERT *",
            "MERGE INTO k USING (SELECT 'q' AS c, 5 AS v) s ON k.c = s.c WHEN MATCHED THEN DELETE "
            "WHEN NOT MATCHED THEN INSERT *",
        ),
        "the official connector cannot change some columns of a table with a CHAR column (MISSING_ATTRIBUTES)",
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
    "35_travel": dict.fromkeys(
        (
            "SELECT * FROM paimon_incremental_query('k', 1, 3) ORDER BY id",
            "SELECT * FROM paimon_incremental_between_timestamp('k', '2000-01-01', '2099-01-01') ORDER BY id",
            "SELECT * FROM paimon_incremental_between_timestamp('k', '946684800000', '4070908800000') ORDER BY id",
        ),
        "the official connector shows a deleted row as one that is there; its page says that records of -D are dropped",
    ),
    "36_queries": {
        "CACHE TABLE c": "ours refuses, and names the query to cache instead: each read of a table is planned anew",
    },
    "37_system_tables": {
        "SELECT * FROM `k$snapshots`": "ours has the column writer_version too, as later releases",
        "SELECT * FROM `k$consumers` WHERE 1 = 0": "ours tells how far a consumer is behind",
    },
    "38_procedures": {
        "CALL sys.rescale(table => 'prc.k', bucket_num => 2)": "ours gives a table without rows the number of buckets",
        "CALL sys.clear_consumers(table => 'prc.k')": "ours says that there was no consumer",
    },
    "39_views_analyze": {
        "DESCRIBE EXTENDED t id": "the official connector writes Optional[1] for a least value of 1",
        "DESCRIBE EXTENDED t d": "the official connector writes Optional[1.50] for a least value of 1.50",
        "EXPLAIN SELECT * FROM nope": "ours says which tables there are, in an error; the official one in the plan",
    },
    "42_engines": {
        "SELECT * FROM rk ORDER BY id": "DELETE of the official connector leaves a row whose rowkind.field says +U",
        "CREATE TABLE bad2 (id INT, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'merge-engine' = 'aggregation', "
        "'fields.v.aggregate-function' = 'sum')": "the official connector refuses the first INSERT only",
    },
    "43_dynamic_partitions": {
        "SELECT * FROM q WHERE h = 17 OR v = '17'": "the official connector gives v the value that PARTITION gives h",
    },
    "44_column_types": dict.fromkeys(
        [f"DESCRIBE EXTENDED a {column}" for column in ("id", "day", "at", "f", "b")],
        "the official connector writes Optional[1] for a least value of 1, and dates and times as numbers",
    ),
    "10_ddl": {
        "SELECT * FROM d1": "the official connector takes NULL behind DEFAULT of a STRING for the text NULL",
        "CALL sys.rescale(table => 'ddl.rs', bucket_num => 2)": "ours gives a table without rows the number of buckets",
    },
}
"""Statements of which one result differs on purpose, and why. One whose results are equal has no place here."""

IN_SPARK: dict[str, dict[str, tuple[int, str]]] = {
    "03_reads": {"SELECT * FROM k WHERE": (0, "Spark parses the name, and then finds that it is no table")},
    "12_metadata_columns": dict.fromkeys(
        (
            "SELECT s.* FROM (SELECT * FROM a) s WHERE __paimon_bucket = 0",
            "SELECT __paimon_bucket FROM (SELECT * FROM a) s",
            "SELECT __paimon_bucket FROM (SELECT id FROM a WHERE id > 1) s",
        ),
        (1, "Spark 4.3 knows metadata columns of a table behind a sub-query, Spark 4.1 does not"),
    ),
    "20_create_tables": {"DROP TABLE part_last PURGE": (0, "Spark itself refuses PURGE")},
    "36_queries": {"CACHE TABLE c": (0, "Spark caches the rows of its own plan")},
    "41_other_words": {"SELECT * FROM t@v1": (1, "Spark 4.3 reads it as VERSION AS OF, Spark 4.1 does not")},
}
"""Statements of which ``spark.sql`` has more or fewer results that differ than ``cat.sql``: how many, and why."""


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


@contextmanager
def opened(door: str, session: SparkSession, warehouse: str) -> Iterator[Callable[[str], Any]]:
    """What runs a statement of a catalog."""
    if door == "cat.sql":
        yield paimon_spark.catalog(session, warehouse).sql
        return
    paimon_spark.register_catalog(session, "paimon", warehouse)
    yield session.sql
    forget_catalogs(session)


@pytest.mark.parametrize(("script", "door", "road"), SHARE)
def test_statements_return_what_the_official_connector_returns(
    spark: SparkSession, script: str, door: str, road: str, tmp_path: Path
) -> None:
    session = spark.newSession()
    for key, value in (UNCOMPILED | ROADS[road]).items():
        session.conf.set(key, value)
    with opened(door, session, str(tmp_path)) as run:
        check_results(run, script, door, str(tmp_path))


def check_results(run: Callable[[str], Any], script: str, door: str, warehouse: str) -> None:
    """Runs a script, and compares all results."""
    known, differing, wrong = dict.fromkeys(DIFFERENT.get(script, {}), 1), Counter[str](), []
    if door == "spark.sql":
        known |= {text: count for text, (count, _) in IN_SPARK.get(script, {}).items()}
    for expected in results(script):
        ours = result_of(run, expected["sql"], warehouse)
        if not is_equal(ours, expected):
            differing[expected["sql"]] += 1
            if expected["sql"] not in known:
                wrong.append(f"{expected['sql'][:200]}\n  official: {expected}\n  ours:     {ours}")
    assert not wrong, "\n".join(wrong)
    assert differing == Counter(known), "a reason stands for one result that differs, and for no other"
