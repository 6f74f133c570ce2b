"""One of 100 columns set by MERGE: in a table with data evolution, where it is written alone, and in one without.

``PAIMON_JVM_PYTHON`` and ``PAIMON_JVM_JAR`` name the peer, as for the part `cold`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench_spark import session
from measure import Results, has_peer
from pyspark.sql import SparkSession

import paimon_spark

COLUMNS = 99
EVOLVED, PLAIN = "wide_evolved", "wide_plain"
OPTIONS = {EVOLVED: {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}, PLAIN: {}}
Found = dict[str, tuple[float, float, str]]


def tables(spark: SparkSession, root: Path, count: int) -> None:
    """Both tables; kept when they are there."""
    done = root / f"wide-{count}.done"
    if done.exists():
        return
    cat = paimon_spark.catalog(spark, str(root))
    cat.sql("CREATE DATABASE IF NOT EXISTS paimon.bench")
    names = ", ".join(f"c{number} DOUBLE" for number in range(COLUMNS))
    values = [f"(id * {number + 3}) % 100003 / 7D c{number}" for number in range(COLUMNS)]
    for table, options in OPTIONS.items():
        cat.sql(f"DROP TABLE IF EXISTS paimon.bench.{table}")
        said = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
        cat.sql(
            f"CREATE TABLE paimon.bench.{table} (id BIGINT, {names})" + (f" TBLPROPERTIES ({said})" if said else "")
        )
        cat[f"bench.{table}"].append(spark.range(count).selectExpr("id", *values))
    done.touch()


def changed(kind: str, root: Path, table: str, count: int) -> Found:
    """What a session does to a copy of a table. Files of rows are never changed, so that the copy shares them."""
    jvm, copy = kind == "jvm", root / "copies"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(root / "bench.db" / table, copy / "bench.db" / table, copy_function=_link_or_copy)
    command = [os.environ["PAIMON_JVM_PYTHON"] if jvm else sys.executable]
    command += [str(Path(__file__).with_name("columns_session.py")), kind, str(copy), table, str(count)]
    command += [os.environ["PAIMON_JVM_JAR"]] if jvm else []
    env = {key: value for key, value in os.environ.items() if not jvm or key != "PYTHONPATH"}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True, check=True)
    shutil.rmtree(copy)
    found: Found = json.loads(done.stdout.splitlines()[-1])
    return found


def _link_or_copy(source: str, target: str) -> str:
    if Path(source).name.startswith("data-"):
        os.link(source, target)
        return target
    return shutil.copy2(source, target)


def run(results: Results, root: Path, scale: float) -> None:
    count, spark = int(1e6 * scale), session()
    tables(spark, root, count)
    spark.stop()
    whole = changed("cat.sql", root, PLAIN, count)
    peer = changed("jvm", root, EVOLVED, count) if has_peer("columns") else {}
    for way in ("cat.sql", "spark.sql"):
        for share, (seconds, size, answer) in changed(way, root, EVOLVED, count).items():
            full, full_size, full_answer = whole[share]
            if full_answer != answer:
                raise AssertionError(f"{way}, {share}: {answer}, and {full_answer} where all columns are written")
            what = f"{way}, MERGE of one of {COLUMNS + 1} columns, {share}"
            note = f"{seconds:.1f} s, {size / 1e6:.1f} MB; all columns written: {full:.1f} s, {full_size / 1e6:.1f} MB"
            results.lower(f"{what}: time / all columns written", seconds / full, "x", 0.5, note)
            results.lower(f"{what}: bytes / all columns written", size / full_size, "x", 0.05, note)
            if share in peer:
                theirs, their_size, their_answer = peer[share]
                if their_answer != answer:
                    raise AssertionError(f"{way}, {share}: {answer}, and {their_answer} by the JVM connector")
                note = f"{seconds:.1f} s, {size / 1e6:.1f} MB; JVM {theirs:.1f} s, {their_size / 1e6:.1f} MB"
                results.lower(f"{what}: time / JVM", seconds / theirs, "x", 1.0, note)
                results.lower(f"{what}: bytes / JVM", size / their_size, "x", 1.1, note)
