"""What range bitmaps and bitmaps leave of several comparisons of a column, and how little of them is read for that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.index_files import encode_bitmap, encode_range_bitmap
from support.long_runs import examples

from paimon_spark.arrow.file_index.column_index import open_index
from paimon_spark.arrow.file_index.possible_rows import rows_left
from paimon_spark.arrow.predicates.evaluate import filter_batch
from paimon_spark.arrow.predicates.predicate import Compare, Op, Predicate, and_
from paimon_spark.arrow.types import arrow_type, from_internal
from paimon_spark.format.file_index.byte_reader import ByteReader
from paimon_spark.format.file_index.settings import BITMAP, RANGE_BITMAP
from paimon_spark.format.type_text import parse_type

FLOATS = [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1.5, -1.5, 2.0, -7.25]
POOLS: dict[str, list[Any]] = {
    "INT": [*range(-3, 12), -(2**31), 2**31 - 1],
    "BIGINT": [*range(0, 40, 3), -(2**63), 2**63 - 1],
    "DOUBLE": FLOATS,
    "STRING": ["", "a", "aa", "ab", "b", "é", "prefix-1", "prefix-12", "prefix-2"],
    "TIMESTAMP(6)": [0, 1000, -1000, 10**12, 10**12 + 1000],
    "DATE": [-800_000, -1, 0, 1, 20_000],
}
OPS = [Op.EQ, Op.GE, Op.GT, Op.LE, Op.LT, Op.NE]


class CountedBytes:
    """Bytes that tell how many of them were asked for."""

    def __init__(self, data: bytes) -> None:
        self.data, self.asked = data, 0

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, span: slice) -> bytes:
        found = self.data[span]
        self.asked += len(found)
        return found


def encoded(kind: str, values: Sequence[Any], text: str, size: int) -> CountedBytes:
    data_type = parse_type(text)
    made = encode_bitmap(values, data_type, 2, size) if kind == BITMAP else encode_range_bitmap(values, data_type, size)
    return CountedBytes(made)


def left(kind: str, data: CountedBytes, text: str, condition: Predicate) -> list[int] | None:
    index = open_index(kind, ByteReader(data, "here"), parse_type(text), is_orc=False)
    assert index is not None
    found = rows_left(condition, lambda _: [index])
    return None if found is None else list(found)


@pytest.mark.parametrize("kind", [RANGE_BITMAP, BITMAP])
@settings(max_examples=examples(2000), deadline=None)
@given(st.data())
def test_exactly_the_rows_that_match_are_left(kind: str, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(sorted(POOLS)))
    pool, data_type = POOLS[text], parse_type(text)
    values = data.draw(st.lists(st.sampled_from([None, *pool]), max_size=30))
    ops = OPS if kind == RANGE_BITMAP else [Op.EQ, Op.NE]
    tests = data.draw(st.lists(st.tuples(st.sampled_from(ops), st.sampled_from(pool)), min_size=1, max_size=3))
    condition = and_(*[Compare(("v",), op, value) for op, value in tests])
    index = encoded(
        kind, values, text, data.draw(st.sampled_from([0, 8, 30, 16384] if kind == RANGE_BITMAP else [40, 16384]))
    )
    column = from_internal(values, data_type)
    batch = pa.record_batch([column, pa.array(range(len(values)))], names=["v", "row"])
    assert batch.column(0).type == arrow_type(data_type)
    assert left(kind, index, text, condition) == filter_batch(condition, batch).column("row").to_pylist()


def test_a_range_without_a_value_costs_a_part_of_the_dictionary() -> None:
    """The slices are most of an index; the head and two chunks tell that no row is in the range."""
    values = [number * 977 % 20_011 * 10 for number in range(20_000)]
    index = encoded(RANGE_BITMAP, values, "INT", 400)
    gap = next(n for n in range(50_001, 60_000, 10) if n - 1 in set(values))
    between = and_(Compare(("v",), Op.GE, gap), Compare(("v",), Op.LT, gap + 8))
    assert left(RANGE_BITMAP, index, "INT", between) == []
    assert index.asked < len(index.data) / 10
    assert left(RANGE_BITMAP, index, "INT", Compare(("v",), Op.EQ, gap)) == []
    assert left(RANGE_BITMAP, index, "INT", Compare(("v",), Op.GT, 200_110)) == []
    assert index.asked < len(index.data) / 4
    assert left(RANGE_BITMAP, index, "INT", Compare(("v",), Op.EQ, gap - 1)) == [values.index(gap - 1)]


def test_a_value_that_a_bitmap_does_not_have_costs_one_block() -> None:
    values = [f"kind {number:06d}" for number in range(5000)]
    index = encoded(BITMAP, values, "STRING", 1000)
    assert left(BITMAP, index, "STRING", Compare(("v",), Op.EQ, "kind 002500x")) == []
    assert index.asked < len(index.data) / 10
    assert left(BITMAP, index, "STRING", Compare(("v",), Op.EQ, "kind 002500")) == [2500]
