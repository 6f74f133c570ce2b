"""Compacts a bucket whose compacted files are sorted by other columns than the key (`pk-clustering-override`).

Java: ClusteringCompactManager, ClusteringKeyIndex, ClusteringFileRewriter (release 2.0). Java keeps an index of the
keys of all compacted files on the local disk and looks each new key up. Here the keys of the compacted files are sorted
in chunks, and the new rows, which are in key order, find theirs in one pass (``compact_merge``): the rows that they
replace are deleted by deletion vectors, or with first-row the new ones are left out. The rows that stay are sorted by
the clustering columns and merged with compacted files.

Two differences of files, not of rows: a retraction is not written, as it has done its work; and a full compaction makes
one sorted run of all rows, while Java leaves the files that it has just made beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow.predicates.predicate import TRUE, Compare, Op, Predicate, and_
from paimon_spark.arrow.raw_values import from_numpy, to_numpy
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.row_kind import is_retract
from paimon_spark.format.rules.key_clustering import clustering_fields
from paimon_spark.format.schema import FILE_NUMBER, LEVEL, POSITION, VALUE_KIND
from paimon_spark.format.types import FLOATS, DataField
from paimon_spark.merge.clustering.merge_order import RowOrder, order_fields_of, order_names, with_order
from paimon_spark.merge.compaction.merge import compact_merge, compact_rules
from paimon_spark.merge.engines.lookup import with_level
from paimon_spark.merge.keys.window import MergeSpec
from paimon_spark.merge.runs.sort_merge import merge_runs
from paimon_spark.store.compact.bucket_rows import SYSTEM_FIELDS, BucketRows
from paimon_spark.store.compact.live_buckets import types_are_now
from paimon_spark.store.compact.output import CompactOutput
from paimon_spark.store.compact.task import ClusterTask, CompactTaskResult
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.pruning.file_filter import FileFilter
from paimon_spark.store.read.file_rows import FileRequest
from paimon_spark.store.read.sorted_runs import RunSpill, SizedRun, SortedChunks, every_row

BATCH_ROWS = 65536
_MERGED_ROWS = 16384  # of a run that is open in a merge


def compact_clustered(table: Table, task: ClusterTask, rows: BucketRows, output: CompactOutput) -> CompactTaskResult:
    """Runs the task.

    Args:
        table: with the schema that the new files get.
        task: of one bucket.
        rows: reads the files of the bucket.
        output: takes the new rows.

    Raises:
        CorruptFile: a file of the bucket is missing or damaged.
        DataError: rows that the merge engine cannot merge.
    """
    with SortedChunks() as chunks, RunSpill() as spill:
        return _Clustering(table, task, rows, output, chunks, spill).result()


class _Clustering:
    """One run of a ClusterTask."""

    def __init__(
        self,
        table: Table,
        task: ClusterTask,
        rows: BucketRows,
        output: CompactOutput,
        chunks: SortedChunks,
        spill: RunSpill,
    ) -> None:
        self._table = table
        self._task = task
        self._rows = rows
        self._output = output
        self._chunks = chunks
        self._spill = spill
        self._fields = clustering_fields(table.schema, table.settings)
        rules = compact_rules(table.schema, table.settings, task.output_level, drop_deletes=True)
        # As in Java the order of the files decides which row is newer: jobs that write at once number their rows alike.
        self._rules = replace(rules, spec=replace(rules.spec, has_sequence=False))
        self._replaced: dict[int, list[npt.NDArray[np.int64]]] = {}

    def result(self) -> CompactTaskResult:
        task = self._task
        new = self._by_values(self._new_rows())
        old = [[run for file in group for run in self._sorted_file(file)] for group in task.groups]
        if task.together:
            self._write([*(run for runs in old for run in runs), *new])
        else:
            for runs in (new, *old):
                self._write(runs)
        after, _ = self._output.wait()
        gone = {file.file_name for file in task.files}
        return CompactTaskResult(
            partition=task.partition,
            bucket=task.bucket,
            total_buckets=task.total_buckets,
            before=task.files,
            after=tuple(after),
            superseded={n: p.astype("<i8").tobytes() for n, p in self._positions.items() if n not in gone},
            created=tuple(self._output.created),
            rows_read=self._rows.rows_read,
            rows_written=self._output.rows_written,
        )

    # ------------------------------------------------------------------------------------------------------- new rows

    def _new_rows(self) -> Iterator[pa.RecordBatch]:
        """The new row of each key, in key order, without retractions; notes the rows that they replace."""
        if not self._task.new:
            return
        keys, request = self._table.schema.key_fields, FileRequest(self._table.schema.fields, SYSTEM_FIELDS)
        files = [SizedRun(self._leveled(file, request), file.row_count) for file in self._task.new]
        runs = self._spill.fewer(files, keys, [*self._rules.output, LEVEL], BATCH_ROWS)
        above = [_SortedKeys(self._old_keys())] if self._task.compacted else []
        for batch in compact_merge(runs, above, self._rules, BATCH_ROWS):
            if batch.superseded is not None:
                for number in np.unique(batch.superseded.files).tolist():
                    positions = batch.superseded.positions[batch.superseded.files == number]
                    self._replaced.setdefault(number, []).append(positions)
            if batch.rows is not None:
                yield batch.rows

    def _leveled(self, file: DataFileMeta, request: FileRequest) -> Iterator[pa.RecordBatch]:
        for batch in self._rows.read(file, request, _MERGED_ROWS):
            yield with_level(batch, file.level)

    def _old_keys(self) -> Iterator[pa.RecordBatch]:
        """The keys of the compacted files that may be among the new ones, in key order, each with its place."""
        fields, condition = self._table.schema.key_fields, self._near_new_keys()
        names = [field.name for field in fields]
        keep = FileFilter(condition, self._table.schema, self._table.schemas)
        near = {file.file_name for file in keep.matching_keys(self._task.compacted)}
        request = FileRequest(fields, prunes=condition, positions=True)
        batches = (
            with_level(_numbered(batch, number), file.level)
            for number, file in enumerate(self._task.compacted)
            if file.file_name in near
            for batch in self._rows.read(file, request, BATCH_ROWS)
        )
        runs = self._chunks.sort(batches, names)
        columns = [*names, POSITION, LEVEL, FILE_NUMBER]
        spec = MergeSpec(fields, has_sequence=False, has_kind=False)
        merged = self._spill.fewer(runs, fields, columns, _MERGED_ROWS)
        return merge_runs(merged, spec, columns, BATCH_ROWS, ordered=True, engine=every_row)

    def _near_new_keys(self) -> Predicate:
        """A condition on the first column of the key that all new rows fulfil."""
        first, files = self._table.schema.key_fields[0], self._task.new
        if first.type.root in FLOATS or any(file.schema_id != self._table.schema.id for file in files):
            return TRUE  # statistics leave out NaN; the keys of other schemas may have other types
        types = [field.type for field in self._table.schema.key_fields]
        low = min(decode_arity_row(file.min_key, types)[0] for file in files)
        high = max(decode_arity_row(file.max_key, types)[0] for file in files)
        return and_(Compare((first.name,), Op.GE, low), Compare((first.name,), Op.LE, high))

    # ---------------------------------------------------------------------------------------------------------- merge

    def _by_values(self, rows: Iterable[pa.RecordBatch]) -> list[SizedRun]:
        """The rows as runs that are sorted by the clustering columns, with the columns that a merge needs."""
        runs = self._chunks.sort(with_order(rows, self._fields), order_names(self._fields))
        return [replace(run, batches=_renumbered(run.batches, self._fields)) for run in runs]

    def _sorted_file(self, file: DataFileMeta) -> list[SizedRun]:
        """A compacted file as a run, or as several if its rows are in another order than that of the columns.

        They are if a column has changed its type since, and where Java 1.4 has written the file, which orders wrongly
        what is equal in the first bytes.
        """
        rows = self._live(file)
        if types_are_now(self._table, self._fields, file.schema_id) and self._is_sorted(file):
            return [SizedRun(with_order(rows, self._fields), file.row_count)]
        return self._by_values(rows)

    def _is_sorted(self, file: DataFileMeta) -> bool:
        """True if its rows are; the clustering columns alone are read for that."""
        order, rows = RowOrder(self._fields), BucketRows(self._table, self._task)
        batches = rows.read(file, FileRequest(tuple(dict.fromkeys(self._fields))), BATCH_ROWS)
        return all(order.goes_on(batch) for batch in batches)

    def _live(self, file: DataFileMeta) -> Iterator[pa.RecordBatch]:
        """The rows of a compacted file that no new row replaces, without retractions."""
        replaced = self._positions.get(file.file_name)
        request = FileRequest(self._table.schema.fields, SYSTEM_FIELDS, positions=replaced is not None)
        for batch in self._rows.read(file, request, _MERGED_ROWS):
            stays = ~is_retract(to_numpy(batch.column(VALUE_KIND)))
            if replaced is not None:
                stays &= ~np.isin(to_numpy(batch.column(POSITION)), replaced)
            batch = batch.select(self._rules.output)
            yield batch if stays.all() else batch.filter(from_numpy(stays))

    def _write(self, runs: Sequence[SizedRun]) -> None:
        """Writes the rows of the runs as files that are sorted together."""
        if runs:
            key, names = order_fields_of(self._fields), self._rules.output
            spec = MergeSpec(key, has_sequence=False, has_kind=False)
            fewer = self._spill.fewer(runs, key, [*names, *spec.key_names], _MERGED_ROWS)
            for batch in merge_runs(fewer, spec, names, BATCH_ROWS, ordered=True, engine=every_row):
                self._output.write(batch)
            self._output.end_files()

    @cached_property
    def _positions(self) -> dict[str, npt.NDArray[np.int64]]:
        """By the name of each compacted file the ascending positions of the rows that new ones replace.

        Complete, and so asked for, only when all new rows have been read.
        """
        files = self._task.compacted
        return {files[number].file_name: np.sort(np.concatenate(p)) for number, p in self._replaced.items()}


class _SortedKeys:
    """Keys in order, as ``UpperRun``."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches

    def next_from(self, key: pa.RecordBatch) -> pa.RecordBatch | None:
        """The next batch, or None; keys before the given one are passed over by the caller."""
        return next(self._batches, None)


def _numbered(batch: pa.RecordBatch, number: int) -> pa.RecordBatch:
    """The rows with the number of their file."""
    numbers = pa.repeat(pa.scalar(number, pa.int32()), batch.num_rows)
    return batch.append_column(pa.field(FILE_NUMBER, pa.int32(), nullable=False), numbers)


def _renumbered(batches: Iterable[pa.RecordBatch], fields: Sequence[DataField]) -> Iterator[pa.RecordBatch]:
    """Sorted rows of with_order, counted anew in their order."""
    names = {field.name for field in order_fields_of(fields)}
    plain = (batch.select([name for name in batch.schema.names if name not in names]) for batch in batches)
    return with_order(plain, fields)
