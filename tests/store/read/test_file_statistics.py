"""What recorded statistics of files say of the values that are read: of ORC less than they seem to."""

from __future__ import annotations

from typing import Any

import pytest
from support.tables.files_by_hand import file

from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.manifest import SimpleStats
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField
from paimon_spark.store.read.file_statistics import FileStatistics

DAY = 86_400 * 10**9
GREGORIAN = -141_427  # 1582-10-15 in days since 1970


def bounds(text: str, name: str, low: Any, high: Any) -> tuple[Any, Any]:
    data_type = parse_type(text)
    schema = TableSchema(0, (DataField(0, "v", data_type),), 0)
    stats = SimpleStats(encode_arity_row((low,), (data_type,)), encode_arity_row((high,), (data_type,)), (0,))
    found = FileStatistics(["v"], schema, lambda _: schema).of_values(file(name)._replace(value_stats=stats))["v"]
    return found.minimum, found.maximum


@pytest.mark.parametrize(
    ("text", "low", "high", "orc"),
    [
        ("INT", -5, 7, (-5, 7)),
        ("DATE", GREGORIAN, 7, (GREGORIAN, 7)),
        ("DATE", GREGORIAN - 1, 7, (None, None)),  # days before are counted in another calendar
        ("TIMESTAMP(6)", 10 * DAY, 20 * DAY, (8 * DAY, 22 * DAY)),  # times are shifted by zones
        ("TIMESTAMP(6)", (GREGORIAN - 1) * DAY, 20 * DAY, (None, None)),
    ],
)
def test_dates_and_times_of_orc(text: str, low: Any, high: Any, orc: tuple[Any, Any]) -> None:
    assert bounds(text, "f.parquet", low, high) == (low, high)
    assert bounds(text, "f.orc", low, high) == orc


@pytest.mark.parametrize("name", ["f.parquet", "f.orc"])
def test_texts_of_a_fixed_length_may_have_lost_their_blanks(name: str) -> None:
    assert bounds("CHAR(4)", name, "a   ", "b   ") == ("a", "b   ")
    assert bounds("STRING", name, "a   ", "b   ") == ("a   ", "b   ")
    assert bounds("CHAR(4)", name, None, None) == (None, None)
