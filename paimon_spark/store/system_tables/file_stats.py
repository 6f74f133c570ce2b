"""The value statistics of data files as ``{column=value, ...}`` in the columns of the current schema.

Java: SimpleStatsEvolution. A column that was added after a file is all null there; one without statistics has nulls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.evolution import converter
from paimon_spark.arrow.row_columns import RowBytes, row_field
from paimon_spark.arrow.text_casts import listed, object_texts
from paimon_spark.errors import CorruptFile
from paimon_spark.format.manifests.columns import ManifestColumns
from paimon_spark.format.types import UNORDERED, DataField, DataType
from paimon_spark.store.metadata.live_files import Indices
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.system_tables.request import either, in_order

_STATS = ("_FILE", "_VALUE_STATS")
_BOUNDS = {"min_value_stats": "_MIN_VALUES", "max_value_stats": "_MAX_VALUES"}


@dataclass(frozen=True)
class _Shape:
    """The columns that the statistics of some files cover.

    Attributes:
        types: the types of the columns in the rows of statistics.
        columns: for each column of the table, sorted by name as in Java: its name; its position in these rows, -1 for a
            column without statistics, -2 for one that the files do not have; and its type.
    """

    types: tuple[DataType, ...]
    columns: tuple[tuple[str, int, DataType], ...]

    @property
    def names(self) -> list[str]:
        return [name for name, _, _ in self.columns]


def value_statistics(
    table: Table, columns: ManifestColumns, live: Indices, wanted: Sequence[str]
) -> dict[str, pa.Array]:
    """The wanted columns among null_value_counts, min_value_stats and max_value_stats of entries."""
    if not wanted:
        return {}
    kept = columns.lists(("_FILE", "_VALUE_STATS_COLS"), live)
    written = columns.lists(("_FILE", "_WRITE_COLS"), live)
    shapes = list(zip(columns.schema_id[live].tolist(), kept, written, strict=True))
    numbers = {shape: number for number, shape in enumerate(dict.fromkeys(shapes))}
    group = np.fromiter(map(numbers.__getitem__, shapes), np.int64, len(shapes))
    parts = [np.flatnonzero(group == number) for number in numbers.values()]
    made: dict[str, list[pa.Array]] = {name: [] for name in wanted}
    for shape, part in zip(numbers, parts, strict=True):
        for name in wanted:
            made[name].append(_texts(_shape(table, *shape), columns, live[part], name))
    return {name: in_order(arrays, parts) for name, arrays in made.items()}


def _shape(table: Table, schema_id: int, kept: tuple[str, ...] | None, written: tuple[str, ...] | None) -> _Shape:
    """The columns that statistics cover.

    Raises:
        CorruptFile: statistics are of columns that the schema does not have.
    """
    schema = table.schema if schema_id == table.schema.id else table.schemas.load(schema_id)
    stored = schema.fields
    unknown = [name for name in kept or () if name not in schema.by_name]
    if unknown:
        raise CorruptFile(
            f"reading the statistics of the files of {table.location}: a manifest names the columns "
            f"{', '.join(unknown)!r:.200}, which schema {schema_id} does not have; the manifest is damaged"
        )
    if written is not None:
        stored = tuple(schema.by_name[name] for name in written if name in schema.by_name)
    in_rows = stored if kept is None else tuple(schema.by_name[name] for name in kept)
    places = {field.id: -1 for field in stored} | {field.id: place for place, field in enumerate(in_rows)}
    fields = sorted(table.schema.fields, key=_java_order)
    shown = tuple((field.name, places.get(field.id, -2), field.type) for field in fields)
    return _Shape(tuple(field.type for field in in_rows), shown)


def _java_order(field: DataField) -> bytes:
    return field.name.encode("utf-16-be")


def _texts(shape: _Shape, columns: ManifestColumns, files: Indices, name: str) -> pa.Array:
    if name not in _BOUNDS:
        return _count_texts(shape, columns, files)
    column = columns.columns[(*_STATS, _BOUNDS[name])]
    rows = RowBytes(columns.buffer, column.values[files], column.ends[files])
    full = rows.arities() == len(shape.types)
    return either(full, lambda some: _bounds(shape, rows.of(some)), lambda some: _unknown(shape, len(some)))


def _bounds(shape: _Shape, rows: RowBytes) -> pa.Array:
    texts = [_bound_texts(shape.types, rows, place, now) for _, place, now in shape.columns]
    return listed(texts, len(rows), "{}", shape.names)


def _bound_texts(types: Sequence[DataType], rows: RowBytes, place: int, now: DataType) -> pa.Array:
    """One column of bounds, cast if its type has changed since the file was written."""
    if place < 0 or types[place].root in UNORDERED or now.root in UNORDERED:
        return pa.nulls(len(rows), pa.string())
    values = row_field(rows, types, place)
    cast = converter(types[place], now)
    return object_texts(values if cast is None else cast(values), now)


def _unknown(shape: _Shape, rows: int) -> pa.Array:
    """The text for files without statistics: Java shows no columns."""
    if all(place >= -1 for _, place, _ in shape.columns):
        return pa.repeat("{}", rows)
    return listed([pa.nulls(rows, pa.string())] * len(shape.columns), rows, "{}", shape.names)


def _count_texts(shape: _Shape, columns: ManifestColumns, files: Indices) -> pa.Array:
    counts = columns.lists((*_STATS, "_NULL_COUNTS"), files)
    full = np.fromiter((len(c or ()) == len(shape.types) for c in counts), np.bool_, len(counts))

    def known(some: Indices) -> pa.Array:
        chosen = [counts[i] or () for i in some.tolist()]
        all_rows = columns.row_count[files[some]]
        texts = [_counts_of(chosen, place, all_rows) for _, place, _ in shape.columns]
        return listed(texts, len(some), "{}", shape.names)

    return either(full, known, lambda some: _unknown(shape, len(some)))


def _counts_of(counts: Sequence[tuple[Any, ...]], place: int, rows: Indices) -> pa.Array:
    if place == -2:
        return pa.array(rows).cast(pa.string())
    known = [None] * len(counts) if place < 0 else [c[place] for c in counts]
    return pa.array(known, pa.int64()).cast(pa.string())
