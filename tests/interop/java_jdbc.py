"""Java's JdbcCatalog, run where the JVM is. One catalog is kept for each dictionary of options."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import jpype
from java_catalog import State, catalog_state_of, change_by

SQLITE = "org.xerial:sqlite-jdbc:3.47.1.0"
POSTGRESQL = "org.postgresql:postgresql:42.7.4"
MYSQL = "com.mysql:mysql-connector-j:8.4.0"

_open: dict[tuple[tuple[str, str], ...], Any] = {}


def catalog(paimon: Any, options: Mapping[str, str]) -> Any:
    """The catalog of these options."""
    key = tuple(sorted(options.items()))
    if key not in _open:
        made = paimon.options.Options(jpype.java.util.HashMap(dict(options)))
        _open[key] = paimon.catalog.CatalogFactory.createCatalog(paimon.catalog.CatalogContext.create(made))
    return _open[key]


def change(paimon: Any, options: Mapping[str, str], kind: str, words: Mapping[str, Any]) -> str | None:
    """As change_catalog."""
    return change_by(paimon, catalog(paimon, options), kind, words)


def state(paimon: Any, options: Mapping[str, str]) -> State:
    """As catalog_state."""
    return catalog_state_of(paimon, catalog(paimon, options))


def add_rows(paimon: Any, options: Mapping[str, str], name: str, start: int, count: int) -> None:
    """A commit of so many rows, from a number on."""
    opened = catalog(paimon, options).getTable(paimon.catalog.Identifier.create(*name.split(".")))
    builder = opened.newBatchWriteBuilder()
    with builder.newWrite() as writer, builder.newCommit() as commit:
        for number in range(start, start + count):
            writer.write(paimon.data.GenericRow.of(jpype.JArray(jpype.JObject)([jpype.JLong(number)])))
        commit.commit(writer.prepareCommit())


def set_option(paimon: Any, options: Mapping[str, str], name: str, key: str, value: str) -> None:
    """ALTER TABLE."""
    changes = jpype.java.util.ArrayList([paimon.schema.SchemaChange.setOption(key, value)])
    catalog(paimon, options).alterTable(paimon.catalog.Identifier.create(*name.split(".")), changes, False)


def repair(paimon: Any, options: Mapping[str, str]) -> None:
    catalog(paimon, options).repairCatalog()


def database_properties(paimon: Any, options: Mapping[str, str], name: str) -> dict[str, str]:
    found = catalog(paimon, options).getDatabase(name).options()
    return {str(entry.getKey()): str(entry.getValue()) for entry in found.entrySet()}


def alter_database(paimon: Any, options: Mapping[str, str], name: str, key: str, value: str | None) -> None:
    kinds = paimon.catalog.PropertyChange
    made = kinds.removeProperty(key) if value is None else kinds.setProperty(key, value)
    catalog(paimon, options).alterDatabase(name, jpype.java.util.ArrayList([made]), False)


def change_view(paimon: Any, options: Mapping[str, str], kind: str, name: str, words: Mapping[str, Any]) -> str | None:
    """One change of a view; the name of the error."""
    opened, identifier = catalog(paimon, options), paimon.catalog.Identifier.create(*name.split("."))
    changes = paimon.view.ViewChange
    try:
        match kind:
            case "create":
                text = json.dumps(words["view"])
                schema = paimon.utils.JsonSerdeUtil.fromJson(text, paimon.view.ViewSchema.class_)
                view = paimon.view.ViewImpl(
                    *(identifier, schema.fields(), schema.query(), schema.dialects(), schema.comment()),
                    schema.options(),
                )
                opened.createView(identifier, view, words["ignore"])
            case "drop":
                opened.dropView(identifier, words["ignore"])
            case "rename":
                opened.renameView(
                    identifier, paimon.catalog.Identifier.create(*words["to"].split(".")), words["ignore"]
                )
            case "add":
                made = changes.addDialect(words["dialect"], words["query"])
                opened.alterView(identifier, jpype.java.util.ArrayList([made]), words["ignore"])
            case "option":
                made = changes.setOption(words["dialect"], words["query"])
                opened.alterView(identifier, jpype.java.util.ArrayList([made]), words["ignore"])
    except jpype.JException as error:
        return str(error.getClass().getSimpleName())
    return None


def views(paimon: Any, options: Mapping[str, str], database: str) -> dict[str, Any]:
    """The views of a database: query, dialects, columns, comment and options of each."""
    opened, found = catalog(paimon, options), {}
    for name in opened.listViews(database):
        view = opened.getView(paimon.catalog.Identifier.create(database, name))
        comment = view.comment().orElse(None)
        found[str(name)] = (
            str(view.query()),
            _texts(view.dialects()),
            [(str(f.name()), str(f.type()), int(f.id())) for f in view.rowType().getFields()],
            None if comment is None else str(comment),
            _texts(view.options()),
        )
    return found


def acquire(paimon: Any, options: Mapping[str, str], lock_id: str, millis: int) -> bool:
    """One try of Java's to get a lock."""
    return bool(paimon.jdbc.JdbcUtils.acquire(catalog(paimon, options).getConnections(), lock_id, jpype.JLong(millis)))


def release(paimon: Any, options: Mapping[str, str], lock_id: str) -> None:
    paimon.jdbc.JdbcUtils.release(catalog(paimon, options).getConnections(), lock_id)


def _texts(texts: Any) -> dict[str, str]:
    return {str(entry.getKey()): str(entry.getValue()) for entry in texts.entrySet()}
