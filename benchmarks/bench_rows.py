"""DELETE and MERGE by ``cat.sql`` beside the JVM connector: the same SQL over copies of the same tables.

A key table of 5 million rows, an append table of 10 million in 40 files, a table with ten partitions. Each statement
changes its table and runs once. ``PAIMON_JVM_PYTHON`` and ``PAIMON_JVM_JAR`` name the peer, as for the part `cold`;
without them its lines are left out.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from measure import Results, has_peer
from rows_session import APPENDED, COLUMNS, FILES, KEYED, rows

MERGE_OF_FILES = "merge of few rows into 2 of 40 files"


def make_tables(root: Path, scale: float) -> Path:
    """A warehouse with the database `rows`, made once, and the files of the append table again as plain Parquet."""
    warehouse = root / f"rows-{scale:g}"
    if (warehouse / "done").exists():
        return warehouse
    shutil.rmtree(warehouse, ignore_errors=True)
    from pyspark.sql import SparkSession

    import paimon_spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = SparkSession.builder.master("local[2]").config("spark.driver.memory", "4g").getOrCreate()
    cat = paimon_spark.catalog(spark, str(warehouse))
    cat.create_database("rows")
    cat.sql(f"create table paimon.rows.keyed ({COLUMNS}) tblproperties ('primary-key'='id', 'bucket'='4')")
    cat["rows.keyed"].append(rows(spark, 0, int(KEYED * scale)))
    cat["rows.keyed"].optimize().compact()
    cat.sql(f"create table paimon.rows.appended ({COLUMNS}) tblproperties ('write-only'='true')")
    one = int(APPENDED * scale) // FILES
    for number in range(FILES):
        cat["rows.appended"].append(rows(spark, number * one, one).coalesce(1))
    cat.sql(f"create table paimon.rows.parts ({COLUMNS}, p int) partitioned by (p)")
    cat["rows.parts"].append(rows(spark, 0, int(KEYED * scale) // 5).selectExpr("*", "cast(id % 10 as int) p"))
    spark.stop()
    (warehouse / "untouched").mkdir()
    for path in (warehouse / "rows.db/appended").rglob("data-*.parquet"):
        shutil.copyfile(path, warehouse / "untouched" / path.name)
    (warehouse / "done").touch()
    return warehouse


def run_session(kind: str, made: Path, scale: float) -> tuple[dict[str, float], dict[str, str], dict[str, int]]:
    """Seconds by statement, what each table holds afterwards, and the peaks of memory in MB."""
    copy = made.with_name(f"{made.name}-{kind}")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(made, copy)
    jvm = kind == "jvm"
    command = [os.environ["PAIMON_JVM_PYTHON"] if jvm else sys.executable]
    command += [str(Path(__file__).with_name("rows_session.py")), kind, str(copy), str(scale)]
    command += [os.environ["PAIMON_JVM_JAR"]] if jvm else []
    env = {key: value for key, value in os.environ.items() if not jvm or key != "PYTHONPATH"}
    seconds, held, peaks = {}, {}, {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True) as session:
        for line in session.stdout or ():
            found: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
            if "seconds" in found:
                seconds[found["what"]] = found["seconds"]
                print(f"{kind}: {found['what']}: {found['seconds']:.2f} s", flush=True)
            elif "table" in found:
                held[found["table"]] = found["rows"]
            elif "peaks" in found:
                peaks = found["peaks"]
    if session.returncode:
        raise SystemExit(f"rows: the session {kind} ended with {session.returncode}")
    shutil.rmtree(copy)
    return seconds, held, peaks


def run(results: Results, root: Path, scale: float) -> None:
    made = make_tables(root, scale)
    ours, held, peaks = run_session("paimon", made, scale)
    wrote, deleted, merged = ours["one row written again"], ours["one key deleted again"], ours[MERGE_OF_FILES]
    note = f"{deleted:.2f} s, the write {wrote:.2f} s"
    results.lower("DELETE of one key: time / a write of one row", deleted / wrote, "x", 2, note)
    note = f"{merged:.2f} s, reading 2 files and the keys of 38, writing 2: {ours['floor']:.2f} s"
    results.lower("MERGE of 10,000 rows into 2 of 40 files: time / floor", merged / ours["floor"], "x", 1.5, note)
    note = ", ".join(f"{name} {megabytes} MB" for name, megabytes in peaks.items())
    results.lower("DELETE and MERGE: resident peak of a Python worker", peaks["worker"], "MB", 1500, note)
    if not has_peer("rows"):
        return
    theirs, held_there, _ = run_session("jvm", made, scale)
    differ = [f"{table}: {held[table]}, JVM {held_there[table]}" for table in held if held[table] != held_there[table]]
    results.lower("DELETE and MERGE: tables that differ", len(differ), "tables", 0, "; ".join(differ))
    for what, seconds in theirs.items():
        note = f"{ours[what]:.2f} s, JVM {seconds:.2f} s"
        results.lower(f"{what}: time / JVM", ours[what] / seconds, "x", 1, note)
