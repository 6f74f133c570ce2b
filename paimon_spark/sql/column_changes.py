"""What ALTER TABLE does to columns: one frozen value for each clause. Names are paths; nothing is looked up here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from paimon_spark.sql.text.names import TableName

Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class AddColumn:
    """ADD COLUMN.

    Attributes:
        type: as it is written, in the words of Spark.
        default: the expression behind DEFAULT; None: there is none.
        after: the column of AFTER; None: there is no AFTER.
    """

    path: Path
    type: str
    nullable: bool = True
    comment: str | None = None
    default: str | None = None
    first: bool = False
    after: str | None = None


@dataclass(frozen=True)
class RenameColumn:
    path: Path
    to: str


@dataclass(frozen=True)
class DropColumn:
    path: Path
    if_exists: bool = False


@dataclass(frozen=True)
class ChangeColumn:
    """ALTER COLUMN or CHANGE COLUMN; what is None or False stays as it is.

    Attributes:
        type: as it is written, in the words of Spark.
        default: the text of a literal; "" takes the default away.
        after: the column of AFTER.
    """

    path: Path
    type: str | None = None
    nullable: bool | None = None
    comment: str | None = None
    default: str | None = None
    first: bool = False
    after: str | None = None


@dataclass(frozen=True)
class ReplaceColumns:
    """REPLACE COLUMNS: all columns go, and these come."""


ColumnChange: TypeAlias = AddColumn | RenameColumn | DropColumn | ChangeColumn | ReplaceColumns


@dataclass(frozen=True)
class AlterColumns:
    """ALTER TABLE ... ADD, DROP, RENAME, ALTER, CHANGE or REPLACE COLUMN(S): all its changes make one schema."""

    table: TableName
    changes: tuple[ColumnChange, ...]
