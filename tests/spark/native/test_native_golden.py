"""Genuine tables at all their snapshots: Spark's own scan and our reader have the same rows.

CI looks at every fourth table, and each run at others; ``PAIMON_LONG=1`` at all.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from support.long_runs import CI_SHARE, LONG, draws
from support.oracles.comparing import comparable
from support.tables.golden_tables import GoldenTable, readable_tables

from paimon_spark import open_table
from paimon_spark.arrow.conform import conform_batch
from paimon_spark.format.types import DataType, Root
from paimon_spark.spark.adapters.batches import spark_arrow_schema
from paimon_spark.spark.native.read_table import ReadRequest, read_table

TABLES = [t for t in readable_tables() if t.name != "variant"]  # PySpark's toArrow fails on a NULL of that type
SHARE = TABLES if LONG else draws().sample(TABLES, len(TABLES) // CI_SHARE)


@pytest.mark.parametrize("table", SHARE, ids=str)
def test_native_rows_are_ours_at_all_snapshots(table: GoldenTable, unpadded: SparkSession, tmp_path: Path) -> None:
    path = str(table.unpack(tmp_path))
    for number in open_table(path).snapshots.ids():
        then = {"scan.snapshot-id": str(number)}
        fields = open_table(path, then).schema.fields
        plain = tuple(f.name for f in fields if may_be_native(f.type))
        for columns in {tuple(f.name for f in fields), plain}:
            made = read_table(unpadded, ReadRequest(path, then, columns))
            if not made.explanation.native_files:
                continue  # our source alone: test_golden_spark
            assert made.explanation.snapshot is not None
            assert made.explanation.snapshot.id == number
            mine = open_table(path, then).scan(columns).to_arrow()
            as_shown = spark_arrow_schema(made.frame.schema)
            batches = [conform_batch(batch, as_shown) for batch in mine.to_batches()]
            assert comparable(made.frame.toArrow()) == comparable(pa.Table.from_batches(batches, as_shown))


def may_be_native(t: DataType) -> bool:
    parts = [part for part in (t.element, t.key) if part is not None] + [field.type for field in t.fields]
    fine = t.root in (Root.TIMESTAMP, Root.TIMESTAMP_LTZ) and (t.precision or 0) > 6
    return t.root not in (Root.TIME, Root.MULTISET) and not fine and all(map(may_be_native, parts))
