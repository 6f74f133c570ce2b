"""Views of a catalog: a query under a name, perhaps in the words of several engines (Java: View, ViewSchema)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.format.types import DataField

SPARK = "spark"
"""The dialect of queries that Spark understands."""


@dataclass(frozen=True)
class View:
    """A view as the catalog stores it.

    Attributes:
        fields: the columns of its rows.
        query: for engines without a dialect of their own.
        dialects: queries by the name of the engine, such as "spark" and "flink".
        comment: None: it has none.
        options: others.
    """

    fields: tuple[DataField, ...]
    query: str
    dialects: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def query_for(self, dialect: str) -> str:
        """The query in the words of an engine (Java: View.query)."""
        return self.dialects.get(dialect, self.query)


@dataclass(frozen=True)
class SetViewOption:
    key: str
    value: str


@dataclass(frozen=True)
class RemoveViewOption:
    key: str


@dataclass(frozen=True)
class UpdateViewComment:
    """comment: None removes it."""

    comment: str | None


@dataclass(frozen=True)
class AddDialect:
    dialect: str
    query: str


@dataclass(frozen=True)
class UpdateDialect:
    dialect: str
    query: str


@dataclass(frozen=True)
class DropDialect:
    dialect: str


ViewChange: TypeAlias = SetViewOption | RemoveViewOption | UpdateViewComment | AddDialect | UpdateDialect | DropDialect
"""One change of a view (Java: ViewChange)."""


class ViewCatalog(Protocol):
    """The part of a catalog that is about views. Views and tables share the names of a database.

    All raise UnsupportedFeature where ``has_views`` is False, but for ``find_view``, which then finds none.
    """

    @property
    def has_views(self) -> bool:
        """True if the catalog stores views."""
        ...

    def list_views(self, database: str) -> list[str]:
        """The names of the views of a database, sorted.

        Raises:
            DatabaseNotFound: there is no such database.
        """
        ...

    def find_view(self, identifier: Identifier) -> View | None:
        """A view; None: there is no such view."""
        ...

    def load_view(self, identifier: Identifier) -> View:
        """A view.

        Raises:
            ViewNotFound: there is no such view.
        """
        ...

    def create_view(self, identifier: Identifier, view: View, ignore_if_exists: bool = False) -> None:
        """Stores a view.

        Raises:
            ViewAlreadyExists: there is a view or a table of that name, and ignore_if_exists is false.
            DatabaseNotFound: there is no such database.
            OptionError: the name cannot be used.
        """
        ...

    def alter_view(
        self, identifier: Identifier, changes: Sequence[ViewChange], ignore_if_not_exists: bool = False
    ) -> None:
        """Changes a view: all changes or none.

        Raises:
            ViewNotFound: there is no such view, and ignore_if_not_exists is false.
            NameTaken: the dialect to add is there already.
            OptionError: the dialect to change or drop is not there.
        """
        ...

    def rename_view(self, identifier: Identifier, to: Identifier, ignore_if_not_exists: bool = False) -> None:
        """Gives a view another name, perhaps in another database.

        Raises:
            ViewNotFound: there is no such view, and ignore_if_not_exists is false.
            ViewAlreadyExists: the new name is that of a view or a table.
            DatabaseNotFound: the database of the new name does not exist.
        """
        ...

    def drop_view(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        """Drops a view.

        Raises:
            ViewNotFound: there is no such view, and ignore_if_not_exists is false.
        """
        ...
