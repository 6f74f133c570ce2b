"""Which tables of a source are synchronised, and into tables of which names (Java: TableNameConverter, 2.0.0)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from paimon_spark.errors import OptionError


@dataclass(frozen=True)
class TableNames:
    """The choice of tables, and their names.

    Attributes:
        including: a regular expression that the whole name of a table must match.
        excluding: one that it must not match.
        including_databases: the same for the database of the source.
        excluding_databases: the same.
        prefix: stands before the name of the source table.
        suffix: stands after it.
        mapping: names of source tables, and of the table each goes into, without prefix and suffix.
        merge_shards: True: tables of one name in several databases are one table. False: the name of the database and
            an underscore stand before the name of each.
        case_sensitive: False: names are taken in lower case.
    """

    including: str = ".*"
    excluding: str | None = None
    including_databases: str = ".*"
    excluding_databases: str | None = None
    prefix: str = ""
    suffix: str = ""
    mapping: Mapping[str, str] = field(default_factory=dict)
    merge_shards: bool = True
    case_sensitive: bool = True

    def __post_init__(self) -> None:
        """Raises OptionError for a text that is no regular expression."""
        for text in (self.including, self.excluding, self.including_databases, self.excluding_databases):
            try:
                re.compile(text or "")
            except re.error as error:
                raise OptionError(f"'{text}' is no regular expression: {error}") from None

    def takes(self, database: str, table: str) -> bool:
        """True if a table of the source is synchronised."""
        return _chosen(database, self.including_databases, self.excluding_databases) and _chosen(
            table, self.including, self.excluding
        )

    def target(self, database: str, table: str) -> str:
        """The name of the table that the changes of a source table go into."""
        raw = table if self.merge_shards else f"{database}_{table}"
        mapped = self._mapped.get(table.lower())
        if mapped is not None:
            return self._cased(mapped)
        return f"{self.prefix}{self._cased(raw)}{self.suffix}"

    @cached_property
    def _mapped(self) -> dict[str, str]:
        return {name.lower(): target for name, target in self.mapping.items()}

    def _cased(self, name: str) -> str:
        return name if self.case_sensitive else name.lower()


def _chosen(name: str, including: str, excluding: str | None) -> bool:
    return re.fullmatch(including, name) is not None and (excluding is None or re.fullmatch(excluding, name) is None)
