"""Changes of a schema as values (Java: SchemaChange).

A column is named by its path: its name, then for what is nested in it the names of fields, ``element`` for the elements
of an array, and ``value`` for the values of a map.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import DataType

Path: TypeAlias = tuple[str, ...]


class Place(StrEnum):
    """Where a column goes among those beside it."""

    FIRST = "FIRST"
    LAST = "LAST"
    AFTER = "AFTER"
    BEFORE = "BEFORE"


@dataclass(frozen=True)
class Position:
    """A place; reference: the column that AFTER and BEFORE mean, a plain name, None otherwise."""

    place: Place
    reference: str | None = None

    def __str__(self) -> str:
        return str(self.place) if self.reference is None else f"{self.place} {self.reference}"


@dataclass(frozen=True)
class AddColumn:
    """A new column, which older rows have NULL in. position: None: the last one."""

    path: Path
    type: DataType
    comment: str | None = None
    position: Position | None = None

    def __str__(self) -> str:
        comment = "" if self.comment is None else f" COMMENT '{self.comment}'"
        position = "" if self.position is None else f" {self.position}"
        return f"add column {dotted(self.path)} {type_sql(self.type)}{comment}{position}"


@dataclass(frozen=True)
class RenameColumn:
    """Another name for a column, which stays where it is. to: a plain name."""

    path: Path
    to: str

    def __str__(self) -> str:
        return f"rename column {dotted(self.path)} to {self.to}"


@dataclass(frozen=True)
class DropColumn:
    """A column goes; if_exists: one that is not there is no error."""

    path: Path
    if_exists: bool = False

    def __str__(self) -> str:
        return f"drop column {dotted(self.path)}"


@dataclass(frozen=True)
class UpdateType:
    """Another type for a column. keep_nullable: whether it may hold NULL stays as it is, whatever the type says."""

    path: Path
    type: DataType
    keep_nullable: bool = True

    def __str__(self) -> str:
        return f"change the type of {dotted(self.path)} to {type_sql(self.type)}"


@dataclass(frozen=True)
class UpdateNullable:
    """Lets a column hold NULL, or no longer."""

    path: Path
    nullable: bool

    def __str__(self) -> str:
        return f"make column {dotted(self.path)} {'nullable' if self.nullable else 'NOT NULL'}"


@dataclass(frozen=True)
class UpdateComment:
    """The comment of a column; None: it has none."""

    path: Path
    comment: str | None

    def __str__(self) -> str:
        return f"set the comment of {dotted(self.path)} to {_quoted(self.comment)}"


@dataclass(frozen=True)
class UpdateDefault:
    """The default value of a column as the text of a literal; None: it has none."""

    path: Path
    default: str | None

    def __str__(self) -> str:
        return f"set the default value of {dotted(self.path)} to {self.default or 'none'}"


@dataclass(frozen=True)
class MoveColumn:
    """Another place for a column among those beside it."""

    path: Path
    position: Position

    def __str__(self) -> str:
        return f"move column {dotted(self.path)} {self.position}"


@dataclass(frozen=True)
class SetOption:
    """A table option, under its official key."""

    key: str
    value: str

    def __str__(self) -> str:
        return f"set the option '{self.key}' to '{self.value}'"


@dataclass(frozen=True)
class UnsetOption:
    """A table option goes; one that is not set is no error."""

    key: str

    def __str__(self) -> str:
        return f"unset the option '{self.key}'"


@dataclass(frozen=True)
class SetTableComment:
    """The comment of the table; None: it has none."""

    comment: str | None

    def __str__(self) -> str:
        return f"set the comment of the table to {_quoted(self.comment)}"


@dataclass(frozen=True)
class DropPrimaryKey:
    """The table has no primary key any more; only while it is empty."""

    def __str__(self) -> str:
        return "drop the primary key"


ColumnChange: TypeAlias = (
    AddColumn | RenameColumn | DropColumn | UpdateType | UpdateNullable | UpdateComment | UpdateDefault | MoveColumn
)
SchemaChange: TypeAlias = ColumnChange | SetOption | UnsetOption | SetTableComment | DropPrimaryKey


def dotted(path: Path) -> str:
    """The path as text, for messages."""
    return ".".join(path)


def described(changes: tuple[SchemaChange, ...]) -> str:
    """Some changes as one text, for messages."""
    return "; ".join(str(change) for change in changes) or "no change"


def _quoted(text: str | None) -> str:
    return "none" if text is None else f"'{text}'"
