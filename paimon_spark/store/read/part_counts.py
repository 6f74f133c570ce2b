"""Counts what a read decodes of the data files that a plan leaves: row groups and pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from paimon_spark.arrow.formats.data_file import open_reader
from paimon_spark.file_io import FileIO
from paimon_spark.format.paths import file_format_of
from paimon_spark.store.read.file_rows import missing_data_file
from paimon_spark.store.read.open_file import FileRequest, StoredFile, open_file
from paimon_spark.store.read.rows_to_read import rows_to_read
from paimon_spark.store.storage.parallel import map_parallel

WantedFile: TypeAlias = tuple[Callable[[], StoredFile], FileRequest]


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
        opened = open_reader(
            source, file_format_of(stored.meta.file_name), stored.path, orc_legacy_ltz=stored.orc_legacy_ltz
        )
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
