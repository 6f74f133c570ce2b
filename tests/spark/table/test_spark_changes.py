"""Changes of a table through Spark: both write roads with changelogs of the input, increments, row kinds."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import types as st

from paimon_spark import PaimonTable, open_table

pytestmark = pytest.mark.spark
COMMITS = [
    [("+I", 1, "a", 1.0), ("+I", 2, "b", 2.0)],
    [("-U", 1, "a", 1.0), ("+U", 1, "a", 10.0), ("-D", 2, "b", 2.0), ("+I", 3, "c", 3.0)],
]


@pytest.fixture(scope="module", params=["df.write", "PaimonTable.append"])
def orders(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table whose changelog is its input, written by one of the roads: two commits and their kinds."""
    path = str(tmp_path_factory.mktemp("changes") / "orders")
    options = {"primary-key": "id", "bucket": "2", "changelog-producer": "input", "write-only": "true"}
    for number, rows in enumerate(COMMITS):
        frame = spark.createDataFrame(rows, "op string, id int, name string, total double").coalesce(1)
        if request.param == "df.write" or number == 0:
            writer = frame.write.format("paimon").mode("append").option("row-kind-column", "op")
            writer.options(**options).save(path)
        else:
            PaimonTable.forPath(spark, path).append(frame, {"row-kind-column": "op", "write-only": "true"})
    return path


def load(spark: SparkSession, path: str, between: str, **options: str) -> DataFrame:
    named = {key.replace("_", "-"): value for key, value in options.items()}
    return spark.read.format("paimon").option("incremental-between", between).options(**named).load(path)


def rows(frame: DataFrame) -> list[tuple[object, ...]]:
    return sorted(map(tuple, frame.collect()), key=repr)


def test_row_kinds_come_as_they_were_written(spark: SparkSession, orders: str) -> None:
    frame = load(spark, orders, "0,2", row_kinds="true")
    assert frame.columns == ["id", "name", "total", "_row_kind"]
    assert frame.schema["_row_kind"] == st.StructField("_row_kind", st.StringType(), nullable=False)
    assert rows(frame) == sorted(((*row[1:], row[0]) for commit in COMMITS for row in commit), key=repr)
    assert rows(load(spark, orders, "1,2")) == [(1, "a", 10.0), (3, "c", 3.0)]
    assert open_table(orders).snapshots.load(2).changelog_record_count == 4


def test_modes(spark: SparkSession, orders: str) -> None:
    delta = load(spark, orders, "1,2", incremental_between_scan_mode="delta", row_kinds="true")
    assert rows(delta) == [(1, "a", 10.0, "+U"), (2, "b", 2.0, "-D"), (3, "c", 3.0, "+I")]
    diff = load(spark, orders, "1,2", incremental_between_scan_mode="diff", row_kinds="true")
    assert rows(diff) == rows(delta)
    assert rows(load(spark, orders, "1,2", incremental_between_scan_mode="diff")) == [(1, "a", 10.0), (3, "c", 3.0)]


def test_columns_and_conditions(spark: SparkSession, orders: str) -> None:
    frame = load(spark, orders, "0,2", row_kinds="true", columns="_row_kind, total", filter="total >= 3")
    assert rows(frame) == [("+I", 3.0), ("+U", 10.0)]
    named = load(spark, orders, "0,2", columns="name, _Row_Kind")
    assert named.columns == ["name", "_row_kind"]
    assert named.where("_row_kind = '-D'").collect() == [Row(name="b", _row_kind="-D")]
    given = spark.read.format("paimon").schema("_row_kind string, id int").option("incremental-between", "1,2")
    assert rows(given.load(orders))[0] == ("+I", 3)


def test_pushed_conditions_on_row_kinds_stay_with_spark(spark: SparkSession, orders: str) -> None:
    key = "spark.sql.python.filterPushdown.enabled"
    spark.conf.set(key, "true")
    try:
        frame = load(spark, orders, "0,2", row_kinds="true", push_filters="true")
        assert rows(frame.where("_row_kind = '+U' and total > 5").select("id")) == [(1,)]
    finally:
        spark.conf.unset(key)


def test_a_change_can_be_written_again_with_its_kinds(spark: SparkSession, orders: str, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy")
    for between in ("0,1", "1,2"):
        writer = load(spark, orders, between, row_kinds="true").coalesce(1).write.format("paimon").mode("append")
        options = {"primary-key": "id", "bucket": "1", "write-only": "true", "row-kind-column": "_row_kind"}
        writer.options(**options).save(copy)
    assert rows(spark.read.format("paimon").load(copy)) == rows(spark.read.format("paimon").load(orders))


def test_an_overwrite_has_no_changelog(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    frame = spark.createDataFrame([(1, 1.0)], "id int, total double")
    for mode in ("append", "overwrite"):
        writer = frame.write.format("paimon").mode(mode).option("primary-key", "id").option("bucket", "1")
        writer.option("changelog-producer", "input").option("write-only", "true").save(path)
    assert len(list(Path(path).glob("bucket-0/changelog-*"))) == 1
    assert rows(load(spark, path, "0,2")) == [(1, 1.0)]


def test_bad_ends_are_named(spark: SparkSession, orders: str) -> None:
    with pytest.raises(PySparkException, match="there are commits 1 to 2"):
        load(spark, orders, "0,9").collect()
    with pytest.raises(AnalysisException, match="'row-kinds' has the value 'yes'"):
        load(spark, orders, "0,1", row_kinds="yes")
    with pytest.raises(PySparkException, match="'row-kinds' is an option of reads"):
        spark.range(1).write.format("paimon").mode("append").option("row-kinds", "true").save(orders)
