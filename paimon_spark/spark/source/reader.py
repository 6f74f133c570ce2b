"""Reading a table in Spark: planned once, then one task per group of splits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from paimon_spark.arrow.predicates.expressions import as_predicate
from paimon_spark.arrow.predicates.predicate import Predicate, and_
from paimon_spark.format.schema import ROW_KIND_FIELD
from paimon_spark.spark.adapters.batches import conformed, spark_arrow_schema
from paimon_spark.spark.adapters.errors import plainly
from paimon_spark.spark.adapters.readable_columns import Readable, asked_columns
from paimon_spark.spark.adapters.worker_connections import SentToWorker
from paimon_spark.spark.source.filters import push_filters

if TYPE_CHECKING:
    from paimon_spark.store.scan.table_scan import Scan
    from paimon_spark.store.system_tables.table import SystemScan, UnitReader


class SplitPartition(InputPartition):
    """Some splits, the work of one Spark task."""

    def __init__(self, splits: tuple[Any, ...]) -> None:
        super().__init__(splits)
        self.splits = splits


class PaimonReader(SentToWorker, DataSourceReader):
    """Plans a read in the process that Spark asks, and reads splits in the tasks.

    Spark pickles it for the tasks before it asks for ``partitions()``. What travels is the scan and the Arrow schema;
    the table and the plan stay behind.

    Args:
        table: as opened with the options of the read.
        schema: what Spark expects: the table's columns, some of them, or those a user named by ``.schema(...)``.
        where: the text of the `filter` option.
        push_filters: whether to take over filters from Spark. It is safe only where a loaded DataFrame is scanned once:
            Spark keeps one planned read for it, and each scan, filtered or not, runs the one planned last.
    """

    def __init__(
        self,
        table: Readable,
        schema: StructType,
        where: str | None,
        push_filters: bool = False,
    ) -> None:
        self._table = table
        self._push_filters = push_filters
        self._columns = asked_columns(table, schema)
        known = (*table.schema.fields, *table.hidden_fields)
        self._predicate: Predicate = as_predicate(where, known, table.time_zone)
        self._arrow_schema = spark_arrow_schema(schema)
        self._sent: Scan | SystemScan | None = None  # in a task: the scan as it was sent
        # Not a method: Spark refuses every query of a reader class with its own pushFilters while
        # spark.sql.python.filterPushdown.enabled is off, which it is unless somebody sets it.
        self.pushFilters = _PushFilters(self)  # type: ignore[method-assign]  # see above

    def push(self, filters: list[Filter]) -> list[Filter]:
        """Takes over the filters it can decide, if it may, and returns the others."""
        if not self._push_filters:
            return filters
        stored = {name: field for name, field in self._columns.items() if field != ROW_KIND_FIELD}
        pushed, left = push_filters(filters, stored)
        self._predicate = and_(self._predicate, pushed)
        return left

    @plainly
    def partitions(self) -> list[InputPartition]:
        """One per task; none for an empty result, for which Spark then runs one task with nothing to read."""
        return [SplitPartition(splits) for splits in self._scan().tasks()]

    @plainly
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, SplitPartition):
            return iter(())
        reader: UnitReader = self._scan().reader()
        return conformed(reader.read, partition.splits, self._arrow_schema)

    def _scan(self) -> Scan | SystemScan:
        return self._sent or self._table.scan([field.name for field in self._columns.values()], self._predicate)

    @plainly
    def __getstate__(self) -> dict[str, Any]:
        return {"_sent": self._scan(), "_arrow_schema": self._arrow_schema}


class _PushFilters:
    """Looks like the base class's pushFilters where Spark tests for an override, and pushes when it is called."""

    def __init__(self, reader: PaimonReader) -> None:
        self.__func__ = DataSourceReader.pushFilters  # on the object: on the class it would become a bound method
        self._reader = reader

    @plainly
    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        return self._reader.push(filters)
