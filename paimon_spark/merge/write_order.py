"""The rows of one level-0 file: sorted by key, one row a key (Java: SortBufferWriteBuffer, MergeTreeWriter).

Moving values is what costs here: keys are sorted alone, and each column is gathered once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from paimon_spark.errors import DataError
from paimon_spark.merge.key_words import key_columns, key_words, pack_fields
from paimon_spark.merge.sort_merge import merge_runs
from paimon_spark.merge.window import Kinds, MergeSpec, ignored_rows, sequence_order
from paimon_spark.merge.winners import Rows, group_unsorted_rows, pick_last, spare_width
from paimon_spark.spec.schema import SEQUENCE_NUMBER, VALUE_KIND

SORT_BYTES = 2**30  # sorted at once at most: 32-bit offsets of strings never overflow


def sort_and_merge(
    rows: pa.RecordBatch | pa.Table,
    spec: MergeSpec,
    first_sequence: int,
    kinds: Kinds | None = None,
    selection: Rows | None = None,
    batch_rows: int = 131072,
    sort_bytes: int = SORT_BYTES,
) -> Iterator[pa.RecordBatch]:
    """Rows in write order, sorted by key, of equal keys the one that counts (engine deduplicate).

    The winner is the last row, or with ``sequence.field`` the last of the rows with the greatest sequence. Retractions
    are rows as any other, for they must hide older rows in other files; ``ignore-delete`` and ``ignore-update-before``
    drop theirs before anything else is looked at.

    Args:
        rows: table columns, in the order in which they were written. To sort several selections of one table, put it
            into one batch first, else it is copied for each.
        spec: key columns by their names in rows, sequence fields, ignored retractions; the rest of it is not looked at.
        first_sequence: the sequence number of the first row; each next row has the next one.
        kinds: the row kind of each row (of rows, not of selection); None: all +I.
        selection: ascending numbers of the rows to take, for instance those of one bucket; None: all. Saves a gather
            before the sort. Sequence numbers count the selected rows only.
        batch_rows: how many rows a batch of the result has at most.
        sort_bytes: more rows than these bytes are sorted in parts, which are then merged.

    Returns:
        The columns of rows, then ``_SEQUENCE_NUMBER`` int64 and ``_VALUE_KIND`` int8, both not null.

    Raises:
        DataError: a null in a key column.
        UnsupportedFeature: a key or sequence column of a type without an order.
    """
    count = rows.num_rows if selection is None else len(selection)
    if count == 0:
        return
    if rows.nbytes > sort_bytes and rows.num_rows > 1:
        yield from _sort_in_parts(rows, spec, first_sequence, kinds, selection, batch_rows, sort_bytes)
        return
    batch = _one_batch(rows)
    places = _kept_places(spec, kinds, selection, count)
    places = places[_winners(batch, spec, places if selection is None else selection[places])]
    order = places if selection is None else selection[places]
    sequences = places + first_sequence
    schema = batch.schema.append(pa.field(SEQUENCE_NUMBER, pa.int64(), nullable=False))
    schema = schema.append(pa.field(VALUE_KIND, pa.int8(), nullable=False))
    in_order = len(order) == batch.num_rows and bool((order[1:] > order[:-1]).all())
    for start in range(0, len(order), batch_rows):
        part = order[start : start + batch_rows]
        taken = batch.slice(start, len(part)) if in_order else batch.take(pa.array(part))
        kind = np.zeros(len(part), np.int8) if kinds is None else kinds[part]
        columns = [*taken.columns, pa.array(sequences[start : start + batch_rows]), pa.array(kind)]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _one_batch(rows: pa.RecordBatch | pa.Table) -> pa.RecordBatch:
    if isinstance(rows, pa.RecordBatch):
        return rows
    batches = rows.to_batches()
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _kept_places(spec: MergeSpec, kinds: Kinds | None, selection: Rows | None, count: int) -> Rows:
    """Where in the selection a row stands that no option drops."""
    ignored = None if kinds is None else ignored_rows(kinds if selection is None else kinds[selection], spec)
    return np.arange(count) if ignored is None else np.flatnonzero(~ignored)


def _winners(batch: pa.RecordBatch, spec: MergeSpec, rows: Rows) -> Rows:
    """Where in rows (ascending numbers) stands the one that counts for each key, in key order."""
    if len(rows) == 0:
        return rows
    needed = batch.select([*spec.key_names, *(field.name for field in spec.sequence_fields)])
    if len(rows) < batch.num_rows:
        needed = needed.take(pa.array(rows))
    for name in spec.key_names:
        if nulls := needed.column(name).null_count:
            raise DataError(
                f"writing a primary-key table: {nulls} rows hold a null in key column '{name}'; "
                "a primary key is never null, so drop these rows or give them a value"
            )
    width = spare_width(len(rows))
    words = key_words(key_columns(needed, spec.key_names), None, width)
    fields = []
    for field in spec.sequence_fields:
        fields.extend(sequence_order(needed.column(field.name), field.name, spec.sequence_descending))
    criteria = pack_fields(fields, len(rows)) if fields else []
    return pick_last(group_unsorted_rows(words, width), criteria)


def _sort_in_parts(
    rows: pa.RecordBatch | pa.Table,
    spec: MergeSpec,
    first_sequence: int,
    kinds: Kinds | None,
    selection: Rows | None,
    batch_rows: int,
    sort_bytes: int,
) -> Iterator[pa.RecordBatch]:
    """Sort the first and the second half, then merge them as two runs."""
    half = rows.num_rows // 2
    split = half if selection is None else int(np.searchsorted(selection, half))
    older = sort_and_merge(
        rows.slice(0, half),
        spec,
        first_sequence,
        None if kinds is None else kinds[:half],
        None if selection is None else selection[:split],
        batch_rows,
        sort_bytes,
    )
    newer = sort_and_merge(
        rows.slice(half),
        spec,
        first_sequence + split,
        None if kinds is None else kinds[half:],
        None if selection is None else selection[split:] - half,
        batch_rows,
        sort_bytes,
    )
    merge = replace(spec, keep_deletes=True, has_sequence=True, has_kind=True)
    yield from merge_runs(
        [older, newer], merge, [*rows.schema.names, SEQUENCE_NUMBER, VALUE_KIND], batch_rows, ordered=True
    )
