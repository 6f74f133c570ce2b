"""Statistics that this process counts itself: every type, nulls, NaN, merged rows; the error of estimates."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
from support.tables.commit_states import latest
from support.tables.compacting import make, write

from paimon_spark.format.table_statistics import ColumnStatistics
from paimon_spark.store.upkeep.count_columns import count_columns
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema(
    [
        pa.field("k", pa.int32(), nullable=False),
        ("s", pa.string()),
        ("b", pa.binary()),
        ("f", pa.float64()),
        ("d", pa.decimal128(10, 2)),
        ("flag", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us")),
        ("none", pa.int64()),
    ]
)


def test_every_type(tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], {})
    write(table, [(1, "old", b"", 0.0, Decimal("9.99"), True, date(1990, 1, 1), datetime(1990, 1, 1), None)])
    write(table, [
        (1, "äää", b"1234", math.nan, Decimal("1.50"), True, date(2020, 1, 2), datetime(2020, 1, 2, 3, 4, 5, 6), None),
        (2, "", b"1", -1.5, Decimal("-2.25"), True, date(1969, 12, 31), datetime(1969, 12, 31, 23, 59, 59), None),
        (3, None, None, None, None, None, None, None, None),
    ])  # fmt: skip
    rows, found = count_columns(open_table(table.location), latest(table), table.schema.fields)
    assert (rows, found) == (3, {
        "k": ColumnStatistics(0, 3, "1", "3", 0, 4, 4),
        "s": ColumnStatistics(1, 2, None, None, 1, 2, 3),
        "b": ColumnStatistics(2, 2, None, None, 1, 3, 4),
        "f": ColumnStatistics(3, 2, "-1.5", "NaN", 1, 8, 8),
        "d": ColumnStatistics(4, 2, "-2.25", "1.50", 1, 8, 8),
        "flag": ColumnStatistics(5, 1, "true", "true", 1, 1, 1),
        "day": ColumnStatistics(6, 2, "-1", "18263", 1, 4, 4),
        "at": ColumnStatistics(7, 2, "1969-12-31 23:59:59.000000", "2020-01-02 03:04:05.000006", 1, 8, 8),
        "none": ColumnStatistics(8, 0, None, None, 3, 8, 8),
    })  # fmt: skip


def test_no_column_and_no_rows(tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], {})
    write(table, [(1, *[None] * 8)])
    assert count_columns(table, latest(table), ()) == (1, {})
    write(table, [(1, *[None] * 8)], ["-D"])
    rows, found = count_columns(table, latest(table), table.schema.fields[:2])
    assert (rows, found["s"]) == (0, ColumnStatistics(1, 0, None, None, 0, 20, 20))


def test_many_distinct_values_are_estimated(tmp_path: Path) -> None:
    table = make(tmp_path / "t", pa.schema([("n", pa.int64())]), [], {"bucket": "-1"})
    write(table, [(number,) for number in range(30_000)])
    distinct = count_columns(table, latest(table), table.schema.fields)[1]["n"].distinct_count
    assert distinct is not None
    assert abs(distinct - 30_000) < 30_000 * 0.05
