"""The 22 queries of TPC-H beside plain Parquet and the JVM connector, over the same rows.

``cat.sql`` runs them, and for the last layout also ``spark.sql`` on a registered catalog.

Three layouts of the tables: without keys, with keys and compacted, with keys and five upserts of 5 % that are not
compacted. ``tpchgen-cli`` makes the rows, ``--scale 1`` is 1 GB; the source distribution of sqlglot has the texts.
``PAIMON_JVM_PYTHON`` and ``PAIMON_JVM_JAR`` name the peer, as for the part `cold`; without them its lines are left out.
``PAIMON_BENCH_ROUNDS`` says how often each query runs; its best round counts, as Java compiles what runs often.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from measure import Results, has_peer

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from support.programs.tpc_texts import fetch, texts

ROUNDS = 3
GENERATOR = Path(sys.executable).with_name("tpchgen-cli")
KEYS = {
    "lineitem": ("l_orderkey,l_linenumber", 4),
    "orders": ("o_orderkey", 2),
    "customer": ("c_custkey", 1),
    "part": ("p_partkey", 1),
    "partsupp": ("ps_partkey,ps_suppkey", 2),
    "supplier": ("s_suppkey", 1),
    "nation": ("n_nationkey", 1),
    "region": ("r_regionkey", 1),
}
UPSERTS, SHARE = 5, 20  # five times every twentieth row
BARS = {  # over parquet, over JVM
    "cat.sql append": (1.05, None),
    "cat.sql compacted": (1.1, 0.8),
    "cat.sql upserted": (None, 0.6),
    "spark.sql upserted": (None, 0.6),
}


def make_tables(root: Path, scale: float) -> Path:
    """The warehouse, made once: Parquet files, and the three layouts as databases."""
    warehouse = root / f"tpch-{scale:g}"
    if (warehouse / "done").exists():
        return warehouse
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    import paimon_spark

    for table in KEYS:
        where = f"--output-dir={warehouse}/parquet/{table}"
        command = [str(GENERATOR), "parquet", "-s", f"{scale:g}", f"--tables={table}", where]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = SparkSession.builder.master("local[2]").config("spark.driver.memory", "4g").getOrCreate()
    cat = paimon_spark.catalog(spark, str(warehouse))
    for layout in ("append", "compacted", "upserted"):
        cat.create_database(layout)
        for table, (keys, buckets) in KEYS.items():
            rows = spark.read.parquet(f"{warehouse}/parquet/{table}")
            options = {} if layout == "append" else {"primary-key": keys, "bucket": str(buckets)}
            options |= {"write-only": "true"} if layout == "upserted" else {}
            path = f"{warehouse}/{layout}.db/{table}"
            rows.write.format("paimon").mode("append").options(**options).save(path)
            for number in range(UPSERTS if layout == "upserted" else 0):
                chosen = rows.where(F.pmod(F.xxhash64(*keys.split(",")), F.lit(SHARE)) == number)
                cat[f"{layout}.{table}"].append(chosen)
            if layout == "compacted":
                cat[f"{layout}.{table}"].optimize().compact()
    spark.stop()
    (warehouse / "done").touch()
    return warehouse


def run_sessions(warehouse: Path, queries: Path, rounds: int) -> tuple[dict[str, dict[int, float]], list[str]]:
    """The least seconds of each query by who ran it, and the queries whose rows differ."""
    seconds: dict[tuple[str, int], list[float]] = defaultdict(list)
    digests: dict[int, set[str]] = defaultdict(set)
    kinds = ["paimon"] + (["jvm"] if has_peer("tpch") else [])
    for kind in kinds:
        jvm = kind == "jvm"
        command = [os.environ["PAIMON_JVM_PYTHON"] if jvm else sys.executable]
        command += [str(Path(__file__).with_name("tpch_session.py")), kind, str(warehouse), str(queries), str(rounds)]
        command += [os.environ["PAIMON_JVM_JAR"]] if jvm else []
        env = {key: value for key, value in os.environ.items() if not jvm or key != "PYTHONPATH"}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True
        ) as session:
            for line in session.stdout or ():
                if line.startswith("{"):
                    found = json.loads(line)
                    print(f"{found['name']} q{found['query']}: {found['seconds']:.2f} s", flush=True)
                    seconds[found["name"], found["query"]].append(found["seconds"])
                    digests[found["query"]].add(found["digest"])
        if session.returncode:
            raise SystemExit(f"tpch: the session {kind} ended with {session.returncode}")
    best: dict[str, dict[int, float]] = defaultdict(dict)
    for (name, query), values in seconds.items():
        best[name][query] = min(values)
    return best, [f"query {query}" for query, found in sorted(digests.items()) if len(found) > 1]


def geometric(over: dict[int, float], under: dict[int, float]) -> float:
    return math.exp(statistics.fmean(math.log(over[query] / under[query]) for query in over))


def single_queries(results: Results, what: str, ratios: dict[int, float], floor: dict[int, float]) -> None:
    """The first query, an aggregate of most rows, and the slowest beside the JVM; with those of plain Parquet."""
    results.lower(f"{what}: time / jvm, q1", ratios[1], "x", 0.6, f"plain Parquet {floor[1]:.2f} x")
    worst = max(ratios, key=ratios.__getitem__)
    of_all = statistics.geometric_mean(floor.values())
    note = f"q{worst}; plain Parquet {floor[worst]:.2f} x, of all queries {of_all:.2f} x"
    results.lower(f"{what}: time / jvm, the slowest query", ratios[worst], "x", 1, note)


def run(results: Results, root: Path, scale: float) -> None:
    if not GENERATOR.exists():
        print("tpch: left out, for it needs tpchgen-cli: pip install '.[bench]'", flush=True)
        return
    warehouse = make_tables(root, scale)
    queries = warehouse / "texts.json"
    queries.write_text(json.dumps(texts(fetch(root / "sqlglot"), "tpc-h")), "utf-8")
    best, different = run_sessions(warehouse, queries, int(os.environ.get("PAIMON_BENCH_ROUNDS", ROUNDS)))
    results.lower("TPC-H: queries whose rows differ", len(different), "queries", 0, ", ".join(different))
    for ours, (over_parquet, over_jvm) in BARS.items():
        door, layout = ours.split()
        for peer, bar in (("parquet", over_parquet), (f"jvm {layout}", over_jvm)):
            if bar is not None and peer in best:
                ratios = {q: best[ours][q] / best[peer][q] for q in best[ours]}
                note = ", ".join(f"q{q} {best[ours][q]:.2f} s = {ratio:.2f} x" for q, ratio in ratios.items())
                mean = geometric(best[ours], best[peer])
                results.lower(f"TPC-H by {door}, {layout}: time / {peer.split()[0]}", mean, "x", bar, note)
                if layout == "upserted":
                    floor = {q: best["parquet"][q] / best[peer][q] for q in ratios}
                    single_queries(results, f"TPC-H by {door}, {layout}", ratios, floor)
