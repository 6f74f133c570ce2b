"""Random operations on a DataFrame of a table, and the same on one of a parquet copy: Spark's own rows, or its error.

A number is a seed. All state of a chain is what a user could hold: some of its DataFrames stay alive, others do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import paimon_spark
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

TABLE = "w.chained"
_COPY = "copy"
Step: TypeAlias = Callable[[DataFrame, DataFrame], DataFrame]
"""Makes a DataFrame of one, and of the first one of the chain."""
Start: TypeAlias = Callable[[], DataFrame]

CONDITIONS = (
    "id = 7", "id IN (3, 17, 290)", "id >= 30 AND n < 5", "p = 'b'", "p = 'a' OR n = 3", "n IS NULL", "v > 5 -- much",
    "v = 'NaN'", "`order day` >= DATE '2026-01-20'", "at < '2026-01-02 03:00:00'", "st.id = 4", "chained.id = 4",
    "upper(s) = 'S3'", "NOT (p = 'a')", "id = 5) OR (id = 6", "nope = 1", "s = 'id'", "true", "n % 3 = 1 AND p <> 'c'",
)  # fmt: skip
COLUMNS: tuple[Callable[[], Any], ...] = (
    lambda: F.col("id") == 7,
    lambda: F.col("ID").isin(3, 17, 290),
    lambda: F.col("n") == F.lit("3"),
    lambda: (F.col("id") == 7) | (F.col("p") == "b"),
    lambda: F.col("s") == "s3",
    lambda: F.col("v") == 3,
    lambda: F.lit("n") > F.lit("3"),
    lambda: F.lit(True),
    lambda: F.expr("id = 7 OR n = 2"),
    lambda: F.col("st.id") == 4,
)
LISTS: tuple[tuple[Any, ...], ...] = (
    ("id", "n"), ("*",), ("N", "id", "p"), ("order day", "id"), ("`order day`", "id"), ("st.id", "n"), ("nope",),
)  # fmt: skip
EXPRESSIONS: tuple[Callable[[], tuple[Any, ...]], ...] = (
    lambda: ("id", F.lit("n").alias("n")),
    lambda: ("id", (F.col("n") + 1).alias("n"), "p"),
    lambda: ("id", F.col("*")),
    lambda: (F.col("s").alias("id"), "n"),
    lambda: (F.max("id").alias("id"),),
    lambda: ("id", F.explode(F.array(F.lit(1), F.col("n"))).alias("n")),
    lambda: (F.struct("*").alias("st"), "id"),
    lambda: ("id", F.upper("s"), F.expr("v * 2 AS v")),
)


def _steps(random: Random) -> dict[str, Step]:
    text, column = random.choice(CONDITIONS), random.choice(COLUMNS)
    names, made, number = random.choice(LISTS), random.choice(EXPRESSIONS), random.randrange(1, 30)
    order = random.choice([("id",), ("n", "id"), (F.col("id").desc(),), (F.desc_nulls_first("n"), "id")])
    return {
        f"where {text}": lambda f, _: f.where(text),
        f"filter {column()}": lambda f, _: f.filter(column()),
        f"[column {column()}]": lambda f, _: f[column()],
        f"select {names}": lambda f, _: f.select(*names),
        f"select {made()}": lambda f, _: f.select(*made()),
        "selectExpr": lambda f, _: f.selectExpr("id", "n AS p", "p AS n"),
        "drop": lambda f, _: f.drop("s", "v", "nope"),
        "drop id": lambda f, _: f.drop("id"),
        f"least {number} by {order}": lambda f, _: f.orderBy(*order).limit(number),
        f"last {number}": lambda f, _: f.sort(*_keys(f), ascending=False).limit(number),
        "withColumn": lambda f, _: f.withColumn("n", F.col("id") % 5),
        "renamed": lambda f, _: f.withColumnRenamed("n", "m"),
        "distinct": lambda f, _: f.distinct(),
        "grouped": lambda f, _: f.groupBy("p").agg(F.count("*").alias("n"), F.max("id").alias("id")),
        "joined": lambda f, _: f.join(f, "id", "left_semi"),
        "joined with the first": lambda f, first: f.join(first.select("id", F.col("n").alias("k")), "id"),
        "joined by columns": lambda f, first: f.join(first.where("n > 3"), f["id"] == first["id"], "left_semi"),
        "column of the first": lambda f, first: f.where(first["id"] > 3),
        "own column": lambda f, _: f.where(f.id > 3).select("id", f["n"]),
        "union": lambda f, _: f.union(f.where("id < 20")),
        "alias": lambda f, _: f.alias("x").where("x.id < 300"),
        "cache": lambda f, _: f.cache(),
        "view": lambda f, _: _of_view(f),
        "in sql": lambda f, _: f.sparkSession.sql("SELECT * FROM {rows} WHERE id < 100", rows=f),
    }


def _keys(frame: DataFrame) -> list[Column]:
    """What orders the rows: the key, where `st` is there too, for a column `id` without it may be that of `st`."""
    return [F.col("id")] if "st" in frame.columns else [F.col(f"`{name}`") for name in frame.columns]


def _of_view(frame: DataFrame) -> DataFrame:
    frame.createOrReplaceTempView("chained_view")
    return frame.sparkSession.sql("SELECT * FROM chained_view")


def make_tables(spark: SparkSession, lake: Path) -> SessionCatalog:
    """A table of which files must be merged, and a copy of its rows."""
    catalog = paimon_spark.catalog(spark, str(lake))
    catalog.create_database("w", ignore_if_exists=True)
    catalog.sql(
        f"CREATE TABLE {TABLE} (id BIGINT, p STRING, n INT, v DOUBLE, s STRING, `order day` DATE, at TIMESTAMP, "
        "st STRUCT<id: INT, x: STRING>) PARTITIONED BY (p) "
        "TBLPROPERTIES ('primary-key' = 'id, p', 'bucket' = '1', 'write-only' = 'true')"
    )
    rows = spark.range(300).selectExpr(
        "id",
        "element_at(array('a', 'b', 'c'), CAST(id % 3 AS INT) + 1) AS p",
        "CASE WHEN id % 11 <> 0 THEN CAST(id % 7 AS INT) END AS n",
        "CASE WHEN id % 13 = 0 THEN CAST('NaN' AS DOUBLE) ELSE id / 3 END AS v",
        "CASE WHEN id % 5 <> 0 THEN concat('s', id % 9) END AS s",
        "date_add(DATE '2026-01-01', CAST(id % 40 AS INT)) AS `order day`",
        "timestamp_seconds(1767225600 + 600 * id) AS at",
        "named_struct('id', CAST(id % 6 AS INT), 'x', 'x') AS st",
    )
    catalog[TABLE].append(rows.where("id < 240"))
    catalog[TABLE].append(rows.where("id % 4 = 0 OR id >= 240"))
    rows.write.mode("overwrite").parquet(f"{lake}/{_COPY}")
    return catalog


def check_chain(spark: SparkSession, mine: Start, lake: Path, seed: int, name: str | None = None) -> str:
    """Does random operations on both DataFrames.

    Args:
        mine: makes the DataFrame of the table.
        lake: has the copy.
        name: which columns of the DataFrame have in front; None: none.

    Returns:
        "rows" or "error": what came of it.

    Raises:
        AssertionError: the results differ.
    """
    random = Random(seed)
    steps = [random.choice(list(_steps(random).items())) for _ in range(random.randrange(1, 6))]
    looks = [random.choice([None, None, "count", "columns", "collect"]) for _ in steps]
    holds = random.choice([True, False])

    def copy() -> DataFrame:
        rows = spark.read.parquet(f"{lake}/{_COPY}")
        return rows if name is None else rows.alias(name)

    found, expected = (_outcome(start, steps, looks, holds) for start in (mine, copy))
    assert found == expected, f"chain {seed}, {[text for text, _ in steps]}, {looks}: {found} instead of {expected}"
    return "error" if isinstance(found, str) else "rows"


def _outcome(first: Start, steps: list[tuple[str, Step]], looks: list[str | None], holds: bool) -> object:
    """What comes of the steps. holds: whether the first DataFrame and those between stay alive."""
    start: DataFrame | None = first()
    frame, held, seen = start, list[DataFrame | None](), list[object]()
    assert frame is not None
    if holds or any(_looks_back(name) for name, _ in steps):
        held.append(start)
    else:
        start = None
    try:
        for (_, step), look in zip(steps, looks, strict=True):
            frame = step(frame, start or frame)
            assert isinstance(frame, DataFrame)
            if holds:
                held.append(frame)
            if look == "count":
                seen.append(frame.count())
            elif look == "columns":
                seen.append(frame.columns)
            elif look == "collect":
                seen.append(_rows(frame))
        return seen, frame.dtypes, frame.count(), _rows(frame)
    except PySparkException as error:
        return str(error.getCondition())


def _looks_back(name: str) -> bool:
    return "first" in name or "by columns" in name


def _rows(frame: DataFrame) -> list[str]:
    return sorted(
        repr(tuple("NaN" if isinstance(v, float) and math.isnan(v) else v for v in r)) for r in frame.collect()
    )
