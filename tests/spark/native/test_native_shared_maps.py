"""Maps whose keys share columns of the files: Spark's own reader would show the columns, so that ours reads them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from paimon_spark import PaimonTable, create_table, open_table

LAYOUT = "fields.m.map.storage-layout"


def test_they_are_maps_for_spark(spark: SparkSession, tmp_path: Path) -> None:
    columns = {"k": "INT", "m": "MAP<STRING, INT>"}
    options = {LAYOUT: "shared-shredding", "fields.m.map.shared-shredding.max-columns": "2"}
    made = create_table(f"{tmp_path}/t", columns, options=options)
    rows = [(1, {"a": 1, "b": None, "c": 3}), (2, {}), (3, None)]
    stored = [{"k": k, "m": None if m is None else list(m.items())} for k, m in rows]
    made.append(pa.Table.from_pylist(stored, pa.schema([("k", pa.int32()), ("m", pa.map_(pa.string(), pa.int32()))])))
    table = PaimonTable.forPath(spark, made.location)
    table.append(spark.createDataFrame([(4, {"ä": 4})], "k int, m map<string, int>"))
    open_table(made.location).set_options({LAYOUT: "default"})
    table.append(spark.createDataFrame([(5, {"a": 5})], "k int, m map<string, int>"))
    for frame in (table.toDF(), spark.read.format("paimon").load(made.location)):
        found = {row.k: row.m for row in frame.collect()}
        assert found == {**dict(rows), 4: {"ä": 4}, 5: {"a": 5}}
        assert [row.k for row in frame.where("m['a'] > 2").collect()] == [5]
