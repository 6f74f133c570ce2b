"""Every way to a table gives the same rows, and the same errors: random operations on a DataFrame, by each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession
from support.long_runs import tries
from support.oracles.frame_chains import TABLE, check_chain, make_tables

from conftest import Lake
from paimon_spark import PaimonTable

CHAINS = tries("PAIMON_CHAINS", ci=6, long=600)
SEED = tries("PAIMON_CHAINS_SEED", ci=0)

DOORS: dict[str, Callable[[Lake], DataFrame]] = {
    "spark.table": lambda lake: lake.spark.table(f"lake.{TABLE}"),
    "spark.sql": lambda lake: lake.sql(f"SELECT * FROM lake.{TABLE}"),
    "cat.sql": lambda lake: lake.cat.sql(f"SELECT * FROM {TABLE}"),
    "forName": lambda lake: PaimonTable.forName(lake.spark, f"lake.{TABLE}").toDF(),
    "load": lambda lake: lake.spark.read.format("paimon").load(f"{lake.path}/w.db/chained"),
}
PLANS = ("spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode", "spark.sql.adaptive.enabled")
NAMED = {"spark.table": "chained", "spark.sql": "chained", "cat.sql": "chained"}
"""The name that columns of a DataFrame may have in front."""


@pytest.fixture
def quick_lake(lake: Lake, quick_spark: SparkSession) -> Iterator[Lake]:
    """The catalog, in a session whose plans are not compiled."""
    before = {key: lake.spark.conf.get(key) for key in PLANS}
    for key in PLANS:
        lake.spark.conf.set(key, quick_spark.conf.get(key) or "")
    yield lake
    for key, value in before.items():
        lake.spark.conf.set(key, value or "")


@pytest.mark.parametrize("local", ["true", "false"])
@pytest.mark.parametrize("door", list(DOORS))
def test_random_chains_have_the_rows_of_a_parquet_copy(quick_lake: Lake, door: str, local: str) -> None:
    lake = quick_lake
    lake.spark.conf.set("spark.paimon.read.local", local)
    make_tables(lake.spark, lake.path)
    found: Counter[str] = Counter()
    for seed in range(SEED, SEED + CHAINS):
        found[check_chain(lake.spark, lambda: DOORS[door](lake), lake.path, seed, NAMED.get(door))] += 1
        lake.spark.catalog.clearCache()
    assert found["rows"] >= CHAINS / 3, found
