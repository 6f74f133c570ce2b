"""The schema of a table (format section 2; Java: TableSchema)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from paimon_spark.format.quoting import quoted_if_needed
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root

KEY_PREFIX = "_KEY_"
SEQUENCE_NUMBER = "_SEQUENCE_NUMBER"
VALUE_KIND = "_VALUE_KIND"
KEY_FIELD_ID_START = 1073741823
SEQUENCE_NUMBER_ID = 2147483646
VALUE_KIND_ID = 2147483645

# Columns that rows have only while they are merged, never in a file:
LEVEL = "_LEVEL"  # int8: level of the file that the row is in
FILE_NUMBER = "_FILE"  # int32: number of that file among those given to the merge
POSITION = "_POSITION"  # int64: its row number in the file, counting rows that a deletion vector deletes
ROW_KIND = "_row_kind"
ROW_KIND_FIELD = DataField(2147483643, ROW_KIND, DataType(Root.VARCHAR, False, 2**31 - 1))
"""A column of a read on demand, in no file: +I, -U, +U or -D, as the official system's audit log shows it."""
SEQUENCE_FIELD = DataField(SEQUENCE_NUMBER_ID, SEQUENCE_NUMBER, DataType(Root.BIGINT, False))
"""The number by which rows of one key are ordered, in the files of tables with primary keys."""

FILE_PATH = "__paimon_file_path"
ROW_INDEX = "__paimon_row_index"
PARTITION = "__paimon_partition"
BUCKET = "__paimon_bucket"
METADATA_COLUMNS = (FILE_PATH, ROW_INDEX, PARTITION, BUCKET)
"""Where a row lies, as hidden columns of a read, in no file (features 1.3; Java: PaimonMetadataColumn, 2.0.0)."""

_SHOWN = 20  # columns of a schema that prints itself
_ROW_INDEX_ID = 2**31 - 1 - 100
_FILE_PATH_ID = _ROW_INDEX_ID - 1
_PARTITION_ID = _ROW_INDEX_ID - 2
_BUCKET_ID = _ROW_INDEX_ID - 3
_IDS = frozenset({_ROW_INDEX_ID, _FILE_PATH_ID, _PARTITION_ID, _BUCKET_ID})


@dataclass(frozen=True, repr=False)
class TableSchema:
    """One schema file. options are as stored; unknown keeps the JSON keys of newer releases, written back unchanged."""

    id: int
    fields: tuple[DataField, ...]
    highest_field_id: int
    partition_keys: tuple[str, ...] = ()
    primary_keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    time_millis: int = 0
    version: int = 3
    unknown: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        columns = ", ".join(f"{quoted_if_needed(f.name)} {type_sql(f.type)}" for f in self.fields[:_SHOWN])
        more = f", and {len(self.fields) - _SHOWN} more" if len(self.fields) > _SHOWN else ""
        keys = f"; primary key {', '.join(self.primary_keys)}" if self.primary_keys else ""
        parts = f"; partitioned by {', '.join(self.partition_keys)}" if self.partition_keys else ""
        return f"schema {self.id} ({columns}{more}{keys}{parts})"

    @cached_property
    def by_name(self) -> dict[str, DataField]:
        return {f.name: f for f in self.fields}

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.fields)

    @cached_property
    def partition_fields(self) -> tuple[DataField, ...]:
        return tuple(self.by_name[name] for name in self.partition_keys)

    @cached_property
    def partition_types(self) -> tuple[DataType, ...]:
        """The types of the partition columns, which partition rows are encoded with."""
        return tuple(field.type for field in self.partition_fields)

    @cached_property
    def trimmed_primary_keys(self) -> tuple[str, ...]:
        """Primary key columns without the partition columns, in primary key order."""
        return tuple(name for name in self.primary_keys if name not in self.partition_keys)

    @cached_property
    def key_fields(self) -> tuple[DataField, ...]:
        """The fields of the trimmed primary key: the sort key of data files."""
        return tuple(self.by_name[name] for name in self.trimmed_primary_keys)


def metadata_fields(schema: TableSchema) -> tuple[DataField, ...]:
    """The metadata columns of a table, without those whose name, in any letter case, is that of a column of its own."""
    taken = {name.lower() for name in schema.names}
    found = (
        DataField(_FILE_PATH_ID, FILE_PATH, DataType(Root.VARCHAR, length=MAX_LENGTH)),
        DataField(_ROW_INDEX_ID, ROW_INDEX, DataType(Root.BIGINT)),
        DataField(_PARTITION_ID, PARTITION, DataType(Root.ROW, fields=schema.partition_fields)),
        DataField(_BUCKET_ID, BUCKET, DataType(Root.INT)),
    )
    return tuple(field for field in found if field.name not in taken)


def is_metadata(field: DataField) -> bool:
    """True if a column is a metadata column."""
    return field.id in _IDS and field.name in METADATA_COLUMNS


def tells_place(field: DataField) -> bool:
    """True if a column tells the file of a row, or its place in it, which a row merged of several files has not."""
    return field.id in (_FILE_PATH_ID, _ROW_INDEX_ID) and is_metadata(field)
