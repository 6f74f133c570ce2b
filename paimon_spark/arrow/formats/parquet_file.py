"""Reading parquet data files as streams of batches (format section 7.3)."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_spark.arrow.conform import Conform, conformer
from paimon_spark.arrow.formats.file_access import (
    RowGroup,
    RowRange,
    clipped,
    damaged,
    empty_batches,
    groups_with,
    positioned,
    reading,
    spans,
)
from paimon_spark.arrow.formats.patched_file import is_remote, native
from paimon_spark.arrow.formats.shared_maps import shared_map_conformer
from paimon_spark.arrow.parquet.chunk_pages import ChunkPages
from paimon_spark.arrow.parquet.footer_rewrites import int96_to_fixed, maps_as_structs
from paimon_spark.arrow.parquet.footer_stats import FooterStats
from paimon_spark.arrow.parquet.page_file import PageFiles
from paimon_spark.arrow.parquet.page_index import RowPieces
from paimon_spark.arrow.statistics.column_stats import ColumnStats
from paimon_spark.arrow.types import TYPED, VALUE, arrow_schema
from paimon_spark.errors import DataError
from paimon_spark.format.types import DataField

if TYPE_CHECKING:
    from paimon_spark.arrow.shredding.paths import PathColumn

_MAGIC = b"PAR1"
_REMOTE_WINDOW_BYTES = 64 * 2**20  # uncompressed
Column = Callable[[pa.RecordBatch], pa.Array]
_ROWS_AT_ONCE = 1 << 17


class ParquetReader:
    """One parquet file (see ``file_access.FileReader``). Decodes on the calling thread, a batch at a time."""

    def __init__(self, source: Any, where: str) -> None:
        self._where = where
        with reading(where), damaged(where):
            self._source = native(source)
            self._remote = is_remote(self._source)
            self._file, self._rewritten = _open(self._source, self._remote)
            self._schema: pa.Schema = self._file.schema_arrow
        self._metadata = self._file.metadata

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self._schema.names)  # Arrow makes all of them anew each time

    @property
    def row_count(self) -> int:
        return int(self._metadata.num_rows)

    @cached_property
    def row_groups(self) -> Sequence[RowGroup]:
        groups, first = [], 0
        for i in range(self._metadata.num_row_groups):
            rows = self._metadata.row_group(i).num_rows
            parts = (
                partial(self._stats, i),
                partial(self._part, i),
                partial(self._pieces, i),
                partial(self._count_pages, i),
            )
            groups.append(RowGroup(first, rows, *parts))
            first += rows
        return groups

    def read(
        self,
        columns: Sequence[DataField],
        batch_rows: int,
        row_groups: Sequence[int] | None = None,
        rows: Sequence[RowRange] | None = None,
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        schema = arrow_schema(columns)
        known = set(self.names)
        present = [name for name in schema.names if name in known]
        groups = groups_with(self.row_groups, row_groups, rows)
        if rows is not None:
            for group in groups:
                yield from self._rows(schema, present, batch_rows, group, clipped(rows, self.row_groups[group].rows))
            return
        for span in self._windows(groups):
            expected = sum(self.row_groups[i].row_count for i in span)
            batches = self._batches(schema, present, batch_rows, span, expected, self._parts(columns))
            yield from positioned(batches, self.row_groups[span[0]].first_row, expected, self._where)

    def _parts(self, columns: Sequence[DataField]) -> Mapping[str, list[str]]:
        """The columns of VARIANT of which only some parts are read, and the leaves that have these."""
        found: dict[str, list[str]] = {}
        asked = [column for column in columns if column.type.paths is not None and column.name in self._schema.names]
        if not asked:
            return found
        from paimon_spark.arrow.shredding.paths import columns_of_paths

        for column in asked:
            if column.type.paths is not None:
                leaves = columns_of_paths(self._schema.field(column.name), column.type.paths)
                if leaves is not None:
                    found[column.name] = leaves
        return found

    def _rows(
        self, schema: pa.Schema, present: Sequence[str], batch_rows: int, group: int, rows: Sequence[RowRange]
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Some rows of a row group, or all if it is not worth it to read pages one by one."""
        first, count = self.row_groups[group].first_row, self.row_groups[group].row_count
        if not self._reads_pages(group, present, rows):
            batches = self._batches(schema, present, batch_rows, [group], count)
            yield from positioned(batches, first, count, self._where)
            return
        parts = batches_of_rows(self._page_files, group, present, [(a - first, b - first) for a, b in rows], batch_rows)
        steps: list[Column] | None = None
        while True:
            with reading(self._where), damaged(self._where):
                start, batch = next(parts, (0, None))
                if batch is None:
                    return
                if steps is None:
                    steps = [self._column(field, batch.schema) for field in schema]
                arrays = [step(batch) for step in steps]
            yield first + start, pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _reads_pages(self, group: int, columns: Sequence[str], rows: Sequence[RowRange]) -> bool:
        """True if the pages of the rows are so few of the row group that it is worth it to read them one by one."""
        first = self.row_groups[group].first_row
        within = [(start - first, end - first) for start, end in rows]
        with reading(self._where), damaged(self._where):
            return self._page_files.has_pages(group, columns) and self._page_files.share(group, columns, within) <= 0.5

    def _count_pages(self, group: int, columns: Collection[str], rows: Sequence[RowRange] | None) -> int:
        present = [name for name in columns if name in self._schema.names]
        if rows is None or not self._reads_pages(group, present, rows):
            rows = [self.row_groups[group].rows]
        first = self.row_groups[group].first_row
        with reading(self._where), damaged(self._where):
            return self._page_files.count(group, present, [(start - first, end - first) for start, end in rows])

    def _windows(self, groups: Sequence[int]) -> Iterator[list[int]]:
        """Neighbouring row groups to read together; of remote files only as many as may be fetched at once."""
        for span in spans(groups):
            if not self._remote:
                yield span
                continue
            window, size = [span[0]], self._metadata.row_group(span[0]).total_byte_size
            for group in span[1:]:
                more = self._metadata.row_group(group).total_byte_size
                if size + more > _REMOTE_WINDOW_BYTES:
                    yield window
                    window, size = [], 0
                window.append(group)
                size += more
            yield window

    def close(self) -> None:
        self._file.close(force=True)
        self._source.close()

    def _batches(
        self,
        schema: pa.Schema,
        present: Sequence[str],
        batch_rows: int,
        span: Sequence[int],
        expected: int,
        parts: Mapping[str, list[str]] = MappingProxyType({}),
    ) -> Iterator[pa.RecordBatch]:
        if not present:
            yield from empty_batches(schema, expected, batch_rows)
            return
        with reading(self._where):
            leaves = [leaf for name in present for leaf in parts.get(name, [name])]
            batches = self._file.iter_batches(batch_rows, row_groups=list(span), columns=leaves, use_threads=False)
        steps: list[Column] | None = None
        while True:
            with reading(self._where):
                batch = next(batches, None)
                if batch is None:
                    return
                if steps is None:
                    steps = [self._column(field, batch.schema, field.name in parts) for field in schema]
                arrays = [step(batch) for step in steps]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _column(self, field: pa.Field, have: pa.Schema, is_part: bool = False) -> Column:
        index = have.get_field_index(field.name)
        if index < 0:
            return lambda batch: pa.nulls(batch.num_rows, field.type)
        if is_part:
            from paimon_spark.arrow.variant_rebuilding import whole_variants

            step: Conform | None = partial(whole_variants, is_part=True)
        else:
            step = shared_map_conformer(self._schema.field(field.name), field.type, self._where)
            step = step or conformer(have.field(index).type, field.type)
        if step is None:
            return lambda batch: batch.column(index)
        to_target = step

        def run(batch: pa.RecordBatch) -> pa.Array:
            try:
                return to_target(batch.column(index))
            except DataError as error:
                raise DataError(f"reading column '{field.name}' of data file {self._where}: {error}") from None
            except pa.ArrowInvalid as error:
                raise pa.ArrowInvalid(f"column '{field.name}': {error}") from error

        return run

    @cached_property
    def _footer_stats(self) -> FooterStats:
        return FooterStats(self._rewritten or _footer(self._source), self._schema)

    @cached_property
    def _chunk_pages(self) -> ChunkPages:
        return ChunkPages(self._source, self._footer_stats, self._remote)

    @cached_property
    def _page_files(self) -> PageFiles:
        return PageFiles(self._source, self._footer_stats, self._chunk_pages, self._remote)

    def _stats(self, group: int, column: str) -> ColumnStats | None:
        with reading(self._where), damaged(self._where):
            return self._footer_stats.chunk(group, column)

    def _part(self, group: int, part: PathColumn, column: str) -> ColumnStats | None:
        from paimon_spark.arrow.shredding.bounds import bounds_as
        from paimon_spark.arrow.shredding.paths import scalar_path

        where = None if len(part.names) < len(part.path) else scalar_path(self._schema.field(column), part.names)
        if where is None:
            return None
        with reading(self._where), damaged(self._where):
            rest = self._footer_stats.nested(group, (*where, VALUE))
            typed = self._footer_stats.nested(group, (*where, TYPED))
        rows = self.row_groups[group].row_count
        return None if rest is None or typed is None else bounds_as(part.field.type, *typed, rest[1], rows)

    def _pieces(self, group: int, columns: Collection[str]) -> RowPieces | None:
        with reading(self._where), damaged(self._where):
            return self._chunk_pages.pieces(group, columns)


def _open(source: pa.NativeFile, fetches_ahead: bool) -> tuple[pq.ParquetFile, bytes | None]:
    """The file as Arrow can read it: INT96 as bytes, maps of optional keys as structs; and the footer if rewritten."""
    options = {"page_checksum_verification": True, "pre_buffer": fetches_ahead}
    try:
        file = pq.ParquetFile(source, **options)
    except pa.ArrowInvalid:
        rewritten = _without_optional_keys(source)
        if rewritten is None:
            raise
        footer = rewritten
    else:
        leaves = range(file.metadata.num_columns)
        if all(file.schema.column(i).physical_type != "INT96" for i in leaves):
            return file, None
        footer = _footer(source)
    footer = int96_to_fixed(footer)
    around = b"".join((_MAGIC, footer, struct.pack("<I", len(footer)), _MAGIC))
    metadata = pq.read_metadata(pa.BufferReader(around))
    return pq.ParquetFile(source, metadata=metadata, **options), footer


def _without_optional_keys(source: pa.NativeFile) -> bytes | None:
    """The rewritten footer if Arrow refuses the file because of maps with optional keys; else None."""
    try:
        return maps_as_structs(_footer(source))
    except ValueError:  # there is no footer: Arrow's own error is more precise
        return None


def _footer(source: pa.NativeFile) -> bytes:
    end = source.size() - 8
    size = struct.unpack("<I", source.read_at(4, end))[0] if end > 0 else 0
    if size > end:
        raise ValueError("the parquet footer is longer than the file")
    return bytes(source.read_at(size, end - size)) if size else b""


def batches_of_rows(
    files: PageFiles, group: int, columns: Sequence[str], rows: Sequence[RowRange], batch_rows: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Batches of neighbouring rows, each with the number of its first row in the row group.

    Args:
        files: makes small files of the pages.
        group: the row group.
        columns: top-level columns of the file, of which ``has_pages`` is true.
        rows: of the row group, ascending and disjoint.
        batch_rows: the most rows of a batch.
    """
    for some in _some_at_once(rows):
        found = _Columns(files, group, columns, some)
        for start, end in some:
            for first in range(start, end, batch_rows):
                yield first, found.batch(first, min(first + batch_rows, end))


def _some_at_once(rows: Sequence[RowRange]) -> Iterator[list[RowRange]]:
    """The ranges in parts of not too many rows, which are held in memory together."""
    held: list[RowRange] = []
    count = 0
    for start, end in rows:
        for first in range(start, end, _ROWS_AT_ONCE):
            piece = (first, min(first + _ROWS_AT_ONCE, end))
            if held and count + piece[1] - piece[0] > _ROWS_AT_ONCE:
                yield held
                held, count = [], 0
            held.append(piece)
            count += piece[1] - piece[0]
    if held:
        yield held


class _Columns:
    """The columns of some rows, each of which may have more rows than the others."""

    def __init__(self, files: PageFiles, group: int, columns: Sequence[str], rows: Sequence[RowRange]) -> None:
        small = files.file_of(group, columns, rows)
        file = pq.ParquetFile(pa.BufferReader(small.data), page_checksum_verification=True, pre_buffer=False)
        self._names = list(columns)
        self._tables: dict[str, tuple[pa.Table, Sequence[RowRange]]] = {}
        for number, part in enumerate(small.row_groups):
            table = file.read_row_group(number, columns=list(part.columns), use_threads=False)
            self._tables.update(dict.fromkeys(part.columns, (table, part.rows)))

    def batch(self, start: int, end: int) -> pa.RecordBatch:
        """The rows from start to before end, which one of the ranges has."""
        arrays, fields = [], []
        for name in self._names:
            table, covered = self._tables[name]
            before = bisect_right(covered, start, key=lambda span: span[0]) - 1  # the range that has the rows
            at = sum(b - a for a, b in covered[:before]) + start - covered[before][0]
            chunks = table.column(name).slice(at, end - start)
            arrays.append(chunks.combine_chunks() if chunks.num_chunks != 1 else chunks.chunk(0))
            fields.append(table.schema.field(name))
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
