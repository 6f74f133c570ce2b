"""Leaves out data files that have none of the rows that come first in an order (``ORDER BY c LIMIT n``), by statistics.

Java: PaimonScanBuilder.pushTopN, TopNDataSplitEvaluator (2.0.0), which takes as many splits as rows are wanted. Here
the rows count that files surely have up to some value.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from paimon_spark.arrow.predicates.predicate import Predicate, columns_of
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.paths import file_format_of
from paimon_spark.format.types import FLOATS, INTEGERS, TIMESTAMPS, DataField, Root
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.file_statistics import FileStatistics
from paimon_spark.store.read.lenient_read import STRICT, tolerance
from paimon_spark.store.read.metadata_aggregates import has_exact_bounds, live_rows
from paimon_spark.store.read.splits import DeletionFile

_ORDERED = INTEGERS | FLOATS | TIMESTAMPS | {Root.DECIMAL, Root.DATE, Root.TIME, Root.BOOLEAN, Root.VARCHAR}
_MICROS = 6  # digits of a second that Spark orders times by


@dataclass(frozen=True)
class TopN:
    """The rows that are wanted: those that come first in the order of a column.

    Attributes:
        column: the name of a top-level column.
        count: how many, at least 1. Of rows with equal values any may be the last ones.
        descending: whether the greatest values come first. NaN is the greatest, as in Spark.
        nulls_first: whether NULL comes before all values.
        with_ties: whether all rows are wanted that have the same value as the last of the first rows, since more
            columns decide between them.
    """

    column: str
    count: int
    descending: bool = False
    nulls_first: bool = True
    with_ties: bool = False


def may_leave_out(first: TopN, table: Table, predicate: Predicate) -> bool:
    """True if files and rows that do not come first may be left out of a read.

    Args:
        first: what is wanted.
        table: what is read, with the options of the read.
        predicate: the condition of the read. Of partition columns alone it is decided when the read is planned; else
            rows that come first may not satisfy it.
    """
    field = table.schema.by_name.get(first.column)
    if field is None:  # the kind of a row
        return False
    data_type = field.type
    if data_type.root not in _ORDERED or (data_type.root in FLOATS and first.with_ties):  # -0.0 equals 0.0
        return False
    if data_type.root in TIMESTAMPS and (data_type.precision or 0) > _MICROS:
        return False
    if table.settings.data_evolution_enabled:  # the columns of a row may lie in several files
        return False
    return columns_of(predicate) <= set(table.schema.partition_keys) and tolerance(table.settings) == STRICT


@dataclass(frozen=True)
class PlacedRows:
    """A data file that needs no merge, with what tells its rows.

    Attributes:
        file: the file.
        directory: of its bucket.
        partition: arity-prefixed BinaryRow.
        deletion: the vector of its deleted rows; None: it has none.
    """

    file: DataFileMeta
    directory: str
    partition: bytes
    deletion: DeletionFile | None


@dataclass(frozen=True)
class _Ends:
    """What is known of the values in the rows that a read returns of a file.

    Attributes:
        least_nulls, least_values: so many rows are NULL, or are not, at least.
        has_nulls, has_values: whether there may be any.
        low, high: no value is less or greater; None: not known.
        are_values: whether low and high are values of such rows.
    """

    least_nulls: int
    least_values: int
    has_nulls: bool
    has_values: bool
    low: Any = None
    high: Any = None
    are_values: bool = False


def files_with_top_n(first: TopN, table: Table, files: Sequence[PlacedRows]) -> list[bool]:
    """For each file, True if it may have one of the rows that come first.

    Args:
        first: what is wanted; ``may_leave_out`` holds.
        table: what is read.
        files: of the read. What else is read does not count.

    Raises:
        CorruptFile: statistics are damaged.
    """
    known = _Statistics(first, table).of_all(files)
    counted = [ends for ends in known if ends is not None]
    wanted = first.count - (sum(ends.least_nulls for ends in counted) if first.nulls_first else 0)
    last = _last_value(first, wanted, counted) if wanted > 0 else None
    return [ends is None or _may_come_first(first, ends, wanted, last) for ends in known]


def _last_value(first: TopN, wanted: int, known: Iterable[_Ends]) -> Any:
    """A value up to which there are as many values as wanted; None: it is not known that there are so many."""
    steps: list[tuple[Any, int]] = []
    for ends in known:
        near, far = (ends.high, ends.low) if first.descending else (ends.low, ends.high)
        if ends.least_values and ends.are_values:
            steps += [(near, 1), (far, ends.least_values - 1)]
        elif ends.least_values and far is not None:
            steps.append((far, ends.least_values))
    steps.sort(key=itemgetter(0), reverse=first.descending)
    reached = itertools.accumulate(rows for _, rows in steps)
    return next((value for (value, _), rows in zip(steps, reached, strict=True) if rows >= wanted), None)


def _may_come_first(first: TopN, ends: _Ends, wanted: int, last: Any) -> bool:
    """True if a file may have one of the first rows.

    Args:
        first: what is wanted.
        ends: of the file.
        wanted: how many values are wanted; of 0 and less, there are enough rows that are NULL.
        last: as of _last_value.
    """
    if first.nulls_first and ends.has_nulls:
        return True
    if first.nulls_first and wanted <= 0:
        return False
    if last is None:
        return True
    near = ends.high if first.descending else ends.low
    if not ends.has_values:
        return False
    return near is None or bool(near >= last if first.descending else near <= last)


class _Statistics:
    """Reads what is known of the values of a column in files."""

    def __init__(self, first: TopN, table: Table) -> None:
        keys = table.schema.partition_keys
        self._field: DataField = table.schema.by_name[first.column]
        self._types = table.schema.partition_types
        self._place = keys.index(first.column) if first.column in keys else None
        self._statistics = FileStatistics((first.column,), table.schema, table.schemas.load)
        self._values: dict[bytes, Any] = {}

    def of_all(self, files: Iterable[PlacedRows]) -> list[_Ends | None]:
        """What is known of each file; None: nothing."""
        if self._field.type.root in FLOATS:  # NaN and -0.0 have an order of their own
            return [None for _ in files]
        return [self._of_partition(placed) if self._place is not None else self._of_file(placed) for placed in files]

    def _of_partition(self, placed: PlacedRows) -> _Ends | None:
        rows = live_rows(placed.file, placed.deletion)
        if placed.partition not in self._values:
            self._values[placed.partition] = decode_arity_row(placed.partition, self._types)[self._place or 0]
        value = self._values[placed.partition]
        if isinstance(rows, str):
            return None
        if value is None:
            return _Ends(rows, 0, has_nulls=rows > 0, has_values=False)
        return _Ends(0, rows, False, rows > 0, value, value, are_values=True)

    def _of_file(self, placed: PlacedRows) -> _Ends | None:
        file, rows = placed.file, live_rows(placed.file, placed.deletion)
        known = self._statistics.of_values(file).get(self._field.name)
        if isinstance(rows, str) or known is None or known.null_count is None or file.write_cols is not None:
            return None
        nulls, deleted = known.null_count, file.row_count - rows
        exact = known.minimum is not None and known.maximum is not None and not deleted
        return _Ends(
            max(0, nulls - deleted),
            max(0, rows - nulls),
            has_nulls=nulls > 0,
            has_values=nulls < file.row_count,
            low=known.minimum,
            high=known.maximum,
            are_values=exact and has_exact_bounds(self._field, file_format_of(file.file_name)),
        )
