"""Where the other tables of a catalog are: values of a table may name rows of them (Java: CatalogEnvironment).

A catalog gives its tables the options from which each process finds the others by name: the address of a server, the
option CONNECTION of ``publishers``, or the directory of the databases.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from urllib.parse import quote

from paimon_spark.file_io import absolute_location
from paimon_spark.store.storage.publishers import CONNECTION, WAREHOUSE, publisher_of
from paimon_spark.store.storage.served import SERVED

_DATABASE_SUFFIX = ".db"
_OF_SERVER = re.compile(rf"{re.escape(SERVED)}[^/]*")
_SERVER = "paimon_spark.catalogs.rest.served"  # it stands above the store, and is imported when a table is looked for


@dataclass(frozen=True)
class CatalogTables:
    """The tables of the catalog through which a table was opened. Picklable; its repr shows no credentials.

    Attributes:
        storage: the storage options of the table, those that tell of the catalog among them.
        server: where its tables are, if a server knows them: ``rest://<catalog>``; "": none does.
    """

    storage: Mapping[str, str] = field(repr=False)
    server: str = ""

    def place(self, database: str, table: str) -> str | None:
        """The location of a table; None: the catalog knows none of that name.

        Args:
            database: its name.
            table: its name, perhaps with ``$branch_<name>``.

        Raises:
            CatalogUnavailable: what stores the names gives no answer.
        """
        name, dollar, suffix = table.partition("$")
        if self.server:
            return f"{self.server}/{quote(database, safe='')}/{quote(name, safe='')}{dollar}{suffix}"
        publisher = publisher_of(self.storage)
        if publisher is not None:
            found = publisher.place(database, name)
            return None if found is None else f"{found}{dollar}{suffix}"
        return f"{self.storage[WAREHOUSE]}/{database}{_DATABASE_SUFFIX}/{table}"


def catalog_tables(location: str, storage: Mapping[str, str]) -> CatalogTables | None:
    """The tables of the catalog of a table; None: it was opened by its path, and nothing tells of a catalog.

    Args:
        location: of the table, as it was opened.
        storage: the storage options with which it was opened.
    """
    server = _OF_SERVER.match(location)
    if server is not None:
        others: Mapping[str, str] = import_module(_SERVER).read_via(location, storage)
        return CatalogTables(others, server[0])
    keys = {key.lower(): text for key, text in storage.items()}
    if CONNECTION in keys:
        return CatalogTables(dict(storage))
    if WAREHOUSE not in keys:
        return None
    here = {WAREHOUSE: absolute_location(keys[WAREHOUSE])}  # as this process means it
    return CatalogTables({key: text for key, text in storage.items() if key.lower() != WAREHOUSE} | here)
