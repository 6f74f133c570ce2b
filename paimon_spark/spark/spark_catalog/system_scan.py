"""The scan of a system table or a table of files: by this process if its metadata are few, else in tasks of Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from paimon_spark.arrow.predicates import predicate as p
from paimon_spark.spark.adapters.batches import spark_arrow_schema
from paimon_spark.spark.adapters.types import nullable, shown_schema, spark_schema
from paimon_spark.spark.native.local_read import SMALL_BYTES, rows_if_small
from paimon_spark.spark.source.filters import NotPushed
from paimon_spark.spark.spark_catalog.driver_calls import parsed, statistics
from paimon_spark.spark.spark_catalog.jvm_objects import Java
from paimon_spark.spark.spark_catalog.predicates import convert
from paimon_spark.spark.spark_catalog.scans import PlannedReader, ScanTraits, local_scan, python_scan, task_batch
from paimon_spark.spark.spark_catalog.sessions import NamedTable
from paimon_spark.spark.spark_catalog.spark_internals import column_names, dataset_of
from paimon_spark.store.file_tables.format_table import FormatFile, FormatTable
from paimon_spark.store.system_tables.table import SystemTable, UnitReader

_PREDICATE = "org.apache.spark.sql.connector.expressions.filter.Predicate"


class SystemScanBuilder:
    """Answers for the scan of a system table or a table of files."""

    def __init__(self, of: NamedTable, options: Mapping[str, str]) -> None:
        self._of = of
        self._options = options
        self._columns: Sequence[str] = ()
        self._given: Java = None

    def pushPredicates(self, predicates: Java) -> Java:
        """Spark decides all conditions again: those that have a form here only leave out partitions and files."""
        self._given = predicates
        return predicates

    def pushedPredicates(self) -> Java:
        return self._of.objects.array(_PREDICATE, ())

    def pruneColumns(self, schema: Java) -> None:
        self._columns = column_names(schema)

    def build(self) -> Java:
        spark, objects = self._of.session.spark, self._of.objects
        table = self._of.listed(self._options)
        columns = self._columns or [field.name for field in table.schema.fields]
        shown = nullable(shown_schema(spark_schema([table.schema.by_name[name] for name in columns])))
        where = self._where(table) if isinstance(table, FormatTable) else None
        scan, description = table.scan(list(columns), where), f"paimon {self._of.name}"
        tasks, size = [*map(tuple, scan.tasks())], table.metadata_size() if isinstance(table, SystemTable) else None
        if isinstance(table, FormatTable):
            size = sum(unit.size for task in tasks for unit in task if isinstance(unit, FormatFile))
        reader: UnitReader = scan.reader()
        if size is not None and size <= SMALL_BYTES:
            rows = rows_if_small(spark, reader.read, [unit for task in tasks for unit in task], shown)
            if rows is not None:
                return local_scan(objects, dataset_of(rows), description, self)

        def batch() -> Java:
            planned = PlannedReader(tasks, reader, spark_arrow_schema(shown))
            return task_batch(spark, objects, planned, shown, traits)

        known = statistics(objects, 0 if size is None else size, SMALL_BYTES if size is None else size)
        traits = ScanTraits(f"{description}@{id(self):x}", description, known, self)
        return python_scan(spark, objects, batch, shown, traits)

    def _where(self, table: FormatTable) -> p.Predicate:
        if self._given is None:
            return p.TRUE
        taken = []
        for node in parsed(self._of.objects, self._given):
            with suppress(NotPushed):
                taken.append(convert(node, table.schema.by_name))
        return p.and_(*taken)

    def toMicroBatchStream(self, checkpoint: str) -> Java:
        from paimon_spark.spark.spark_catalog.micro_batches import AskedStream, micro_batch_stream

        session = self._of.session
        options = {**session.storage_options, **self._options, "path": session.location(self._of.name)}
        shown = nullable(shown_schema(spark_schema(session.fields(self._of.name))))
        return micro_batch_stream(self._of, AskedStream(options, shown, None, checkpoint))
