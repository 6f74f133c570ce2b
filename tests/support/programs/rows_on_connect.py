"""Rows changed in place in a Connect session. Run by test_rows_on_connect."""

from __future__ import annotations

import sys

import pytest

import paimon_spark
from paimon_spark import PaimonTable
from paimon_spark.errors import UnsupportedFeature
from support.programs.connect_session import session_on_a_free_port

TABLES = {
    "keyed": {"primary-key": "id", "bucket": "2"},
    "append": {"partition": "p"},
    "vectors": {"deletion-vectors.enabled": "true"},
}


def main(lake: str, *names: str) -> None:
    spark = session_on_a_free_port()
    for name in names:
        options = TABLES[name]
        path = f"{lake}/{name}"
        frame = spark.range(6).selectExpr("id", "id * 10 v", "cast(id % 2 as string) p")
        frame.write.format("paimon").mode("append").options(**options).save(path)
        table = PaimonTable.forPath(spark, path)
        assert table.delete("v = 10 or p = 'x'").rows_deleted == 1
        assert table.update("id in (2, 3)", {"v": "v + 1"}).rows_updated == 2
        source = spark.createDataFrame([(3, 7, "1"), (4, 0, "0"), (9, 9, "1")], "id long, v long, p string")
        merge = table.alias("t").merge(source.alias("s"), "t.id = s.id")
        result = (
            merge.whenMatchedDelete("s.v = 0")
            .whenMatchedUpdate(set={"v": "s.v + t.v"})
            .whenNotMatchedInsertAll()
            .whenNotMatchedBySourceUpdate("id = 5", {"v": "-v"})
            .execute()
        )
        assert (result.rows_updated, result.rows_deleted, result.rows_inserted) == (2, 1, 1), result
        found = sorted(tuple(row) for row in table.toDF().collect())
        assert found == [(0, 0, "0"), (2, 21, "0"), (3, 38, "1"), (5, -50, "1"), (9, 9, "1")], found
    days = spark.range(4).selectExpr("id", "cast(id % 2 as string) p")
    days.write.format("paimon").mode("append").option("partition", "p").save(f"{lake}/days")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    days.where("id = 1").write.format("paimon").mode("overwrite").save(f"{lake}/days")
    found = sorted(tuple(row) for row in spark.read.format("paimon").load(f"{lake}/days").collect())
    assert found == [(0, "0"), (1, "1"), (2, "0")], found
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    times = spark.sql("SELECT TIMESTAMP'2026-07-01 08:00:00' AS t, TIMESTAMP_NTZ'2026-07-01 08:00:00' AS n")
    times.write.format("paimon").mode("append").save(f"{lake}/times")
    times.selectExpr("n AS t", "t AS n").write.format("paimon").mode("append").save(f"{lake}/times")
    stored = spark.read.format("paimon").load(f"{lake}/times")
    assert stored.where("t = TIMESTAMP'2026-06-30 23:00:00Z' AND n = TIMESTAMP_NTZ'2026-07-01 08:00:00'").count() == 2
    with pytest.raises(UnsupportedFeature, match="session of Spark Connect"):
        paimon_spark.register_catalog(spark, "paimon", lake)
    print("rows are as they should be")


if __name__ == "__main__":
    main(*sys.argv[1:])
