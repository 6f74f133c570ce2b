"""The schema of a table, and its files (format section 2; Java: TableSchema, SchemaSerializer)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from paimon_spark.errors import CorruptFile, SchemaError, UnsupportedFeature
from paimon_spark.format.json_text import format_json, parse_json_object
from paimon_spark.format.quoting import quoted_if_needed
from paimon_spark.format.type_text import format_field, parse_field, type_sql
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
KEYED_FIELDS = (
    DataField(SEQUENCE_NUMBER_ID, SEQUENCE_NUMBER, DataType(Root.BIGINT, nullable=False)),
    DataField(VALUE_KIND_ID, VALUE_KIND, DataType(Root.TINYINT, nullable=False)),
)
"""The columns of files of tables with primary keys between those of the key and those of the table."""
SEQUENCE_FIELD = DataField(SEQUENCE_NUMBER_ID, SEQUENCE_NUMBER, DataType(Root.BIGINT, False))
"""The number by which rows of one key are ordered, in the files of tables with primary keys."""
FILE_PATH = "__paimon_file_path"
ROW_INDEX = "__paimon_row_index"
PARTITION = "__paimon_partition"
BUCKET = "__paimon_bucket"
ROW_ID = "_ROW_ID"
_ROW_ID_FIELD = DataField(2147483642, ROW_ID, DataType(Root.BIGINT))
TRACKING_FIELDS = (_ROW_ID_FIELD, DataField(SEQUENCE_NUMBER_ID, SEQUENCE_NUMBER, DataType(Root.BIGINT)))
"""The id of a row and the number of its last change, in tables with row tracking (format section 10)."""
SEARCH_SCORE = "__paimon_search_score"
"""A hidden column of the rows that a search finds (Java: PaimonMetadataColumn, 2.0.0)."""
METADATA_COLUMNS = (FILE_PATH, ROW_INDEX, PARTITION, BUCKET, ROW_ID, SEQUENCE_NUMBER)
"""Hidden columns of a read: where a row lies, and what row tracking knows of it (features 1.3; Java:
PaimonMetadataColumn, 2.0.0)."""
_SHOWN = 20  # columns of a schema that prints itself
_ROW_INDEX_ID = 2**31 - 1 - 100
_FILE_PATH_ID = _ROW_INDEX_ID - 1
_PARTITION_ID = _ROW_INDEX_ID - 2
_BUCKET_ID = _ROW_INDEX_ID - 3
_IDS = frozenset({_ROW_INDEX_ID, _FILE_PATH_ID, _PARTITION_ID, _BUCKET_ID})
CURRENT_VERSION = 3
_REMEMBERED, _MOST_REMEMBERED = 64, 2**16  # schemas; bytes of one
_KNOWN = frozenset(
    {"version", "id", "fields", "highestFieldId", "partitionKeys", "primaryKeys", "options", "comment", "timeMillis"}
)


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

    def columns_of_file(self, names: Iterable[str] | None) -> tuple[DataField, ...]:
        """The columns in a file of this schema whose metadata list these columns (`_WRITE_COLS`); None: all."""
        return self.fields if names is None else tuple(self.by_name[name] for name in names if name in self.by_name)

    def stored_columns(self, names: Iterable[str] | None) -> tuple[DataField, ...]:
        """All columns in a file of this schema, in their order (Java: KeyValue.createKeyValueFields).

        Args:
            names: as of columns_of_file.

        Raises:
            CorruptFile: a name is of no column.
            UnsupportedFeature: the files may be without the columns of the key, and do not tell.
        """
        if self.primary_keys:
            if self.options.get("data-file.thin-mode", "false").strip().lower() == "true":
                raise UnsupportedFeature(
                    "reading files of the format 'row' of a table with 'data-file.thin-mode' = 'true': they do not "
                    "tell whether they have the columns of the key; no system reads them"
                )
            keys = (DataField(KEY_FIELD_ID_START + f.id, KEY_PREFIX + f.name, f.type) for f in self.key_fields)
            return (*keys, *KEYED_FIELDS, *self.fields)
        if names is None:
            return self.fields
        known = {**{field.name: field for field in self.tracking_fields}, **self.by_name}
        absent = [name for name in names if name not in known]
        if absent:
            raise CorruptFile(f"the schema {self.id} has no column '{absent[0]}', which the metadata of a file name")
        return tuple(known[name] for name in names)

    @cached_property
    def tracking_fields(self) -> tuple[DataField, ...]:
        """TRACKING_FIELDS if the table tracks its rows, else none."""
        is_on = self.options.get("row-tracking.enabled", "false").strip().lower() == "true"
        return TRACKING_FIELDS if is_on and not self.primary_keys else ()

    @cached_property
    def with_tracking(self) -> TableSchema:
        """The schema of files that hold rows that are written again, with the columns of row tracking (format section
        10; Java: SpecialFields.rowTypeWithRowTracking). The same schema if the table does not track its rows, or has
        data evolution: then the ids of rows follow from the first one of their file."""
        if not self.tracking_fields or self.options.get("data-evolution.enabled", "false").strip().lower() == "true":
            return self
        row_id, number = self.tracking_fields
        return replace(self, fields=(*self.fields, replace(row_id, type=row_id.type.with_nullable(False)), number))


def metadata_fields(schema: TableSchema) -> tuple[DataField, ...]:
    """The metadata columns of a table, without those whose name, in any letter case, is that of a column of its own."""
    taken = {name.lower() for name in schema.names}
    found = (
        DataField(_FILE_PATH_ID, FILE_PATH, DataType(Root.VARCHAR, length=MAX_LENGTH)),
        DataField(_ROW_INDEX_ID, ROW_INDEX, DataType(Root.BIGINT)),
        DataField(_PARTITION_ID, PARTITION, DataType(Root.ROW, fields=schema.partition_fields)),
        DataField(_BUCKET_ID, BUCKET, DataType(Root.INT)),
        *schema.tracking_fields,
    )
    return tuple(field for field in found if field.name.lower() not in taken)


def is_metadata(field: DataField) -> bool:
    """True if a column is a metadata column."""
    return field in TRACKING_FIELDS or (field.id in _IDS and field.name in METADATA_COLUMNS)


def tells_place(field: DataField) -> bool:
    """True if a column tells the file of a row, or its place in it, which a row merged of several files has not."""
    return field.id in (_FILE_PATH_ID, _ROW_INDEX_ID) and is_metadata(field)


def decode_schema(data: bytes, where: str) -> TableSchema:
    """The schema in the bytes of one schema file; where names the file in errors.

    Defaults of old releases become explicit options: up to version 1 ``bucket=1``, up to version 2 ``file.format=orc``.

    Raises:
        CorruptFile: not a schema file, or a partition or primary key names no column.
        UnsupportedFeature: the version or a type is newer than this release knows.
    """
    return _remembered(data, where) if len(data) <= _MOST_REMEMBERED else _decoded(data, where)


def _decoded(data: bytes, where: str) -> TableSchema:
    json = parse_json_object(data, where)
    version = json.integer("version") if json.get("version") is not None else 1
    if version > CURRENT_VERSION:
        raise UnsupportedFeature(
            f"cannot read {where}: schema version {version} is newer than {CURRENT_VERSION}, the last one this release "
            "knows; use a newer release of paimon_spark"
        )
    options = json.optional_text_map("options") or {}
    if version <= 1:
        options.setdefault("bucket", "1")
    if version <= 2:
        options.setdefault("file.format", "orc")
    fields = _decode_fields(json.array("fields"), where)
    for key in ("partitionKeys", "primaryKeys"):
        json.array(key)  # required: without its keys, the rows of a table would be read differently
    schema = TableSchema(
        id=json.integer("id"),
        fields=fields,
        highest_field_id=json.integer("highestFieldId"),
        partition_keys=json.texts("partitionKeys"),
        primary_keys=json.texts("primaryKeys"),
        options=options,
        comment=json.optional_text("comment"),
        time_millis=json.optional_integer("timeMillis") or 0,
        version=version,
        unknown=json.others(_KNOWN),
    )
    names = set(schema.names)
    if len(names) != len(fields):
        raise CorruptFile(f"cannot read {where}: it names a column twice: {', '.join(schema.names)}")
    if len({field.id for field in fields}) != len(fields):
        raise CorruptFile(f"cannot read {where}: two columns have one id: {[(f.name, f.id) for f in fields]}")
    for key in (*schema.partition_keys, *schema.primary_keys):
        if key not in names:
            raise CorruptFile(f"cannot read {where}: key column '{key}' is not a column ({', '.join(schema.names)})")
    return schema


_remembered = lru_cache(_REMEMBERED)(_decoded)  # a commit looks whether the schema of its table is still there


def _decode_fields(entries: list[Any], where: str) -> tuple[DataField, ...]:
    try:
        return tuple(parse_field(entry) for entry in entries)
    except SchemaError as error:
        raise CorruptFile(f"cannot read {where}: {error}") from None
    except UnsupportedFeature as error:
        raise UnsupportedFeature(f"cannot read {where}: {error}") from None


def encode_schema(schema: TableSchema) -> bytes:
    """The bytes of the schema file, laid out as in Java. A comment of None is left out: Java reads null as "null"."""
    json: dict[str, Any] = {
        "version": schema.version,
        "id": schema.id,
        "fields": [format_field(f) for f in schema.fields],
        "highestFieldId": schema.highest_field_id,
        "partitionKeys": schema.partition_keys,
        "primaryKeys": schema.primary_keys,
        "options": schema.options,
    }
    if schema.comment is not None:
        json["comment"] = schema.comment
    json["timeMillis"] = schema.time_millis
    return format_json({**json, **schema.unknown}).encode("utf-8")
