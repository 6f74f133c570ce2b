"""Names that the shell completes: what the catalog has, looked up once and kept until a statement may change it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Protocol

from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import PaimonError
from paimon_spark.procedures.catalogue import PROCEDURES
from paimon_spark.procedures.procedure import sql_signature
from paimon_spark.store.system_tables.names import NAMES

Found = tuple[str, ...]


class Names(Protocol):
    """What there is."""

    @property
    def catalog(self) -> str: ...

    @property
    def system_tables(self) -> Found: ...

    @property
    def procedures(self) -> Mapping[str, Found]:
        """The names of the arguments of each."""
        ...

    def databases(self) -> Found: ...

    def tables(self, database: str) -> Found: ...

    def columns(self, database: str, table: str) -> Found: ...


class KnownNames:
    """The names of a catalog. What cannot be looked up is not completed: the statement itself will tell why."""

    system_tables = NAMES
    procedures: Mapping[str, Found] = {name: tuple(chain(*sql_signature(found))) for name, found in PROCEDURES.items()}

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: dict[tuple[str, ...], Found] = {}

    @property
    def catalog(self) -> str:
        return self._catalog.name

    def forget(self) -> None:
        """Looks names up again from here on."""
        self._known = {}

    def databases(self) -> Found:
        return self._look_up((), lambda: tuple(self._catalog.list_databases()))

    def tables(self, database: str) -> Found:
        return self._look_up((database,), lambda: tuple(self._catalog.list_tables(database)))

    def columns(self, database: str, table: str) -> Found:
        def names() -> Found:
            schema = self._catalog.find_table(Identifier(database, table))
            return () if schema is None else tuple(schema.names)

        return self._look_up((database, table), names)

    def _look_up(self, key: tuple[str, ...], read: Callable[[], Found]) -> Found:
        if key not in self._known:
            try:
                self._known[key] = read()
            except PaimonError:  # no such database, or the storage does not answer
                self._known[key] = ()
        return self._known[key]
