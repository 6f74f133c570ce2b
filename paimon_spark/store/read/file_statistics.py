"""The statistics of columns that manifests hold of data files, in the schema of a read (format section 6).

Java: SimpleStatsEvolution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paimon_spark.arrow.statistics.column_stats import ColumnStats
from paimon_spark.errors import CorruptFile
from paimon_spark.format.avro.lanes import Bools, Ints
from paimon_spark.format.binary_row import row_decoder
from paimon_spark.format.manifest import DataFileMeta, SimpleStats
from paimon_spark.format.manifests.entry_files import EntryFiles, EntrySource
from paimon_spark.format.manifests.row_integers import WIDTHS, row_integers
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import TIMESTAMPS, DataField, DataType, Root
from paimon_spark.merge.keys.row_ids import ColumnFiles

_VALUE_STATS = ("_FILE", "_VALUE_STATS")
_EXACT_INTEGERS = WIDTHS.keys() - {Root.TIME}  # files may have finer times than statistics


@dataclass(frozen=True)
class _Layout:
    """The positions of the needed columns in the statistics rows of one kind of file.

    Attributes:
        decode: returns the values of the columns that are present, in the order of names.
        trust: turns the recorded minimum and maximum of the column at an index of names into valid bounds.
    """

    arity: int
    names: tuple[str, ...]
    positions: tuple[int, ...]
    absent: tuple[str, ...]
    decode: Callable[[bytes], tuple[Any, ...]]
    trust: Callable[[int, Any, Any], tuple[Any, Any]]


class FileStatistics:
    """Reads the statistics of some columns from the metadata of files, whichever schema these were written with.

    Statistics of a column whose type changed since the file was written count as unknown; a column that was added later
    is all null in the file.
    """

    def __init__(self, names: Iterable[str], schema: TableSchema, load: Callable[[int], TableSchema]) -> None:
        """The statistics of columns.

        Args:
            names: of top-level columns of schema.
            schema: the schema of the read.
            load: gives the schema of an id, for files that were written with another one.
        """
        self._names = tuple(sorted(names))
        self._schema = schema
        self._load = load
        self._layouts: dict[tuple[int, tuple[str, ...] | None, bool, bool], _Layout | None] = {}

    def of_keys(self, file: DataFileMeta) -> Mapping[str, ColumnStats]:
        """The statistics of the columns that are in the key; unknown ones are left out.

        Raises:
            CorruptFile: the statistics are damaged.
        """
        return self._of(file, file.key_stats, None, is_key=True)

    def of_values(self, file: DataFileMeta) -> Mapping[str, ColumnStats]:
        """The statistics of the columns; unknown ones are left out.

        Raises:
            CorruptFile: the statistics are damaged.
        """
        columns = file.value_stats_cols if file.value_stats_cols is not None else file.write_cols
        return self._of(file, file.value_stats, columns, is_key=False)

    def _of(
        self, file: DataFileMeta, stats: SimpleStats, columns: tuple[str, ...] | None, is_key: bool
    ) -> Mapping[str, ColumnStats]:
        shape = (file.schema_id, columns, is_key, file.file_name.endswith(".orc"))
        if shape not in self._layouts:
            self._layouts[shape] = self._layout(*shape)
        layout = self._layouts[shape]
        if layout is None:
            return {}
        try:
            return _column_stats(layout, stats, file.row_count)
        except CorruptFile as error:
            raise CorruptFile(f"reading the statistics of the data file {file.file_name}: {error}") from None

    def layout(self, schema_id: int, columns: tuple[str, ...] | None) -> _Layout | None:
        """The layout of the statistics of values, of which these columns have some; None: all of the schema."""
        shape = (schema_id, columns, False, False)
        if shape not in self._layouts:
            self._layouts[shape] = self._layout(*shape)
        return self._layouts[shape]

    def _layout(self, schema_id: int, columns: tuple[str, ...] | None, is_key: bool, is_orc: bool) -> _Layout | None:
        """The layout of the statistics; None if the file has none that match its schema."""
        schema = self._schema if schema_id == self._schema.id else self._load(schema_id)
        if is_key:
            stored: Sequence[DataField] = schema.key_fields
        elif columns is None:
            stored = schema.fields
        elif all(name in schema.by_name for name in columns):
            stored = [schema.by_name[name] for name in columns]
        else:
            return None
        places = {field.id: (position, field.type) for position, field in enumerate(stored)}
        known = {field.id for field in schema.fields}
        names, positions, absent = [], [], []
        for name in self._names:
            field = self._schema.by_name[name]
            if field.id not in known:
                absent.append(name)
            elif field.id in places and _same_type(places[field.id][1], field.type):
                names.append(name)
                positions.append(places[field.id][0])
        types = [field.type for field in stored]
        roots = [types[position].root for position in positions]
        return _Layout(
            len(types),
            tuple(names),
            tuple(positions),
            tuple(absent),
            row_decoder(types, positions),
            lambda i, low, high: _bounds(roots[i], is_orc, low, high),
        )


class EntryBounds:
    """The bounds of integer columns in many data files at once, from the columns of manifests."""

    def __init__(self, columns: Sequence[DataField], statistics: FileStatistics) -> None:
        """For what is wanted.

        Args:
            columns: of the schema of the read.
            statistics: of these columns.
        """
        self._columns = {column.name: column.type.root for column in columns}
        self._statistics = statistics
        self._is_covered = all(root in _EXACT_INTEGERS for root in self._columns.values())
        self._found: tuple[EntrySource, _KnownBounds] | None = None

    def find(self, files: EntryFiles) -> dict[str, tuple[int, int] | None] | None:
        """The least and the greatest value of each column in these files; None: it is null in all rows.

        Returns:
            None if the statistics of one of them are not plain: ``FileStatistics`` says then what they tell.
        """
        if not self._columns:
            return {}
        if not self._is_covered:
            return None
        if self._found is None or self._found[0] is not files.source:
            self._found = files.source, self._bounds(files.source)
        known, place = self._found[1], files.place
        if not known.is_plain[place].all():
            return None
        return {name: known.bounds(name, place) for name in self._columns}

    def _bounds(self, source: EntrySource) -> _KnownBounds:
        columns, chosen = source.columns, source.chosen
        found = _KnownBounds.of(self._columns, len(chosen))
        shapes, kinds = columns.stats_shapes(chosen)
        counts = columns.lists((*_VALUE_STATS, "_NULL_COUNTS"), chosen)
        for number, (schema_id, names) in enumerate(kinds):
            layout = self._statistics.layout(schema_id, names)
            of_shape = np.flatnonzero(shapes == number)
            if layout is None or len(layout.names) + len(layout.absent) < len(self._columns):
                found.is_plain[of_shape] = False
                continue
            for name, position in zip(layout.names, layout.positions, strict=True):
                place, entries, root = (layout.arity, position), chosen[of_shape], self._columns[name]
                least, has_least = row_integers(columns, (*_VALUE_STATS, "_MIN_VALUES"), entries, place, root)
                most, has_most = row_integers(columns, (*_VALUE_STATS, "_MAX_VALUES"), entries, place, root)
                of_column = [counts[i] for i in of_shape.tolist()]
                nulls = np.fromiter((_null_count(c, layout.arity, position) for c in of_column), np.int64, len(entries))
                rows = source.row_counts[of_shape]
                found.least[name][of_shape], found.most[name][of_shape] = least, most
                found.is_present[name][of_shape] = rows > 0
                found.is_plain[of_shape] &= (has_least & has_most & (nulls >= 0) & (nulls < rows)) | (rows == 0)
        return found


@dataclass(frozen=True)
class _KnownBounds:
    """Of each column and file its bounds, and whether it has a value; of each file whether all of them are known."""

    least: Mapping[str, Ints]
    most: Mapping[str, Ints]
    is_present: Mapping[str, Bools]
    is_plain: Bools

    @classmethod
    def of(cls, names: Iterable[str], count: int) -> _KnownBounds:
        least, most = ({name: np.zeros(count, np.int64) for name in names} for _ in range(2))
        return cls(least, most, {name: np.zeros(count, np.bool_) for name in names}, np.ones(count, np.bool_))

    def bounds(self, name: str, place: slice) -> tuple[int, int] | None:
        least, most, present = self.least[name][place], self.most[name][place], self.is_present[name][place]
        if not present.all():
            least, most = least[present], most[present]
        return (int(least.min()), int(most.max())) if len(least) else None


def _null_count(counts: tuple[Any, ...] | None, arity: int, position: int) -> int:
    """-1: it is not known."""
    if counts is None or len(counts) != arity or counts[position] is None:
        return -1
    return int(counts[position])


def ids_of_file(file: DataFileMeta, schema: TableSchema, load: Callable[[int], TableSchema]) -> frozenset[int]:
    """The ids of the columns that a file has; for schema and load see FileStatistics."""
    written = schema if file.schema_id == schema.id else load(file.schema_id)
    return frozenset(field.id for field in written.columns_of_file(file.write_cols))


class ColumnStatistics:
    """Reads the statistics of columns of rows whose columns lie in several files (Java: EvolutionStats)."""

    def __init__(self, files: FileStatistics, schema: TableSchema, load: Callable[[int], TableSchema]) -> None:
        """The statistics of columns; for arguments see FileStatistics."""
        self._files = files
        self._schema = schema
        self._load = load
        self._held: dict[tuple[int, tuple[str, ...] | None], frozenset[int]] = {}

    def of(self, group: ColumnFiles, name: str) -> ColumnStats | None:
        """What is known of a column: of its newest file, which alone counts; None: nothing.

        Raises:
            CorruptFile: the statistics are damaged.
        """
        field_id = self._schema.by_name[name].id
        for file in group.wide:
            if field_id in self._ids(file):
                return self._files.of_values(file).get(name)
        if any(field_id in self._ids(file) for file in group.parts):
            return None
        return ColumnStats(None, None, group.row_count)  # no file has it: all values are null

    def is_whole(self, group: ColumnFiles) -> bool:
        """True if the files have all columns that the schema of the newest one has."""
        files = (*group.wide, *group.parts)
        newest = max(files, key=lambda file: file.schema_id)
        held = frozenset[int]().union(*map(self._ids, files))
        return bool(group.wide) and self._ids(newest._replace(write_cols=None)) <= held

    def _ids(self, file: DataFileMeta) -> frozenset[int]:
        key = (file.schema_id, file.write_cols)
        if key not in self._held:
            self._held[key] = ids_of_file(file, self._schema, self._load)
        return self._held[key]


def _same_type(one: DataType, other: DataType) -> bool:
    return one.with_nullable(True) == other.with_nullable(True)


def _column_stats(layout: _Layout, stats: SimpleStats, row_count: int) -> Mapping[str, ColumnStats]:
    """The statistics of the columns by name; unknown ones are left out."""
    found = {name: ColumnStats(None, None, row_count) for name in layout.absent}
    if not layout.names:
        return found
    arity = layout.arity.to_bytes(4, "big")
    if stats.min_values[:4] != arity or stats.max_values[:4] != arity:
        return found
    counts = stats.null_counts
    if counts is not None and len(counts) != layout.arity:
        counts = None
    low = layout.decode(stats.min_values[4:])
    high = layout.decode(stats.max_values[4:])
    for i, (name, position) in enumerate(zip(layout.names, layout.positions, strict=True)):
        nulls = None if counts is None else counts[position]
        if nulls is not None and nulls < 0:
            # Releases before 2.0 store the -1 of a parquet footer without statistics, as of long texts. Bounds beside
            # it are those of other row groups.
            found[name] = ColumnStats(None, None, None)
            continue
        minimum, maximum = layout.trust(i, low[i], high[i])
        found[name] = ColumnStats(minimum, maximum, nulls)
    return found


_TWO_DAYS = 2 * 86_400 * 10**9
_GREGORIAN_DAY = -141_427  # 1582-10-15, the first day of the calendar that all writers share


def _bounds(root: Root, is_orc: bool, low: Any, high: Any) -> tuple[Any, Any]:
    """Bounds of the values that are read, from the recorded minimum and maximum.

    ORC pads CHAR with blanks that are removed on reading, shifts timestamps by time zones and by a second before the
    epoch, and counts days before 1582 in another calendar (format section 7.4).
    """
    if root is Root.CHAR and low is not None:
        return low.rstrip(" "), high
    if not is_orc or low is None or high is None or root not in _SHIFTED_BY_ORC:
        return low, high
    if root is Root.DATE:
        return (low, high) if low >= _GREGORIAN_DAY else (None, None)
    return (low - _TWO_DAYS, high + _TWO_DAYS) if low >= _GREGORIAN_DAY * 86_400 * 10**9 else (None, None)


_SHIFTED_BY_ORC = TIMESTAMPS | {Root.DATE}
