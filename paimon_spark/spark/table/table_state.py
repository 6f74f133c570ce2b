"""Where the table of a PaimonTable is, and with which options each use opens it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from pyspark.sql import SparkSession

from paimon_spark.format.options.foreign_names import ForeignNames
from paimon_spark.spark.adapters.live_session import LiveSession
from paimon_spark.spark.adapters.options import SESSION_ZONE, last_of
from paimon_spark.store.metadata.table_options import split_storage_options
from paimon_spark.store.open import OpenTable, ReadableTable, open_any_table, with_snapshots
from paimon_spark.writes.options import FAIL, FILTER, LOCAL, NATIVE, OVERWRITE_WHERE, TIME_ZONE, UNKNOWN_BATCH

_NO_OPTIONS: Mapping[str, str] = {}


class TableState(ForeignNames):
    """All the state of a PaimonTable. What reads the table, and what changes it, are methods on top."""

    _spark = LiveSession("this table", "open the table, such as PaimonTable.forPath(spark, '<path>'),")

    def __init__(self, spark: SparkSession, path: str, options: Mapping[str, str] = _NO_OPTIONS) -> None:
        """Use ``forPath``, which checks that the table is there."""
        self._spark = spark
        self._path = path
        self._options = of_table(options)
        self._of_reads = {key: last_of(options, key) for key in (TIME_ZONE, NATIVE, LOCAL)}
        self._unknown = last_of(options, UNKNOWN_BATCH) or FAIL

    def __repr__(self) -> str:
        """The path and the options, without those of the storage, which hold secrets. It reads nothing."""
        _, table = split_storage_options(self._options)
        return f"PaimonTable({self._path!r}{f', options={table!r}' if table else ''})"

    def _open(self) -> ReadableTable:
        return with_snapshots(self._open_any())

    def _open_any(self, options: Mapping[str, str] = MappingProxyType({})) -> OpenTable:
        """The table that is there now, with further options of the call."""
        return open_any_table(self._path, {**self._options, **options})

    def _open_in_session(self) -> ReadableTable:
        return self._in_zone(self._open())

    def _in_zone(self, table: ReadableTable) -> ReadableTable:
        return replace(table, time_zone=self._session_zone())

    def _session_zone(self) -> str | None:
        """The zone in which Spark itself would read a condition."""
        return self._of_reads[TIME_ZONE] or self._spark.conf.get(SESSION_ZONE)

    def _in_session(self, options: Mapping[str, str]) -> Mapping[str, str]:
        """The options with the zone in which a condition among them is read; one that is given comes first."""
        rest, zone = of_table(options), last_of(options, TIME_ZONE)
        if zone is None and any(key.lower() in (FILTER, OVERWRITE_WHERE) for key in rest):
            zone = self._session_zone()
        return rest if zone is None else {**rest, TIME_ZONE: zone}


def of_table(options: Mapping[str, str]) -> dict[str, str]:
    """The options but for those of reads or writes alone that all those of a table object share."""
    others = (TIME_ZONE, NATIVE, LOCAL, UNKNOWN_BATCH)
    return {key: value for key, value in options.items() if key.lower() not in others}
