"""Reads the units of a stream; picklable, for tasks on other machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.predicates.predicate import TRUE, Predicate
from paimon_spark.format.schema import ROW_KIND, ROW_KIND_FIELD
from paimon_spark.format.types import DataField
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.split_reader import SplitReader
from paimon_spark.store.read.splits import ReadUnit
from paimon_spark.store.scan.new_scan import stream_scan
from paimon_spark.store.scan.row_limits import with_limits
from paimon_spark.store.scan.table_scan import Scan
from paimon_spark.store.stream_source.units import Kinds, StreamUnit
from paimon_spark.store.system_tables.rows import ShapedReader, row_scan

_TAKES_BACK = pa.array(["-U", "-D"])


@dataclass(frozen=True)
class LimitedUnits:
    """Reads units of a table whose server lets users see a part; the server is asked for each unit. Picklable.

    Attributes:
        scan: the read as it was asked for.
    """

    scan: Scan

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The columns of the result."""
        return self.scan.fields

    @property
    def predicate(self) -> Predicate:
        """Of which files are planned: all, because a mask may be what a condition looks at, and masks may change."""
        return TRUE

    @property
    def row_kinds(self) -> bool:
        """True if the result has the row kind of each row."""
        return ROW_KIND_FIELD in self.scan.fields

    @property
    def arrow_schema(self) -> pa.Schema:
        """What every batch has, exactly."""
        return self.scan.arrow_schema

    def read(self, unit: ReadUnit) -> Iterator[pa.RecordBatch]:
        """The rows of a unit that may be read now.

        Raises:
            AccessDenied: a column must not be read any more.
            PaimonError: as of UnitReader.read.
        """
        return with_limits(self.scan).reader().read(unit)


@dataclass(frozen=True)
class UnitReader:
    """Reads units into batches of the wanted columns.

    Attributes:
        reader: of the table.
        shape: gives the rows the form of a system table; None: they are wanted as they are.
    """

    reader: SplitReader | LimitedUnits
    shape: ShapedReader | None = None

    @property
    def arrow_schema(self) -> pa.Schema:
        """What every batch has, exactly."""
        return self.reader.arrow_schema if self.shape is None else self.shape.arrow_schema

    def read(self, unit: StreamUnit) -> Iterator[pa.RecordBatch]:
        """The rows of a unit, those of one key in the order of their changes.

        Raises:
            CorruptFile: a data file or deletion vector is missing or damaged.
            SnapshotNotFound: a file is missing because the snapshot has expired since it was planned.
            TableChanged: a file has a newer schema, in which a wanted column was dropped or changed its type.
        """
        batches = self._rows(unit)
        if self.shape is None:
            return batches
        return self.shape.shaped(batches, pairs_updates=unit.kinds is Kinds.CHANGED)

    def _rows(self, unit: StreamUnit) -> Iterator[pa.RecordBatch]:
        """The system tables show a state as in Java, with the deletions that it has of keys that are not there."""
        rows = self.reader.read(unit.split)
        if unit.kinds is Kinds.CHANGED or not self.reader.row_kinds:
            return rows
        if unit.kinds is Kinds.STATE and self.shape is not None:
            return rows
        present = _present(rows)
        return map(_taken_back, present) if unit.kinds is Kinds.TAKEN_BACK else present


def unit_reader(table: Table, fields: Sequence[DataField], predicate: Predicate, system: str | None) -> UnitReader:
    """The reader of the units of a stream.

    Args:
        table: the table.
        fields: the wanted columns of the table, or of the system table; ROW_KIND_FIELD may be among them.
        predicate: over the same columns; rows for which it is not true are left out.
        system: "audit_log" or "binlog"; None: the rows of the table.

    Raises:
        UnsupportedFeature: this release cannot read one of the fields.
        OptionError: the table has a column of a name that the system table adds.
    """
    if system is None:
        return UnitReader(_units(stream_scan(table, fields, predicate)))
    shown = row_scan(system, table, fields, predicate)
    assert shown.scan.second is None, "a stream reads one branch"
    return UnitReader(_units(shown.scan), shown.reader())


def _units(scan: Scan) -> SplitReader | LimitedUnits:
    return scan.split_reader() if scan.limits is None else LimitedUnits(scan)


def _present(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of a state, without those that only take others back."""
    for batch in batches:
        kept = batch.filter(pc.invert(pc.is_in(batch.column(_place(batch)), _TAKES_BACK)))
        if kept.num_rows:
            yield kept


def _taken_back(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of a state as rows that are no more (Java: ReverseReader)."""
    place = _place(batch)
    field = batch.schema.field(place)
    return batch.set_column(place, field, pa.repeat(pa.scalar("-D", field.type), batch.num_rows))


def _place(batch: pa.RecordBatch) -> int:
    return int(batch.schema.get_field_index(ROW_KIND))
