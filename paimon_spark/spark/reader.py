"""Reading a table in Spark: planned once, then one task per group of splits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from paimon_spark.arrow.conform import conform_batch
from paimon_spark.arrow.predicate import Predicate, and_
from paimon_spark.arrow.predicate_expr import Expr
from paimon_spark.arrow.predicate_sql import parse_predicate
from paimon_spark.errors import DataError, OptionError
from paimon_spark.spark.batches import spark_arrow_schema
from paimon_spark.spark.filters import push_filters
from paimon_spark.spark.options import COLUMNS, ReadOptions
from paimon_spark.spark.plain_errors import plainly
from paimon_spark.spark.types import can_show, shown_schema, spark_schema, spark_type
from paimon_spark.spec.schema import ROW_KIND, ROW_KIND_FIELD, TableSchema
from paimon_spark.spec.types import DataField
from paimon_spark.store.scan import Scan, row_kind_field
from paimon_spark.store.system_tables.table import SystemScan, UnitReader

MIN_BATCH_ROWS = 10_000
MAX_BATCH_ROWS = 65_536


class Readable(Protocol):
    """A table, or a system table."""

    @property
    def location(self) -> str: ...

    @property
    def schema(self) -> TableSchema: ...

    def scan(
        self, columns: Sequence[str] | None = None, where: str | Expr | Predicate | None = None
    ) -> Scan | SystemScan: ...


class SplitPartition(InputPartition):
    """Some splits, the work of one Spark task."""

    def __init__(self, splits: tuple[Any, ...]) -> None:
        super().__init__(splits)
        self.splits = splits


class PaimonReader(DataSourceReader):
    """Plans a read in the process that Spark asks, and reads splits in the tasks.

    Spark pickles it for the tasks before it asks for ``partitions()``. What travels is the reader of splits and the
    Arrow schema; the table and the plan stay behind.

    Args:
        table: as opened with the options of the read.
        schema: what Spark expects: the table's columns, some of them, or those a user named by ``.schema(...)``.
        where: the text of the `filter` option.
        push_filters: whether to take over filters from Spark. It is safe only where a loaded DataFrame is scanned once:
            Spark keeps one planned read for it, and each scan, filtered or not, runs the one planned last.
    """

    def __init__(self, table: Readable, schema: StructType, where: str | None, push_filters: bool = False) -> None:
        self._table = table
        self._push_filters = push_filters
        self._columns = asked_columns(table, schema)
        self._predicate: Predicate = and_() if where is None else parse_predicate(where, table.schema.fields)
        self._arrow_schema = spark_arrow_schema(schema)
        self._split_reader: UnitReader | None = None
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
        reader = self._split_reader or self._scan().reader()
        batches = (
            conform_batch(batch, self._arrow_schema) for split in partition.splits for batch in reader.read(split)
        )
        return even_batches(batches)

    def _scan(self) -> Scan | SystemScan:
        return self._table.scan([field.name for field in self._columns.values()], self._predicate)

    @plainly
    def __getstate__(self) -> dict[str, Any]:
        return {"_split_reader": self._scan().reader(), "_arrow_schema": self._arrow_schema}


class _PushFilters:
    """Looks like the base class's pushFilters where Spark tests for an override, and pushes when it is called."""

    def __init__(self, reader: PaimonReader) -> None:
        self.__func__ = DataSourceReader.pushFilters  # on the object: on the class it would become a bound method
        self._reader = reader

    @plainly
    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        return self._reader.push(filters)


def table_schema(table: Readable, options: ReadOptions) -> StructType:
    """The Spark schema of a read: all columns, or those of the `columns` option in its order.

    With the option `row-kinds`, `_row_kind` is the last one unless it is named among them.

    Raises:
        OptionError: a column is unknown or named twice.
    """
    fields = [find_column(table, name) for name in options.columns or table.schema.names]
    if options.row_kinds and ROW_KIND_FIELD not in fields:
        fields.append(row_kind_field(table.schema))
    repeated = sorted({f.name for f in fields if fields.count(f) > 1})
    if repeated:
        raise OptionError(f"the option '{COLUMNS}' names {', '.join(repeated)} more than once")
    return shown_schema(spark_schema(fields))


def find_column(table: Readable, name: str) -> DataField:
    """The column of that name, in any letter case as Spark finds it; the exact name wins. Every table has `_row_kind`.

    Raises:
        OptionError: no such column, or several that differ by case only.
    """
    if name in table.schema.by_name:
        return table.schema.by_name[name]
    fields = table.schema.fields if ROW_KIND in table.schema.by_name else (*table.schema.fields, ROW_KIND_FIELD)
    found = [field for field in fields if field.name.lower() == name.lower()]
    if len(found) == 1:
        return found[0]
    what = f"ambiguous: {', '.join(f.name for f in found)}" if found else "not in the table"
    raise OptionError(f"column '{name}' of {table.location} is {what}; its columns are {', '.join(table.schema.names)}")


def asked_columns(table: Readable, schema: StructType) -> Mapping[str, DataField]:
    """The table's columns behind the names of a schema that Spark asks for, in that order.

    Raises:
        OptionError: a column is not in the table.
        DataError: a column has another type in the table, or may hold NULL where the schema says it does not.
    """
    columns: dict[str, DataField] = {}
    for asked in schema.fields:
        field = find_column(table, asked.name)
        have = spark_type(field.type)
        if not can_show(have, asked.dataType):
            raise DataError(
                f"column '{asked.name}' of {table.location} is {have.simpleString()}, the schema of the read says "
                f"{asked.dataType.simpleString()}: read it as it is and cast it in the query"
            )
        if field.type.nullable and not asked.nullable:
            raise DataError(
                f"column '{asked.name}' of {table.location} may hold NULL, the schema of the read says NOT NULL: "
                f"leave NOT NULL out"
            )
        columns[asked.name] = field
    return columns


def even_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches neither tiny nor huge: each costs Spark a message, and memory while it is looked at."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        for start in range(0, batch.num_rows, MAX_BATCH_ROWS):
            held.append(batch.slice(start, MAX_BATCH_ROWS))
            rows += held[-1].num_rows
            if rows >= MIN_BATCH_ROWS:
                yield _joined(held)
                held, rows = [], 0
    if held:
        yield _joined(held)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
