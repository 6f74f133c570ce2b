"""The contract of reading and writing one data file, the same for every format, and its two kinds of faults."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from paimon_spark.arrow.conform import batch_of
from paimon_spark.arrow.parquet.page_index import RowPieces
from paimon_spark.arrow.statistics.column_stats import ColumnStats
from paimon_spark.errors import CorruptFile, PaimonError
from paimon_spark.format.types import DataField

if TYPE_CHECKING:
    from paimon_spark.arrow.formats.shared_maps import SharedMap
    from paimon_spark.arrow.shredding.paths import PathColumn
    from paimon_spark.arrow.shredding.plans import Shredding

RowRange = tuple[int, int]
"""The number of the first row in a file, and that of the row after the last."""


_ASKED = re.compile(r"size (-?\d+)")
_MOST_AT_ONCE = 2**36
"""Bytes of one value of Arrow in memory. Those of a column within a row group end at 2 GB in parquet."""


def _no_stats(column: str) -> ColumnStats | None:
    return None


def _no_part(field: PathColumn, column: str) -> ColumnStats | None:
    return None


def _no_pages(columns: Collection[str]) -> RowPieces | None:
    return None


def _count_none(columns: Collection[str], rows: Sequence[RowRange] | None) -> int:
    return 0


@dataclass(frozen=True)
class RowGroup:
    """A part of a file that can be read alone (parquet row group, ORC stripe, or the whole of an Avro file).

    Attributes:
        stats: gives the statistics of a top-level column, by its name in the file; None if the file has none.
        part: gives the statistics of a part of the values of a VARIANT column of that name in the file, as those of the
            type that it is read as; None if they do not tell all of it.
        pages: gives the rows cut at the pages of columns; None if their pages are not known.
        count_pages: gives how many pages of columns a read of some rows decodes (None: of all rows), 0 if their pages
            are not known.
    """

    first_row: int
    row_count: int
    stats: Callable[[str], ColumnStats | None] = field(default=_no_stats)
    part: Callable[[PathColumn, str], ColumnStats | None] = field(default=_no_part)
    pages: Callable[[Collection[str]], RowPieces | None] = field(default=_no_pages)
    count_pages: Callable[[Collection[str], Sequence[RowRange] | None], int] = field(default=_count_none)

    @property
    def rows(self) -> RowRange:
        """Its rows in the file."""
        return self.first_row, self.first_row + self.row_count


class FileReader(Protocol):
    """One open data file. Closing it closes the source."""

    @property
    def names(self) -> tuple[str, ...]:
        """The top-level columns of the file."""

    @property
    def row_count(self) -> int:
        """The rows of the file."""

    @property
    def row_groups(self) -> Sequence[RowGroup]:
        """The parts of the file, in row order."""

    def read(
        self,
        columns: Sequence[DataField],
        batch_rows: int,
        row_groups: Sequence[int] | None = None,
        rows: Sequence[RowRange] | None = None,
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Batches of at most batch_rows rows in exactly ``arrow_schema(columns)``, each with its first row's position.

        Columns are found by name; a column that the file lacks is all nulls.

        Args:
            columns: the columns to read.
            batch_rows: the most rows of a batch.
            row_groups: ascending indices of the parts to read (None: all). The rows of a batch are neighbours in the
                file: no batch crosses a part that is left out.
            rows: ascending and disjoint ranges: other rows of these parts may be left out (None: no row). A format
                that cannot leave out rows returns the whole of each part that has one of them.

        Raises:
            CorruptFile: the file is truncated or damaged, or a column is not of its type.
        """

    def close(self) -> None:
        """Release the file."""


class FileWriter(Protocol):
    """One data file being written. The caller owns the sink: it closes, or deletes, after ``close``."""

    @property
    def bytes_estimate(self) -> int:
        """The size the file would have if closed now, roughly."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows; the batch has exactly ``arrow_schema(fields)``."""

    def close(self) -> None:
        """Write what is buffered and the footer; the sink stays open."""

    def stats(self) -> Mapping[str, ColumnStats]:
        """After ``close``: bounds and null counts of the columns that are not nested, by name."""


@dataclass(frozen=True)
class WriteSettings:
    """How to write data files.

    Attributes:
        compression: zstd, snappy, lz4, gzip, brotli or none; not every format has all of them.
        zstd_level: the level for zstd.
        row_group_rows: the rows of a parquet row group.
        block_size: the bytes of a row group or stripe; None: the default of the format.
        dictionary: parquet dictionaries for every column (True), for none (False), or where they save space (None).
        shredding: which parts of VARIANT values get columns of their own; None: they are stored whole.
        shared_maps: the maps whose keys share columns.
    """

    compression: str = "zstd"
    zstd_level: int = 1
    row_group_rows: int = 131072
    block_size: int | None = None
    dictionary: bool | None = None
    shredding: Shredding | None = None
    shared_maps: tuple[SharedMap, ...] = ()

    def of_one_writer(self) -> WriteSettings:
        """The same for files that one writer writes one after the other."""
        return self if self.shredding is None else replace(self, shredding=self.shredding.of_one_writer())


@contextmanager
def reading(where: str) -> Iterator[None]:
    """Turns decoding errors within the block into CorruptFile; storage errors and our own errors pass unchanged.

    Arrow reports undecodable bytes as ArrowInvalid and its relatives, or as a plain OSError without errno. An error of
    the storage has an errno, or is of another type, raised by the file object itself. Where memory lacks for what a
    good file may ask for, nothing is known of the file: ArrowMemoryError, a MemoryError, passes.
    """
    try:
        yield
    except pa.ArrowMemoryError as error:
        if not _is_out_of_reach(error):
            raise
        raise CorruptFile(_message(where, error)) from error
    except pa.ArrowException as error:
        raise CorruptFile(_message(where, error)) from error
    except OSError as error:
        if type(error) is not OSError or error.errno is not None:
            raise
        raise CorruptFile(_message(where, error)) from error


def _is_out_of_reach(error: pa.ArrowMemoryError) -> bool:
    """True if more was asked for than any good file needs at once: its bytes name a size that is none."""
    asked = _ASKED.search(str(error))
    return asked is not None and not 0 <= int(asked[1]) <= _MOST_AT_ONCE


def _message(where: str, error: Exception) -> str:
    return (
        f"reading data file {where}: the file is damaged or not what its name says ({error}); "
        "restore it from a copy, or travel to a snapshot that does not use it"
    )


@contextmanager
def damaged(where: str) -> Iterator[None]:
    """Turns ValueError, which our own decoders raise for invalid bytes, into CorruptFile."""
    try:
        yield
    except pa.ArrowException:
        raise
    except (ValueError, IndexError, struct.error) as error:
        if isinstance(error, PaimonError):
            raise
        raise CorruptFile(_message(where, error)) from error


def spans(groups: Sequence[int]) -> Iterator[list[int]]:
    """Splits row group indices into runs of neighbours; a batch may span the groups of one run."""
    span: list[int] = []
    for group in groups:
        if span and group != span[-1] + 1:
            yield span
            span = []
        span.append(group)
    if span:
        yield span


def clipped(rows: Sequence[RowRange], part: RowRange) -> list[RowRange]:
    """What of ascending ranges of rows is in a range."""
    first, end = part
    return [(max(a, first), min(b, end)) for a, b in rows if a < end and b > first]


def groups_with(
    parts: Sequence[RowGroup], row_groups: Sequence[int] | None, rows: Sequence[RowRange] | None
) -> Sequence[int]:
    """Those of some row groups of a file (None: all) that have a row of some ranges (None: all)."""
    groups = range(len(parts)) if row_groups is None else row_groups
    return groups if rows is None else [group for group in groups if clipped(rows, parts[group].rows)]


def positioned(
    batches: Iterator[pa.RecordBatch], first: int, expected: int, where: str
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Batches of neighbouring row groups with the positions of their first rows.

    Raises:
        CorruptFile: there are not as many rows as the file promises.
    """
    position = first
    for batch in batches:
        yield position, batch
        position += batch.num_rows
    if position - first != expected:
        raise CorruptFile(
            f"reading data file {where}: {position - first} rows from row {first} on, but the file promises "
            f"{expected}; it is damaged: restore it from a copy, or travel to a snapshot that does not use it"
        )


def empty_batches(schema: pa.Schema, rows: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Batches of nulls, or without columns, for a read of which the file has no column."""
    for start in range(0, rows, batch_rows):
        count = min(batch_rows, rows - start)
        yield batch_of([pa.nulls(count, field.type) for field in schema], schema, count)
