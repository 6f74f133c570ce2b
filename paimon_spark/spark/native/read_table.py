"""Makes the DataFrame of a table: the union of what Spark reads itself and of what our reader reads, in tasks.

::

    made = read_table(spark, ReadRequest("/lake/shop.db/orders", columns=("id", "total"), where="dt = '2026-11-01'"))
    made.frame.show()
    print(made.explanation.native_files, made.explanation.reasons)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa
import pyspark.sql.types as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.options.column_names import format_columns
from paimon_spark.format.quoting import quoted
from paimon_spark.spark.adapters.char_columns import as_read, read_columns
from paimon_spark.spark.adapters.dataframes import is_connect
from paimon_spark.spark.adapters.options import PATH, SESSION_ZONE, last_of, native_choice, read_options
from paimon_spark.spark.adapters.readable_columns import narrowest_column, readable_schema
from paimon_spark.spark.adapters.session_options import sql_dialect
from paimon_spark.spark.adapters.types import nullable, shown_schema, spark_schema
from paimon_spark.spark.native.asked_partials import (
    AskedPartials,
    is_exact_mean,
    is_exact_quotient,
    largest_value,
    with_bounds,
)
from paimon_spark.spark.native.file_classifier import ClassifiedFiles
from paimon_spark.spark.native.hybrid_scan import HybridScan
from paimon_spark.spark.native.local_read import (
    SMALL_BYTES,
    is_key_lookup,
    is_row_lookup,
    is_small,
    rows_if_small,
    wants_first_keys,
)
from paimon_spark.spark.native.recorded_frame import RecordedTable, Settings, recorded_frame
from paimon_spark.spark.native.recorded_needs import Needs, Operation, needs_of
from paimon_spark.spark.native.session_settings import SessionSettings, session_settings
from paimon_spark.spark.native.table_reading import ReadExplanation, Reading, ReadRequest, TableFrame, whole_read_reason
from paimon_spark.spark.source.readable import open_readable
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.read.splits import Split
from paimon_spark.store.scan.read_spec import Plan
from paimon_spark.store.scan.table_scan import Scan
from paimon_spark.store.system_tables.made_rows import MetadataScan, Whole
from paimon_spark.store.system_tables.table import SystemTable
from paimon_spark.writes.options import COLUMNS, FILTER, NATIVE, TIME_ZONE

__all__ = ["ReadExplanation", "ReadRequest", "TableFrame", "read_found", "read_table", "read_when_needed"]

_OFF = "native reads are off"
_SOURCE = "paimon"


def read_table(spark: SparkSession, request: ReadRequest) -> TableFrame:
    """The rows of a table as a DataFrame of the state that the table has now.

    Its schema does not depend on who reads which file: names, types and comments as the data source shows them, and
    every column may be NULL, as Spark says of the columns of all its files.

    Raises:
        OptionError: an option or the condition does not fit, a column is unknown, or the request has a refusal.
        UnsupportedFeature: native is True, and a file must be read by our reader; the message names it.
        SnapshotNotFound: an option names a snapshot that does not exist, or it expires concurrently.
        CorruptFile: metadata or files are missing or damaged.
        PaimonError: there is no such table, or it cannot be read.
    """
    if request.refusal:
        raise OptionError(request.refusal)
    settings = session_settings(spark)
    native = _native_choice(request, settings)
    reading = _open_reading(request, settings.time_zone)
    reason = _OFF if native is False else whole_read_reason(reading)
    if reason is None and isinstance(reading.table, ReadableTable):
        frame, explained = _read_state(spark, reading, reading.table, settings, native)
        return _finished(frame, reading, explained)
    if isinstance(reading.table, SystemTable) and native is None:
        rows = _small_system_rows(spark, reading, reading.table, settings)
        if rows is not None:
            return _finished(rows, reading, replace(reading.explanation(), local_rows=True))
    if native:
        raise UnsupportedFeature(
            f"reading {reading.table.location} natively was asked for (native=True), but {reason}; leave native out"
        )
    explained = replace(reading.explanation(), reasons=(reason or _OFF,))
    return _finished(_read_by_source(spark, reading), reading, explained)


def read_found(
    spark: SparkSession, request: ReadRequest, find: Callable[[Scan], pa.Table], more: Sequence[st.StructField]
) -> DataFrame:
    """The rows that a search in a table finds, in their order. This process searches.

    Args:
        request: of the rows that are searched, and of their columns.
        find: searches; its rows have the columns of the scan, and more.
        more: the further columns that the DataFrame has.

    Raises:
        OptionError: as of read_table.
        UnsupportedFeature: a system table is to be searched.
        PaimonError: as of read_table, and of the search.
    """
    if request.refusal:
        raise OptionError(request.refusal)
    reading = _open_reading(request, session_settings(spark).time_zone)
    if not isinstance(reading.table, ReadableTable):
        raise UnsupportedFeature(f"searching {reading.table.location}: it is a system table; search the table itself")
    scan = reading.scan(reading.table)
    shown = st.StructType([*reading.shown.fields, *more])
    rows = find(scan).select(shown.names)
    frame = rows_if_small(spark, lambda _: iter(rows.to_batches()), [0], shown, bounded=False)
    assert frame is not None
    columns = read_columns(spark, scan.fields, reading.shown)
    return frame.select(*columns, *(sf.col(quoted(field.name)) for field in more))


def read_when_needed(spark: SparkSession, request: ReadRequest) -> DataFrame:
    """The same rows, as a DataFrame that is read when it is known which of them are needed.

    Raises:
        PaimonError: as of read_table; on Spark Connect, those of a plan come when the DataFrame is used.
    """
    table = None if request.refusal else _open_to_record(spark, request)
    if table is None:
        return read_table(spark, request).frame
    if is_connect(spark):
        return recorded_frame(table)
    made = read_table(spark, table.reading.request)
    return made.frame if made.explanation.local_rows else recorded_frame(table, made.frame)


def _open_to_record(spark: SparkSession, request: ReadRequest) -> _RecordedTable | None:
    """The table of a read, at the state that it has now; None: its read cannot be divided, or says who reads."""
    settings = session_settings(spark)
    reading = _open_reading(request, settings.time_zone)
    table = reading.table
    if not isinstance(table, ReadableTable) or whole_read_reason(reading) is not None or reading.is_count:
        return None
    if _native_choice(request, settings) is not None or table.settings.scan.read_tag_time_retained is not None:
        return None
    settled = replace(request, opened=table, state=reading.scan(table).state_now())
    return _RecordedTable(spark, replace(reading, request=settled))


class _RecordedTable(RecordedTable):
    """A table that is open, at one state."""

    def __init__(self, spark: SparkSession, reading: Reading) -> None:
        self.spark = spark
        self.reading = reading
        self.frame_type = type(spark.range(0))

    def settings(self) -> Settings:
        return self.spark.conf.get(SESSION_ZONE), sql_dialect(self.spark)

    def needs(self, operations: Sequence[Operation], settings: Settings) -> Needs:
        zone, dialect = settings
        is_of_read = zone == self.reading.options.time_zone
        return needs_of(operations, self.reading.fields, zone if is_of_read else None, dialect)

    def read(self, needs: Needs) -> DataFrame:
        columns = tuple(self.reading.shown.names) if needs.columns is None else needs.columns
        return read_table(self.spark, replace(self._request(needs.where), columns=columns, first=needs.first)).frame

    def count(self, where: str) -> int:
        counted = replace(self._request(where or None), columns=())
        reading = _open_reading(counted, self.reading.options.time_zone)
        assert isinstance(reading.table, ReadableTable)
        known = reading.scan(reading.table).metadata_aggregates()
        return read_table(self.spark, counted).frame.count() if known.rest else known.rows

    def _request(self, where: str | None) -> ReadRequest:
        parts = [part for part in (self.reading.options.where, where) if part is not None]
        return replace(self.reading.request, where=" AND ".join(f"({part}\n)" for part in parts) or None)


def _native_choice(request: ReadRequest, settings: SessionSettings) -> bool | None:
    """The call decides before its options, these before the session."""
    if request.native is not None:
        return request.native
    given = last_of(request.options, NATIVE)
    return settings.native if given is None else native_choice(given)


def _finished(frame: DataFrame, reading: Reading, explained: ReadExplanation) -> TableFrame:
    """Without columns, the DataFrame keeps its rows: Spark then counts what the scans would return."""
    return TableFrame(frame.select() if reading.is_count else frame, explained)


def _read_state(
    spark: SparkSession, reading: Reading, table: ReadableTable, settings: SessionSettings, native: bool | None
) -> tuple[DataFrame, ReadExplanation]:
    """The DataFrame of the latest state, or of the one that the options choose, and how it is read.

    Args:
        spark: the session.
        reading: what was asked for.
        table: of it.
        settings: of the session.
        native: True: our reader may read no file.

    Raises:
        UnsupportedFeature: native is True, and a file must be read by our reader.
        SnapshotNotFound: the state does not exist, or it expires concurrently.
        CorruptFile: metadata or files are missing or damaged.
    """
    scan = reading.scan(table)
    plan = scan.plan_with_read_tags()[0]
    splits = [split for split in plan.splits if isinstance(split, Split)]
    hybrid = HybridScan(spark, scan, reading.shown, settings)
    where, refusal = hybrid.condition
    reads_few = reading.request.first is not None and not native  # Spark would read the files whole
    found = hybrid.classified(splits, refusal, where, reads_few)
    if found.rest and native:
        raise _not_native(table, found)
    explained = _explained(reading, plan, found)
    is_lookup = is_key_lookup(table, scan.predicate, splits) or (reads_few and is_row_lookup(splits))
    is_local = native is None and (settings.local if reading.options.local is None else reading.options.local)
    if (found.rest and is_lookup) or (native is None and wants_first_keys(scan, splits)):
        rows = hybrid.here(splits, bounded=False)
    else:
        rows = hybrid.here(splits) if is_local and splits and is_small(splits) else None
    asked = _bounded_partials(scan, plan, reading.request.partials, found) if rows is None and splits else None
    if asked is not None:
        return _aggregated(spark, reading, table, settings, splits, asked), replace(
            explained,
            native_files=0,
            merged_splits=len(splits),
            merged_files=sum(split.file_count for split in splits),
            columns=asked.columns,
            in_part=True,
        )
    if rows is None:
        rows = hybrid.frame(found, plan.snapshot, where)
    else:
        explained = replace(explained, native_files=0, merged_splits=0, merged_files=0, local_rows=True)
    return as_read(rows, scan.fields, reading.shown), explained


def _bounded_partials(
    scan: Scan, plan: Plan, asked: AskedPartials | None, found: ClassifiedFiles
) -> AskedPartials | None:
    """What tasks make, if our reader reads most rows, and a text finishes it with the results of Spark."""
    if asked is None or 2 * sum(split.row_count for split in found.rest) < sum(s.row_count for s in plan.splits):
        return None
    if not all(is_exact_mean(scan, plan, field) and is_exact_quotient(plan, field) for field in asked.means):
        return None
    return with_bounds(asked, lambda field: largest_value(scan, plan.snapshot, field))


def _aggregated(
    spark: SparkSession,
    reading: Reading,
    table: ReadableTable,
    settings: SessionSettings,
    splits: Sequence[Split],
    asked: AskedPartials,
) -> DataFrame:
    columns = asked.columns or (narrowest_column(table).name,)
    scan = replace(table.scan(list(columns), reading.options.where), state=reading.request.state)
    shown = nullable(shown_schema(spark_schema(scan.fields)))
    return HybridScan(spark, scan, shown, settings).aggregated(splits, asked)


def _not_native(table: ReadableTable, found: ClassifiedFiles) -> UnsupportedFeature:
    path, reason = found.example or (table.location, "a file cannot be read natively")
    return UnsupportedFeature(
        f"reading {table.location} natively was asked for (native=True), but the data file {path} must be read by the "
        f"Python source: {reason}. Leave native out, so that only such files are, or compact the table"
    )


def _explained(reading: Reading, plan: Plan, found: ClassifiedFiles) -> ReadExplanation:
    reasons = (
        f"{reason} ({count} {'file' if count == 1 else 'files'})" for reason, count in found.reasons.most_common()
    )
    return replace(
        reading.explanation(),
        snapshot=plan.snapshot,
        native_files=found.native_count,
        merged_splits=len(found.rest),
        merged_files=sum(split.file_count for split in found.rest),
        reasons=tuple(reasons),
        skipped_by_index=plan.skipped_by_index,
        skipped_by_order=plan.skipped_by_order,
    )


def _small_system_rows(
    spark: SparkSession, reading: Reading, table: SystemTable, settings: SessionSettings
) -> DataFrame | None:
    """The rows of a system table, read now and by this process; None: it shows rows of the table, or is large.

    Our data source would read them in Python processes that Spark starts one after the other, for a few rows.

    Args:
        spark: the session.
        reading: what was asked for.
        table: of it.
        settings: of the session.

    Raises:
        CorruptFile: metadata are missing or damaged.
    """
    said = reading.options.local
    if not (settings.local if said is None else said):
        return None
    size = table.metadata_size()
    if size is None or size > SMALL_BYTES:
        return None
    scan = table.scan(reading.shown.names, reading.options.where)
    if not isinstance(scan, MetadataScan):
        return None
    return rows_if_small(spark, scan.read, [Whole()], reading.shown)


def _read_by_source(spark: SparkSession, reading: Reading) -> DataFrame:
    """The rows as our data source reads them, in Python processes that plan at the first query.

    The schema is given, so that Spark asks no process for it.
    """
    options = reading.source_options()
    return spark.read.format(_SOURCE).schema(reading.shown).options(**options).load(reading.options.path)


def _open_reading(request: ReadRequest, time_zone: str | None) -> Reading:
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
    schema = shown_schema(spark_schema([narrowest_column(table)])) if is_count else readable_schema(table, read)
    return Reading(request, table, read, nullable(schema), is_count)
