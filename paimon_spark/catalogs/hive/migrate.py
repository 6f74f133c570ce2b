"""Makes a table of Paimon of one of Hive: its files are moved, not copied (Java: HiveMigrator, FileMetaUtils).

The files keep their names, so a migration that was interrupted goes on when it is called again: a target without a
snapshot also takes the files that are in its directories already.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from functools import partial
from typing import Any

from paimon_spark.arrow.formats.data_file import open_reader
from paimon_spark.arrow.predicates.literals import cast_literal, literal_of
from paimon_spark.catalogs.hive.hive_types import paimon_type
from paimon_spark.catalogs.hive.places import HiveTable, is_paimon, is_view, place_of_partition, place_of_table
from paimon_spark.errors import CommitStateUnknown, SchemaError, UnsupportedFeature
from paimon_spark.file_io import DirectoryIO, FileStatus
from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.manifest import EMPTY_ROW, EMPTY_STATS, DataFileMeta, FileSource
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.upkeep_settings import PartitionSettings
from paimon_spark.format.rules.new_tables import assign_field_ids
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField
from paimon_spark.store.commit.commit_user import new_user
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.file_paths import bucket_directory
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.storage.local_time import local_wall_millis
from paimon_spark.store.storage.parallel import map_parallel

_FORMATS = ("parquet", "orc", "avro")
_HIDDEN = ("_", ".")
_NO_BUCKETS = -1


@dataclass(frozen=True)
class HiveFile:
    """A data file of a table of Hive.

    Attributes:
        partition: the arity-prefixed BinaryRow of its partition.
        path: where it is.
        target: where it will be; the same if it is there already.
        size: in bytes.
        rows: how many it has.
    """

    partition: bytes
    path: str
    target: str
    size: int
    rows: int


def check_migratable(name: str, table: HiveTable | None) -> str:
    """The format of the files of a table of Hive.

    Raises:
        SchemaError: there is no such table, or it is one of Paimon, or a view.
        UnsupportedFeature: its files are none that Paimon has, or they do not tell its rows.
    """
    if table is None or is_view(table) or is_paimon(table):
        found = "it is one of Paimon already"
        if table is None or is_view(table):
            found = "there is none" if table is None else "it is a view"
        raise SchemaError(f"migrating the table {name} of Hive: {found}")
    if (table.parameters or {}).get("transactional", "").lower() == "true":
        raise UnsupportedFeature(
            f"migrating {name}: it is transactional, so its rows are in base and delta files of Hive; copy them with "
            "a query"
        )
    library = ((table.sd.serdeInfo.serializationLib if table.sd.serdeInfo else None) or "").lower()
    found_format = next((one for one in _FORMATS if one in library), None)
    if found_format is None:
        raise UnsupportedFeature(
            f"migrating {name}: its files are read by '{library}', and only those of {', '.join(_FORMATS)} can be "
            "taken over; copy the rows with a query"
        )
    return found_format


def schema_of(name: str, table: HiveTable, options: Mapping[str, str], null_name: str) -> TableSchema:
    """The schema of the table of Paimon (Java: HiveMigrator.from). null_name: of the partition of NULL in Hive.

    Raises:
        UnsupportedFeature: a column has a type that Paimon has not.
        SchemaError: the options ask for buckets.
    """
    if options.get(TableSettings.bucket.key, "-1").strip() != "-1":
        raise SchemaError(f"migrating {name}: the files of Hive are in no buckets; leave the option 'bucket' out")
    keys = tuple(str(column.name) for column in table.partitionKeys or ())
    columns = [*table.sd.cols, *(table.partitionKeys or ())]
    fields = [DataField(0, column.name, paimon_type(column.type), column.comment or None) for column in columns]
    numbered, highest = assign_field_ids(fields)
    comment = (table.parameters or {}).get("comment")
    options_kept = {**options, **({} if comment is None else {"hive.comment": comment})}
    if keys:
        options_kept[PartitionSettings.default_name.key] = null_name
    return TableSchema(0, tuple(numbered), highest, keys, (), options_kept, comment)


def check_target(name: str, target: ReadableTable, wanted: TableSchema) -> None:
    """Checks that a table that is there already can take the files.

    Raises:
        SchemaError: it cannot.
    """
    found = target.schema
    columns = [(f.name, f.type.with_nullable(True)) for f in wanted.fields]
    if found.primary_keys or target.settings.bucket != _NO_BUCKETS:
        raise SchemaError(f"migrating {name}: the target {target.location} has a primary key or buckets")
    if [(f.name, f.type.with_nullable(True)) for f in found.fields] != columns:
        raise SchemaError(
            f"migrating {name}: the target {target.location} has other columns ({', '.join(found.names)})"
        )
    if found.partition_keys != wanted.partition_keys:
        raise SchemaError(f"migrating {name}: the target {target.location} has other partition columns")


def files_of(
    name: str, table: HiveTable, partitions: Sequence[Any], target: ReadableTable, file_io: DirectoryIO
) -> list[HiveFile]:
    """The files of a table of Hive, with those that an interrupted migration has moved already.

    Args:
        name: of the table, for messages.
        table: what the metastore has of it.
        partitions: of it; none if it has no partition columns.
        target: the table of Paimon.
        file_io: the store of both.

    Raises:
        UnsupportedFeature: the columns of a file have other names than those of the table.
        SchemaError: the target has a file of that name already, or a value of a partition is none of its type.
    """
    file_format, begun = check_migratable(name, table), target.snapshots.latest() is None
    places = [(place_of_partition(one), _row_of(name, target, one.values)) for one in partitions]
    if not target.schema.partition_keys:
        places = [(place_of_table(table), _row_of(name, target, []))]
    found: list[tuple[bytes, FileStatus, str]] = []
    for place, row in places:
        directory = bucket_directory(target, row, 0)
        there = {status.name: status for status in file_io.list(directory)}
        if begun:
            found += [(row, status, status.path) for status in there.values() if _is_data(status)]
        for status in [] if place is None else file_io.list(place):
            new = status.name if status.name.endswith(f".{file_format}") else f"{status.name}.{file_format}"
            if not _is_data(status):
                continue
            if new in there:
                raise SchemaError(f"migrating {name}: {directory} has a file {new} already")
            found.append((row, status, f"{directory}/{new}"))
    names = [field.name for field in target.schema.fields if field.name not in target.schema.partition_keys]
    return map_parallel(partial(_read, file_io, file_format, names), found)


def take_over(name: str, files: Sequence[HiveFile], target: ReadableTable, file_io: DirectoryIO) -> None:
    """Moves files into the directories of the target, and commits them.

    Raises:
        CommitStateUnknown: the files are moved; whether they are committed is not known.
        As TableCommit.append: the files are where they were.
    """
    moved: list[HiveFile] = []
    try:
        for file in files:
            if file.path != file.target:
                file_io.make_directory(file.target.rpartition("/")[0])
                if not file_io.move_directory(file.path, file.target):
                    raise SchemaError(f"migrating {name}: {file.target} is there already")
                moved.append(file)
        messages = [
            CommitMessage(row, 0, _NO_BUCKETS, tuple(_meta(target, one) for one in files if one.partition == row))
            for row in dict.fromkeys(file.partition for file in files)
        ]
        if messages:
            TableCommit(target, new_user(target)).append(messages)
    except CommitStateUnknown:
        raise
    except BaseException:
        for file in reversed(moved):
            file_io.move_directory(file.target, file.path)
        raise


def _is_data(status: FileStatus) -> bool:
    return not status.is_directory and not status.name.startswith(_HIDDEN)


def _row_of(name: str, target: ReadableTable, texts: Sequence[str]) -> bytes:
    null, values = target.settings.partitions.default_name, []
    for field, text in zip(target.schema.partition_fields, texts, strict=True):
        try:
            values.append(cast_literal(literal_of(None if text == null else text), field.type, UTC).value)
        except ValueError as error:
            raise SchemaError(f"migrating {name}: the partition {field.name}={text}: {error}") from None
    return encode_arity_row(values, target.schema.partition_types)


def _read(
    file_io: DirectoryIO, file_format: str, names: Sequence[str], found: tuple[bytes, FileStatus, str]
) -> HiveFile:
    row, status, target = found
    reader = open_reader(file_io.open_input(status.path, status.size), file_format, status.path)
    try:
        unknown, rows = set(reader.names) - set(names), reader.row_count
        known = set(reader.names) & set(names)
    finally:
        reader.close()
    if rows and (not known or {one.lower() for one in unknown} & set(names)):
        raise UnsupportedFeature(
            f"migrating {status.path}: its columns are {', '.join(reader.names)}, and those of the table "
            f"{', '.join(names)}; Paimon finds columns by their exact name, so copy the rows with a query"
        )
    return HiveFile(row, status.path, target, status.size, rows)


def _meta(target: ReadableTable, file: HiveFile) -> DataFileMeta:
    """Without bounds of columns: a read takes those in the file itself."""
    return DataFileMeta(
        file_name=file.target.rpartition("/")[2],
        file_size=file.size,
        row_count=file.rows,
        min_key=EMPTY_ROW,
        max_key=EMPTY_ROW,
        key_stats=EMPTY_STATS,
        value_stats=EMPTY_STATS,
        min_sequence_number=0,
        max_sequence_number=0,
        schema_id=target.schema.id,
        level=0,
        creation_time=local_wall_millis(time.time_ns() // 1_000_000),
        delete_row_count=0,
        file_source=FileSource.APPEND,
        value_stats_cols=(),
    )
