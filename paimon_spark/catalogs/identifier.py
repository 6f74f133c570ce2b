"""Names of databases and tables (Java: Identifier, CatalogUtils), and what a store of names answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from paimon_spark.arguments.kinds import described
from paimon_spark.errors import CatalogUnavailable, OptionError, wrong_in_utf8

SYSTEM_DATABASE = "sys"
"""The database whose tables tell of all others; nobody creates or drops it."""
DATABASE_SUFFIX = ".db"
"""What the directory of a database ends in."""
_SUFFIX_SIGN = "$"
_SLASHES = ("/", "\0")


@dataclass(frozen=True)
class Identifier:
    """The name of a table in a catalog.

    Attributes:
        database: the database, in the letter case in which it was created.
        table: the table; for reads with a suffix such as ``$branch_b`` or ``$files``.
    """

    database: str
    table: str

    def __post_init__(self) -> None:
        for name, value in (("database", self.database), ("table", self.table)):
            if not isinstance(value, str):
                raise OptionError(f"Identifier: the argument '{name}' is {described(value)}: expected a text")
            if wrong := wrong_in_utf8(value):
                raise OptionError(f"Identifier: the argument '{name}' is {value!r:.60}, which {wrong}")

    def __str__(self) -> str:
        return f"{self.database}.{self.table}"

    @classmethod
    def parse(cls, text: str) -> Identifier:
        """The identifier of ``database.table``; the first dot separates (Java: Identifier.fromString).

        Raises:
            OptionError: the text has no dot, or one of the names is empty.
        """
        database, dot, table = text.partition(".")
        if not (database and dot and table):
            raise OptionError(f"'{text}' is not the name of a table: write <database>.<table>")
        return cls(database, table)


@dataclass(frozen=True)
class Database:
    """A database as the catalog stores it.

    Attributes:
        location: its directory; None: it has none.
        comment: None: it has none, or the catalog cannot store one.
        properties: others.
    """

    name: str
    location: str | None = None
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


class Missing(Exception):
    """There is no such name."""


class Taken(Exception):
    """There is an object of that name already; nothing was changed."""


class Refused(CatalogUnavailable):
    """A request was understood and not done.

    Attributes:
        is_certain: True if the answer says that nothing was done; else it has failed in the middle.
        words: the answer.
    """

    is_certain = False
    words = ""


def check_addressable(name: str, kind: str) -> None:
    """Checks that a name leads to one directory below the warehouse and not out of it.

    Args:
        name: of a database or table.
        kind: "database" or "table", for the message.

    Raises:
        OptionError: it does not.
    """
    if not name:
        raise OptionError(f"the name of the {kind} is empty")
    if name in (".", "..") or any(sign in name for sign in _SLASHES):
        raise OptionError(f"{name!r} cannot be the name of a {kind}: it would lead to another directory")


def check_new_name(name: str, kind: str) -> None:
    """Checks that the official systems can address a new database or table of that name too.

    Args:
        name: of a database or table.
        kind: "database" or "table", for the message.

    Raises:
        OptionError: they cannot. A colon is refused because Java's Path takes what stands before it for a scheme.
    """
    check_addressable(name, kind)
    if ":" in name:
        raise OptionError(f"{name!r} cannot be the name of a {kind}: Java Paimon cannot open names with a colon")


def check_not_system(identifier: Identifier, doing: str) -> None:
    """Checks that the identifier names a table of its own: neither a system table nor a branch.

    Args:
        identifier: the table.
        doing: "creating", "dropping", ... for the message.

    Raises:
        OptionError: it names something else.
    """
    if identifier.database == SYSTEM_DATABASE:
        raise OptionError(f"{doing} {identifier}: the tables of the database '{SYSTEM_DATABASE}' belong to the system")
    if _SUFFIX_SIGN in identifier.table:
        raise OptionError(
            f"{doing} {identifier}: a name with '{_SUFFIX_SIGN}' means a branch or a system table of "
            f"{identifier.table.partition(_SUFFIX_SIGN)[0]!r}; give the name of the table alone"
        )


def check_not_system_database(name: str, doing: str) -> None:
    """Checks that a database is not the system's.

    Raises:
        OptionError: it is.
    """
    if name == SYSTEM_DATABASE:
        raise OptionError(f"{doing} the database '{name}': it belongs to the system, and is there without being stored")
