"""CHAR columns that hold padded texts, as Spark writes them, beside others, as Flink does: both are one value.

What the official connector returns for queries is in genuine/09_chars; it refuses to change rows of a table with CHAR.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as sf
from support.oracles.checker import check_table

import paimon_spark
from paimon_spark import PaimonTable, open_table
from paimon_spark.errors import DataError
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

AS_STRINGS = "spark.sql.legacy.charVarcharAsString"


@contextmanager
def setting(spark: SparkSession, **values: str) -> Iterator[None]:
    keys = {key.replace("_", "."): value for key, value in values.items()}
    for key, value in keys.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key in keys:
            spark.conf.unset(key)


@contextmanager
def unpadded(spark: SparkSession) -> Iterator[None]:
    """Rows are written as other engines write them."""
    with setting(spark, **{AS_STRINGS: "true"}):
        yield


@pytest.fixture
def cat(quick_spark: SparkSession, tmp_path: Path) -> SessionCatalog:
    made = paimon_spark.catalog(quick_spark, str(tmp_path))
    for text in ("USE paimon", "CREATE DATABASE d", "USE d"):
        made.sql(text)
    return made


def keyed(cat: SessionCatalog, spark: SparkSession, options: str = "") -> None:
    """Keys: a and b are padded, u and the second b are not."""
    cat.sql(f"CREATE TABLE k (c CHAR(3), v INT) TBLPROPERTIES ('primary-key' = 'c', 'bucket' = '2'{options})")
    cat.sql("INSERT INTO k VALUES ('a', 1), ('b', 2)")
    with unpadded(spark):
        cat.sql("INSERT INTO k VALUES ('u', 3), ('b', 4)")


def stored(tmp_path: Path, table: str = "k") -> list[tuple[Any, ...]]:
    rows = open_table(str(tmp_path / "d.db" / table)).scan().to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=repr)


def shown(cat: SessionCatalog, query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in cat.sql(query).collect()), key=repr)


WAYS = {
    "merged by kind": "",
    "deletion vectors": ", 'deletion-vectors.enabled' = 'true'",
    "input changelog": ", 'changelog-producer' = 'input'",
    "buckets written again": ", 'merge-engine' = 'aggregation', 'fields.v.aggregate-function' = 'last_value'",
}


@pytest.mark.parametrize("way", WAYS)
def test_delete_takes_every_row_that_is_shown(
    cat: SessionCatalog, quick_spark: SparkSession, tmp_path: Path, way: str
) -> None:
    keyed(cat, quick_spark, WAYS[way])
    assert stored(tmp_path) == [("a  ", 1), ("b  ", 2), ("b", 4), ("u", 3)]
    cat.sql("DELETE FROM k WHERE c = 'b'")
    assert stored(tmp_path) == [("a  ", 1), ("u", 3)]
    cat.sql("DELETE FROM k WHERE c = 'u' AND c LIKE 'u %'")
    assert stored(tmp_path) == [("a  ", 1)]


def test_an_update_keeps_the_key_of_the_row(cat: SessionCatalog, quick_spark: SparkSession, tmp_path: Path) -> None:
    keyed(cat, quick_spark)
    (note,) = check_table(str(tmp_path / "d.db" / "k")).notes
    assert note.startswith("the column 'c' CHAR(3) holds texts without the blanks")
    cat.sql("UPDATE k SET v = v + 10 WHERE c IN ('u', 'b ')")
    assert stored(tmp_path) == [("a  ", 1), ("b  ", 12), ("b", 14), ("u", 13)]
    assert shown(cat, "SELECT * FROM k WHERE c = 'b'") == [("b  ", 12), ("b  ", 14)]


def test_a_merge_meets_both_forms_and_inserts_padded_rows(
    cat: SessionCatalog, quick_spark: SparkSession, tmp_path: Path
) -> None:
    keyed(cat, quick_spark)
    cat.sql("CREATE TABLE s (c CHAR(2), v INT)")
    cat.sql("INSERT INTO s VALUES ('b', 20), ('u', 30), ('n', 40)")
    merge = (
        "MERGE INTO k USING s ON k.c = s.c WHEN MATCHED THEN UPDATE SET v = k.v + s.v "
        "WHEN NOT MATCHED THEN INSERT (c, v) VALUES (s.c, s.v)"
    )
    cat.sql(merge)
    assert stored(tmp_path) == [("a  ", 1), ("b  ", 22), ("b", 24), ("n  ", 40), ("u", 33)]
    cat.sql("MERGE INTO k USING s ON k.c = s.c WHEN MATCHED AND s.c = 'b' THEN DELETE")
    assert stored(tmp_path) == [("a  ", 1), ("n  ", 40), ("u", 33)]
    cat.sql("MERGE INTO k USING s ON k.c = s.c WHEN NOT MATCHED BY SOURCE THEN DELETE")
    assert stored(tmp_path) == [("n  ", 40), ("u", 33)]
    with unpadded(quick_spark):
        cat.sql("INSERT INTO s VALUES ('n ', 50)")
    with pytest.raises(DataError, match="several rows of the source match"):
        cat.sql(merge)


def test_a_merge_finds_keys_by_the_texts_of_any_source(
    cat: SessionCatalog, quick_spark: SparkSession, tmp_path: Path
) -> None:
    """Spark pads no column of STRING: a source must have the blanks; bounds of its texts leave out no row."""
    keyed(cat, quick_spark)
    source = quick_spark.createDataFrame([("u", 5), ("u  ", 6), ("a  ", 7)], "c string, v int")
    source.createOrReplaceTempView("texts")
    cat.sql("MERGE INTO k USING texts s ON k.c = s.c WHEN MATCHED THEN UPDATE SET v = s.v")
    assert stored(tmp_path) == [("a  ", 7), ("b  ", 2), ("b", 4), ("u", 6)]


def test_append_tables_keep_the_texts_of_rows_that_are_copied(
    cat: SessionCatalog, quick_spark: SparkSession, tmp_path: Path
) -> None:
    cat.sql("CREATE TABLE k (c CHAR(3), v INT, s STRUCT<x: CHAR(2), y: INT>) PARTITIONED BY (c)")
    cat.sql("INSERT INTO k VALUES ('a', 1, named_struct('x', 'p', 'y', 1))")
    with unpadded(quick_spark):
        cat.sql("INSERT INTO k VALUES ('a', 2, named_struct('x', 'p', 'y', 1)), ('u', 3, NULL)")
    cat.sql("UPDATE k SET v = v + 10 WHERE c = 'a'")
    cat.sql("UPDATE k SET s.y = 2 WHERE c = 'a'")
    was = {"x": "p", "y": 2}
    assert stored(tmp_path) == [("a  ", 11, {"x": "p ", "y": 2}), ("a", 12, was), ("u", 3, None)]
    cat.sql("UPDATE k SET s = named_struct('x', 'q', 'y', 3) WHERE c = 'u'")
    assert stored(tmp_path)[-1] == ("u", 3, {"x": "q ", "y": 3})
    cat.sql("DELETE FROM k WHERE c = 'u'")
    assert stored(tmp_path) == [("a  ", 11, {"x": "p ", "y": 2}), ("a", 12, was)]


def test_a_partition_spec_means_all_forms_of_a_text(
    cat: SessionCatalog, quick_spark: SparkSession, tmp_path: Path
) -> None:
    cat.sql("CREATE TABLE k (c CHAR(3), v INT) PARTITIONED BY (c)")
    cat.sql("INSERT INTO k VALUES ('a', 1), ('b', 2), ('d', 3), ('e', 4)")
    with unpadded(quick_spark):
        cat.sql("INSERT INTO k VALUES ('a', 5), ('b', 6), ('d', 7), ('e', 8)")
    assert shown(cat, "SELECT c, count(*) FROM k GROUP BY c") == [("a  ", 2), ("b  ", 2), ("d  ", 2), ("e  ", 2)]
    cat.sql("INSERT OVERWRITE k PARTITION (c = 'a') VALUES (10)")
    assert stored(tmp_path)[:1] == [("a  ", 10)]
    assert shown(cat, "SELECT v FROM k WHERE c = 'a'") == [(10,)]
    cat.sql("ALTER TABLE k DROP PARTITION (c = 'b')")
    cat.sql("TRUNCATE TABLE k PARTITION (c = 'd  ')")
    assert shown(cat, "SELECT * FROM k") == [("a  ", 10), ("e  ", 4), ("e  ", 8)]
    table = cat["d.k"]
    table.overwrite(quick_spark.createDataFrame([("e", 20)], "c string, v int"), "c = 'e'")
    assert stored(tmp_path) == [("a  ", 10), ("e  ", 20)]
    table.delete("c = 'e'")
    assert stored(tmp_path) == [("a  ", 10)]


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_all_reads_show_the_same_rows(quick_spark: SparkSession, tmp_path: Path, file_format: str) -> None:
    """By Spark's scan, by our source, by this process, of a state, of a change, and of a stream."""
    cat = paimon_spark.catalog(quick_spark, str(tmp_path))
    for text in ("USE paimon", "CREATE DATABASE d", "USE d"):
        cat.sql(text)
    cat.sql(f"CREATE TABLE k (c CHAR(3), v INT, a ARRAY<CHAR(2)>) TBLPROPERTIES ('file.format' = '{file_format}')")
    cat.sql("INSERT INTO k VALUES ('a', 1, array('x')), ('b', 2, NULL)")
    with unpadded(quick_spark):
        cat.sql("INSERT INTO k VALUES ('a', 3, array('x', NULL)), ('c', 4, array())")
    path = str(tmp_path / "d.db" / "k")
    table = PaimonTable.forPath(quick_spark, path)
    source = quick_spark.read.format("paimon").load(path)
    frames = [
        cat.sql("SELECT * FROM k"),
        cat.table("d.k", native=False),
        table.toDF(),
        source,
        quick_spark.read.format("paimon").option("filter", "c <= 'c'").load(path),
        quick_spark.read.format("paimon").option("incremental-between", "0,2").load(path),
    ]
    with setting(quick_spark, spark_paimon_read_local="false"):
        frames.append(cat.sql("SELECT * FROM k"))
    everything = [("a  ", 1, ["x "]), ("a  ", 3, ["x ", None]), ("b  ", 2, None), ("c  ", 4, [])]
    for number, frame in enumerate(frames):
        assert sorted(map(tuple, frame.collect()), key=repr) == everything, number
        assert sorted(row.v for row in frame.where("c = 'a'").collect()) == [1, 3], number
        assert sorted(row.v for row in frame.where(sf.col("c").isin("a", "c ")).collect()) == [1, 3, 4], number
        joined = frame.alias("x").join(source.alias("y"), sf.expr("x.c = y.c AND y.v = 3"))
        assert sorted(row[1] for row in joined.collect()) == [1, 3], number
    rows = stream_rows(quick_spark, path, tmp_path / "stream")
    assert sorted((row.c, row.v, row.a) for row in rows) == sorted(everything)


def stream_rows(spark: SparkSession, path: str, sink: Path) -> list[Row]:
    stream = spark.readStream.format("paimon").load(path).where("c IN ('a', 'b', 'c')")
    writer = stream.writeStream.format("parquet").option("checkpointLocation", str(sink / "checkpoint"))
    writer.trigger(availableNow=True).start(str(sink / "rows")).awaitTermination(120)
    return spark.read.parquet(str(sink / "rows")).collect()


def test_rows_of_all_writers_are_padded(quick_spark: SparkSession, tmp_path: Path) -> None:
    """By SQL, as DataFrames through the data source and the table object, of Arrow, by a stream."""
    cat = paimon_spark.catalog(quick_spark, str(tmp_path))
    for text in ("USE paimon", "CREATE DATABASE d", "USE d"):
        cat.sql(text)
    cat.sql("CREATE TABLE k (c CHAR(3), v INT) TBLPROPERTIES ('primary-key' = 'c', 'bucket' = '-1')")
    path = str(tmp_path / "d.db" / "k")
    rows = quick_spark.createDataFrame([("a", 1), ("b ", 1), ("c     ", 1)], "c string, v int")
    rows.write.format("paimon").mode("append").save(path)
    for number, more in enumerate((rows, rows.toArrow(), rows.toPandas())):
        cat["d.k"].append(more)
        assert stored(tmp_path) == [("a  ", 1), ("b  ", 1), ("c  ", 1)], number
    cat.sql("INSERT INTO k SELECT trim(c), v + 1 FROM k")
    assert stored(tmp_path) == [("a  ", 2), ("b  ", 2), ("c  ", 2)]
    cat.sql("CREATE TABLE copied TBLPROPERTIES ('primary-key' = 'c') AS SELECT * FROM k")
    assert cat.sql("DESCRIBE copied").collect()[0][:2] == ("c", "char(3)")
    back = quick_spark.read.format("paimon").load(path)
    back.write.format("paimon").mode("append").save(str(tmp_path / "d.db" / "saved"))
    cat.sql("INSERT INTO saved VALUES ('q', 9)")
    assert stored(tmp_path, "saved")[-1] == ("q  ", 9)
    stream = quick_spark.readStream.format("paimon").load(path).selectExpr("trim(c) AS c", "v + 10 AS v")
    to_table = stream.writeStream.format("paimon").option("checkpointLocation", str(tmp_path / "ck"))
    to_table.trigger(availableNow=True).start(str(tmp_path / "d.db" / "copied")).awaitTermination(120)
    assert stored(tmp_path, "copied") == [("a  ", 12), ("b  ", 12), ("c  ", 12)]


def test_spark_pads_a_published_table(cat: SessionCatalog, quick_spark: SparkSession) -> None:
    keyed(cat, quick_spark)
    cat.publish("d.k", as_="default.char_published")
    try:
        query = "SELECT v, length(c) FROM default.char_published WHERE c IN ('b', 'u')"
        assert sorted(map(tuple, quick_spark.sql(query).collect())) == [(2, 3), (3, 3), (4, 3)]
    finally:
        quick_spark.sql("DROP VIEW IF EXISTS default.char_published")
        quick_spark.sql("DROP TABLE IF EXISTS default.char_published__paimon_columns")
