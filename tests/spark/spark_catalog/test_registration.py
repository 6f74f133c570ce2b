"""Which sessions know a registered catalog, and what is refused."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support.collected import is_collected

import paimon_spark
from conftest import Lake
from paimon_spark import PaimonTable
from paimon_spark.errors import NameTaken, OptionError, SqlError, UnsupportedFeature
from paimon_spark.spark.spark_catalog.jvm_objects import JvmObjects
from paimon_spark.spark.spark_catalog.registration import registered_catalogs
from paimon_spark.spark.spark_catalog.spark_internals import check_internals

ROOT = Path(__file__).parents[3]


def test_sessions_made_later_know_the_catalog(lake: Lake) -> None:
    lake.sql("CREATE TABLE t AS SELECT id FROM range(5)")
    other = lake.spark.newSession()
    assert other.sql("SELECT count(*) FROM lake.d.t").collect()[0][0] == 5
    assert other.table("lake.d.t").count() == 5
    first = lake.spark.newSession()
    first.sql("USE lake.d")
    assert first.table("t").count() == 5
    assert lake.spark.newSession().table("lake.d.t").count() == 5


def test_each_session_has_settings_of_its_own(lake: Lake) -> None:
    lake.sql("CREATE TABLE t (id INT, ts TIMESTAMP)")
    lake.sql("INSERT INTO t VALUES (1, TIMESTAMP'2026-11-01 00:30:00+00:00')")
    other = lake.spark.newSession()
    other.conf.set("spark.sql.session.timeZone", "America/New_York")
    condition = "SELECT id FROM lake.d.t WHERE ts < '2026-11-01 00:00:00'"
    assert lake.rows(condition) == []
    assert [row.id for row in other.sql(condition).collect()] == [1]
    other.sql("DELETE FROM lake.d.t WHERE ts < '2026-11-01 00:00:00'")
    assert lake.rows("SELECT * FROM t") == []


def test_threads_read_at_the_same_time(lake: Lake) -> None:
    lake.sql("CREATE TABLE t AS SELECT id FROM range(100)")
    found: dict[int, int] = {}

    def work(number: int) -> None:
        found[number] = lake.spark.sql(f"SELECT count(*) FROM lake.d.t WHERE id < {number * 10}").collect()[0][0]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert found == {number: number * 10 for number in range(8)}


def test_a_session_that_begins_without_sql(lake: Lake) -> None:
    lake.sql("CREATE TABLE t AS SELECT id FROM range(5)")
    other = lake.spark.newSession()
    with pytest.raises(Exception, match="CATALOG_NOT_FOUND"):
        other.catalog.setCurrentCatalog("lake")  # Spark asks nobody for a catalog that it has not loaded
    assert other.catalog.tableExists("lake.d.t")
    other.catalog.setCurrentCatalog("lake")
    other.catalog.setCurrentDatabase("d")
    assert other.table("t").count() == 5
    first = lake.spark.newSession()
    first.range(3).writeTo("lake.d.u").create()
    assert lake.rows("SELECT * FROM u") == [(0,), (1,), (2,)]


def test_a_cloned_session_knows_the_catalog(lake: Lake) -> None:
    lake.sql("CREATE TABLE t AS SELECT id FROM range(5)")
    clone = SparkSession(lake.spark.sparkContext, lake.spark._jsparkSession.cloneSession())
    assert clone.table("lake.d.t").count() == 5
    clone.sql("DELETE FROM lake.d.t WHERE id > 2")
    assert lake.rows("SELECT count(*) FROM t") == [(3,)]


def test_a_session_that_is_dropped_is_collected(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paimon_spark.spark.spark_catalog.sessions._MOST_SESSIONS", 1)
    lake.sql("CREATE TABLE t AS SELECT id FROM range(5)")
    jvm, other = lake.spark.sparkContext._jvm, lake.spark.newSession()
    assert jvm is not None
    other.sql("USE lake.d")
    other.table("t").createOrReplaceTempView("shown")
    weak = jvm.java.lang.ref.WeakReference(other._jsparkSession)
    del other
    lake.spark.newSession().sql("SELECT * FROM lake.d.t")  # PySpark, too, remembers the session that was made last
    assert is_collected(jvm, weak)


@pytest.mark.spark
def test_a_catalog_is_registered_again_after_a_stop(tmp_path: Path) -> None:
    run = program("registered_again.py", tmp_path)
    assert run.stdout.strip().endswith("registered again"), run.stderr


@pytest.mark.spark
@pytest.mark.skipif(sys.platform != "linux", reason="the processes are found in /proc")
def test_a_stream_and_a_write_by_name_start_no_process_that_makes_or_plans(tmp_path: Path) -> None:
    """Each takes 0.8 s of processor time, and the user waits for it. Imports of what is not called take 0.4 s."""
    run = program("started_pythons.py", tmp_path)
    assert "procedures of a CREATE TABLE: 0\n" in run.stdout, run.stdout
    assert run.stdout.strip().endswith("[2, 5]"), run.stderr
    assert "pyspark.sql.worker.commit_data_source_write" in run.stdout  # a process of such a kind is seen
    others = ("lookup_data_sources", "create_data_source", "plan_data_source_read", "python_streaming_source_runner")
    assert [module for module in others if module in run.stdout] == []


@pytest.mark.spark
def test_data_sources_of_other_packages_are_found_by_spark(tmp_path: Path) -> None:
    """The catalog tells Spark of its own data source only where there is no other one."""
    run = program("other_source.py", tmp_path)
    assert run.stdout.strip().endswith("[7, 8]"), run.stderr


def program(name: str, argument: Path) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own, which makes a session."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    settings = "--conf spark.ui.enabled=false --driver-memory 1g pyspark-shell"
    return subprocess.run(
        [sys.executable, str(ROOT / "tests/support/programs" / name), str(argument)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable, "PYSPARK_SUBMIT_ARGS": settings},
    )


def test_two_catalogs_in_one_query(lake: Lake) -> None:
    lake.sql("CREATE TABLE t AS SELECT id FROM range(5)")
    paimon_spark.register_catalog(lake.spark, "pond", str(lake.path.parent / "pond"))
    lake.sql("CREATE DATABASE pond.e")
    lake.sql("CREATE TABLE pond.e.t AS SELECT id FROM lake.d.t WHERE id > 2")
    assert lake.rows("SELECT a.id FROM lake.d.t a JOIN pond.e.t b ON a.id = b.id") == [(3,), (4,)]
    assert lake.rows("UPDATE pond.e.t SET id = 9 WHERE id = 3") == [(1,)]


def test_names_without_a_catalog_are_those_of_the_current_one(lake: Lake) -> None:
    paimon_spark.register_catalog(lake.spark, "pond", str(lake.path.parent / "pond"))
    for catalog in ("lake", "pond"):
        lake.sql(f"CREATE DATABASE IF NOT EXISTS {catalog}.d")
        lake.sql(f"CREATE TABLE {catalog}.d.t (id INT, c STRING) PARTITIONED BY (c)")
        lake.sql(f"INSERT INTO {catalog}.d.t VALUES (1, '{catalog}')")
        lake.sql(f"INSERT INTO {catalog}.d.t VALUES (2, '{catalog}')")
    lake.sql("USE spark_catalog")
    for statement in (
        "CALL sys.rollback(table => 'd.t', version => '1')",
        "SELECT * FROM paimon_incremental_query('d.t', '1', '2')",
        "SELECT sys.max_pt('d.t')",
    ):
        with pytest.raises(PySparkException):
            lake.sql(statement)
    for catalog in ("pond", "lake"):
        query = f"SELECT id, sys.max_pt('{catalog}.d.t') FROM paimon_incremental_query('{catalog}.d.t', '1', '2')"
        assert lake.rows(query) == [(2, catalog)]
    lake.sql("USE pond.d")
    assert lake.rows("SELECT id, sys.max_pt('t') FROM paimon_incremental_query('d.t', '1', '2')") == [(2, "pond")]
    lake.sql("CALL sys.rollback(table => 'd.t', version => '1')")
    assert (len(lake.rows("SELECT * FROM pond.d.t")), len(lake.rows("SELECT * FROM lake.d.t"))) == (1, 2)
    assert PaimonTable.forName(lake.spark, "lake.d.t").toDF().count() == 2
    lake.sql("USE lake.d")
    for name in ("t", "d.t"):
        assert PaimonTable.forName(lake.spark, name).toDF().count() == 2
    lake.sql("USE pond.d")
    with pytest.raises(SqlError, match=r"the name t means several tables .*, of which pond\.d\.t is there: write that"):
        PaimonTable.forName(lake.spark, "t")


def test_registering_again_keeps_what_was_made_before(lake: Lake) -> None:
    lake.sql("CREATE TABLE t AS SELECT id FROM range(5)")
    lake.sql("CREATE TABLE k (id INT) TBLPROPERTIES ('primary-key' = 'id')")
    frames = [lake.spark.table("lake.d.t"), lake.spark.table("lake.d.t").cache(), lake.sql("SELECT * FROM k")]
    for options in (
        str(lake.path),
        {"warehouse": str(lake.path)},
        {"warehouse": str(lake.path), "s3.access-key": "a", "s3.secret-key": "b"},
        {"warehouse": str(lake.path), "s3.access-key": "c", "s3.secret-key": "d"},
    ):
        paimon_spark.register_catalog(lake.spark, "lake", options)
        gc.collect()
        assert [frame.where("id >= 0").count() for frame in frames] == [5, 5, 0]
        assert frames[0].join(lake.spark.table("t"), "id").count() == 5
    frames[1].unpersist()
    other = lake.spark.newSession()
    paimon_spark.register_catalog(other, "lake", {"warehouse": str(lake.path), "s3.access-key": "e"})
    del other
    lake.sql("INSERT INTO k VALUES (1)")
    assert lake.rows("SELECT * FROM k") == [(1,)]


def test_reads_after_new_secrets_have_the_new_ones(lake: Lake) -> None:
    """Queries that read the same share its tasks, which hold the secrets."""
    lake.spark.conf.set("spark.paimon.read.local", "false")
    lake.sql("CREATE TABLE k (id INT) TBLPROPERTIES ('primary-key' = 'id')")
    for _ in range(2):
        lake.sql("INSERT INTO k VALUES (1)")
    held = lake.sql("SELECT * FROM k")
    assert lake.rows(held) == [(1,)]
    registered = registered_catalogs(lake.spark)
    assert registered is not None
    datasets = registered.catalogs["lake"][0].datasets
    assert len(datasets) == 1
    paimon_spark.register_catalog(lake.spark, "lake", {"warehouse": str(lake.path), "s3.access-key": "new"})
    assert not datasets
    assert lake.rows(held) == [(1,)]


def test_a_name_that_would_mean_other_tables_is_refused(lake: Lake) -> None:
    lake.sql("CREATE TABLE t AS SELECT id FROM range(5)")
    kept = lake.spark.table("lake.d.t")
    with pytest.raises(NameTaken, match=rf"'lake' again: in this session it has the warehouse {lake.path}, not \S+2;"):
        paimon_spark.register_catalog(lake.spark, "lake", f"{lake.path}2")
    with pytest.raises(NameTaken, match=r"it has other values of defaultDatabase, warehouse than those given now"):
        paimon_spark.register_catalog(lake.spark, "lake", {"warehouse": f"{lake.path}2", "defaultDatabase": "d"})
    assert lake.rows(kept) == lake.rows("SELECT * FROM lake.d.t") == [(n,) for n in range(5)]
    with pytest.raises(OptionError, match="the name and the warehouse swapped"):
        paimon_spark.register_catalog(lake.spark, str(lake.path), "lake")


def test_names_that_are_taken_are_refused(lake: Lake, spark: SparkSession) -> None:
    with pytest.raises(NameTaken, match="'spark_catalog' is there already"):
        paimon_spark.register_catalog(lake.spark, "spark_catalog", str(lake.path))
    other = spark.newSession()
    other.conf.set("spark.sql.catalog.genuine", "org.apache.paimon.spark.SparkCatalog")
    with pytest.raises(NameTaken, match=r"the setting spark\.sql\.catalog\.genuine = org\.apache\.paimon"):
        paimon_spark.register_catalog(other, "genuine", str(lake.path))
    with pytest.raises(OptionError, match=r"no catalog is described: give a warehouse"):
        paimon_spark.register_catalog(other, "nothing")


def test_the_settings_of_a_session_describe_a_catalog(lake: Lake) -> None:
    lake.sql("CREATE TABLE t AS SELECT 1 id")
    other = lake.spark.newSession()
    other.conf.set("spark.sql.catalog.described.warehouse", str(lake.path))
    paimon_spark.register_catalog(other, "described")
    assert other.sql("SELECT * FROM described.d.t").collect()[0][0] == 1


def test_a_missing_name_of_spark_is_told(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = JvmObjects(lake.spark)
    monkeypatch.setattr("paimon_spark.spark.spark_catalog.spark_internals._CLASSES", ("org.apache.spark.NoSuchClass",))
    with pytest.raises(UnsupportedFeature, match=r"the class org\.apache\.spark\.NoSuchClass is missing"):
        check_internals(lake.spark, objects)


def test_no_object_of_this_process_is_sent_to_tasks(lake: Lake) -> None:
    objects = JvmObjects(lake.spark)
    made = objects.make(["java.util.function.Function"], None, {"apply": 7}, "seven")
    assert made.apply("x") == 7
    assert made.toString() == "seven"
    assert made.equals(objects.make(["java.util.function.Function"], None, {}, "seven"))
    assert not made.equals(None)
    stream = objects.static("java.io.ObjectOutputStream")(objects.static("java.io.ByteArrayOutputStream")())
    with pytest.raises(Exception, match="NotSerializableException"):
        stream.writeObject(made)
