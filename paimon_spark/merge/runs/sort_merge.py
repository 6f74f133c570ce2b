"""The k-way merge of sorted runs, in bounded memory (Java: SortMergeReader; performance notes: no value is sorted).

Each run has one batch open. All rows up to the smallest last key of these batches form a *window*: no later batch can
hold one of its keys. An engine turns the window into rows; the runs that have no rows left open their next batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from paimon_spark.errors import CorruptFile
from paimon_spark.merge.engines.deduplicate import deduplicate
from paimon_spark.merge.keys.key_words import Key, KeyColumn, key_columns, row_key, rows_up_to
from paimon_spark.merge.keys.rows import combine_rows
from paimon_spark.merge.keys.window import Engine, MergeSpec, Piece, Window


def merge_runs(
    runs: Sequence[Iterator[pa.RecordBatch]],
    spec: MergeSpec,
    output: Sequence[str],
    batch_rows: int = 65536,
    ordered: bool = False,
    engine: Engine = deduplicate,
) -> Iterator[pa.RecordBatch]:
    """The rows of sorted runs with equal keys merged.

    Args:
        runs: batches of each run, all sorted by key, oldest run first (that order is the age where no sequence number
            is read). Batches may be empty, sliced, of any length, and may repeat a key; they hold the key columns, the
            sequence fields, ``_SEQUENCE_NUMBER`` and ``_VALUE_KIND`` as spec says, and the output columns.
        spec: the rules of the merge.
        output: the columns of the result; if empty, its batches have only a number of rows.
        batch_rows: the approximate number of rows of a batch of the result.
        ordered: True sorts the result by key; False avoids moving rows.
        engine: merges the rows of each key.

    Raises:
        CorruptFile: a null in a key column.
        UnsupportedFeature: a key or sequence column of a type without an order.
    """
    merged = (rows for window in windows(runs, spec.key_names) for rows in engine(window, spec, output, ordered))
    return combine_rows(merged, batch_rows, ordered)


def windows(runs: Sequence[Iterator[pa.RecordBatch]], key_names: Sequence[str]) -> Iterator[Window]:
    """The rows of sorted runs in windows, in key order.

    Args:
        runs: batches of each run, all sorted by key, oldest run first (see ``merge_runs``).
        key_names: the key columns in key order.

    Raises:
        CorruptFile: a null in a key column.
        UnsupportedFeature: a key column of a type without an order.
    """
    cursors = [cursor for cursor in (_Cursor(run, key_names) for run in runs) if cursor.open_batch()]
    while cursors:
        bound = min(cursor.last_key for cursor in cursors)
        window = Window(tuple([piece for cursor in cursors for piece in cursor.take_up_to(bound)]))
        cursors = [cursor for cursor in cursors if cursor.is_open]
        yield window


def checked_keys(rows: pa.RecordBatch, key_names: Sequence[str]) -> tuple[KeyColumn, ...]:
    """The key columns of rows of a file.

    Raises:
        CorruptFile: a null in a key column.
        UnsupportedFeature: a type that cannot be a key.
    """
    for name in key_names:
        if nulls := rows.column(name).null_count:
            raise CorruptFile(
                f"merging rows by primary key: key column '{name}' holds {nulls} nulls where none can be; "
                "a file of the table is damaged, or was written by a system that breaks the format"
            )
    return key_columns(rows, key_names)


class _Cursor:
    """A run, and the rows of its open batch that are not yet in a window."""

    def __init__(self, batches: Iterator[pa.RecordBatch], key_names: Sequence[str]) -> None:
        self._batches = batches
        self._key_names = key_names
        self._rows: pa.RecordBatch | None = None
        self._keys: tuple[KeyColumn, ...] = ()
        self._position = 0
        self.last_key: Key = ()

    @property
    def is_open(self) -> bool:
        return self._rows is not None

    def open_batch(self) -> bool:
        """Open the next batch that has rows; False at the end of the run."""
        self._rows = next((batch for batch in self._batches if batch.num_rows), None)
        if self._rows is None:
            return False
        self._position = 0
        self._keys = checked_keys(self._rows, self._key_names)
        self.last_key = row_key(self._keys, self._rows.num_rows - 1)
        return True

    def take_up_to(self, bound: Key) -> Iterator[Piece]:
        """The rows not taken so far with a key of at most bound.

        If they reach the end of a batch, the next one is opened, because it may begin with the same key.
        """
        while self._rows is not None:
            rows, start, count = self._rows, self._position, self._rows.num_rows
            end = count if self.last_key <= bound else rows_up_to(self._keys, bound, start, count)
            if end > start:
                yield Piece(rows, self._keys).part(start, end)
            self._position = end
            if end < count:
                return
            self.open_batch()
