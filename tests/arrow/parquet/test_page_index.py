"""Page indexes: decoded at once or one by one, and refused if they are damaged."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.arrow.parquet.page_file import covering
from paimon_spark.arrow.parquet.page_index import ColumnPages, PageLocations, RowPieces, decode_bounds, decode_locations
from paimon_spark.arrow.parquet.thrift_compact import BINARY, I32, I64, LIST, STRUCT, TRUE, Field, List, encode_struct

SIZES = st.lists(st.tuples(st.integers(1, 2**31 - 1), st.integers(1, 10**6), st.integers(0, 2**40)), min_size=1)


def encoded(pages: list[tuple[int, int, int]], more: bool = False) -> bytes:
    """An OffsetIndex of pages of an offset, a size and a first row; more: with a field in each that nobody knows."""
    structs = [
        [Field(1, I64, offset), Field(2, I32, size), Field(3, I64, row), *([Field(9, I64, 1)] if more else [])]
        for offset, size, row in pages
    ]
    return encode_struct([Field(1, LIST, List(STRUCT, structs))])


@given(SIZES, st.integers(0, 2**50), st.booleans())
def test_pages_are_where_the_index_says(sizes: list[tuple[int, int, int]], start: int, more: bool) -> None:
    pages, offset, row = [], start, 0
    for size, rows, gap in sizes:
        pages.append((offset, size, row))
        offset, row = offset + size + gap, row + rows
    found = decode_locations(encoded(pages, more), row)
    assert found is not None
    places = zip(found.offsets.tolist(), found.sizes.tolist(), found.first_rows.tolist()[:-1], strict=True)
    assert (list(places), found.first_rows[-1]) == (pages, row)


@pytest.mark.parametrize("pages", [[], [(4, 10, 1)], [(4, 10, 0), (10, 10, 5)], [(4, 0, 0)], [(4, -1, 0)]])
def test_pages_that_cannot_be_are_refused(pages: list[tuple[int, int, int]]) -> None:
    with pytest.raises(ValueError, match="offset index"):
        decode_locations(encoded(pages), 100)


def test_an_index_with_a_page_without_rows_is_not_used() -> None:
    assert decode_locations(encoded([(4, 10, 0), (14, 10, 0)]), 100) is None
    assert decode_locations(encoded([(4, 10, 0), (14, 10, 100)]), 100) is None


@given(st.binary(max_size=60))
def test_any_bytes_are_an_index_or_refused(data: bytes) -> None:
    for decode in (decode_locations, decode_bounds):
        try:
            found = decode(data, 3)
        except ValueError:
            continue
        assert found is None or isinstance(found, PageLocations)


def test_bounds_of_another_number_of_pages_are_refused() -> None:
    lists = [List(TRUE, [False]), List(BINARY, [b"a"]), List(BINARY, [b"b" * 300])]
    index = encode_struct([Field(i + 1, LIST, values) for i, values in enumerate(lists)])
    assert decode_bounds(index, 1).highs == [b"b" * 300]
    with pytest.raises(ValueError, match="another number of pages"):
        decode_bounds(index, 2)


CUTS = st.lists(st.integers(1, 59), max_size=8, unique=True).map(lambda cuts: np.array([0, *sorted(cuts), 60]))


@given(st.lists(CUTS, min_size=1, max_size=3), st.lists(st.integers(0, 60), min_size=2, max_size=6, unique=True))
def test_rows_are_covered_by_whole_pages_of_every_leaf(firsts: list[np.ndarray], edges: list[int]) -> None:  # type: ignore[type-arg]
    edges = sorted(edges)[: len(edges) // 2 * 2]
    rows = list(zip(edges[::2], edges[1::2], strict=True))
    covered = covering(firsts, rows)
    assert all(any(a <= start and end <= b for a, b in covered) for start, end in rows)
    assert all(edge in cuts for span in covered for edge in span for cuts in firsts)
    assert all(a[1] < b[0] for a, b in itertools.pairwise(covered))
    if len(firsts) == 1:
        touched = [(a, b) for a, b in itertools.pairwise(firsts[0]) if any(a < y and x < b for x, y in rows)]
        assert sum(b - a for a, b in covered) == sum(b - a for a, b in touched)


@given(CUTS, CUTS, st.lists(st.none() | st.integers(0, 9), min_size=60, max_size=60))
def test_statistics_of_pieces_hold_for_their_rows(
    one: np.ndarray,  # type: ignore[type-arg]
    other: np.ndarray,  # type: ignore[type-arg]
    values: list[int | None],
) -> None:
    pages = [values[a:b] for a, b in itertools.pairwise(one)]
    present = [[value for value in page if value is not None] for page in pages]
    column = ColumnPages(
        one,
        [not page for page in present],
        [min(page, default=None) for page in present],
        [max(page, default=None) for page in present],
        [page.count(None) for page in pages],
    )
    empty = ColumnPages(other, [True] * (len(other) - 1), [None] * (len(other) - 1), [None] * (len(other) - 1), None)
    pieces = RowPieces({"a": column, "b": empty}, 60)
    assert pieces.cuts == sorted({*one.tolist(), *other.tolist()})
    for first in range(len(pieces)):
        for end in range(first + 1, len(pieces) + 1):
            rows = values[pieces.cuts[first] : pieces.cuts[end]]
            stats = pieces.stats(first, end, "a")
            assert stats is not None
            if stats.null_count is not None:
                assert stats.null_count == rows.count(None)
            for value in rows:
                assert value is None or (stats.minimum <= value <= stats.maximum)


def test_small_indexes_are_remembered_with_the_number_of_rows() -> None:
    small, large = ([(4 + 10 * n, 10, n) for n in range(count)] for count in (20, 5000))
    assert decode_locations(encoded(small), 20) is decode_locations(encoded(small), 20)
    assert decode_locations(encoded(large), 5000) is not decode_locations(encoded(large), 5000)
    first, other = decode_locations(encoded(small), 20), decode_locations(encoded(small), 30)
    assert first is not None
    assert other is not None
    assert (first.first_rows[-1], other.first_rows[-1]) == (20, 30)
