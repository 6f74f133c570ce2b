"""The names of the two sides of a MERGE in its expressions."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from paimon_spark import PaimonTable
from paimon_spark.errors import DataError, SqlError

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("options", [{}, {"primary-key": "id", "bucket": "1"}], ids=["append", "keyed"])
def test_a_side_of_a_merge_may_be_called_as_a_column(
    quick_spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    """The name of a side before a point comes first, as in a join of Spark; Columns tell it as texts do."""
    schema = "id bigint, v bigint, p string"
    old = quick_spark.createDataFrame([(1, 10, "a"), (2, 20, "b")], schema)
    old.write.format("paimon").mode("append").options(**options).save(str(tmp_path / "t"))
    table = PaimonTable.forPath(quick_spark, str(tmp_path / "t"))
    new = quick_spark.createDataFrame([(1, 1, "x"), (9, 9, "y")], schema)
    same, changed = sf.col("t.id") == sf.col("p.id"), {"v": sf.col("p.v") + sf.col("t.v"), "p": sf.col("p.p")}
    merge = table.alias("t").merge(new.alias("p"), same)
    assert merge.whenNotMatchedInsertAll().execute().rows_inserted == 1
    merge.whenMatchedUpdate(sf.col("p.v") == 1, changed).execute()
    merge = table.alias("V").merge(new.alias("my.p"), sf.col("V.id") == sf.col("`my.p`.id"))
    merge.whenMatchedUpdate(sf.col("V.v") == 9, {"p": sf.concat(sf.col("V.p"), sf.lit("t.p"))}).execute()
    assert sorted(tuple(row) for row in table.toDF().collect()) == [(1, 11, "x"), (2, 20, "b"), (9, 9, "yt.p")]
    struct = "id bigint, v bigint, q struct<id: bigint, v: bigint, q: string>"
    whole = quick_spark.createDataFrame([(9, 3, (5, 7, "z"))], struct)
    table.alias("t").merge(whole, "t.id = source.id").whenMatchedUpdate(set={"v": "q.v", "p": "q.q"}).execute()
    assert tuple(table.toDF().where("id = 9").first() or ()) == (9, 7, "z")


@pytest.mark.parametrize("options", [{}, {"primary-key": "id", "bucket": "1"}], ids=["append", "keyed"])
def test_a_column_that_the_source_lacks_is_not_looked_for_in_a_struct_of_its_name(
    quick_spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    old = quick_spark.sql("SELECT 1 AS id, 10 AS v, named_struct('a', 1, 'b', 2) AS s")
    old.write.format("paimon").mode("append").options(**options).save(str(tmp_path / "t"))
    table = PaimonTable.forPath(quick_spark, str(tmp_path / "t"))
    new = quick_spark.sql("SELECT 1 AS id, 2 AS y").alias("s")
    told = "x is neither a column of s, which has id, y, nor a field of the column s, which has a, b; correct the name"
    for condition, when, value in (
        ("t.id = s.x", None, "s.y"),
        ("t.id = s.id", "s.x > 1", "s.y"),
        ("t.id = s.id", None, "s.x"),
    ):
        with pytest.raises(SqlError, match=told):
            table.alias("t").merge(new, condition).whenMatchedUpdate(when, {"v": value}).execute()
    with pytest.raises(AnalysisException, match=r"`s`\.`x` cannot be resolved"):
        table.alias("t").merge(new, "t.id = s.id").whenNotMatchedInsert(values={"id": "s.x"}).execute()
    table.alias("t").merge(new, "t.id = s.id").whenMatchedUpdate(set={"v": "s.a + s.y"}).execute()
    assert [row.v for row in table.toDF().collect()] == [3]


@pytest.mark.parametrize("options", [{}, {"primary-key": "id", "bucket": "1"}], ids=["append", "keyed"])
@pytest.mark.parametrize(("own", "theirs"), [("t", "t"), ("t", "T"), (None, "target")])
def test_sides_of_one_name_are_refused(
    quick_spark: SparkSession, tmp_path: Path, options: dict[str, str], own: str | None, theirs: str
) -> None:
    """Every name would mean the table: ``t.id = t.id`` is true of all its rows."""
    old = quick_spark.createDataFrame([(1, "x"), (2, "y")], "id int, s string")
    old.write.format("paimon").mode("append").options(**options).save(str(tmp_path / "t"))
    table = PaimonTable.forPath(quick_spark, str(tmp_path / "t"))
    table = table if own is None else table.alias(own)
    new = quick_spark.createDataFrame([(99, "new")], "id int, s string").alias(theirs)
    side = own or "target"
    merge = table.merge(new, f"{side}.id = {side}.id")
    with pytest.raises(SqlError, match=rf"the table and the source are both called {side}.*source\.alias"):
        merge.whenMatchedDelete().execute()
    with pytest.raises(SqlError, match="are both called"):
        table.merge(new, sf.col(f"{side}.id") == 99).whenMatchedUpdate(set={"s": f"{theirs}.s"}).execute()
    assert table.toDF().count() == 2


def test_one_row_of_the_source_may_match_several_keys_that_are_equal(quick_spark: SparkSession, tmp_path: Path) -> None:
    """0.0 and -0.0 are two keys: one row of the source changes both, two of them are too many."""
    path = str(tmp_path / "t")
    old = quick_spark.sql("SELECT * FROM VALUES (0.0d, 1), (-0.0d, 2), (1.0d, 3) AS v(id, v)")
    old.write.format("paimon").mode("append").options(**{"primary-key": "id", "bucket": "1"}).save(path)
    table = PaimonTable.forPath(quick_spark, path).alias("t")
    new = quick_spark.sql("SELECT -0.0d AS id, 9 AS v").alias("s")

    def rows() -> list[tuple[str, int]]:
        return sorted((str(row.id), row.v) for row in table.toDF().collect())

    table.merge(new, "t.id = s.id").whenMatchedUpdate(set={"v": "t.v + s.v"}).execute()
    assert rows() == [("-0.0", 11), ("0.0", 10), ("1.0", 3)]
    table.merge(new, "t.v > s.v").whenMatchedUpdate(set={"v": "t.v - s.v"}).execute()
    assert rows() == [("-0.0", 2), ("0.0", 1), ("1.0", 3)]
    two = quick_spark.sql("SELECT explode(array(-0.0d, 0.0d)) AS id, 9 AS v").alias("s")
    for condition in ("t.id = s.id", "t.v < s.v"):
        with pytest.raises(DataError, match="several rows of the source match"):
            table.merge(two, condition).whenMatchedUpdate(set={"v": "s.v"}).execute()
    table.merge(two, "t.id = s.id").whenMatchedDelete().execute()
    assert rows() == [("1.0", 3)]
