"""The views of a REST catalog (Java: RESTCatalog, ViewChange)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from paimon_spark.catalogs.identifier import SYSTEM_DATABASE, Identifier, check_new_name, check_not_system
from paimon_spark.catalogs.not_found import database_not_found, view_not_found
from paimon_spark.catalogs.rest.base import DATABASE, RestServerNames, error_of
from paimon_spark.catalogs.rest.failures import Refused
from paimon_spark.catalogs.view_json import decode_view, encode_view
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
from paimon_spark.errors import NameTaken, OptionError, ViewAlreadyExists

_DIALECT = "DIALECT"
_NO_VIEWS = 501  # of a server without views, whose tables can be queried nevertheless


class RestViews(RestServerNames):
    """The part of the catalog that is about views; see ViewCatalog."""

    @property
    def has_views(self) -> bool:
        return True

    def list_views(self, database: str) -> list[str]:
        if database == SYSTEM_DATABASE:
            return []
        with self.asking(f"listing the views of '{database}'", database):
            return sorted(self.api.list_views(database))

    def find_view(self, identifier: Identifier) -> View | None:
        try:
            found = self.api.get_view(identifier.database, identifier.table)
        except Refused as error:
            if error.is_missing or error.status == _NO_VIEWS:
                return None
            raise error_of(f"reading the view {identifier}", error) from None
        where = f"the view {identifier} from {self.api.options.shown_uri}"
        return decode_view(json.dumps(found.get("schema")).encode(), where)

    def load_view(self, identifier: Identifier) -> View:
        view = self.find_view(identifier)
        if view is None:
            raise view_not_found(self, identifier)
        return view

    def create_view(self, identifier: Identifier, view: View, ignore_if_exists: bool = False) -> None:
        check_not_system(identifier, "creating")
        check_new_name(identifier.table, "view")
        schema = {"comment": None, **json.loads(encode_view(view))}
        with self.asking(f"creating the view {identifier}", identifier.database):
            try:
                self.api.create_view(identifier.database, identifier.table, schema)
            except Refused as error:
                if not error.is_taken:
                    raise
                if not ignore_if_exists:
                    raise ViewAlreadyExists(
                        f"there is a view or a table {identifier} already; choose another name"
                    ) from None

    def alter_view(
        self, identifier: Identifier, changes: Sequence[ViewChange], ignore_if_not_exists: bool = False
    ) -> None:
        try:
            self.api.alter_view(identifier.database, identifier.table, [_change_json(change) for change in changes])
        except Refused as error:
            if error.is_taken:
                raise NameTaken(f"changing the view {identifier}: {error}") from None
            if not error.is_missing or error.resource == _DIALECT:
                raise OptionError(f"changing the view {identifier}: {error}") from None
            if not ignore_if_not_exists:
                raise view_not_found(self, identifier) from None

    def rename_view(self, identifier: Identifier, to: Identifier, ignore_if_not_exists: bool = False) -> None:
        check_new_name(to.table, "view")
        try:
            self.api.rename_view((identifier.database, identifier.table), (to.database, to.table))
        except Refused as error:
            if error.is_taken:
                raise ViewAlreadyExists(
                    f"renaming the view {identifier}: there is a view or a table {to} already; choose another name"
                ) from None
            if not error.is_missing:
                raise error_of(f"renaming the view {identifier}", error) from None
            if error.resource == DATABASE and identifier.database in self.list_databases():
                raise database_not_found(self, to.database) from None
            if not ignore_if_not_exists:
                raise view_not_found(self, identifier) from None

    def drop_view(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        try:
            self.api.drop_view(identifier.database, identifier.table)
        except Refused as error:
            if not error.is_missing:
                raise error_of(f"dropping the view {identifier}", error) from None
            if not ignore_if_not_exists:
                raise view_not_found(self, identifier) from None


def _change_json(change: ViewChange) -> dict[str, Any]:
    match change:
        case SetViewOption(key, value):
            return {"action": "setOption", "key": key, "value": value}
        case RemoveViewOption(key):
            return {"action": "removeOption", "key": key}
        case UpdateViewComment(comment):
            return {"action": "updateComment", "comment": comment}
        case AddDialect(dialect, query):
            return {"action": "addDialect", "dialect": dialect, "query": query}
        case UpdateDialect(dialect, query):
            return {"action": "updateDialect", "dialect": dialect, "query": query}
        case DropDialect(dialect):
            return {"action": "dropDialect", "dialect": dialect}
