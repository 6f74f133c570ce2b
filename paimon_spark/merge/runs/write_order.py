"""The rows of one level-0 file: sorted by key, one row per key (Java: SortBufferWriteBuffer, MergeTreeWriter).

Moving values is the main cost, so only keys are sorted, and each column is gathered once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.raw_values import from_numpy
from paimon_spark.errors import DataError
from paimon_spark.format.row_kind import Kinds
from paimon_spark.format.schema import SEQUENCE_NUMBER, VALUE_KIND
from paimon_spark.merge.engines.deduplicate import deduplicate
from paimon_spark.merge.engines.groups import order_within_keys
from paimon_spark.merge.keys.key_words import Words, key_columns, key_words, pack_fields
from paimon_spark.merge.keys.row_order import ignored_rows, order_criteria, sequence_order
from paimon_spark.merge.keys.rows import Gather, one_batch, take_rows
from paimon_spark.merge.keys.window import Engine, MergeSpec, Piece, Window
from paimon_spark.merge.keys.winners import Groups, Rows, group_rows, group_unsorted_rows, pick_last, spare_width
from paimon_spark.merge.runs.sort_merge import merge_runs

SORT_BYTES = 2**30  # sorted at once at most: 32-bit offsets of strings never overflow


def sort_and_merge(
    rows: pa.RecordBatch | pa.Table,
    spec: MergeSpec,
    first_sequence: int,
    kinds: Kinds | None = None,
    selection: Rows | None = None,
    batch_rows: int = 131072,
    sort_bytes: int = SORT_BYTES,
    engine: Engine = deduplicate,
) -> Iterator[pa.RecordBatch]:
    """Rows in write order, sorted by key, with the rows of equal keys merged.

    Within a key rows are ordered by arrival, or by ``sequence.field``. Retractions are kept like any other row, because
    they must be merged with older rows in other files; ``ignore-delete`` and ``ignore-update-before`` drop theirs
    before the merge.

    Args:
        rows: table columns, in the order in which they were written. To sort several selections of one table, put it
            into one batch first; otherwise it is copied for each.
        spec: key columns by their names in rows, sequence fields, ignored retractions; the rest of it is not used.
        first_sequence: the sequence number of the first row; each next row has the next one.
        kinds: the row kind of each row (of rows, not of selection); None: all +I.
        selection: ascending numbers of the rows to take, for instance those of one bucket; None: all. Saves a gather
            before the sort. Sequence numbers count the selected rows only.
        batch_rows: the most rows of a batch of the result.
        sort_bytes: rows of more bytes than this are sorted in parts, which are then merged.
        engine: merges the rows of each key. For deduplicate only the newest rows are gathered; any other engine gets
            all rows, once.

    Returns:
        The columns of rows, then ``_SEQUENCE_NUMBER`` int64 and ``_VALUE_KIND`` int8, both not null.

    Raises:
        DataError: a null in a key column; rows that the engine cannot merge.
        UnsupportedFeature: a key or sequence column of a type without an order.
    """
    count = rows.num_rows if selection is None else len(selection)
    if count == 0:
        return
    if engine is not deduplicate:
        part = _Part(rows, first_sequence, kinds, selection)
        yield from _merge_all(part, spec, batch_rows, sort_bytes, engine)
        return
    if rows.nbytes > sort_bytes and rows.num_rows > 1:
        yield from _sort_in_parts(rows, spec, first_sequence, kinds, selection, batch_rows, sort_bytes)
        return
    batch = _one_batch(rows)
    places = _kept_places(spec, kinds, selection, count)
    if len(places):
        groups, criteria = _by_key(batch, spec, places if selection is None else selection[places])
        places = places[pick_last(groups, criteria)]
    cuts = np.append(np.arange(0, len(places), batch_rows), len(places))
    yield from _numbered(batch, places, cuts, first_sequence, kinds, selection)


def sort_input(
    rows: pa.RecordBatch | pa.Table,
    spec: MergeSpec,
    first_sequence: int,
    kinds: Kinds | None = None,
    selection: Rows | None = None,
    batch_rows: int = 131072,
    sort_bytes: int = SORT_BYTES,
) -> Iterator[pa.RecordBatch]:
    """All rows of a write, sorted but not merged: the changelog of ``changelog-producer`` = ``input``.

    They are sorted by key, and within a key by ``sequence.field``, then by arrival. The arguments and columns are those
    of ``sort_and_merge``.

    Raises:
        DataError: a null in a key column.
        UnsupportedFeature: a key or sequence column of a type without an order.
    """
    if rows.num_rows == 0:
        return
    part = _Part(rows, first_sequence, kinds, selection)
    runs = [_sorted(small, spec, batch_rows) for small in part.small_parts(sort_bytes)]
    if len(runs) == 1:
        yield from runs[0]
        return
    merge = replace(spec, keep_deletes=True, has_sequence=True, has_kind=True)
    output = [*rows.schema.names, SEQUENCE_NUMBER, VALUE_KIND]
    yield from merge_runs(runs, merge, output, batch_rows, ordered=True, engine=_every_row)


def _every_row(window: Window, spec: MergeSpec, output: Sequence[str], ordered: bool) -> Iterator[pa.RecordBatch]:
    """An engine that sorts the rows without merging them."""
    groups = group_rows(window.words())
    order = order_within_keys(groups.order, groups.starts, order_criteria(window, spec, None))
    return take_rows([piece.rows.select(output) for piece in window.pieces], order)


def _one_batch(rows: pa.RecordBatch | pa.Table) -> pa.RecordBatch:
    if isinstance(rows, pa.RecordBatch):
        return rows
    return one_batch(rows.to_batches())


def _kept_places(spec: MergeSpec, kinds: Kinds | None, selection: Rows | None, count: int) -> Rows:
    """The positions in the selection of the rows that no option drops."""
    ignored = None if kinds is None else ignored_rows(kinds if selection is None else kinds[selection], spec)
    return np.arange(count) if ignored is None else np.flatnonzero(~ignored)


def _by_key(batch: pa.RecordBatch, spec: MergeSpec, rows: Rows) -> tuple[Groups, list[Words]]:
    """The positions in rows (ascending numbers, at least one) of the rows of each key, and their order criteria."""
    needed = batch.select([*spec.key_names, *(field.name for field in spec.sequence_fields)])
    if len(rows) < batch.num_rows:
        needed = needed.take(from_numpy(rows))
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
    return group_unsorted_rows(words, width), criteria


def _numbered(
    batch: pa.RecordBatch,
    places: Rows,
    cuts: Rows,
    first_sequence: int,
    kinds: Kinds | None,
    selection: Rows | None,
) -> Iterator[pa.RecordBatch]:
    """The rows at these places of the selection, in this order, with their sequence numbers and kinds.

    Args:
        cuts: the positions in places where a batch of the result starts, and the end of places.
    """
    order = places if selection is None else selection[places]
    schema = batch.schema.append(pa.field(SEQUENCE_NUMBER, pa.int64(), nullable=False))
    schema = schema.append(pa.field(VALUE_KIND, pa.int8(), nullable=False))
    in_order = len(order) == batch.num_rows and bool((order[1:] > order[:-1]).all())
    gather = None if in_order else Gather(batch)
    for start, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        part = order[start:end]
        taken = batch.slice(start, len(part)) if gather is None else gather.take(part)
        kind = np.zeros(len(part), np.int8) if kinds is None else kinds[part]
        columns = [*taken.columns, from_numpy(places[start:end] + first_sequence), from_numpy(kind)]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


@dataclass(frozen=True)
class _Part:
    """Rows to sort: the arguments of ``sort_and_merge``."""

    rows: pa.RecordBatch | pa.Table
    first_sequence: int
    kinds: Kinds | None
    selection: Rows | None

    def halves(self) -> tuple[_Part, _Part]:
        half, kinds, selection = self.rows.num_rows // 2, self.kinds, self.selection
        split = half if selection is None else int(np.searchsorted(selection, half))
        older = _Part(
            self.rows.slice(0, half),
            self.first_sequence,
            None if kinds is None else kinds[:half],
            None if selection is None else selection[:split],
        )
        newer = _Part(
            self.rows.slice(half),
            self.first_sequence + split,
            None if kinds is None else kinds[half:],
            None if selection is None else selection[split:] - half,
        )
        return older, newer

    def small_parts(self, sort_bytes: int) -> Iterator[_Part]:
        """Parts of at most sort_bytes, or of one row."""
        if self.rows.nbytes <= sort_bytes or self.rows.num_rows < 2:
            yield self
            return
        for half in self.halves():
            yield from half.small_parts(sort_bytes)


def _merge_all(
    part: _Part, spec: MergeSpec, batch_rows: int, sort_bytes: int, engine: Engine
) -> Iterator[pa.RecordBatch]:
    """Sorts all rows, then merges them by an engine: merging parts first would change the result of some engines."""
    output = [*part.rows.schema.names, SEQUENCE_NUMBER, VALUE_KIND]
    merge = replace(spec, keep_deletes=True, has_sequence=True, has_kind=True)
    runs = [_sorted(small, spec, batch_rows) for small in part.small_parts(sort_bytes)]
    if len(runs) > 1:
        yield from merge_runs(runs, merge, output, batch_rows, ordered=True, engine=engine)
        return
    for rows in runs[0]:  # a key is in one batch
        window = Window((Piece(rows, key_columns(rows, spec.key_names)),))
        yield from engine(window, merge, output, True)


def _sorted(part: _Part, spec: MergeSpec, batch_rows: int) -> Iterator[pa.RecordBatch]:
    """The rows sorted by key and age; batches of about batch_rows or more, all rows of a key in one."""
    batch, selection = _one_batch(part.rows), part.selection
    count = batch.num_rows if selection is None else len(selection)
    places = _kept_places(spec, part.kinds, selection, count)
    if not len(places):
        return
    groups, criteria = _by_key(batch, spec, places if selection is None else selection[places])
    order = order_within_keys(groups.order, groups.starts, criteria)
    wanted = np.searchsorted(groups.starts, np.arange(0, len(order), batch_rows))
    cuts = np.unique(np.append(groups.starts[wanted[wanted < len(groups.starts)]], len(order)))
    yield from _numbered(batch, places[order], cuts, part.first_sequence, part.kinds, selection)


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
    older, newer = (
        sort_and_merge(part.rows, spec, part.first_sequence, part.kinds, part.selection, batch_rows, sort_bytes)
        for part in _Part(rows, first_sequence, kinds, selection).halves()
    )
    merge = replace(spec, keep_deletes=True, has_sequence=True, has_kind=True)
    yield from merge_runs(
        [older, newer], merge, [*rows.schema.names, SEQUENCE_NUMBER, VALUE_KIND], batch_rows, ordered=True
    )
