"""The page indexes and pages of the column chunks of one file, read when they are asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow.parquet.footer_stats import FooterStats, bound_decoder, trusted_bounds
from paimon_spark.arrow.parquet.page_index import ColumnPages, PageLocations, RowPieces, decode_bounds, decode_locations
from paimon_spark.arrow.parquet.thrift_compact import Struct, find

_META_DATA, _OFFSET_INDEX, _COLUMN_INDEX, _CRYPTO = 3, (4, 5), (6, 7), 8  # of ColumnChunk
_TYPE = 1  # of ColumnMetaData
_LEAST_BYTES_OF_TWO = 17  # of an OffsetIndex with two pages: each has three fields of two bytes, and an end
ByteRange = tuple[int, int]  # the first byte, and how many
_GAP_BYTES = 2**16  # a request to a store costs about as much as this many bytes more
_AT_ONCE = 8


class ChunkPages:
    """The pages of one file.

    Its methods raise ValueError if a page index or the footer is damaged.
    """

    def __init__(self, source: pa.NativeFile, footer: FooterStats, is_remote: bool) -> None:
        """Reads nothing yet.

        Args:
            source: the file.
            footer: its footer.
            is_remote: whether each read may be a request to a store.
        """
        self._source = source
        self._footer = footer
        self._is_remote = is_remote
        self._locations: dict[tuple[int, int], PageLocations | None] = {}
        self._pieces: dict[tuple[int, frozenset[str]], RowPieces | None] = {}

    def pieces(self, group: int, columns: Collection[str]) -> RowPieces | None:
        """The rows of a row group cut at the pages of columns; None: none of these has a usable page index."""
        key = group, frozenset(columns)
        if key not in self._pieces:
            self._pieces[key] = self._cut(group, columns)
        return self._pieces[key]

    def _cut(self, group: int, columns: Collection[str]) -> RowPieces | None:
        leaves = {name: self._footer.leaf(name) for name in columns}
        indexed = {name: leaf for name, leaf in leaves.items() if leaf is not None and self._has_bounds(group, leaf[0])}
        self.look(group, [leaf for leaf, _ in indexed.values()])
        found = {name: pages for name, leaf in indexed.items() if (pages := self._column(group, *leaf)) is not None}
        return RowPieces(found, self._footer.row_count(group)) if found else None

    def look(self, group: int, leaves: Iterable[int]) -> None:
        """Reads where the pages of leaf columns are, of all at once."""
        new = [leaf for leaf in leaves if (group, leaf) not in self._locations]
        spans = {leaf: _span(self._footer.column_chunk(group, leaf), _OFFSET_INDEX) for leaf in new}
        with_index = {leaf: span for leaf, span in spans.items() if span is not None}
        read = read_ranges(self._source, list(with_index.values()), self._is_remote)
        for leaf in new:
            self._locations[group, leaf] = None
        for leaf, data in zip(with_index, read, strict=True):
            self._locations[group, leaf] = decode_locations(data, self._footer.row_count(group))

    def locations(self, group: int, leaf: int) -> PageLocations | None:
        """Where the pages of a leaf column are, which were looked at before; None: it is not known."""
        return self._locations[group, leaf]

    def _has_bounds(self, group: int, leaf: int) -> bool:
        """True if the chunk may have several pages, whose bounds are known."""
        chunk = self._footer.column_chunk(group, leaf)
        locations, bounds = _span(chunk, _OFFSET_INDEX), _span(chunk, _COLUMN_INDEX)
        if locations is None or bounds is None or locations[1] < _LEAST_BYTES_OF_TWO:
            return False
        return self._footer.has_type_order(leaf)

    def _column(self, group: int, leaf: int, arrow: pa.DataType) -> ColumnPages | None:
        """The bounds of the pages of a column; None if they are not known."""
        chunk = self._footer.column_chunk(group, leaf)
        locations, span = self.locations(group, leaf), _span(chunk, _COLUMN_INDEX)
        decode = bound_decoder(find(find(chunk, _META_DATA) or [], _TYPE), arrow)
        if locations is None or span is None or decode is None:
            return None
        (data,) = read_ranges(self._source, [span], self._is_remote)
        bounds = decode_bounds(data, len(locations))
        pages = zip(bounds.is_null, bounds.lows, bounds.highs, strict=True)
        values = [(None, None) if is_null else (decode(low), decode(high)) for is_null, low, high in pages]
        if pt.is_floating(arrow):
            values = [trusted_bounds(low, high, self._footer.by_java) for low, high in values]
        lows, highs = [low for low, _ in values], [high for _, high in values]
        return ColumnPages(locations.first_rows, bounds.is_null, lows, highs, bounds.nulls)


def _span(chunk: Struct, fields: tuple[int, int]) -> tuple[int, int] | None:
    """Where an index of a chunk is, and its size; None if it has none, or if it is encrypted."""
    offset, size = (find(chunk, field) for field in fields)
    if not offset or not size or find(chunk, _CRYPTO) is not None:
        return None
    return offset, size


def read_ranges(source: pa.NativeFile, ranges: Sequence[ByteRange], is_remote: bool) -> list[bytes]:
    """The bytes of each range.

    Args:
        source: the file.
        ranges: in any order; they may share bytes.
        is_remote: whether each read may be a request to a store: then near ranges are read as one, several at once.

    Raises:
        ValueError: the file ends before a range does.
    """
    if not is_remote:
        return [_read(source, each) for each in ranges]
    joined = _joined([each for each in ranges if each[1]])
    if len(joined) == 1:
        blocks = [_read(source, joined[0])]
    else:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            blocks = list(pool.map(lambda each: _read(source, each), joined))
    return [_within(joined, blocks, each) if each[1] else b"" for each in ranges]


def _read(source: pa.NativeFile, wanted: ByteRange) -> bytes:
    offset, size = wanted
    data = bytes(source.read_at(size, offset))
    if len(data) != size:
        raise ValueError(f"the file ends before byte {offset + size}")
    return data


def _joined(ranges: Sequence[ByteRange]) -> list[ByteRange]:
    """The ranges in order, those that are near to each other as one."""
    joined: list[ByteRange] = []
    for offset, size in sorted(ranges):
        if joined and offset <= sum(joined[-1]) + _GAP_BYTES:
            start = joined[-1][0]
            joined[-1] = (start, max(sum(joined[-1]), offset + size) - start)
        else:
            joined.append((offset, size))
    return joined


def _within(joined: Sequence[ByteRange], blocks: Sequence[bytes], wanted: ByteRange) -> bytes:
    offset, size = wanted
    for (start, length), block in zip(joined, blocks, strict=True):
        if start <= offset and offset + size <= start + length:
            return block[offset - start : offset - start + size]
    raise AssertionError("every range is in a block")
