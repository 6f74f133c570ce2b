"""Footers are decoded once where rows are looked up again and again, and few of them are kept."""

from __future__ import annotations

import gc
import io
import weakref

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_spark.arrow.parquet.footer_stats import FooterStats, FooterTree


def parquet_footer(groups: int, first: int) -> tuple[bytes, pa.Schema]:
    """The footer of a file of 8 columns and so many row groups."""
    rows = pa.table({f"c{number}": np.arange(first, first + groups) for number in range(8)})
    file = io.BytesIO()
    pq.write_table(rows, file, row_group_size=1)
    data = file.getvalue()
    size = int.from_bytes(data[-8:-4], "little")
    return data[-8 - size : -8], rows.schema


@pytest.mark.parametrize(("groups", "is_kept"), [(1, True), (200, True), (500, True), (1000, False)])
def test_a_footer_is_decoded_once(groups: int, is_kept: bool) -> None:
    footer, schema = parquet_footer(groups, 0)
    assert (len(footer) <= 2**19) == is_kept
    first, again = FooterStats(footer, schema), FooterStats(bytes(bytearray(footer)), schema)
    assert (first.footer is again.footer) == is_kept
    assert again.chunk(groups - 1, "c7") == first.chunk(groups - 1, "c7")


def test_few_large_footers_are_kept() -> None:
    kept: list[weakref.ref[FooterTree]] = []
    for number in range(6):
        footer, schema = parquet_footer(200, number)
        kept.append(weakref.ref(FooterStats(footer, schema).footer))
    gc.collect()
    assert [tree() is not None for tree in kept] == [False, False, True, True, True, True]
