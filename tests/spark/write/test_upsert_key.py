"""Appends to tables without a primary key that have `upsert-key`."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.oracles.checker import check_table

import paimon_spark
from paimon_spark import PaimonTable, create_table, open_table
from paimon_spark.errors import DataError, SchemaError, UnsupportedFeature

Row = tuple[int | None, int | None, int | None, int | None, str]
COLUMNS = {"k1": "INT", "k2": "INT", "s1": "INT", "s2": "INT", "v": "STRING"}
SCHEMA = "k1 int, k2 int, s1 int, s2 int, v string"
KINDS: dict[str, dict[str, str]] = {
    "rewritten files": {},
    "vectors": {"deletion-vectors.enabled": "true"},
    "row tracking": {"row-tracking.enabled": "true"},
}


def rows_of(path: str) -> list[Any]:
    return sorted((tuple(row.values()) for row in open_table(path).scan().to_arrow().to_pylist()), key=str)


def is_newer(new: Row, old: Row) -> bool:
    """The rule of the official writer: each column of the sequence by itself; NULL is not newer."""
    return all(o is not None and n is not None and o <= n for o, n in zip(old[2:4], new[2:4], strict=True))


def test_the_example_of_the_official_documentation(spark: SparkSession, tmp_path: Path) -> None:
    cat = paimon_spark.catalog(spark, str(tmp_path), name="upserts")
    cat.sql("CREATE DATABASE upserts.db")
    cat.sql(
        "CREATE TABLE upserts.db.t (k1 INT, k2 INT, ts1 INT, ts2 INT, v STRING) "
        "TBLPROPERTIES ('upsert-key' = 'k1,k2', 'sequence.field' = 'ts1,ts2')"
    )
    cat.sql(
        "INSERT INTO upserts.db.t VALUES (null, null, 2, 1, 'v1'), (null, null, 2, 2, 'v4'), (1, null, 1, 1, 'v1'), "
        "(1, 2, 1, 1, 'v1'), (1, 2, 2, 1, 'v2')"
    )
    first = [(1, 2, 2, 1, "v2"), (1, None, 1, 1, "v1"), (None, None, 2, 2, "v4")]
    assert rows_of(f"{tmp_path}/db.db/t") == first
    cat.sql(
        "INSERT INTO upserts.db.t VALUES (null, null, 2, 1, 'v5'), (null, 1, 1, 1, 'v1'), (1, null, 2, 1, 'v2'), "
        "(1, 1, 1, 1, 'v1'), (1, 2, 2, 0, 'v3')"
    )
    assert rows_of(f"{tmp_path}/db.db/t") == sorted(
        [
            (None, None, 2, 2, "v4"),
            (None, 1, 1, 1, "v1"),
            (1, None, 2, 1, "v2"),
            (1, 1, 1, 1, "v1"),
            (1, 2, 2, 1, "v2"),
        ],
        key=str,
    )
    cat.sql("INSERT OVERWRITE upserts.db.t VALUES (7, 7, 0, 0, 'all')")
    assert rows_of(f"{tmp_path}/db.db/t") == [(7, 7, 0, 0, "all")]


@pytest.mark.parametrize("kind", KINDS)
def test_any_appends_are_what_a_dictionary_holds(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    draw, model = Random(kind), dict[Any, Row]()
    options = {"upsert-key": "k1, k2", "sequence.field": "s1,s2", **KINDS[kind]}
    path = create_table(f"{tmp_path}/t", COLUMNS, partition_keys="k2", options=options).location
    table = PaimonTable.forPath(spark, path)
    for turn in range(3):
        keys = draw.sample([(a, b) for a in (None, 1, 2, 3) for b in (None, 1, 2)], 6)
        rows: list[Row] = [(*key, draw.randrange(3), draw.choice([0, 1, None]), f"{turn}") for key in keys]
        table.append(spark.createDataFrame(rows, SCHEMA))
        for row in rows:
            if row[:2] not in model or is_newer(row, model[row[:2]]):
                model[row[:2]] = row
        assert rows_of(path) == sorted(model.values(), key=str)
    check_table(path)


def test_without_a_sequence_two_new_rows_of_a_key_are_an_error(spark: SparkSession, tmp_path: Path) -> None:
    path = create_table(f"{tmp_path}/t", COLUMNS, options={"upsert-key": "k1"}).location
    table = PaimonTable.forPath(spark, path)
    one = spark.createDataFrame([(1, 0, 0, 0, "a")], SCHEMA)
    result = table.append(one, once=("job", 1))
    assert (result.rows, result.repeated) == (1, False)
    assert table.append(one, once=("job", 1)).repeated
    with pytest.raises(DataError, match="match"):
        table.append(one.union(one.selectExpr("k1", "k2", "s1", "s2", "'b' v")))
    table.append(one.selectExpr("k1", "k2", "s1", "s2", "'c' v"))
    assert rows_of(path) == [(1, 0, 0, 0, "c")]


def test_who_does_not_look_for_rows_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = create_table(f"{tmp_path}/t", COLUMNS, options={"upsert-key": "k1"})
    row = spark.createDataFrame([(1, 0, 0, 0, "a")], SCHEMA)
    message = "would not find the rows with the same k1"
    with pytest.raises(Exception, match=message):
        row.write.format("paimon").mode("append").save(table.location)
    with pytest.raises(UnsupportedFeature, match=message):
        table.append([{"k1": 1, "k2": 0, "s1": 0, "s2": 0, "v": "a"}])
    stream = spark.readStream.format("rate").load().selectExpr("1 k1", "0 k2", "0 s1", "0 s2", "'a' v")
    writer = stream.writeStream.format("paimon").option("checkpointLocation", f"{tmp_path}/ck")
    with pytest.raises(Exception, match=message):
        writer.start(table.location).processAllAvailable()
    assert rows_of(table.location) == []
    row.write.format("paimon").mode("overwrite").save(table.location)
    row.write.format("paimon").mode("append").option("upsert-key", "").save(table.location)
    assert rows_of(table.location) == [(1, 0, 0, 0, "a")] * 2


@pytest.mark.parametrize(
    ("keys", "key", "message"),
    [("k1", "k2", "is for tables without a primary key"), ((), "x", "'x', which is not a column"),
     ((), "k1,k1", "twice"), ((), "m", "take columns of plain values")],
)  # fmt: skip
def test_keys_that_no_table_can_have(keys: str, key: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=message):
        create_table(f"{tmp_path}/t", {**COLUMNS, "m": "MAP<STRING, INT>"}, keys, options={"upsert-key": key})
