"""The 22 queries of TPC-H: ``cat.sql`` runs them, and for the last layout also ``spark.sql`` on a registered catalog.

``tpchgen-cli`` makes the rows, ``--scale 1`` is 1 GB; the source distribution of sqlglot has the texts.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from measure import Results
from suites import Suite, make_tables, run_suite

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from support.programs.tpc_texts import fetch, texts

GENERATOR = Path(sys.executable).with_name("tpchgen-cli")
SUITE = Suite(
    "tpch",
    "TPC-H",
    keys={
        "lineitem": ("l_orderkey,l_linenumber", 4),
        "orders": ("o_orderkey", 2),
        "customer": ("c_custkey", 1),
        "part": ("p_partkey", 1),
        "partsupp": ("ps_partkey,ps_suppkey", 2),
        "supplier": ("s_suppkey", 1),
        "nation": ("n_nationkey", 1),
        "region": ("r_regionkey", 1),
    },
    bars={
        "cat.sql append": (1.05, None),
        "cat.sql compacted": (1.1, 0.8),
        "cat.sql upserted": (None, 0.6),
        "spark.sql upserted": (None, 0.6),
    },
    single={"1": 0.6},  # an aggregate of most rows
)


def generate(warehouse: Path, scale: float) -> None:
    for table in SUITE.keys:
        where = f"--output-dir={warehouse}/parquet/{table}"
        command = [str(GENERATOR), "parquet", "-s", f"{scale:g}", f"--tables={table}", where]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def run(results: Results, root: Path, scale: float) -> None:
    if not GENERATOR.exists():
        print("tpch: left out, for it needs tpchgen-cli: pip install '.[bench]'", flush=True)
        return
    warehouse = root / f"tpch-{scale:g}"
    make_tables(SUITE, warehouse, lambda: generate(warehouse, scale))
    by_number = {str(number): text for number, text in enumerate(texts(fetch(root / "sqlglot"), "tpc-h"), 1)}
    (warehouse / "texts.json").write_text(json.dumps(by_number), "utf-8")
    run_suite(results, SUITE if scale == 1 else replace(SUITE, title=f"TPC-H at scale {scale:g}"), warehouse)
