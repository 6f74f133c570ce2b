"""A catalog as dictionaries, and random changes of one: what a catalog in files must do, in a few lines."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.create import new_schema
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import (
    DatabaseAlreadyExists,
    DatabaseNotEmpty,
    DatabaseNotFound,
    PaimonError,
    TableAlreadyExists,
    TableNotFound,
)

COLUMNS = pa.schema([("id", pa.int64())])
DATABASES = ("shop", "Shop", "ä b")
TABLES = ("t", "T", "u.v", "日本")
FLAGS = (False, True)
KINDS = ("create_database", "drop_database", "create_table", "create_table", "drop_table", "rename_table")


@dataclass(frozen=True)
class Change:
    """One call.

    Attributes:
        to: the new name of rename_table.
        ignore: whether a name that exists, or is missing, is no error.
        options: of a new table.
    """

    kind: str
    table: Identifier
    to: Identifier
    ignore: bool
    cascade: bool
    options: tuple[tuple[str, str], ...]


def draw_change(draw: random.Random) -> Change:
    def name() -> Identifier:
        return Identifier(draw.choice(DATABASES), draw.choice(TABLES))

    options = draw.choice([(), (("file.format", "orc"),), (("file.compression", "zstd"), ("target-file-size", "1 mb"))])
    return Change(draw.choice(KINDS), name(), name(), draw.choice(FLAGS), draw.choice(FLAGS), options)


def apply(catalog: Catalog, change: Change) -> type[PaimonError] | None:
    """Does it; the type of the error."""
    try:
        match change.kind:
            case "create_database":
                catalog.create_database(change.table.database, ignore_if_exists=change.ignore)
            case "drop_database":
                catalog.drop_database(change.table.database, change.ignore, change.cascade)
            case "create_table":
                catalog.create_table(change.table, new_schema(COLUMNS, options=dict(change.options)), change.ignore)
            case "drop_table":
                catalog.drop_table(change.table, change.ignore)
            case "rename_table":
                catalog.rename_table(change.table, change.to, change.ignore)
    except PaimonError as error:
        return type(error)
    return None


@dataclass
class CatalogModel:
    """The tables of each database with their options; defaults: the options that a new table gets."""

    defaults: dict[str, str]
    databases: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)

    def apply(self, change: Change) -> type[PaimonError] | None:
        """Does it; the type of the error that a catalog must raise."""
        apply: Callable[[Change], type[PaimonError] | None] = getattr(self, f"_{change.kind}")
        return apply(change)

    def _create_database(self, change: Change) -> type[PaimonError] | None:
        if change.table.database in self.databases:
            return None if change.ignore else DatabaseAlreadyExists
        self.databases[change.table.database] = {}
        return None

    def _drop_database(self, change: Change) -> type[PaimonError] | None:
        if change.table.database not in self.databases:
            return None if change.ignore else DatabaseNotFound
        if self.databases[change.table.database] and not change.cascade:
            return DatabaseNotEmpty
        del self.databases[change.table.database]
        return None

    def _create_table(self, change: Change) -> type[PaimonError] | None:
        tables = self.databases.get(change.table.database)
        if tables is None:
            return DatabaseNotFound
        if change.table.table in tables:
            return None if change.ignore else TableAlreadyExists
        tables[change.table.table] = {**self.defaults, **dict(change.options)}
        return None

    def _drop_table(self, change: Change) -> type[PaimonError] | None:
        if self.databases.get(change.table.database, {}).pop(change.table.table, None) is None:
            return None if change.ignore else TableNotFound
        return None

    def _rename_table(self, change: Change) -> type[PaimonError] | None:
        source, target = self.databases.get(change.table.database, {}), self.databases.get(change.to.database)
        if change.table.table not in source:
            return None if change.ignore else TableNotFound
        if target is None:
            return DatabaseNotFound
        if change.to.table in target:
            return TableAlreadyExists
        target[change.to.table] = source.pop(change.table.table)
        return None


def begin(catalog: Catalog) -> None:
    """Makes a warehouse, or the file of its database, which would be refused as not there; it stays empty."""
    catalog.create_database("first")
    catalog.drop_database("first")


def state_of(catalog: Catalog) -> dict[str, dict[str, dict[str, str]]]:
    """All that a catalog holds, in the form of CatalogModel.databases."""
    return {
        database: {
            table: dict(catalog.load_table(Identifier(database, table)).schema.options)
            for table in catalog.list_tables(database)
        }
        for database in catalog.list_databases()
    }
