"""$audit_log, $binlog, $ro, $row_tracking: the rows of a table in other forms, read by a normal scan.

$row_tracking: the rows of a table with the id and the sequence number of each (format section 10).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.arrow.predicates.evaluate import filter_batch
from paimon_spark.arrow.predicates.predicate import AlwaysTrue, Predicate, restrict
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.options.read_settings import ScanSettings
from paimon_spark.format.schema import ROW_KIND, ROW_KIND_FIELD, SEQUENCE_FIELD, TRACKING_FIELDS, TableSchema
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.branched_reader import BranchedReader
from paimon_spark.store.read.split_reader import SplitReader
from paimon_spark.store.read.splits import ReadUnit, group_splits
from paimon_spark.store.scan.branched_scan import SecondBranch
from paimon_spark.store.scan.new_scan import new_scan
from paimon_spark.store.scan.read_spec import Plan, row_kind_field
from paimon_spark.store.scan.row_limits import LimitedReader
from paimon_spark.store.scan.split_plan import of_level, top_level
from paimon_spark.store.scan.table_scan import READ_THREADS, Scan
from paimon_spark.store.storage.parallel import map_parallel
from paimon_spark.store.system_tables.made_rows import SystemRows, made_fields

Numbers: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int32]]
KIND_FIELD = DataField(2**31 - 5, "rowkind", DataType(Root.VARCHAR, length=MAX_LENGTH))
_TRACKED = {replace(field, type=field.type.with_nullable(False)): field for field in TRACKING_FIELDS}
"""The columns that $row_tracking adds, and the metadata columns with their values."""


@dataclass(frozen=True)
class ShapedReader:
    """Reads splits of a table and gives their rows the shape of a system table; picklable.

    Attributes:
        reader: of the table.
        fields: the columns of the result, in order.
        predicate: over the columns of the system table; what the table itself could not decide.
        shape: all columns that are made, those of the predicate too.
        packs: whether each value is an array of one element.
    """

    reader: SplitReader | BranchedReader | LimitedReader
    fields: tuple[DataField, ...]
    predicate: Predicate
    shape: tuple[DataField, ...]
    packs: bool

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """What every batch has, exactly."""
        return arrow_schema(self.fields)

    def read(self, split: ReadUnit) -> Iterator[pa.RecordBatch]:
        """The rows of a split.

        Raises:
            CorruptFile: a data file or deletion vector is missing or damaged.
            SnapshotNotFound: a file is missing because the snapshot has expired since it was planned.
            TableChanged: a file has a newer schema, in which a wanted column was dropped or changed its type.
            UnsupportedFeature: sequence numbers are wanted for the difference of two states.
        """
        return self.shaped(self.reader.read(split))

    def shaped(self, batches: Iterator[pa.RecordBatch], pairs_updates: bool = False) -> Iterator[pa.RecordBatch]:
        """Rows of the table, in the form of the system table.

        Args:
            batches: rows of the reader, in the columns that the shape is made of.
            pairs_updates: True makes one row of an update, in a table whose values are arrays: a row of the kind -U
                and the row of the kind +U after it (Java: PackChangelogReader).
        """
        made = arrow_schema(self.shape)
        wanted = [field.name for field in self.fields]
        for batch in _whole_updates(batches) if pairs_updates and self.packs else batches:
            starts = self._starts(batch, pairs_updates)
            columns = [self._column(batch, place, field, starts) for place, field in enumerate(self.shape)]
            rows = filter_batch(self.predicate, pa.RecordBatch.from_arrays(columns, schema=made))
            if rows.num_rows:
                yield rows.select(wanted)

    def _starts(self, batch: pa.RecordBatch, pairs_updates: bool) -> Numbers:
        """The first row of each row that is made, and the number of rows."""
        each = np.arange(batch.num_rows + 1, dtype=np.int32)
        if not (pairs_updates and self.packs):
            return each
        kinds = batch.column(_kind_place(batch))
        ends = pc.equal(kinds, "+U").to_numpy(zero_copy_only=False)
        begins = pc.equal(kinds, "-U").to_numpy(zero_copy_only=False)
        joins = np.concatenate([[False], ends[1:] & begins[:-1], [False]])
        starts: Numbers = each[~joins]
        return starts

    def _column(self, batch: pa.RecordBatch, place: int, field: DataField, starts: Numbers) -> pa.Array:
        column = batch.column(place)
        if not self.packs:
            return column
        if field == SEQUENCE_FIELD:
            return column.take(pa.array(starts[:-1]))
        if field == KIND_FIELD:
            return column.take(pa.array(starts[1:] - 1))
        return pa.ListArray.from_arrays(pa.array(starts), column, type=arrow_schema([field]).field(0).type)


def _kind_place(batch: pa.RecordBatch) -> int:
    return int(batch.schema.get_field_index(ROW_KIND))


def _whole_updates(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows, in batches that do not end between the two rows of an update."""
    held: pa.RecordBatch | None = None
    for batch in batches:
        whole = batch if held is None else pa.concat_batches([held, batch])
        open_end = whole.num_rows > 0 and whole.column(_kind_place(whole))[-1].as_py() == "-U"
        held = whole.slice(whole.num_rows - 1) if open_end else None
        if whole.num_rows > open_end:
            yield whole.slice(0, whole.num_rows - open_end)
    if held is not None:
        yield held


@checks_arguments
@dataclass(frozen=True)
class RowScan(SystemRows):
    """A read of rows of a table in the shape of a system table; picklable, as parallel as a scan of the table.

    Attributes:
        scan: of the table.
        fields, predicate, shape, packs: as in ShapedReader.
        level: None, or the one level whose files are read, without merging.
    """

    scan: Scan
    fields: tuple[DataField, ...]
    predicate: Predicate
    shape: tuple[DataField, ...]
    packs: bool = False
    level: int | None = None

    def _read_of(self, plan: Plan) -> tuple[ReadUnit, ...]:
        if self.level is None:
            return plan.splits
        kept = (of_level(split, self.level) for split in plan.splits)
        return tuple(split for split in kept if split.raw_files)

    def tasks(self) -> list[tuple[ReadUnit, ...]]:
        """The splits of a fenced plan in groups for one task each.

        Raises:
            SnapshotNotFound: the chosen snapshot does not exist, or expires during the planning.
            CorruptFile: metadata is missing or damaged.
            UnsupportedFeature: this release cannot read the table.
        """
        settings = self.scan.table.settings
        target, cost = settings.scan.split_target_size, settings.scan.open_file_cost
        return group_splits(self._read_of(self.scan.plan_with_read_tags()[0]), target, cost)

    def reader(self) -> ShapedReader:
        """Reads the splits, here or on another machine."""
        return ShapedReader(self.scan.reader(), self.fields, self.predicate, self.shape, self.packs)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, split by split, as batches of arrow_schema; memory stays bounded."""
        reader = self.reader()
        with self.scan.planned_with_read_tags() as plan:
            for split in self._read_of(plan):
                yield from reader.read(split)

    def to_arrow(self) -> pa.Table:
        """All rows at once; splits are read by several threads, their order is kept."""
        reader = self.reader()
        with self.scan.planned_with_read_tags() as plan:
            parts = map_parallel(lambda split: list(reader.read(split)), self._read_of(plan), READ_THREADS)
        return pa.Table.from_batches([batch for part in parts for batch in part], self.arrow_schema)


def view_fields(name: str, table: Table) -> tuple[DataField, ...]:
    """The columns of $audit_log, $binlog, $ro or $row_tracking.

    Raises:
        OptionError: the table already has a column of the added name, does not track rows, or has no sequence numbers.
    """
    schema = table.schema
    if name == "ro":
        return schema.fields
    if name == "row_tracking":
        if not schema.tracking_fields:
            raise OptionError(f"reading {table.location}${name}: the table does not have 'row-tracking.enabled' = true")
        return (*schema.fields, *_TRACKED)
    if "rowkind" in schema.by_name:
        raise OptionError(f"reading {table.location}${name}: the table has a column 'rowkind' of its own; rename it")
    added = (KIND_FIELD, SEQUENCE_FIELD) if table.settings.scan.sequence_number_enabled else (KIND_FIELD,)
    if SEQUENCE_FIELD in added and not schema.primary_keys:
        raise OptionError(
            f"reading {table.location}${name}: its option '{ScanSettings.sequence_number_enabled.key}' is true, and "
            "only rows of tables with a primary key have sequence numbers; set it to false"
        )
    if name == "audit_log":
        return (*added, *schema.fields)
    packed = (replace(f, type=DataType(Root.ARRAY, element=f.type.with_nullable(True))) for f in schema.fields)
    return (*added, *packed)


def row_scan(name: str, table: Table, fields: Sequence[DataField], predicate: Predicate) -> RowScan:
    """A read of $audit_log, $binlog, $ro or $row_tracking.

    Args:
        name: the name of the system table.
        table: the table whose rows are read.
        fields: the wanted columns of view_fields.
        predicate: over view_fields. Its conditions on columns of the table exclude files as in a scan of the table.
    """
    schema, wanted = table.schema, tuple(fields)
    by_name = {field.name: field for field in view_fields(name, table)}
    shape = made_fields(wanted, predicate, by_name)
    pushed = AlwaysTrue() if name == "binlog" else restrict(predicate, set(schema.names))
    stored = tuple(_stored(schema, field) for field in shape)
    if name in ("audit_log", "binlog") and ROW_KIND_FIELD not in stored:
        stored = (*stored, row_kind_field(schema))  # otherwise retractions would be dropped
    scan = new_scan(table, stored, pushed)
    level = top_level(schema, table.settings) if name == "ro" else None
    if name == "ro" and isinstance(scan.second, SecondBranch):
        scan = replace(scan, second=replace(scan.second, top_only=True))
        level = None  # each branch has a highest level of its own
    elif name == "ro" and scan.second is not None:
        raise UnsupportedFeature(
            f"reading {table.location}$ro: partitions of a chain table are merged of those of two branches; read the "
            "table itself, or $ro of one of its branches"
        )
    return RowScan(scan, wanted, predicate, shape, name == "binlog", level)


def _stored(schema: TableSchema, field: DataField) -> DataField:
    if field == KIND_FIELD:
        return row_kind_field(schema)
    if not schema.primary_keys and field in _TRACKED:
        return _TRACKED[field]
    return field if field == SEQUENCE_FIELD else schema.by_name[field.name]
