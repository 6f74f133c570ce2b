"""A request for rows of a metadata system table, and helpers that make columns of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.predicates.predicate import TRUE, AlwaysTrue, Predicate, restrict
from paimon_spark.arrow.predicates.pruning import may_hold
from paimon_spark.arrow.types import from_internal
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField
from paimon_spark.store.holds.expired import translate_missing_files
from paimon_spark.store.metadata.live_files import Indices
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.scan.increments import reads_increment
from paimon_spark.store.scan.time_travel import resolve_snapshot
from paimon_spark.store.storage.local_time import local_wall_millis

NANOS_OF_MILLI = 10**6
Columns: TypeAlias = Mapping[str, pa.Array]
Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True)
class Request:
    """The wanted rows and columns of a system table. More may be returned; they are removed afterwards.

    Attributes:
        table: the table whose metadata are shown.
        predicate: over the columns of the system table.
        columns: the names of the columns in the result or the predicate.
    """

    table: Table
    predicate: Predicate = TRUE
    columns: frozenset[str] | None = None

    def wants(self, *names: str) -> bool:
        """True if one of the columns is needed."""
        return self.columns is None or any(name in self.columns for name in names)

    def may_hold(self, **values: Any) -> bool:
        """True if a row with these values may satisfy the predicate."""
        return may_hold(self.predicate, values)

    def judges(self, name: str) -> bool:
        """True if the predicate has a condition on this column alone."""
        return not isinstance(restrict(self.predicate, {name}), AlwaysTrue)


Rows: TypeAlias = Callable[[Request], Columns]


@dataclass(frozen=True)
class MetadataTable:
    """A system table made from metadata alone.

    Attributes:
        fields: the columns of the system table.
        rows: the function that computes them.
        instants: TIMESTAMP columns that ``rows`` returns as instants, in UTC; they are shown as local wall clock times.
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
    """A context with the result of shown_snapshot; read its metadata within.

    Raises:
        SnapshotNotFound: the snapshot expires within the context.
    """
    snapshot = shown_snapshot(table)
    with translate_missing_files(table, None if snapshot is None else snapshot.id):
        yield snapshot


def shown_snapshot(table: Table) -> Snapshot | None:
    """The snapshot that the scan options choose, else the latest one; None for a table without snapshots."""
    if reads_increment(table.settings):
        return table.snapshots.latest()
    return resolve_snapshot(table.settings, table.snapshots).snapshot


def by_group(group: Indices, make: Callable[[int, Indices], pa.Array]) -> pa.Array:
    """Texts computed group by group; make gets the number of a group and the numbers of its rows."""
    numbers = np.unique(group).tolist()
    parts = [np.flatnonzero(group == number) for number in numbers]
    return in_order([make(number, part) for number, part in zip(numbers, parts, strict=True)], parts)


def either(mask: Mask, then: Callable[[Indices], pa.Array], otherwise: Callable[[Indices], pa.Array]) -> pa.Array:
    """Texts computed by then for the rows of the mask and by otherwise for the others; both get numbers of rows."""
    makes = ((then, np.flatnonzero(mask)), (otherwise, np.flatnonzero(~mask)))
    used = [(make, part) for make, part in makes if len(part)]
    return in_order([make(part) for make, part in used], [part for _, part in used])


def in_order(made: Sequence[pa.Array], parts: Sequence[Indices]) -> pa.Array:
    """The texts of parts of the rows in the order of the rows."""
    if not made:
        return pa.nulls(0, pa.string())
    if len(made) == 1:
        return made[0]
    return pa.concat_arrays(made).take(pa.array(np.argsort(np.concatenate(parts))))
