"""DataFrames on a Connect session that are read when it is known what is needed. Run by test_recorded_frames."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stdout
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from support.oracles.frame_chains import TABLE, check_chain, make_tables
from support.programs.connect_session import session_on_a_free_port

IN_PYTHON = "MapInArrow"


def plan_of(frame: DataFrame) -> str:
    with redirect_stdout(io.StringIO()) as text:
        frame.explain()
    return text.getvalue()


def main(lake: str, first_seed: str, chains: str) -> None:
    spark = session_on_a_free_port()
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    catalog = make_tables(spark, Path(lake))
    rows = catalog.table("w.chained", options={"read.local": "false"})
    assert IN_PYTHON in plan_of(rows), plan_of(rows)
    for found in (rows.where("id = 7 AND p = 'b'"), rows.where(F.col("id") == 7).filter("p = 'b'").select("id")):
        assert IN_PYTHON not in plan_of(found), plan_of(found)
        assert [row.id for row in found.collect()] == [7]
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    early = rows.where("at < '2026-01-01 01:00:00'")
    assert early.count() == len(early.collect()) == 6
    spark.conf.set("spark.sql.session.timeZone", "Etc/GMT+1")  # Spark reads the condition when it runs
    assert early.count() == len(early.collect()) == 12
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    named = early.alias("x")
    spark.conf.set("spark.sql.session.timeZone", "Etc/GMT+1")
    assert named.count() == 12
    seeds = range(int(first_seed), int(first_seed) + int(chains))
    in_tasks = {"read.local": "false"}
    results = [check_chain(spark, lambda: catalog.table(TABLE, options=in_tasks), Path(lake), seed) for seed in seeds]
    assert results.count("rows") >= len(results) / 3, results
    print("recorded DataFrames are as they should be")


if __name__ == "__main__":
    main(*sys.argv[1:])
