"""Writes the rows of one task to data files (Java: TableWriteImpl, MergeTreeWriter, AppendOnlyWriter)."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow.bucketing import Buckets, assign_buckets, group_rows
from paimon_spark.arrow.raw_values import from_numpy
from paimon_spark.errors import DataError, OptionError
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.options import core_options as o
from paimon_spark.format.options.core_options import MB
from paimon_spark.format.partition import Partition, Place
from paimon_spark.format.paths import POSTPONE_BUCKET, data_file_name
from paimon_spark.format.row_kind import Kinds
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.merge.clustering.sort_keys import sort_keys, sorted_rows
from paimon_spark.merge.keys.window import is_retract
from paimon_spark.merge.runs.write_order import sort_and_merge, sort_input
from paimon_spark.store.metadata.file_paths import bucket_directory
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.partition_times import check_of_partitions
from paimon_spark.store.metadata.partitions import describe_partition
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.read.bucket_filter import bucket_fields
from paimon_spark.store.storage.background import Background
from paimon_spark.store.storage.discard import discard
from paimon_spark.store.write.data_writer import SLICE_ROWS, BucketWriter, file_batch
from paimon_spark.store.write.dynamic_buckets import DynamicBuckets, cross_partition_refusal
from paimon_spark.store.write.file_layout import FileLayout, changelog_layout, file_layout
from paimon_spark.store.write.postpone_files import postpone_layout, unnumbered
from paimon_spark.store.write.write_plan import TASK_STRIDE, WritePlan, plan_write
from paimon_spark.store.write.write_rules import WriteRules, write_rules

APPEND_BUFFER_BYTES = 64 * MB  # rows of append tables are buffered only to avoid writing small groups one by one
MAX_OPEN_FILES = 16  # an open file holds up to a row group in memory

Rows: TypeAlias = npt.NDArray[np.int64]


@dataclass
class _Buffer:
    """Buffered rows, not yet grouped by partition and bucket."""

    batches: list[pa.RecordBatch] = field(default_factory=list)
    kinds: list[Kinds | None] = field(default_factory=list)
    buckets: list[Buckets] = field(default_factory=list)
    bytes: int = 0

    def add(self, batch: pa.RecordBatch, kinds: Kinds | None, buckets: Buckets | None) -> None:
        self.batches.append(batch)
        self.kinds.append(kinds)
        if buckets is not None:
            self.buckets.append(buckets)
        self.bytes += batch.nbytes

    def take(self) -> tuple[pa.RecordBatch, Kinds | None, Buckets | None]:
        """Empties the buffer: all rows as one batch, kinds (None: all inserts) and buckets (None: not given)."""
        kinds = None
        if any(k is not None for k in self.kinds):
            parts = zip(self.batches, self.kinds, strict=True)
            kinds = np.concatenate([np.zeros(b.num_rows, np.int8) if k is None else k for b, k in parts])
        buckets = np.concatenate(self.buckets) if self.buckets else None
        batches, self.batches, self.kinds, self.buckets, self.bytes = self.batches, [], [], [], 0
        return batches[0] if len(batches) == 1 else pa.concat_batches(batches), kinds, buckets


class TableWrite:
    """One task of a write job.

    Rows of a table with a primary key are buffered until ``write-buffer-size`` is reached. Then every (partition,
    bucket) gets its rows as one sorted run of level 0, with one row per key; with ``changelog-producer`` = ``input``
    all these rows are written to a changelog file first. Rows of append tables, and postponed rows, are written in
    order of arrival; with ``clustering.columns``, those of append tables are buffered and sorted too. Nothing is
    visible before a TableCommit commits the messages.
    """

    def __init__(
        self,
        table: Table,
        commit_user: str,
        task_id: int = 0,
        plan: WritePlan | None = None,
        staged: bool = False,
        rules: WriteRules | None = None,
    ) -> None:
        """Writes nothing yet.

        Args:
            table: the table, with the options of this write.
            commit_user: the commit user of the job.
            task_id: unique among the tasks of a job; rows of a higher one are newer.
            plan: made once for all tasks of the job; None makes one here.
            staged: postponed files are never committed, so they have the format that is fastest here.
            rules: of the rows; None: those of the table.

        Raises:
            UnsupportedFeature, OptionError: the table cannot be written.
        """
        check_writable(table.schema, table.options)
        options = table.options
        self._table = table
        self._rules = rules = rules or write_rules(table)
        self._postpones = rules.bucket_mode == BucketMode.POSTPONE_MODE
        if self._postpones:
            self._layout = postpone_layout(table.schema, options, commit_user, task_id, staged)
        else:
            self._layout = file_layout(table.schema, options)
        self._has_buckets = rules.bucket_mode == BucketMode.HASH_FIXED
        self._check_time = check_of_partitions(table.schema, options)
        self._total_buckets = rules.buckets if self._has_buckets or self._postpones else -1
        self._bucket_fields = bucket_fields(table.schema, options)
        plan = plan or plan_write(table)
        self._other_numbers = plan.buckets if self._has_buckets else {}
        self._sequence = plan.first_sequence + TASK_STRIDE * task_id
        self._dynamic: DynamicBuckets | None = None
        if rules.bucket_mode == BucketMode.HASH_DYNAMIC:
            self._dynamic = DynamicBuckets(table, plan.dynamic)
        self._buffer = _Buffer()
        self._sorts = bool(self._layout.keys) and not self._postpones
        waits = self._sorts or rules.clustering is not None
        self._limit = rules.buffer_bytes if waits else APPEND_BUFFER_BYTES
        self._uuid = str(uuid.uuid4())
        self._names = 0
        self._writers: dict[Place, BucketWriter] = {}
        self._changelogs: dict[Place, BucketWriter] = {}
        self._changelog: FileLayout | None = None
        if rules.input_changelog and self._sorts and not plan.overwrites:
            self._changelog = changelog_layout(table.schema, options)
        self._open: dict[Place, None] = {}  # places with an open file, the one written last at the end
        self._writing = Background(limit=3)
        self._closing = Background(limit=64)

    def write(self, batch: pa.RecordBatch, kinds: Kinds | None = None, buckets: Buckets | None = None) -> None:
        """Takes rows.

        Args:
            batch: all columns of the table, in its order and types.
            kinds: 0 +I, 1 -U, 2 +U, 3 -D of each row; None: all are inserts.
            buckets: the bucket of each row of a table with dynamic buckets, if the caller chooses it and gives all rows
                of a bucket to one task; in all calls or none. Cross-partition tables require it.

        Raises:
            DataError: rows that the table cannot hold.
            CorruptFile: the HASH index of a dynamic bucket is missing or damaged.
        """
        if buckets is None and self._rules.bucket_mode == BucketMode.KEY_DYNAMIC:
            raise cross_partition_refusal(self._table.location)
        if buckets is not None:
            kept = self._rules.rows.kept(batch, kinds)
            buckets = buckets if kept is None else buckets[kept]
        batch, kinds = self._rules.rows.prepare(batch, kinds)
        if not batch.num_rows:
            return
        self._buffer.add(batch, kinds, buckets)
        if self._buffer.bytes >= self._limit or not self._is_grouped:
            self._flush()

    def finish(self) -> list[CommitMessage]:
        """Writes the buffered rows; returns the messages, whose files are complete and durable. Ends the task."""
        self._flush()
        for place in list(self._open):
            self._end_file(place)
        self._writing.wait()
        self._closing.wait()
        written = {place: (tuple(writer.files), self._input_files(place)) for place, writer in self._writers.items()}
        messages = [
            CommitMessage(partition, bucket, self._total_buckets, new_files=files, changelog_files=changelog)
            for (partition, bucket), (files, changelog) in written.items()
            if files
        ]
        return messages if self._dynamic is None else self._dynamic.finish(messages)

    def abort(self) -> None:
        """Deletes all files of this task, including those in its messages, which must not be committed."""
        self._writing.stop()
        self._closing.stop()
        writers = (*self._writers.values(), *self._changelogs.values())
        for writer in writers:
            writer.discard()
        if self._dynamic is not None:
            self._dynamic.abort()
        discard(self._table.file_io, [path for writer in writers for path in writer.begun])

    @property
    def _is_grouped(self) -> bool:
        """True if rows must be grouped by partition, bucket or key, or be sorted."""
        of_table = self._table.schema.partition_keys or self._has_buckets
        return bool(self._sorts or of_table or self._rules.clustering is not None)

    def _flush(self) -> None:
        if not self._buffer.batches:
            return
        rows, kinds, buckets = self._buffer.take()
        if self._rules.clustering is not None:
            rows = rows.take(from_numpy(sorted_rows(sort_keys(rows, self._rules.clustering))))
        if self._has_buckets:
            function = self._table.options.value(o.BUCKET_FUNCTION)
            buckets = assign_buckets(rows, self._bucket_fields, self._total_buckets, function)
        if self._postpones and kinds is not None:
            self._check_retractions(rows, kinds)
        if self._dynamic is not None:
            groups = self._dynamic.place(rows, buckets)
        else:
            groups = group_rows(rows, self._table.schema.partition_fields, buckets)
        for partition, bucket, positions in groups:
            if partition in self._other_numbers:
                raise self._wrong_number(partition)
            if self._sorts:
                self._write_run((partition, bucket), rows, kinds, positions)
                continue
            part = rows if len(positions) == rows.num_rows else rows.take(from_numpy(positions))
            if self._postpones:
                bucket, part = POSTPONE_BUCKET, unnumbered(part, None if kinds is None else kinds[positions])
                part = file_batch(self._layout, part)
            self._write((partition, bucket), part)

    def _wrong_number(self, partition: Partition) -> OptionError:
        found, words = self._other_numbers[partition], describe_partition(self._table, partition)
        return OptionError(
            f"writing to {self._table.location}: {words} has {found} buckets, and the table's option 'bucket' is "
            f"{self._total_buckets}. PaimonTable.forPath(spark, path).rescale({self._total_buckets}) brings all rows "
            f"into {self._total_buckets} buckets, with the argument where those of some partitions. Or overwrite it"
        )

    def _check_retractions(self, rows: pa.RecordBatch, kinds: Kinds) -> None:
        """Refuses retractions that the merge would refuse later, when the postponed rows are compacted."""
        retracting = np.flatnonzero(is_retract(kinds))[:1].repeat(2)  # a single row is not merged
        if len(retracting):
            pair = rows.take(from_numpy(retracting))
            for _ in sort_and_merge(pair, self._rules.merge, 0, kinds[retracting], engine=self._rules.engine):
                pass

    def _write_run(self, place: Place, rows: pa.RecordBatch, kinds: Kinds | None, positions: Rows) -> None:
        """Writes the chosen rows as one sorted run, one row per key."""
        if self._changelog is not None:
            self._write_input(self._changelog, place, rows, kinds, positions)
        spec, engine = self._rules.merge, self._rules.engine
        for merged in sort_and_merge(
            rows, spec, self._sequence, kinds, positions, batch_rows=SLICE_ROWS, engine=engine
        ):
            self._write(place, file_batch(self._layout, merged))
        self._sequence += len(positions)
        self._end_file(place)

    def _write_input(
        self, layout: FileLayout, place: Place, rows: pa.RecordBatch, kinds: Kinds | None, positions: Rows
    ) -> None:
        """Writes all chosen rows, numbered as before the merge, to a changelog file (Java: MergeTreeWriter)."""
        writer = self._changelogs.get(place)
        if writer is None:
            writer = self._changelogs[place] = self._new_writer(layout, place)
        for part in sort_input(rows, self._rules.merge, self._sequence, kinds, positions, batch_rows=SLICE_ROWS):
            self._writing.run(partial(writer.write, file_batch(layout, part)))
        self._writing.run(writer.end_file)

    def _input_files(self, place: Place) -> tuple[DataFileMeta, ...]:
        return tuple(self._changelogs[place].files) if place in self._changelogs else ()

    def _new_writer(self, layout: FileLayout, place: Place) -> BucketWriter:
        self._check_partition(place[0])
        return BucketWriter(
            self._table.file_io,
            layout,
            bucket_directory(self._table, *place),
            partial(self._new_name, layout),
            self._closing,
            self._sequence if self._has_buckets else 0,  # without buckets every writer counts from 0, as in Java
        )

    def _check_partition(self, partition: bytes) -> None:
        try:
            if self._check_time is not None:
                self._check_time(partition)
        except ValueError as error:
            raise DataError(
                f"writing to {self._table.location}: {describe_partition(self._table, partition)} says no time as the "
                f"options 'partition.timestamp-*' want it: {error}. Correct the rows, or set "
                f"'{o.PARTITION_TIMESTAMP_FORMAT_STRICT.key}' = 'false'"
            ) from None

    def _write(self, place: Place, part: pa.RecordBatch) -> None:
        """Hands rows to the writer of their bucket, which encodes them concurrently."""
        writer = self._writers.get(place)
        if writer is None:
            writer = self._writers[place] = self._new_writer(self._layout, place)
        self._open.pop(place, None)
        while len(self._open) >= MAX_OPEN_FILES:
            self._end_file(next(iter(self._open)))
        self._open[place] = None
        self._writing.run(partial(writer.write, part))

    def _end_file(self, place: Place) -> None:
        if place in self._open:
            del self._open[place]
            self._writing.run(self._writers[place].end_file)

    def _new_name(self, layout: FileLayout) -> str:
        number = self._names
        self._names += 1
        return data_file_name(layout.prefix, self._uuid, number, layout.file_format, layout.suffix)
