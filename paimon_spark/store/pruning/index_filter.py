"""Finds the data files, and the rows in them, that may satisfy a condition, by file indexes (format section 9).

Java: FileIndexEvaluator, FileIndexPredicate, AppendOnlyFileStoreScan. The official system looks at embedded indexes
when it plans and at index files when it reads; here both are looked at in the plan, so that no task opens a file in
vain. What evaluates indexes is imported with the first one: most tables have none.

Also leaves out files and sections of buckets by the indexes of their files, after statistics have left out others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from paimon_spark.arrow.predicates.predicate import AlwaysTrue, Predicate, and_, columns_of, conjuncts, restrict
from paimon_spark.errors import CorruptFile
from paimon_spark.file_io.locate import is_far
from paimon_spark.format.file_index.byte_reader import ByteReader
from paimon_spark.format.file_index.row_sets import RowSet, encode_rows
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.paths import file_format_of
from paimon_spark.merge.keys.sections import Section
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.pruning.file_filter import IndexedParts, Parts, files_of
from paimon_spark.store.read.file_index_files import has_file_index, opened_file_index
from paimon_spark.store.storage.parallel import map_near_or_far

A = TypeVar("A")
B = TypeVar("B")
MOST_ROWS_KEPT = 1 << 14  # a selection of more rows is not sent to tasks: it would be long and leave out little
if TYPE_CHECKING:
    from paimon_spark.arrow.file_index.possible_rows import ColumnIndex


@dataclass(frozen=True)
class PlacedFile:
    """A data file and the directory of its bucket."""

    directory: str
    file: DataFileMeta

    @property
    def place(self) -> tuple[str, str]:
        """What tells it from other files."""
        return self.directory, self.file.file_name


@dataclass(frozen=True)
class Verdict:
    """What the index of a file says.

    Attributes:
        by_key: whether a row may satisfy the condition on keys.
        by_value: whether a row may satisfy the condition.
        rows: the rows that may satisfy the condition; None: not known, or too many to be worth it.
    """

    by_key: bool = True
    by_value: bool = True
    rows: bytes | None = None


_NO_INDEX = Verdict()


class IndexFilter:
    """Looks into the indexes of files, each of which is opened once at most."""

    def __init__(self, table: Table, predicate: Predicate) -> None:
        """Looks at nothing yet.

        Args:
            table: the table, with the options of the read.
            predicate: over the columns of the table.
        """
        schema = table.schema
        partition = set(schema.partition_keys)  # partitions were tested by their values, which are exact
        self._table = table
        self._by_value = and_(*[part for part in conjuncts(predicate) if not columns_of(part) <= partition])
        self._by_key = restrict(self._by_value, set(schema.trimmed_primary_keys))
        self._is_enabled = table.settings.files.index_read_enabled
        self._known: dict[tuple[str, str], Verdict] = {}

    @property
    def is_useful(self) -> bool:
        """True if the condition may leave out a file."""
        return self._is_enabled and not isinstance(self._by_value, AlwaysTrue)

    def look(self, files: Iterable[PlacedFile]) -> None:
        """Looks into the indexes of files, of many at once.

        Raises:
            MissingFile: the file of an index does not exist.
            CorruptFile: an index is damaged.
        """
        new = [placed for placed in files if placed.place not in self._known and has_file_index(placed.file)]
        verdicts = map_indexed(self._table, [placed.file for placed in new], self._verdict, new)
        for placed, verdict in zip(new, verdicts, strict=True):
            self._known[placed.place] = verdict

    def verdict(self, placed: PlacedFile) -> Verdict:
        """What the index of a file says, which was looked into before if there is one."""
        return self._known.get(placed.place, _NO_INDEX)

    def _verdict(self, placed: PlacedFile) -> Verdict:
        from paimon_spark.arrow.file_index.possible_rows import rows_left

        file = placed.file
        with opened_file_index(self._table.file_io, placed.directory, file) as container:
            opened: dict[str, list[ColumnIndex]] = {}

            def indexes(column: str) -> list[ColumnIndex]:
                if column not in opened:
                    opened[column] = self._indexes(file, column, container)
                return opened[column]

            if not isinstance(self._by_key, AlwaysTrue) and _is_empty(rows_left(self._by_key, indexes)):
                return Verdict(by_key=False, by_value=False)
            rows = rows_left(self._by_value, indexes)
        if rows is None:
            return Verdict()
        check_rows(rows, file)
        return Verdict(True, not _is_empty(rows), encode_few(rows, file))

    def _indexes(
        self, file: DataFileMeta, column: str, container: Mapping[str, Mapping[str, ByteReader | None]]
    ) -> list[ColumnIndex]:
        from paimon_spark.arrow.file_index.column_index import open_index

        data_type = self._table.schema.by_name[column].type
        is_orc = file_format_of(file.file_name) == "orc"
        readers = index_readers(self._table, file, column, container)
        found = (open_index(kind, reader, data_type, is_orc) for kind, reader in readers.items())
        return [index for index in found if index is not None]


def map_indexed(table: Table, files: Iterable[DataFileMeta], function: Callable[[A], B], items: Iterable[A]) -> list[B]:
    """The results of a function, which looks into the index of a file, for each item, in order.

    Args:
        table: what is read.
        files: whose indexes are looked into.
        function: the job.
        items: the arguments, one for each job.
    """
    has_index_files = any(file.embedded_index is None for file in files)
    return map_near_or_far(function, items, is_far(table.location) and has_index_files)


def index_readers(
    table: Table, file: DataFileMeta, column: str, container: Mapping[str, Mapping[str, ByteReader | None]]
) -> dict[str, ByteReader]:
    """The indexes of a column in a file by their kind; none if the column has changed its type since.

    Args:
        table: what is read.
        file: the file.
        column: the name of a top-level column of the table.
        container: the indexes of the file by column and kind.
    """
    field = table.schema.by_name[column]
    written = table.schema if file.schema_id == table.schema.id else table.schemas.load(file.schema_id)
    then = next((other for other in written.fields if other.id == field.id), None)
    if then is None or then.type.with_nullable(True) != field.type.with_nullable(True):
        return {}
    return {kind: reader for kind, reader in container.get(then.name, {}).items() if reader is not None}


def check_rows(rows: RowSet, file: DataFileMeta) -> None:
    """Raises CorruptFile if an index names rows that its file does not have."""
    if rows and rows.max() >= file.row_count:
        raise _of_another_file(file, f"it names row {rows.max()} of {file.row_count}")


def check_row_count(rows: int, file: DataFileMeta) -> None:
    """Raises CorruptFile if an index is of another number of rows than its file has."""
    if rows != file.row_count:
        raise _of_another_file(file, f"it is of {rows} rows, and the file has {file.row_count}")


def _of_another_file(file: DataFileMeta, found: str) -> CorruptFile:
    return CorruptFile(
        f"reading the file index of {file.file_name}: {found}; the index is of another file: read with "
        "'file-index.read.enabled' = 'false'"
    )


def encode_few(rows: RowSet, file: DataFileMeta) -> bytes | None:
    """The rows to read of a file, for its split; None: they are too many to be worth it."""
    return encode_rows(rows) if len(rows) <= MOST_ROWS_KEPT and 2 * len(rows) < file.row_count else None


def _is_empty(rows: RowSet | None) -> bool:
    return rows is not None and not rows


def leave_out_by_index(
    index: IndexFilter,
    buckets: Sequence[tuple[str, Parts]],
    parts_of: Callable[[Sequence[DataFileMeta]], Parts],
    keeps_sections: bool,
) -> list[IndexedParts]:
    """What the indexes leave of each bucket. The same rules hold as for statistics (see merged_parts).

    Args:
        index: of the read.
        buckets: the directory of each, and what statistics leave of it.
        parts_of: makes the parts of a bucket of some files.
        keeps_sections: whether a section is read even if no row of its files satisfies the condition.
    """
    if not index.is_useful:
        return [IndexedParts(parts, {}, 0) for _, parts in buckets]
    index.look(PlacedFile(directory, file) for directory, parts in buckets for file in files_of(parts))
    return [_left(index, directory, parts, parts_of, keeps_sections) for directory, parts in buckets]


def _left(
    index: IndexFilter,
    directory: str,
    parts: Parts,
    parts_of: Callable[[Sequence[DataFileMeta]], Parts],
    keeps_sections: bool,
) -> IndexedParts:
    files = list(files_of(parts))
    verdicts = {file.file_name: index.verdict(PlacedFile(directory, file)) for file in files}
    by_key = [file for file in files if verdicts[file.file_name].by_key]
    alone, sections = parts if len(by_key) == len(files) else parts_of(by_key)
    kept = [file for file in alone if verdicts[file.file_name].by_value]
    if not keeps_sections:
        sections = [s for s in sections if any(verdicts[file.file_name].by_value for file in _of_section(s))]
    rows = {file.file_name: found for file in kept if (found := verdicts[file.file_name].rows) is not None}
    left = len(kept) + sum(1 for section in sections for _ in _of_section(section))
    return IndexedParts((kept, sections), rows, len(files) - left)


def _of_section(section: Section) -> Iterator[DataFileMeta]:
    return (file for run in section for file in run.files)
