"""The first write to a path: one that is refused makes no table."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from paimon_spark import open_table

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("options", "mode", "message"),
    [
        ({"partition": "dt", "primary-key": "id"}, "append", "whole table"),
        ({"row-kind-column": "op"}, "append", "needs a primary key"),
        ({"overwrite-schema": "true"}, "append", "mode.'overwrite'"),
        ({"overwrite-where": "nothing = 1", "partition": "dt"}, "overwrite", "nothing"),
        ({"file.compression": "zstdd"}, "append", "zstd, none"),
    ],
)
def test_a_refused_first_write_makes_no_table(
    spark: SparkSession, tmp_path: Path, options: dict[str, str], mode: str, message: str
) -> None:
    frame = spark.createDataFrame([(1, "a", "+I")], "id int, dt string, op string")
    with pytest.raises(PySparkException, match=message):
        frame.write.format("paimon").mode(mode).options(**options).save(str(tmp_path / "t"))
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("options", [{"overwrite-schema": "true"}, {"write.merge-schema": "true"}])
def test_a_first_write_with_options_of_later_ones_makes_the_table(
    spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    spark.range(2).write.format("paimon").mode("overwrite").options(**options).save(str(tmp_path / "t"))
    assert open_table(str(tmp_path / "t")).scan().count() == 2
