"""Which files do not store the partition columns: those that a migration took over from Hive.

Our reader fills such columns from the manifest. Spark would fill them with NULL, without a word.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

from paimon_spark.arrow.formats.data_file import open_reader
from paimon_spark.file_io import FileIO
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.paths import data_file_path, file_format_of
from paimon_spark.format.types import DataField
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import Split
from paimon_spark.store.storage.parallel import map_parallel

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
    """True if the rows of the file have consecutive sequence numbers.

    Writers of Paimon give each row a number; migrations give the whole file the number 0 (Java: AppendOnlyWriter,
    FileMetaUtils.constructFileMeta).
    """
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
