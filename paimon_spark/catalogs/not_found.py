"""Errors for names that a catalog does not have, with similar names and what it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.views import View
from paimon_spark.errors import (
    DatabaseNotEmpty,
    DatabaseNotFound,
    TableNotFound,
    UnsupportedFeature,
    ViewNotFound,
    similar_names,
)

_SHOWN = 5


class _Lists(Protocol):
    """The part of a catalog that the message on a table needs."""

    @property
    def name(self) -> str: ...

    def list_tables(self, database: str) -> list[str]: ...

    def find_view(self, identifier: Identifier) -> View | None: ...


class _ListsViews(Protocol):
    """The part of a catalog that the message on a view needs."""

    @property
    def name(self) -> str: ...

    def list_views(self, database: str) -> list[str]: ...


class _ListsDatabases(Protocol):
    """The part of a catalog that the message on a database needs."""

    @property
    def name(self) -> str: ...

    def list_databases(self) -> list[str]: ...


def database_not_found(catalog: _ListsDatabases, name: str) -> DatabaseNotFound:
    """The error for a database that does not exist; its message names similar ones, or those that exist."""
    return DatabaseNotFound(
        f"there is no database '{name}' in the catalog '{catalog.name}': "
        f"{known_names(name, catalog.list_databases(), 'database')}"
    )


def database_not_empty(catalog: str, name: str, held: Mapping[str, Sequence[str]]) -> DatabaseNotEmpty:
    """The error for dropping a database without cascade. held: the names in it, by what they are."""
    names = [one for some in held.values() for one in some]
    counts = [f"{len(some)} {kind}" for kind, some in held.items() if some or kind == "tables"]
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    return DatabaseNotEmpty(
        f"dropping the database '{name}': it holds {' and '.join(counts)} ({shown}); drop them first, or drop "
        f"them too: DROP DATABASE {catalog}.{name} CASCADE in SQL, drop_database('{name}', cascade=True) in Python"
    )


def no_table(catalog: _Lists, identifier: Identifier) -> TableNotFound:
    """The error for a table that does not exist, or is a view; its message names similar ones."""
    if catalog.find_view(Identifier(identifier.database, identifier.table.partition("$")[0])) is not None:
        return TableNotFound(f"{identifier} is a view and no table: it can be read by a query only")
    try:
        tables = catalog.list_tables(identifier.database)
    except DatabaseNotFound as error:
        return TableNotFound(f"there is no table {identifier}: {error}")
    there = known_names(identifier.table, tables, "table")
    return TableNotFound(f"there is no table {identifier} in the catalog '{catalog.name}': {there}")


def view_not_found(catalog: _ListsViews, identifier: Identifier) -> ViewNotFound:
    """The error for a view that does not exist; its message names similar ones, or says that there is no database."""
    try:
        views = catalog.list_views(identifier.database)
    except DatabaseNotFound as error:
        return ViewNotFound(f"there is no view {identifier}: {error}")
    there = known_names(identifier.table, views, "view")
    return ViewNotFound(f"there is no view {identifier} in the catalog '{catalog.name}': {there}")


def no_tables_of_hive(doing: str) -> UnsupportedFeature:
    """The error for tables of Hive in a catalog that has none."""
    return UnsupportedFeature(f"{doing}: only a hive catalog has tables of Hive, and this is none")


def known_names(name: str, names: Sequence[str], kind: str) -> str:
    """The names that are like a wrong one, or else the first of all, for messages."""
    if not names:
        return f"it has no {kind} there; create one first"
    near = similar_names(name, names, count=2)
    if near:
        return f"did you mean {' or '.join(map(repr, near))}?"
    shown = ", ".join(names[:_SHOWN]) + (f", ... ({len(names)})" if len(names) > _SHOWN else "")
    return f"it has {shown}"
