"""Batches of the size in which Spark takes rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

MIN_BATCH_ROWS = 10_000
MAX_BATCH_ROWS = 65_536


def rebatch(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Combines rows into batches that are neither tiny nor huge: Spark pays a message and memory for each batch."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        for start in range(0, batch.num_rows, MAX_BATCH_ROWS):
            held.append(batch.slice(start, MAX_BATCH_ROWS))
            rows += held[-1].num_rows
            if rows >= MIN_BATCH_ROWS:
                yield _joined(held)
                held, rows = [], 0
    if held:
        yield _joined(held)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
