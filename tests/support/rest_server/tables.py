"""Databases and tables of the server: names in memory, tables in the files of a warehouse."""

from __future__ import annotations

import shutil
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from paimon_spark.catalogs.create import create_table
from paimon_spark.errors import PaimonError
from paimon_spark.format.rules.new_tables import assign_field_ids
from paimon_spark.format.type_text import format_field
from paimon_spark.store.clean.truncate import truncate_table
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.metadata.alter import next_schema, replace_schema
from paimon_spark.store.open import ReadableTable, find_stored_table
from paimon_spark.tables.open import open_table
from support.rest_server.answers import Failure, Json, missing, page, taken
from support.rest_server.schema_changes import change_of, schema_of

AUDIT = {"owner": "tests", "createdAt": 1, "createdBy": "tests", "updatedAt": 1, "updatedBy": "tests"}
Name = tuple[str, str]
"""(database, object); the object of a branch is ``table$branch_<name>``."""


@dataclass
class Stored:
    """A table as the server knows it, whatever its name is.

    Attributes:
        schemas: where its schema file is, if not in the directory of its files, as that of a format table.
    """

    path: str
    external: bool
    schemas: str | None = None
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    latest: dict[str, Json] = field(default_factory=dict)
    """By branch: the latest snapshot, with totals of the table."""
    partitions: dict[tuple[tuple[str, str], ...], Json] = field(default_factory=dict)


@dataclass
class State:
    """What the server keeps. All is done under the lock."""

    warehouse: Path
    page_size: int = 100
    databases: dict[str, dict[str, str]] = field(default_factory=dict)
    tables: dict[Name, Stored] = field(default_factory=dict)
    views: dict[Name, Json] = field(default_factory=dict)
    functions: dict[Name, Json] = field(default_factory=dict)
    tokens: Callable[[Name], Json] = lambda name: {"token": {}, "expiresAtMillis": 2**53}
    auth: dict[Name, Json] = field(default_factory=dict)
    selected: list[list[str] | None] = field(default_factory=list)
    denied: set[Name] = field(default_factory=set)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def check_database(self, name: str) -> None:
        if name not in self.databases:
            raise missing("DATABASE", name)

    def stored(self, database: str, table: str) -> Stored:
        """The table of a name, perhaps with a branch."""
        self.check_database(database)
        base = table.partition("$")[0]
        if (database, base) in self.denied:
            raise Failure(403, "TABLE", base, f"no permission for {database}.{base}")
        if (database, base) not in self.tables:
            raise missing("TABLE", table)
        return self.tables[database, base]

    def opened(self, database: str, table: str) -> ReadableTable:
        """The files of a table, or of a branch of it, as a table without a server."""
        suffix = "".join(table.partition("$")[1:])
        stored = self.stored(database, table)
        found = find_stored_table(f"{stored.schemas or stored.path}{suffix}")
        if found is None:
            raise missing("TABLE", table)
        return found


@contextmanager
def refused_as_400() -> Iterator[None]:
    """What the files refuse is an illegal argument of the request."""
    try:
        yield
    except PaimonError as error:
        raise Failure(400, None, None, str(error)) from None


def databases(state: State, method: str, query: Mapping[str, str], body: Json) -> Json:
    """``/databases``."""
    if method == "GET":
        return page("databases", ((name, name) for name in state.databases), query, state.page_size)
    if body["name"] in state.databases:
        raise taken("DATABASE", body["name"])
    state.databases[body["name"]] = dict(body.get("options") or {})
    return {}


def database(state: State, method: str, name: str, body: Json) -> Json:
    """``/databases/<name>``."""
    state.check_database(name)
    options = state.databases[name]
    if method == "DELETE":
        for key in [key for key in state.tables if key[0] == name]:
            drop(state, key)
        for kept in (state.views, state.functions):
            for key in [key for key in kept if key[0] == name]:
                del kept[key]
        del state.databases[name]
    elif method == "POST":
        for key in body["removals"]:
            options.pop(key, None)
        options.update(body["updates"])
        return {"removed": body["removals"], "updated": list(body["updates"]), "missing": []}
    else:
        return {"id": name, "name": name, "location": str(state.warehouse / name), "options": options, **AUDIT}
    return {}


def create(state: State, name: str, body: Json) -> None:
    """POST ``/databases/<name>/tables``."""
    state.check_database(name)
    table = body["identifier"]["object"]
    if (name, table) in state.tables or (name, table) in state.views:
        raise taken("TABLE", table)
    schema = schema_of(body["schema"])
    options = dict(schema.options)
    given = options.pop("path", None)
    path = given or f"file:{state.warehouse}/{name}.db/{table}-{uuid.uuid4().hex[:8]}"
    fields, highest = assign_field_ids(schema.fields)
    with refused_as_400():
        made = type(schema)(0, fields, highest, schema.partition_keys, schema.primary_keys, options, schema.comment)
        schemas = f"{path}.schemas" if options.get("type") == "format-table" else None
        create_table(schemas or path, made, ignore_if_exists=given is not None, of_server=True)
    state.tables[name, table] = Stored(path, given is not None, schemas)


def register(state: State, name: str, body: Json) -> None:
    """POST ``/databases/<name>/register``."""
    state.check_database(name)
    table = body["identifier"]["object"]
    if (name, table) in state.tables:
        raise taken("TABLE", table)
    with refused_as_400():
        open_table(body["path"])
    state.tables[name, table] = Stored(body["path"], True)


def described(state: State, database: str, table: str) -> Json:
    """GET ``/databases/<database>/tables/<table>``."""
    stored, schema = state.stored(database, table), state.opened(database, table).schema
    stored_schema = {
        "fields": [format_field(one) for one in schema.fields],
        "partitionKeys": list(schema.partition_keys),
        "primaryKeys": list(schema.primary_keys),
        "options": dict(schema.options),
        "comment": schema.comment,
    }
    names = {"id": stored.id, "database": database, "name": table, "path": stored.path}
    return {**names, "isExternal": stored.external, "schemaId": schema.id, "schema": stored_schema, **AUDIT}


def alter(state: State, database: str, table: str, body: Json) -> None:
    """POST ``/databases/<database>/tables/<table>``."""
    opened = state.opened(database, table)
    with refused_as_400():
        alter_table(opened, [change_of(change) for change in body["changes"]])


def replace(state: State, database: str, table: str, body: Json) -> None:
    """POST ``.../<table>/replace``: other columns, and no rows."""
    opened, wanted = state.opened(database, table), schema_of(body["schema"])
    with refused_as_400():
        truncate_table(opened)
        schema = opened.schemas.latest()
        assert schema is not None
        fields, highest = assign_field_ids(wanted.fields, schema.highest_field_id + 1)
        changed = type(wanted)(
            0, fields, highest, wanted.partition_keys, wanted.primary_keys, wanted.options, wanted.comment
        )
        replace_schema(opened, next_schema(schema, changed))
    adopt_latest(state, database, table)
    state.stored(database, table).partitions.clear()


def adopt_latest(state: State, database: str, table: str) -> None:
    """The latest snapshot is the one of the files, after something that the server has done to them itself."""
    from support.rest_server.history import branch_of, snapshot_json

    opened, stored = state.opened(database, table), state.stored(database, table)
    latest = opened.snapshots.latest()
    if latest is None:
        stored.latest.pop(branch_of(table), None)
    else:
        stored.latest[branch_of(table)] = totals(snapshot_json(latest))


def totals(snapshot: Json) -> Json:
    """A snapshot as the server answers it (Java: TableSnapshot)."""
    return {"snapshot": snapshot, "recordCount": 0, "fileSizeInBytes": 0, "fileCount": 0, "lastFileCreationTime": 0}


def drop(state: State, key: Name) -> None:
    """DELETE of a table."""
    stored = state.stored(*key)
    if not stored.external:
        shutil.rmtree(stored.path.removeprefix("file:"))
    del state.tables[key]


def rename(state: State, body: Json) -> None:
    """POST ``/tables/rename``: the files stay where they are."""
    source, target = (tuple(body[end][part] for part in ("database", "object")) for end in ("source", "destination"))
    stored = state.stored(*source)
    state.check_database(target[0])
    if target in state.tables or target in state.views:
        raise taken("TABLE", target[1])
    del state.tables[source]
    state.tables[target] = stored
