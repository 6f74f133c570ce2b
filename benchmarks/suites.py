"""Suites of queries beside plain Parquet and the JVM connector, over the same rows: the parts `tpch` and `tpcds`.

Each table is there as Parquet files and in some layouts, which are databases: ``append``, without keys; ``compacted``,
with keys; ``upserted``, with keys and five upserts of 5 % that are not compacted. ``PAIMON_JVM_PYTHON`` and
``PAIMON_JVM_JAR`` name the peer, as for the part `cold`; without them its lines are left out. ``PAIMON_BENCH_ROUNDS``
says how often each query runs; its best round counts, as Java compiles what runs often. ``PAIMON_BENCH_QUERIES=9,22``
runs these alone.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure import Results, has_peer
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType

ROUNDS = 3
UPSERTS, SHARE = 5, 20  # five times every twentieth row
Seconds = dict[str, float]  # by query


@dataclass(frozen=True)
class Suite:
    """Tables and queries of one kind.

    Attributes:
        part: its name in ``./dev bench``.
        title: its name in the results.
        keys: of each table the primary key, with commas, and the number of buckets of the layouts that have it.
        bars: by who runs a query over which layout, as "cat.sql append", the times over those of Parquet and of the
            JVM connector; None: not told.
        single: the times of queries over those of the JVM connector, of the layout ``upserted``.
    """

    part: str
    title: str
    keys: Mapping[str, tuple[str, int]]
    bars: Mapping[str, tuple[float | None, float | None]]
    single: Mapping[str, float] = field(default_factory=dict)

    def peers(self) -> list[str]:
        """The candidates of the JVM connector: none, which is said, if it is not named."""
        layouts = dict.fromkeys(name.split()[1] for name, (_, over_jvm) in self.bars.items() if over_jvm is not None)
        return [f"jvm {layout}" for layout in layouts] if has_peer(self.part) else []


def make_tables(suite: Suite, warehouse: Path, generate: Callable[[], None]) -> None:
    """The warehouse, made once: a folder of Parquet files for each table, by the call, and the layouts as databases."""
    if (warehouse / "done").exists():
        return
    import paimon_spark

    shutil.rmtree(warehouse, ignore_errors=True)
    generate()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = SparkSession.builder.master("local[2]").config("spark.driver.memory", "4g").getOrCreate()
    cat = paimon_spark.catalog(spark, str(warehouse))
    for layout in dict.fromkeys(name.split()[1] for name in suite.bars):
        cat.create_database(layout)
        for table, (keys, buckets) in suite.keys.items():
            rows = spark.read.parquet(f"{warehouse}/parquet/{table}")
            options = {} if layout == "append" else {"primary-key": keys, "bucket": str(buckets)}
            options |= {"write-only": "true"} if layout == "upserted" else {}
            first = before_upserts(rows, keys.split(",")) if layout == "upserted" else rows
            path = f"{warehouse}/{layout}.db/{table}"
            first.write.format("paimon").mode("append").options(**options).save(path)
            for number in range(UPSERTS if layout == "upserted" else 0):
                cat[f"{layout}.{table}"].append(rows.where(share_of(keys.split(",")) == number))
            if layout == "compacted":
                cat[f"{layout}.{table}"].optimize().compact()
    spark.stop()
    (warehouse / "done").touch()


def share_of(keys: list[str]) -> Column:
    """The number of the upsert that writes a row, if it is below UPSERTS."""
    return F.pmod(F.xxhash64(*keys), F.lit(SHARE))


def before_upserts(rows: DataFrame, keys: list[str]) -> DataFrame:
    """The rows with other numbers where an upsert writes them again: an old row that is read is seen in answers."""
    numbers = [field for field in rows.schema if isinstance(field.dataType, NumericType) and field.name not in keys]
    lower = {field.name: (F.col(field.name) - 1).cast(field.dataType) for field in numbers}
    return rows.withColumns(
        {name: F.when(share_of(keys) < UPSERTS, less).otherwise(F.col(name)) for name, less in lower.items()}
    )


def started(warehouse: Path, names: list[str], jar: str | None) -> subprocess.Popen[str]:
    """A session that runs each query whose number it reads, by all names in turn."""
    python = os.environ["PAIMON_JVM_PYTHON"] if jar else sys.executable
    command = [python, str(Path(__file__).with_name("suite_session.py")), str(warehouse), ",".join(names)]
    command += [jar] if jar else []
    env = {key: value for key, value in os.environ.items() if not jar or key != "PYTHONPATH"}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=env, text=True)


def asked(session: subprocess.Popen[str], query: str) -> list[dict[str, Any]]:
    """What a session says of a query: of each name the digest of the rows, and the seconds."""
    assert session.stdin is not None
    assert session.stdout is not None
    print(query, file=session.stdin, flush=True)
    for line in session.stdout:
        if line.startswith("[{"):
            found: list[dict[str, Any]] = json.loads(line)
            return found
    raise SystemExit(f"q{query}: a session ended with {session.wait()}")


def run_sessions(suite: Suite, warehouse: Path) -> list[dict[str, Any]]:
    """What the sessions say of each query and round. They take turns, so that other work on the machine slows all."""
    texts = json.loads((warehouse / "texts.json").read_text("utf-8"))
    queries = [q for q in os.environ.get("PAIMON_BENCH_QUERIES", "").split(",") if q] or list(texts)
    rounds, peers, found = int(os.environ.get("PAIMON_BENCH_ROUNDS", ROUNDS)), suite.peers(), []
    with ExitStack() as stack:
        sessions = [stack.enter_context(started(warehouse, ["parquet", *suite.bars], None))]
        if peers:
            sessions.append(stack.enter_context(started(warehouse, peers, os.environ["PAIMON_JVM_JAR"])))
        for query in (query for query in queries for _ in range(rounds)):
            for said in (said for session in sessions for said in asked(session, query)):
                seconds = f"{said['seconds']:.2f} s, " if "seconds" in said else ""
                print(f"{said['name']} q{query}: {seconds}{said['digest']}", flush=True)
                found.append({"query": query, **said})
    return found


def different(digests: Mapping[str, Mapping[str, set[str]]]) -> tuple[set[str], str]:
    """(The queries that do not give everybody the rows of plain Parquet, a note on them and on those left out.)

    Args:
        digests: by query and by who ran it. A query that plain Parquet cannot run, or not twice alike, is left out.
    """
    found, notes = set(), []
    for query, by_name in digests.items():
        plain = by_name["parquet"]
        if len(plain) > 1 or next(iter(plain)).startswith("fails"):
            notes.append(f"q{query} left out, over Parquet: {' or '.join(sorted(plain))}")
            continue
        for name in (name for name, theirs in by_name.items() if theirs != plain):
            found.add(query)
            notes.append(f"q{query} by {name}: {next((text for text in by_name[name] if ' ' in text), 'other rows')}")
    return found, "; ".join(notes)


def report(results: Results, suite: Suite, best: Mapping[str, Seconds]) -> None:
    """Times by who ran the queries: the geometric mean, and of the last layout single queries."""
    for ours, (over_parquet, over_jvm) in suite.bars.items():
        door, layout = ours.split()
        what = f"{suite.title} by {door}, {layout}"
        for peer, bar in (("parquet", over_parquet), (f"jvm {layout}", over_jvm)):
            if bar is None or peer not in best:
                continue
            ratios = {q: best[ours][q] / best[peer][q] for q in best[ours] if q in best[peer]}
            sums = [f"{sum(best[name][q] for q in ratios):.1f} s" for name in (ours, peer)]
            times = ", ".join(f"q{q} {best[ours][q]:.2f} s = {ratio:.2f} x" for q, ratio in ratios.items())
            mean = statistics.geometric_mean(ratios.values())
            note = f"all {sums[0]}, {peer.split()[0]} {sums[1]}: {times}"
            results.lower(f"{what}: time / {peer.split()[0]}", mean, "x", bar, note)
            if layout == "upserted":
                floor = {q: best["parquet"][q] / best[peer][q] for q in ratios}
                for q, single in ((q, bar) for q, bar in suite.single.items() if q in ratios):
                    note = f"plain Parquet {floor[q]:.2f} x"
                    results.lower(f"{what}: time / jvm, q{q}", ratios[q], "x", single, note)
                worst = max(ratios, key=ratios.__getitem__)
                of_all = statistics.geometric_mean(floor.values())
                note = f"q{worst}; plain Parquet {floor[worst]:.2f} x, of all queries {of_all:.2f} x"
                results.lower(f"{what}: time / jvm, the slowest query", ratios[worst], "x", 1, note)


def run_suite(results: Results, suite: Suite, warehouse: Path) -> None:
    """The lines of a suite whose tables and ``texts.json`` are in the warehouse."""
    best: dict[str, Seconds] = defaultdict(dict)
    digests: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for line in run_sessions(suite, warehouse):
        query, name = line["query"], line["name"]
        digests[query][name].add(line["digest"])
        if "seconds" in line:
            best[name][query] = min(line["seconds"], best[name].get(query, math.inf))
    found, note = different(digests)
    results.lower(f"{suite.title}: queries whose rows differ", len(found), "queries", 0, note)
    report(results, suite, best)
