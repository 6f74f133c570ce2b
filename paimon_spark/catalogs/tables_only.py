"""What a catalog in files does not store, and refuses (Java: AbstractCatalog, FileSystemCatalog)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext

from paimon_spark.catalogs.catalog import CommitHook
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.options import core_options as o
from paimon_spark.format.options.core_options import Options
from paimon_spark.store.metadata.table_options import PATH

_TABLE_TYPES = ("table", "materialized-table")
_AUTO_CREATE = "auto-create"


class TablesOnly:
    """The part of a catalog that has neither views nor functions, needs no lock, and keeps nothing in a cache."""

    def list_views(self, database: str) -> list[str]:
        """Always refused."""
        raise not_stored(f"listing the views of '{database}'", "views")

    def load_view(self, identifier: Identifier) -> str:
        """Always refused."""
        raise not_stored(f"reading the view {identifier}", "views")

    def create_view(self, identifier: Identifier, query: str, ignore_if_exists: bool = False) -> None:
        """Always refused."""
        raise not_stored(f"creating the view {identifier}", "views")

    def drop_view(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        """Always refused."""
        raise not_stored(f"dropping the view {identifier}", "views")

    def list_functions(self, database: str) -> list[str]:
        """Always refused."""
        raise not_stored(f"listing the functions of '{database}'", "functions")

    def commit_hook(self, identifier: Identifier) -> CommitHook | None:
        """None: a snapshot is published by creating its file, which all stores here do in one atomic step."""
        return None

    def lock(self, identifier: Identifier) -> AbstractContextManager[None]:
        """No lock: see commit_hook."""
        return nullcontext()

    def refresh(self, identifier: Identifier | None = None) -> None:
        """Does nothing: nothing is cached."""


def not_stored(doing: str, what: str) -> UnsupportedFeature:
    """The error for something that a catalog in files does not store."""
    return UnsupportedFeature(
        f"{doing}: a catalog in files stores no {what}; use a Hive, JDBC or REST catalog with the official system"
    )


def check_creatable(identifier: Identifier, options: Mapping[str, str]) -> None:
    """Checks the options of a new table (Java: AbstractCatalog.createTable).

    Raises:
        UnsupportedFeature: they ask for a location of its own, or for something else than a table with snapshots.
        OptionError: they ask readers to create the table.
    """
    if PATH in options:
        raise UnsupportedFeature(
            f"creating {identifier} with the option 'path': a catalog in files decides where its tables are; leave the "
            "option out, or write to the path without a catalog"
        )
    kind = Options(options).value(o.TYPE)
    if kind.lower() not in _TABLE_TYPES:
        raise UnsupportedFeature(
            f"creating {identifier} with 'type' = '{kind}': a catalog in files holds {' and '.join(_TABLE_TYPES)} only"
        )
    if options.get(_AUTO_CREATE, "false").strip().lower() != "false":
        raise OptionError(
            f"creating {identifier}: 'auto-create' must be false, because the catalog itself creates the table"
        )
