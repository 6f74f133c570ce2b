"""Random lives of a catalog that Java and we change in turns: names, options, columns, rows, partitions and views.

After each step both sides must see of the databases, and of all that the step could have touched, what a model in
dictionaries has.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import java_lives
import pyarrow as pa
from genuine import Genuine
from readers import telling
from support.tables.catalog_tables import append_rows

from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.create import new_schema
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.views import View
from paimon_spark.errors import PaimonError
from paimon_spark.format.schema import encode_schema
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.clean.truncate import drop_partitions
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.evolution.schema_update import SchemaUpdate
from paimon_spark.store.metadata.alter import set_option

DATABASES, TABLES, VIEWS = ("shop", "depot"), ("t", "u", "v"), ("w", "x")
JAVA_ERRORS = {
    "DatabaseAlreadyExists": "DatabaseAlreadyExistException",
    "DatabaseNotEmpty": "DatabaseNotEmptyException",
    "DatabaseNotFound": "DatabaseNotExistException",
    "TableAlreadyExists": "TableAlreadyExistException",
    "TableNotFound": "TableNotExistException",
    "ViewAlreadyExists": "ViewAlreadyExistException",
    "ViewNotFound": "ViewNotExistException",
}
_KINDS = (
    *("create_database", "create_database", "drop_database", "alter_database"),
    *("create_table", "create_table", "create_table", "drop_table", "rename_table", "set_option", "add_column"),
    *(
        "append",
        "append",
        "append",
        "append",
        "append",
        "append",
        "drop_partition",
        "create_view",
        "drop_view",
        "rename_view",
    ),
)
_OPTIONS = (("snapshot.num-retained.max", "50"), ("snapshot.num-retained.max", "60"), ("file.compression", "lz4"))
_ERRORS = 0.15  # as often a step is taken although it is refused
_FIELD = DataField(0, "id", DataType(Root.BIGINT))


@dataclass
class LifeTable:
    """A table of the model. rows: (id, dt), without dt where it is not partitioned."""

    is_partitioned: bool
    options: dict[str, str]
    columns: list[str]
    rows: set[tuple[int, str | None]] = field(default_factory=set)


@dataclass
class LifeDatabase:
    properties: dict[str, str] = field(default_factory=dict)
    tables: dict[str, LifeTable] = field(default_factory=dict)
    views: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """One change. name: of a database, a table or a view; to: the new one of a rename; words: what else it says."""

    kind: str
    name: Identifier
    to: Identifier
    words: Mapping[str, Any]


@dataclass
class Life:
    """A catalog as dictionaries, and the next change of it.

    Attributes:
        partitioned: the options of partitioned tables.
    """

    draw: random.Random
    partitioned: Mapping[str, str]
    databases: dict[str, LifeDatabase] = field(default_factory=dict)
    number: int = 0

    def step(self) -> Step:
        """A change that is possible, or is refused by both sides for the same reason."""
        while True:
            self.number += 1
            kind = self.draw.choice(_KINDS)
            names = VIEWS if kind.endswith("_view") else TABLES
            name, to = (Identifier(self.draw.choice(DATABASES), self.draw.choice(names)) for _ in range(2))
            words = self._words(kind, name)
            if words is not None and (to.database in self.databases or not kind.startswith("rename")):
                found = Step(kind, name, to, words)
                if self.draw.random() < _ERRORS or deepcopy(self).apply(found) is None:
                    return found

    def _words(self, kind: str, name: Identifier) -> dict[str, Any] | None:
        """What the change says; None: it would be refused for a reason that each side words by itself."""
        database = self.databases.get(name.database)
        table = None if database is None else database.tables.get(name.table)
        match kind:
            case "create_database":
                return {}
            case "drop_database":
                cascade = self.draw.random() < 0.5
                only_views = database is not None and bool(database.views) and not database.tables
                return None if only_views and not cascade else {"cascade": cascade}  # Java drops views without it
            case "create_table":
                return {"partitioned": self.draw.random() < 0.4}
            case "alter_database":
                value = self.draw.choice(["1", "ü", None])
                return None if database is None else {"key": self.draw.choice("pq"), "value": value}
            case "create_view":
                return None if database is None else {"query": f"SELECT {self.number} AS id -- 'ü'"}
            case "set_option":
                key, value = self.draw.choice(_OPTIONS)
                return None if table is None else {"key": key, "value": value}
            case "add_column":
                return None if table is None else {"column": f"c{self.number}"}
            case "append":
                return None if table is None else {"rows": self._rows(table)}
            case "drop_partition":
                there = [] if table is None else sorted({dt for _, dt in table.rows if dt is not None})
                return {"dt": self.draw.choice(there)} if there else None
        return None if database is None else {}

    def _rows(self, table: LifeTable) -> list[tuple[int, str | None]]:
        count = self.draw.randint(1, 3)
        return [(self.number * 10 + n, self.draw.choice("ab/") if table.is_partitioned else None) for n in range(count)]

    def schema(self, step: Step) -> Any:
        """That of a new table."""
        columns = [("id", pa.int64()), *([("dt", pa.string())] if step.words["partitioned"] else [])]
        keys = ["dt"] if step.words["partitioned"] else []
        return new_schema(pa.schema(columns), [], keys, dict(self.partitioned) if keys else {})

    def apply(self, step: Step) -> str | None:
        """Does it; the name of our error."""
        made: str | None = getattr(self, f"_{step.kind}")(step)
        return made

    def _create_database(self, step: Step) -> str | None:
        if step.name.database in self.databases:
            return "DatabaseAlreadyExists"
        self.databases[step.name.database] = LifeDatabase()
        return None

    def _drop_database(self, step: Step) -> str | None:
        found = self.databases.get(step.name.database)
        if found is None:
            return "DatabaseNotFound"
        if (found.tables or found.views) and not step.words["cascade"]:
            return "DatabaseNotEmpty"
        del self.databases[step.name.database]
        return None

    def _alter_database(self, step: Step) -> None:
        properties = self.databases[step.name.database].properties
        properties.pop(step.words["key"], None)
        if step.words["value"] is not None:
            properties[step.words["key"]] = step.words["value"]

    def _create_table(self, step: Step) -> str | None:
        found = self.databases.get(step.name.database)
        if found is None:
            return "DatabaseNotFound"
        if step.name.table in found.tables:
            return "TableAlreadyExists"
        made = self.schema(step)
        found.tables[step.name.table] = LifeTable(step.words["partitioned"], dict(made.options), list(made.names))
        return None

    def _drop_table(self, step: Step) -> str | None:
        gone = self.databases[step.name.database].tables.pop(step.name.table, None)
        return "TableNotFound" if gone is None else None

    def _rename_table(self, step: Step) -> str | None:
        source, target = self.databases[step.name.database].tables, self.databases[step.to.database].tables
        if step.name.table not in source:
            return "TableNotFound"
        if step.to.table in target:
            return "TableAlreadyExists"
        target[step.to.table] = source.pop(step.name.table)
        return None

    def _table(self, step: Step) -> LifeTable:
        return self.databases[step.name.database].tables[step.name.table]

    def _set_option(self, step: Step) -> None:
        self._table(step).options[step.words["key"]] = step.words["value"]

    def _add_column(self, step: Step) -> None:
        self._table(step).columns.append(step.words["column"])

    def _append(self, step: Step) -> None:
        self._table(step).rows |= set(step.words["rows"])

    def _drop_partition(self, step: Step) -> None:
        table = self._table(step)
        table.rows = {row for row in table.rows if row[1] != step.words["dt"]}

    def _create_view(self, step: Step) -> str | None:
        views = self.databases[step.name.database].views
        if step.name.table in views:
            return "ViewAlreadyExists"
        views[step.name.table] = step.words["query"]
        return None

    def _drop_view(self, step: Step) -> str | None:
        gone = self.databases[step.name.database].views.pop(step.name.table, None)
        return "ViewNotFound" if gone is None else None

    def _rename_view(self, step: Step) -> str | None:
        source, target = self.databases[step.name.database].views, self.databases[step.to.database].views
        if step.name.table not in source:
            return "ViewNotFound"
        if step.to.table in target:
            return "ViewAlreadyExists"
        target[step.to.table] = source.pop(step.name.table)
        return None

    def wanted(self, database: str) -> dict[str, Any]:
        """What both sides must see of a database."""
        found = self.databases[database]
        tables = {
            name: (table.options, table.columns, sorted(table.rows), {dt for _, dt in table.rows if dt is not None})
            for name, table in found.tables.items()
        }
        return {"properties": found.properties, "tables": tables, "views": found.views}


def live(
    life: Life, catalog: Catalog, java: Genuine, options: Mapping[str, str], steps: int, after: Callable[[Step], None]
) -> None:
    """Lives it.

    Args:
        after: called after each step that Java has done without an error.
    """
    log: list[str] = []
    with telling(log):
        for _ in range(steps):
            step, by_java = life.step(), life.draw.random() < 0.5
            log.append(f"{'Java' if by_java else 'we'}: {step}")
            expected = life.apply(step)
            if by_java:
                error = java.run(java_lives.do, options, step.kind, _java_name(step), _java_words(life, step))
                assert error == (expected and JAVA_ERRORS[expected])
                if error is None:
                    after(step)
            else:
                assert _ours(catalog, life, step) == expected
            _compare(life, catalog, java, options, {step.name.database, step.to.database})
        _compare(life, catalog, java, options, set(DATABASES))


def _compare(life: Life, catalog: Catalog, java: Genuine, options: Mapping[str, str], touched: set[str]) -> None:
    there = sorted(life.databases)
    assert [name for name in catalog.list_databases() if name != "default"] == there
    assert [name for name in java.run(java_lives.databases, options) if name != "default"] == there
    for database in touched & life.databases.keys():
        wanted = life.wanted(database)
        for seen in (_seen(catalog, database), java.run(java_lives.seen, options, database)):
            assert {**seen, "properties": {k: v for k, v in seen["properties"].items() if k in "pq"}} == wanted


def _seen(catalog: Catalog, database: str) -> dict[str, Any]:
    tables = {}
    for name in catalog.list_tables(database):
        table = catalog.load_table(Identifier(database, name))
        found = table.scan().to_arrow()
        dts = found.column("dt").to_pylist() if "dt" in found.column_names else [None] * len(found)
        rows = sorted(zip(found.column("id").to_pylist(), dts, strict=True))
        parted = {dt for dt in dts if dt is not None}
        tables[name] = (dict(table.schema.options), list(table.schema.names), rows, parted)
    views = {name: catalog.load_view(Identifier(database, name)).query for name in catalog.list_views(database)}
    return {"properties": dict(catalog.load_database(database).properties), "tables": tables, "views": views}


def _ours(catalog: Catalog, life: Life, step: Step) -> str | None:
    """Does it; the name of the error."""
    try:
        _do(catalog, life, step)
    except PaimonError as error:
        return type(error).__name__
    return None


def _do(catalog: Catalog, life: Life, step: Step) -> None:
    words, name = step.words, step.name
    match step.kind:
        case "create_database":
            catalog.create_database(name.database)
        case "drop_database":
            catalog.drop_database(name.database, cascade=words["cascade"])
        case "alter_database":
            gone = words["value"] is None
            catalog.alter_database(
                name.database, {} if gone else {words["key"]: words["value"]}, (words["key"],) if gone else ()
            )
        case "create_table":
            catalog.create_table(name, life.schema(step))
        case "drop_table":
            catalog.drop_table(name)
        case "rename_table":
            catalog.rename_table(name, step.to)
        case "set_option":
            set_option(catalog.load_table(name), words["key"], words["value"])
        case "add_column":
            alter_table(catalog.load_table(name), SchemaUpdate().add_column(words["column"], "INT").changes)
        case "append":
            _append(catalog, name, words["rows"])
        case "drop_partition":
            drop_partitions(catalog.load_table(name), f"dt = '{words['dt']}'")
        case "create_view":
            catalog.create_view(name, View((_FIELD,), words["query"]))
        case "drop_view":
            catalog.drop_view(name)
        case "rename_view":
            catalog.rename_view(name, step.to)


def _append(catalog: Catalog, name: Identifier, rows: list[tuple[int, str | None]]) -> None:
    table = catalog.load_table(name)
    columns: dict[str, list[Any]] = {column: [None] * len(rows) for column in table.schema.names}
    columns["id"] = [number for number, _ in rows]
    if "dt" in columns:
        columns["dt"] = [dt for _, dt in rows]
    append_rows(table, columns)


def _java_name(step: Step) -> str:
    return step.name.database if step.kind == "alter_database" else str(step.name)


def _java_words(life: Life, step: Step) -> dict[str, Any]:
    name, to = ((one.database, one.table) for one in (step.name, step.to))
    told = {**step.words, "table": name, "ignore": False, "cascade": step.words.get("cascade", False), "options": {}}
    match step.kind:
        case "create_table":
            return {**told, "schema": json_of(life.schema(step))}
        case "create_view":
            view = {"fields": [{"id": 0, "name": "id", "type": "BIGINT"}], "query": step.words["query"]}
            return {**told, "view": {**view, "dialects": {}, "options": {}}}
        case "rename_view":
            return {**told, "to": str(step.to)}
    return {**told, "to": to}


def json_of(made: Any) -> str:
    """A schema as Java reads it."""
    told = json.loads(encode_schema(made))
    keys = ("fields", "partitionKeys", "primaryKeys", "options", "comment")
    return json.dumps({key: told[key] for key in keys if key in told})
