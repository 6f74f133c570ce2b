"""Batches cut, filtered and put together by row numbers, where copies must stay small."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_spark.merge.keys.rows import combine_rows, filter_rows, take_rows


def batch(first: int, count: int) -> pa.RecordBatch:
    numbers = range(first, first + count)
    return pa.record_batch(
        {"n": pa.array(numbers, pa.int64()), "s": pa.array([f"{n:050d}" for n in numbers], pa.string())}
    )


def numbers(batches: list[pa.RecordBatch]) -> list[int]:
    return [n for b in batches for n in b.column("n").to_pylist()]


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.randoms(), st.sampled_from([1, 100, 500, 10**9]))
def test_rows_are_taken_in_order_whatever_may_be_copied(sizes: list[int], source: random.Random, limit: int) -> None:
    pieces = [batch(sum(sizes[:i]), size) for i, size in enumerate(sizes)]
    wanted = [[row for row in piece.column("n").to_pylist() if source.random() < 0.6] for piece in pieces]
    order = []
    while any(wanted):
        order.append(source.choice([rows for rows in wanted if rows]).pop(0))
    taken = list(take_rows(pieces, np.array(order, np.intp), limit))
    assert numbers(taken) == order


def test_rows_of_two_big_pieces_are_taken_in_small_copies() -> None:
    order = np.array([0, 10, 1, 11, 2, 12, 3, 13], np.intp)
    taken = list(take_rows([batch(0, 10), batch(10, 10)], order, 300))
    assert numbers(taken) == order.tolist()
    assert all(b.num_rows <= 4 for b in taken)


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), max_size=6), st.randoms())
def test_a_mask_keeps_what_is_true(sizes: list[int], source: random.Random) -> None:
    pieces = [batch(sum(sizes[:i]), size) for i, size in enumerate(sizes)]
    mask = np.array([source.random() < 0.7 for _ in range(sum(sizes))], np.bool_)
    assert numbers(list(filter_rows(pieces, mask))) == np.flatnonzero(mask).tolist()
    assert numbers(list(filter_rows(pieces, None))) == list(range(sum(sizes)))


@settings(deadline=None)
@given(st.lists(st.integers(1, 300), max_size=30), st.sampled_from([1, 16, 100, 1000]))
def test_combined_batches_keep_their_rows_in_order(sizes: list[int], batch_rows: int) -> None:
    pieces = [batch(sum(sizes[:i]), size) for i, size in enumerate(sizes)]
    combined = list(combine_rows(pieces, batch_rows, ordered=True))
    assert numbers(combined) == list(range(sum(sizes)))
    assert all(16 * b.num_rows >= batch_rows for b in combined[:-1])
    assert sorted(numbers(list(combine_rows(pieces, batch_rows, ordered=False)))) == list(range(sum(sizes)))


def test_a_big_batch_overtakes_small_ones_only_where_order_is_free() -> None:
    pieces = [batch(0, 2), batch(2, 100), batch(102, 2)]
    assert numbers(list(combine_rows(pieces, 128, ordered=False)))[:100] == list(range(2, 102))
    assert [b.num_rows for b in combine_rows(pieces, 128, ordered=True)] == [102, 2]


def test_batches_of_big_rows_are_not_collected() -> None:
    sizes = [b.num_rows for b in combine_rows([batch(i, 1) for i in range(10)], 1000, True, copy_bytes=200)]
    assert max(sizes) < 4
    assert sum(sizes) == 10


@pytest.mark.parametrize("ordered", [False, True])
def test_a_big_batch_alone_is_not_copied(ordered: bool) -> None:
    one = batch(0, 100)
    (same,) = combine_rows([one], 100, ordered)
    assert same is one
