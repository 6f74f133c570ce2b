"""Page indexes that must not be used: of encrypted columns, and of bounds in an order that is not known."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_spark.arrow.formats.parquet_writer import footer_of
from paimon_spark.arrow.parquet.chunk_pages import ChunkPages
from paimon_spark.arrow.parquet.footer_stats import FooterStats
from paimon_spark.arrow.parquet.page_file import PageFiles
from paimon_spark.arrow.parquet.thrift_compact import STRUCT, Field, decode_struct, encode_struct, find

COLUMNS = ("a", "b")


def opened(encrypted: bool = False, orders: list[int] | None = None) -> tuple[ChunkPages, PageFiles]:
    """A file of two columns and ten pages each; column a may be encrypted, and columns have other orders."""
    sink = io.BytesIO()
    numbers = pa.array(range(100), pa.int64())
    options = {"data_page_size": 8, "write_batch_size": 10, "use_dictionary": False}
    table = pa.table([numbers, numbers], names=list(COLUMNS))
    pq.write_table(table, sink, write_page_index=True, store_schema=False, **options)
    source = pa.BufferReader(sink.getvalue())
    tree = decode_struct(footer_of(sink.getvalue()))
    if encrypted:
        find(find(tree, 4).values[0], 1).values[0].append(Field(8, STRUCT, []))
    if orders is not None:
        find(tree, 7).values[:] = [[Field(order, STRUCT, [])] for order in orders]
    footer = FooterStats(encode_struct(tree), table.schema)
    pages = ChunkPages(source, footer, is_remote=False)
    return pages, PageFiles(source, footer, pages, is_remote=False)


def test_pages_of_both_columns_are_known() -> None:
    pages, files = opened()
    pieces = pages.pieces(0, COLUMNS)
    assert pieces is not None
    assert pieces.cuts == list(range(0, 101, 10))
    stats = pieces.stats(3, 5, "b")
    assert stats is not None
    assert (stats.minimum, stats.maximum, stats.null_count) == (30, 49, 0)
    assert files.has_pages(0, COLUMNS)
    assert files.share(0, COLUMNS, [(5, 12)]) == pytest.approx(0.2)
    assert files.count(0, COLUMNS, [(5, 12)]) == 4


def test_encrypted_columns_have_no_pages() -> None:
    pages, files = opened(encrypted=True)
    assert pages.pieces(0, ["a"]) is None
    assert pages.pieces(0, ["b"]) is not None
    assert not files.has_pages(0, COLUMNS)
    assert files.has_pages(0, ["b"])


def test_bounds_of_another_order_are_not_used() -> None:
    pages, files = opened(orders=[2, 1])
    assert pages.pieces(0, ["a"]) is None
    assert pages.pieces(0, ["b"]) is not None
    assert files.has_pages(0, COLUMNS)
