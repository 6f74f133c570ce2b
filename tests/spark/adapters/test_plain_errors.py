"""What of an error comes to the user of Spark: the sentence, and one frame of ours."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from paimon_spark import PaimonTable
from paimon_spark.errors import DataError, StreamPositionLost
from paimon_spark.spark.adapters.errors import plainly
from paimon_spark.store.stream_source.ahead import PositionExpired

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
        "shuffled": (
            lambda: PaimonTable.forPath(spark, f"{lake}/keyed").append(nothing),
            "DataError: the NOT NULL column 'id' is null",
        ),
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


def test_the_class_is_one_that_the_documentation_names() -> None:
    @plainly
    def fails() -> None:
        raise PositionExpired("snapshot 2 has expired")

    with pytest.raises(StreamPositionLost, match=r"^snapshot 2 has expired$") as caught:
        fails()
    assert type(caught.value) is StreamPositionLost


def test_on_the_driver_the_history_stays(spark: SparkSession, tmp_path: Path) -> None:
    """There nobody stands between: a debugger goes where the error was raised."""
    rows = spark.createDataFrame([(1, "a")], SCHEMA)
    rows.write.format("paimon").mode("append").save(f"{tmp_path}/t")
    with pytest.raises(DataError) as caught:
        PaimonTable.forPath(spark, f"{tmp_path}/t").append(rows.withColumnRenamed("v", "w"))
    assert caught.traceback[-1].path.name == "alignment.py"
