"""What databases, tables and partitions of a metastore are, and where. They are Hive's own objects.

Java: HiveCatalog.isPaimonTable, StorageLocationHelper, TBPropertiesLocationHelper.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from paimon_spark.file_io import absolute_location, is_same_store

HiveDatabase: TypeAlias = Any
HiveTable: TypeAlias = Any
HivePartition: TypeAlias = Any

_PROPERTY = "paimon_location"
INPUT_FORMAT = "org.apache.paimon.hive.mapred.PaimonInputFormat"
OUTPUT_FORMAT = "org.apache.paimon.hive.mapred.PaimonOutputFormat"
MANAGED, EXTERNAL, VIEW = "MANAGED_TABLE", "EXTERNAL_TABLE", "VIRTUAL_VIEW"


def is_paimon(table: HiveTable | None) -> bool:
    """True if Hive reads the table by Paimon's classes."""
    sd = None if table is None else table.sd
    return sd is not None and sd.inputFormat == INPUT_FORMAT and sd.outputFormat == OUTPUT_FORMAT


def is_view(table: HiveTable | None) -> bool:
    return table is not None and table.tableType == VIEW


def is_external(table: HiveTable) -> bool:
    """True if the directory stays when the table is dropped."""
    return bool(table.tableType == EXTERNAL)


def place_of_database(database: HiveDatabase) -> str | None:
    """The directory; None: the metastore has none."""
    place = (database.parameters or {}).get(_PROPERTY) or database.locationUri
    return absolute_location(place) if place else None


def place_of_table(table: HiveTable) -> str | None:
    """The directory; None: a view has none."""
    place = (table.parameters or {}).get(_PROPERTY) or (table.sd.location if table.sd is not None else None)
    return absolute_location(place) if place else None


def place_of_partition(partition: HivePartition) -> str | None:
    """The directory."""
    place = (partition.parameters or {}).get(_PROPERTY) or partition.sd.location
    return absolute_location(place) if place else None


def put_database(database: HiveDatabase, location: str, in_properties: bool) -> None:
    """in_properties: the metastore shall not look at it."""
    if in_properties:
        database.parameters = {**(database.parameters or {}), _PROPERTY: location}
        database.locationUri = None
    else:
        database.locationUri = with_scheme(location)


def put_table(table: HiveTable, location: str, in_properties: bool) -> None:
    """As put_database."""
    if in_properties:
        table.parameters = {**(table.parameters or {}), _PROPERTY: location}
    else:
        table.sd.location = with_scheme(location)


def put_partition(partition: HivePartition, location: str, in_properties: bool) -> None:
    """As put_database."""
    if in_properties:
        partition.parameters = {**(partition.parameters or {}), _PROPERTY: location}
    else:
        partition.sd.location = with_scheme(location)


def with_scheme(location: str) -> str:
    """A local path says so: the metastore may take another store for paths without a scheme."""
    is_local = is_same_store(location, "/")
    return f"file:{location}" if is_local and not location.startswith("file:") else location
