"""Metadata columns by the methods of Spark; what SQL makes of them is in the scripts of official statements."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import paimon_spark
from paimon_spark import PaimonTable
from paimon_spark.errors import OptionError, SqlError, UnsupportedFeature

pytestmark = pytest.mark.spark
BUCKET, INDEX, PATH, PARTITION = "__paimon_bucket", "__paimon_row_index", "__paimon_file_path", "__paimon_partition"
KEYED = {"primary-key": "id", "bucket": "1", "write-only": "true"}
VECTORS = {"deletion-vectors.enabled": "true"}
BUCKETS = {"bucket": "2", "bucket-key": "id"}
WAYS: list[Mapping[str, str]] = [{}, {"read.local": "true"}]


def made(spark: SparkSession, path: Path, options: Mapping[str, str]) -> PaimonTable:
    frame = spark.createDataFrame([(i, 10 * i, "ab"[i % 2]) for i in range(6)], "id bigint, v bigint, p string")
    frame.coalesce(1).write.format("paimon").mode("append").options(**options).save(str(path / "d.db/t"))
    return PaimonTable.forPath(spark, str(path / "d.db/t"))


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def test_roads_that_name_columns(spark: SparkSession, tmp_path: Path) -> None:
    table, path = made(spark, tmp_path, {"partition": "p"}), str(tmp_path / "d.db/t")
    catalog = paimon_spark.catalog(spark, str(tmp_path))
    places = [(i, i // 2, "ab"[i % 2]) for i in range(6)]
    named = ["id", INDEX, PARTITION]
    for way in WAYS:
        frames = [
            PaimonTable.forPath(spark, path, way).toDF(columns=named),
            spark.read.format("paimon").options(**way).option("columns", ", ".join(named)).load(path),
            catalog.table("d.t", columns=named, options=dict(way)),
        ]
        for frame in frames:
            assert rows(frame.select("id", INDEX, f"{PARTITION}.p")) == places
            assert frame.count() == 6
            assert rows(frame.where(f"{INDEX} = 1").select("id")) == [(2,), (3,)]
        found = PaimonTable.forPath(spark, path, way).toDF(columns=["id"], where=f"{PARTITION}.p = 'b' and {INDEX} > 0")
        assert rows(found) == [(3,), (5,)]
        assert rows(spark.read.format("paimon").options(**way).option("filter", f"{INDEX} = 2").load(path)) == [
            (4, 40, "a"),
            (5, 50, "b"),
        ]
    assert {row[0].rpartition("/")[0] for row in rows(table.toDF(columns=[PATH]))} == {
        f"{path}/p={p}/bucket-0" for p in "ab"
    }
    assert set(table.toDF().columns) == {"id", "v", "p"}
    with pytest.raises(UnsupportedFeature, match="metadata columns"):
        table.toDF(columns=[INDEX], native=True)
    with pytest.raises(OptionError):
        catalog.table("d.t$files", columns=[INDEX])
    with pytest.raises(PySparkException, match="not streamed"):
        spark.readStream.format("paimon").option("columns", f"id, {INDEX}").load(path).writeStream.format(
            "noop"
        ).option("checkpointLocation", str(tmp_path / "ck")).trigger(availableNow=True).start().awaitTermination()


@pytest.mark.parametrize("options", [{}, VECTORS, BUCKETS, KEYED], ids=["append", "vectors", "buckets", "keyed"])
def test_row_changes_that_name_them(spark: SparkSession, tmp_path: Path, options: dict[str, str]) -> None:
    table = made(spark, tmp_path, options)
    left = {row[0]: row[1:] for row in rows(table.toDF(columns=["id", INDEX, BUCKET, "v"]))}
    assert table.delete(f"{INDEX} = 1 and {BUCKET} = 0").rows_deleted == 1
    left = {i: row for i, row in left.items() if row[:2] != (1, 0)}
    assert rows(table.toDF(columns=["id", "v"])) == [(i, row[2]) for i, row in left.items()]
    if options is KEYED:
        with pytest.raises(UnsupportedFeature, match="merged of several files"):
            table.delete(f"{INDEX} = 1")
        assert table.delete(sf.col(BUCKET) == 7).rows_deleted == 0
        table.optimize().compact(full=True)
    assert table.delete(sf.col(INDEX) < 0).rows_deleted == 0
    assert table.delete(f"{BUCKET} = 5").rows_deleted == 0
    before = rows(table.toDF(columns=["id", INDEX]))
    table.update(f"{INDEX} >= 0", {"v": f"v + 1000 * {INDEX}"})
    left = {i: (*left[i][:2], left[i][2] + 1000 * index) for i, index in before}
    assert rows(table.toDF(columns=["id", "v"])) == [(i, row[2]) for i, row in left.items()]
    if options is KEYED:
        table.optimize().compact(full=True)
    source = table.toDF(columns=["id", INDEX])
    places = dict(rows(source))
    matched = table.alias("t").merge(source.alias("s"), f"s.id = t.id and s.{INDEX} = t.{INDEX} and t.{BUCKET} = 0")
    matched.whenMatchedUpdate(f"t.{INDEX} > 0", {"v": f"s.{INDEX}"}).execute()
    buckets = dict(rows(table.toDF(columns=["id", BUCKET])))
    expected = [(i, places[i] if places[i] > 0 and buckets[i] == 0 else row[2]) for i, row in left.items()]
    assert rows(table.toDF(columns=["id", "v"])) == expected
    with pytest.raises(SqlError, match="no column of the table"):
        table.update("true", {BUCKET: "1"})
    assert not table.check().problems


def test_queries_that_cannot_have_them(spark: SparkSession, tmp_path: Path) -> None:
    made(spark, tmp_path, {"partition": "p"})
    catalog = paimon_spark.catalog(spark, str(tmp_path))
    name = "paimon.d.t"
    for query in (
        f"SELECT x.*, {BUCKET} FROM {name} x NATURAL JOIN {name} y",
        f"SELECT {BUCKET} FROM {name} AS x(a, b, c)",
        f"SELECT *, {BUCKET} FROM {name} PIVOT (sum(v) FOR p IN ('a', 'b'))",
        f"FROM {name} |> WHERE {BUCKET} = 0",
        f"TABLE {name} ORDER BY {BUCKET}",
        f"WITH c AS (TABLE {name}) SELECT {BUCKET} FROM c",
    ):
        with pytest.raises(UnsupportedFeature, match="cannot be read in this query"):
            catalog.sql(query).collect()
    for query in (
        f"SELECT {BUCKET} FROM (SELECT * FROM {name})",
        f"SELECT s.{BUCKET} FROM (SELECT * FROM {name}) s",
        f"WITH c AS (SELECT * FROM {name}) SELECT {BUCKET} FROM c",
        f"SELECT {BUCKET} FROM paimon.d.`t$files`",
    ):
        with pytest.raises(SqlError, match="metadata columns are those of a table"):
            catalog.sql(query).collect()
    with pytest.raises(AnalysisException, match="AMBIGUOUS"):
        catalog.sql(f"SELECT {BUCKET} FROM {name} x JOIN {name} y ON x.id = y.id").collect()


def test_stars_leave_them_out(spark: SparkSession, tmp_path: Path) -> None:
    made(spark, tmp_path, {})
    catalog = paimon_spark.catalog(spark, str(tmp_path))
    name, own = "paimon.d.t", ["id", "v", "p"]
    for query, columns in {
        f"SELECT * FROM {name} ORDER BY {INDEX}": own,
        f"SELECT /*+ BROADCAST(x) */ * FROM {name} x WHERE {INDEX} = 0": own,
        f"SELECT x.*, y.* FROM {name} x CROSS JOIN {name} y WHERE x.{INDEX} = y.{INDEX}": own * 2,
        f"SELECT * FROM {name} x JOIN {name} y ON x.{INDEX} = y.{INDEX}": own * 2,
        f"SELECT `t`.*, t.{INDEX} FROM {name}": [*own, INDEX],
        f"SELECT {name}.*, {INDEX} FROM {name}": [*own, INDEX],
        f"SELECT * EXCEPT (v), {INDEX} FROM {name}": ["id", "p", INDEX],
        f"SELECT * FROM {name} x, LATERAL (SELECT x.* WHERE x.{INDEX} = 1) s": own * 2,
        f"SELECT * FROM {name} x WHERE {INDEX} = 1 AND EXISTS (SELECT x.* FROM {name} x)": own,
        f"FROM {name} SELECT *, {INDEX}": [*own, INDEX],
        f"SELECT * FROM {name} WHERE p = '{INDEX}'": own,
        f"SELECT * FROM {name} UNION ALL SELECT {INDEX}, v, p FROM {name}": own,
        f"SELECT * FROM (SELECT *, {INDEX} AS i FROM {name}) x JOIN {name} y ON x.i = y.{INDEX}": [*own, "i", *own],
        f"SELECT DISTINCT * FROM {name} LEFT JOIN (SELECT 1 AS one) ON {INDEX} = one": [*own, "one"],
    }.items():
        frame = catalog.sql(query)
        assert frame.columns == columns, query
        frame.collect()
    assert rows(catalog.sql(f"SELECT count(*), count(1), count(DISTINCT *) FROM {name} WHERE {INDEX} < 4")) == [
        (4, 4, 4)
    ]
    assert rows(catalog.sql(f"SELECT id, {INDEX} FROM {name} ORDER BY v DESC LIMIT 1")) == [(5, 5)]
    assert rows(catalog.sql(f"SELECT max({INDEX}), min({BUCKET}), count(*) FROM {name}")) == [(5, 0, 6)]
