"""Reduces the number of sorted runs to open at once by merging some into local files first (Java: MergeSorter).

A writer that never compacts adds a run with every task of every commit. Each open run costs an open file and a batch in
memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import pyarrow as pa

from paimon_spark.format.types import DataField
from paimon_spark.merge.engines.every_row import every_row
from paimon_spark.merge.keys.window import MergeSpec
from paimon_spark.merge.runs.sort_merge import merge_runs
from paimon_spark.store.read.sorted_runs import spilled_run

MOST_RUNS = 128


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
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._files = 0

    def __enter__(self) -> RunSpill:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._folder is not None:
            self._folder.cleanup()

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
            one = SizedRun(spilled_run(merged, self._new_file()), sum(run.rows for run in chosen))
            left[start : start + count] = [one]
        return [run.batches for run in left]

    def _new_file(self) -> Path:
        self._folder = self._folder or tempfile.TemporaryDirectory(prefix="paimon-runs-")
        self._files += 1
        return Path(self._folder.name, f"run-{self._files}")


def _smallest(runs: Sequence[SizedRun], count: int) -> int:
    """The position of the first of count neighbouring runs with the fewest rows together."""
    size = sum(run.rows for run in runs[:count])
    best, start = size, 0
    for i in range(count, len(runs)):
        size += runs[i].rows - runs[i - count].rows
        if size < best:
            best, start = size, i - count + 1
    return start
