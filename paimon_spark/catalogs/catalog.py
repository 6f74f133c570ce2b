"""What a catalog offers: databases, and tables by name (Java: Catalog; pypaimon: Catalog)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NoReturn, Protocol, Self, TypeAlias, cast

from paimon_spark.arrow.zones import TimeZone
from paimon_spark.catalogs.create import Columns, new_schema
from paimon_spark.catalogs.functions import FunctionCatalog
from paimon_spark.catalogs.identifier import Database, Identifier
from paimon_spark.catalogs.views import ViewCatalog
from paimon_spark.errors import UnsupportedMethod
from paimon_spark.format.options.foreign_names import ForeignNames
from paimon_spark.format.options.other_systems import STORE_CATALOG_ADVICE
from paimon_spark.format.schema import TableSchema
from paimon_spark.store.open import OpenTable, ReadableTable, state_options, with_snapshots

NO_OPTIONS: Mapping[str, str] = {}
Opened: TypeAlias = Callable[[OpenTable, str, Mapping[str, str]], OpenTable]
"""What ``table`` returns, made of an open table, its location, and the options that it was opened with."""


def as_it_is(table: OpenTable, place: str, given: Mapping[str, str]) -> OpenTable:
    """The table; see Opened."""
    return table


class Catalog(ViewCatalog, FunctionCatalog, Protocol):
    """Databases and tables by name. Each call sees what other clients have done before it; nothing is cached.

    A name is compared as it is written. Changes of tables themselves (columns, options, branches, rows) go to the
    files of the table; a catalog that has a part in them gives the tables a publisher (table_options).
    """

    @property
    def name(self) -> str:
        """The first part of the names of its tables in SQL."""
        ...

    @property
    def options(self) -> Mapping[str, str]:
        """As given to open_catalog, secrets too; never part of a message or of repr."""
        ...

    @property
    def default_database(self) -> str:
        """The database of names without one; it need not exist."""
        ...

    @property
    def case_sensitive(self) -> bool:
        """True if names may differ in their letter case alone; for callers that take names from other systems."""
        ...

    @property
    def can_rename_tables(self) -> bool:
        """True if `rename_table` can be done safely on the catalog's storage."""
        ...

    def list_databases(self) -> list[str]:
        """The names of all databases, sorted, without the system's."""
        ...

    def load_database(self, name: str) -> Database:
        """The database.

        Raises:
            DatabaseNotFound: there is none.
        """
        ...

    def create_database(
        self, name: str, properties: Mapping[str, str] = NO_OPTIONS, ignore_if_exists: bool = False
    ) -> None:
        """Creates a database.

        Raises:
            DatabaseAlreadyExists: there is one, and ignore_if_exists is false.
            OptionError: the name cannot be used.
            UnsupportedFeature: the catalog cannot store one of the properties.
        """
        ...

    def drop_database(self, name: str, ignore_if_not_exists: bool = False, cascade: bool = False) -> None:
        """Drops a database.

        Args:
            name: the database.
            ignore_if_not_exists: a missing one is no error.
            cascade: True deletes its tables, and everything else in it, too.

        Raises:
            DatabaseNotFound: there is none, and ignore_if_not_exists is false.
            DatabaseNotEmpty: it holds tables or other files, and cascade is false.
        """
        ...

    def alter_database(self, name: str, properties: Mapping[str, str], unset: tuple[str, ...] = ()) -> None:
        """Sets properties of a database, and removes others.

        Raises:
            UnsupportedFeature: the catalog cannot store them.
        """
        ...

    def list_tables(self, database: str) -> list[str]:
        """The names of all tables of a database, sorted.

        Raises:
            DatabaseNotFound: there is no such database.
        """
        ...

    def table_location(self, identifier: Identifier) -> str:
        """The directory of a table, whether or not the table exists."""
        ...

    def table_options(self, identifier: Identifier | None = None) -> Mapping[str, str]:
        """The storage options with which a table of the catalog is opened by its location.

        A catalog that has a part in the commits of its tables adds the option CONNECTION of
        ``store.storage.publishers``, from which each process that commits makes the publisher. No option holds a
        password of the catalog: options travel to all processes of Spark (see ``secret_files``). Only the credentials
        of a REST catalog are among them, under keys that Spark redacts: reads need them too, also on other machines.

        Args:
            identifier: the table; None: the options that serve all tables, if the catalog has such.
        """
        ...

    def check_table(self, identifier: Identifier) -> None:
        """Checks that the catalog knows a table, before its files are read by their location.

        It does nothing in a catalog in which the files decide what there is.

        Raises:
            TableNotFound: it does not.
        """
        ...

    def repair(self, database: str | None = None, table: str | None = None) -> None:
        """Makes what the catalog knows of tables agree with their files (Java: repairCatalog, repairDatabase, ...).

        Args:
            database: None: all databases that have a directory.
            table: of the database; None: all that have files.

        Raises:
            DatabaseNotFound, TableNotFound: there are no such files.
            UnsupportedFeature: the catalog knows nothing beside the files.
        """
        ...

    def tables_of_hive(self, database: str) -> list[str]:
        """The names of the tables of Hive in a database, which `migrate_table` takes over, sorted.

        Raises:
            DatabaseNotFound: there is no such database.
            UnsupportedFeature: the catalog has no such tables.
        """
        ...

    def migrate_table(
        self,
        source: Identifier,
        target: Identifier | None = None,
        options: Mapping[str, str] | None = None,
        drop_source: bool = True,
    ) -> None:
        """Makes a table of Paimon of one of Hive; the files are moved.

        Args:
            source: the table of Hive.
            target: the table that gets them, which may be there; None: a new one, with the name of the source.
            options: of a new table.
            drop_source: whether the table of Hive is dropped at the end.

        Raises:
            SchemaError: there is no such table, or the target does not fit.
            OptionError: it is neither dropped nor has another name.
            UnsupportedFeature: the catalog has no such tables, or this one cannot be taken over.
        """
        ...

    def find_table(self, identifier: Identifier) -> TableSchema | None:
        """The latest schema of a table; None: there is no such table."""
        ...

    def load_table(
        self, identifier: Identifier, options: Mapping[str, str] = NO_OPTIONS, time_zone: TimeZone | None = None
    ) -> ReadableTable:
        """Opens a table.

        Args:
            identifier: the table, perhaps with ``$branch_<name>``.
            options: table options for this use only.
            time_zone: as for open_table.

        Raises:
            TableNotFound: there is no such table; the message names similar ones.
            UnsupportedFeature: it is a table of another kind.
            As open_table.
        """
        ...

    def load_any_table(
        self, identifier: Identifier, options: Mapping[str, str] = NO_OPTIONS, time_zone: TimeZone | None = None
    ) -> OpenTable:
        """Opens a table of any kind that can be read; as load_table."""
        ...

    def table(
        self,
        name: str,
        *,
        version: int | str | None = None,
        timestamp: dt.datetime | str | None = None,
        options: Mapping[str, str] = NO_OPTIONS,
        time_zone: TimeZone | None = None,
    ) -> ReadableTable:
        """Opens a table by its name: ``database.table``, or ``table`` of the default database. ``catalog[name]`` too.

        Args:
            name: the table, perhaps with ``$branch_<name>``.
            version, timestamp, options, time_zone: as for open_table.

        Raises:
            TableNotFound: there is no such table; the message names similar ones.
            As open_table.
        """
        ...

    def __getitem__(self, name: str) -> ReadableTable: ...

    def opening(self, opened: Opened) -> Self:
        """This catalog, whose ``table`` returns what a function makes of the open table."""
        ...

    def new_table(
        self,
        name: str,
        columns: Columns,
        primary_keys: str | Sequence[str] = (),
        partition_keys: str | Sequence[str] = (),
        options: Mapping[str, str] = NO_OPTIONS,
        comment: str | None = None,
        ignore_if_exists: bool = False,
    ) -> ReadableTable:
        """Makes a table by its name, as ``table`` takes it, and opens it.

        Args:
            columns, primary_keys, partition_keys, options, comment: as for ``paimon_spark.create_table``; options that
                are missing are taken from ``table-default.*`` of the catalog.
            ignore_if_exists: take the table that is there, whatever its columns.

        Raises:
            As create_table.
        """
        ...

    def create_table(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool = False) -> TableSchema:
        """Creates a table.

        Args:
            identifier: its name.
            schema: complete, with field ids; options that it lacks are taken from ``table-default.*`` of the catalog.
            ignore_if_exists: take the table that is there, whatever its schema.

        Returns:
            The schema of the table that is there now.

        Raises:
            DatabaseNotFound: there is no such database.
            TableAlreadyExists: there is a table, and ignore_if_exists is false.
            SchemaError: the schema breaks a rule.
            OptionError: the name or an option cannot be used.
            UnsupportedFeature: the catalog cannot hold such a table.
        """
        ...

    def drop_table(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        """Drops a table with its files.

        Raises:
            TableNotFound: there is none, and ignore_if_not_exists is false.
        """
        ...

    def rename_table(self, identifier: Identifier, to: Identifier, ignore_if_not_exists: bool = False) -> None:
        """Gives a table another name, perhaps in another database.

        Raises:
            TableNotFound: there is no such table, and ignore_if_not_exists is false.
            TableAlreadyExists: the new name is taken.
            DatabaseNotFound: the database of the new name does not exist.
            UnsupportedFeature: the catalog cannot do it safely (can_rename_tables).
        """
        ...

    def refresh(self, identifier: Identifier | None = None) -> None:
        """Forgets what is cached of a table, or of everything."""
        ...


class _Opening(Catalog, Protocol):
    """A catalog that knows what its ``table`` returns."""

    @property
    def _opened(self) -> Opened: ...


@dataclass(frozen=True)
class OpensByName(ForeignNames):
    """The part of a catalog that opens tables by names as people write them; see Catalog.

    Attributes:
        _opened: makes what ``table`` returns.
    """

    _advice = STORE_CATALOG_ADVICE
    _opened: Opened = field(default=as_it_is, kw_only=True, repr=False)

    def opening(self, opened: Opened) -> Self:
        """See Catalog."""
        return replace(self, _opened=opened)

    def table(
        self: _Opening,
        name: str,
        *,
        version: int | str | None = None,
        timestamp: dt.datetime | str | None = None,
        options: Mapping[str, str] = NO_OPTIONS,
        time_zone: TimeZone | None = None,
    ) -> ReadableTable:
        """See Catalog."""
        found = _identifier(self, name)
        chosen = {**options, **state_options(version, timestamp, time_zone, options)}
        table = self.load_any_table(found, chosen, time_zone)
        opened = self._opened(table, self.table_location(found), {**self.table_options(found), **chosen})
        return cast(ReadableTable, opened)  # which a table of files is for those who read and append

    def new_table(
        self: Catalog,
        name: str,
        columns: Columns,
        primary_keys: str | Sequence[str] = (),
        partition_keys: str | Sequence[str] = (),
        options: Mapping[str, str] = NO_OPTIONS,
        comment: str | None = None,
        ignore_if_exists: bool = False,
    ) -> ReadableTable:
        """See Catalog."""
        schema = new_schema(columns, primary_keys, partition_keys, options, comment)
        self.create_table(_identifier(self, name), schema, ignore_if_exists)
        return self.table(name)

    def load_table(
        self: Catalog,
        identifier: Identifier,
        options: Mapping[str, str] = NO_OPTIONS,
        time_zone: TimeZone | None = None,
    ) -> ReadableTable:
        """See Catalog."""
        return with_snapshots(self.load_any_table(identifier, options, time_zone))

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
