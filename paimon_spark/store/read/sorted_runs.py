"""Sorts unsorted rows into runs; runs that do not fit into memory are stored in temporary local files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa

from paimon_spark.format.options.option import MB
from paimon_spark.format.row_kind import Kinds
from paimon_spark.merge.keys.window import Engine, MergeSpec
from paimon_spark.merge.runs.write_order import sort_and_merge

RUN_BYTES = 64 * MB
MEMORY_BYTES = 128 * MB
_BATCH_ROWS = 16384


@contextmanager
def sorted_runs(
    rows: Iterator[tuple[pa.RecordBatch, Kinds]],
    spec: MergeSpec,
    first_sequence: int,
    engine: Engine,
    run_bytes: int = RUN_BYTES,
    memory_bytes: int = MEMORY_BYTES,
) -> Iterator[list[Iterator[pa.RecordBatch]]]:
    """A context with the rows as runs for merge_runs, with sequence numbers and kinds; a later run is newer.

    The temporary files are deleted at the end of the context.

    Args:
        rows: in the order they were written, with the kind of each.
        spec, engine: as for sort_and_merge.
        first_sequence: the sequence number of the first row.
        run_bytes: the bytes that are sorted at once.
        memory_bytes: the bytes of runs that are kept in memory; further runs are written to files.
    """
    with tempfile.TemporaryDirectory(prefix="paimon-runs-") as folder:
        runs: list[Iterator[pa.RecordBatch]] = []
        held, sequence = 0, first_sequence
        for batch, kinds in _chunks(rows, run_bytes):
            run = sort_and_merge(batch, spec, sequence, kinds, batch_rows=_BATCH_ROWS, engine=engine)
            sequence += batch.num_rows
            if held + batch.nbytes <= memory_bytes:
                kept = list(run)
                held += sum(part.nbytes for part in kept)
                runs.append(iter(kept))
            else:
                runs.append(spilled_run(run, Path(folder, f"run-{len(runs)}")))
        yield runs


def _chunks(rows: Iterator[tuple[pa.RecordBatch, Kinds]], run_bytes: int) -> Iterator[tuple[pa.RecordBatch, Kinds]]:
    """The rows in batches of about run_bytes."""
    batches: list[pa.RecordBatch] = []
    kinds: list[Kinds] = []
    size = 0
    for batch, codes in rows:
        batches.append(batch)
        kinds.append(codes)
        size += batch.nbytes
        if size >= run_bytes:
            yield pa.concat_batches(batches), np.concatenate(kinds)
            batches, kinds, size = [], [], 0
    if batches:
        yield pa.concat_batches(batches), np.concatenate(kinds)


def spilled_run(run: Iterator[pa.RecordBatch], path: Path) -> Iterator[pa.RecordBatch]:
    """Writes the run to a file and returns an iterator that reads it batch by batch."""
    writer: pa.ipc.RecordBatchStreamWriter | None = None
    with pa.OSFile(str(path), "wb") as sink:
        for batch in run:
            writer = writer or pa.ipc.new_stream(sink, batch.schema)
            writer.write_batch(batch)
        if writer is not None:
            writer.close()
    return _batches_of(path) if writer is not None else iter(())


def _batches_of(path: Path) -> Iterator[pa.RecordBatch]:
    with pa.OSFile(str(path), "rb") as source, pa.ipc.open_stream(source) as stream:
        yield from stream
