"""The tables of a warehouse folder, and the database `sys` that tells of them all (features 1.6).

A warehouse holds ``<database>.db/<table>``. The four tables of `sys` are read as ``<warehouse>/sys.db/tables``,
or ``partitions``, ``all_table_options`` and ``catalog_options`` in its place, though no such folder exists.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import pyarrow as pa

from paimon_spark.arrow.predicates.expressions import Expr
from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.arrow.zones import TimeZone, session_zone
from paimon_spark.errors import TableNotFound
from paimon_spark.file_io import FileIO, absolute_location, file_io_for
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.paths import partition_path, unescape
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField
from paimon_spark.store.commit.partition_registration import is_marked_done
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.metadata.table_options import split_storage_options
from paimon_spark.store.open import find_stored_table
from paimon_spark.store.storage.publishers import KnownTable, publisher_of
from paimon_spark.store.system_tables.made_rows import MetadataScan, asked_rows
from paimon_spark.store.system_tables.names import SYS, is_of_warehouse
from paimon_spark.store.system_tables.request import Columns, Request, columns_of_rows, fields_of
from paimon_spark.store.system_tables.totals import partition_totals

_DATABASE = ".db"
_READ_THREADS = 8

FIELDS = {
    "tables": fields_of("""
        database_name STRING
        table_name STRING
        table_type STRING
        partitioned BOOLEAN
        primary_key BOOLEAN
        owner STRING
        created_at BIGINT
        created_by STRING
        updated_at BIGINT
        updated_by STRING
        record_count BIGINT
        file_size_in_bytes BIGINT
        file_count BIGINT
        last_file_creation_time BIGINT
    """),
    "partitions": fields_of("""
        database_name STRING
        table_name STRING
        partition_name STRING
        record_count BIGINT
        file_size_in_bytes BIGINT
        file_count BIGINT
        last_file_creation_time BIGINT
        done BOOLEAN
    """),
    "all_table_options": fields_of("""
        database_name STRING
        table_name STRING
        key STRING
        value STRING
    """),
    "catalog_options": fields_of("""
        key STRING NOT NULL
        value STRING NOT NULL
    """),
}


@dataclass(frozen=True)
class Warehouse:
    """A folder of databases; picklable.

    Attributes:
        location: the folder, absolute, without a slash at its end.
        options: storage options.
    """

    location: str
    file_io: FileIO
    options: Mapping[str, str]

    def tables(self) -> list[tuple[str, str, Table]]:
        """(database, name, table) of all tables, those that cannot be read too, by name."""
        publisher = publisher_of(self.options)
        known = self._listed() if publisher is None else publisher.tables()
        with ThreadPoolExecutor(_READ_THREADS) as threads:
            found = list(threads.map(lambda one: find_stored_table(one.location, self.options), known))
        return [(one.database, one.table, t) for one, t in zip(known, found, strict=True) if t is not None]

    def _listed(self) -> list[KnownTable]:
        return [
            KnownTable(database.removesuffix(_DATABASE), name, f"{self.location}/{database}/{name}")
            for database in _folders(self.file_io, self.location)
            if database.endswith(_DATABASE) and database != SYS
            for name in _folders(self.file_io, f"{self.location}/{database}")
        ]


def _folders(file_io: FileIO, path: str) -> list[str]:
    return sorted(status.name for status in file_io.list(path) if status.is_directory)


@dataclass(frozen=True)
class WarehouseTable:
    """One table of the database `sys`; picklable. name: a key of FIELDS; time_zone: as of Table."""

    warehouse: Warehouse
    name: str
    time_zone: TimeZone | None = None

    @property
    def location(self) -> str:
        """The path it is read by."""
        return f"{self.warehouse.location}/{SYS}/{self.name}"

    @property
    def hidden_fields(self) -> tuple[DataField, ...]:
        """None: its rows lie in no files."""
        return ()

    @cached_property
    def schema(self) -> TableSchema:
        """Its columns, as the schema of a table without keys."""
        fields = FIELDS[self.name]
        return TableSchema(0, fields, len(fields))

    def scan(self, columns: Sequence[str] | None = None, where: str | Expr | Predicate | None = None) -> MetadataScan:
        """A read of some columns of the rows that satisfy a condition; as SystemTable.scan."""
        return MetadataScan(self._columns, *asked_rows(self.schema, columns, where, self.time_zone))

    def _columns(self) -> Columns:
        return columns_of_rows(self.schema.fields, _ROWS[self.name](self.warehouse))


def find_warehouse_table(
    location: str, options: Mapping[str, str] | None = None, *, time_zone: TimeZone | None = None
) -> WarehouseTable | None:
    """The table of `sys` behind ``<warehouse>/sys.db/<name>``; None where no such is meant.

    Raises:
        TableNotFound: `sys` has no table of that name, or the folder holds no database.
        OptionError: there is no such time zone.
    """
    session_zone(time_zone)
    if not is_of_warehouse(location):
        return None
    folder, _, name = absolute_location(location).rpartition("/")
    root = folder.rpartition("/")[0]
    storage, _ = split_storage_options(options or {})
    table = find_stored_table(location, options)
    if table is not None:
        return None
    file_io = file_io_for(root, storage)
    if name.lower() not in FIELDS:
        raise TableNotFound(f"no table '{name}' in the database sys of {root}: its tables are {', '.join(FIELDS)}")
    if publisher_of(storage) is None and not any(folder.endswith(_DATABASE) for folder in _folders(file_io, root)):
        raise TableNotFound(f"no warehouse at {root}: it holds no folder <database>.db. Check the path")
    return WarehouseTable(Warehouse(root, file_io, storage), name.lower(), time_zone)


def _tables(warehouse: Warehouse) -> Iterator[tuple[Any, ...]]:
    """Java's file system catalog does not count rows and files either."""
    for database, name, table in warehouse.tables():
        options = table.schema.options
        yield (
            database,
            name,
            options.get(TableSettings.table_type.key, TableSettings.table_type.default),
            bool(table.schema.partition_keys),
            bool(table.schema.primary_keys),
            options.get("owner"),
            _number(options.get("createdAt")),
            options.get("createdBy"),
            _number(options.get("updatedAt")),
            options.get("updatedBy"),
            None,
            None,
            None,
            None,
        )


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _partitions(warehouse: Warehouse) -> Iterator[tuple[Any, ...]]:
    for database, name, table in warehouse.tables():
        if table.schema.partition_keys:
            for one in partition_totals(Request(table), partial(_names, table.settings)):
                count, size, files, time = one.total
                made = None if time is None else _epoch_millis(time)
                yield database, name, one.text, count, size, files, made, is_marked_done(table, one.partition)


def _names(settings: TableSettings, partitions: Sequence[bytes], fields: Sequence[DataField]) -> pa.Array:
    """``k=v/k2=v2`` with the texts of the directories, not escaped."""
    default, legacy = settings.partitions.default_name, settings.partitions.legacy_name
    types = [field.type for field in fields]
    rows = (decode_arity_row(partition, types) for partition in partitions)
    return pa.array([unescape(partition_path(row, fields, default, legacy)).rstrip("/") for row in rows], pa.string())


def _epoch_millis(wall: int) -> int:
    """The instant of a wall clock of the local time zone, both in millis."""
    seconds, millis = divmod(wall, 1000)
    return round((dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)).timestamp()) * 1000 + millis


def _all_table_options(warehouse: Warehouse) -> Iterator[tuple[Any, ...]]:
    """With the option `path`, which a catalog adds to those that are stored."""
    for database, name, table in warehouse.tables():
        for key, value in {**table.schema.options, "path": table.location}.items():
            yield database, name, key, value


def _catalog_options(warehouse: Warehouse) -> Iterator[tuple[Any, ...]]:
    yield "warehouse", warehouse.location


_ROWS: Mapping[str, Callable[[Warehouse], Iterator[tuple[Any, ...]]]] = {
    "tables": _tables,
    "partitions": _partitions,
    "all_table_options": _all_table_options,
    "catalog_options": _catalog_options,
}
