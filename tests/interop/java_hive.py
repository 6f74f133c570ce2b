"""Java's HiveCatalog, run where the JVM is; the rest is as in java_jdbc."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jpype
from java_jdbc import catalog

JARS = (
    *("hive-metastore", "hive-exec", "hive-common", "hive-serde", "hive-shims", "hive-shims-common", "hive-shims-0.23"),
    *("libthrift", "libfb303", "commons-lang", "antlr-runtime", "jcl-over-slf4j", "log4j-1.2-api", "log4j-api"),
    *("log4j-core", "guava", "failureaccess", "jdo-api", "hive-storage-api", "commons-codec", "commons-lang3"),
)
"""Those of Hive's client, which PySpark ships."""


def create_table(paimon: Any, options: Mapping[str, str], name: str, schema: str) -> None:
    """schema: the JSON of one."""
    made = paimon.utils.JsonSerdeUtil.fromJson(schema, paimon.schema.Schema.class_)
    catalog(paimon, options).createTable(paimon.catalog.Identifier.create(*name.split(".")), made, False)


def told(paimon: Any, options: Mapping[str, str], name: str) -> dict[str, Any]:
    """What Java's catalog tells a metastore of a table: all that depends on neither time nor place."""
    table = catalog(paimon, options).getHmsTable(paimon.catalog.Identifier.create(*name.split(".")))
    sd = table.getSd()
    return {
        "type": str(table.getTableType()),
        "owner": str(table.getOwner()),
        "columns": _columns(sd.getCols()),
        "keys": _columns(table.getPartitionKeys()),
        "parameters": _texts(table.getParameters()),
        "classes": [str(sd.getInputFormat()), str(sd.getOutputFormat()), str(sd.getSerdeInfo().getSerializationLib())],
        "serde": _texts(sd.getSerdeInfo().getParameters()),
    }


def location(paimon: Any, options: Mapping[str, str], name: str) -> str:
    return str(catalog(paimon, options).getTable(paimon.catalog.Identifier.create(*name.split("."))).location())


def add_column(paimon: Any, options: Mapping[str, str], name: str, column: str) -> None:
    """ALTER TABLE with a column of integers."""
    change = paimon.schema.SchemaChange.addColumn(column, paimon.types.DataTypes.INT())
    changes = jpype.java.util.ArrayList([change])
    catalog(paimon, options).alterTable(paimon.catalog.Identifier.create(*name.split(".")), changes, False)


def hold_lock(paimon: Any, options: Mapping[str, str], database: str, table: str) -> int:
    """Takes the lock of a table as Java's catalog does; its number."""
    api = jpype.JPackage("org.apache.hadoop.hive.metastore.api")
    part = api.LockComponent(api.LockType.EXCLUSIVE, api.LockLevel.TABLE, database)
    part.setTablename(table)
    part.unsetOperationType()
    request = api.LockRequest(jpype.java.util.ArrayList([part]), "java", "localhost")
    response = catalog(paimon, options).getHmsClient().lock(request)
    assert str(response.getState()) == "ACQUIRED"
    return int(response.getLockid())


def release_lock(paimon: Any, options: Mapping[str, str], number: int) -> None:
    catalog(paimon, options).getHmsClient().unlock(number)


def _columns(columns: Any) -> list[tuple[str, str, str | None]]:
    return [
        (str(c.getName()), str(c.getType()), None if c.getComment() is None else str(c.getComment())) for c in columns
    ]


def _texts(texts: Any) -> dict[str, str]:
    return {str(entry.getKey()): str(entry.getValue()) for entry in texts.entrySet()}


def add_parted(paimon: Any, options: Mapping[str, str], name: str, rows: list[tuple[int, str, int]]) -> None:
    """A commit of rows of (id, day, hour)."""
    opened = catalog(paimon, options).getTable(paimon.catalog.Identifier.create(*name.split(".")))
    builder = opened.newBatchWriteBuilder()
    with builder.newWrite() as writer, builder.newCommit() as commit:
        for number, day, hour in rows:
            text = paimon.data.BinaryString.fromString(day)
            values = jpype.JArray(jpype.JObject)([jpype.JLong(number), text, jpype.JInt(hour)])
            writer.write(paimon.data.GenericRow.of(values))
        commit.commit(writer.prepareCommit())


def drop_partitions(paimon: Any, options: Mapping[str, str], name: str, specs: list[dict[str, str]]) -> None:
    told = jpype.java.util.ArrayList([_in_order(spec) for spec in specs])
    catalog(paimon, options).dropPartitions(paimon.catalog.Identifier.create(*name.split(".")), told)


def mark_done(paimon: Any, options: Mapping[str, str], name: str, path: str) -> None:
    """The actions of the table for a partition, by its directory."""
    table = catalog(paimon, options).getTable(paimon.catalog.Identifier.create(*name.split(".")))
    loader = paimon.catalog.Catalog.class_.getClassLoader()
    for action in paimon.partition.actions.PartitionMarkDoneAction.createActions(loader, table, table.coreOptions()):
        action.markDone(path)


def create_tag(paimon: Any, options: Mapping[str, str], name: str, tag: str) -> None:
    catalog(paimon, options).getTable(paimon.catalog.Identifier.create(*name.split("."))).createTag(tag)


def delete_tag(paimon: Any, options: Mapping[str, str], name: str, tag: str) -> None:
    catalog(paimon, options).getTable(paimon.catalog.Identifier.create(*name.split("."))).deleteTag(tag)


def partitions(paimon: Any, options: Mapping[str, str], name: str) -> dict[str, tuple[str, bool]]:
    """Java's list of partitions of the metastore: the place of each, and whether it is marked with the event."""
    opened, identifier = catalog(paimon, options), paimon.catalog.Identifier.create(*name.split("."))
    table, api = opened.getHmsTable(identifier), jpype.JPackage("org.apache.hadoop.hive.metastore.api")
    event = api.PartitionEventType
    found = {}
    for one in opened.listPartitionsFromHms(identifier):
        keys = [str(key.getName()) for key in table.getPartitionKeys()]
        spec = dict(zip(keys, map(str, one.getValues()), strict=True))
        told = jpype.java.util.HashMap(spec)
        marked = opened.getHmsClient().isPartitionMarkedForEvent(*name.split("."), told, event.LOAD_DONE)
        found["/".join(spec.values())] = (str(one.getSd().getLocation()), bool(marked))
    return found


def _in_order(spec: Mapping[str, str]) -> Any:
    """A map of Java's that keeps the order, by which a metastore takes values."""
    made = jpype.java.util.LinkedHashMap()
    for key, value in spec.items():
        made.put(key, value)
    return made


def migrate(paimon: Any, options: Mapping[str, str], name: str, target: str) -> None:
    """migrate_table into another table, as the procedure does it."""
    migrator = jpype.JClass("org.apache.paimon.hive.migrate.HiveMigrator")
    names = [*name.split("."), *target.split(".")]
    made = migrator(catalog(paimon, options), *names, jpype.java.lang.Integer(2), jpype.java.util.HashMap())
    made.executeMigrate()
