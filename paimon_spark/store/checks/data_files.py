"""Compares one data or changelog file with its metadata in the manifest, in batches (format sections 4.2, 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from paimon_spark.arrow.evolution import map_fields
from paimon_spark.arrow.formats.data_file import FileReader, open_reader
from paimon_spark.errors import CorruptFile, DataError, MissingFile, PaimonError, StorageError
from paimon_spark.format.bucket import bucket_fields
from paimon_spark.format.managed_blobs import LIST_SUFFIX, decode_packs
from paimon_spark.format.manifest import DataFileMeta, FileSource, ManifestEntry
from paimon_spark.format.options.option import MB
from paimon_spark.format.paths import POSTPONE_BUCKET, file_format_of
from paimon_spark.format.rules.blobs import blob_file_columns, has_packs
from paimon_spark.format.rules.key_clustering import SORTED_LEVEL, clustering_fields, orders_otherwise
from paimon_spark.format.rules.supported import unreadable_root
from paimon_spark.format.schema import KEY_PREFIX, TableSchema
from paimon_spark.format.types import DataField, Root
from paimon_spark.merge.keys.row_ids import is_blob_file
from paimon_spark.store.checks.cluster_check import ClusterCheck
from paimon_spark.store.checks.report import Findings, Rule
from paimon_spark.store.checks.row_checks import (
    BucketCheck,
    HashCheck,
    KeyCheck,
    PackCheck,
    PartitionCheck,
    RowCheck,
    SystemCheck,
    ViewCheck,
)
from paimon_spark.store.checks.value_checks import ValueCheck
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.blob_column import BlobColumn, BlobFile

BATCH_ROWS = 1 << 16
_BATCH_BYTES = 32 * MB
_UNPACKED = 4  # times the size of a file, roughly

Hashes = npt.NDArray[np.int32]


_UNCHECKED = (
    "not looked at: whether rows of ORC files lie in the partition and the bucket of their CHAR columns, because ORC "
    "does not tell the blanks at their end"
)


_UNSORTED = (
    "some compacted files are not sorted by 'clustering.columns', as release 1.4 of the official system writes them: "
    "their rows are right, and conditions leave out less; a compaction that rewrites them sorts them"
)


@dataclass(frozen=True)
class FileTask:
    """A file to read and check.

    Attributes:
        label: the first snapshot that names it, for problems.
        path: the path of the file.
        entry: its manifest entry.
        is_changelog: True for a changelog file, in which keys may repeat.
        hashes: returns the hashes in the HASH index of its bucket in that snapshot, ascending. None, as value or as
            result: hashes are not compared.
        recorded: returns the metadata of the file with their statistics. None, as result: they are not known; as value:
            only the columns are read that other rules need.
    """

    label: str
    path: str
    entry: ManifestEntry
    is_changelog: bool = False
    hashes: Callable[[], Hashes | None] | None = None
    recorded: Callable[[], DataFileMeta | None] | None = None


def check_data_file(table: Table, task: FileTask, findings: Findings) -> None:
    """Opens the file, and compares its rows with its metadata.

    Raises:
        StorageError: the storage failed.
    """
    meta = task.entry.file
    try:
        if is_blob_file(meta):
            _read_blobs(table, task)
            return
        schema = table.schemas.load(meta.schema_id)
        with table.file_io.open_input(task.path, meta.file_size) as source:
            legacy = table.settings.files.orc_legacy_ltz
            fields = partial(schema.stored_columns, meta.write_cols)
            file_format = file_format_of(meta.file_name)
            reader = open_reader(source, file_format, task.path, orc_legacy_ltz=legacy, fields=fields)
            if reader.row_count != meta.row_count:
                found = f"it has {reader.row_count} rows, recorded are {meta.row_count}"
                findings.add(Rule.ROWS, task.label, task.path, found)
            checks = [*_row_checks(table, schema, task, reader), *_pack_checks(table, schema, task)]
            if task.recorded is not None:
                columns = _readable(_columns(schema, task, reader), findings)
                checks.append(ValueCheck(columns, schema, task.recorded()))
            checkable = [check for check in checks if _tells(check, meta)]
            if len(checkable) < len(checks):
                findings.note(_UNCHECKED)
            for rule, found in _row_faults(reader, checkable, _batch_rows(meta)):
                findings.add(rule, task.label, task.path, found)
            if any(isinstance(check, ClusterCheck) and not check.is_sorted for check in checkable):
                findings.note(_UNSORTED)
    except (StorageError, MemoryError):
        raise
    except (FileNotFoundError, MissingFile):
        findings.add(Rule.STORED, task.label, task.path, "the file does not exist")
    except PaimonError as error:
        findings.add(Rule.ROWS, task.label, task.path, str(error))


def _read_blobs(table: Table, task: FileTask) -> None:
    """Reads all values of a file of a BLOB column. Raises CorruptFile if one is damaged."""
    file = task.entry.file
    rows = file.row_count
    types = [field.type for field in table.schemas.load(file.schema_id).columns_of_file(file.write_cols or ())]
    with ExitStack() as closing:
        placed = [BlobFile(task.path, file.file_size, 0, rows)]
        column = BlobColumn(table.file_io, placed, rows, False, closing, *types[:1])
        for some in column.cut(np.arange(rows)):
            column.values(some)


def check_changed_types(table: Table, task: FileTask, findings: Findings) -> None:
    """Reads the columns whose types were changed since the file was written, as the columns are now.

    Raises:
        StorageError: the storage failed.
    """
    meta = task.entry.file
    if is_blob_file(meta):
        return  # a BLOB column keeps its type
    try:
        schema = table.schemas.load(meta.schema_id)
        written = schema.fields
        types = {field.id: field.type for field in written}
        changed = [
            f for f in table.schema.fields if types.get(f.id, f.type).with_nullable(True) != f.type.with_nullable(True)
        ]
        wanted = [field for field in changed if unreadable_root(field.type) is None]
        if not wanted:
            return
        with table.file_io.open_input(task.path, meta.file_size) as source:
            legacy = table.settings.files.orc_legacy_ltz
            fields = partial(schema.stored_columns, meta.write_cols)
            file_format = file_format_of(meta.file_name)
            reader = open_reader(source, file_format, task.path, orc_legacy_ltz=legacy, fields=fields)
            for field in wanted:
                mapping = map_fields([field], written)
                if mapping.file_fields[0].name in reader.names:
                    for _, batch in reader.read(mapping.file_fields, _batch_rows(meta)):
                        mapping.apply(batch)
    except (StorageError, MemoryError):
        raise
    except DataError as error:
        findings.add(Rule.ROWS, task.label, task.path, str(error))
    except (PaimonError, FileNotFoundError):
        return  # what is wrong with the file or the schema itself is found without it


def _tells(check: RowCheck, meta: DataFileMeta) -> bool:
    """True if the rows of a file tell where they belong: ORC files lose the blanks at the end of CHAR."""
    placed = isinstance(check, PartitionCheck | BucketCheck | HashCheck)
    chars = any(field.type.root is Root.CHAR for field in check.fields)
    return not (placed and chars and file_format_of(meta.file_name) == "orc")


def _row_faults(reader: FileReader, checks: list[RowCheck], batch_rows: int) -> Iterator[tuple[Rule, str]]:
    fields = list(dict.fromkeys(field for check in checks for field in check.fields))
    if not fields:
        return
    for _, batch in reader.read(fields, batch_rows):
        if batch.num_rows:
            for check in checks:
                check.look(batch)
    for check in checks:
        yield from check.faults()


def _row_checks(table: Table, schema: TableSchema, task: FileTask, reader: FileReader) -> Iterator[RowCheck]:
    """The rules that the rows of this file must follow."""
    entry, settings, names = task.entry, table.settings, reader.names
    partition = schema.partition_fields
    if partition and all(field.name in names for field in partition):  # files imported from Hive have no such columns
        yield PartitionCheck(partition, entry.partition)
    bucket = bucket_fields(schema, settings) if entry.total_buckets > 0 else ()
    views = [field for field in schema.fields if field.name in settings.blob_view_field and field.name in names]
    if views:
        yield ViewCheck(views)
    if not schema.primary_keys:
        if bucket and all(field.name in names for field in bucket):
            yield BucketCheck(bucket, entry, settings.bucket_function)
        return
    if entry.bucket == POSTPONE_BUCKET:
        yield SystemCheck(entry.file, numbers=False)
        return
    keys = {field.name: _stored(field, names) for field in schema.key_fields}
    if entry.file.level >= SORTED_LEVEL and not task.is_changelog and orders_otherwise(settings):
        yield ClusterCheck(clustering_fields(schema, settings), entry.file)
    else:
        yield KeyCheck(list(keys.values()), entry.file, repeats=task.is_changelog)
    by_snapshot = settings.sequence_snapshot_ordering and entry.file.file_source == FileSource.APPEND
    yield SystemCheck(entry.file, numbers=not by_snapshot)
    if bucket:
        yield BucketCheck([keys[field.name] for field in bucket], entry, settings.bucket_function)
    hashes = None if task.hashes is None else task.hashes()
    if hashes is not None:
        yield HashCheck(list(keys.values()), hashes)


def _pack_checks(table: Table, schema: TableSchema, task: FileTask) -> Iterator[RowCheck]:
    """The packs to which the rows of a data file refer are those in its list."""
    if task.is_changelog or not has_packs(schema, table.settings):
        return
    packed = blob_file_columns(schema.fields, table.settings)
    lists = [name for name in task.entry.file.extra_files if name.endswith(LIST_SUFFIX)]
    path = f"{task.path}{LIST_SUFFIX}"
    yield PackCheck(packed, decode_packs(table.file_io.read_bytes(path), path) if lists else None)


def _columns(schema: TableSchema, task: FileTask, reader: FileReader) -> list[DataField]:
    """The columns of the schema that the file has.

    Raises:
        CorruptFile: the file lacks one that its writer knew (see ``open_file``).
    """
    partition, known = {field.name for field in schema.partition_fields}, set(reader.names)
    lacking = [field.name for field in schema.fields if field.name not in known and field.name not in partition]
    if lacking and schema.primary_keys and task.entry.file.write_cols is None:
        raise CorruptFile(
            f"it lacks the columns {', '.join(lacking)} of schema {schema.id}, it has {', '.join(reader.names)}; the "
            "file or that schema is damaged"
        )
    return [field for field in schema.fields if field.name in known or field.name not in partition]


def _readable(columns: Iterable[DataField], findings: Findings) -> list[DataField]:
    """The columns of types that this release reads; the others are noted."""
    readable = []
    for field in columns:
        root = unreadable_root(field.type)
        if root is None:
            readable.append(field)
        else:
            findings.note(f"not looked at: the column '{field.name}', because this release does not read {root}")
    return readable


def _batch_rows(meta: DataFileMeta) -> int:
    """The rows of a batch: fewer where rows are wide, because all columns are read."""
    wide = _UNPACKED * meta.file_size // max(meta.row_count, 1) + 1
    return max(1, min(BATCH_ROWS, _BATCH_BYTES // wide))


def _stored(field: DataField, names: tuple[str, ...]) -> DataField:
    """A key column as the file has it: thin files have no columns of their own for keys."""
    name = KEY_PREFIX + field.name
    return DataField(field.id, name, field.type) if name in names else field
