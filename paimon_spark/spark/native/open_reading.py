"""Opens what a read is asked of, and chooses the columns that it shows."""

from __future__ import annotations

from paimon_spark.format.options.column_names import format_columns
from paimon_spark.format.types import DataField, Root
from paimon_spark.spark.adapters.options import COLUMNS, FILTER, NATIVE, PATH, TIME_ZONE, read_options
from paimon_spark.spark.adapters.readable_columns import Readable, readable_schema
from paimon_spark.spark.adapters.types import nullable, shown_schema, spark_schema
from paimon_spark.spark.native.requests import ReadRequest
from paimon_spark.spark.native.table_reading import Reading
from paimon_spark.spark.source.readable import open_readable

_NARROWEST = (Root.BOOLEAN, Root.TINYINT, Root.SMALLINT, Root.INT, Root.DATE, Root.BIGINT, Root.FLOAT, Root.DOUBLE)


def open_reading(request: ReadRequest, time_zone: str | None) -> Reading:
    """Opens what is to be read.

    Args:
        request: what is asked for. Without columns or a condition, those of the options `columns` and `filter` hold.
        time_zone: of the condition, unless the options name one.

    Raises:
        OptionError: an option does not fit, or a column is unknown or named twice.
        UnsupportedFeature: a column has a type that this release cannot read.
        PaimonError: nothing there can be read, as in open_table.
    """
    given = {key: value for key, value in request.options.items() if key.lower() != NATIVE}
    given[PATH] = request.path
    if request.columns:
        given[COLUMNS] = format_columns(request.columns)
    if request.where is not None:
        given[FILTER] = request.where
    if time_zone is not None and not any(key.lower() == TIME_ZONE for key in given):
        given[TIME_ZONE] = time_zone
    table, read = open_readable(given) if request.opened is None else (request.opened, read_options(given))
    is_count = request.columns == ()
    schema = shown_schema(spark_schema([_narrowest(table)])) if is_count else readable_schema(table, read)
    return Reading(table, read, nullable(schema), is_count, request.first)


def _narrowest(table: Readable) -> DataField:
    """The column that costs least to read: of a key, for merges read it anyway."""
    candidates = [f for f in table.schema.fields if f.name in table.schema.primary_keys] or table.schema.fields
    order = {root: number for number, root in enumerate(_NARROWEST)}
    return min(candidates, key=lambda field: order.get(field.type.root, len(order)))
