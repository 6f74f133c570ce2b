"""Which partitions the text of an overwrite names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from paimon_spark.errors import OptionError, PredicateError
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root
from paimon_spark.writes.replaced_partitions import replaced_partitions

SCHEMA = TableSchema(
    0,
    (
        DataField(0, "dt", DataType(Root.DATE)),
        DataField(1, "Hour", DataType(Root.INT)),
        DataField(2, "v", DataType(Root.VARCHAR, length=MAX_LENGTH)),
    ),
    2,
    partition_keys=("dt", "Hour"),
)


@pytest.mark.parametrize(
    ("where", "patterns"),
    [
        ("dt = '1970-01-02'", [{"dt": 1}]),
        ("date'1970-01-02' = DT and hour = 3", [{"dt": 1, "Hour": 3}]),
        ("hour in (1, 2)", [{"Hour": 1}, {"Hour": 2}]),
        ("hour is null or hour = 1", [{"Hour": None}, {"Hour": 1}]),
        ("hour in (1, 2) and hour in (2, 3)", [{"Hour": 2}]),
        ("(hour = 1 or hour = 2) and dt is null", [{"Hour": 1, "dt": None}, {"Hour": 2, "dt": None}]),
        ("true", [{}]),
    ],
)
def test_values_of_partition_columns(where: str, patterns: list[dict[str, Any]]) -> None:
    found = replaced_partitions(SCHEMA, where, None)
    assert sorted(found, key=str) == sorted(patterns, key=str)


@pytest.mark.parametrize(
    "where", ["hour > 1", "not (hour = 1)", "hour = 1 and hour = 2", "hour = 1 or dt > '2020-01-01'"]
)
def test_conditions_that_list_no_values_are_refused(where: str) -> None:
    with pytest.raises(OptionError, match="expected the values of partition columns"):
        replaced_partitions(SCHEMA, where, None)


def test_other_columns_and_nonsense_are_refused() -> None:
    with pytest.raises(OptionError, match=r"v is no partition column \(those are: dt, Hour\).*; DELETE WHERE .* first"):
        replaced_partitions(SCHEMA, "hour = 1 and v = 'x'", None)
    keyed = replace(SCHEMA, primary_keys=("dt", "Hour"))
    with pytest.raises(OptionError, match=r"; rows of a table with a primary key can be replaced by appending them"):
        replaced_partitions(keyed, "v = 'x'", None)
    with pytest.raises(PredicateError):
        replaced_partitions(SCHEMA, "hour =", None)
