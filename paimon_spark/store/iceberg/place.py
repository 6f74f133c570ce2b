"""The directory of a table's Iceberg metadata (Java: IcebergCommitCallback.catalogTableMetadataPath)."""

from __future__ import annotations

from paimon_spark.errors import OptionError
from paimon_spark.format.options.iceberg_settings import CATALOG_LOCATION, TABLE_LOCATION, IcebergSettings
from paimon_spark.format.rules.iceberg_tables import iceberg_place
from paimon_spark.store.metadata.table import Table

_DATABASE = ".db"


def metadata_directory(table: Table) -> str | None:
    """Where the Iceberg metadata of a table are; None: it has none. Branches have none.

    Raises:
        OptionError: the table is in no warehouse, where they belong by its options.
    """
    place = iceberg_place(table.settings)
    if place is None or table.branch != "main":
        return None
    if place == TABLE_LOCATION:
        return f"{table.location}/metadata"
    above, _, name = table.location.rpartition("/")
    warehouse, _, database = above.rpartition("/")
    if not database.endswith(_DATABASE):
        raise OptionError(
            f"'{IcebergSettings.storage_location.key}' is '{CATALOG_LOCATION}' for the table at {table.location}, "
            f"which is not in a database directory '<name>{_DATABASE}' of a warehouse; set it to '{TABLE_LOCATION}'"
        )
    return f"{warehouse}/iceberg/{database.removesuffix(_DATABASE)}/{name}/metadata"
