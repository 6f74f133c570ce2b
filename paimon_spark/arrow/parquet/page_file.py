"""Makes a small parquet file of some pages of a row group, for a reader that cannot leave out pages.

The pages are copied as they are, after the dictionary page of their chunk. The pages of two columns rarely begin with
the same rows, so each column has those pages that have the wanted rows, and columns that have the same rows are a row
group of the small file.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.parquet.chunk_pages import ByteRange, ChunkPages, read_ranges
from paimon_spark.arrow.parquet.footer_stats import FooterStats
from paimon_spark.arrow.parquet.page_index import Ints, PageLocations
from paimon_spark.arrow.parquet.thrift_compact import (
    BINARY,
    I32,
    I64,
    LIST,
    STRUCT,
    Encoded,
    Field,
    List,
    Struct,
    decode_struct,
    encode_struct,
    encoded,
    find,
)

RowRange = tuple[int, int]  # the first row, and the one after the last
MAGIC = b"PAR1"
_NUM_ROWS, _ROW_GROUPS = 3, 4  # of FileMetaData
_META_DATA, _CRYPTO = 3, 8  # of ColumnChunk
_KEPT = (1, 2, 3, 4)  # of ColumnMetaData: type, encodings, path, codec
_NUM_VALUES, _PLAIN_SIZE, _SIZE, _DATA_PAGE, _DICTIONARY_PAGE = 5, 6, 7, 9, 11  # of ColumnMetaData
_DATA_HEADERS = (5, 8)  # of PageHeader: version 1 and 2, each with the number of values in field 1
_NO_CHUNK = encoded(STRUCT, [Field(2, I64, 0), Field(3, STRUCT, [Field(1, I32, 0), Field(2, LIST, List(I32, [])),
    Field(3, LIST, List(BINARY, [])), *(Field(i, I64 if i > 4 else I32, 0) for i in (4, 5, 6, 7, 9))])])  # fmt: skip


@dataclass(frozen=True)
class PagesOfColumns:
    """A row group of a small file.

    Attributes:
        columns: the top-level columns that it has.
        rows: the rows of the original row group that it has, ascending; no range touches the next one.
    """

    columns: tuple[str, ...]
    rows: tuple[RowRange, ...]


@dataclass(frozen=True)
class PageFile:
    """A small parquet file, with its row groups."""

    data: bytes
    row_groups: tuple[PagesOfColumns, ...]


@dataclass(frozen=True)
class _Chunk:
    """The pages of a leaf column that a small file has.

    Attributes:
        dictionary: the bytes from the begin of the chunk to its first data page; their number may be 0.
        pages: the bytes of the data pages.
        values: the values in the pages; None: as many as their headers say.
    """

    meta_data: Struct
    dictionary: ByteRange
    pages: list[ByteRange]
    values: int | None


class PageFiles:
    """Makes small files of the pages of one file. Its methods raise ValueError if the footer or an index is damaged."""

    def __init__(self, source: pa.NativeFile, footer: FooterStats, pages: ChunkPages, is_remote: bool) -> None:
        self._source = source
        self._footer = footer
        self._pages = pages
        self._is_remote = is_remote

    def has_pages(self, group: int, columns: Sequence[str]) -> bool:
        """True if it is known where the pages of one of the columns are, and none is encrypted."""
        leaves = [leaf for column in columns for leaf in self._footer.leaves(column)]
        if any(find(self._footer.column_chunk(group, leaf), _CRYPTO) is not None for leaf in leaves):
            return False
        self._pages.look(group, leaves)
        return any(self._pages.locations(group, leaf) is not None for leaf in leaves)

    def share(self, group: int, columns: Sequence[str], rows: Sequence[RowRange]) -> float:
        """How much of the columns is in the pages of some rows: 1 is all. ``has_pages`` is true of the columns."""
        total = 0
        for column in columns:
            firsts = [self._locations(group, leaf).first_rows for leaf in self._footer.leaves(column)]
            total += sum(end - start for start, end in covering(firsts, rows))
        return total / (len(columns) * self._footer.row_count(group))

    def count(self, group: int, columns: Sequence[str], rows: Sequence[RowRange]) -> int:
        """How many pages have some rows of columns, without those whose pages are not known."""
        self._pages.look(group, [leaf for column in columns for leaf in self._footer.leaves(column)])
        total = 0
        for column in columns:
            known = [self._pages.locations(group, leaf) for leaf in self._footer.leaves(column)]
            firsts = [locations.first_rows for locations in known if locations is not None]
            covered = covering(firsts, rows)
            total += sum(len(_chosen(first_rows, covered)) for first_rows in firsts)
        return total

    def file_of(self, group: int, columns: Sequence[str], rows: Sequence[RowRange]) -> PageFile:
        """The pages that have some rows, of columns of which ``has_pages`` is true.

        Args:
            group: the row group.
            columns: the wanted top-level columns.
            rows: of the row group, ascending and disjoint.
        """
        columns_of: dict[tuple[RowRange, ...], list[str]] = {}
        for column in columns:
            leaves = self._footer.leaves(column)
            covered = covering([self._locations(group, leaf).first_rows for leaf in leaves], rows)
            columns_of.setdefault(covered, []).append(column)
        groups = tuple(PagesOfColumns(tuple(names), covered) for covered, names in columns_of.items())
        chunks = [
            {
                leaf: self._chunk(group, leaf, each.rows, is_flat=self._footer.leaf(column) is not None)
                for column in each.columns
                for leaf in self._footer.leaves(column)
            }
            for each in groups
        ]
        return PageFile(self._bytes(groups, chunks), groups)

    def _locations(self, group: int, leaf: int) -> PageLocations:
        """Where the pages of a leaf column are; without a usable index the whole chunk counts as one page."""
        found = self._pages.locations(group, leaf)
        if found is not None:
            return found
        meta_data = self._meta_data(group, leaf)
        begin, size = (np.array([value], np.int64) for value in (_first_byte(meta_data), find(meta_data, _SIZE)))
        return PageLocations(begin, size, np.array([0, self._footer.row_count(group)], np.int64))

    def _meta_data(self, group: int, leaf: int) -> Struct:
        found = find(self._footer.column_chunk(group, leaf), _META_DATA)
        if found is None:
            raise ValueError("the footer lacks the place of a column chunk")
        meta_data: Struct = found
        return meta_data

    def _chunk(self, group: int, leaf: int, rows: Sequence[RowRange], is_flat: bool) -> _Chunk:
        meta_data, locations = self._meta_data(group, leaf), self._locations(group, leaf)
        chosen = _chosen(locations.first_rows, rows)
        begin, first = _first_byte(meta_data), int(locations.offsets[0])
        pages = list(zip(locations.offsets[chosen].tolist(), locations.sizes[chosen].tolist(), strict=True))
        values = sum(end - start for start, end in rows) if is_flat else None
        if self._pages.locations(group, leaf) is None:
            values = find(meta_data, _NUM_VALUES)
        return _Chunk(meta_data, (begin, first - begin), pages, values)

    def _bytes(self, groups: Sequence[PagesOfColumns], chunks: Sequence[dict[int, _Chunk]]) -> bytes:
        ranges = [span for each in chunks for chunk in each.values() for span in (chunk.dictionary, *chunk.pages)]
        read = iter(read_ranges(self._source, ranges, self._is_remote))
        body, size = [MAGIC], len(MAGIC)
        row_groups = []
        for group, each in zip(groups, chunks, strict=True):
            structs: list[Struct | Encoded] = [_NO_CHUNK] * self._footer.leaf_count
            for leaf, chunk in each.items():
                dictionary, pages = next(read), [next(read) for _ in chunk.pages]
                structs[leaf] = _chunk_struct(chunk, dictionary, pages, size)
                body += [dictionary, *pages]
                size += len(dictionary) + sum(map(len, pages))
            row_groups.append(_row_group(structs, sum(end - start for start, end in group.rows)))
        rows = sum(find(group, 3) for group in row_groups)
        changed = [Field(_NUM_ROWS, I64, rows), Field(_ROW_GROUPS, LIST, List(STRUCT, row_groups))]
        footer = encode_struct(sorted([*self._footer.footer.encoded_rest, *changed], key=lambda field: field.id))
        return b"".join([*body, footer, struct.pack("<I", len(footer)), MAGIC])


def covering(first_rows: Sequence[Ints], rows: Sequence[RowRange]) -> tuple[RowRange, ...]:
    """The rows of the pages that have some rows, in every leaf of a column the same.

    Args:
        first_rows: for each leaf the first row of each page, then the number of all rows.
        rows: ascending and disjoint.

    Returns:
        Ascending ranges that do not touch.
    """
    covered = tuple(rows)
    while True:
        wider = covered
        for firsts in first_rows:
            wider = _of_pages(firsts, wider)
        if wider == covered:
            return covered
        covered = wider


def _chosen(first_rows: Ints, covered: Sequence[RowRange]) -> Ints:
    """The numbers of the pages of some rows, whose ranges begin and end with pages."""
    return np.concatenate([np.arange(*np.searchsorted(first_rows, span)) for span in covered])


def _of_pages(firsts: Ints, rows: Sequence[RowRange]) -> tuple[RowRange, ...]:
    table = np.array(rows, np.int64).reshape(-1, 2)
    starts = firsts[np.searchsorted(firsts, table[:, 0], side="right") - 1].tolist()
    ends = firsts[np.searchsorted(firsts, table[:, 1], side="left")].tolist()
    joined: list[RowRange] = []
    for start, end in zip(starts, ends, strict=True):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(joined)


def _first_byte(meta_data: Struct) -> int:
    """Where a chunk begins: with its dictionary page, if it has one."""
    data_page, dictionary = find(meta_data, _DATA_PAGE), find(meta_data, _DICTIONARY_PAGE)
    return int(min(dictionary, data_page)) if dictionary else int(data_page)


def _values(page: bytes) -> int:
    """The number of values that the header of a data page names; nested columns have other numbers than rows."""
    header = decode_struct(page)
    found = next((data for field in _DATA_HEADERS if (data := find(header, field)) is not None), None)
    if found is None:
        raise ValueError("the offset index names a page that is no data page")
    return int(find(found, 1))


def _chunk_struct(chunk: _Chunk, dictionary: bytes, pages: Sequence[bytes], at: int) -> Struct:
    size = len(dictionary) + sum(map(len, pages))
    values = sum(map(_values, pages)) if chunk.values is None else chunk.values
    meta_data = [field for field in chunk.meta_data if field.id in _KEPT]
    meta_data += [Field(_NUM_VALUES, I64, values), Field(_PLAIN_SIZE, I64, size), Field(_SIZE, I64, size)]
    meta_data.append(Field(_DATA_PAGE, I64, at + len(dictionary)))
    if dictionary:
        meta_data.append(Field(_DICTIONARY_PAGE, I64, at))
    return [Field(2, I64, at), Field(3, STRUCT, meta_data)]


def _row_group(chunks: list[Struct | Encoded], rows: int) -> Struct:
    return [Field(1, LIST, List(STRUCT, chunks)), Field(2, I64, 0), Field(3, I64, rows)]
