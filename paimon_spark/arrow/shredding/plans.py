"""Which shapes the VARIANT columns of a data file get: those that an option gives, or what their first rows show.

Java: VariantShreddingWritePlanFactory. An option gives shapes to columns of the table; an inference also finds columns
within ROW. Those within arrays and maps are whole in every file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from paimon_spark.arrow.conform import struct_of
from paimon_spark.arrow.shredding.inference import (
    AdaptiveShape,
    ColumnSeen,
    InferenceRules,
    Room,
    all_seen,
    combined,
    limited,
    look_at,
    shape_of,
)
from paimon_spark.arrow.shredding.shredder import shredded, shredded_type
from paimon_spark.format.types import DataField, DataType, Root

Path = tuple[int, ...]
"""A column: its place, and the places of fields of ROW within it."""


@dataclass
class Evidence:
    """What the files of one writer have shown, for the mode ``adaptive``.

    Attributes:
        seen: what is seen of each column; None before the first file.
        shapes: those of the last file.
        pending: both, of the file that is being written.
    """

    seen: Mapping[Path, ColumnSeen] | None = None
    shapes: Mapping[Path, DataType] = field(default_factory=dict)
    pending: tuple[Mapping[Path, ColumnSeen], Mapping[Path, DataType]] | None = None

    def file_is_complete(self) -> None:
        if self.pending is not None:
            self.seen, self.shapes = self.pending
            self.pending = None


@dataclass(frozen=True)
class Shredding:
    """How data files of a table store its VARIANT columns.

    Attributes:
        given: the shapes of columns by name, of ``variant.shreddingSchema``; None: they are inferred.
        rules: of the inference; None: all values stay whole but those of given.
        evidence: of the writer, in the mode ``adaptive``.
    """

    given: tuple[tuple[str, DataType], ...] | None = None
    rules: InferenceRules | None = None
    evidence: Evidence | None = None

    def of_one_writer(self) -> Shredding:
        """The same for files that one writer writes one after the other."""
        if self.rules is None or not self.rules.later_sample_rows:
            return self
        return replace(self, evidence=Evidence())

    def applies_to(self, fields: Sequence[DataField]) -> bool:
        """True if a column of these may be shredded."""
        return bool(self._given(fields)) if self.given is not None else any(_paths(fields))

    def shapes(self, fields: Sequence[DataField], rows: Sequence[pa.RecordBatch]) -> Mapping[Path, DataType]:
        """The shapes of the columns of one file.

        Args:
            fields: the columns.
            rows: the first of the file.

        Raises:
            DataError: a value is damaged.
        """
        if self.given is not None:
            return self._given(fields)
        if self.rules is None:
            return {}
        before = None if self.evidence is None else self.evidence.seen
        wanted = self.rules.sample_rows if before is None else self.rules.later_sample_rows
        sample = list(_first(rows, wanted))
        seen = {
            path: all_seen(look_at(_at(part, path), self.rules.most_levels) for part in sample)
            for path in _paths(fields)
        }
        shapes = self._inferred(seen, before, Room(self.rules.most_columns), self.rules)
        if self.evidence is not None:
            most = self.rules.later_sample_rows
            both = {p: limited(s, most) if before is None else combined(before[p], s, most) for p, s in seen.items()}
            self.evidence.pending = both, shapes
        return shapes

    def file_is_complete(self) -> None:
        if self.evidence is not None:
            self.evidence.file_is_complete()

    def _given(self, fields: Sequence[DataField]) -> Mapping[Path, DataType]:
        shapes = dict(self.given or ())
        return {(i,): shapes[f.name] for i, f in enumerate(fields) if f.type.root is Root.VARIANT and f.name in shapes}

    def _inferred(
        self,
        seen: Mapping[Path, ColumnSeen],
        before: Mapping[Path, ColumnSeen] | None,
        room: Room,
        rules: InferenceRules,
    ) -> Mapping[Path, DataType]:
        if self.evidence is None or before is None:
            return {path: shape_of(column, rules, room) for path, column in seen.items()}
        shapes = {}
        for path, now in seen.items():
            both = combined(before[path], now, rules.later_sample_rows)
            shape = AdaptiveShape(rules, room, both.count)
            shapes[path] = shape.of(both.seen, now.seen, self.evidence.shapes.get(path))
        return shapes


def _paths(fields: Sequence[DataField]) -> Iterator[Path]:
    for i, found in enumerate(fields):
        if found.type.root is Root.VARIANT:
            yield (i,)
        elif found.type.root is Root.ROW:
            yield from ((i, *path) for path in _paths(found.type.fields))


def _first(rows: Sequence[pa.RecordBatch], count: int) -> Iterator[pa.RecordBatch]:
    for batch in rows:
        if count <= 0:
            return
        yield batch.slice(0, count)
        count -= batch.num_rows


def _at(rows: pa.RecordBatch, path: Path) -> pa.StructArray:
    """A column; null where a ROW around it is."""
    column = rows.column(path[0])
    for place in path[1:]:
        column = column.flatten()[place]
    return column


def shredded_fields(fields: Sequence[DataField], shapes: Mapping[Path, DataType]) -> tuple[DataField, ...]:
    """The columns of a file whose columns have these shapes."""
    return tuple(_shredded_field(found, _within(shapes, i)) for i, found in enumerate(fields))


def _shredded_field(found: DataField, shapes: Mapping[Path, DataType]) -> DataField:
    if not shapes:
        return found
    if () in shapes:
        return replace(found, type=shredded_type(shapes[()]).with_nullable(found.type.nullable))
    return replace(found, type=replace(found.type, fields=shredded_fields(found.type.fields, shapes)))


def _within(shapes: Mapping[Path, DataType], place: int) -> Mapping[Path, DataType]:
    return {path[1:]: shape for path, shape in shapes.items() if path[0] == place}


def shredded_batch(rows: pa.RecordBatch, shapes: Mapping[Path, DataType]) -> pa.RecordBatch:
    """The rows with columns of these shapes.

    Raises:
        DataError: a value is damaged.
    """
    columns = [_shredded_column(column, _within(shapes, i)) for i, column in enumerate(rows.columns)]
    return pa.RecordBatch.from_arrays(columns, names=rows.schema.names)


def _shredded_column(column: pa.Array, shapes: Mapping[Path, DataType]) -> pa.Array:
    if not shapes:
        return column
    if () in shapes:
        return shredded(column, shapes[()])
    parts = [_shredded_column(part, _within(shapes, i)) for i, part in enumerate(column.flatten())]
    return struct_of(
        column, parts, [found.with_type(part.type) for found, part in zip(column.type, parts, strict=True)]
    )
