"""The port of a catalog over files: which databases and tables there are, and where the files of each table are.

``FileCatalog`` does all that does not depend on where names are stored. What stores them, be it directories, the rows
of a relational database or a Hive metastore, implements ``Names``, and ``ViewNames`` if it has views.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from paimon_spark.catalogs.identifier import Database, Identifier
from paimon_spark.catalogs.views import View, ViewChange
from paimon_spark.errors import DatabaseNotFound, PaimonError, UnsupportedFeature
from paimon_spark.file_io import DirectoryIO
from paimon_spark.format.schema import TableSchema

if TYPE_CHECKING:
    from paimon_spark.catalogs.catalog import Catalog


@dataclass(frozen=True)
class Place:
    """Where the files of a table are.

    Attributes:
        location: its directory.
        is_external: True if the files stay when the table is dropped or renamed.
    """

    location: str
    is_external: bool = False


class Names(Protocol):
    """The names of a catalog. Picklable. Each call sees what other clients have done before it.

    All calls raise CatalogUnavailable if what stores the names gives no answer, and StorageError if the files do not.

    Attributes:
        title: what stores the names, for messages: "the metastore".
        files_decide: True if nothing but files is stored: a table is there if its files are, and nothing is to repair.
        has_external_tables: True if a table may be outside of the directory of its database, at the option `path`.
        has_format_tables: True if it keeps the schemas of format tables, which have no files of their own for that.
    """

    title: ClassVar[str]
    files_decide: ClassVar[bool]
    has_external_tables: ClassVar[bool]
    has_format_tables: ClassVar[bool]

    @property
    def name(self) -> str:
        """The name of the catalog, for messages."""
        ...

    @property
    def warehouse(self) -> str:
        """The directory of the directories of new databases, absolute, without a slash at its end."""
        ...

    @property
    def options(self) -> Mapping[str, str]:
        """As given to open_catalog."""
        ...

    @property
    def case_sensitive(self) -> bool:
        """See Catalog."""
        ...

    @property
    def has_locks(self) -> bool:
        """True if ``lock`` keeps others out: all clients of the catalog take it to publish a schema or a snapshot."""
        ...

    @property
    def views(self) -> ViewNames | None:
        """The views; None: it stores none."""
        ...

    @property
    def hive_tables(self) -> HiveTables | None:
        """The tables of Hive beside those of Paimon; None: it has none."""
        ...

    def file_io_of(self, location: str) -> DirectoryIO:
        """The store of a location, which need not be that of the warehouse."""
        ...

    def table_options(self) -> Mapping[str, str]:
        """See Catalog: storage options, and CONNECTION if commits of tables are to be reported."""
        ...

    def lock(self, *identifiers: Identifier) -> AbstractContextManager[None]:
        """Holds the locks of some names, in an order that all clients keep, if the catalog has locks.

        Raises:
            CatalogUnavailable: others hold one for too long.
        """
        ...

    def list_databases(self) -> list[str]:
        """The names, sorted, without the system's."""
        ...

    def has_database(self, name: str) -> bool: ...

    def load_database(self, name: str) -> Database:
        """A database that is there."""
        ...

    def no_database(self, name: str) -> DatabaseNotFound:
        """The error for a database that is not there (not_found.database_not_found)."""
        ...

    def database_location(self, name: str) -> str:
        """The directory of a database, or, where there is none of that name, the one that a new one would get."""
        ...

    def create_database(self, name: str, properties: Mapping[str, str]) -> bool:
        """Creates a database. False: there is one.

        Raises:
            UnsupportedFeature: it cannot store one of the properties.
        """
        ...

    def alter_database(self, name: str, properties: Mapping[str, str], unset: Sequence[str]) -> None:
        """Sets properties of a database, and removes others.

        Raises:
            Missing: there is no such database.
            UnsupportedFeature: it cannot store them.
        """
        ...

    def others(self, database: str) -> Mapping[str, Sequence[str]]:
        """What is in a database beside tables of Paimon: names, by what they are ("views")."""
        ...

    def remove_database(self, name: str, cascade: bool) -> PaimonError | None:
        """Removes a database whose tables of Paimon are dropped, and its directory if it has one.

        Args:
            name: the database.
            cascade: True removes everything else in it too; else it must hold nothing.

        Returns:
            None if it is removed; else why not, where others have created something in it concurrently: nothing was
            removed, and another try may do it.

        Raises:
            Missing: there is no such database.
            DatabaseNotEmpty: its directory holds files of others, and cascade is false.
        """
        ...

    def list_tables(self, database: str) -> list[str]:
        """The names of the tables of Paimon in a database, sorted, and of its format tables."""
        ...

    def has_name(self, identifier: Identifier) -> bool:
        """True if a table or a view, of whatever kind, has that very name."""
        ...

    def find_place(self, identifier: Identifier) -> Place | None:
        """Where a table is; a branch or a system table (``t$files``) has the place of its table.

        Raises:
            UnsupportedFeature: there is a table of that name which is none of Paimon.
        """
        ...

    def table_location(self, identifier: Identifier) -> str:
        """The directory of a table, or the one that a new table would get; ``$...`` of the name stays at its end.

        Of a format table it is a location by which store.storage.served finds it.
        """
        ...

    def new_place(self, identifier: Identifier, schema: TableSchema) -> Place:
        """Where the files of a new table go.

        Raises:
            PaimonError: it cannot store such a table. Nothing was made.
        """
        ...

    def add_table(self, identifier: Identifier, schema: TableSchema, place: Place) -> None:
        """Adds the name of a table whose files were just made, or of a format table, with its schema.

        Raises:
            Taken: another client has added the name.
            Missing: there is no such database any more.
            Refused: it does not take the table. If that is certain, the files are deleted.
        """
        ...

    def put_table(self, identifier: Identifier, schema: TableSchema, location: str) -> None:
        """Adds the name of a table, or makes what is stored beside the name agree with its files.

        Raises:
            Taken: a view, or a table which is none of Paimon, has the name.
        """
        ...

    def remove_table(self, identifier: Identifier) -> Place | None:
        """Removes the name of a table; the files stay. None: there is no such table."""
        ...

    def rename_table(self, identifier: Identifier, to: Identifier, place: Place, target: str) -> None:
        """Gives a table another name, and moves its files, all or nothing as far as its storage can.

        Args:
            identifier: the table.
            to: a name that was free, in a database that was there.
            place: where the table is.
            target: where its files go unless it is external.

        Raises:
            Missing: there is no such table any more.
            Taken: the new name has been taken concurrently.
        """
        ...


class ViewNames(Protocol):
    """The views of a catalog. Each method is one step: it is done, or it is not."""

    def list_views(self, database: str) -> list[str]:
        """The names of the views of a database, sorted."""
        ...

    def find(self, identifier: Identifier) -> View | None:
        """A view; None: there is none."""
        ...

    def add(self, identifier: Identifier, view: View) -> None:
        """Stores a view.

        Raises:
            Taken: a view or a table has the name.
            Missing: there is no such database any more.
            UnsupportedFeature: it cannot store such a view.
        """
        ...

    def change(self, identifier: Identifier, changes: Sequence[ViewChange]) -> None:
        """Changes a view: all changes or none.

        Raises:
            Missing: there is none.
            As view_changes.changed_view.
        """
        ...

    def rename(self, identifier: Identifier, to: Identifier) -> None:
        """Gives a view another name.

        Raises:
            Missing: there is none.
            Taken: a view or a table has the new name.
        """
        ...

    def remove(self, identifier: Identifier) -> None:
        """Removes a view.

        Raises:
            Missing: there is none.
        """
        ...


class HiveTables(Protocol):
    """The tables of Hive in a metastore, which can become tables of Paimon."""

    def list_tables(self, database: str) -> list[str]:
        """Their names, sorted."""
        ...

    def migrate(
        self,
        catalog: Catalog,
        source: Identifier,
        target: Identifier | None,
        options: Mapping[str, str],
        drop_source: bool,
    ) -> None:
        """See Catalog.migrate_table. catalog: the one of these names."""
        ...


def not_stored(doing: str, what: str) -> UnsupportedFeature:
    """The error for something that a catalog in files does not store."""
    return UnsupportedFeature(
        f"{doing}: a catalog in files stores no {what}; a JDBC catalog does ('metastore' = 'jdbc')"
    )
