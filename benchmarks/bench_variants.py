"""VARIANT: how fast columns are shredded and made whole, and queries of shredded values beside the JVM connector.

``PAIMON_JVM_PYTHON`` and ``PAIMON_JVM_JAR`` name the peer, as for the part `cold`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
from bench_spark import session
from measure import Results, fastest, has_peer
from pyspark.sql import SparkSession
from pyspark.sql.variant_utils import VariantUtils

import paimon_spark
from paimon_spark.arrow.shredding.shredder import shredded
from paimon_spark.arrow.types import VARIANT
from paimon_spark.arrow.variant_rebuilding import whole_variants
from paimon_spark.format.type_text import parse_type

BATCH = 1 << 16
SHAPE = "ROW<at BIGINT, city STRING, score DOUBLE, user ROW<id BIGINT>>"
EVENT = (
    'parse_json(concat(\'{"at":\', id, \',"user":{"id":\', (id * 7919) % 1000003, \',"name":"user \', id % 1000, '
    '\'"},"city":"city \', id % 50, \'","ms":\', (id * 31) % 997, \',"score":\', (id % 1000) / 8, '
    "',\"note\":\"a text of no interest ', id, '\"}')) v"
)


def small_values(count: int) -> pa.StructArray:
    """Objects of five fields, of which four have columns of their own."""
    rows = [
        {"at": k, "city": f"city {k % 50}", "score": k / 7, "user": {"id": k % 99}, "note": "x"} for k in range(20_000)
    ]
    pairs = (VariantUtils.parse_json(json.dumps(row)) for row in rows)
    some = pa.array([{"value": value, "metadata": metadata} for value, metadata in pairs], VARIANT)
    return pa.concat_arrays([some] * max(count // len(some), 1))


def kernels(results: Results, count: int) -> None:
    rows, shape = small_values(count), parse_type(SHAPE)
    parts = [rows.slice(first, BATCH) for first in range(0, len(rows), BATCH)]
    taken = [shredded(part, shape) for part in parts]
    best = fastest(
        {
            "shredded": lambda: [shredded(part, shape) for part in parts],
            "whole again": lambda: [whole_variants(part) for part in taken],
        },
        3,
    )
    for what, seconds in best.items():
        note = f"{len(rows):,} objects of 5 fields"
        results.higher(f"VARIANT values that are {what}", len(rows) / seconds / 1e6, "M rows/s", 0.5, note)


def table(spark: SparkSession, root: Path, count: int) -> None:
    """An append table of events; kept when it is there."""
    cat = paimon_spark.catalog(spark, str(root))
    cat.sql("CREATE DATABASE IF NOT EXISTS paimon.bench")
    done = root / f"events-{count}.done"
    if done.exists():
        return
    cat.sql("DROP TABLE IF EXISTS paimon.bench.events")
    cat.sql(
        "CREATE TABLE paimon.bench.events (id BIGINT, v VARIANT) "
        "TBLPROPERTIES ('variant.inferShreddingSchema' = 'true', 'target-file-size' = '4 mb')"
    )
    cat["bench.events"].append(spark.range(count).coalesce(1).selectExpr("id", EVENT))
    done.touch()


def beside_jvm(results: Results, root: Path) -> None:
    best: dict[str, dict[str, tuple[float, float, str]]] = {}
    for kind in ("cat.sql", "spark.sql", "jvm"):
        jvm = kind == "jvm"
        command = [os.environ["PAIMON_JVM_PYTHON"] if jvm else sys.executable]
        command += [str(Path(__file__).with_name("variants_session.py")), kind, str(root), "events"]
        command += [os.environ["PAIMON_JVM_JAR"]] if jvm else []
        env = {key: value for key, value in os.environ.items() if not jvm or key != "PYTHONPATH"}
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True, check=True
        )
        best[kind] = json.loads(done.stdout.splitlines()[-1])
    for what, (theirs, their_bytes, answer) in best["jvm"].items():
        for way in ("cat.sql", "spark.sql"):
            ours, our_bytes, own_answer = best[way][what]
            if own_answer != answer:
                raise AssertionError(f"{way}, {what}: {own_answer}, and {answer} by the JVM connector")
            note = f"{ours:.2f} s, {our_bytes / 1e6:.1f} MB; JVM {theirs:.2f} s, {their_bytes / 1e6:.1f} MB"
            results.lower(f"{way}, {what} of VARIANT: time / JVM", ours / theirs, "x", 1.0, note)


def run(results: Results, root: Path, scale: float) -> None:
    kernels(results, int(1e6 * scale))
    if not has_peer("variants"):
        return
    spark = session()
    table(spark, root, int(5e6 * scale))
    spark.stop()
    beside_jvm(results, root)
