"""Statements on views that a catalog of ours stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from paimon_spark.sql.text.names import TableName


@dataclass(frozen=True)
class CreateCatalogView:
    """CREATE VIEW of a name of ours.

    Attributes:
        text: the query as it is written.
        columns: (name, comment) of each; (): those of the query.
        comment: of the view; None: there is none.
        properties: of TBLPROPERTIES.
    """

    view: TableName
    text: str
    replace: bool = False
    if_not_exists: bool = False
    columns: tuple[tuple[str, str | None], ...] = ()
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DropView:
    view: TableName
    if_exists: bool = False


@dataclass(frozen=True)
class RenameView:
    """ALTER VIEW ... RENAME TO. A new name without a database stays in that of the old one."""

    view: TableName
    to: TableName


@dataclass(frozen=True)
class SetViewProperties:
    view: TableName
    properties: Mapping[str, str]


@dataclass(frozen=True)
class UnsetViewProperties:
    view: TableName
    keys: tuple[str, ...]


@dataclass(frozen=True)
class ReplaceViewQuery:
    """ALTER VIEW ... AS. text: the query as it is written."""

    view: TableName
    text: str
