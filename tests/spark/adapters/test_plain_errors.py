"""What of an error comes to the user of Spark: the sentence, and one frame of ours."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession
from support.faults.shortages import small_disk
from support.oracles.checker import check_table

from paimon_spark import PaimonTable, catalog
from paimon_spark.arguments import checks
from paimon_spark.arguments.checks import SETTING
from paimon_spark.errors import (
    DataError,
    OptionError,
    PaimonError,
    ResourcesExhausted,
    StorageError,
    StreamPositionLost,
)
from paimon_spark.spark.adapters.errors import error_of_task, plainly
from paimon_spark.store.stream_source.upcoming_snapshots import PositionExpired

pytestmark = pytest.mark.spark
SCHEMA = "id long, v string"


def calls(spark: SparkSession, lake: Path) -> dict[str, tuple[Callable[[], object], str]]:
    """By the door of ours that Spark calls: what fails there, and what the sentence begins with."""
    rows, nothing = (spark.createDataFrame([(key, "a")], SCHEMA) for key in (1, None))

    def write(path: str, **options: str) -> None:
        rows.write.format("paimon").mode("append").options(**options).save(f"{lake}/{path}")

    def read(path: str, **options: str) -> None:
        spark.read.format("paimon").options(**options).load(f"{lake}/{path}").collect()

    write("keyed", **{"primary-key": "id", "bucket": "1"})
    write("damaged", **{"bucket": "-1"})
    (data,) = (lake / "damaged" / "bucket-0").iterdir()
    os.truncate(data, 30)
    write("lost", **{"bucket": "-1"})
    for manifest in (lake / "lost" / "manifest").iterdir():
        manifest.unlink()
    return {
        "schema": (lambda: read("none"), "TableNotFound: no Paimon table"),
        "partitions": (lambda: read("lost"), "MissingFile: "),
        "read": (lambda: read("damaged"), "CorruptFile: reading data file"),
        "write": (
            lambda: nothing.write.format("paimon").mode("append").save(f"{lake}/keyed"),
            "DataError: the NOT NULL column 'id' is null",
        ),
        "commit": (lambda: write("lost"), "MissingFile: "),
    }


def test_one_frame_and_the_sentence(spark: SparkSession, tmp_path: Path) -> None:
    for door, (call, sentence) in calls(spark, tmp_path).items():
        with pytest.raises(Exception, match=sentence) as caught:
            call()
        lines = str(caught.value).strip().splitlines()
        frames = [line for line in lines if line.lstrip().startswith("File ")]
        assert len(lines) <= 6, (door, lines)
        assert [os.path.basename(frame.split('"')[1]) for frame in frames] == ["errors.py"], (door, lines)
        (last,) = (line for line in lines[-2:] if line.startswith("paimon_spark.errors."))
        assert last.startswith(f"paimon_spark.errors.{sentence}"), door


def test_errors_of_tasks_are_raised_on_the_driver_as_themselves(spark: SparkSession, tmp_path: Path) -> None:
    """Whether the driver writes the rows or tasks do, and whether Python or an expression of Spark fails in a task."""
    cat = catalog(spark, str(tmp_path))
    cat.sql("CREATE DATABASE paimon.d")
    keyed = "TBLPROPERTIES ('primary-key' = 'id,p', 'bucket' = '{}', 'sequence.field' = 'v')"
    for name, bucket in (("few", 1), ("tasks", -1)):
        cat.sql(f"CREATE TABLE paimon.d.{name} (id INT, v INT, p STRING) PARTITIONED BY (p) {keyed.format(bucket)}")
        cat.sql(f"INSERT INTO paimon.d.{name} VALUES (1, 5, 'a')")
        table, missing = cat[f"d.{name}"], "the NOT NULL column 'p' is null"
        twice = spark.sql("SELECT 1 id, 'a' p, 9 v UNION ALL SELECT 1, 'a', 8").alias("s")
        for call, words in (
            (lambda n=name: cat.sql(f"INSERT INTO paimon.d.{n} VALUES (2, 6, 'b'), (3, 7, NULL)"), missing),
            (lambda t=table: t.append(spark.sql("SELECT 1 id, 2 v, nullif('a', 'a') p")), missing),
            (lambda t=table: t.update("id = 1", {"v": "v - 1"}), "updating .* the sequence field v is older"),
            (lambda t=table, s=twice: (
                t.alias("t").merge(s, "t.id = s.id AND t.p = s.p").whenMatchedUpdate(set={"v": "s.v"}).execute()
            ), "MERGE INTO t: several rows of the source"),
        ):  # fmt: skip
            with pytest.raises(DataError, match=f"^{words}") as caught:
                call()
            assert type(caught.value) is DataError
            assert "\n" not in str(caught.value)
            assert "SQLSTATE" not in str(caught.value)
        assert [tuple(row) for row in table.toDF().collect()] == [(1, 5, "a")]


def test_calls_of_ours_are_not_shown(
    quick_spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One frame of this package for each error of a statement or a call; what Spark says of a statement is its own."""
    monkeypatch.delenv(SETTING, raising=False)
    cat = catalog(quick_spark, f"{tmp_path}/lake")
    cat.create_database("shop")
    made = "CREATE TABLE paimon.shop.t (id BIGINT NOT NULL, v STRING) TBLPROPERTIES "
    cat.sql(f"{made} ('primary-key' = 'id', 'bucket' = '1')")
    quick_spark.range(1).createOrReplaceTempView("source")
    failing: list[Callable[[], object]] = [
        lambda: cat.sql("SELECT * FROM paimon.shop.none"),
        lambda: cat.sql("INSERT INTO paimon.shop.t VALUES (NULL, 'a')"),
        lambda: cat.sql("UPDATE paimon.shop.t SET id = 2"),
        lambda: cat.sql("MERGE INTO paimon.shop.t t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET id = 3"),
        lambda: cat.sql("SELECT nothing.here FROM paimon.shop.t"),
        lambda: cat["shop.none"],
        lambda: cat["shop.t"].toDF("none"),
        lambda: PaimonTable.forPath(quick_spark, f"{tmp_path}/none"),
    ]
    try:
        for call in failing:
            with pytest.raises((PaimonError, AnalysisException)) as raised:
                call()
            frames = [frame.filename for frame in traceback.extract_tb(raised.value.__traceback__)]
            assert [name for name in frames if "/paimon_spark/" in name or "/pyspark/" in name] == [checks.__file__]
            assert raised.value.__cause__ is None
            assert raised.value.__suppress_context__
    finally:
        quick_spark.catalog.dropTempView("source")


def test_what_is_asked_of_spark_and_refused_in_words_is_not_logged(quick_spark: SparkSession, tmp_path: Path) -> None:
    """PySpark writes each error of an analysis to stderr, with its plan and its stack."""
    quick_spark.range(3).write.format("paimon").mode("append").option("bucket", "-1").save(f"{tmp_path}/t")
    table = PaimonTable.forPath(quick_spark, f"{tmp_path}/t")
    records = list[logging.LogRecord]()
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    logs = [PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("DataFrame", "SQL")]
    for log in logs:
        log.addHandler(handler)
    try:
        source = quick_spark.range(1).alias("s")
        table.alias("t").merge(source, "t.id = s.id").whenMatchedDelete().execute()
        for call in (
            lambda: table.delete("idd = 1"),
            lambda: table.update("id = 1", {"id": "hello"}),
            lambda: table.merge(quick_spark.range(1), "t.id = s.id").whenMatchedDelete().execute(),
        ):
            with pytest.raises((PaimonError, AnalysisException)):
                call()
        assert records == []
        with pytest.raises(AnalysisException):
            quick_spark.sql("SELECT nothing FROM range(1)")
        assert len(records) == 1  # what others ask is written as ever
    finally:
        for log in logs:
            log.removeHandler(handler)


def test_the_class_is_one_that_the_documentation_names() -> None:
    @plainly
    def fails() -> None:
        raise PositionExpired("snapshot 2 has expired")

    with pytest.raises(StreamPositionLost, match=r"^snapshot 2 has expired$") as caught:
        fails()
    assert type(caught.value) is StreamPositionLost


def test_who_asks_for_it_sees_the_history(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A debugger goes where the error was raised."""
    monkeypatch.setenv(SETTING, "full")
    rows = spark.createDataFrame([(1, "a")], SCHEMA)
    rows.write.format("paimon").mode("append").save(f"{tmp_path}/t")
    with pytest.raises(DataError) as caught:
        PaimonTable.forPath(spark, f"{tmp_path}/t").append(rows.withColumnRenamed("v", "w"))
    assert caught.traceback[-1].path.name == "alignment.py"


@pytest.mark.parametrize("missing", ["paimon_spark", "pyarrow.compute"])
def test_tasks_on_a_python_without_this_package(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Spark 4.3 tells of a task whose Python lacks a package; one of the user's is no matter of ours."""
    text = (
        "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
        f"  File \"job.py\", line 16, in <module>\nModuleNotFoundError: No module named '{missing}'\n"
    )
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    kind, sentence = error_of_task(text) or (PaimonError, "")
    assert kind is OptionError
    assert f"without the package '{missing}'" in sentence
    assert "starts the python3 of the PATH. Set PYSPARK_PYTHON to a Python that has paimon-spark" in sentence
    assert sentence.endswith(f"that of this process is {sys.executable}")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    assert "install it on each" in (error_of_task(text) or (PaimonError, ""))[1]
    assert error_of_task(text.replace(missing, "model_of_the_user")) is None


def test_a_task_without_memory() -> None:
    """`spark.executor.pyspark.memory` limits that of a worker."""

    def rows() -> Iterator[int]:
        yield 1
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    with pytest.raises(
        ResourcesExhausted, match=r"no memory left \(malloc of size 64 failed\); give it more"
    ) as caught:
        list(plainly(rows)())
    assert error_of_task(f"{type(caught.value).__module__}.ResourcesExhausted: {caught.value}") == (
        ResourcesExhausted,
        str(caught.value),
    )


def test_a_full_disk(spark: SparkSession, tmp_path: Path) -> None:
    """Whether a task or the driver finds it; what was there is there, and the next write has room again."""
    sentence = r"the disk is full \(No space left on device\); free space there, .* Nothing was committed"
    rows = spark.range(5000).selectExpr("id", "sha2(cast(id as string), 512) v")
    with small_disk(tmp_path / "disk") as disk:
        cat = catalog(spark, str(disk.path / "lake"))
        cat.sql("CREATE DATABASE db")
        cat.sql("CREATE TABLE db.t (id BIGINT, v STRING)")
        cat.sql("INSERT INTO db.t VALUES (1, 'a'), (2, 'b')")
        place = str(disk.path / "lake" / "db.db" / "t")
        with disk.full(1):
            with pytest.raises(StorageError, match=sentence):
                cat.sql("INSERT INTO db.t SELECT id, sha2(cast(id as string), 512) FROM range(5000)")
            with pytest.raises(StorageError, match=sentence):
                cat.sql("UPDATE db.t SET v = 'x' WHERE id = 1")
            with pytest.raises(Exception, match=f"StorageError: .*{sentence}"):
                rows.write.format("paimon").mode("append").save(place)
        check_table(place)
        rows.write.format("paimon").mode("append").save(place)
        assert cat.sql("SELECT count(*), count_if(id = 1 AND v = 'a') FROM db.t").collect() == [(5002, 1)]
        check_table(place)
