"""When files and rows that do not come first may be left out of a read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paimon_spark.arrow.predicates.predicate import TRUE, And, Compare, Op, Predicate
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.pruning.top_n import TopN, may_leave_out

TYPES = {
    "TINYINT": (True, True), "SMALLINT": (True, True), "INT": (True, True), "BIGINT": (True, True),
    "FLOAT": (True, False), "DOUBLE": (True, False), "DECIMAL(10, 2)": (True, True), "DATE": (True, True),
    "TIME(3)": (True, True), "BOOLEAN": (True, True), "STRING": (True, True), "TIMESTAMP(3)": (True, True),
    "TIMESTAMP(6)": (True, True), "TIMESTAMP(9)": (False, False), "TIMESTAMP(7)": (False, False),
    "TIMESTAMP(9) WITH LOCAL TIME ZONE": (False, False), "BYTES": (False, False), "CHAR(3)": (False, False),
    "ARRAY<INT>": (False, False), "ROW<a INT>": (False, False),
}  # fmt: skip
"""For each type whether rows may be left out, and whether they may where others decide between equal ones."""


def table(path: Path, data_type: str = "INT", **options: str) -> Table:
    fields = (DataField(0, "v", parse_type(data_type)), DataField(1, "p", parse_type("STRING")))
    schema = TableSchema(0, fields, 1, ("p",), (), options)
    return Table(str(path), LocalFileIO(), schema, TableSettings(options))


@pytest.mark.parametrize("data_type", TYPES)
def test_types_whose_order_the_statistics_have(data_type: str, tmp_path: Path) -> None:
    made, first = table(tmp_path, data_type), TopN("v", 3)
    assert (may_leave_out(first, made, TRUE), may_leave_out(replace(first, with_ties=True), made, TRUE)) == TYPES[
        data_type
    ]


@pytest.mark.parametrize(
    ("where", "may"),
    [
        (TRUE, True),
        (Compare(("p",), Op.EQ, "a"), True),
        (Compare(("v",), Op.EQ, 1), False),
        (And((Compare(("p",), Op.EQ, "a"), Compare(("v",), Op.EQ, 1))), False),
    ],
    ids=str,
)
def test_a_condition_may_only_be_one_of_partitions(where: Predicate, may: bool, tmp_path: Path) -> None:
    assert may_leave_out(TopN("v", 1), table(tmp_path), where) is may


def test_tables_whose_rows_are_not_those_of_one_file(tmp_path: Path) -> None:
    assert not may_leave_out(TopN("_row_kind", 1), table(tmp_path), TRUE)
    for option in ("data-evolution.enabled", "scan.ignore-lost-files", "scan.ignore-corrupt-files"):
        assert not may_leave_out(TopN("v", 1), table(tmp_path, **{option: "true"}), TRUE), option
