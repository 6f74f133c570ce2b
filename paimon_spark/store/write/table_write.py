"""Writes the rows of one task to data files (Java: TableWriteImpl, MergeTreeWriter, AppendOnlyWriter)."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow.raw_values import from_numpy
from paimon_spark.arrow.row_buckets import Buckets
from paimon_spark.format.bucket import Place
from paimon_spark.format.options.option import MB
from paimon_spark.format.row_kind import Kinds, is_retract
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.merge.clustering.sort_keys import sort_keys, sorted_rows
from paimon_spark.merge.keys.rows import MOST_BYTES
from paimon_spark.merge.runs.write_order import sort_and_merge, sort_input
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.storage.files import discard
from paimon_spark.store.write.bucket_files import BucketFiles, WriterThreads
from paimon_spark.store.write.data_writer import SLICE_ROWS, file_batch
from paimon_spark.store.write.file_layout import changelog_layout, file_layout
from paimon_spark.store.write.placement import cross_partition_refusal, open_placement
from paimon_spark.store.write.row_block import RowBlock
from paimon_spark.store.write.write_plan import TASK_STRIDE, WritePlan, plan_write
from paimon_spark.store.write.write_rules import WriteRules, write_rules

APPEND_BUFFER_BYTES = 64 * MB  # rows of append tables are buffered only to avoid writing small groups one by one

Rows: TypeAlias = npt.NDArray[np.int64]


class _Buffer:
    """Buffered rows, not yet grouped by partition and bucket.

    Attributes:
        block: the rows.
    """

    def __init__(self, limit: int) -> None:
        """
        Args:
            limit: rows of so many bytes are written.
        """
        self.block = RowBlock(limit)
        self._kinds: list[Kinds | int] = []  # or how many rows are inserts
        self._buckets: list[Buckets] = []

    def add(self, batch: pa.RecordBatch, kinds: Kinds | None, buckets: Buckets | None) -> None:
        self.block.add(batch)
        self._kinds.append(batch.num_rows if kinds is None else kinds)
        if buckets is not None:
            self._buckets.append(buckets)

    @property
    def kinds(self) -> Kinds | None:
        """The kind of each row; None: all are inserts."""
        if all(isinstance(part, int) for part in self._kinds):
            return None
        return np.concatenate([np.zeros(part, np.int8) if isinstance(part, int) else part for part in self._kinds])

    @property
    def buckets(self) -> Buckets | None:
        """The bucket of each row; None: not given."""
        return np.concatenate(self._buckets) if self._buckets else None


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
        check_writable(table.schema, table.settings)
        self._table = table
        self._rules = rules = rules or write_rules(table)
        plan = plan or plan_write(table)
        self._postpones = rules.bucket_mode == BucketMode.POSTPONE_MODE
        if self._postpones:
            from paimon_spark.store.write.postponed_files import postpone_layout

            self._layout = postpone_layout(table.schema, table.settings, commit_user, task_id, staged)
        else:
            self._layout = file_layout(table.schema, table.settings)
        if self._layout.packs:  # staged files are written again, and are deleted
            self._layout = replace(self._layout, packs=() if staged else self._layout.packs, fills_packs=not staged)
        self._sorts = bool(self._layout.keys) and not self._postpones
        self._placement = open_placement(table, rules.bucket_mode, rules.buckets, plan)
        self._sequence = plan.first_sequence + TASK_STRIDE * task_id
        self._buffer = _Buffer(self._limit)
        self._threads = WriterThreads()
        # without buckets the numbers of every bucket begin at 0, as in Java
        first = self._sequence if rules.bucket_mode == BucketMode.HASH_FIXED else 0
        self._files = BucketFiles(table, self._layout, self._threads, first)
        self._changelog: BucketFiles | None = None
        if rules.input_changelog and self._sorts and not plan.overwrites:
            self._changelog = BucketFiles(table, changelog_layout(table.schema, table.settings), self._threads)

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
        if self._buffer.block.bytes + batch.nbytes > MOST_BYTES:
            self._flush()
        self._buffer.add(batch, kinds, buckets)
        if self._buffer.block.bytes >= self._limit:
            self._flush()

    def finish(self) -> list[CommitMessage]:
        """Writes the buffered rows; returns the messages, whose files are complete and durable. Ends the task."""
        self._flush()
        self._files.end_files()
        self._threads.wait()
        inputs = {} if self._changelog is None else self._changelog.files
        messages = [
            CommitMessage(*place, self._placement.total_buckets, new_files=files, changelog_files=inputs.get(place, ()))
            for place, files in self._files.files.items()
            if files
        ]
        return self._placement.finish(messages)

    def abort(self) -> None:
        """Deletes all files of this task, including those in its messages, which must not be committed."""
        self._threads.stop()
        begun = self._files.discard() + ([] if self._changelog is None else self._changelog.discard())
        self._placement.abort()
        discard(self._table.file_io, begun)

    @property
    def _limit(self) -> int:
        """How many bytes of rows wait: those that are sorted wait for many, others only for a group worth writing."""
        if self._sorts or self._rules.clustering is not None:
            return self._rules.buffer_bytes
        of_place = self._table.schema.partition_keys or self._rules.bucket_mode == BucketMode.HASH_FIXED
        return APPEND_BUFFER_BYTES if of_place else 0

    def _flush(self) -> None:
        if not self._buffer.block.rows:
            return
        buffer, self._buffer = self._buffer, _Buffer(self._limit)
        rows, kinds, buckets = buffer.block.joined(), buffer.kinds, buffer.buckets
        if self._rules.clustering is not None:
            rows = rows.take(from_numpy(sorted_rows(sort_keys(rows, self._rules.clustering))))
        if self._postpones and kinds is not None:
            self._check_retractions(rows, kinds)
        for partition, bucket, positions in self._placement.place(rows, buckets):
            place = (partition, bucket)
            if self._sorts:
                self._write_run(place, rows, kinds, positions)
                continue
            part = rows if len(positions) == rows.num_rows else rows.take(from_numpy(positions))
            if self._postpones:
                from paimon_spark.store.write.postponed_files import unnumbered

                part = file_batch(self._layout, unnumbered(part, None if kinds is None else kinds[positions]))
            self._files.write(place, part)

    def _check_retractions(self, rows: pa.RecordBatch, kinds: Kinds) -> None:
        """Refuses retractions that the merge would refuse later, when the postponed rows are compacted."""
        retracting = np.flatnonzero(is_retract(kinds))[:1].repeat(2)  # a single row is not merged
        if len(retracting):
            pair = rows.take(from_numpy(retracting))
            for _ in sort_and_merge(pair, self._rules.merge, 0, kinds[retracting], engine=self._rules.engine):
                pass

    def _write_run(self, place: Place, rows: pa.RecordBatch, kinds: Kinds | None, positions: Rows) -> None:
        """Writes the chosen rows as one sorted run, one row per key."""
        spec, engine = self._rules.merge, self._rules.engine
        if self._changelog is not None:  # all rows, numbered as before the merge (Java: MergeTreeWriter)
            for part in sort_input(rows, spec, self._sequence, kinds, positions, batch_rows=SLICE_ROWS):
                self._changelog.write(place, file_batch(self._changelog.layout, part))
            self._changelog.end_file(place)
        for merged in sort_and_merge(
            rows, spec, self._sequence, kinds, positions, batch_rows=SLICE_ROWS, engine=engine
        ):
            self._files.write(place, file_batch(self._layout, merged))
        self._sequence += len(positions)
        self._files.end_file(place)
