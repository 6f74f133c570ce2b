"""DataFrames that are read when it is known what is needed: the rows and errors of Spark's own DataFrames."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.long_runs import tries
from support.oracles.frame_chains import TABLE, check_chain, make_tables
from support.paths import ROOT

from paimon_spark.errors import TableChanged
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

pytestmark = pytest.mark.spark

CHAINS = tries("PAIMON_CHAINS", ci=6, long=600)
SEED = tries("PAIMON_CHAINS_SEED", ci=0)
IN_PYTHON = "MapInArrow"
IN_TASKS = {"read.local": "false"}


@pytest.fixture
def lake(quick_spark: SparkSession, tmp_path: Path) -> SessionCatalog:
    return make_tables(quick_spark, tmp_path)


def test_random_chains_have_the_rows_of_a_parquet_copy(
    quick_spark: SparkSession, lake: SessionCatalog, tmp_path: Path
) -> None:
    found: Counter[str] = Counter()
    for seed in range(SEED, SEED + CHAINS):
        found[check_chain(quick_spark, lambda: lake.table(TABLE, options=IN_TASKS), tmp_path, seed)] += 1
        quick_spark.catalog.clearCache()
    assert found["rows"] >= CHAINS / 3, found


def test_the_same_on_connect(tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    program = ROOT / "tests/support/programs/recorded_on_connect.py"
    env = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYTHONPATH"))}
    env.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1", PYTHONPATH=f"{ROOT}{os.pathsep}{ROOT}/tests")
    command = [sys.executable, str(program), str(tmp_path), str(SEED), str(CHAINS)]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-8000:]
    assert "recorded DataFrames are as they should be" in done.stdout


def test_a_row_is_read_by_its_key(lake: SessionCatalog, capsys: pytest.CaptureFixture[str]) -> None:
    rows = lake.table("w.chained", options=IN_TASKS)
    rows.explain()
    assert IN_PYTHON in capsys.readouterr().out
    for found in (
        rows.where("id = 7 AND p = 'b'"),
        rows.filter(F.col("id") == 7).where("p = 'b'").select("id"),
        lake["w.chained"].toDF(options=IN_TASKS).where("id = 7 AND p = 'b'").withColumn("x", F.lit(1)),
    ):
        found.explain()
        assert IN_PYTHON not in capsys.readouterr().out
        assert [row.id for row in found.collect()] == [7]


def test_metadata_count_the_rows(lake: SessionCatalog, tmp_path: Path) -> None:
    lake["w.chained"].optimize().compact()
    rows = lake.table("w.chained", options=IN_TASKS)
    for file in tmp_path.glob("w.db/chained/p=*/bucket-*/*.parquet"):
        file.unlink()
    assert (rows.count(), rows.where("p = 'a'").select("id").count()) == (300, 100)


def test_a_dataframe_shows_one_state(lake: SessionCatalog, quick_spark: SparkSession) -> None:
    rows = lake.table("w.chained", options=IN_TASKS)
    seven = rows.where("id = 7")
    lake.sql("DELETE FROM w.chained WHERE id < 100")
    assert (seven.count(), rows.count(), rows.where("id = 7").count()) == (1, 300, 1)
    assert lake.table("w.chained", options=IN_TASKS).where("id = 7").count() == 0
    lake.drop_table("w.chained")
    make_anew = "CREATE TABLE w.chained (id BIGINT, p STRING) PARTITIONED BY (p)"
    lake.sql(make_anew)
    lake["w.chained"].append(quick_spark.sql("SELECT 7L AS id, 'b' AS p"))
    with pytest.raises(TableChanged):
        rows.where("id = 7 AND p = 'b'").collect()


def test_a_condition_is_read_with_the_settings_of_its_time(lake: SessionCatalog, quick_spark: SparkSession) -> None:
    quick_spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        rows = lake.table("w.chained", options=IN_TASKS)
        early = rows.where("at < '2026-01-01 01:00:00'")
        quick_spark.conf.set("spark.sql.session.timeZone", "Etc/GMT+1")
        late = rows.where("at < '2026-01-01 01:00:00'")
        assert (early.count(), len(early.collect()), late.count(), len(late.collect())) == (6, 6, 12, 12)
        assert early.where("id < 9").count() == 6
    finally:
        quick_spark.conf.unset("spark.sql.session.timeZone")


def test_it_is_a_dataframe_of_spark(lake: SessionCatalog, quick_spark: SparkSession) -> None:
    rows = lake.table("w.chained", options=IN_TASKS).where("id < 9")
    assert isinstance(rows, DataFrame)
    assert isinstance(rows, type(quick_spark.range(1)))
    assert rows.sparkSession is quick_spark
    assert {"id", "where", "order day"} <= set(dir(rows)) | {"order day"}
    assert repr(rows) == repr(quick_spark.createDataFrame([], rows.schema))
    assert not hasattr(rows, "nope")
    assert DataFrame.unionAll(rows, rows).count() == 18
    for frame in (rows, quick_spark.range(1)):
        with pytest.raises(PySparkRuntimeError, match="CONTEXT_ONLY_VALID_ON_DRIVER"):
            pickle.dumps(frame)
