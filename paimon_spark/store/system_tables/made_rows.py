"""Reads whose rows are made here, and not by a scan of a table: from metadata, or from a listing of files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.arrow.predicates.evaluate import filter_batch
from paimon_spark.arrow.predicates.expressions import Expr, as_predicate
from paimon_spark.arrow.predicates.predicate import Predicate, columns_of
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.arrow.zones import TimeZone
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField
from paimon_spark.store.pruning.top_n import TopN
from paimon_spark.store.read.arrow_rows import ArrowRows
from paimon_spark.store.scan.read_spec import find_fields
from paimon_spark.store.scan.top_n_read import sort_first, wanted_rows
from paimon_spark.store.system_tables.request import Columns


def asked_rows(
    schema: TableSchema,
    columns: str | Sequence[str] | None,
    where: str | Expr | Predicate | None,
    zone: TimeZone | None,
) -> tuple[Predicate, tuple[DataField, ...], tuple[DataField, ...]]:
    """The condition of a read, the columns to make, and those of the result.

    Args:
        schema: of the table.
        columns: names in the order wanted, any letter case, or one text with commas between them; None means all.
        where: SQL text, an expression of ``col(...)``, or a bound Predicate.
        zone: in which times of the condition are read.

    Raises:
        OptionError: a column does not exist, or is named twice.
        PredicateError: the condition does not fit the columns.
    """
    fields = tuple(schema.fields if columns is None else find_fields(schema, columns))
    predicate = as_predicate(where, schema.fields, zone)
    return predicate, made_fields(fields, predicate, schema.by_name), fields


def made_fields(
    wanted: Sequence[DataField], predicate: Predicate, known: Mapping[str, DataField]
) -> tuple[DataField, ...]:
    """The columns to make: the wanted ones, then those that only the predicate needs."""
    return (*wanted, *(known[name] for name in sorted(columns_of(predicate) - {field.name for field in wanted})))


class SystemRows(ArrowRows):
    """A read of a system table; its totals are computed from the rows. fields: the columns of the result."""

    fields: tuple[DataField, ...]

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """What every batch has, exactly."""
        return arrow_schema(self.fields)

    def to_arrow(self) -> pa.Table:
        """All rows."""
        return pa.Table.from_batches(self.to_batches(), self.arrow_schema)

    def count(self) -> int:
        """The number of rows."""
        return sum(batch.num_rows for batch in self.to_batches())

    def min(self, column: str) -> Any:
        """The least value of a column of the result that is not NULL, as Python value; None: there is none.

        Raises:
            OptionError: the result has no such column.
            UnsupportedFeature: the values of its type have no order.
        """
        return self._outermost(column, descending=False)

    def max(self, column: str) -> Any:
        """The greatest value of a column, as ``min``; NaN is the greatest."""
        return self._outermost(column, descending=True)

    def top(self, column: str, count: int, descending: bool = False, nulls_first: bool | None = None) -> pa.Table:
        """The rows that come first in the order of a column, sorted, as ``Scan.top``.

        Args:
            column: a column of the result, in any letter case.
            count: how many rows, at least 0.
            descending: whether the greatest values come first.
            nulls_first: whether NULL comes before all values; None: as Spark, if values ascend.

        Raises:
            OptionError: the result has no such column, or count is less than 0.
            UnsupportedFeature: the values of its type have no order.
        """
        return self._first(self._wanted(column, count, descending, nulls_first))

    def _outermost(self, column: str, descending: bool) -> Any:
        wanted = self._wanted(column, 1, descending, nulls_first=False)
        values = self._first(wanted).column(wanted.column)
        return values[0].as_py() if len(values) else None

    def _wanted(self, column: str, count: int, descending: bool, nulls_first: bool | None) -> TopN:
        schema = TableSchema(0, self.fields, len(self.fields))
        return wanted_rows("a system table", schema, self.fields, column, count, descending, nulls_first)

    def _first(self, wanted: TopN) -> pa.Table:
        return sort_first(self.to_batches() if wanted.count else (), self.arrow_schema, wanted)


@dataclass(frozen=True)
class Whole:
    """The one unit of a table that is read as a whole."""


@checks_arguments
@dataclass(frozen=True)
class MetadataScan(SystemRows):
    """A read of a system table that is made from metadata; picklable.

    Attributes:
        compute: makes the columns of the system table.
        predicate: rows for which it is not true are left out.
        made: the columns to make: wanted ones, then those that only the predicate needs.
        fields: the columns of the result, in order.
    """

    compute: Callable[[], Columns]
    predicate: Predicate
    made: tuple[DataField, ...]
    fields: tuple[DataField, ...]

    def tasks(self) -> list[tuple[Whole, ...]]:
        """One task reads it all."""
        return [(Whole(),)]

    def reader(self) -> MetadataScan:
        """Itself."""
        return self

    def read(self, unit: Whole) -> Iterator[pa.RecordBatch]:
        """All rows, in one batch; none if there are none."""
        yield from self.to_batches()

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in one batch; none if there are none."""
        columns = self.compute()
        arrays = [columns[field.name] for field in self.made]
        batch = pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(self.made))
        rows = filter_batch(self.predicate, batch)
        if rows.num_rows:
            yield rows.select([field.name for field in self.fields])
