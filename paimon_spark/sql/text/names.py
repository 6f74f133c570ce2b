"""Names of tables and databases in SQL, and which of them are ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimon_spark.errors import SqlError

_FOREIGN = frozenset({"spark_catalog", "global_temp", "system", "session", "information_schema"})


@dataclass(frozen=True)
class TableName:
    """A name of a table of ours, as it stands in a text.

    Attributes:
        parts: the parts of the name as they are written, without backquotes.
        database: None if the table is named by its path.
        table: the name within the database, without suffixes; the path, if it is named by that.
        branch: of ``t$branch_<name>``.
        system: of ``t$<system table>``.
        is_bare: the name is one word that stands for a table of the current database: a temporary view of that name
            comes first.
    """

    parts: tuple[str, ...]
    database: str | None
    table: str
    branch: str | None = None
    system: str | None = None
    is_bare: bool = False

    @property
    def is_path(self) -> bool:
        return self.database is None

    @property
    def suffixes(self) -> str:
        """``$branch_<branch>$<system table>``, or what the name has of it."""
        branch = "" if self.branch is None else f"$branch_{self.branch}"
        system = "" if self.system is None else f"${self.system}"
        return f"{branch}{system}"

    @property
    def alias(self) -> str:
        """The name that columns of the table are qualified by."""
        return self.parts[-1]

    def __str__(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True)
class Names:
    """How a session names tables of ours.

    Attributes:
        catalog: the first part of full names, in any letter case.
        database: the current database; None: Spark's own catalog is current, and names without the catalog are Spark's.
        foreign: catalogs and databases that are always Spark's, in small letters.
        temporary: names of one part that are temporary views of Spark, in small letters, as far as they are asked for.
        first_database: the one that is current when the catalog becomes current.
        is_alone: the text is given to this catalog; False: to Spark, which may have others, so that a procedure or the
            argument of a function is of this catalog only if it is the current one or is named.
    """

    catalog: str = "paimon"
    database: str | None = None
    foreign: frozenset[str] = _FOREIGN
    temporary: frozenset[str] = frozenset()
    first_database: str = "default"
    is_alone: bool = True

    def is_certain(self, parts: Sequence[str]) -> bool:
        """True if a name can mean nothing but a table or a column of ours: it begins with the catalog."""
        return len(parts) > 1 and parts[0].lower() == self.catalog.lower()

    def may_be_ours(self, parts: Sequence[str]) -> bool:
        """True if a name means a table of ours where a table stands."""
        if self.is_certain(parts):
            return True
        if self.database is None or len(parts) > 2:
            return False
        if len(parts) == 1:
            return parts[0].lower() not in self.temporary
        # parquet.`/path` is a file that Spark reads
        return parts[0].lower() not in self.foreign and "/" not in parts[1]

    def is_catalog(self, parts: Sequence[str]) -> bool:
        """True if a name is that of the catalog itself."""
        return len(parts) == 1 and parts[0].lower() == self.catalog.lower()

    def find_table(self, parts: Sequence[str]) -> TableName | None:
        """The table of ours that a name means; None: the name is Spark's.

        Raises:
            SqlError: the name begins with the catalog and is no name of a table.
        """
        if self.is_certain(parts):
            return self._full_name(tuple(parts))
        if self.database is None or not self.may_be_ours(parts):
            return None
        return _split_suffix(tuple(parts), self.database if len(parts) == 1 else parts[0])

    def load_table(self, parts: Sequence[str]) -> TableName:
        """The table of ours that a name means where only one of ours can stand, as in a function of ours.

        Raises:
            SqlError: it is no name of a table, or there is no current database for a name of one part.
        """
        found = self.find_table(parts)
        if found is None and len(parts) == 2 and self.is_alone:
            found = _split_suffix(tuple(parts), parts[0])
        if found is None:
            raise SqlError(f"{'.'.join(parts)} names no table: {self.how_to}")
        return found

    def find_database(self, parts: Sequence[str]) -> str | None:
        """The database of ours that a name means; None: the name is Spark's."""
        if self.is_certain(parts) and len(parts) == 2:
            return parts[1]
        if self.database is None or len(parts) != 1 or parts[0].lower() in self.foreign:
            return None
        return parts[0]

    @property
    def how_to(self) -> str:
        return f"write {self.catalog}.<database>.<table> or {self.catalog}.`<path>`"

    def _full_name(self, parts: tuple[str, ...]) -> TableName:
        if len(parts) == 3 and all(parts):
            return _split_suffix(parts, parts[1])
        if len(parts) == 2 and "/" in parts[1]:
            return TableName(parts, None, parts[1])
        raise SqlError(f"{'.'.join(parts)} names no table: {self.how_to}")


def _split_suffix(parts: tuple[str, ...], database: str) -> TableName:
    table, *suffixes = parts[-1].split("$")
    branch = system = None
    if suffixes and suffixes[0].startswith("branch_"):
        branch, *suffixes = suffixes[0].removeprefix("branch_"), *suffixes[1:]
    if suffixes:
        system, *suffixes = suffixes
    if suffixes or not table or "" in (branch, system):
        raise SqlError(
            f"{'.'.join(parts)} names no table: a name has the form t, t$<system table>, t$branch_<branch> or "
            "t$branch_<branch>$<system table>"
        )
    return TableName(parts, database, table, branch, system, is_bare=len(parts) == 1)
