"""What a metastore holds of a table: its columns, its options, the classes by which Hive reads it.

Java: HiveCatalog.createHiveTable, alterTableToHms.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy

from pymetastore.hive_metastore import ttypes

from paimon_spark.catalogs.hive.hive_types import has_local_zoned, hive_type
from paimon_spark.catalogs.hive.metastore import Metastore
from paimon_spark.catalogs.hive.places import EXTERNAL, INPUT_FORMAT, MANAGED, OUTPUT_FORMAT, HiveTable, put_table
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.key_options import key_options
from paimon_spark.errors import SchemaError
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.upkeep_settings import PartitionSettings
from paimon_spark.format.options.write_settings import FileSettings
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField, DataType, Root

_SERDE = "org.apache.paimon.hive.PaimonSerDe"
_STORAGE_HANDLER = "org.apache.paimon.hive.PaimonStorageHandler"
_EXTERNAL_PROPERTY = "EXTERNAL"
COMMENT = "comment"
_HIVE_PREFIX = "hive."
_ALWAYS_COPIED = (PartitionSettings.expiration_time.key, FileSettings.path_directory.key)
_MOST = 2**31 - 1


def asks_external(schema: TableSchema, by_default: bool) -> bool:
    """True if a new table is to be external: by the catalog, or by its own option (Java: usingExternalTable)."""
    said = schema.options.get(_EXTERNAL_PROPERTY.lower(), schema.options.get(_EXTERNAL_PROPERTY, ""))
    return by_default or said.upper() == "TRUE"


def new_table(
    metastore: Metastore, identifier: Identifier, schema: TableSchema, location: str, external: bool
) -> HiveTable:
    """A new table as the metastore has it."""
    settings = metastore.settings
    if settings.syncs:
        parameters = {**schema.options, **key_options(schema)}
    else:
        parameters = {**_for_hive(schema), **{k: schema.options[k] for k in _ALWAYS_COPIED if k in schema.options}}
    parameters |= {"table_type": "PAIMON", "storage_handler": _STORAGE_HANDLER}
    if external:
        parameters[_EXTERNAL_PROPERTY] = "TRUE"
    storage = ttypes.StorageDescriptor(serdeInfo=ttypes.SerDeInfo())
    table = table_of_now(metastore, identifier, external, parameters, storage)
    _set_columns(metastore, table, schema)
    put_table(table, location, settings.location_in_properties)
    return table


def table_of_now(
    metastore: Metastore,
    identifier: Identifier,
    external: bool,
    parameters: Mapping[str, str],
    storage: object,
    keys: Sequence[object] = (),
) -> HiveTable:
    """A table of the user who asks, made now.

    Args:
        metastore: which gets it.
        identifier: its name.
        external: whether its directory stays when it is dropped.
        parameters: its properties.
        storage: Hive's StorageDescriptor: columns, place, and the classes by which Hive reads it.
        keys: the columns by which the metastore has partitions of it.
    """
    now = int(time.time())
    return ttypes.Table(
        tableName=identifier.table,
        dbName=identifier.database,
        owner=metastore.user,
        createTime=now,
        lastAccessTime=now,
        retention=_MOST,
        partitionKeys=list(keys),
        parameters=dict(parameters),
        tableType=EXTERNAL if external else MANAGED,
        sd=storage,
    )


def altered_table(
    metastore: Metastore, table: HiveTable, schema: TableSchema, location: str, removed: Iterable[str] = ()
) -> HiveTable:
    """A table with a new schema as the metastore has it. removed: the options that it had before."""
    made = deepcopy(table)
    settings = metastore.settings
    options = {**schema.options, **key_options(schema)} if settings.syncs else _for_hive(schema)
    made.parameters = {k: text for k, text in {**(made.parameters or {}), **options}.items() if k not in set(removed)}
    _set_columns(metastore, made, schema)
    put_table(made, location, settings.location_in_properties)
    return made


def fields_for_hive(metastore: Metastore, fields: Iterable[DataField]) -> list[object]:
    """Columns as the metastore has them."""
    columns = list(fields)
    zoned = any(has_local_zoned(field.type) for field in columns) and metastore.has_local_zoned()
    return [
        ttypes.FieldSchema(name=field.name, type=hive_type(field.type, zoned), comment=field.description)
        for field in columns
    ]


def hive_keys(identifier: Identifier, schema: TableSchema) -> tuple[DataField, ...]:
    """The columns by which the metastore has partitions of a table.

    Raises:
        SchemaError: a table with partitions is to have its tags as partitions.
    """
    settings = TableSettings(schema.options)
    tag_field, is_kept = settings.partitions.tag_to_partition, settings.partitions.in_metastore
    if schema.partition_keys and is_kept:
        return schema.partition_fields
    if tag_field is None:
        return ()
    if schema.partition_keys:
        raise SchemaError(
            f"{identifier} has partition columns and '{PartitionSettings.tag_to_partition.key}', which is for tables "
            "without them; leave the option out"
        )
    return (DataField(0, tag_field, DataType(Root.VARCHAR, length=_MOST)),)


def _for_hive(schema: TableSchema) -> dict[str, str]:
    return {
        key.removeprefix(_HIVE_PREFIX): text for key, text in schema.options.items() if key.startswith(_HIVE_PREFIX)
    }


def _set_columns(metastore: Metastore, table: HiveTable, schema: TableSchema) -> None:
    sd = table.sd
    sd.inputFormat, sd.outputFormat = INPUT_FORMAT, OUTPUT_FORMAT
    sd.serdeInfo = sd.serdeInfo or ttypes.SerDeInfo()
    sd.serdeInfo.serializationLib, sd.serdeInfo.parameters = _SERDE, {}
    keys = hive_keys(Identifier(table.dbName, table.tableName), schema)
    names = {field.name for field in keys}
    sd.cols = fields_for_hive(metastore, (field for field in schema.fields if field.name not in names))
    if keys:
        table.partitionKeys = fields_for_hive(metastore, keys)
    if schema.comment is not None:
        table.parameters = {**(table.parameters or {}), COMMENT: schema.comment}
