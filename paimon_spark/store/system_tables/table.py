"""System tables: their columns, and reads of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.predicates.expressions import Expr
from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.arrow.zones import TimeZone
from paimon_spark.errors import TableNotFound
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField, Root
from paimon_spark.store.metadata.manifest_files import read_manifest_list
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.scan.row_limits import check_unlimited
from paimon_spark.store.scan.split_plan import data_lists
from paimon_spark.store.system_tables import definition, files, history, metadata, totals
from paimon_spark.store.system_tables.made_rows import MetadataScan, asked_rows
from paimon_spark.store.system_tables.names import NAMES, near_names
from paimon_spark.store.system_tables.request import Columns, MetadataTable, Request, local_times

if TYPE_CHECKING:
    from paimon_spark.store.system_tables.rows import RowScan

METADATA_TABLES: dict[str, MetadataTable] = {
    **history.TABLES,
    **definition.TABLES,
    **files.TABLES,
    **totals.TABLES,
    **metadata.TABLES,
}
_OPENS_DATA_FILES = frozenset({"file_indexes"})
_TELLS_VALUES = frozenset(
    {
        "buckets", "file_indexes", "file_key_ranges", "files", "manifests", "partitions", "statistics", "table_indexes",
    }
)  # fmt: skip
"""They show bounds and counts of values, or values of partition columns: also of rows that a user must not see."""
_SNAPSHOT_BYTES = 2_000  # of its file


class UnitReader(Protocol):
    """Reads units of a scan, here or on another machine; picklable."""

    def read(self, unit: Any, /) -> Iterator[pa.RecordBatch]: ...


class SystemScan(Protocol):
    """A read of a system table; picklable. Every call reads the newest state."""

    @property
    def arrow_schema(self) -> pa.Schema: ...

    def tasks(self) -> Sequence[tuple[Any, ...]]:
        """The units to read, in groups for one task each."""
        ...

    def reader(self) -> UnitReader: ...

    def to_batches(self) -> Iterator[pa.RecordBatch]: ...

    def to_arrow(self) -> pa.Table: ...


@dataclass(frozen=True)
class SystemTable:
    """A system table of a table; picklable.

    Attributes:
        table: the table whose metadata or rows are shown.
        name: one of NAMES.
        shows_instants: True: times that are instants (``commit_time``, ...) are TIMESTAMP_LTZ. False: they are local
            wall clock times, as in Java.
    """

    table: Table
    name: str
    shows_instants: bool = False

    @property
    def location(self) -> str:
        """The path to read it by."""
        branch = "" if self.table.branch == "main" else f"$branch_{self.table.branch}"
        return f"{self.table.location}{branch}${self.name}"

    @property
    def hidden_fields(self) -> tuple[DataField, ...]:
        """None: system tables have no metadata columns."""
        return ()

    @property
    def time_zone(self) -> TimeZone | None:
        """That of the table."""
        return self.table.time_zone

    @cached_property
    def schema(self) -> TableSchema:
        """Its columns, as the schema of a table without keys."""
        known = METADATA_TABLES.get(self.name)
        fields = _view_fields(self.name, self.table) if known is None else known.fields
        if known is not None and self.shows_instants:
            fields = tuple(_as_instant(field) if field.name in known.instants else field for field in fields)
        return TableSchema(0, fields, len(fields))

    def metadata_size(self) -> int | None:
        """About how many bytes of metadata files a read has to look at; None: that is not known, or rows are read.

        Raises:
            CorruptFile: a manifest list is missing or damaged.
        """
        if self.name not in METADATA_TABLES or self.name in _OPENS_DATA_FILES:
            return None
        latest = self.table.snapshots.latest()
        if latest is None:
            return 0
        size = len(self.table.snapshots.ids()) * _SNAPSHOT_BYTES
        for name, length in data_lists(latest):
            manifests = read_manifest_list(self.table.file_io, self.table.location, name, length)
            size += sum(meta.file_size for meta in manifests)
        return size

    def scan(
        self,
        columns: str | Sequence[str] | None = None,
        where: str | Expr | Predicate | None = None,
    ) -> MetadataScan | RowScan:
        """A read of some columns of the rows that satisfy a condition.

        Conditions on partition, bucket, level, snapshot, schema, tag and branch exclude files from the read.

        Args:
            columns: names in the order wanted, any letter case; None means all.
            where: SQL text, an expression of ``col(...)``, or a bound Predicate.

        Raises:
            OptionError: a column does not exist, or is named twice.
            PredicateError: the condition does not fit the columns.
            UnsupportedFeature: it tells of values, and a server shows the user a part of them only.
        """
        if self.name in _TELLS_VALUES:
            check_unlimited(self.table, f"reading ${self.name}")
        predicate, made, fields = asked_rows(self.schema, columns, where, self.time_zone)
        known = METADATA_TABLES.get(self.name)
        if known is None:
            from paimon_spark.store.system_tables.rows import row_scan

            return row_scan(self.name, self.table, fields, predicate)
        request = Request(self.table, predicate, frozenset(field.name for field in made))
        return MetadataScan(partial(_columns, known, request, self.shows_instants), predicate, made, fields)


def _view_fields(name: str, table: Table) -> tuple[DataField, ...]:
    from paimon_spark.store.system_tables.rows import view_fields

    return view_fields(name, table)


def _as_instant(field: DataField) -> DataField:
    return replace(field, type=replace(field.type, root=Root.TIMESTAMP_LTZ))


def _columns(table: MetadataTable, request: Request, shows_instants: bool) -> Columns:
    with request.table.still_there():
        columns = dict(table.rows(request))
    for name in table.instants & columns.keys():
        instants = columns[name]
        columns[name] = pc.assume_timezone(instants, "UTC") if shows_instants else local_times(instants)
    return columns


def system_table(table: Table, name: str) -> SystemTable:
    """The system table of that name, in any letter case.

    Raises:
        TableNotFound: no system table has the name; the message lists the names.
    """
    if name.lower() not in NAMES:
        raise TableNotFound(f"no system table ${name} of {table.location}: {near_names(name)}")
    return SystemTable(table, name.lower())
