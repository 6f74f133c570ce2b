"""One catalog in its database: the settings, its rows and its locks; and the text from which another process opens it.

The text goes with the options of tables (``store.storage.publishers``). The address and the properties of the
connection, which may hold a password, are in a file (``secret_files``) unless the database is a file itself.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property

from paimon_spark.catalogs.catalog_options import WAREHOUSE
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.jdbc.database import Database, database_of
from paimon_spark.catalogs.jdbc.databases_and_tables import CatalogRows
from paimon_spark.catalogs.jdbc.locks import table_lock
from paimon_spark.catalogs.jdbc.settings import CATALOG_KEY, PROPERTY, URI, JdbcSettings, read_settings
from paimon_spark.catalogs.secret_files import kept_secrets, read_secrets

_PREFIX = "jdbc:"
_NEEDED = frozenset(
    {
        *(WAREHOUSE, CATALOG_KEY, "client-pool-size", "sync-all-properties"),
        *("lock.enabled", "lock-acquire-timeout", "lock-check-max-sleep", "lock-key-max-length"),
    }
)
_STRIPES = tuple(threading.RLock() for _ in range(64))
"""Threads of one process wait for each other here, also where the catalog has no lock (Java: LOCAL_LOCKS)."""


@dataclass(frozen=True)
class JdbcConnection:
    """A catalog in its database. Connections are made at the first use.

    Attributes:
        settings: of the options.
    """

    settings: JdbcSettings

    @cached_property
    def database(self) -> Database:
        return database_of(self.settings)

    def make_ready(self) -> None:
        """Makes the tables of the catalog, and the file of the database, if they are missing."""
        self.database.make_ready()

    @cached_property
    def rows(self) -> CatalogRows:
        return CatalogRows(self.database, self.settings.key)

    @contextmanager
    def lock(self, *identifiers: Identifier) -> Iterator[None]:
        """Holds the locks of some names, in an order that all clients keep.

        Raises:
            CatalogUnavailable: others hold one for too long, or the database does not answer.
        """
        ordered = sorted(set(identifiers), key=lambda one: (one.database, one.table))
        with ExitStack() as held:
            for stripe in sorted({hash((self.settings.key, identifier)) % len(_STRIPES) for identifier in ordered}):
                held.enter_context(_STRIPES[stripe])
            if self.settings.locked:
                ours: list[str] = []
                for identifier in ordered:
                    held.enter_context(table_lock(self.database, self.settings, str(identifier), ours))
                    ours.append(str(identifier))
            yield


def connection_text(options: Mapping[str, str]) -> str:
    """The value of the option CONNECTION for the tables of a catalog with these options; no password is in it."""
    plain = {key: text for key, text in options.items() if key in _NEEDED}
    hidden = {key: text for key, text in options.items() if key == URI or key.startswith(PROPERTY)}
    if options[URI].partition(":")[0].lower().startswith("sqlite") or options[URI].lower().startswith("jdbc:sqlite:"):
        hidden.pop(f"{PROPERTY}password", None)  # a database in a file asks for none
        return _PREFIX + json.dumps({"options": {**plain, **hidden}})
    return _PREFIX + json.dumps({"options": plain, "secrets": kept_secrets(hidden)})


def read_connection(text: str) -> tuple[str, JdbcConnection]:
    """(the warehouse, the catalog in its database) of such a text, without the prefix.

    Raises:
        OptionError: the file with the passwords is not there.
    """
    decoded = json.loads(text)
    secrets = read_secrets(decoded["secrets"]) if "secrets" in decoded else {}
    options = {**decoded["options"], **secrets}
    return options[WAREHOUSE], JdbcConnection(read_settings(options))
