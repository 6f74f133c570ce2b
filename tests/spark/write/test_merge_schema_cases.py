"""Cases of Java's WriteMergeSchemaTest and V2WriteMergeSchemaTest that are not in test_merge_schema, in our words."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import paimon_spark
from paimon_spark.format.types import all_fields
from paimon_spark.tables.open import open_table

pytestmark = pytest.mark.spark
MERGE = {"write.merge-schema": "true"}
WIDEN = {**MERGE, "write.merge-schema.type-widening": "true"}


def save(rows: DataFrame, path: Path, **options: str) -> None:
    rows.coalesce(1).write.format("paimon").mode("append").options(**options).save(str(path))


def answer(path: Path) -> list[tuple[object, ...]]:
    """The rows of a table, sorted; they are read without Spark."""
    found = open_table(str(path)).scan().to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def types(path: Path) -> dict[str, str]:
    return {field.name: field.type.root.value for field in open_table(str(path)).schema.fields}


NEW = (
    "tinyint(10) as tiny, smallint(1000) as small, 100000 as int, 10000000000L as long, float(1.5) as single, "
    "4.5D as double, cast(7.89 as decimal(10,2)) as dec, date'2023-12-31' as day, "
    "timestamp'2023-12-31 23:59:59' as at, array(4, 5) as l, map('k', 'v') as m, "
    "struct('y' as x, 2 as n) as s, binary('more') as bin, false as flag"
)


def test_columns_of_all_types_are_added(quick_spark: SparkSession, tmp_path: Path) -> None:
    """SQL writes with new columns, and with missing ones; numbers, dates, times, nested types, binary and boolean."""
    cat = paimon_spark.catalog(quick_spark, str(tmp_path))
    for text in ("USE paimon", "CREATE DATABASE d", "USE d"):
        cat.sql(text)
    cat.sql("CREATE TABLE t (a INT, b STRING)")
    cat.sql("INSERT INTO t VALUES (1, '1')")
    path = tmp_path / "d.db/t"
    with pytest.raises(Exception, match="tiny is no column of the table"):
        cat.sql(f"INSERT INTO t BY NAME SELECT 3 AS a, '3' AS b, {NEW}")
    quick_spark.conf.set("spark.paimon.write.merge-schema", "true")
    try:
        cat.sql(f"INSERT INTO t BY NAME SELECT 3 AS a, '3' AS b, {NEW}")
        cat.sql(f"INSERT INTO t BY NAME SELECT '4' AS more, '4' AS B, {NEW.upper()}")
    finally:
        quick_spark.conf.unset("spark.paimon.write.merge-schema")
    values = cat.sql("SELECT * FROM t WHERE a = 3").first()
    assert values is not None
    assert tuple(values)[2:] == (
        10, 1000, 100_000, 10_000_000_000, 1.5, 4.5, Decimal("7.89"), dt.date(2023, 12, 31),
        dt.datetime(2023, 12, 31, 23, 59, 59), [4, 5], {"k": "v"}, ("y", 2), b"more", False, None,
    )  # fmt: skip
    assert list(types(path).values()) == [
        "INT", "VARCHAR", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "DATE", "TIMESTAMP_LTZ",
        "ARRAY", "MAP", "ROW", "VARBINARY", "BOOLEAN", "VARCHAR",
    ]  # fmt: skip
    assert all(field.type.nullable for field in all_fields(open_table(str(path)).schema.fields))
    first, second, third = answer(path)
    assert (first[:3], second[0], third[:2], third[-1]) == ((1, "1", None), 3, (None, "4"), "4")
    assert len(list((path / "schema").iterdir())) == 3


def test_fields_of_structs_meet_by_their_names(quick_spark: SparkSession, tmp_path: Path) -> None:
    """Nested structs with new, missing and moved fields, in any letter case, deep down, with a wider type, and in
    arrays; a new column beside them."""
    spark, path = quick_spark, tmp_path / "t"
    item = "array(struct(1L as p, array(struct(1L as port)) as many)) as items"
    save(spark.sql(f"select 1 as id, struct(struct('a' as c1, 'b' as c2, 1 as n) as r) as s, {item}"), path)
    save(spark.sql("select 2 as ID, struct(struct('c' as C1, 'new' as c3, 'd' as c2) as R) as s"), path, **MERGE)
    item = "array(struct(array(struct(3 as port)) as many, 3 as p)) as items"
    save(
        spark.sql(f"select 3 as id, struct(struct('z' as c3, 'y' as c2) as r) as s, 'top' as extra, {item}"),
        path,
        **MERGE,
    )
    save(spark.sql("select 4 as id, struct(struct(5000000000L as n, 'x' as c4) as r) as s"), path, **WIDEN)
    item = "array(struct(array(struct(5L as PORT, 't' as name)) as many)) as items"
    save(spark.sql(f"select 5 as id, {item}"), path, **MERGE)

    def r(c1: str | None, c2: str | None, n: int | None, c3: str | None = None, c4: str | None = None) -> object:
        return {"r": {"c1": c1, "c2": c2, "n": n, "c3": c3, "c4": c4}}

    def items(p: int | None, port: int, name: str | None = None) -> object:
        return [{"p": p, "many": [{"port": port, "name": name}]}]

    assert answer(path) == [
        (1, r("a", "b", 1), items(1, 1), None),
        (2, r("c", "d", None, "new"), None, None),
        (3, r(None, "y", None, "z"), items(3, 3), "top"),
        (4, r(None, None, 5_000_000_000, None, "x"), None, None),
        (5, None, items(None, 5, "t"), None),
    ]


def test_wider_rows_are_stored_in_the_type_of_the_column(quick_spark: SparkSession, tmp_path: Path) -> None:
    """INT to BIGINT keeps target type; only case differs; repeated writes with alternating case."""
    path = tmp_path / "t"
    save(quick_spark.sql("select 1 as id, 100 as value"), path)
    for number, names in enumerate((("ID", "Value"), ("Id", "vAlue"), ("iD", "VALUE")), 2):
        save(quick_spark.sql(f"select {number} as {names[0]}, {number}00L as {names[1]}"), path, **MERGE)
    assert answer(path) == [(1, 100), (2, 200), (3, 300), (4, 400)]
    assert types(path) == {"id": "INT", "value": "INT"}
    assert len(list((path / "schema").iterdir())) == 1


def test_a_multiset_stays_one(quick_spark: SparkSession, tmp_path: Path) -> None:
    """testMergeMultisetTypes: Spark shows MULTISET<T> as MAP<T, INT>, and its rows are written back."""
    made = paimon_spark.PaimonTable.create(quick_spark).location(str(tmp_path / "t"))
    table = made.addColumn("id", "INT").addColumn("m", "MULTISET<STRING>").execute()
    table.append(quick_spark.sql("select 1 as id, map('x', 2) as m"), WIDEN)
    table.append(table.toDF().selectExpr("*", "'new' as more"), WIDEN)
    assert types(tmp_path / "t") == {"id": "INT", "m": "MULTISET", "more": "VARCHAR"}
    assert sorted(tuple(row) for row in table.toDF().selectExpr("id", "m", "more").collect() if row.more) == [
        (1, {"x": 2}, "new")
    ]


def test_keys_keep_their_types(quick_spark: SparkSession, tmp_path: Path) -> None:
    """Schema evolution of a table with keys: Java widens a key too, and then finds negative keys in other buckets."""
    path = tmp_path / "t"
    save(quick_spark.sql("select 1 as id, 1 as v"), path, **{"primary-key": "id", "bucket": "2"})
    save(quick_spark.sql("select 2 as id, 5000000000L as v"), path, **WIDEN)
    with pytest.raises(Exception, match="'id' is a column of the primary key"):
        save(quick_spark.sql("select 3L as id, 3 as v"), path, **WIDEN)
    save(quick_spark.sql("select 3L as id, 3 as v"), path, **MERGE)
    assert answer(path) == [(1, 1), (2, 5_000_000_000), (3, 3)]
