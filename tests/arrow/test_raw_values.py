"""NumPy arrays from Arrow arrays and back: what pyarrow's own conversions say, which import pandas."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.paths import ROOT

from paimon_spark.arrow.raw_values import from_numpy, int64_array, scalar_of, to_numpy, valid_mask

TYPES = (
    pa.bool_(),
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.uint32(),
    pa.uint64(),
    pa.float32(),
    pa.float64(),
)


@st.composite
def arrays(draw: st.DrawFn) -> pa.Array:
    """Slices too, whose bits and bytes do not begin where the buffer does."""
    data_type = draw(st.sampled_from(TYPES))
    values = draw(st.lists(st.integers(0, 1) if data_type != pa.bool_() else st.booleans(), max_size=40))
    whole = pa.array(values, data_type)
    start = draw(st.integers(0, len(values)))
    return whole.slice(start, draw(st.integers(0, len(values) - start)))


@given(arrays())
def test_numbers_and_booleans_go_both_ways(array: pa.Array) -> None:
    expected = array.to_numpy(zero_copy_only=False)
    found = to_numpy(array)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    back = from_numpy(expected)
    back.validate(full=True)
    assert back.equals(pa.array(expected))


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), max_size=40), st.integers(0, 40))
def test_nulls_are_reported_and_kept(values: list[int | None], start: int) -> None:
    array = pa.array(values, pa.int64()).slice(min(start, len(values)))
    assert valid_mask(array).tolist() == [value is not None for value in array.to_pylist()]
    raw = np.array([7 if value is None else value for value in array.to_pylist()], np.int64)
    assert int64_array(raw, array, pa.int64()).to_pylist() == array.to_pylist()


def test_numbers_that_do_not_lie_side_by_side_are_copied() -> None:
    assert from_numpy(np.arange(10)[::-3]).to_pylist() == [9, 6, 3, 0]


def test_neither_imports_pandas() -> None:
    code = """
import sys, numpy as np, pyarrow as pa
from paimon_spark.arrow.raw_values import from_numpy, to_numpy, valid_mask
valid_mask(from_numpy(np.arange(3))), to_numpy(from_numpy(np.arange(3) > 1))
print("pandas" in sys.modules)
"""
    root = ROOT
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("value", "arrow"),
    [
        (True, pa.bool_()),
        (False, pa.bool_()),
        (-128, pa.int8()),
        (2**63 - 1, pa.int64()),
        (2**64 - 1, pa.uint64()),
        (-0.0, pa.float32()),
        (0.1, pa.float32()),
        (1e300, pa.float32()),
        (1e300, pa.float64()),
        (1.5, pa.float16()),
        ("", pa.string()),
        ("ä\0", pa.string()),
        (b"\0\xff", pa.binary()),
        ("x", pa.large_string()),
        (b"ab", pa.binary(2)),
    ],
)
def test_scalars(value: Any, arrow: pa.DataType) -> None:
    found, expected = scalar_of(value, arrow), pa.scalar(value, arrow)
    assert found.equals(expected)
    assert str(found) == str(expected)


def test_scalars_of_decimals_are_made_from_units() -> None:
    for arrow in (pa.decimal128(38, 2), pa.decimal256(50, 2)):
        assert scalar_of(-150, arrow).equals(pa.scalar(Decimal("-1.50"), arrow))
    with pytest.raises(OverflowError):
        scalar_of(300, pa.int8())


def test_a_condition_does_not_import_pandas() -> None:
    """It takes longer to import than a small table to read."""
    code = """
import sys
import pyarrow as pa
from paimon_spark.arrow.predicates.evaluate import evaluate
from paimon_spark.arrow.predicates.predicate import Compare, Op, and_
from paimon_spark.arrow.raw_values import from_numpy
import numpy as np
batch = pa.RecordBatch.from_arrays([from_numpy(np.arange(3)), from_numpy(np.arange(3) / 2)], ["n", "f"])
predicate = and_(Compare(("n",), Op.GT, 0), Compare(("f",), Op.LE, 0.5))
assert evaluate(predicate, batch).true_count == 1
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
