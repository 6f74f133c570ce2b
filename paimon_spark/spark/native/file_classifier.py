"""Classifies the files of a plan: what Spark reads itself, in groups that one scan reads, and what our source reads.

Our reader fills such columns from the manifest. Spark would fill them with NULL, without a word.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from paimon_spark.arrow.formats.data_file import open_reader
from paimon_spark.file_io import FileIO
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.paths import data_file_path, file_format_of
from paimon_spark.format.types import DataField
from paimon_spark.spark.native.readable_columns import NativeColumn, native_columns
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import DeletionFile, Split
from paimon_spark.store.storage.parallel import map_parallel

MAX_DELETED_ROWS = 1_000_000
"""Deleted rows become rows of the query plan, of about 100 bytes each."""
MAX_SCANS = 32
"""Each group of files is a scan of its own in the query plan."""
_HIDDEN = ("_", ".")
_PATTERN = re.compile(r"[\[\]{}*?\\]")
_SELECTED = "an index tells which rows may come first"
_MERGED = "rows of several files must be merged"


@dataclass(frozen=True)
class NativeFile:
    """A file that Spark reads itself; deletion: the vector of its deleted rows."""

    path: str
    meta: DataFileMeta
    deletion: DeletionFile | None = None


@dataclass(frozen=True)
class ScanKind:
    """What files must have in common to be read by one scan. Its hash is taken once: columns may be many.

    Attributes:
        columns: where the columns are in the files.
        has_retractions: whether the files may hold rows that retract, which are left out.
        has_vectors: whether deletion vectors delete rows of the files.
    """

    columns: tuple[NativeColumn, ...]
    has_retractions: bool
    has_vectors: bool

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.columns, self.has_retractions, self.has_vectors))


@dataclass
class ClassifiedFiles:
    """The files of a plan.

    Attributes:
        native: what Spark reads itself.
        rest: what our source reads.
        reasons: why files are in the rest, each with their number.
        example: the first of these files, and its reason.
    """

    native: dict[ScanKind, list[NativeFile]] = field(default_factory=dict)
    rest: list[Split] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    example: tuple[str, str] | None = None

    def refuse(self, split: Split, files: Sequence[DataFileMeta], reason: str) -> None:
        """Notes that our source must read the files."""
        if files:
            self.reasons[reason] += len(files)
            self.example = self.example or (data_file_path(split.bucket_path, files[0]), reason)

    @property
    def native_count(self) -> int:
        """The number of files that Spark reads itself."""
        return sum(map(len, self.native.values()))


@dataclass(frozen=True)
class FileClassifier:
    """Classifies the files of splits of one table.

    Attributes:
        table: the table, with the options of the read.
        fields: the columns that are read.
        case_sensitive: as for native_columns.
    """

    table: Table
    fields: tuple[DataField, ...]
    case_sensitive: bool
    _known: dict[int, tuple[NativeColumn, ...] | str] = field(default_factory=dict)
    _kinds: dict[tuple[int, bool, bool], ScanKind] = field(default_factory=dict)

    def classify(
        self, splits: Sequence[Split], refusal: str | None = None, reads_selected: bool = False
    ) -> ClassifiedFiles:
        """The files of the splits.

        Args:
            splits: of a plan of a state.
            refusal: why no file can be read natively; None: each is looked at.
            reads_selected: whether our source reads the files of which an index leaves few rows.
        """
        found = ClassifiedFiles()
        lacking = frozenset[str]() if refusal else files_without(self.table, self._partition_fields, splits)
        vectors_left = MAX_DELETED_ROWS
        for split in splits:
            kept: list[DataFileMeta] = []
            for file in split.raw_files:
                path, deletion = data_file_path(split.bucket_path, file), split.deletions.get(file.file_name)
                size = 0 if deletion is None else self._deleted_rows(file, deletion)
                kind = (
                    refusal
                    or (_SELECTED if reads_selected and file.file_name in split.selections else None)
                    or _path_refusal(path)
                    or self._kind(file, deletion, path in lacking, size > vectors_left)
                )
                if isinstance(kind, ScanKind) and kind not in found.native and len(found.native) >= MAX_SCANS:
                    kind = f"its schema is none of the {MAX_SCANS} that one query may have scans for"
                if isinstance(kind, str):
                    kept.append(file)
                    found.refuse(split, (file,), kind)
                    continue
                vectors_left -= size
                found.native.setdefault(kind, []).append(NativeFile(path, file, deletion))
            if kept or split.sections:
                merged = [file for section in split.sections for run in section for file in run.files]
                found.refuse(split, merged, _MERGED)
                found.rest.append(replace(split, raw_files=tuple(kept), deletions=_of(split, [*kept, *merged])))
        return found

    def _kind(
        self, file: DataFileMeta, deletion: DeletionFile | None, lacks_partition: bool, too_many: bool
    ) -> ScanKind | str:
        """The scan that reads a file, or in words why none can."""
        file_format = file_format_of(file.file_name)
        if file_format != "parquet":
            return f"its format is {file_format}"
        if file.write_cols is not None and not self._holds_all(file.write_cols, file.schema_id):
            return "it holds some columns only"
        if lacks_partition:
            return "it does not store the partition columns"
        if too_many:
            return f"deletion vectors of the read delete more than {MAX_DELETED_ROWS:,} rows"
        if deletion is not None and any(f.name.lower() == "_metadata" for f in self.fields):
            return "the table has a column '_metadata', and a deletion vector is applied by Spark's own of that name"
        columns = self._columns(file.schema_id)
        if isinstance(columns, str):
            return columns
        retractions = bool(self.table.schema.primary_keys) and file.delete_row_count != 0
        key = (file.schema_id, retractions, deletion is not None)
        return self._kinds.setdefault(key, ScanKind(columns, *key[1:]))

    def _columns(self, schema_id: int) -> tuple[NativeColumn, ...] | str:
        found = self._known.get(schema_id)
        if found is None:
            if schema_id > self.table.schema.id:
                found = "its schema is newer than the table was when it was opened"
            else:
                is_now = schema_id == self.table.schema.id
                written = self.table.schema if is_now else self.table.schemas.load(schema_id)
                found = native_columns(self.fields, written, self.case_sensitive)
            self._known[schema_id] = found
        return found

    def _holds_all(self, names: Sequence[str], schema_id: int) -> bool:
        """True if a file holds all columns of its schema, as one with columns of row tracking beside them does."""
        if schema_id > self.table.schema.id:
            return False
        is_now = schema_id == self.table.schema.id
        return set((self.table.schema if is_now else self.table.schemas.load(schema_id)).names) <= set(names)

    @property
    def _partition_fields(self) -> tuple[DataField, ...]:
        keys = self.table.schema.partition_keys
        return tuple(f for f in self.fields if f.name in keys)

    def _deleted_rows(self, file: DataFileMeta, deletion: DeletionFile) -> int:
        return file.row_count if deletion.cardinality is None else deletion.cardinality


def _path_refusal(path: str) -> str | None:
    """Why Spark cannot read a file of that path, in words; None: it can.

    With `__globPaths__` off, Spark 4.3 reads all files of a list once for each that looks like a pattern
    (DataSource.checkAndGlobPathIfNecessary).
    """
    if path.rpartition("/")[2].startswith(_HIDDEN):
        return "Spark takes files whose names begin with _ or . for hidden ones"
    if _PATTERN.search(path):
        return "Spark takes paths with one of []{}*?\\ for patterns"
    return None


def _of(split: Split, files: Sequence[DataFileMeta]) -> dict[str, DeletionFile]:
    """The deletion vectors of some files of a split."""
    return {f.file_name: split.deletions[f.file_name] for f in files if f.file_name in split.deletions}


_REMEMBERED = 10_000  # files never change


def files_without(table: Table, partition_fields: Sequence[DataField], splits: Sequence[Split]) -> frozenset[str]:
    """The paths of the raw files in which a partition column is not stored.

    Only tables without primary keys can have them. Footers are read of the files that a writer of Paimon may not have
    made.

    Args:
        table: the table.
        partition_fields: the partition columns that are read.
        splits: of a plan of a state.
    """
    if table.schema.primary_keys or not partition_fields:
        return frozenset()
    doubtful = [
        (data_file_path(split.bucket_path, file), file)
        for split in splits
        for file in split.raw_files
        if not _is_by_writer(file) and file_format_of(file.file_name) == "parquet"
    ]
    ids = {field.id for field in partition_fields}

    def lacks(found: tuple[str, DataFileMeta]) -> bool:
        path, file = found
        written = table.schema if file.schema_id == table.schema.id else table.schemas.load(file.schema_id)
        names = {field.name for field in written.fields if field.id in ids}
        return not names <= _stored(_File(path, table.file_io))

    return frozenset(
        path for (path, _), missing in zip(doubtful, map_parallel(lacks, doubtful), strict=True) if missing
    )


def _is_by_writer(file: DataFileMeta) -> bool:
    """True if the file names its columns, or its rows have consecutive sequence numbers.

    Writers of Paimon give each row a number; migrations give the whole file the number 0 (Java: AppendOnlyWriter,
    FileMetaUtils.constructFileMeta), and name no columns. With row tracking the commit gives both one number.
    """
    if file.write_cols is not None:
        return True
    return file.row_count > 1 and file.max_sequence_number - file.min_sequence_number + 1 == file.row_count


@dataclass(frozen=True)
class _File:
    path: str
    file_io: FileIO = field(compare=False)


@functools.lru_cache(_REMEMBERED)
def _stored(file: _File) -> frozenset[str]:
    """The top-level columns in a Parquet file."""
    reader = open_reader(file.file_io.open_input(file.path), "parquet", file.path)
    try:
        return frozenset(reader.names)
    finally:
        reader.close()
