"""Maps columns of old files to columns of the current schema (format section 7.5; Java: SchemaEvolutionUtil).

A file has the columns of the schema it was written with. The field id identifies a column, whatever its name is now;
inside a file it has the name of that time. Nested fields follow the same rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from paimon_spark.arrow.casts import cast_array
from paimon_spark.arrow.conform import batch_of, list_of, map_of, struct_of
from paimon_spark.arrow.types import arrow_schema, arrow_type
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format.types import DataField, DataType, Root

Step = Callable[[pa.Array], pa.Array]


@dataclass(frozen=True)
class ReadMapping:
    """How rows of a file become rows of the wanted columns.

    Attributes:
        file_fields: the columns to read, as the file's schema names and types them, each once.
        wanted: the columns of the result.
        sources: for each wanted column the position of its source in file_fields, None where the file has none.
        steps: for each wanted column the conversion of its source, None where none is needed.
    """

    file_fields: tuple[DataField, ...]
    wanted: tuple[DataField, ...]
    sources: tuple[int | None, ...]
    steps: tuple[Step | None, ...]
    schema: pa.Schema

    @property
    def is_identity(self) -> bool:
        return self.file_fields == self.wanted

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch, read with file_fields, in exactly ``arrow_schema(wanted)``; columns the file lacks are null.

        Raises:
            DataError: a value does not fit the type its column has now.
        """
        if self.is_identity:
            return batch
        arrays = []
        for source, step, field in zip(self.sources, self.steps, self.schema, strict=True):
            if source is None:
                arrays.append(pa.nulls(batch.num_rows, field.type))
                continue
            try:
                arrays.append(_applied(step, batch.column(source)))
            except DataError as error:
                raise DataError(
                    f"reading column '{field.name}', whose type was changed: {error}; give the column its old type "
                    "again (ALTER COLUMN), and change such values first"
                ) from None
        return batch_of(arrays, self.schema, batch.num_rows)


def map_fields(wanted: Sequence[DataField], data_fields: Sequence[DataField]) -> ReadMapping:
    """The mapping from files of one schema to the wanted columns.

    Args:
        wanted: columns of the current schema.
        data_fields: all columns of the schema the files were written with.

    Raises:
        UnsupportedFeature: a column changed its type in a way that no cast covers; the message names it.
    """
    by_id = {field.id: field for field in data_fields}
    file_fields: list[DataField] = []
    sources: list[int | None] = []
    steps: list[Step | None] = []
    for field in wanted:
        source = by_id.get(field.id)
        if source is None:
            sources.append(None)
            steps.append(None)
            continue
        sources.append(len(file_fields))
        if field.type.paths is not None and source.type.root is Root.VARIANT:
            source = replace(source, type=replace(source.type, paths=field.type.paths))
        file_fields.append(source)
        try:
            steps.append(converter(source.type, field.type))
        except UnsupportedFeature as error:
            raise UnsupportedFeature(f"reading column '{field.name}' of an older schema: {error}") from None
    if tuple(file_fields) == tuple(wanted):
        steps = [None] * len(wanted)
    return ReadMapping(tuple(file_fields), tuple(wanted), tuple(sources), tuple(steps), arrow_schema(wanted))


def converter(source: DataType, target: DataType) -> Step | None:
    """The conversion of arrays of one type to another, nested fields matched by id; None if none is needed.

    Raises:
        UnsupportedFeature: there is no such conversion.
    """
    if source == target:
        return None
    if source.root is target.root:
        if source.root is Root.ROW:
            return _row_converter(source, target)
        if source.root in (Root.ARRAY, Root.MULTISET):
            return _element_converter(source, target)
        if source.root is Root.MAP:
            return _map_converter(source, target)
    if source.with_nullable(True) == target.with_nullable(True):
        return None
    cast_array(pa.nulls(0, arrow_type(source)), source, target)  # refuses at once what it cannot do
    return lambda array: cast_array(array, source, target)


def _applied(step: Step | None, array: pa.Array) -> pa.Array:
    return array if step is None else step(array)


def _row_converter(source: DataType, target: DataType) -> Step:
    positions = {field.id: i for i, field in enumerate(source.fields)}
    arrow = arrow_type(target)
    parts: list[tuple[int | None, Step | None]] = []
    for field in target.fields:
        position = positions.get(field.id)
        step = None if position is None else converter(source.fields[position].type, field.type)
        parts.append((position, step))

    def run(array: pa.Array) -> pa.Array:
        children = [
            pa.nulls(len(array), field.type) if position is None else _applied(step, array.field(position))
            for (position, step), field in zip(parts, arrow, strict=True)
        ]
        return struct_of(array, children, list(arrow))

    return run


def _element_converter(source: DataType, target: DataType) -> Step:
    """ARRAY and MULTISET; a MULTISET is a map of its elements to their counts."""
    step, arrow = converter(source.inner, target.inner), arrow_type(target)
    if source.root is Root.MULTISET:
        return lambda array: map_of(array, _applied(step, array.keys), array.items, arrow)
    return lambda array: list_of(array, _applied(step, array.values), arrow)


def _map_converter(source: DataType, target: DataType) -> Step:
    keys, items = converter(source.key_type, target.key_type), converter(source.inner, target.inner)
    arrow = arrow_type(target)
    return lambda array: map_of(array, _applied(keys, array.keys), _applied(items, array.items), arrow)
