"""Aggregate functions on one huge key, on a million keys of one row, and what tells equal values apart."""

from __future__ import annotations

import itertools
import random
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from support.draws.function_columns import ELEMENTS, MAP_KEYS, frozen

from paimon_spark.arrow.types import arrow_type
from paimon_spark.errors import DataError, OptionError
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root
from paimon_spark.merge.aggregates.equality import equality_columns
from paimon_spark.merge.aggregates.frame import FieldOptions
from paimon_spark.merge.aggregates.maps import java_string_order
from paimon_spark.merge.aggregates.registry import aggregate_for
from paimon_spark.merge.aggregates.spans import list_spans
from paimon_spark.merge.engines.folding import FoldRows, fold_column

ROWS = 100_000
INT, STRING = DataType(Root.INT), DataType(Root.VARCHAR, length=MAX_LENGTH)
INTS, MAP = DataType(Root.ARRAY, element=INT), DataType(Root.MAP, key=INT, element=INT)
PAIR = DataType(Root.ROW, fields=(DataField(1, "k", INT), DataField(2, "v", STRING)))
PAIRS, TIMED = DataType(Root.ARRAY, element=PAIR), DataType(Root.MAP, key=INT, element=PAIR)

Places = npt.NDArray[np.intp]


def fold(name: str, t: DataType, values: pa.Array, starts: Places, **more: Any) -> pa.Array:
    options = FieldOptions(**more.pop("options", {}))
    rows = FoldRows(np.arange(len(values)), starts, **more)
    result = fold_column(aggregate_for("c", name, t, options), values, rows)
    result.validate(full=True)
    return result


def lists(values: list[int], size: int) -> pa.Array:
    offsets = np.arange(0, len(values) + 1, size, dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values, pa.int32()), type=arrow_type(INTS))


def every(step: int, count: int = ROWS) -> npt.NDArray[np.bool_]:
    return np.arange(count) % step == step - 1


ONE_KEY = np.zeros(1, np.intp)


def numbers_of(t: DataType, numbers: list[int]) -> pa.Array:
    return pa.array([Decimal(n) if t.root is Root.DECIMAL else n for n in numbers], arrow_type(t))


@pytest.mark.parametrize(
    ("t", "numbers", "after"),
    [
        (DataType(Root.TINYINT), [100, 27], 1),
        (DataType(Root.TINYINT), [-100, -28], -1),
        (DataType(Root.BIGINT), [2**62, 2**62 - 1], 1),
        (DataType(Root.BIGINT), [-(2**62), -(2**62)], -1),
        (DataType(Root.DECIMAL, precision=3, scale=0), [500, 499], 1),
        (DataType(Root.DECIMAL, precision=3, scale=0), [-500, -499], -1),
        (DataType(Root.DECIMAL, precision=38, scale=0), [10**37 * 5, 10**37 * 5 - 1], 1),
    ],
    ids=str,
)
def test_a_sum_may_be_the_last_number_of_its_type(t: DataType, numbers: list[int], after: int) -> None:
    (found,) = fold("sum", t, numbers_of(t, numbers), ONE_KEY).to_pylist()
    assert int(found) == sum(numbers)
    with pytest.raises(DataError):
        fold("sum", t, numbers_of(t, [*numbers, after]), ONE_KEY)


class TestOneHugeKey:
    def test_product(self) -> None:
        signs = pa.array([1, -1, 1] * (ROWS // 3), pa.int64())
        assert fold("product", DataType(Root.BIGINT), signs, ONE_KEY).to_pylist() == [(-1) ** (ROWS // 3)]
        zeros = pa.array([2, 0, *[7] * ROWS], pa.int64())
        assert fold("product", DataType(Root.BIGINT), zeros, ONE_KEY).to_pylist() == [0]
        with pytest.raises(DataError, match="leaves the range of BIGINT"):
            fold("product", DataType(Root.BIGINT), pa.array([3] * ROWS, pa.int64()), ONE_KEY)

    def test_listagg(self) -> None:
        texts = pa.array([f"t{i % 100}" for i in range(ROWS)])
        expected = [f"t{i}" for i in range(100)]
        assert fold("listagg", STRING, texts, ONE_KEY).to_pylist() == [",".join(expected * (ROWS // 100))]
        distinct = fold("listagg", STRING, texts, ONE_KEY, options={"distinct": True})
        assert distinct.to_pylist() == [",".join(expected)]

    def test_collect(self) -> None:
        values = lists([i % 50 for i in range(2 * ROWS)], 2)
        (result,) = fold("collect", INTS, values, ONE_KEY).to_pylist()
        assert result == [i % 50 for i in range(2 * ROWS)]
        assert fold("collect", INTS, values, ONE_KEY, options={"distinct": True}).to_pylist() == [list(range(50))]
        (left,) = fold("collect", INTS, lists([7] * ROWS, 1), ONE_KEY, retract=every(2)).to_pylist()
        assert left == []
        (left,) = fold("collect", INTS, lists([7] * ROWS, 1), ONE_KEY, retract=every(4)).to_pylist()
        assert left == [7] * (ROWS // 2)

    def test_merge_map(self) -> None:
        offsets = pa.array(np.arange(ROWS + 1, dtype=np.int32))
        keys, items = pa.array(np.arange(ROWS, dtype=np.int32) % 10), pa.array(np.arange(ROWS, dtype=np.int32))
        values = pa.MapArray.from_arrays(offsets, keys, items, type=arrow_type(MAP))
        (result,) = fold("merge_map", MAP, values, ONE_KEY).to_pylist()
        assert sorted(result) == [(i, ROWS - 10 + i) for i in range(10)]
        (result,) = fold("merge_map", MAP, values, ONE_KEY, retract=every(10)).to_pylist()
        assert sorted(result) == [(i, ROWS - 10 + i) for i in range(9)]

    def test_merge_map_with_keytime(self) -> None:
        entries = [[(i % 3, {"k": i, "v": f"{i * 7919 % ROWS:06}"})] for i in range(ROWS)]
        values = pa.array(entries, arrow_type(TIMED))
        (result,) = fold("merge_map_with_keytime", TIMED, values, ONE_KEY).to_pylist()
        best = {m: max((row["v"], row["k"]) for ((key, row),) in entries if key == m) for m in range(3)}
        assert {key: (row["v"], row["k"]) for key, row in result} == best
        (late,) = fold("merge_map_with_keytime", TIMED, values, ONE_KEY, late=every(2)).to_pylist()
        assert sorted(late, key=str) == sorted(result, key=str)  # all times differ

    def test_nested_update(self) -> None:
        values = pa.array([[{"k": i % 10, "v": str(i)}] for i in range(ROWS)], arrow_type(PAIRS))
        (result,) = fold("nested_update", PAIRS, values, ONE_KEY, options={"nested_key": ("k",)}).to_pylist()
        assert result == [{"k": i, "v": str(ROWS - 10 + i)} for i in range(10)]
        (result,) = fold("nested_update", PAIRS, values, ONE_KEY, options={"count_limit": 5}).to_pylist()
        assert result == [{"k": i, "v": str(i)} for i in range(5)]
        (result,) = fold("nested_partial_update", PAIRS, values, ONE_KEY, options={"nested_key": ("k",)}).to_pylist()
        assert result == [{"k": i, "v": str(ROWS - 10 + i)} for i in range(10)]


@pytest.mark.parametrize("seeded", [True, False])
def test_keys_of_one_row_keep_their_value(seeded: bool) -> None:
    starts = np.arange(ROWS)
    seeds = np.full(ROWS, seeded)
    texts = pa.array([f"t{i % 7}" for i in range(ROWS)])
    assert fold("listagg", STRING, texts, starts, seeded=seeds).equals(texts)
    values = lists(list(range(ROWS)), 1)
    for options in ({}, {"distinct": True}):
        assert fold("collect", INTS, values, starts, seeded=seeds, options=options).equals(values)
    maps = pa.array([[(i % 5, i)] for i in range(ROWS)], arrow_type(MAP))
    assert fold("merge_map", MAP, maps, starts, seeded=seeds).equals(maps)


@pytest.mark.parametrize("t", [t for t, _ in ELEMENTS] + [t for t, _ in MAP_KEYS], ids=lambda t: str(t.root))
def test_columns_are_equal_exactly_where_values_are(t: DataType) -> None:
    r = random.Random(4)
    pool = next(values for other, values in [*ELEMENTS, *MAP_KEYS] if other is t)
    for _ in range(20):
        values = [r.choice(pool) for _ in range(r.choice([0, 1, 2, 40]))]
        array = pa.array([None, *values, pool[-1]], arrow_type(t)).slice(1, len(values))
        columns = [column.tolist() for column in equality_columns(array, "c")]
        rows = [tuple(column[i] for column in columns) for i in range(len(values))]
        for i, j in itertools.product(range(len(values)), repeat=2):
            assert (rows[i] == rows[j]) == (frozen(values[i]) == frozen(values[j])), (values[i], values[j])


def test_spans_of_sliced_lists_and_of_nulls_with_content() -> None:
    array = pa.ListArray.from_arrays(
        pa.array([0, 2, 4, 5], pa.int32()), pa.array([1, 2, 3, 4, 5]), mask=pa.array([False, True, False])
    )
    spans = list_spans(array)
    assert spans.children[0].take(pa.array(spans.items())).to_pylist() == [1, 2, 5]
    spans = list_spans(array.slice(1))
    assert spans.children[0].take(pa.array(spans.items())).to_pylist() == [5]
    assert spans.parents().tolist() == [1]
    assert list_spans(array.slice(3)).items().tolist() == []


def test_strings_in_the_order_of_java() -> None:
    texts = [
        "",
        "a",
        "a\0",
        "\x7f",
        "é",
        "\ud7ff",
        "\ue000",
        "\uffff",
        "\U00010000",
        "\U0010ffff",
        "z\U0001f600",
        "z\uffff",
    ]
    array = pa.array([None, *texts, None]).slice(1, len(texts))
    ordered = java_string_order(array).to_pylist()
    by_bytes = [text for _, text in sorted(zip(ordered, texts, strict=True))]
    assert by_bytes == sorted(texts, key=lambda text: text.encode("utf-16-be"))


@pytest.mark.parametrize(
    ("names", "t", "needs"),
    [
        (("bool_and", "bool_or"), INT, "a BOOLEAN"),
        (("max", "min"), INTS, "a type with an order"),
    ],
)
def test_types_that_a_function_does_not_take(names: tuple[str, ...], t: DataType, needs: str) -> None:
    for name in names:
        with pytest.raises(OptionError, match=f"{name}.*{needs}"):
            aggregate_for("c", name, t, FieldOptions())
