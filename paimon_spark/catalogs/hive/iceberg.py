"""A table with Iceberg metadata as an Iceberg table of the metastore (Java: IcebergHiveMetadataCommitter).

Readers with Iceberg's own Hive catalog find the newest metadata file in the property ``metadata_location``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pymetastore.hive_metastore import ttypes

from paimon_spark.catalogs.catalog_options import WAREHOUSE
from paimon_spark.catalogs.hive.hive_tables import fields_for_hive, table_of_now
from paimon_spark.catalogs.hive.metastore import Metastore
from paimon_spark.catalogs.hive.places import HiveTable, is_paimon, place_of_table
from paimon_spark.catalogs.hive.settings import SITE_DIRECTORY, URI, HiveSettings, read_settings
from paimon_spark.catalogs.hive.travel import read_connection
from paimon_spark.catalogs.identifier import Identifier, Taken
from paimon_spark.errors import OptionError
from paimon_spark.file_io import absolute_location
from paimon_spark.format.options.iceberg_settings import IcebergSettings
from paimon_spark.store.iceberg.registration import Registration

_KIND, _ICEBERG = "table_type", "ICEBERG"
_METADATA, _BEFORE = "metadata_location", "previous_metadata_location"
_METADATA_FILE = re.compile(r"v\d+\.metadata\.json", re.ASCII)
_STORE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?")
_SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
_INPUT, _OUTPUT = "org.apache.hadoop.mapred.FileInputFormat", "org.apache.hadoop.mapred.FileOutputFormat"
_LONGEST_COMMENT, _CUT = 255, "..."


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
        made = _new_table(metastore, name, registration)
        try:
            metastore.create_table(made)
        except Taken:  # another commit has made it
            found = metastore.table(name)
        found = found or made
    parameters = dict(found.parameters or {})
    kind = _kind_of_another(found, parameters, registration)
    if kind is not None:
        raise OptionError(
            f"the metastore at {metastore.settings.shown} has a table {name} {kind}: set "
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


def _kind_of_another(found: HiveTable, parameters: Mapping[str, str], registration: Registration) -> str | None:
    """What a table of the metastore is, if it is another one than that which is registered; None: it is this one.

    Paimon gives metadata files other names than catalogs of Iceberg, which put a UUID into them. The place of what is
    registered tells nothing: a table that was renamed goes on under the name of the options.
    """
    if is_paimon(found):
        same = _path(place_of_table(found) or "") == _path(absolute_location(registration.location))
        return None if same else f"of Paimon at {place_of_table(found)}"
    if parameters.get(_KIND, "").upper() != _ICEBERG:
        return "of another kind"
    file = parameters.get(_METADATA, "").rpartition("/")[2]
    return None if _METADATA_FILE.fullmatch(file) else "of Iceberg that another system writes"


def _path(location: str) -> str:
    """The path within its store, which several schemes and addresses may name."""
    return _STORE.sub("", location).rstrip("/")


def _create_database(metastore: Metastore, name: str, registration: Registration) -> None:
    above = registration.directory.rpartition("/")[0]
    try:
        metastore.create_database(ttypes.Database(name=name, locationUri=above))
    except Taken:  # another commit has made it
        return


def _new_table(metastore: Metastore, name: Identifier, registration: Registration) -> HiveTable:
    storage = ttypes.StorageDescriptor(
        cols=_columns(metastore, registration),
        location=registration.directory,
        inputFormat=_INPUT,
        outputFormat=_OUTPUT,
        serdeInfo=ttypes.SerDeInfo(serializationLib=_SERDE),
    )
    parameters = {"EXTERNAL": "TRUE", _KIND: _ICEBERG, _METADATA: registration.metadata}
    return table_of_now(metastore, name, True, parameters, storage)


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
