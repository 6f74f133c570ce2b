"""A read that is asked for, and opened: the table, its options and the schema that the DataFrame shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import types as st

from paimon_spark.format.schema import ROW_KIND_FIELD
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.options import FILTER, PUSH_FILTERS, TIME_ZONE, ReadOptions
from paimon_spark.spark.adapters.readable_columns import find_column
from paimon_spark.spark.native.requests import ReadExplanation, ReadRequest
from paimon_spark.store.metadata.table_options import other_branch
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.read.lenient_read import STRICT, tolerance
from paimon_spark.store.scan.increments import reads_increment
from paimon_spark.store.scan.split_plan import merges_postponed
from paimon_spark.store.scan.table_scan import Scan

if TYPE_CHECKING:
    from paimon_spark.spark.adapters.readable_columns import Readable


@dataclass(frozen=True)
class Reading:
    """A read whose table is open.

    Attributes:
        request: what is asked for.
        table: what is read: a table or a system table.
        options: of the request, with its columns and its condition.
        shown: the schema of the DataFrame; every column may be NULL, as Spark says of the columns of all its files.
        is_count: True if no columns are wanted; shown then has the one that is read fastest.
    """

    request: ReadRequest
    table: Readable
    options: ReadOptions
    shown: st.StructType
    is_count: bool

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The columns that are read, as the table has them."""
        return tuple(find_column(self.table, field.name) for field in self.shown.fields)

    def scan(self, table: ReadableTable) -> Scan:
        """The read of the table of this read by our own engine."""
        scan = table.scan(self.shown.names, self.options.where)
        return scan if self.request.first is None else scan.with_top_n(self.request.first)

    def explanation(self) -> ReadExplanation:
        """What is known of the read before it is planned."""
        return ReadExplanation(
            location=self.table.location,
            snapshot=None,
            native_files=0,
            merged_splits=0,
            merged_files=0,
            columns=() if self.is_count else tuple(self.shown.names),
            where=self.options.where,
            local_rows=False,
            reasons=(),
        )

    def source_options(self) -> dict[str, str]:
        """The options with which our data source does the same read, but for the columns."""
        found = {**self.options.table}
        if self.options.where is not None:
            found[FILTER] = self.options.where
        if self.options.time_zone is not None:
            found[TIME_ZONE] = self.options.time_zone
        if self.options.push_filters:
            found[PUSH_FILTERS] = "true"
        return found


def whole_read_reason(reading: Reading) -> str | None:
    """Why the read cannot be divided into a native part and a rest, in words; None: it can."""
    table, options = reading.table, reading.options
    if not isinstance(table, ReadableTable):
        return "it is a system table"
    if options.row_kinds or ROW_KIND_FIELD.name in set(reading.shown.names) - set(table.schema.names):
        return "row kinds were asked for"
    if options.push_filters:
        return f"'{PUSH_FILTERS}' lets Spark push filters into the Python source"
    if reads_increment(table.settings):
        return "it is a read of a change"
    if other_branch(table.settings, table.branch) is not None:
        return "it reads two branches as one"
    if tolerance(table.settings) != STRICT:
        return "it passes over lost or damaged files"
    if merges_postponed(table.settings):
        return "it merges postponed rows"
    return None
