"""The columns of what Spark reads: which there are, and which of them Spark asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from pyspark.sql.types import StructType

from paimon_spark.errors import DataError, OptionError, UnsupportedFeature
from paimon_spark.format.rules.supported import check_columns
from paimon_spark.format.schema import ROW_KIND, ROW_KIND_FIELD, TableSchema
from paimon_spark.format.types import DataField, Root
from paimon_spark.spark.adapters.options import ReadOptions
from paimon_spark.spark.adapters.types import can_show, shown_schema, spark_schema, spark_type
from paimon_spark.store.scan.read_spec import row_kind_field
from paimon_spark.writes.options import COLUMNS

if TYPE_CHECKING:
    from paimon_spark.arrow.predicates.expressions import Expr
    from paimon_spark.arrow.predicates.predicate import Predicate
    from paimon_spark.arrow.zones import TimeZone
    from paimon_spark.store.scan.table_scan import Scan
    from paimon_spark.store.system_tables.table import SystemScan

_NARROWEST = (Root.BOOLEAN, Root.TINYINT, Root.SMALLINT, Root.INT, Root.DATE, Root.BIGINT, Root.FLOAT, Root.DOUBLE)


class Readable(Protocol):
    """A table, or a system table."""

    @property
    def location(self) -> str: ...

    @property
    def schema(self) -> TableSchema: ...

    @property
    def hidden_fields(self) -> tuple[DataField, ...]: ...

    @property
    def time_zone(self) -> TimeZone | None: ...

    def scan(
        self, columns: Sequence[str] | None = None, where: str | Expr | Predicate | None = None
    ) -> Scan | SystemScan: ...


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
    found = [field for field in (*fields, *table.hidden_fields) if field.name.lower() == name.lower()]
    if len(found) == 1:
        return found[0]
    what = f"ambiguous: {', '.join(f.name for f in found)}" if found else "not in the table"
    raise OptionError(f"column '{name}' of {table.location} is {what}; its columns are {', '.join(table.schema.names)}")


def asked_columns(table: Readable, schema: StructType) -> Mapping[str, DataField]:
    """The table's columns behind the names of a schema that Spark asks for, in that order.

    Raises:
        OptionError: a column is not in the table.
        DataError: a column has another type in the table, or may hold NULL where the schema says it does not.
        UnsupportedFeature: a column has a type that this release cannot read.
    """
    columns: dict[str, DataField] = {}
    for asked in schema.fields:
        field = find_column(table, asked.name)
        check_readable_columns(table, (field,))
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


def narrowest_column(table: Readable) -> DataField:
    """The column that costs least to read: of a key, for merges read it anyway."""
    candidates = [f for f in table.schema.fields if f.name in table.schema.primary_keys] or table.schema.fields
    order = {root: number for number, root in enumerate(_NARROWEST)}
    return min(candidates, key=lambda field: order.get(field.type.root, len(order)))
