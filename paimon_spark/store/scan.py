"""One read of a table: which columns, which rows, of which snapshot (Java: ReadBuilder)."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from paimon_spark.arrow.predicate import AlwaysFalse, AlwaysTrue, Predicate
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import OptionError
from paimon_spark.file_io import FileIO
from paimon_spark.spec import options as o
from paimon_spark.spec.options import Options
from paimon_spark.spec.schema import ROW_KIND, ROW_KIND_FIELD, TableSchema
from paimon_spark.spec.snapshot import Snapshot
from paimon_spark.spec.types import DataField
from paimon_spark.store.change_plan import plan_change
from paimon_spark.store.increments import Difference, find_increment, reads_increment
from paimon_spark.store.plan import ScanRequest, plan_splits
from paimon_spark.store.read import SplitReader
from paimon_spark.store.schemas import SchemaStore
from paimon_spark.store.snapshots import SnapshotStore
from paimon_spark.store.splits import ReadUnit, group_splits
from paimon_spark.store.time_travel import resolve_snapshot

READ_THREADS = 4


@dataclass(frozen=True)
class Plan:
    """What a scan will read. snapshot is None for a table that nobody has written to, and for an empty increment."""

    snapshot: Snapshot | None
    splits: tuple[ReadUnit, ...]


@dataclass(frozen=True)
class Scan:
    """Chosen columns of the rows that satisfy a predicate; picklable. Every plan() looks for the newest state.

    Attributes:
        schema: of the table as it is read.
        options: stored ones with dynamic ones on top.
        fields: the columns of the result, in order. ROW_KIND_FIELD among them keeps rows that retract.
        predicate: over the columns of schema; rows for which it is not true are left out.
    """

    file_io: FileIO
    location: str
    branch: str
    schema: TableSchema
    options: Options
    fields: tuple[DataField, ...]
    predicate: Predicate

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """What every batch has, exactly."""
        return arrow_schema(self.fields)

    @cached_property
    def _schemas(self) -> SchemaStore:
        return SchemaStore(self.file_io, self.location, self.branch)

    def plan(self) -> Plan:
        """The snapshot that the options choose, and the splits that hold its rows.

        Raises:
            SnapshotNotFound: an option names a snapshot, tag or time that is not there.
            CorruptFile: metadata is missing or damaged.
        """
        snapshots = SnapshotStore(self.file_io, self.location, self.branch)
        if reads_increment(self.options):
            return self._plan_change(snapshots)
        travel = resolve_snapshot(self.options, snapshots)
        if travel.snapshot is None or isinstance(self.predicate, AlwaysFalse):
            return Plan(travel.snapshot, ())
        return Plan(travel.snapshot, plan_splits(self._request(travel.created_since), travel.snapshot))

    def _plan_change(self, snapshots: SnapshotStore) -> Plan:
        change = find_increment(self.options, snapshots)
        if change is None:
            return Plan(None, ())
        newest = change.after if isinstance(change, Difference) else next(reversed(change.snapshots), None)
        if newest is None or isinstance(self.predicate, AlwaysFalse):
            return Plan(newest, ())
        return Plan(newest, plan_change(self._request(), change))

    def _request(self, created_since: int | None = None) -> ScanRequest:
        return ScanRequest(
            self.file_io, self.location, self.schema, self.options, self._schemas, self.predicate, created_since
        )

    def tasks(self) -> list[tuple[ReadUnit, ...]]:
        """The splits of a plan in groups of about `source.split.target-size`, for one task each. Errors as in plan."""
        target = self.options.value(o.SOURCE_SPLIT_TARGET_SIZE)
        return group_splits(self.plan().splits, target, self.options.value(o.SOURCE_SPLIT_OPEN_FILE_COST))

    def reader(self) -> SplitReader:
        """Reads the splits of a plan, here or on another machine."""
        return SplitReader(self.file_io, self._schemas, self.schema, self.options, self.fields, self.predicate)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, split by split, as batches of arrow_schema; memory stays bounded."""
        reader = self.reader()
        for split in self.plan().splits:
            yield from reader.read(split)

    def to_arrow(self) -> pa.Table:
        """All rows at once; splits are read by several threads, their order is kept."""
        reader = self.reader()
        splits = self.plan().splits
        if len(splits) <= 1:
            batches = [batch for split in splits for batch in reader.read(split)]
        else:
            with ThreadPoolExecutor(min(READ_THREADS, len(splits))) as threads:
                parts = threads.map(lambda split: list(reader.read(split)), splits)
                batches = [batch for part in parts for batch in part]
        if not self.fields:
            return _rows_without_columns(sum(batch.num_rows for batch in batches))
        return pa.Table.from_batches(batches, self.arrow_schema)

    def count(self) -> int:
        """The number of rows; from metadata alone where no condition, merge or unknown delete stands in between."""
        splits = self.plan().splits
        known = [split.exact_row_count if isinstance(self.predicate, AlwaysTrue) else None for split in splits]
        total = sum(count for count in known if count is not None)
        reader = replace(self, fields=tuple(f for f in self.fields if f == ROW_KIND_FIELD)).reader()
        for split, count in zip(splits, known, strict=True):
            if count is None:
                total += sum(batch.num_rows for batch in reader.read(split))
        return total


def _rows_without_columns(count: int) -> pa.Table:
    return pa.table({"": pa.nulls(count)}).select([])


def row_kind_field(schema: TableSchema) -> DataField:
    """The column that says what each row does.

    Raises:
        OptionError: the table has a column of that name.
    """
    if ROW_KIND in schema.by_name:
        raise OptionError(
            f"row kinds were asked for in a column '{ROW_KIND}', but the table has a column of that name; rename that "
            f"to read row kinds"
        )
    return ROW_KIND_FIELD


def find_fields(schema: TableSchema, columns: Sequence[str]) -> tuple[DataField, ...]:
    """The fields of the columns, found by exact name, else in any letter case; ``_row_kind`` is one of every table.

    Raises:
        OptionError: a column is not there, named twice, or its letter case fits several.
    """
    by_lower: dict[str, list[DataField]] = {}
    for field in (*schema.fields, *(() if ROW_KIND in schema.by_name else (ROW_KIND_FIELD,))):
        by_lower.setdefault(field.name.lower(), []).append(field)
    fields: list[DataField] = []
    for name in columns:
        exact = schema.by_name.get(name)
        found = [exact] if exact is not None else by_lower.get(name.lower(), [])
        if len(found) > 1:
            raise OptionError(f"the column '{name}' fits {', '.join(f.name for f in found)}: write its exact name")
        if not found:
            near = difflib.get_close_matches(name, schema.names, n=1)
            hint = f", did you mean '{near[0]}'?" if near else ""
            raise OptionError(f"no column '{name}'{hint}; the columns are {', '.join(schema.names)}")
        if found[0] in fields:
            raise OptionError(f"the column '{found[0].name}' is named twice among the columns to read")
        fields.append(found[0])
    return tuple(fields)
