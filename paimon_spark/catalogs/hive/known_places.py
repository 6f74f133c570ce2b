"""Which table of a metastore is at a place: tables are opened by their location, and commits are reported by name.

A table is looked for where its name would put it, and below the directory of its database; only then among all tables.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

from paimon_spark.catalogs.hive.format_tables import is_format_table
from paimon_spark.catalogs.hive.metastore import Metastore
from paimon_spark.catalogs.hive.places import HiveTable, is_paimon, place_of_database, place_of_table
from paimon_spark.catalogs.identifier import DATABASE_SUFFIX, Identifier
from paimon_spark.file_io import plain_location
from paimon_spark.store.storage.publishers import KnownTable


def named_table(metastore: Metastore, root: str) -> Identifier | None:
    """The name of the table at a place, one of Paimon or a format table; None: the metastore has none there.

    The last answer is looked at first.
    """
    place, known = plain_location(root), _known(os.getpid())
    last = known.get((metastore, place))
    for identifier in [*([] if last is None else [last]), *_likely(metastore, place)]:
        if _is_at(metastore.table(identifier), place):
            known[metastore, place] = identifier
            return identifier
    for database in metastore.databases():
        for table in metastore.tables(database):
            if _is_at(table, place):
                known[metastore, place] = found = Identifier(database, str(table.tableName))
                return found
    return None


def tables_of(metastore: Metastore, database: str) -> Iterator[KnownTable]:
    """The tables of Paimon in a database, by name."""
    for table in metastore.tables(database):
        place = place_of_table(table)
        if is_paimon(table) and place is not None:
            yield KnownTable(database, str(table.tableName), place)


def _likely(metastore: Metastore, place: str) -> Iterator[Identifier]:
    folder, _, name = place.rpartition("/")
    directory = folder.rpartition("/")[2]
    if directory.endswith(DATABASE_SUFFIX):
        yield Identifier(directory.removesuffix(DATABASE_SUFFIX), name)
    for database in metastore.databases():
        found = metastore.database(database)
        if found is not None and plain_location(place_of_database(found) or "-") == folder:
            yield Identifier(database, name)


def _is_at(table: HiveTable | None, place: str) -> bool:
    if table is None or not (is_paimon(table) or is_format_table(table)):
        return False
    return plain_location(place_of_table(table) or "-") == place


@cache
def _known(process: int) -> dict[tuple[Metastore, str], Identifier]:
    return {}
