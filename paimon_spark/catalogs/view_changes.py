"""What a change makes of a view (Java: JdbcCatalog.alterView, ViewChange)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.views import (
    AddDialect,
    DropDialect,
    RemoveViewOption,
    SetViewOption,
    UpdateDialect,
    UpdateViewComment,
    View,
    ViewChange,
)
from paimon_spark.errors import NameTaken, OptionError


def changed_view(identifier: Identifier, view: View, changes: Sequence[ViewChange]) -> View:
    """The view after the changes, in their order.

    Raises:
        NameTaken: a dialect to add is there already.
        OptionError: a dialect to change or drop is not there.
    """
    for change in changes:
        view = _changed(identifier, view, change)
    return view


def _changed(identifier: Identifier, view: View, change: ViewChange) -> View:
    match change:
        case SetViewOption(key, value):
            return replace(view, options={**view.options, key: value})
        case RemoveViewOption(key):
            return replace(view, options={k: value for k, value in view.options.items() if k != key})
        case UpdateViewComment(comment):
            return replace(view, comment=comment)
        case AddDialect(dialect, query):
            if dialect in view.dialects:
                raise NameTaken(f"the view {identifier} has a query for the dialect '{dialect}' already; update it")
            return replace(view, dialects={**view.dialects, dialect: query})
        case UpdateDialect(dialect, query):
            _check_there(identifier, view, dialect)
            return replace(view, dialects={**view.dialects, dialect: query})
        case DropDialect(dialect):
            _check_there(identifier, view, dialect)
            return replace(view, dialects={k: query for k, query in view.dialects.items() if k != dialect})


def _check_there(identifier: Identifier, view: View, dialect: str) -> None:
    if dialect not in view.dialects:
        there = ", ".join(sorted(view.dialects)) or "none"
        raise OptionError(
            f"the view {identifier} has no query for the dialect '{dialect}'; those with a query are {there}"
        )
