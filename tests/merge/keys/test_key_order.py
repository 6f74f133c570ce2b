"""The scalar order of keys (format section 7.2)."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.format.types import DataType, Root
from paimon_spark.merge.keys.key_order import float_order, sort_key_of

DOUBLE = DataType(Root.DOUBLE)
STRING = DataType(Root.VARCHAR)


def nan(payload: int) -> float:
    (value,) = struct.unpack("<d", struct.pack("<Q", payload))
    return float(value)


ASCENDING: list[tuple[Root, list[Any]]] = [
    (Root.BOOLEAN, [False, True]),
    (Root.BIGINT, [-(2**63), -1, 0, 1, 2**63 - 1]),
    (Root.DOUBLE, [-math.inf, -1.7e308, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, 1.7e308, math.inf, math.nan]),
    (Root.FLOAT, [-math.inf, -1.0, -0.0, 0.0, 1.0, math.inf, math.nan]),
    (Root.DECIMAL, [Decimal("-1E+20"), Decimal("-0.01"), Decimal("0.00"), Decimal("0.01"), Decimal("9" * 38)]),
    (Root.VARCHAR, ["", "\0", "a", "b", "ba", "ba\0", "ba\0\0", "bb", "é", "\uffff", "\U0001f600"]),
    (Root.VARBINARY, [b"", b"\0", b"\0\0", b"\x7f", b"\x80", b"\xff", b"\xff\0"]),
    (Root.DATE, [-719162, -1, 0, 20000]),
    (Root.TIME, [0, 1, 86399999]),
    (Root.TIMESTAMP, [-(10**25), -1, 0, 1, 10**25]),
]


@pytest.mark.parametrize(("root", "values"), ASCENDING, ids=[str(root) for root, _ in ASCENDING])
def test_order_of_one_column(root: Root, values: list[Any]) -> None:
    key = sort_key_of([DataType(root)])
    for i, left in enumerate(values):
        for j, right in enumerate(values):
            found = (key([left]) < key([right]), key([left]) == key([right]), key([left]) > key([right]))
            assert found == (i < j, i == j, i > j), (left, right)


def test_first_column_decides_before_the_second() -> None:
    types = [STRING, DOUBLE]
    keys: list[tuple[str, float]] = [("b", 0.0), ("a\0", -math.inf), ("a", math.nan), ("b", -0.0)]
    assert sorted(keys, key=sort_key_of(types)) == [keys[2], keys[1], keys[3], keys[0]]


def test_every_nan_is_the_same_key() -> None:
    nans = [nan(bits) for bits in (0x7FF8 << 48, 0xFFF8 << 48, 0x7FF0 << 48 | 1, 2**64 - 1)]
    assert len({float_order(value) for value in nans}) == 1


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_float_order_agrees_with_comparison(a: float, b: float) -> None:
    if a != b:
        assert (float_order(a) < float_order(b)) == (a < b)
    else:
        assert (float_order(a) == float_order(b)) == (math.copysign(1, a) == math.copysign(1, b))


@pytest.mark.parametrize("root", [Root.INT, Root.VARCHAR])
def test_a_null_is_no_key(root: Root) -> None:
    with pytest.raises(TypeError, match="null"):
        sort_key_of([DataType(root)])([None])


def test_a_nested_column_is_no_key() -> None:
    with pytest.raises(TypeError, match="ARRAY"):
        sort_key_of([DataType(Root.ARRAY, element=DataType(Root.INT))])([[1]])
