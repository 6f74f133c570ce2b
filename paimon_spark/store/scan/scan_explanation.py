"""What a read leaves out, and by which means: partitions and buckets, statistics, file indexes, pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from paimon_spark.arrow.formats.data_file import open_reader
from paimon_spark.arrow.predicates.predicate import TRUE
from paimon_spark.file_io import FileIO
from paimon_spark.format.paths import file_format_of
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.file_rows import missing_data_file
from paimon_spark.store.read.metadata_aggregates import MetadataAggregates
from paimon_spark.store.read.open_file import FileRequest, StoredFile, open_file
from paimon_spark.store.read.rows_to_read import rows_to_read
from paimon_spark.store.read.splits import ReadUnit, Split
from paimon_spark.store.scan.read_spec import Plan, ReadSpec
from paimon_spark.store.scan.split_plan import plan_state
from paimon_spark.store.storage.parallel import map_parallel

WantedFile: TypeAlias = tuple[Callable[[], StoredFile], FileRequest]


@dataclass(frozen=True)
class ScanExplanation:
    """The plan of a read of a state, in numbers; its text has a line for each means.

    Attributes:
        snapshot_id: the state.
        files, rows: how many there are to read without a condition; rows are those in the files.
        after_buckets: how many files partitions and buckets leave.
        after_statistics: how many of these statistics leave.
        after_indexes: how many of these file indexes leave.
        after_order: how many of these have rows that may come first in the order that was asked for: so many are read.
            None: no order was asked for, and those are read that indexes leave.
        rows_left: the rows in the files that are read.
        selected_files: of how many of these files only the rows are decoded that an index leaves.
        splits: in how many splits they are read.
        merged_files: how many of the files must be merged with others.
        count_reads: how many files ``count`` must read; metadata tell the rows of the others.
        count_reasons: why it must read these.
        parts: the row groups and pages of the files that are read; None: all are read, for there is no condition.
    """

    snapshot_id: int
    files: int
    rows: int
    after_buckets: int
    after_statistics: int
    after_indexes: int
    rows_left: int
    selected_files: int
    splits: int
    merged_files: int
    count_reads: int = 0
    count_reasons: tuple[str, ...] = ()
    parts: PartCounts | None = None
    after_order: int | None = None

    @property
    def files_read(self) -> int:
        """How many files are read."""
        return self.after_indexes if self.after_order is None else self.after_order

    def __str__(self) -> str:
        return "\n".join(
            [
                f"snapshot: {self.snapshot_id}",
                f"files: {self.files}, with {self.rows} rows",
                f"  left by partitions and buckets: {self.after_buckets}",
                f"  left by statistics: {self.after_statistics}",
                f"  left by file indexes: {self.after_indexes}",
                *([] if self.after_order is None else [f"  left by the order and its limit: {self.after_order}"]),
                f"read: {self.files_read} files with {self.rows_left} rows, in {self.splits} splits",
                f"  only the rows that an index leaves: {self.selected_files} files",
                f"  merged with others: {self.merged_files} files",
                *self._part_lines(),
                f"count: {self._counted()}",
                *(f"  because {reason}" for reason in self.count_reasons),
            ]
        )

    def _counted(self) -> str:
        if not self.count_reads:
            return "from metadata alone"
        return f"reads {self.count_reads} files, metadata tell the rows of {self.files_read - self.count_reads}"

    def _part_lines(self) -> list[str]:
        if self.parts is None:
            return []
        return [
            f"row groups: {self.parts.row_groups}",
            f"  left by their statistics: {self.parts.row_groups_left}",
            f"pages of the wanted columns: {self.parts.pages}",
            f"  left by page indexes: {self.parts.pages_left}",
        ]


def explain_state(
    table: Table,
    spec: ReadSpec,
    snapshot: Snapshot,
    wanted_files: Callable[[Split], Iterable[WantedFile]],
    known: Callable[[Plan], MetadataAggregates],
) -> ScanExplanation:
    """Plans the read of a snapshot with its condition and without. Of data files only footers and indexes are read.

    Args:
        table: the table, with the options of the read.
        spec: what is wanted.
        snapshot: the state.
        wanted_files: gives the files of a split, and what the read asks of each.
        known: what metadata tell of the number of rows of a plan.

    Raises:
        CorruptFile: metadata are missing or damaged, or a footer is.
    """
    planned = plan_state(table, spec, snapshot)
    whole = plan_state(table, replace(spec, predicate=TRUE, first=None), snapshot)
    left, rows_left = _totals(planned.splits)
    files, rows = _totals(whole.splits)
    splits = [split for split in planned.splits if isinstance(split, Split)]
    totals = known(planned)
    wanted = [each for split in splits for each in wanted_files(split)]
    return ScanExplanation(
        snapshot_id=snapshot.id,
        files=files,
        rows=rows,
        after_buckets=planned.after_buckets,
        after_statistics=left + planned.skipped_by_index + planned.skipped_by_order,
        after_indexes=left + planned.skipped_by_order,
        after_order=None if spec.first is None else left,
        rows_left=rows_left,
        selected_files=sum(len(split.selections) for split in splits),
        splits=len(planned.splits),
        merged_files=left - sum(len(split.raw_files) for split in splits),
        count_reads=_totals(totals.rest)[0],
        count_reasons=totals.why,
        parts=None if spec.predicate == TRUE else count_parts(table.file_io, wanted),
    )


def _totals(splits: Sequence[ReadUnit]) -> tuple[int, int]:
    """How many files and rows are in the splits; several may have the same postponed files."""
    rows = {file.file_name: count for split in splits for file, count in split.row_counts}
    return len(rows), sum(rows.values())


@dataclass(frozen=True)
class PartCounts:
    """What files have and what is left of it. Row groups are stripes in ORC, and there is one in Avro.

    Attributes:
        row_groups: of the files.
        row_groups_left: how many of them have a row that may satisfy the condition, as statistics and indexes tell.
        pages: of the columns that are read, in files with page indexes.
        pages_left: how many of them are decoded. Fewer are if columns of the condition are read first.
    """

    row_groups: int = 0
    row_groups_left: int = 0
    pages: int = 0
    pages_left: int = 0

    def __add__(self, other: PartCounts) -> PartCounts:
        return PartCounts(
            self.row_groups + other.row_groups,
            self.row_groups_left + other.row_groups_left,
            self.pages + other.pages,
            self.pages_left + other.pages_left,
        )


def count_parts(file_io: FileIO, files: Sequence[WantedFile]) -> PartCounts:
    """Counts by the footers and page indexes of files; no rows are read.

    Args:
        file_io: the store of the files.
        files: what tells each file, and what a read asks of it.

    Raises:
        MissingFile: a file does not exist.
        CorruptFile: a footer or a page index is damaged.
    """
    found = map_parallel(lambda each: _counts(file_io, each[0](), replace(each[1], probes=False)), files)
    return sum(found, PartCounts())


def _counts(file_io: FileIO, stored: StoredFile, request: FileRequest) -> PartCounts:
    try:
        source = file_io.open_input(stored.path, stored.meta.file_size)
        file_format, legacy = file_format_of(stored.meta.file_name), stored.orc_legacy_ltz
        opened = open_reader(source, file_format, stored.path, orc_legacy_ltz=legacy, fields=stored.columns)
    except FileNotFoundError:
        raise missing_data_file(stored.path) from None
    try:
        file = open_file(opened, stored, request)
        left = rows_to_read(file, stored.selected)
        columns = [field.name for field in (*file.mapping.file_fields, *request.system)]
        groups = opened.row_groups
        pages = sum(group.count_pages(columns, None) for group in groups)
        pages_left = sum(groups[number].count_pages(columns, rows) for number, rows in left.items())
        return PartCounts(len(groups), len(left), pages, pages_left)
    finally:
        opened.close()
