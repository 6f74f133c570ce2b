"""Gives a table another name (Java: HiveCatalog.renameTableImpl).

The metastore moves the directory of a table in the same call, or does not do it: where locations are properties, and
where the directory is not below that of its database. Then it is moved here, and the metastore gets the new place.
"""

from __future__ import annotations

from copy import deepcopy

from paimon_spark.catalogs.hive.metastore import Metastore
from paimon_spark.catalogs.hive.places import HiveTable, is_external, place_of_table, put_table
from paimon_spark.catalogs.identifier import Identifier, Missing, Refused, Taken
from paimon_spark.catalogs.moves import is_table, move_table
from paimon_spark.errors import SchemaError
from paimon_spark.file_io import DirectoryIO, plain_location


def renamed(
    metastore: Metastore,
    file_io: DirectoryIO,
    identifier: Identifier,
    to: Identifier,
    table: HiveTable,
    places: tuple[str, str],
) -> None:
    """Does it.

    Args:
        metastore: has the table.
        file_io: reaches both places.
        identifier: its name.
        to: the new one, which is free.
        table: what the metastore has of it.
        places: where it is, and where a table of the new name would be.

    Raises:
        Missing: there is no such table any more.
        Taken: the new name was taken concurrently.
        SchemaError: the directory at the new place cannot be replaced.
    """
    source, target = places
    changed = deepcopy(table)
    changed.dbName, changed.tableName = to.database, to.table
    try:
        metastore.alter_table(identifier, changed, {})
    except Refused as error:
        if metastore.table(identifier) is None:
            raise Missing(f"there is no table {identifier} any more") from error
        if metastore.table(to) is not None:
            raise Taken from None
        raise
    if is_external(table) or not is_table(file_io, source) or plain_location(source) == plain_location(target):
        return
    if not move_table(file_io, source, target):
        raise SchemaError(
            f"renaming {identifier}: the metastore has the table under its new name {to}, and its files are still at "
            f"{source}, because there is a table at {target}; it can be used as it is"
        )
    now = metastore.table(to)
    if now is not None and plain_location(place_of_table(now) or source) == plain_location(source):
        put_table(now, target, metastore.settings.location_in_properties)
        metastore.alter_table(to, now, {})
