"""The scan of a system table: by this process if its metadata are few, else in tasks of Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from paimon_spark.spark.adapters.batches import spark_arrow_schema
from paimon_spark.spark.adapters.options import LOCAL, NATIVE
from paimon_spark.spark.adapters.types import nullable, shown_schema, spark_schema
from paimon_spark.spark.native.local_read import SMALL_BYTES, rows_if_small
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.spark_catalog.jvm_objects import Java, JvmObjects
from paimon_spark.spark.spark_catalog.scans import PlannedReader, local_scan, python_scan, statistics
from paimon_spark.spark.spark_catalog.spark_internals import source_stream, struct_of
from paimon_spark.sql.text.names import TableName
from paimon_spark.store.system_tables.table import UnitReader, system_table


def of_table(options: Mapping[str, str]) -> dict[str, str]:
    """The options of a read without those that say who reads."""
    return {key: value for key, value in options.items() if key.lower() not in (NATIVE, LOCAL)}


class SystemScanBuilder:
    """Answers for the scan of a system table."""

    def __init__(self, session: SqlSession, objects: JvmObjects, name: TableName, options: Mapping[str, str]) -> None:
        self._session = session
        self._objects = objects
        self._name = name
        self._options = options
        self._columns: Sequence[str] = ()

    def pruneColumns(self, schema: Java) -> None:
        self._columns = tuple(schema.fieldNames())

    def build(self) -> Java:
        session, objects = self._session, self._objects
        table = system_table(
            session.open(replace(self._name, system=None), of_table(self._options)), self._name.system or ""
        )
        columns = self._columns or [field.name for field in table.schema.fields]
        fields = [table.schema.by_name[name] for name in columns]
        shown = nullable(shown_schema(spark_schema(fields)))
        scan, description = table.scan(list(columns)), f"paimon {self._name}"
        tasks, size = [*map(tuple, scan.tasks())], table.metadata_size()
        reader: UnitReader = scan.reader()
        if size is not None and size <= SMALL_BYTES:
            rows = rows_if_small(session.spark, reader.read, [unit for task in tasks for unit in task], shown)
            if rows is not None:
                return local_scan(objects, rows, description, self)
        planned = PlannedReader(tasks, reader, spark_arrow_schema(shown))
        known = statistics(objects, 0 if size is None else size, SMALL_BYTES if size is None else size)
        return python_scan(session, objects, planned, shown, known, description, f"{description}@{id(self):x}", self)

    def toMicroBatchStream(self, checkpoint: str) -> Java:
        objects, location = self._objects, self._session.location(self._name)
        fields = self._session.fields(self._name)
        options = {**self._session.storage_options, **self._options, "path": location}
        schema = struct_of(objects, nullable(shown_schema(spark_schema(fields))))
        return source_stream(self._session.spark, objects, schema, options, checkpoint)
