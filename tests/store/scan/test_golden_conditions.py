"""Genuine tables read with conditions on every column: statistics of every writer prune, and never too much."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.long_runs import LONG
from support.oracles.comparing import comparable
from support.oracles.plain_predicates import order, truth
from support.tables.golden_tables import GoldenTable, readable_tables

from paimon_spark import open_table
from paimon_spark.arrow.predicates.predicate import Compare, In, IsNull, Op, Predicate
from paimon_spark.arrow.types import to_internal
from paimon_spark.format.types import NESTED, DataField, Root
from paimon_spark.store.scan.table_scan import Scan

Row = dict[str, Any]


def internal_rows(table: pa.Table) -> list[Row]:
    columns = {name: [to_internal(v) for v in table.column(name)] for name in plain_columns(table)}
    return [{name: values[i] for name, values in columns.items()} for i in range(table.num_rows)]


def plain_columns(table: pa.Table) -> list[str]:
    return [f.name for f in table.schema if not pa.types.is_nested(f.type)]


def conditions(field: DataField, rows: list[Row]) -> Iterator[Predicate]:
    column = (field.name,)
    yield IsNull(column)
    values = {repr(row[field.name]): row[field.name] for row in rows if row[field.name] is not None}
    if values:
        ordered = sorted(values.values(), key=order)
        low, middle, high = ordered[0], ordered[len(ordered) // 2], ordered[-1]
        yield Compare(column, Op.EQ, middle)
        yield Compare(column, Op.GT, low)
        yield In(column, (low, high))


def check(scan: Scan, table: pa.Table, rows: list[Row], where: Predicate) -> None:
    mask = pa.array([truth(where, row) is True for row in rows], pa.bool_())
    assert comparable(scan.to_arrow()) == comparable(table.filter(mask)), where


@pytest.mark.parametrize("golden", readable_tables(), ids=str)
def test_every_condition_is_a_filter(golden: GoldenTable, tmp_path: Path) -> None:
    found = open_table(str(golden.unpack(tmp_path)))
    table = found.scan().to_arrow()
    rows = internal_rows(table)
    for number, field in enumerate(found.schema.fields):
        if field.type.root not in NESTED | {Root.VARIANT}:
            every = list(conditions(field, rows))
            for where in every if LONG else [every[number % len(every)]]:  # one condition on each column
                check(found.scan(where=where), table, rows, where)
