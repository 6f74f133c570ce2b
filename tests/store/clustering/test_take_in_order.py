"""Rows of several pieces in any order, copied in parts where they are large."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.store.clustering.rows import take_in_order
from paimon_spark.store.compact.bucket import BATCH_ROWS


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(1, 60))
def test_rows_come_in_the_order_of_their_numbers(sizes: list[int], copy_bytes: int) -> None:
    ends = np.cumsum(sizes)
    pieces = [
        pa.record_batch({"n": pa.array(range(end - size, end), pa.int64())})
        for end, size in zip(ends.tolist(), sizes, strict=True)
    ]
    numbers = np.random.default_rng(copy_bytes).permutation(ends[-1])
    found = list(take_in_order(pieces, numbers, copy_bytes))
    assert [n for part in found for n in part.column("n").to_pylist()] == numbers.tolist()


@pytest.mark.parametrize(("copy_bytes", "parts"), [(32, 1), (31, 2), (16, 2), (15, 4), (1, 4)])
def test_no_more_bytes_are_copied_at_once(copy_bytes: int, parts: int) -> None:
    pieces = [pa.record_batch({"n": pa.array([2 * n, 2 * n + 1], pa.int64())}) for n in range(2)]
    found = list(take_in_order(pieces, np.array([3, 2, 1, 0]), copy_bytes))
    assert [n for part in found for n in part.column("n").to_pylist()] == [3, 2, 1, 0]
    assert len(found) == parts


@pytest.mark.parametrize("pieces", [1, 2])
def test_many_rows_come_in_several_batches(pieces: int) -> None:
    """The rows of a range are not in memory a second time as a whole."""
    whole = pa.record_batch({"n": pa.array(range(2 * BATCH_ROWS + 3), pa.int64())})
    half = len(whole) // pieces
    numbers = np.random.default_rng(3).permutation(len(whole))
    found = list(
        take_in_order([whole.slice(half * n, None if n + 1 == pieces else half) for n in range(pieces)], numbers)
    )
    assert [len(part) for part in found] == [BATCH_ROWS, BATCH_ROWS, 3]
    assert np.concatenate([part.column("n").to_numpy() for part in found]).tolist() == numbers.tolist()
