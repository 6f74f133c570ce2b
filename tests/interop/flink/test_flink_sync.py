"""Tables as CDC jobs of Flink make them, with comments, computed columns, a watermark and names in upper case: `sync`
writes them on, their schema follows the messages, and Flink reads its own columns and the new ones.

The artifact ``paimon-flink-cdc`` of release 2.0.0 is not on Maven Central, so Flink SQL makes the tables; what the job
would add itself, a column that it computes from others, is a plain column here, which the messages fill.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from flink_session import FlinkSession
from pyspark.sql import DataFrame, SparkSession
from support.oracles.checker import check_table

from paimon_spark import PaimonTable, open_table

pytestmark = [pytest.mark.interop, pytest.mark.spark]

CREATED = """CREATE TABLE d.`CDC_ORDERS` (
  `ID` INT COMMENT 'of the shop', `Total` DECIMAL(10, 2) NOT NULL COMMENT 'with tax', `made` TIMESTAMP(3),
  `twice` AS `Total` * 2, `day` AS DATE_FORMAT(`made`, 'yyyy-MM-dd'),
  WATERMARK FOR `made` AS `made` - INTERVAL '5' SECOND, PRIMARY KEY (`ID`) NOT ENFORCED
) COMMENT 'orders of the shop' WITH ('bucket' = '2', 'changelog-producer' = 'input')"""


def changes(spark: SparkSession, *values: dict[str, Any]) -> DataFrame:
    source = {"db": "shop", "table": "CDC_ORDERS", "ts_ms": 1767225600000}
    given = [(json.dumps({**value, "source": source}), 0, place) for place, value in enumerate(values)]
    return spark.createDataFrame(given, "value STRING, partition INT, offset BIGINT")


def put(key: int, **columns: Any) -> dict[str, Any]:
    return {"op": "c", "before": None, "after": {"ID": key, **columns}}


def _of_flink(flink: FlinkSession, columns: str) -> list[tuple[str | None, ...]]:
    return sorted(row for _, row in flink.sql(f"SELECT {columns} FROM d.`CDC_ORDERS`"))


def test_a_table_of_a_cdc_job(flink: FlinkSession, flink_warehouse: Path, spark: SparkSession) -> None:
    flink.sql(CREATED)
    flink.sql(
        "INSERT INTO d.`CDC_ORDERS` VALUES (1, 9.5, TIMESTAMP '2026-01-01 10:00:00'), "
        "(2, 1.25, CAST(NULL AS TIMESTAMP(3)))"
    )
    path = str(flink_warehouse / "d.db" / "CDC_ORDERS")
    before = open_table(path)
    table = PaimonTable.forPath(spark, path)
    table.sync(
        changes(
            spark,
            put(1, Total="7.00", made="2026-01-02 11:30:00"),
            {"op": "d", "before": {"ID": 2, "Total": "1.25"}, "after": None},
            put(3, Total="3.50", Note="é", made="2026-01-03 00:00:00"),
        ),
        "debezium-json",
    )
    assert _of_flink(flink, "`ID`, `Total`, `twice`, `day`, `Note`") == [
        ("1", "7.00", "14.00", "2026-01-02", None),
        ("3", "3.50", "7.00", "2026-01-03", "é"),
    ]
    after = open_table(path)
    assert after.schema.comment == "orders of the shop"
    assert {field.name: field.description for field in after.schema.fields}["ID"] == "of the shop"
    kept = {key: value for key, value in before.schema.options.items() if key.startswith("schema.")}
    assert kept
    assert {key: after.schema.options.get(key) for key in kept} == kept
    flink.sql("INSERT INTO d.`CDC_ORDERS` VALUES (3, 4.0, TIMESTAMP '2026-01-04 00:00:00', 'of Flink')")
    table.sync(changes(spark, put(4, Total="1.00", made=None, Note=None)), "debezium-json")
    expected = [(1, "7.00", None), (3, "4.00", "of Flink"), (4, "1.00", None)]
    rows = open_table(path).scan().to_arrow().to_pylist()
    assert sorted((row["ID"], str(row["Total"]), row["Note"]) for row in rows) == expected
    assert _of_flink(flink, "`ID`, `Total`, `Note`") == [(str(key), *rest) for key, *rest in expected]
    check_table(path)
