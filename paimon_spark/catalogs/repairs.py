"""Names and files that do not agree, in a catalog over files: what is refused, and the repair (Java: repairCatalog)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from paimon_spark.catalogs.create import find_schema
from paimon_spark.catalogs.identifier import (
    DATABASE_SUFFIX,
    SYSTEM_DATABASE,
    Identifier,
    Taken,
    check_not_system,
    check_not_system_database,
)
from paimon_spark.catalogs.moves import is_table
from paimon_spark.catalogs.names import Names
from paimon_spark.errors import DatabaseNotFound, SchemaError, TableAlreadyExists, TableNotFound, UnsupportedFeature

if TYPE_CHECKING:
    from paimon_spark.catalogs.catalog import Catalog

LOOKS = 10
LOOK_SECONDS = 0.1
"""How often and how soon a call looks again at files without a name, which may be those of a call that is at work."""


def without_files(names: Names, identifier: Identifier, location: str) -> SchemaError:
    """The error for a table that has a name and no files."""
    return SchemaError(
        f"{names.title} has a table {identifier}, and there are no files of it at {location}: a rename of it was "
        "interrupted, or the files were deleted or moved. Drop it; if the files are in a directory of another name, "
        "CALL sys.repair with that name makes them a table again"
    )


def without_name(names: Names, identifier: Identifier, location: str) -> SchemaError:
    """The error for a new table whose place has the files of a table without a name."""
    return SchemaError(
        f"creating {identifier}: the files of a table are at {location}, and {names.title} does not know it: its "
        "creation, its drop or its rename was interrupted, or is at work, or it was made without the catalog. "
        f"CALL sys.repair('{identifier}') makes it a table again; else delete the directory"
    )


def check_movable(names: Names, identifier: Identifier, to: Identifier, places: tuple[str, str]) -> None:
    """Checks that a table can be moved, and that its new name has no files, or those of a call that is at work there.

    Args:
        names: have the table.
        identifier: its name.
        to: the new one.
        places: where it is, and where a table of the new name would be.

    Raises:
        UnsupportedFeature: the storage moves no directories.
        SchemaError: there are no files of the table, or those of another one at the new place.
    """
    source, target = places
    file_io = names.file_io_of(source)
    if not file_io.moves_directories:
        raise UnsupportedFeature(
            f"renaming {identifier} to {to}: {source} is in an object store, which cannot move a directory in one "
            "step; rows that others write meanwhile would be lost. Create the new table and copy the rows"
        )
    if names.files_decide:
        return
    if not is_table(file_io, source):
        raise without_files(names, identifier, source)
    for _ in range(LOOKS):
        if not is_table(file_io, target) or names.has_name(to):
            return
        time.sleep(LOOK_SECONDS)
    raise SchemaError(
        f"renaming {identifier}: the files of a table are at {target}, and {names.title} does not know it; repair that "
        "table, or delete the directory"
    )


def repair(catalog: Catalog, names: Names, database: str | None, table: str | None) -> None:
    """As Catalog.repair: adds the names of tables whose files are there, and what is stored beside the names."""
    if names.files_decide:
        raise UnsupportedFeature(
            "repairing a catalog in files: it knows nothing of tables beside their files, which need no repair; "
            "paimon-spark check verifies a table"
        )
    if database is None:
        for name in _directories(names, names.warehouse):
            if name.endswith(DATABASE_SUFFIX) and name.removesuffix(DATABASE_SUFFIX) not in ("", SYSTEM_DATABASE):
                _repair_database(catalog, names, name.removesuffix(DATABASE_SUFFIX))
    elif table is None:
        _repair_database(catalog, names, database)
    else:
        _repair_table(catalog, names, Identifier(database, table))


def _repair_database(catalog: Catalog, names: Names, database: str) -> None:
    check_not_system_database(database, "repairing")
    location = names.database_location(database)
    file_io = names.file_io_of(location)
    if not file_io.exists(location) and not names.has_database(database):
        raise DatabaseNotFound(f"repairing the database '{database}': there is no directory {location}")
    catalog.create_database(database, ignore_if_exists=True)
    for name in _directories(names, location):
        if is_table(file_io, f"{location}/{name}"):
            _repair_table(catalog, names, Identifier(database, name))


def _repair_table(catalog: Catalog, names: Names, identifier: Identifier) -> None:
    check_not_system(identifier, "repairing")
    location = catalog.table_location(identifier)
    file_io = names.file_io_of(location)
    gone = TableNotFound(f"repairing {identifier}: there are no files of a table at {location}")
    if not is_table(file_io, location):
        raise gone
    catalog.create_database(identifier.database, ignore_if_exists=True)
    with names.lock(identifier):
        schema = find_schema(file_io, location)
        if schema is None:  # another client has dropped it
            raise gone
        try:
            names.put_table(identifier, schema, location)
        except Taken:
            raise TableAlreadyExists(
                f"repairing {identifier}: there is a view, or a table which is none of Paimon, of that name; rename it "
                "first"
            ) from None


def _directories(names: Names, path: str) -> list[str]:
    return sorted(status.name for status in names.file_io_of(path).list(path) if status.is_directory)
