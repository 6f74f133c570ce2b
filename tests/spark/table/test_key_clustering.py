"""Tables whose compacted files are sorted by other columns than the key, written by Spark: SQL, frames and streams."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.oracles.checker import check_table

import paimon_spark
from paimon_spark import PaimonTable, open_table
from paimon_spark.spark.source.source import PaimonDataSource
from paimon_spark.store.compact.live_buckets import live_buckets

pytestmark = pytest.mark.spark


def test_sql_frames_and_streams_write(spark: SparkSession, tmp_path: Path) -> None:
    """What a statement changes is seen at once: the writer compacts, and Spark's tasks do too."""
    spark.dataSource.register(PaimonDataSource)
    cat = paimon_spark.catalog(spark, {"warehouse": f"{tmp_path}/lake"})
    cat.sql("CREATE DATABASE paimon.d")
    cat.sql(
        "CREATE TABLE paimon.d.t (k INT, c STRING, v BIGINT) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2', "
        "'pk-clustering-override' = 'true', 'clustering.columns' = 'c', 'deletion-vectors.enabled' = 'true')"
    )
    cat.sql("INSERT INTO paimon.d.t SELECT CAST(id AS INT), concat('c', id % 3), id FROM range(12)")
    cat.sql("UPDATE paimon.d.t SET c = 'up' WHERE k = 1")
    cat.sql("DELETE FROM paimon.d.t WHERE k = 2")
    cat.sql(
        "MERGE INTO paimon.d.t USING (SELECT 3 AS k UNION ALL SELECT 99) s ON t.k = s.k "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (k, c, v) VALUES (s.k, 'new', 0)"
    )
    expected = {k: (k, f"c{k % 3}", k) for k in range(12) if k not in (2, 3)} | {1: (1, "up", 1), 99: (99, "new", 0)}
    path = str(tmp_path / "lake" / "d.db" / "t")

    def rows() -> list[tuple[object, ...]]:
        return sorted(tuple(row) for row in cat.sql("SELECT * FROM paimon.d.t").collect())

    assert rows() == sorted(expected.values())
    frame = spark.createDataFrame([(4, "frame", 4)], "k int, c string, v bigint")
    frame.write.format("paimon").mode("append").save(path)
    expected[4] = (4, "frame", 4)
    assert rows() == sorted(expected.values())
    source = tmp_path / "events"
    spark.createDataFrame([(5, "stream", 5)], "k int, c string, v bigint").write.json(str(source))
    stream = spark.readStream.schema("k int, c string, v bigint").json(str(source))
    writer = stream.writeStream.format("paimon").option("checkpointLocation", str(tmp_path / "check"))
    writer.trigger(availableNow=True).start(path).awaitTermination()
    expected[5] = (5, "stream", 5)
    assert rows() == sorted(expected.values())
    PaimonTable.forPath(spark, path).optimize().compact()
    assert rows() == sorted(expected.values())
    table = open_table(path)
    files = [file for bucket in live_buckets(table, table.snapshots.latest()) for file in bucket.files]
    assert {file.level for file in files} == {1}
    check_table(path)
