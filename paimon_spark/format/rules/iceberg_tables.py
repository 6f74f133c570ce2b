"""Which tables have rows that readers of Iceberg see as they are; others are refused for writing.

Java refuses some of these columns when it publishes the metadata, after the commit. Others it publishes so that readers
of Iceberg find other rows; here nothing of that is published.
"""

from __future__ import annotations

from collections.abc import Iterator

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.options.iceberg_settings import CATALOG_LOCATION, DISABLED, TABLE_LOCATION, IcebergSettings
from paimon_spark.format.options.option import COLUMN
from paimon_spark.format.options.table_settings import ColumnSettings, TableSettings
from paimon_spark.format.options.write_settings import FileSettings
from paimon_spark.format.paths import external_paths
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import TIMESTAMPS, DataField, DataType, Root, holds

_NO_TYPES = frozenset({Root.VARIANT, Root.BLOB, Root.VECTOR, Root.GEOMETRY, Root.GEOGRAPHY})
_FINEST, _COARSEST = 6, 3  # digits of a second
_FORMAT = "parquet"


def iceberg_place(settings: TableSettings) -> str | None:
    """Where the options put Iceberg metadata: TABLE_LOCATION or CATALOG_LOCATION; None: there are none."""
    iceberg = settings.iceberg
    if iceberg.storage == DISABLED:
        return (iceberg.storage_location or TABLE_LOCATION) if iceberg.compatible else None
    return iceberg.storage_location or (TABLE_LOCATION if iceberg.storage == TABLE_LOCATION else CATALOG_LOCATION)


def check_iceberg(schema: TableSchema, settings: TableSettings) -> None:
    """Checks that readers of Iceberg will find the rows of the table, if its options ask for Iceberg metadata.

    Args:
        schema: the latest schema.
        settings: those of the schema with those of the call on top.

    Raises:
        UnsupportedFeature: they would not; the message names the option or column.
    """
    if iceberg_place(settings) is None:
        return
    reason = next(_reasons(schema, settings), None)
    if reason is not None:
        key = IcebergSettings.storage.key
        raise UnsupportedFeature(
            f"cannot write to the table: its option '{key}' asks for Iceberg metadata, and {reason}; or go without "
            f"them, with the option '{key}' = 'disabled'"
        )


def _reasons(schema: TableSchema, settings: TableSettings) -> Iterator[str]:
    iceberg = settings.iceberg
    if iceberg.format_version not in (2, 3):
        yield (
            f"'{IcebergSettings.format_version.key}' is '{iceberg.format_version}': this release writes the versions "
            "2 and 3"
        )
    files = settings.files
    for key, name in (
        ("file.format", settings.files.format),
        *(("file.format.per.level", n) for n in files.format_per_level.values()),
    ):
        if name.lower() != _FORMAT:
            yield f"'{key}' is '{name}', whose files do not tell Iceberg the ids of columns; use {_FORMAT}"
    if settings.data_evolution_enabled:
        yield "'data-evolution.enabled' is true: a row may lie in several files, which Iceberg does not know"
    if settings.deletion_vectors_enabled and not schema.primary_keys and not shows_vectors(settings):
        yield (
            "'deletion-vectors.enabled' is true, but Iceberg reads deletion vectors only with "
            f"'{IcebergSettings.format_version.key}' = '3' and 'deletion-vectors.bitmap64' = 'true': without them, "
            "deleted rows would be there; set both, and make a new table if this one has vectors of 32 bits"
        )
    if shows_vectors(settings) and external_paths(settings):
        yield (
            f"'{FileSettings.external_paths.key}' is set on a table with deletion vectors, whose index does not tell "
            "where the data file of a vector lies: deleted rows would be there"
        )
    for field in schema.fields:
        if holds(field.type, _is_missing):
            yield (
                f"column '{field.name}' has the type {type_sql(field.type)}, which Iceberg's format version 2 does not "
                "have: VARIANT, BLOB and VECTOR, TIME of more than 3 digits, and times of day and date with less than "
                f"{_COARSEST} or more than {_FINEST}; change the type"
            )
        if settings.column(field.name).map_layout != "default":
            yield (
                f"'{ColumnSettings.map_layout.key.replace(COLUMN, field.name)}' puts the entries of maps into columns "
                "of files that Iceberg does not know; unset it"
            )
    for field in schema.partition_fields:
        if _is_misread(field):
            yield (
                f"the partition column '{field.name}' has the type {type_sql(field.type)}, whose values the official "
                "system writes to Iceberg manifests in a form that readers take for other values; partition by a "
                "column of another type"
            )


def _is_missing(part: DataType) -> bool:
    if part.root in TIMESTAMPS:
        return not _COARSEST <= (part.precision or 0) <= _FINEST
    return part.root in _NO_TYPES or (part.root is Root.TIME and (part.precision or 0) > _COARSEST)


def _is_misread(field: DataField) -> bool:
    of_millis = field.type.root in TIMESTAMPS and (field.type.precision or 0) <= _COARSEST
    return of_millis or field.type.root in (Root.DECIMAL, Root.TIME)


def shows_vectors(settings: TableSettings) -> bool:
    """True if the Iceberg metadata have the deletion vectors of the table (Java: needAddDvToIceberg)."""
    vectors = settings.deletion_vectors_enabled and settings.deletion_vectors_bitmap64
    return vectors and settings.iceberg.format_version > 2
