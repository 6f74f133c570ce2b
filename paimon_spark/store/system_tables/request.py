"""What is asked of a system table that shows metadata, and how its rows are put into columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from paimon_spark.arrow.predicates.predicate import TRUE, AlwaysTrue, Predicate, restrict
from paimon_spark.arrow.predicates.pruning import match_values
from paimon_spark.arrow.types import from_internal
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField
from paimon_spark.store.holds.expired import translate_missing_files
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.scan.increments import reads_increment
from paimon_spark.store.scan.time_travel import resolve_snapshot
from paimon_spark.store.storage.local_time import local_wall_millis

NANOS_OF_MILLI = 10**6
Columns: TypeAlias = Mapping[str, pa.Array]


@dataclass(frozen=True)
class Request:
    """Which rows and columns of a system table are wanted; more may be given, they are left out afterwards.

    Attributes:
        table: of which it tells.
        predicate: over the columns of the system table.
        columns: the names of those that are looked at.
    """

    table: Table
    predicate: Predicate = TRUE
    columns: frozenset[str] | None = None

    def wants(self, *names: str) -> bool:
        """True if one of the columns is looked at."""
        return self.columns is None or any(name in self.columns for name in names)

    def may_hold(self, **values: Any) -> bool:
        """True if a row with these values may satisfy the predicate."""
        known = restrict(self.predicate, set(values))
        return isinstance(known, AlwaysTrue) or match_values(known, values) is True

    def judges(self, name: str) -> bool:
        """True if the predicate says anything about a column alone."""
        return not isinstance(restrict(self.predicate, {name}), AlwaysTrue)


Rows: TypeAlias = Callable[[Request], Columns]


@dataclass(frozen=True)
class MetadataTable:
    """A system table made from metadata alone.

    Attributes:
        fields: its columns.
        rows: what makes them.
        instants: TIMESTAMP columns that ``rows`` gives as instants, in UTC; who reads them sees the local wall clock.
    """

    fields: tuple[DataField, ...]
    rows: Rows
    instants: frozenset[str] = frozenset()


def fields_of(text: str) -> tuple[DataField, ...]:
    """Columns from lines of a name and a type, such as ``bucket INT NOT NULL``."""
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line.strip()]
    return tuple(DataField(number, name, parse_type(data_type)) for number, (name, data_type) in enumerate(lines))


def columns_of_rows(fields: Sequence[DataField], rows: Iterable[Sequence[Any]]) -> Columns:
    """Rows of internal values as columns."""
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * len(fields)
    return {field.name: from_internal(column, field.type) for field, column in zip(fields, columns, strict=True)}


def local_times(instants: pa.Array) -> pa.Array:
    """Instants of a TIMESTAMP(3) column as the wall clock of the local time zone, as Java shows them."""
    millis = instants.cast(pa.int64()).to_pylist()
    walls = [None if value is None else local_wall_millis(value) for value in millis]
    return pa.array(walls, pa.int64()).cast(instants.type)


@contextmanager
def shown_state(table: Table) -> Iterator[Snapshot | None]:
    """What shown_snapshot gives, to be read within.

    Raises:
        SnapshotNotFound: it expires meanwhile.
    """
    snapshot = shown_snapshot(table)
    with translate_missing_files(table.snapshots, table.options, None if snapshot is None else snapshot.id):
        yield snapshot


def shown_snapshot(table: Table) -> Snapshot | None:
    """The snapshot that the scan options choose, else the latest one; None for a table nobody has written to."""
    if reads_increment(table.options):
        return table.snapshots.latest()
    return resolve_snapshot(table.options, table.snapshots).snapshot
