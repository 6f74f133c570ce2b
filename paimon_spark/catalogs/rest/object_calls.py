"""The calls about views and functions (features 9.4; Java: RESTApi)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paimon_spark.catalogs.rest.calls import Calls, Json, identifier_json


class ObjectCalls(Calls):
    """Views and functions; all calls raise as RestApi says."""

    def list_views(self, database: str) -> list[str]:
        """The names."""
        return [str(name) for name in self._pages(self._paths.database(database, "views"), "views")]

    def get_view(self, database: str, view: str) -> Json:
        """id, name, schema (fields, query, dialects, comment, options), owner, ..."""
        return self._http.get(self._paths.database(database, "views", view))

    def create_view(self, database: str, view: str, schema: Json) -> None:
        """Creates one."""
        body = {"identifier": identifier_json(database, view), "schema": schema}
        self._http.post(self._paths.database(database, "views"), body)

    def alter_view(self, database: str, view: str, changes: Sequence[Mapping[str, Any]]) -> None:
        """Makes changes: {action: addDialect, dialect, query}, ..."""
        self._http.post(self._paths.database(database, "views", view), {"changes": list(changes)})

    def rename_view(self, source: tuple[str, str], target: tuple[str, str]) -> None:
        """Gives one another name."""
        self._http.post(
            self._paths.everywhere("views", "rename"),
            {"source": identifier_json(*source), "destination": identifier_json(*target)},
        )

    def drop_view(self, database: str, view: str) -> None:
        """Drops one."""
        self._http.delete(self._paths.database(database, "views", view))

    def list_functions(self, database: str) -> list[str]:
        """The names."""
        return [str(name) for name in self._pages(self._paths.database(database, "functions"), "functions")]

    def get_function(self, database: str, name: str) -> Json:
        """name, inputParams, returnParams, definitions, deterministic, comment, options, ..."""
        return self._http.get(self._paths.database(database, "functions", name))

    def create_function(self, database: str, function: Json) -> None:
        """Creates one. function: as get_function answers it."""
        self._http.post(self._paths.database(database, "functions"), function)

    def alter_function(self, database: str, name: str, changes: Sequence[Mapping[str, Any]]) -> None:
        """Makes changes to one."""
        self._http.post(self._paths.database(database, "functions", name), {"changes": list(changes)})

    def drop_function(self, database: str, name: str) -> None:
        """Drops one."""
        self._http.delete(self._paths.database(database, "functions", name))
