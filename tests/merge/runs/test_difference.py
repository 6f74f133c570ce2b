"""The rows wherein two states differ, against dictionaries and multisets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.long_runs import examples
from support.oracles.comparing import comparable

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import CorruptFile
from paimon_spark.format.schema import VALUE_KIND
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.merge.keys.window import MergeSpec
from paimon_spark.merge.runs.difference import BagSpec, StateDifference, bag_difference, equal_values
from paimon_spark.merge.runs.sort_merge import merge_runs

INT, TEXT, DOUBLE = DataType(Root.INT), DataType(Root.VARCHAR), DataType(Root.DOUBLE)
ARRAY = DataType(Root.ARRAY, element=DOUBLE)
KEY = DataField(0, "k", DataType(Root.VARCHAR, False))
FIELDS = (KEY, DataField(1, "a", DOUBLE), DataField(2, "b", TEXT), DataField(3, "c", ARRAY))
KEYS = ["", "\0", "a", "a\0", "ba", "ba\0", "é", "z" * 40]
VALUES: dict[str, list[Any]] = {
    "a": [None, 0.0, -0.0, math.nan, 1.5],
    "b": [None, "", "x", "x\0"],
    "c": [None, [], [None], [0.0], [-0.0], [math.nan], [1.0, 2.0]],
}
INSERT, UPDATE, DELETE = 0, 2, 3
Value = tuple[Any, ...]

values = st.tuples(*(st.sampled_from(VALUES[name]) for name in "abc"))
states = st.dictionaries(st.sampled_from(KEYS), values)


def batches(rows: Sequence[Value], kind: int, size: int) -> Iterator[pa.RecordBatch]:
    schema = arrow_schema(FIELDS).append(pa.field(VALUE_KIND, pa.int8(), nullable=False))
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        columns = [pa.array([row[i] for row in part], schema.field(i).type) for i in range(len(FIELDS))]
        yield pa.record_batch([*columns, pa.array([kind] * len(part), pa.int8())], schema=schema)


def run(state: dict[str, Value], kind: int, size: int, of: int = 1, which: int = 0) -> Iterator[pa.RecordBatch]:
    """The rows of a state, or those of one of several buckets, sorted by key."""
    keys = sorted((key for key in state if KEYS.index(key) % of == which), key=str.encode)
    return batches([(key, *state[key]) for key in keys], kind, size)


def difference(runs: list[Iterator[pa.RecordBatch]], keeps_gone: bool, ordered: bool = False) -> list[pa.RecordBatch]:
    engine = StateDifference(("a", "b", "c"), keeps_gone)
    output = [*(field.name for field in FIELDS), VALUE_KIND]
    return list(merge_runs(runs, MergeSpec((KEY,), has_sequence=False), output, 4, ordered, engine))


def rows_of(found: list[pa.RecordBatch]) -> Counter[Value]:
    return comparable(pa.Table.from_batches(found)) if found else Counter()


def as_rows(rows: Sequence[Value]) -> Counter[Value]:
    """The multiset of rows with their kind at the end."""
    made: Counter[Value] = Counter()
    for kind in {row[-1] for row in rows}:
        made += rows_of(list(batches([row[:-1] for row in rows if row[-1] == kind], kind, 100)))
    return made


@settings(max_examples=examples(80))
@given(before=states, after=states, size=st.integers(1, 5), of=st.integers(1, 3), keeps_gone=st.booleans())
def test_states_with_keys(
    before: dict[str, Value], after: dict[str, Value], size: int, of: int, keeps_gone: bool
) -> None:
    """Buckets may have another number in each state: all of both take part."""
    runs = [run(before, DELETE, size, of, i) for i in range(of)] + [run(after, UPDATE, size)]
    changed = [(k, *v, UPDATE) for k, v in after.items() if k not in before or repr(before[k]) != repr(v)]
    gone = [(k, *v, DELETE) for k, v in before.items() if k not in after]
    assert rows_of(difference(runs, keeps_gone)) == as_rows(changed + (gone if keeps_gone else []))


def test_in_key_order_on_request() -> None:
    before = dict.fromkeys(KEYS[::2], (1.5, "x", None))
    after = dict.fromkeys(KEYS[1:], (2.5, "x", None))
    found = difference([run(before, DELETE, 2), run(after, INSERT, 3)], keeps_gone=True, ordered=True)
    keys = [key for batch in found for key in batch.column("k").to_pylist()]
    assert keys == sorted(KEYS, key=str.encode)


@pytest.mark.parametrize("kind", [DELETE, INSERT])
def test_a_key_twice_in_one_state_is_damage(kind: int) -> None:
    rows = [("a", 1.0, None, None)]
    with pytest.raises(CorruptFile, match="1 keys have several rows in one of them"):
        difference([batches(rows, kind, 1), batches(rows, kind, 1)], keeps_gone=False)


def test_equal_values_of_flat_types() -> None:
    left = pa.array([None, None, Decimal("1.00"), Decimal("1.00")], pa.decimal128(5, 2))
    right = pa.array([None, Decimal("1.00"), Decimal("1.00"), Decimal("1.01")], pa.decimal128(5, 2))
    assert equal_values(left, right, "d").tolist() == [True, False, True, False]
    assert equal_values(left.slice(2), right.slice(2), "d").tolist() == [True, False]
    assert equal_values(left.slice(0, 0), right.slice(0, 0), "d").tolist() == []
    texts = pa.array(["a", "a\0", "", None])
    assert equal_values(texts, pa.array(["a", "a", None, ""]), "s").tolist() == [True, False, False, False]


def test_equal_values_where_numbers_are_not_enough() -> None:
    left = pa.array([0.0, math.nan, -math.nan, 0.0, None])
    right = pa.array([-0.0, math.nan, math.nan, 0.0, None])
    assert equal_values(left, right, "f").tolist() == [False, True, True, True, True]
    structs = [[{"x": None}, None, {"x": 1}], [None, None, {"x": 1}]]
    assert equal_values(*(pa.array(s, pa.struct([("x", pa.int32())])) for s in structs), "r").tolist() == [
        False,
        True,
        True,
    ]


# --- without keys -----------------------------------------------------------------------------------------------------

rows = st.lists(st.tuples(st.sampled_from(KEYS), *(st.sampled_from(VALUES[name]) for name in "abc")), max_size=12)


@settings(max_examples=examples(80))
@given(before=rows, after=rows, size=st.integers(1, 5), shares=st.integers(1, 4), keeps_gone=st.booleans())
def test_states_without_keys(before: list[Value], after: list[Value], size: int, shares: int, keeps_gone: bool) -> None:
    old, new = (as_rows([(*row, INSERT) for row in side]) for side in (before, after))
    expected = Counter({(*row[:-1], INSERT): count for row, count in (new - old).items()})
    if keeps_gone:
        expected.update({(*row[:-1], DELETE): count for row, count in (old - new).items()})
    output = (*(field.name for field in FIELDS), VALUE_KIND)
    sides = [
        lambda side=side: (batch.drop_columns([VALUE_KIND]) for batch in batches(side, INSERT, size))
        for side in (before, after)
    ]
    assert rows_of(list(bag_difference(*sides, BagSpec(FIELDS, output, keeps_gone, shares)))) == expected


def test_each_share_is_a_part_of_the_rows() -> None:
    made = [(str(i), float(i), None, None) for i in range(1000)]
    sizes = []

    def read() -> Iterator[pa.RecordBatch]:
        return (batch.drop_columns([VALUE_KIND]) for batch in batches(made, INSERT, 100))

    for found in bag_difference(lambda: iter(()), read, BagSpec(FIELDS, ("k",), False, 4)):
        assert found.schema.names == ["k"]
        sizes.append(found.num_rows)
    assert sum(sizes) == 1000
    assert all(150 < size < 350 for size in sizes)


def test_rows_of_nested_columns_only_are_one_share() -> None:
    field = DataField(0, "c", ARRAY)
    arrays = pa.record_batch([pa.array([[1.0], [1.0], None], pa.list_(pa.float64()))], names=["c"])
    found = list(
        bag_difference(lambda: iter([arrays.slice(0, 1)]), lambda: iter([arrays]), BagSpec((field,), ("c",), True, 3))
    )
    assert [value for batch in found for value in batch.column("c").to_pylist()] == [[1.0], None]
