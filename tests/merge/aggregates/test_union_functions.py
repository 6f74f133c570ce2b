"""hll_sketch, theta_sketch, rbm32 and rbm64 on genuine bytes, and what they say of bytes that are none."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from datasketches import compact_theta_sketch, hll_sketch
from pyroaring import BitMap, BitMap64
from support.draws.function_columns import hll_parts
from support.paths import GOLDEN

from paimon_spark.errors import DataError
from paimon_spark.format.art_bitmap import decode_art_bitmap, encode_art_bitmap
from paimon_spark.format.types import MAX_LENGTH, DataType, Root
from paimon_spark.merge.aggregates.frame import FieldOptions
from paimon_spark.merge.aggregates.registry import aggregate_for

BYTES = DataType(Root.VARBINARY, length=MAX_LENGTH)
VECTORS = GOLDEN / "bytes" / "java-2.0.0" / "function_bytes.json"
CASES: list[dict[str, Any]] = json.loads(VECTORS.read_text("utf-8"))["cases"]
FUNCTIONS = ["rbm32", "rbm64", "hll_sketch", "theta_sketch"]


def fold(function: str, values: list[bytes | None], starts: list[int] | None = None, **more: Any) -> list[Any]:
    aggregate = aggregate_for("c", function, BYTES, FieldOptions())
    result = aggregate.fold(pa.array(values, pa.binary()), np.array(starts or [0]), **more)
    assert result.type == pa.binary()
    return list(result.to_pylist())


def inputs(case: dict[str, Any]) -> list[bytes]:
    return [bytes.fromhex(value["hex"]) for value in case["inputs"]]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_folds_as_java_does(number: int) -> None:
    case = CASES[number]
    expected, (found,) = bytes.fromhex(case["fold"]), fold(case["function"], inputs(case))
    if case["function"] == "rbm64":
        assert decode_art_bitmap(found) == decode_art_bitmap(expected)
    elif case["function"] == "hll_sketch":
        assert hll_parts(found) == hll_parts(expected)
    else:
        assert found == expected


@pytest.mark.parametrize("function", FUNCTIONS)
def test_nulls_single_values_and_many_keys(function: str) -> None:
    values = [value for case in CASES if case["function"] == function for value in inputs(case)]
    first, second = values[1], values[4]
    both = fold(function, [first, second])[0]
    assert fold(function, [None, first, None]) == [first]
    assert fold(function, [None, None]) == [None]
    assert fold(function, [None, first, first, None, second, None, second], [0, 1, 2, 5]) == [None, first, both, second]
    rows = np.array([6, 5, 4, 2])
    assert fold(function, [None, first, first, None, second, None, second], [0, 2, 3], rows=rows) == [
        second,
        second,
        first,
    ]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_single_value_is_not_looked_at(function: str) -> None:
    assert fold(function, [b"no sketch", None, b""], [0, 2]) == [b"no sketch", b""]


@pytest.mark.parametrize(
    ("function", "what"),
    [
        ("rbm32", "a value is no Roaring bitmap of 32-bit numbers in the portable format"),
        ("rbm64", "a value is no Roaring bitmap of 64-bit numbers as Java's Roaring64Bitmap writes it"),
        ("hll_sketch", "a value is no HyperLogLog sketch"),
        ("theta_sketch", "a value is no theta sketch"),
    ],
)
def test_bytes_that_are_none(function: str, what: str) -> None:
    r = random.Random(1)
    genuine = next(inputs(case)[1] for case in CASES if case["function"] == function and len(case["inputs"]) > 1)
    for bad in (b"", b"x", b"\xff" * 40, genuine[:1], genuine[: len(genuine) // 2]):
        for values in ([genuine, bad], [bad, genuine]):
            with pytest.raises(DataError, match=f"column 'c', aggregate function '{function}': {what}: .*; correct"):
                fold(function, r.sample(values, 2))


@pytest.mark.parametrize("sizes", [(1, 1), (0, 5), (3, 2000), (2000, 2000)])
def test_estimates_of_unions(sizes: tuple[int, int]) -> None:
    hlls, union = [], sum(sizes)
    for start, size in zip((0, sizes[0]), sizes, strict=True):
        sketch = hll_sketch(12)
        for number in range(start, start + size):
            sketch.update(number)
        hlls.append(bytes(sketch.serialize_compact()))
    (found,) = fold("hll_sketch", hlls)
    assert math.isclose(hll_sketch.deserialize(found).get_estimate(), union, rel_tol=0.05)


def test_theta_of_few_is_exact() -> None:
    case = next(c for c in CASES if c["function"] == "theta_sketch" and all(v["size"] == 12 for v in c["inputs"]))
    numbers = {first + i * step for v in case["inputs"] for first, count, step in v["numbers"] for i in range(count)}
    (found,) = fold("theta_sketch", inputs(case))
    assert compact_theta_sketch.deserialize(found).get_estimate() == len(numbers)


def test_bitmaps_against_sets() -> None:
    r = random.Random(2)
    for _ in range(20):
        sets = [{r.choice([r.randrange(2**64), r.randrange(2**17)]) for _ in range(r.randint(0, 50))} for _ in range(4)]
        (found,) = fold("rbm64", [encode_art_bitmap(BitMap64(s)) for s in sets])
        assert set(decode_art_bitmap(found)) == set().union(*sets)
        small = [{number % 2**32 for number in s} for s in sets]
        (found,) = fold("rbm32", [BitMap(s).serialize() for s in small])
        assert set(BitMap.deserialize(found)) == set().union(*small)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_other_types_are_refused(function: str) -> None:
    for t in (DataType(Root.BINARY, length=8), DataType(Root.VARCHAR, length=9), DataType(Root.BIGINT)):
        with pytest.raises(Exception, match="it needs BYTES or a VARBINARY"):
            aggregate_for("c", function, t, FieldOptions())
