"""Catalogs by the genuine Java; run where the JVM is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import jpype

State = dict[str, dict[str, dict[str, str]]]


def change_catalog(paimon: Any, options: Mapping[str, str], kind: str, words: Mapping[str, Any]) -> str | None:
    """One change by Java's catalog; the name of its error. words: the fields of a Change."""
    return change_by(paimon, _open(paimon, options), kind, words)


def change_by(paimon: Any, catalog: Any, kind: str, words: Mapping[str, Any]) -> str | None:
    """As change_catalog, with a catalog that is open."""
    identifier = paimon.catalog.Identifier
    database, table = words["table"]
    source = identifier.create(database, table)
    try:
        match kind:
            case "create_database":
                catalog.createDatabase(database, words["ignore"])
            case "drop_database":
                catalog.dropDatabase(database, words["ignore"], words["cascade"])
            case "create_table":
                catalog.createTable(source, _schema(paimon, words["options"]), words["ignore"])
            case "drop_table":
                catalog.dropTable(source, words["ignore"])
            case "rename_table":
                catalog.renameTable(source, identifier.create(*words["to"]), words["ignore"])
    except jpype.JException as error:
        return str(error.getClass().getSimpleName())
    return None


def catalog_state(paimon: Any, options: Mapping[str, str]) -> State:
    """Each database with its tables and their options, but for the path, which Java adds when it opens a table."""
    return catalog_state_of(paimon, _open(paimon, options))


def catalog_state_of(paimon: Any, catalog: Any) -> State:
    """As catalog_state, with a catalog that is open."""
    return {
        str(database): {
            str(table): _options(catalog.getTable(paimon.catalog.Identifier.create(database, table)))
            for table in catalog.listTables(database)
        }
        for database in catalog.listDatabases()
    }


def add_rows(paimon: Any, options: Mapping[str, str], database: str, table: str, count: int) -> None:
    """A commit of so many rows through the table that Java's catalog opens."""
    opened = _open(paimon, options).getTable(paimon.catalog.Identifier.create(database, table))
    builder = opened.newBatchWriteBuilder()
    with builder.newWrite() as writer, builder.newCommit() as commit:
        for number in range(count):
            writer.write(paimon.data.GenericRow.of(jpype.JArray(jpype.JObject)([jpype.JLong(number)])))
        commit.commit(writer.prepareCommit())


def _open(paimon: Any, options: Mapping[str, str]) -> Any:
    made = paimon.options.Options(jpype.java.util.HashMap(dict(options)))
    return paimon.catalog.CatalogFactory.createCatalog(paimon.catalog.CatalogContext.create(made))


def _schema(paimon: Any, options: Mapping[str, str]) -> Any:
    field = {"id": 0, "name": "id", "type": "BIGINT"}
    text = json.dumps({"fields": [field], "partitionKeys": [], "primaryKeys": [], "options": dict(options)})
    return paimon.utils.JsonSerdeUtil.fromJson(text, paimon.schema.Schema.class_)


def _options(table: Any) -> dict[str, str]:
    return {
        str(entry.getKey()): str(entry.getValue()) for entry in table.options().entrySet() if entry.getKey() != "path"
    }
