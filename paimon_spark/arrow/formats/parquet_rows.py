"""Reads some rows of a row group from the pages that have them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_spark.arrow.parquet.page_file import PageFiles, RowRange

_ROWS_AT_ONCE = 1 << 17


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
