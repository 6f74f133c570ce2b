"""Registers a table of Iceberg by its name, in a catalog of Iceberg (Java: IcebergMetadataCommitter).

The catalogs stand above the store, so their modules are named here as texts, and are imported at the first commit.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.file_io import ConfinedFileIO
from paimon_spark.format.options.iceberg_settings import HIVE_CATALOG, IcebergSettings
from paimon_spark.format.schema import TableSchema
from paimon_spark.store.iceberg.directory import IcebergDirectory
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.publishers import CatalogPublisher

_MODULES = {HIVE_CATALOG: "paimon_spark.catalogs.hive.iceberg"}
_DATABASE = ".db"


@dataclass(frozen=True)
class Registration:
    """A table of Iceberg, and its newest metadata.

    Attributes:
        databases: in which it is registered.
        table: its name there.
        location: of the table of Paimon.
        directory: the one above that of the metadata.
        metadata: the path of the newest metadata file.
        schema: the latest schema.
        settings: the options that say where it is registered.
        connection: of the catalog that has the table itself, as ``CatalogPublisher`` has it; None: there is none.
    """

    databases: tuple[str, ...]
    table: str
    location: str
    directory: str
    metadata: str
    schema: TableSchema
    settings: IcebergSettings
    connection: str | None


def register(directory: IcebergDirectory, version: int) -> None:
    """Tells the catalog of the option ``metadata.iceberg.storage`` which metadata file is the newest, if it is one.

    Args:
        directory: of the metadata.
        version: of the newest metadata file.

    Raises:
        OptionError: the options do not tell where, or under which name.
        PaimonError: the catalog does not take it.
    """
    settings = directory.table.settings.iceberg
    module = _MODULES.get(settings.storage)
    if module is None:
        return
    metadata = directory.spelled_here(f"v{version}.metadata.json")
    databases, name = _names(directory.table)
    made = Registration(
        databases,
        name,
        directory.table.location,
        metadata.rpartition("/")[0].rpartition("/")[0],
        metadata,
        directory.table.schema,
        settings,
        _connection(directory.table),
    )
    try:
        registrar: Any = import_module(module)
    except ModuleNotFoundError:
        raise UnsupportedFeature(
            f"registering {name} for readers of Iceberg needs the package pymetastore: run pip install "
            "'paimon-spark[hive]'"
        ) from None
    registrar.register(made)


def _names(table: Table) -> tuple[tuple[str, ...], str]:
    settings = table.settings.iceberg
    above, _, name = table.location.rpartition("/")
    database = above.rpartition("/")[2]
    given = tuple(part.strip() for part in (settings.database or "").split(";") if part.strip())
    if not given and not database.endswith(_DATABASE):
        raise OptionError(
            f"the table at {table.location} is not in a database directory '<name>{_DATABASE}', and "
            f"'{IcebergSettings.database.key}' does not say in which database to register it; set it"
        )
    return given or (database.removesuffix(_DATABASE),), (settings.table or "").strip() or name


def _connection(table: Table) -> str | None:
    publisher = table.file_io.publisher if isinstance(table.file_io, ConfinedFileIO) else None
    return publisher.connection if isinstance(publisher, CatalogPublisher) else None
