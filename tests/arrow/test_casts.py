"""Values of one type as values of another by Java's rules: what tests/interop compares with Java pair by pair, and the
values Java throws or returns null for (sources: Java CastExecutors, BinaryStringUtils, DateTimeUtils).
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.draws.typed_batches import plain, scalar_types, values
from support.long_runs import examples

from paimon_spark.arrow.casts import cast_array
from paimon_spark.arrow.types import arrow_type, from_internal, to_internal
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataType

SECOND = 10**9
NAN, INF = float("nan"), float("inf")


def cast(column: list[Any], source: str, target: str) -> list[Any]:
    have, want = parse_type(source), parse_type(target)
    result = cast_array(from_internal(column, have), have, want)
    assert result.type == arrow_type(want)
    result.validate(full=True)
    return [to_internal(value) for value in result]


@pytest.mark.parametrize(
    ("source", "target", "column", "expected"),
    [
        ("INT", "TINYINT", [127, 128, -129, 300, None], [127, -128, 127, 44, None]),  # wraps
        ("BIGINT", "INT", [2**31, -(2**31) - 1], [-(2**31), 2**31 - 1]),
        ("DOUBLE", "INT", [1.9, -1.9, 1e10, -1e10, NAN, INF], [1, -1, 2**31 - 1, -(2**31), 0, 2**31 - 1]),
        ("DOUBLE", "TINYINT", [300.7, 1e10, NAN], [44, -1, 0]),  # through int
        ("DOUBLE", "BIGINT", [1e300, -1e300, 9.3e18], [2**63 - 1, -(2**63), 2**63 - 1]),
        ("BIGINT", "FLOAT", [16_777_217, None], [16_777_216.0, None]),
        ("BOOLEAN", "INT", [True, False, None], [1, 0, None]),
        ("BOOLEAN", "DECIMAL(3, 1)", [True, False], [Decimal("1.0"), Decimal("0.0")]),
        ("INT", "BOOLEAN", [0, 2, -1, None], [False, True, True, None]),
        ("INT", "DECIMAL(4, 2)", [12, 100, -99], [Decimal("12.00"), None, Decimal("-99.00")]),  # too big: null
        ("DECIMAL(5, 3)", "DECIMAL(3, 1)", [Decimal("1.250"), Decimal("-1.250")], [Decimal("1.3"), Decimal("-1.3")]),
        ("DECIMAL(5, 1)", "DECIMAL(3, 1)", [Decimal("99.9"), Decimal("100.0")], [Decimal("99.9"), None]),
        ("DECIMAL(5, 2)", "INT", [Decimal("1.99"), Decimal("-1.99")], [1, -1]),
        ("DECIMAL(20, 0)", "INT", [Decimal(2**40 + 5)], [5]),
        (
            "DECIMAL(2, 2)",
            "TINYINT",
            [Decimal("0.99"), Decimal("-0.99"), None],
            [0, 0, None],
        ),  # no digit before the point
        ("DECIMAL(38, 38)", "BIGINT", [Decimal("0.9")], [0]),
        ("DECIMAL(38, 38)", "DECIMAL(38, 0)", [Decimal("0.5"), Decimal("-0.4")], [Decimal(1), Decimal(0)]),
        ("DECIMAL(38, 0)", "DECIMAL(38, 38)", [Decimal(0), Decimal(1)], [Decimal("0E-38"), None]),
        ("DOUBLE", "DECIMAL(5, 2)", [1.005, 2.675, 1e10], [Decimal("1.01"), Decimal("2.68"), None]),
        (
            "DOUBLE",
            "STRING",
            [1e7, 1e-3, 1e-4, NAN, -0.0, INF],
            ["1.0E7", "0.001", "1.0E-4", "NaN", "-0.0", "Infinity"],
        ),
        ("FLOAT", "STRING", [0.1, 1e10], ["0.1", "1.0E10"]),
        ("DECIMAL(5, 2)", "STRING", [Decimal("1.50"), Decimal("0.00")], ["1.50", "0.00"]),
        ("BOOLEAN", "CHAR(6)", [True, None], ["true  ", None]),
        ("INT", "VARCHAR(2)", [12345, -1], ["12", "-1"]),
        ("STRING", "CHAR(3)", ["abcd", "é", None], ["abc", "é  ", None]),
        ("STRING", "BINARY(3)", ["abcd", "a"], [b"abc", b"a\0\0"]),
        ("BYTES", "VARBINARY(2)", [b"abc", b""], [b"ab", b""]),
        ("BYTES", "STRING", [b"abc"], ["abc"]),
        ("STRING", "BOOLEAN", ["TRUE", "y", "0", "No"], [True, True, False, False]),
        ("STRING", "INT", ["12", "-7", "+3", "1.99"], [12, -7, 3, 1]),
        ("STRING", "DOUBLE", ["1e3", "-0", "NaN"], [1000.0, -0.0, NAN]),
        ("STRING", "DECIMAL(3, 1)", ["1.25", "99.95", "-1.25"], [Decimal("1.3"), None, Decimal("-1.3")]),
        ("STRING", "DATE", ["1970-01-02", "0001-01-01", "2024-2-9"], [1, -719_162, 19_762]),
        ("STRING", "TIME(3)", ["12:34:56.7", "00:01"], [45_296_700, 60_000]),
        ("STRING", "TIMESTAMP(3)", ["1970-01-01 00:00:01.2345", "1969-12-31"], [1_234 * 10**6, -86_400 * SECOND]),
        ("DATE", "STRING", [-1, 2_932_896], ["1969-12-31", "9999-12-31"]),
        ("DATE", "TIMESTAMP(6)", [1, -1], [86_400 * SECOND, -86_400 * SECOND]),
        ("TIMESTAMP(3)", "DATE", [0, -1_000_000, 86_400 * SECOND], [0, -1, 1]),
        ("TIMESTAMP(6)", "TIME(3)", [-1000, 1_500_000], [86_399_999, 1]),
        ("TIMESTAMP(6)", "TIMESTAMP(3)", [-1000, 1_999_000], [-(10**6), 10**6]),  # towards the past
        ("TIMESTAMP(3)", "TIMESTAMP(0)", [-1_500_000_000, 1_500_000_000], [-SECOND, SECOND]),  # towards 1970
        ("TIMESTAMP(9)", "TIMESTAMP(0)", [-1, -1_000_000_001], [0, -SECOND]),
        ("TIMESTAMP(3)", "BIGINT", [-1_500_000_000, 1_999_000_000], [-1, 1]),
        ("INT", "TIMESTAMP(3)", [-1, 2], [-SECOND, 2 * SECOND]),
        ("TIME(3)", "TIMESTAMP(3)", [1], [10**6]),
        ("TIMESTAMP(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE", [5 * 10**6, None], [5 * 10**6, None]),
    ],
)
def test_values(source: str, target: str, column: list[Any], expected: list[Any]) -> None:
    assert [plain(v) for v in cast(column, source, target)] == [plain(v) for v in expected]


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("x", "INT"), ("", "INT"), ("128", "TINYINT"), ("1e3", "INT"), (" 1", "INT"), ("maybe", "BOOLEAN"),
        ("1_0", "DOUBLE"), ("x", "DOUBLE"), ("1,5", "DECIMAL(5, 2)"), ("2024-02-30", "DATE"),
        ("2024-13-01", "DATE"), ("x", "DATE"), ("24:00", "TIME(3)"),
        ("2024-01-01 25:00:00", "TIMESTAMP(3)"), ("yesterday", "TIMESTAMP(3)"),
    ],
)  # fmt: skip
def test_texts_that_stand_for_nothing_are_shown(text: str, target: str) -> None:
    with pytest.raises(DataError, match=f"'{text}'.*{target.split('(')[0]}"):
        cast([text], "STRING", target)


def test_casts_that_do_not_exist_are_refused_also_for_no_rows() -> None:
    for source, target in (
        ("DATE", "INT"),
        ("BYTES", "INT"),
        ("BOOLEAN", "TIMESTAMP(3)"),
        ("FLOAT", "TIMESTAMP(3)"),
        ("FLOAT", "BOOLEAN"),
    ):
        with pytest.raises(UnsupportedFeature, match=f"{source}.*{target.split('(')[0]}"):
            cast([], source, target)


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(DataError, match="UTF-8"):
        cast([b"\xff"], "BYTES", "STRING")


def test_timestamps_out_of_the_range_of_nanoseconds() -> None:
    with pytest.raises(DataError, match="outside the range"):
        cast([2_932_896], "DATE", "TIMESTAMP(9)")


@settings(max_examples=examples(120))
@given(scalar_types(), scalar_types(), st.data())
def test_a_cast_of_a_slice_is_the_slice_of_the_cast(source: DataType, target: DataType, data: st.DataObject) -> None:
    """Offsets, nulls and empty arrays through every rule there is."""
    column = data.draw(st.lists(st.none() | values(source), min_size=3, max_size=8))
    array = from_internal(column, source)
    try:
        whole = cast_array(array, source, target)
    except (UnsupportedFeature, DataError):
        return
    whole.validate(full=True)
    part = cast_array(array.slice(1, len(array) - 2), source, target)
    assert [plain(to_internal(v)) for v in part] == [plain(to_internal(v)) for v in whole.slice(1, len(array) - 2)]
    assert len(cast_array(pa.array([], array.type), source, target)) == 0
    for before, after in zip(array, whole, strict=True):
        assert before.is_valid or not after.is_valid
