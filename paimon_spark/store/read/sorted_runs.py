"""Sorts rows into runs, and merges runs that are too many to be open at once, through temporary local files.

Reduces the number of sorted runs to open at once by merging some into local files first (Java: MergeSorter). A writer
that never compacts adds a run with every task of every commit. Each open run costs an open file and a batch in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa

from paimon_spark.format.options.option import MB
from paimon_spark.format.row_kind import Kinds
from paimon_spark.format.types import DataField
from paimon_spark.merge.keys.key_words import key_columns, key_words
from paimon_spark.merge.keys.rows import take, take_rows
from paimon_spark.merge.keys.window import Engine, MergeSpec, Window
from paimon_spark.merge.keys.winners import order_unsorted_rows, spare_width
from paimon_spark.merge.runs.sort_merge import merge_runs
from paimon_spark.merge.runs.write_order import sort_and_merge
from paimon_spark.store.storage.spill import SpillFolder, spilling

RUN_BYTES = 64 * MB
MEMORY_BYTES = 128 * MB
_BATCH_ROWS = 16384
MOST_RUNS = 128


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
    with SpillFolder("paimon-runs-") as folder:
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
                runs.append(spilled_run(run, folder.new_file()))
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
    """Writes the run to a file and returns an iterator that reads it batch by batch.

    Raises:
        StorageError: the disk of temporary files is full; or what the run itself raises.
    """
    writer: pa.ipc.RecordBatchStreamWriter | None = None
    with ExitStack() as closing:
        with spilling(path):
            sink = closing.enter_context(pa.OSFile(str(path), "wb"))
        for batch in run:
            with spilling(path):
                writer = writer or pa.ipc.new_stream(sink, batch.schema)
                writer.write_batch(batch)
        if writer is not None:
            with spilling(path):
                writer.close()
    return _batches_of(path) if writer is not None else iter(())


def _batches_of(path: Path) -> Iterator[pa.RecordBatch]:
    with ExitStack() as closing:
        with spilling(path):
            source = closing.enter_context(pa.OSFile(str(path), "rb"))
            stream = closing.enter_context(pa.ipc.open_stream(source))
        yield from stream


@dataclass(frozen=True)
class SizedRun:
    """A run that has not been read yet; rows is their approximate number."""

    batches: Iterator[pa.RecordBatch]
    rows: int


class RunSpill:
    """A context that holds files of merged runs and deletes them at the end."""

    def __init__(self, most_runs: int = MOST_RUNS) -> None:
        """A context for merged runs.

        Args:
            most_runs: the most runs that may be open at once; at least 2.
        """
        self.most_runs = most_runs
        self._folder = SpillFolder("paimon-runs-")

    def __enter__(self) -> RunSpill:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.__exit__(kind, error, trace)

    def fewer(
        self, runs: Sequence[SizedRun], key_fields: Sequence[DataField], columns: Sequence[str], batch_rows: int
    ) -> list[Iterator[pa.RecordBatch]]:
        """At most ``most_runs`` runs with the same rows. Only neighbours are merged, so older runs stay before newer.

        Args:
            runs: the runs, oldest first, as for merge_runs.
            key_fields: the columns that the runs are sorted by.
            columns: the columns of their batches.
            batch_rows: the approximate number of rows of a batch of a new run.
        """
        left = list(runs)
        while len(left) > self.most_runs:
            count = min(self.most_runs, len(left) - self.most_runs + 1)
            start = _smallest(left, count)
            chosen = left[start : start + count]
            spec = MergeSpec(tuple(key_fields), has_sequence=False, has_kind=False)
            rows = [run.batches for run in chosen]
            merged = merge_runs(rows, spec, columns, batch_rows, ordered=True, engine=every_row)
            one = SizedRun(spilled_run(merged, self._folder.new_file()), sum(run.rows for run in chosen))
            left[start : start + count] = [one]
        return [run.batches for run in left]


def _smallest(runs: Sequence[SizedRun], count: int) -> int:
    """The position of the first of count neighbouring runs with the fewest rows together."""
    starts = range(len(runs) - count + 1)
    return min(starts, key=lambda start: sum(run.rows for run in runs[start : start + count]))


def every_row(window: Window, spec: MergeSpec, output: Sequence[str], ordered: bool) -> Iterator[pa.RecordBatch]:
    """All rows of a window in key order, those of one key in the order of the runs; columns ``output``."""
    pieces = [piece.rows.select(output) for piece in window.pieces]
    if len(pieces) == 1:
        return iter(pieces)
    return take_rows(pieces, window.groups.order)


class SortedChunks:
    """A context that sorts rows in chunks, which wait in memory or in temporary files that are deleted at its end."""

    def __init__(self, chunk_bytes: int = RUN_BYTES, memory_bytes: int = MEMORY_BYTES) -> None:
        """A context without chunks.

        Args:
            chunk_bytes: about so many bytes are sorted at once.
            memory_bytes: the bytes of chunks that wait in memory; further ones wait in files.
        """
        self._chunk_bytes = chunk_bytes
        self._left = memory_bytes
        self._folder = SpillFolder("paimon-chunks-")

    def __enter__(self) -> SortedChunks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.__exit__(kind, error, trace)

    def sort(self, batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> list[SizedRun]:
        """The rows as sorted runs; of equal rows the earlier one comes first.

        Args:
            batches: the rows; all are read at once.
            names: the columns to sort by, the most important first, without nulls.
        """
        return [self._sorted(chunk, names) for chunk in self._chunks(batches)]

    def _chunks(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            if not batch.num_rows:  # as of a file whose rows are all deleted
                continue
            waiting.append(batch)
            size += batch.nbytes
            if size >= self._chunk_bytes:
                yield pa.concat_batches(waiting)
                waiting, size = [], 0
        if waiting:
            yield pa.concat_batches(waiting)

    def _sorted(self, chunk: pa.RecordBatch, names: Sequence[str]) -> SizedRun:
        width = spare_width(chunk.num_rows)
        words = key_words(key_columns(chunk, names), None, width)
        rows = take(chunk, order_unsorted_rows(words, width))
        parts = (rows.slice(start, _BATCH_ROWS) for start in range(0, rows.num_rows, _BATCH_ROWS))
        if rows.nbytes <= self._left:
            self._left -= rows.nbytes
            return SizedRun(parts, rows.num_rows)
        return SizedRun(spilled_run(parts, self._folder.new_file()), rows.num_rows)
