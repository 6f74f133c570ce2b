"""Times that df.write and streams store where rows and table have different kinds of them: as Spark casts them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from paimon_spark import PaimonTable

pytestmark = pytest.mark.spark
ZONE = "spark.sql.session.timeZone"
COLUMNS = {
    "z": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "day": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "zones": "ARRAY<TIMESTAMP(6) WITH LOCAL TIME ZONE>",
    "n": "TIMESTAMP(6)",
    "d": "DATE",
    "s": "STRING",
    "r": "ROW<a TIMESTAMP(6)>",
}
CAST = (
    "CAST(z AS TIMESTAMP) z, CAST(day AS TIMESTAMP) day, CAST(zones AS ARRAY<TIMESTAMP>) zones, "
    "CAST(n AS TIMESTAMP_NTZ) n, CAST(d AS DATE) d, CAST(s AS STRING) s, CAST(r AS STRUCT<a: TIMESTAMP_NTZ>) r"
)
MOMENTS = (
    "'2026-07-01 23:30:00.000001'",
    "'2026-03-29 02:30:00'",  # Berlin's clocks leave it out
    "'2026-10-25 02:30:00'",  # and have it twice
    "'2011-12-30 12:00:00'",  # those of Apia leave out the day
    "'1890-01-01 00:00:00'",
    "NULL",
)


@pytest.fixture(params=["Europe/Berlin", "Pacific/Apia", "GMT-03:30"])
def zone(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    spark.conf.set(ZONE, request.param)
    yield request.param
    spark.conf.set(ZONE, "UTC")


def given(spark: SparkSession) -> DataFrame:
    """Times of each kind that the columns of COLUMNS do not have; the instants are read as of UTC."""
    return spark.sql(
        "SELECT n z, CAST(n AS DATE) day, array(n, NULL) zones, u n, u d, u s, named_struct('a', u) r FROM "
        "(SELECT CAST(m AS TIMESTAMP_NTZ) n, CAST(concat(m, 'Z') AS TIMESTAMP) u FROM VALUES "
        + ", ".join(f"({m})" for m in MOMENTS)
        + " AS v(m))"
    )


def made(spark: SparkSession, path: Path) -> PaimonTable:
    table = PaimonTable.create(spark).location(str(path))
    for name, kind in COLUMNS.items():
        table = table.addColumn(name, kind)
    return table.execute()


def texts(df: DataFrame) -> list[str]:
    return sorted(map(str, df.selectExpr(*(f"CAST({name} AS STRING) {name}" for name in COLUMNS)).collect()))


def test_df_write_takes_the_clock_of_the_session(spark: SparkSession, tmp_path: Path, zone: str) -> None:
    df = given(spark)
    expected = texts(df.selectExpr(*CAST.split(", ")))
    table = made(spark, tmp_path / "t")
    for options in ({}, {"write.merge-schema": "true"}, {"time-zone": "UTC"}):
        df.write.format("paimon").mode("overwrite").options(**options).save(str(tmp_path / "t"))
        assert texts(table.toDF()) == expected


def test_streams_take_the_clock_of_the_session(spark: SparkSession, tmp_path: Path, zone: str) -> None:
    df = given(spark)
    expected = texts(df.selectExpr(*CAST.split(", ")))
    df.write.parquet(str(tmp_path / "in"))
    source = spark.readStream.schema(df.schema).parquet(str(tmp_path / "in"))
    sinks = {name: made(spark, tmp_path / name) for name in ("stream", "batches")}

    def each(batch: DataFrame, number: int) -> None:
        batch.write.format("paimon").mode("append").save(str(tmp_path / "batches"))

    for writer in (
        source.writeStream.format("paimon").option("path", str(tmp_path / "stream")),
        source.writeStream.foreachBatch(each),
    ):
        started = writer.trigger(availableNow=True).option("checkpointLocation", str(tmp_path / f"c{id(writer)}"))
        started.start().awaitTermination()
    for table in sinks.values():
        assert texts(table.toDF()) == expected


def test_a_session_without_a_zone_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    """Its instants come in the zone of Java; where there are none, Spark does not say it."""
    table = made(spark, tmp_path / "t")
    df = given(spark)
    spark.conf.unset(ZONE)
    try:
        writer = df.select("z").write.format("paimon").mode("append").option("write.missing-columns", "null")
        with pytest.raises(PySparkException, match=r"column 'z': .*conf\.set\('spark.sql.session.timeZone'"):
            writer.save(str(tmp_path / "t"))
        assert table.toDF().count() == 0
        df.write.format("paimon").mode("append").save(str(tmp_path / "t"))
        assert texts(table.toDF()) == texts(df.selectExpr(*CAST.split(", ")))
    finally:
        spark.conf.set(ZONE, "UTC")
