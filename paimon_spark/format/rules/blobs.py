"""Columns that have files of their own, BLOBs and VECTORs, and what a table with them must fulfil (features 3.18).

Java: BlobType, VectorType, SchemaValidation.validateBlobFields, validateBlobDescriptorFields (release 2.0).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from paimon_spark.format.options.engines import ChangelogProducer, MergeEngine
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.write_settings import FileSettings
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import STRINGS, DataField, DataType, Root, holds

_KEYS = STRINGS | {Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT}
AS_REFERENCES = {TableSettings.blob_as_descriptor.key: "true", TableSettings.blob_view_resolve.key: "false"}
"""Options of a read that gives values as they are stored elsewhere, or as a write takes them: as references."""
_OTHER_ORDER = "pk-clustering-override"


def is_blob_column(data_type: DataType) -> bool:
    """True if a column of the type may have files of its own: BLOB, and arrays and maps of BLOBs."""
    part = data_type.element if data_type.root in (Root.ARRAY, Root.MAP) else data_type
    return part is not None and part.root is Root.BLOB


def is_known_blob(data_type: DataType) -> bool:
    """True if this release reads and writes such a column.

    The keys of a map of BLOBs are texts or whole numbers (so they are in the official system).
    """
    keys = (data_type.key_type.root,) if data_type.root is Root.MAP else ()
    return is_blob_column(data_type) and _KEYS.issuperset(keys)


def inline_blobs(settings: TableSettings) -> frozenset[str]:
    """The names of BLOB columns whose values, references, are in the files of the other columns."""
    return frozenset((*settings.blob_descriptor_field, *settings.blob_view_field))


def referenced_blobs(schema: TableSchema, settings: TableSettings) -> frozenset[str]:
    """The names of BLOB columns of which the files of the table have references to the bytes, in other files: those of
    `blob-descriptor-field`, and all of a table with a primary key (Java: ManagedBlobWriter)."""
    if not schema.primary_keys:
        return frozenset(settings.blob_descriptor_field)
    return frozenset(field.name for field in schema.fields if is_blob_column(field.type))


def resolved_views(schema: TableSchema, settings: TableSettings) -> frozenset[str]:
    """The names of BLOB columns whose values are views, which a read follows to rows of other tables."""
    return frozenset(settings.blob_view_field) & schema.by_name.keys() if settings.blob_view_resolve else frozenset()


def blob_file_columns(fields: Iterable[DataField], settings: TableSettings) -> tuple[DataField, ...]:
    """The columns that have files of their own (Java: BlobType.fieldsInBlobFile)."""
    inline = inline_blobs(settings)
    return tuple(field for field in fields if is_blob_column(field.type) and field.name not in inline)


def vector_file_columns(fields: Iterable[DataField], settings: TableSettings) -> tuple[DataField, ...]:
    """The VECTOR columns that share files of their own (Java: VectorType.fieldsInVectorFile)."""
    apart = settings.files.vector_format is not None
    return tuple(field for field in fields if apart and field.type.root is Root.VECTOR)


def own_file_columns(fields: Sequence[DataField], settings: TableSettings) -> tuple[DataField, ...]:
    """The columns that are not in the files of the others."""
    return (*blob_file_columns(fields, settings), *vector_file_columns(fields, settings))


def check_vector_files(schema: TableSchema, settings: TableSettings) -> Iterator[str]:
    """What is wrong with VECTOR columns that have files of their own, a message for each rule that is broken."""
    key = FileSettings.vector_format.key
    if settings.files.vector_format is None:
        return
    if not settings.data_evolution_enabled:
        yield f"the option '{key}' needs 'data-evolution.enabled' = 'true'"
    vectors = vector_file_columns(schema.fields, settings)
    if vectors and settings.files.vector_format.lower() == "orc":
        yield f"the option '{key}' is 'orc', and orc files hold no VECTOR; use parquet or avro"
    if len(vectors) == len(schema.fields):
        yield f"a table with VECTOR columns and the option '{key}' needs another column beside them"
    yield from (
        f"the VECTOR column '{field.name}' cannot be a partition column"
        for field in vectors
        if field.name in schema.partition_keys
    )


def check_blobs(schema: TableSchema, settings: TableSettings) -> Iterator[str]:
    """What is wrong with the BLOB columns of a table, a message for each rule that is broken."""
    for field in schema.fields:
        if not is_blob_column(field.type) and holds(field.type, lambda part: part.root is Root.BLOB):
            yield (
                f"the column '{field.name}' has the type {type_sql(field.type)}, and a BLOB is a column of its own, "
                "the element of an array, or the value of a map"
            )
    blobs = {field.name: field.type.root is Root.BLOB for field in schema.fields if is_blob_column(field.type)}
    for key, names, takes_nested in (
        (TableSettings.blob_field.key, settings.blob_field, True),
        (TableSettings.blob_descriptor_field.key, settings.blob_descriptor_field, False),
        (TableSettings.blob_view_field.key, settings.blob_view_field, False),
    ):
        for name in names:
            if name not in blobs or not (takes_nested or blobs[name]):
                no_column = f"no column; the columns are {', '.join(schema.names)}"
                of_type = "no BLOB column; give it the type BLOB, which is BINARY in Spark"
                yield (
                    f"the option '{key}' names '{name}', which is {of_type if name in schema.by_name else no_column}"
                )
    both = sorted(set(settings.blob_descriptor_field).intersection(settings.blob_view_field))
    if both:
        yield f"the options 'blob-descriptor-field' and 'blob-view-field' both name '{both[0]}'"
    if not blobs:
        return
    if not schema.primary_keys and not settings.data_evolution_enabled:
        yield (
            f"the column '{next(iter(blobs))}' is a BLOB, which needs the options 'row-tracking.enabled' = 'true' and "
            "'data-evolution.enabled' = 'true'"
        )
    if len(blobs) == len(schema.fields):
        yield "a table with BLOB columns needs another column beside them"
    yield from (
        f"the BLOB column '{name}' cannot be a partition column" for name in schema.partition_keys if name in blobs
    )
    yield from check_key_blobs(schema, settings)


def has_packs(schema: TableSchema, settings: TableSettings) -> bool:
    """True if the bytes of some BLOB columns of the table are in packs, to which the data files refer."""
    return bool(schema.primary_keys) and bool(blob_file_columns(schema.fields, settings))


def check_key_blobs(schema: TableSchema, settings: TableSettings) -> Iterator[str]:
    """What is wrong with BLOB columns of a table with a primary key whose bytes are in packs, a message for each rule
    that is broken (Java: SchemaValidation.validatePrimaryKeyBlobConfiguration)."""
    if not has_packs(schema, settings):
        return
    packed = [field.name for field in blob_file_columns(schema.fields, settings)]
    begin = f"the column '{packed[0]}' of the table with a primary key is a BLOB, which"
    uses = (
        ("primary key", schema.primary_keys),
        ("bucket-key", settings.bucket_key),
        ("sequence.field", settings.sequence_field),
    )
    for use, names in uses:
        yield from (f"the BLOB column '{name}' cannot be in the {use}" for name in names if name in packed)
    if settings.merge_engine is not MergeEngine.DEDUPLICATE:
        yield f"{begin} needs 'merge-engine' = 'deduplicate', and it is '{settings.merge_engine}'"
    if settings.changelog_producer is not ChangelogProducer.NONE:
        yield f"{begin} needs 'changelog-producer' = 'none', and it is '{settings.changelog_producer}'"
    if settings.files.external_paths is not None:
        yield f"{begin} does not go with '{FileSettings.external_paths.key}'"
    if settings.flag(_OTHER_ORDER):
        yield f"{begin} does not go with '{_OTHER_ORDER}'"
