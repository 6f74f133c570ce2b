"""What metadata tell of the rows of a plan: their number, and the least and the greatest value of columns.

Java: DataSplit.mergedRowCount, PushDownUtils (2.0.0). Java answers for floats too, although their statistics leave out
NaN, the greatest value; this module does not. Statistics of texts and bytes may be cut, and are no values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from paimon_spark.arrow.predicates.predicate import Predicate, columns_of
from paimon_spark.arrow.statistics.column_stats import ColumnStats
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.bucket import Partition
from paimon_spark.format.manifest import EMPTY_ROW, DataFileMeta
from paimon_spark.format.manifests.entry_files import EntryFiles
from paimon_spark.format.paths import file_format_of
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.types import FLOATS, TIMESTAMPS, DataField, Root
from paimon_spark.merge.keys.row_ids import column_files
from paimon_spark.merge.keys.sections import Section
from paimon_spark.store.metadata.live_files import canonical_row
from paimon_spark.store.read.file_statistics import EntryBounds, FileStatistics
from paimon_spark.store.read.splits import DeletionFile, ReadUnit, Split

if TYPE_CHECKING:
    from paimon_spark.store.metadata.table import Table

_EXACT = frozenset({Root.BOOLEAN, Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT, Root.DATE})
_NOT_BY_PARTITION = FLOATS | {Root.CHAR}  # NaN and -0.0 have an order of their own; blanks at the end may be padding
_SHORT_DECIMAL = 18  # digits that files store as an integer
_MICROS = 6  # digits of seconds that parquet stores as an integer; finer times are INT96, without statistics
_MERGED = "rows of several files must be merged"

Bounds = tuple[Any, Any]
"""The least and the greatest of some values, as internal values."""


@dataclass
class GroupTotals:
    """What is known of the rows of a partition.

    Attributes:
        rows: their number.
        bounds: of columns by name; of a column that is NULL in all rows there are none.
    """

    rows: int = 0
    bounds: dict[str, Bounds] = field(default_factory=dict)

    def add(self, name: str, low: Any, high: Any) -> None:
        """Notes that the column has these values."""
        known = self.bounds.get(name)
        self.bounds[name] = (low, high) if known is None else (min(low, known[0]), max(high, known[1]))


@dataclass(frozen=True)
class MetadataAggregates:
    """What metadata tell of a plan.

    Attributes:
        snapshot: the state; None: the table has none.
        partitions: what is known of the rows of each partition, without those of the rest.
        files: how many files these are of.
        rest: holds all other rows, which must be read.
        reasons: why so, with the numbers of files.
    """

    snapshot: Snapshot | None
    partitions: Mapping[Partition, GroupTotals]
    files: int
    rest: Sequence[ReadUnit]
    reasons: Counter[str]

    @property
    def rows(self) -> int:
        """The number of rows that are not in the rest."""
        return sum(group.rows for group in self.partitions.values())

    @property
    def why(self) -> tuple[str, ...]:
        """The reasons in words, that of most files first."""
        words = self.reasons.most_common()
        return tuple(f"{reason} ({count} {'file' if count == 1 else 'files'})" for reason, count in words)


def metadata_aggregates(
    table: Table,
    predicate: Predicate,
    snapshot: Snapshot | None,
    units: Sequence[ReadUnit],
    columns: Sequence[DataField],
    refusal: str | None,
) -> MetadataAggregates:
    """What metadata tell of the rows of a plan that satisfy its condition.

    Args:
        table: what is planned, with the options of the read.
        predicate: the condition of the plan; on columns that are no partition columns metadata do not decide it.
        snapshot, units: of the plan; with the statistics of their files, where columns are given.
        columns: whose bounds are wanted; a file whose bounds of one are not known is part of the rest.
        refusal: why nothing is known, in words; None: it may be.

    Raises:
        CorruptFile: statistics are damaged.
    """
    if refusal is None and not columns_of(predicate) <= set(table.schema.partition_keys):
        refusal = "the condition is not on partition columns alone"
    return _Reading(table, columns).totals(snapshot, units, refusal)


def live_rows(file: DataFileMeta, deletion: DeletionFile | None) -> int | str:
    """How many rows a read returns of a file that needs no merge; or in words why that is not known."""
    if file.delete_row_count != 0 and file.min_key != EMPTY_ROW:  # append tables have no rows that delete
        return "files may have rows that delete others"
    if deletion is not None and deletion.cardinality is None:
        return "it is not recorded how many rows deletion vectors delete"
    return file.row_count - (0 if deletion is None else deletion.cardinality or 0)


def has_exact_bounds(column: DataField, file_format: str) -> bool:
    """True if recorded bounds of a column are values that occur in the file, where there are any."""
    root = column.type.root
    if root in TIMESTAMPS:
        return file_format == "parquet" and (_MICROS if column.type.precision is None else column.type.precision) <= 6
    if root is Root.DECIMAL:
        return (column.type.precision or 10) <= _SHORT_DECIMAL
    return root in _EXACT


class _Reading:
    """Reads metadata of the files of one plan."""

    def __init__(self, table: Table, columns: Sequence[DataField]) -> None:
        keys = table.schema.partition_fields
        self._types = table.schema.partition_types
        self._keys = [(i, f.name) for i, f in enumerate(keys) if f in columns and f.type.root not in _NOT_BY_PARTITION]
        by_partition = {name for _, name in self._keys}
        self._columns = [column for column in columns if column.name not in by_partition]
        self._statistics = FileStatistics([c.name for c in self._columns], table.schema, table.schemas.load)
        self._entry_bounds = EntryBounds(self._columns, self._statistics)
        self._is_evolved = table.settings.data_evolution_enabled
        self._canonical: dict[bytes, Partition] = {}
        self._groups: dict[Partition, GroupTotals] = {}
        self._files = 0
        self._rest: list[ReadUnit] = []
        self._reasons: Counter[str] = Counter()

    def totals(self, snapshot: Snapshot | None, units: Sequence[ReadUnit], refusal: str | None) -> MetadataAggregates:
        for unit in units:
            if refusal is not None or not isinstance(unit, Split):
                self._leave(unit, refusal or _MERGED)
            elif unit.branch is not None and self._columns:
                self._leave(unit, "statistics of another branch are not looked at")
            else:
                self._add(unit)
        for partition, group in self._groups.items():
            values = decode_arity_row(partition, self._types) if self._keys and group.rows else ()
            for i, name in self._keys if values else ():
                if values[i] is not None:
                    group.add(name, values[i], values[i])
        return MetadataAggregates(snapshot, self._groups, self._files, self._rest, self._reasons)

    def _leave(self, unit: ReadUnit, reason: str) -> None:
        self._rest.append(unit)
        self._reasons[reason] += unit.file_count

    def _add(self, split: Split) -> None:
        group = self._groups.setdefault(self._partition(split.partition), GroupTotals())
        left: list[DataFileMeta] = []
        raw_files = split.raw_files
        if isinstance(raw_files, EntryFiles) and not split.deletions:
            bounds = self._entry_bounds.find(raw_files)
            if bounds is not None:
                group.rows += sum(raw_files.row_counts)  # as live_rows: they have no keys, so no rows that delete
                self._files += len(raw_files)
                raw_files = ()
                for name, known in bounds.items():
                    if known is not None:
                        group.add(name, *known)
        for file in raw_files:
            reason = self._add_file(group, file, split.deletions.get(file.file_name))
            if reason is None:
                self._files += 1
            else:
                left.append(file)
                self._reasons[reason] += 1
        sections = self._sections_left(group, split)
        if left or sections:
            rest = replace(split, raw_files=tuple(left), sections=sections)
            if sections:
                self._reasons[_MERGED] += rest.file_count - len(left)
            self._rest.append(rest)

    def _sections_left(self, group: GroupTotals, split: Split) -> tuple[Section, ...]:
        """The sections that must be read. With data evolution the files of a section have columns of the same rows."""
        if not self._is_evolved or self._columns:
            return split.sections
        left: list[Section] = []
        for section in split.sections:
            files = column_files(section)
            deletion = None if files.anchor is None else split.deletions.get(files.anchor.file_name)
            deleted = 0 if deletion is None else deletion.cardinality
            if deleted is None:
                left.append(section)
                continue
            group.rows += files.row_count - deleted
            self._files += len(files.wide) + len(files.parts)
        return tuple(left)

    def _add_file(self, group: GroupTotals, file: DataFileMeta, deletion: DeletionFile | None) -> str | None:
        """Notes what is known of a file; or says why it must be read, and notes nothing."""
        rows = live_rows(file, deletion)
        if isinstance(rows, str):
            return rows
        if self._columns and rows:
            if rows < file.row_count:
                return "deletion vectors delete rows, and with them values"
            found = dict(self._bounds(file))
            unknown = [column.name for column in self._columns if column.name not in found]
            if unknown:
                return f"no exact statistics of {', '.join(unknown)}"
            for name, bounds in found.items():
                if bounds is not None:
                    group.add(name, *bounds)
        group.rows += rows
        return None

    def _bounds(self, file: DataFileMeta) -> Iterator[tuple[str, Bounds | None]]:
        """The bounds of the columns for which they are known; None: all values are NULL."""
        file_format = file_format_of(file.file_name)
        statistics: Mapping[str, ColumnStats] = self._statistics.of_values(file)
        for column in self._columns:
            known = statistics.get(column.name)
            if known is None:
                continue
            if known.null_count is not None and known.null_count == file.row_count:
                yield column.name, None
            elif known.minimum is not None and known.maximum is not None and has_exact_bounds(column, file_format):
                yield column.name, (known.minimum, known.maximum)

    def _partition(self, partition: bytes) -> Partition:
        found = self._canonical.get(partition)
        if found is None:
            found = self._canonical[partition] = canonical_row(partition, self._types)
        return found
