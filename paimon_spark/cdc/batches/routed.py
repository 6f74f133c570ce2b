"""Messages with the table that each is of, and the columns and the key that it tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from paimon_spark.cdc.batches.decoding import Decoding
from paimon_spark.cdc.batches.inferred_columns import columns_text
from paimon_spark.cdc.batches.messages import Messages, read_messages

DATABASE, TABLE, COLUMNS, KEYS, PROBLEM = "_database", "_table", "_columns", "_keys", "_problem"
ROUTE_FIELDS = (
    pa.field(DATABASE, pa.string()),
    pa.field(TABLE, pa.string()),
    pa.field(COLUMNS, pa.string()),
    pa.field(KEYS, pa.list_(pa.string())),
    pa.field(PROBLEM, pa.string()),
)


def route_batches(batches: Iterable[pa.RecordBatch], decoding: Decoding) -> Iterator[pa.RecordBatch]:
    """The messages with where they belong; those that are ignored are left out.

    Raises:
        DataError: a message is malformed and dead letters are not kept.
    """
    reader = decoding.reader()
    for batch in batches:
        yield _routed(read_messages(batch, decoding, reader), decoding)


def _routed(messages: Messages, decoding: Decoding) -> pa.RecordBatch:
    if messages.problems and not decoding.dead_letters:
        number = min(messages.problems)
        raise messages.failure(number, messages.problems[number])
    said = messages.said
    texts: dict[tuple[object, ...], str] = {}
    columns: list[str | None] = []
    for event in said:
        if event is None:
            columns.append(None)
            continue
        shape = (id(event.columns), *(tuple(image) for _, image in event.rows))
        if shape not in texts:
            texts[shape] = columns_text(event)
        columns.append(texts[shape])
    routes = [
        pa.array([None if event is None else event.database for event in said], pa.string()),
        pa.array([None if event is None else event.table for event in said], pa.string()),
        pa.array(columns, pa.string()),
        pa.array([None if event is None else list(event.keys) for event in said], pa.list_(pa.string())),
        pa.array([messages.problems.get(number) for number in range(len(said))], pa.string()),
    ]
    batch = messages.batch
    schema = pa.schema([*batch.schema, *ROUTE_FIELDS])
    routed = pa.RecordBatch.from_arrays([*batch.columns, *routes], schema=schema)
    ignored = messages.ignored.keys() - messages.problems.keys()
    if not ignored:
        return routed
    return routed.filter(pa.array([number not in ignored for number in range(len(said))], pa.bool_()))
