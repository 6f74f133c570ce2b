"""The write of one task, whatever the bucket mode of the table.

Batch writes to a table with postponed buckets, `postpone.batch-write-fixed-bucket` = true (features 2.2): rows of a
partition that has buckets are written to these at once. The number of buckets of a new partition is known only when all
its rows are written: they are staged in files that are never committed, and moved before the commit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.row_buckets import Buckets, group_rows
from paimon_spark.format.row_kind import Kinds
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.postponed import bucket_number
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.placement import settled_number, writes_fixed_buckets
from paimon_spark.store.write.table_write import Rows, TableWrite
from paimon_spark.store.write.write_plan import WritePlan, plan_write
from paimon_spark.store.write.write_rules import WriteRules, write_rules


class FixedBucketWrite:
    """One task of a write job; rows are written to the buckets of their partition, or staged if it has none yet."""

    def __init__(
        self,
        table: Table,
        commit_user: str,
        task_id: int,
        plan: WritePlan,
        rules: WriteRules | None = None,
        moves_rows: bool = False,
    ) -> None:
        """
        Args:
            table, commit_user, task_id, plan, rules: as of TableWrite.
            moves_rows: the rows are in the table already, and older than what others write concurrently.

        Raises:
            UnsupportedFeature: the table cannot be written.
            OptionError: the table cannot be written, or an option postpone.* is not positive.
        """
        self._table = table
        self._user = commit_user
        self._task = task_id
        self._number_task = 0 if moves_rows else task_id + 1
        self._plan = plan
        self._rules = rules or write_rules(table)
        self._share = len(set(plan.buckets.values())) + 1
        self._writes: dict[int | None, TableWrite] = {}  # by number of buckets; None: staged
        bucket_number(0, 0, table.settings)  # a bad option is refused before the first row
        check_writable(table.schema, table.settings)

    def write(self, batch: pa.RecordBatch, kinds: Kinds | None = None, buckets: Buckets | None = None) -> None:
        """As TableWrite.write, but for the buckets, which the keys choose."""
        batch, kinds = self._rules.rows.prepare(batch, kinds)
        by_number: dict[int | None, list[Rows]] = {}
        for partition, _, positions in group_rows(batch, self._table.schema.partition_fields, None):
            by_number.setdefault(settled_number(self._table, self._plan, partition), []).append(positions)
        for number, parts in by_number.items():
            if len(by_number) == 1:
                self._write_of(number).write(batch, kinds)
                continue
            chosen = np.sort(np.concatenate(parts))
            self._write_of(number).write(batch.take(pa.array(chosen)), None if kinds is None else kinds[chosen])

    def finish(self) -> list[CommitMessage]:
        """Writes the buffered rows; returns the messages. Those of bucket -2 name staged files for ``place_staged``."""
        return [message for write in self._writes.values() for message in write.finish()]

    def abort(self) -> None:
        """Deletes all files of this task. Only for a task whose messages are not committed."""
        for write in self._writes.values():
            write.abort()

    def _write_of(self, number: int | None) -> TableWrite:
        write = self._writes.get(number)
        if write is None:
            if number is None:
                write = TableWrite(self._table, self._user, self._task, self._plan, True, self._rules)
            else:
                rules, plan = self._rules.with_buckets(number, self._share), replace(self._plan, buckets={})
                write = TableWrite(self._table, self._user, self._number_task, plan, rules=rules)
            self._writes[number] = write
        return write


TaskWrite: TypeAlias = TableWrite | FixedBucketWrite


def open_task_write(table: Table, commit_user: str, task_id: int = 0, plan: WritePlan | None = None) -> TaskWrite:
    """The write of one task, by the options of the table.

    Args:
        table: the table, with the options of this write.
        commit_user: the commit user of the job.
        task_id: unique among the tasks of a job; rows of a higher one are newer.
        plan: made once for all tasks of the job; None makes one here.

    Raises:
        UnsupportedFeature, OptionError: the table cannot be written.
    """
    if not writes_fixed_buckets(table):
        return TableWrite(table, commit_user, task_id, plan)
    return FixedBucketWrite(table, commit_user, task_id, plan or plan_write(table))
