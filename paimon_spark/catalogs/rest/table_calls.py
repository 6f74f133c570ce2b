"""The calls about databases and tables (features 9.4; Java: RESTApi)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paimon_spark.catalogs.rest.calls import Calls, Json, identifier_json


class TableCalls(Calls):
    """Databases and tables; all calls raise as RestApi says."""

    def list_databases(self) -> list[str]:
        """All names."""
        return [str(name) for name in self._pages(self._paths.databases(), "databases")]

    def create_database(self, name: str, options: Mapping[str, str]) -> None:
        """Creates one."""
        self._http.post(self._paths.databases(), {"name": name, "options": dict(options)})

    def get_database(self, name: str) -> Json:
        """id, name, location, options, owner, createdAt, ..."""
        return self._http.get(self._paths.database(name))

    def drop_database(self, name: str) -> None:
        """Drops one with all that is in it."""
        self._http.delete(self._paths.database(name))

    def alter_database(self, name: str, removals: Sequence[str], updates: Mapping[str, str]) -> None:
        """Changes its options."""
        self._http.post(self._paths.database(name), {"removals": list(removals), "updates": dict(updates)})

    # ---------------------------------------------------------------------------------------------------------- tables

    def list_tables(self, database: str, pattern: str | None = None) -> list[str]:
        """The names. pattern: as SQL's LIKE, a prefix."""
        return [
            str(n) for n in self._pages(self._paths.database(database, "tables"), "tables", tableNamePattern=pattern)
        ]

    def create_table(self, database: str, table: str, schema: Json) -> None:
        """Creates one. schema: fields, partitionKeys, primaryKeys, options, comment."""
        body = {"identifier": identifier_json(database, table), "schema": schema}
        self._http.post(self._paths.database(database, "tables"), body)

    def get_table(self, database: str, table: str) -> Json:
        """id, database, name, path, isExternal, schemaId, schema, owner, ..."""
        return self._http.get(self._paths.table(database, table))

    def drop_table(self, database: str, table: str) -> None:
        """Drops one."""
        self._http.delete(self._paths.table(database, table))

    def rename_table(self, source: tuple[str, str], target: tuple[str, str]) -> None:
        """Gives one another name."""
        self._http.post(
            self._paths.everywhere("tables", "rename"),
            {"source": identifier_json(*source), "destination": identifier_json(*target)},
        )

    def alter_table(self, database: str, table: str, changes: Sequence[Mapping[str, Any]]) -> None:
        """Makes changes to the schema, all or none."""
        self._http.post(self._paths.table(database, table), {"changes": list(changes)})

    def replace_table(self, database: str, table: str, schema: Json) -> None:
        """Gives a table another schema, and no rows."""
        self._http.post(self._paths.table(database, table, "replace"), {"schema": schema})

    def table_token(self, database: str, table: str) -> Json:
        """Credentials for the storage of a table: token, expiresAtMillis."""
        return self._http.get(self._paths.table(database, table, "token"))

    def auth_table(self, database: str, table: str, select: Sequence[str] | None) -> Json:
        """What a read of columns (None: all) must keep: filter, columnMasking."""
        columns = None if select is None else list(select)
        return self._http.post(self._paths.table(database, table, "auth"), {"select": columns})
