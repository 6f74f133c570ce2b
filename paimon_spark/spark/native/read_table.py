"""Makes the DataFrame of a table: the union of what Spark reads itself and of what our data source reads.

::

    made = read_table(spark, ReadRequest("/lake/shop.db/orders", columns=("id", "total"), where="dt = '2026-11-01'"))
    made.frame.show()
    print(made.told.native_files, made.told.reasons)
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.spark.adapters.options import NATIVE, native_choice
from paimon_spark.spark.native.divided_read import DividedRead
from paimon_spark.spark.native.open_reading import open_reading
from paimon_spark.spark.native.requests import ReadExplanation, ReadRequest, TableFrame
from paimon_spark.spark.native.session_settings import SessionSettings, session_settings
from paimon_spark.spark.native.source_read import read_by_source
from paimon_spark.spark.native.system_rows import small_system_rows
from paimon_spark.spark.native.table_reading import Reading, whole_read_reason
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.system_tables.table import SystemTable

__all__ = ["ReadExplanation", "ReadRequest", "TableFrame", "read_table"]

_OFF = "native reads are off"


def read_table(spark: SparkSession, request: ReadRequest) -> TableFrame:
    """The rows of a table as a DataFrame of the state that the table has now.

    Its schema does not depend on who reads which file: names, types and comments as the data source shows them, and
    every column may be NULL, as Spark says of the columns of all its files.

    Raises:
        OptionError: an option or the condition does not fit, or a column is unknown.
        UnsupportedFeature: native is True, and a file must be read by our data source; the message names it.
        SnapshotNotFound: an option names a snapshot that does not exist, or it expires concurrently.
        CorruptFile: metadata or files are missing or damaged.
        PaimonError: there is no such table, or it cannot be read.
    """
    settings = session_settings(spark)
    native = _native_choice(request, settings)
    reading = open_reading(request, settings.time_zone)
    reason = _OFF if native is False else whole_read_reason(reading)
    if reason is None and isinstance(reading.table, ReadableTable):
        frame, told = DividedRead(spark, reading, reading.table, settings, native).frame()
        return _finished(frame, reading, told)
    if isinstance(reading.table, SystemTable) and native is None:
        rows = small_system_rows(spark, reading, reading.table, settings)
        if rows is not None:
            return _finished(rows, reading, replace(reading.explanation(), local_rows=True))
    if native:
        raise UnsupportedFeature(
            f"reading {reading.table.location} natively was asked for (native=True), but {reason}; leave native out"
        )
    told = replace(reading.explanation(), reasons=(reason or _OFF,))
    return _finished(read_by_source(spark, reading), reading, told)


def _native_choice(request: ReadRequest, settings: SessionSettings) -> bool | None:
    """The call decides before its options, these before the session."""
    if request.native is not None:
        return request.native
    given = [value for key, value in request.options.items() if key.lower() == NATIVE]
    return native_choice(given[-1]) if given else settings.native


def _finished(frame: DataFrame, reading: Reading, told: ReadExplanation) -> TableFrame:
    """Without columns, the DataFrame keeps its rows: Spark then counts what the scans would return."""
    return TableFrame(frame.select() if reading.is_count else frame, told)
