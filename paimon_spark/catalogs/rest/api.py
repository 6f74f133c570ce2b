"""The calls of the REST protocol, as Java's client makes them (features 9.4; Java: RESTApi).

Values are JSON objects with Java's names; catalogs make values of ours of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from paimon_spark.catalogs.rest.auth import signer
from paimon_spark.catalogs.rest.http import HttpClient
from paimon_spark.catalogs.rest.options import PREFIX, WAREHOUSE, RestOptions
from paimon_spark.catalogs.rest.paths import CONFIG, Paths
from paimon_spark.errors import StorageError

Json = dict[str, Any]


class RestApi:
    """One server, asked with the credentials of one catalog; safe to use from several threads.

    Attributes:
        options: those of the catalog with those of the server.

    Every call raises, besides what it says:
        NotReached, NoAnswer: the server was not reached, or did not answer.
        Denied: the credentials are not taken, or permit too little.
        Refused: the server refuses: something is missing, or there already, or not supported.
    """

    def __init__(self, options: RestOptions) -> None:
        """options: as given; the server is asked for its own unless they are merged already."""
        sign = signer(options)
        if not options.merged:
            first = HttpClient(
                options.base, options.shown_uri, lambda r: {**options.headers, **sign(r)}, options.secrets
            )
            warehouse = options.get(WAREHOUSE)
            config = first.get(CONFIG, {} if warehouse is None else {WAREHOUSE: warehouse})
            options = options.with_server(config.get("defaults") or {}, config.get("overrides") or {})
        self.options = options
        headers = options.headers
        self._http = HttpClient(options.base, options.shown_uri, lambda r: {**headers, **sign(r)}, options.secrets)
        self._paths = Paths(options.get(PREFIX))

    def _pages(self, path: str, key: str, ends_empty: bool = True, **wanted: str | None) -> Iterator[Any]:
        """What a list holds, page by page.

        Args:
            path: of the list.
            key: what the entries are called.
            ends_empty: whether an empty page ends it, as in Java; those of partitions may be followed by others.
            wanted: what else is asked.

        Raises:
            StorageError: the server gives the same page again.
        """
        query = {name: text for name, text in wanted.items() if text}
        while True:
            page = self._http.get(path, query)
            entries = page.get(key) or []
            yield from entries
            token = page.get("nextPageToken")
            if not token or (ends_empty and not entries):
                return
            if not ends_empty and str(token) == query.get("pageToken"):
                raise StorageError(f"listing {path}: the server of the REST catalog names the page '{token}' again")
            query["pageToken"] = str(token)

    # -------------------------------------------------------------------------------------------------------- databases

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
        body = {"identifier": _identifier_json(database, table), "schema": schema}
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
            {"source": _identifier_json(*source), "destination": _identifier_json(*target)},
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

    # -------------------------------------------------------------------------------------------------------- snapshots

    def commit(
        self, database: str, table: str, table_id: str | None, base: str | None, snapshot: Json, statistics: list[Json]
    ) -> bool:
        """Publishes a snapshot if the latest one has the UUID base (None: there is none). False: it has another."""
        body = {"tableId": table_id, "baseSnapshotUuid": base, "snapshot": snapshot, "statistics": statistics}
        return bool(self._http.post(self._paths.table(database, table, "commit"), body).get("success"))

    def latest_snapshot(self, database: str, table: str) -> Json:
        """The latest snapshot with totals of the table: snapshot, recordCount, ..."""
        return _object_in(self._http.get(self._paths.table(database, table, "snapshot")), "snapshot")

    def roll_back(self, database: str, table: str, instant: Json, latest: int | None = None) -> None:
        """Takes back what came after an instant: {type: snapshot, snapshotId} or {type: tag, tagName}."""
        body: Json = {"instant": instant}
        if latest is not None:
            body["fromSnapshot"] = latest
        self._http.post(self._paths.table(database, table, "rollback"), body)

    # ---------------------------------------------------------------------------------- branches, tags, consumers

    def create_branch(self, database: str, table: str, branch: str, tag: str | None) -> None:
        """Creates one of a tag, or without rows."""
        self._http.post(self._paths.table(database, table, "branches"), {"branch": branch, "fromTag": tag})

    def drop_branch(self, database: str, table: str, branch: str) -> None:
        """Drops one."""
        self._http.delete(self._paths.table(database, table, "branches", branch))

    def fast_forward(self, database: str, table: str, branch: str) -> None:
        """Gives the table the state of a branch."""
        self._http.post(self._paths.table(database, table, "branches", branch, "forward"), {})

    # ------------------------------------------------------------------------------------------------------ partitions

    def list_partitions(self, database: str, table: str, pattern: str | None = None) -> list[Json]:
        """spec, recordCount, fileSizeInBytes, fileCount, lastFileCreationTime, totalBuckets, done, ..."""
        path = self._paths.table(database, table, "partitions")
        return list(self._pages(path, "partitions", ends_empty=False, partitionNamePattern=pattern))

    def create_partitions(self, database: str, table: str, specs: Sequence[Mapping[str, str]]) -> None:
        """Adds those that it does not have yet."""
        body = {"partitionSpecs": [dict(spec) for spec in specs], "ignoreIfExists": True}
        self._http.post(self._paths.table(database, table, "partitions"), body)

    def drop_partitions(self, database: str, table: str, specs: Sequence[Mapping[str, str]]) -> None:
        """Forgets those that it has; their files are left."""
        body = {"partitionSpecs": [dict(spec) for spec in specs], "ignoreIfNotExists": True}
        self._http.post(self._paths.table(database, table, "partitions", "drop"), body)

    # ---------------------------------------------------------------------------------------------- views and functions

    def list_views(self, database: str) -> list[str]:
        """The names."""
        return [str(name) for name in self._pages(self._paths.database(database, "views"), "views")]

    def get_view(self, database: str, view: str) -> Json:
        """id, name, schema (fields, query, dialects, comment, options), owner, ..."""
        return self._http.get(self._paths.database(database, "views", view))

    def create_view(self, database: str, view: str, schema: Json) -> None:
        """Creates one."""
        body = {"identifier": _identifier_json(database, view), "schema": schema}
        self._http.post(self._paths.database(database, "views"), body)

    def alter_view(self, database: str, view: str, changes: Sequence[Mapping[str, Any]]) -> None:
        """Makes changes: {action: addDialect, dialect, query}, ..."""
        self._http.post(self._paths.database(database, "views", view), {"changes": list(changes)})

    def rename_view(self, source: tuple[str, str], target: tuple[str, str]) -> None:
        """Gives one another name."""
        self._http.post(
            self._paths.everywhere("views", "rename"),
            {"source": _identifier_json(*source), "destination": _identifier_json(*target)},
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


def _identifier_json(database: str, name: str) -> Json:
    """A name as the protocol writes it."""
    return {"database": database, "object": name}


def _object_in(answer: Json, key: str) -> Json:
    """The object under a key of an answer; {}: there is none."""
    found = answer.get(key)
    return found if isinstance(found, dict) else {}
