"""A batch of messages as a batch of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from paimon_spark.arrow.types import arrow_field, arrow_type
from paimon_spark.cdc.batches.decoding import Decoding
from paimon_spark.cdc.batches.messages import Messages, read_messages
from paimon_spark.cdc.batches.metadata_columns import metadata_array
from paimon_spark.cdc.columns import bisected, column_array
from paimon_spark.cdc.encodings import UNTYPED, Columns, Encoding
from paimon_spark.cdc.events import Image
from paimon_spark.format.row_kind import KIND_TEXTS
from paimon_spark.format.types import DataField, DataType

_KINDS = pa.array(KIND_TEXTS)
_PLAIN = Encoding(UNTYPED.type)


def rows_schema(decoding: Decoding) -> pa.Schema:
    """The Arrow schema of decoded rows."""
    return pa.schema([arrow_field(field) for field in decoding.all_fields])


def decode_batches(batches: Iterable[pa.RecordBatch], decoding: Decoding) -> Iterator[pa.RecordBatch]:
    """The rows of batches of messages, in the order of the messages.

    Args:
        batches: with the columns of MESSAGE_COLUMNS that their source has.

    Raises:
        DataError: a message is malformed and dead letters are not kept; the message names its place and what it is.
    """
    reader = decoding.reader()
    for batch in batches:
        yield _decoded(read_messages(batch, decoding, reader), decoding)


def _decoded(messages: Messages, decoding: Decoding) -> pa.RecordBatch:
    """The rows. A message with a value that does not fit is malformed as a whole, and none of its rows comes."""
    images = _Images(messages)
    arrays, problems = _columns(images, decoding)
    for row, problem in problems.items():
        messages.problems.setdefault(images.numbers[row], problem)
    if messages.problems and not decoding.dead_letters:
        number = min(messages.problems)
        raise messages.failure(number, messages.problems[number])
    batch = pa.RecordBatch.from_arrays([*arrays, *_order(images, messages, decoding)], schema=rows_schema(decoding))
    if not messages.problems:
        return batch
    kept = batch.filter(pa.array([number not in messages.problems for number in images.numbers], pa.bool_()))
    table = pa.Table.from_batches([kept, _dead_letters(messages, decoding)]).combine_chunks()
    return table.to_batches()[0]


class _Images:
    """The rows of messages: their kinds, their values, their messages."""

    def __init__(self, messages: Messages) -> None:
        self.kinds: list[int] = []
        self.rows: list[Image] = []
        self.numbers: list[int] = []
        self.positions: list[int] = []
        self.columns: list[Columns | None] = []
        for number, event in enumerate(messages.said):
            if event is None:
                continue
            for position, (kind, image) in enumerate(event.rows):
                self.kinds.append(kind)
                self.rows.append(image)
                self.numbers.append(number)
                self.positions.append(position)
                self.columns.append(event.columns)


def _columns(images: _Images, decoding: Decoding) -> tuple[list[pa.Array], dict[int, str]]:
    """The columns of the rows, and what is wrong with a row by its number."""
    problems = _unknown_columns(images, decoding) if decoding.whole else {}
    arrays: dict[str, pa.Array] = {}
    groups = _groups(images.columns)
    for field in decoding.fields:
        arrays[field.name], found = _column(images, field, groups, decoding)
        _add(problems, field.name, found)
    for column in decoding.computed_columns:
        source = pa.nulls(len(images.rows)) if column.source is None else arrays[column.source]
        arrays[column.name], found = bisected(column.compute, source, column.type)
        _add(problems, column.name, found)
    made = len(decoding.fields) + len(decoding.computed)
    return [arrays[field.name] for field in decoding.row_fields[:made]], problems


def _add(problems: dict[int, str], name: str, found: dict[int, str]) -> None:
    for row, problem in found.items():
        problems.setdefault(row, f"column '{name}': {problem}")


def _unknown_columns(images: _Images, decoding: Decoding) -> dict[int, str]:
    known = {field.name if decoding.case_sensitive else field.name.lower() for field in decoding.fields}
    return {
        row: f"the table has no column '{min(image.keys() - known)}'"
        for row, image in enumerate(images.rows)
        if not image.keys() <= known
    }


def _groups(columns: list[Columns | None]) -> list[tuple[Columns | None, list[int] | None]]:
    """The rows of each schema that messages tell; None as rows means all."""
    distinct = {id(item): item for item in columns}
    if len(distinct) <= 1:
        return [(next(iter(distinct.values()), None), None)]
    rows: dict[int, list[int]] = {key: [] for key in distinct}
    for row, item in enumerate(columns):
        rows[id(item)].append(row)
    return [(distinct[key], rows[key]) for key in distinct]


def _column(
    images: _Images, field: DataField, groups: list[tuple[Columns | None, list[int] | None]], decoding: Decoding
) -> tuple[pa.Array, dict[int, str]]:
    name = field.name if decoding.case_sensitive else field.name.lower()
    problems: dict[int, str] = {}
    parts: list[pa.Array] = []
    order: list[int] = []
    for columns, rows in groups:
        encoding = _PLAIN if columns is None else columns.by_name.get(name, _PLAIN)
        chosen = images.rows if rows is None else [images.rows[row] for row in rows]
        values = [image.get(name) for image in chosen]
        array, found = column_array(values, encoding, field.type, decoding.rules)
        if rows is None:
            return array, found
        problems.update({rows[position]: problem for position, problem in found.items()})
        parts.append(array)
        order.extend(rows)
    places: list[int] = [0] * len(order)
    for place, row in enumerate(order):
        places[row] = place
    return pa.concat_arrays(parts).take(pa.array(places)), problems


def _order(images: _Images, messages: Messages, decoding: Decoding) -> list[pa.Array]:
    """The columns of metadata, the kinds, and what says how the rows follow each other."""
    numbers = pa.array(images.numbers, pa.int64())
    batch = messages.batch
    metadata = [metadata_array(name, messages.said, numbers, batch) for name in decoding.metadata]
    order = [
        batch.column(name).take(numbers).cast(to) if name in batch.schema.names else pa.nulls(len(numbers), to)
        for name, to in (("partition", pa.int32()), ("offset", pa.int64()))
    ]
    following = [
        _KINDS.take(pa.array(images.kinds, pa.int8())),
        *order,
        pa.array(images.positions, pa.int32()),
    ]
    letters = [pa.nulls(len(numbers), pa.string())] * 4 if decoding.dead_letters else []
    return [*metadata, *following, *letters]


def _dead_letters(messages: Messages, decoding: Decoding) -> pa.RecordBatch:
    """A row for each malformed message, with nothing but what is wrong, where it stands and what it is."""
    numbers = sorted(messages.problems)

    def taken(values: list[Any], to: DataType) -> pa.Array:
        return pa.array([values[number] for number in numbers], arrow_type(to))

    *_, partition, offset, _position, error, value, key, topic = decoding.all_fields
    known = {
        partition.name: taken(messages.values("partition"), partition.type),
        offset.name: taken(messages.values("offset"), offset.type),
        error.name: pa.array([messages.problems[number] for number in numbers], pa.string()),
        value.name: taken(messages.texts("value"), value.type),
        key.name: taken(messages.texts("key"), key.type),
        topic.name: taken(messages.texts("topic"), topic.type),
    }
    schema = rows_schema(decoding)
    arrays = [known.get(f.name, pa.nulls(len(numbers), f.type)) for f in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
