"""A table with Iceberg metadata as an Iceberg table of the metastore (Java: IcebergHiveMetadataCommitter).

Readers with Iceberg's own Hive catalog find the newest metadata file in the property ``metadata_location``.
"""

from __future__ import annotations

import time

from pymetastore.hive_metastore import ttypes

from paimon_spark.catalogs.catalog_options import WAREHOUSE
from paimon_spark.catalogs.hive.connections import user_name
from paimon_spark.catalogs.hive.hive_tables import fields_for_hive
from paimon_spark.catalogs.hive.metastore import Metastore
from paimon_spark.catalogs.hive.places import EXTERNAL, HiveTable, is_paimon
from paimon_spark.catalogs.hive.settings import SITE_DIRECTORY, URI, HiveSettings, read_settings
from paimon_spark.catalogs.hive.travel import read_connection
from paimon_spark.catalogs.identifier import Identifier, Taken
from paimon_spark.errors import OptionError
from paimon_spark.format.options.iceberg_settings import IcebergSettings
from paimon_spark.store.iceberg.registration import Registration

_KIND, _ICEBERG = "table_type", "ICEBERG"
_METADATA, _BEFORE = "metadata_location", "previous_metadata_location"
_SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
_INPUT, _OUTPUT = "org.apache.hadoop.mapred.FileInputFormat", "org.apache.hadoop.mapred.FileOutputFormat"
_LONGEST_COMMENT, _CUT = 255, "..."
_MOST = 2**31 - 1


def register(registration: Registration) -> None:
    """Makes or changes the table of the metastore, in each database.

    Raises:
        OptionError: no option tells which metastore, or a table of another kind has the name.
        CatalogUnavailable, Refused: the metastore does not answer, or does not take it.
    """
    metastore = Metastore(_settings(registration))
    for database in registration.databases:
        _register(metastore, Identifier(database, registration.table), registration)


def _register(metastore: Metastore, name: Identifier, registration: Registration) -> None:
    if metastore.database(name.database) is None:
        _create_database(metastore, name.database, registration)
    found = metastore.table(name)
    if found is None:
        found = _new_table(metastore, name, registration)
        metastore.create_table(found)
    parameters = dict(found.parameters or {})
    if not is_paimon(found) and parameters.get(_KIND, "").upper() != _ICEBERG:
        raise OptionError(
            f"the metastore at {metastore.settings.shown} has a table {name} of another kind: set "
            f"'{IcebergSettings.database.key}' or '{IcebergSettings.table.key}' to register under another name"
        )
    earlier = parameters.get(_METADATA, registration.metadata)
    found.parameters = {**parameters, _KIND: _ICEBERG, _METADATA: registration.metadata}
    if earlier != registration.metadata:
        found.parameters[_BEFORE] = earlier
    if not is_paimon(found):  # the catalog of Paimon keeps the columns of its own tables
        found.sd.cols = _columns(metastore, registration)
    skips = str(bool(registration.settings.skip_update_stats)).lower()
    metastore.alter_table(name, found, {"DO_NOT_UPDATE_STATS": skips, "CASCADE": "true"})


def _create_database(metastore: Metastore, name: str, registration: Registration) -> None:
    above = registration.directory.rpartition("/")[0]
    try:
        metastore.create_database(ttypes.Database(name=name, locationUri=above))
    except Taken:  # another commit has made it
        return


def _new_table(metastore: Metastore, name: Identifier, registration: Registration) -> HiveTable:
    now = int(time.time())
    return ttypes.Table(
        tableName=name.table,
        dbName=name.database,
        owner=user_name(),
        createTime=now,
        lastAccessTime=now,
        retention=_MOST,
        partitionKeys=[],
        parameters={"EXTERNAL": "TRUE", _KIND: _ICEBERG, _METADATA: registration.metadata},
        tableType=EXTERNAL,
        sd=ttypes.StorageDescriptor(
            cols=_columns(metastore, registration),
            location=registration.directory,
            inputFormat=_INPUT,
            outputFormat=_OUTPUT,
            serdeInfo=ttypes.SerDeInfo(serializationLib=_SERDE),
        ),
    )


def _columns(metastore: Metastore, registration: Registration) -> list[object]:
    """The columns of the latest schema; the metastore takes comments of one line and 255 characters."""
    columns = fields_for_hive(metastore, registration.schema.fields)
    for column in columns:
        text = getattr(column, "comment", None)
        if text is not None:
            text = text.replace("\n", " ").replace("\r", " ")
            longer = len(text) > _LONGEST_COMMENT
            column.comment = text[: _LONGEST_COMMENT - len(_CUT)] + _CUT if longer else text  # type: ignore[attr-defined]  # Hive's own object
    return columns


def _settings(registration: Registration) -> HiveSettings:
    settings, connection = registration.settings, registration.connection or ""
    kind, _, text = connection.partition(":")
    if settings.uri is None and settings.hive_conf_dir is None:
        if kind == "hive":
            return read_connection(text)
        raise OptionError(
            f"registering {registration.table} for readers of Iceberg: no option tells which metastore; set "
            f"'{IcebergSettings.uri.key}', such as thrift://host:9083, or '{IcebergSettings.hive_conf_dir.key}'"
        )
    given = {WAREHOUSE: registration.directory, URI: settings.uri, SITE_DIRECTORY: settings.hive_conf_dir}
    try:
        return read_settings({key: value for key, value in given.items() if value is not None})
    except OptionError as error:  # which names the options of a catalog
        raise OptionError(
            f"{error}; of a table with Iceberg metadata these are the options '{IcebergSettings.uri.key}' and "
            f"'{IcebergSettings.hive_conf_dir.key}'"
        ) from None
