"""Changes of a catalog by the genuine Java, and what it sees of a database; run where the JVM is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import java_hive
import java_jdbc
import jpype

Rows = list[tuple[int, str | None]]


def do(paimon: Any, options: Mapping[str, str], kind: str, name: str, words: Mapping[str, Any]) -> str | None:
    """One change; the name of the error."""
    try:
        match kind:
            case "create_table":
                java_hive.create_table(paimon, options, name, words["schema"])
            case "alter_database":
                java_jdbc.alter_database(paimon, options, name, words["key"], words["value"])
            case "set_option":
                java_jdbc.set_option(paimon, options, name, words["key"], words["value"])
            case "add_column":
                java_hive.add_column(paimon, options, name, words["column"])
            case "append":
                _append(paimon, options, name, words["rows"])
            case "drop_partition":
                java_hive.drop_partitions(paimon, options, name, [{"dt": words["dt"]}])
            case "create_view" | "drop_view" | "rename_view":
                return java_jdbc.change_view(paimon, options, kind.removesuffix("_view"), name, words)
            case _:
                return java_jdbc.change(paimon, options, kind, words)
    except jpype.JException as error:
        return str(error.getClass().getSimpleName())
    return None


def _append(paimon: Any, options: Mapping[str, str], name: str, rows: Sequence[tuple[int, str | None]]) -> None:
    table = java_jdbc.catalog(paimon, options).getTable(paimon.catalog.Identifier.create(*name.split(".")))
    columns = [str(column) for column in table.rowType().getFieldNames()]
    builder = table.newBatchWriteBuilder()
    with builder.newWrite() as writer, builder.newCommit() as commit:
        for number, dt in rows:
            text = None if dt is None else paimon.data.BinaryString.fromString(dt)
            values = {"id": jpype.JLong(number), "dt": text}
            row = [values.get(column) for column in columns]
            writer.write(paimon.data.GenericRow.of(jpype.JArray(jpype.JObject)(row)))
        commit.commit(writer.prepareCommit())


def databases(paimon: Any, options: Mapping[str, str]) -> list[str]:
    return sorted(str(name) for name in java_jdbc.catalog(paimon, options).listDatabases())


def seen(paimon: Any, options: Mapping[str, str], database: str) -> dict[str, Any]:
    """What it has: properties, and tables and views by name."""
    catalog = java_jdbc.catalog(paimon, options)
    tables = {str(table): _table(paimon, catalog, database, str(table)) for table in catalog.listTables(database)}
    views = java_jdbc.views(paimon, options, database)
    return {
        "properties": java_jdbc.database_properties(paimon, options, database),
        "tables": tables,
        "views": {name: told[0] for name, told in views.items()},
    }


def _table(paimon: Any, catalog: Any, database: str, name: str) -> tuple[dict[str, str], list[str], Rows, set[str]]:
    identifier = paimon.catalog.Identifier.create(database, name)
    table = catalog.getTable(identifier)
    columns = [str(column) for column in table.rowType().getFieldNames()]
    options = {str(e.getKey()): str(e.getValue()) for e in table.options().entrySet() if e.getKey() != "path"}
    rows: Rows = []
    read = table.newReadBuilder()
    plan = read.newScan().plan()
    with read.newRead().createReader(plan).toCloseableIterator() as cursor:
        while cursor.hasNext():
            row = cursor.next()
            dt = row.getString(columns.index("dt")) if "dt" in columns else None
            rows.append((int(row.getLong(0)), None if dt is None else str(dt)))
    parted = {str(one.spec().get("dt")) for one in catalog.listPartitions(identifier)} if "dt" in columns else set()
    return options, columns, sorted(rows), parted
