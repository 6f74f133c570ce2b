"""What ``spark.read`` can read: a table or a system table, and the columns that it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from pyspark.sql.types import StructType

from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.rules.readable_columns import check_columns
from paimon_spark.format.schema import ROW_KIND, ROW_KIND_FIELD, TableSchema
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.options import COLUMNS, ReadOptions, read_options
from paimon_spark.spark.adapters.types import shown_schema, spark_schema
from paimon_spark.store.open import ReadableTable, find_system_table, open_planned, open_table
from paimon_spark.store.scan.projection import row_kind_field
from paimon_spark.store.system_tables.names import is_of_warehouse

if TYPE_CHECKING:
    from paimon_spark.arrow.predicates.expressions import Expr
    from paimon_spark.arrow.predicates.predicate import Predicate
    from paimon_spark.arrow.zones import TimeZone
    from paimon_spark.store.scan.table_scan import Scan
    from paimon_spark.store.system_tables.table import SystemScan


class Readable(Protocol):
    """A table, or a system table."""

    @property
    def location(self) -> str: ...

    @property
    def schema(self) -> TableSchema: ...

    @property
    def time_zone(self) -> TimeZone | None: ...

    def scan(
        self, columns: Sequence[str] | None = None, where: str | Expr | Predicate | None = None
    ) -> Scan | SystemScan: ...


def open_readable(options: Mapping[str, str]) -> tuple[Readable, ReadOptions]:
    """What the options of a read name, opened, and the options.

    Raises:
        OptionError: an option does not fit the path, or splits of a plan do not fit the table.
        PaimonError: nothing there can be read, as in open_table.
    """
    read = read_options(options)
    if read.splits is not None:
        return _open_planned(read, read.splits), read
    if read.native:
        raise OptionError(
            f"reading {read.path}: 'read.native' = 'true' cannot hold here, because Spark takes rows of a Python data "
            "source from Python only; use PaimonTable.forPath(spark, path).toDF(native=True), or leave the option out"
        )
    system = _find_system(read)
    if system is not None and read.row_kinds:
        raise OptionError(f"reading {read.path}: a system table has no row kinds but those that it shows")
    return system or open_table(read.path, read.table, time_zone=read.time_zone), read


def _open_planned(read: ReadOptions, splits: str) -> ReadableTable:
    from paimon_spark.spark.source.carried_splits import pinned_state

    pinned = pinned_state(splits)
    ids = (pinned.schema_id, pinned.options_schema_id)
    return open_planned(read.path, read.table, ids, pinned.branch, time_zone=read.time_zone)


def _find_system(read: ReadOptions) -> Readable | None:
    if is_of_warehouse(read.path):
        from paimon_spark.catalogs.warehouse import find_warehouse_table

        table = find_warehouse_table(read.path, read.table, time_zone=read.time_zone)
        if table is not None:
            return table
    return find_system_table(read.path, read.table, time_zone=read.time_zone)


def readable_schema(table: Readable, options: ReadOptions) -> StructType:
    """The Spark schema of a read: all columns, or those of the `columns` option in its order.

    A table with a column that this release cannot read has no such schema without that option: a column that is
    missing would not be noticed.

    With the option `row-kinds`, `_row_kind` is the last one unless it is named among them.

    Raises:
        OptionError: a column is unknown or named twice.
        UnsupportedFeature: a column has a type that this release cannot read.
    """
    fields = [find_column(table, name) for name in options.columns or table.schema.names]
    if options.row_kinds and ROW_KIND_FIELD not in fields:
        fields.append(row_kind_field(table.schema))
    repeated = sorted({f.name for f in fields if fields.count(f) > 1})
    if repeated:
        raise OptionError(f"the option '{COLUMNS}' names {', '.join(repeated)} more than once")
    check_readable_columns(table, fields)
    return shown_schema(spark_schema(fields))


def check_readable_columns(table: Readable, fields: Sequence[DataField]) -> None:
    """Checks that this release can read the columns.

    Raises:
        UnsupportedFeature: it cannot; the message names the table and lists the columns that it can read.
    """
    try:
        check_columns(table.schema, fields)
    except UnsupportedFeature as error:
        raise UnsupportedFeature(f"reading {table.location}: {error}") from None


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
