"""Parameters of DELETE, UPDATE and MERGE, with and without names."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import paimon_spark
from paimon_spark.errors import SqlError
from paimon_spark.sql.queries.parameters import argument_literal

pytestmark = pytest.mark.spark


def test_conditions_and_values_take_parameters(quick_spark: SparkSession, tmp_path: Path) -> None:
    cat = paimon_spark.catalog(quick_spark, str(tmp_path))
    cat.create_database("d")
    cat.use("d")
    for sql in (
        "CREATE TABLE t (id INT, s STRING, d DATE, n DOUBLE) TBLPROPERTIES ('primary-key' = 'id')",
        "INSERT INTO t VALUES (1, 'a', NULL, 1.0), (2, 'it''s', NULL, 2.0), (3, 'c', NULL, 3.0), (4, 'd', NULL, 4.0)",
    ):
        cat.sql(sql)

    def rows() -> list[tuple[object, ...]]:
        return [tuple(row) for row in cat.sql("SELECT * FROM t ORDER BY id").collect()]

    day = dt.date(2026, 11, 1)
    cat.sql("DELETE FROM t WHERE s = :text AND n IN (SELECT n FROM t WHERE id < :id)", {"text": "it's", "id": 3})
    cat.sql("UPDATE t SET d = ?, s = concat(s, ?), n = n -? WHERE id = ?", [day, "?:x", -1, 3])
    assert rows() == [(1, "a", None, 1.0), (3, "c?:x", day, 4.0), (4, "d", None, 4.0)]
    cat.sql(
        "MERGE INTO t USING (SELECT explode(?) AS id, ? AS s) q ON t.id = q.id AND t.id > ? "
        "WHEN MATCHED AND t.s = ? THEN DELETE WHEN MATCHED THEN UPDATE SET s = concat(q.s, ?) "
        "WHEN NOT MATCHED THEN INSERT (id, n) VALUES (q.id, ?)",
        [[3, 4, 9], "new", 2, "d", "!", 9.5],
    )
    assert rows() == [(1, "a", None, 1.0), (3, "new!", day, 4.0), (9, None, None, 9.5)]
    cat.sql(
        "MERGE INTO t USING (SELECT :id AS id) q ON t.id = q.id WHEN MATCHED THEN UPDATE SET n = :n, d = :d",
        {"id": 1, "n": Decimal("2.50"), "d": None},
    )
    assert rows()[0] == (1, "a", None, 2.5)
    with pytest.raises(SqlError, match="the parameter :nope has no value"):
        cat.sql("DELETE FROM t WHERE id = :nope", {"id": 1})


def test_literals_are_what_spark_makes_of_the_arguments(spark: SparkSession) -> None:
    values = [
        None, True, 5, -(2**31), -(2**31) - 1, 2**63 - 1, 1.5, -1e-300, float("inf"),
        "it's \\ ${spark.app.name} \n :x ?",
        b"\x00\xff", Decimal("-1.50"), Decimal("1E+5"), dt.date(1900, 1, 1), dt.datetime(2026, 7, 1, 12, 0, 0, 5),
        dt.datetime(1969, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=5))),
        dt.timedelta(days=-3, microseconds=7), [1, 2],
    ]  # fmt: skip
    theirs = spark.sql(f"SELECT {', '.join('?' * len(values))}", args=values)
    literals = [argument_literal(value) for value in values]
    ours = spark.range(1).selectExpr(*(str(literal) for literal in literals))
    assert [f.dataType for f in ours.schema] == [f.dataType for f in theirs.schema]
    assert tuple(ours.collect()[0]) == tuple(theirs.collect()[0])
