"""What a catalog in files does not store, and refuses (Java: AbstractCatalog, FileSystemCatalog)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from paimon_spark.arrow.zones import TimeZone
from paimon_spark.catalogs.catalog import NO_OPTIONS, Catalog
from paimon_spark.catalogs.functions import Function
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.views import View, ViewChange
from paimon_spark.errors import OptionError, UnsupportedFeature, UnsupportedMethod
from paimon_spark.format.options.foreign_names import ForeignNames
from paimon_spark.format.options.other_systems import STORE_CATALOG_ADVICE
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.store.metadata.table_options import PATH
from paimon_spark.store.open import ReadableTable, state_options

_TABLE_TYPES = ("table", "materialized-table")
_AUTO_CREATE = "auto-create"


class NoViews:
    """The part of a catalog that has no views."""

    @property
    def has_views(self) -> bool:
        return False

    def list_views(self, database: str) -> list[str]:
        """Always refused."""
        raise not_stored(f"listing the views of '{database}'", "views")

    def find_view(self, identifier: Identifier) -> View | None:
        """Finds none."""
        return None

    def load_view(self, identifier: Identifier) -> View:
        """Always refused."""
        raise not_stored(f"reading the view {identifier}", "views")

    def create_view(self, identifier: Identifier, view: View, ignore_if_exists: bool = False) -> None:
        """Always refused."""
        raise not_stored(f"creating the view {identifier}", "views")

    def alter_view(
        self, identifier: Identifier, changes: Sequence[ViewChange], ignore_if_not_exists: bool = False
    ) -> None:
        """Always refused."""
        raise not_stored(f"changing the view {identifier}", "views")

    def rename_view(self, identifier: Identifier, to: Identifier, ignore_if_not_exists: bool = False) -> None:
        """Always refused."""
        raise not_stored(f"renaming the view {identifier}", "views")

    def drop_view(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        """Always refused."""
        raise not_stored(f"dropping the view {identifier}", "views")


class NoFunctions:
    """The part of a catalog that has no functions."""

    def list_functions(self, database: str) -> list[str]:
        """Always refused."""
        raise no_functions(f"listing the functions of '{database}'")

    def load_function(self, identifier: Identifier) -> Function:
        """Always refused."""
        raise no_functions(f"reading the function {identifier}")

    def create_function(self, identifier: Identifier, function: Function, ignore_if_exists: bool = False) -> None:
        """Always refused."""
        raise no_functions(f"creating the function {identifier}")

    def alter_function(
        self, identifier: Identifier, changes: Sequence[Mapping[str, Any]], ignore_if_not_exists: bool = False
    ) -> None:
        """Always refused."""
        raise no_functions(f"changing the function {identifier}")

    def drop_function(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        """Refused, unless a function that is not there is no error."""
        if not ignore_if_not_exists:
            raise no_functions(f"dropping the function {identifier}")


class OpensByName(ForeignNames):
    """The part of a catalog that opens tables by names as people write them; see Catalog."""

    _advice = STORE_CATALOG_ADVICE

    def table(
        self: Catalog,
        name: str,
        *,
        version: int | str | None = None,
        timestamp: dt.datetime | str | None = None,
        options: Mapping[str, str] = NO_OPTIONS,
        time_zone: TimeZone | None = None,
    ) -> ReadableTable:
        """See Catalog."""
        found = _identifier(self, name)
        chosen = {**options, **state_options(version, timestamp, time_zone)}
        return self.load_table(found, chosen, time_zone)

    def __getitem__(self: Catalog, name: str) -> ReadableTable:
        return self.table(name)

    def __contains__(self: Catalog, name: str) -> bool:
        return self.find_table(_identifier(self, name)) is not None

    if not TYPE_CHECKING:  # a checker of types shall go on to see that it is not there

        def __iter__(self) -> NoReturn:
            raise UnsupportedMethod(
                f"'{type(self).__name__}' is no iterator: list_tables('<database>') names the tables"
            )


def _identifier(catalog: Catalog, name: str) -> Identifier:
    """The table of ``table`` in the default database, ``database.table``, or ``catalog.database.table``."""
    if "." not in name:
        return Identifier(catalog.default_database, name)
    found, rest = Identifier.parse(name), name.partition(".")[2]
    if found.database != catalog.name or "." not in rest or catalog.find_table(found) is not None:
        return found  # a name may have a dot
    return Identifier.parse(rest)


class NoTablesOfHive:
    """The part of a catalog that has no tables of Hive."""

    def tables_of_hive(self, database: str) -> list[str]:
        """Always refused."""
        raise _no_hive(f"looking for tables of Hive in '{database}'")

    def migrate_table(
        self,
        source: Identifier,
        target: Identifier | None = None,
        options: Mapping[str, str] | None = None,
        drop_source: bool = True,
    ) -> None:
        """Always refused."""
        raise _no_hive(f"migrating {source}")


class TablesOnly(OpensByName, NoViews, NoFunctions, NoTablesOfHive):
    """The part of a catalog that has nothing but files: neither views nor functions, and nothing to repair or cache."""

    def check_table(self, identifier: Identifier) -> None:
        """Does nothing: the files decide."""

    def repair(self, database: str | None = None, table: str | None = None) -> None:
        """Always refused."""
        raise UnsupportedFeature(
            "repairing a catalog in files: it knows nothing of tables beside their files, which need no repair; "
            "paimon-spark check verifies a table"
        )

    def refresh(self, identifier: Identifier | None = None) -> None:
        """Does nothing: nothing is cached."""


def _no_hive(doing: str) -> UnsupportedFeature:
    return UnsupportedFeature(f"{doing}: only a hive catalog has tables of Hive, and this is none")


def no_functions(doing: str) -> UnsupportedFeature:
    """The error for functions, which only the catalog of a REST server stores."""
    return UnsupportedFeature(f"{doing}: only a REST catalog stores functions, and this is none")


def not_stored(doing: str, what: str) -> UnsupportedFeature:
    """The error for something that a catalog in files does not store."""
    return UnsupportedFeature(
        f"{doing}: a catalog in files stores no {what}; a JDBC catalog does ('metastore' = 'jdbc')"
    )


def check_creatable(identifier: Identifier, options: Mapping[str, str]) -> None:
    """Checks the options of a new table (Java: AbstractCatalog.createTable).

    Raises:
        UnsupportedFeature: they ask for a location of its own, or for something else than a table with snapshots.
        OptionError: they ask readers to create the table.
    """
    if PATH in options:
        raise UnsupportedFeature(
            f"creating {identifier} with the option 'path', which is LOCATION in SQL: this catalog decides where its "
            "tables are, only a Hive or REST catalog has tables at other places; leave LOCATION out, or make a table "
            "without a name, with PaimonTable.create(spark).location(...)"
        )
    kind = TableSettings(options).table_type
    if kind.lower() not in _TABLE_TYPES:
        raise UnsupportedFeature(
            f"creating {identifier} with 'type' = '{kind}': a catalog in files holds {' and '.join(_TABLE_TYPES)} only"
        )
    if options.get(_AUTO_CREATE, "false").strip().lower() != "false":
        raise OptionError(
            f"creating {identifier}: 'auto-create' must be false, because the catalog itself creates the table"
        )
