"""One task that writes merged rows of buckets again, without the deleted ones, and tells of these in the changelog.

Java rewrites files of such tables too, and its changelog does not tell of the deleted rows: with `changelog-producer` =
input it tells of the rows that stay, as inserts (PaimonSparkWriter writes them like any others).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.bucketing import Buckets
from paimon_spark.format.options.engines import ChangelogProducer
from paimon_spark.format.row_kind import DELETE
from paimon_spark.store.metadata.file_paths import created_paths
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.storage.discard import discard
from paimon_spark.store.write.postpone_write import FixedBucketWrite, TaskWrite
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.store.write.write_plan import WritePlan
from paimon_spark.store.write.write_rules import WriteRules, write_rules


def tells_changes(table: Table) -> bool:
    """True if the table has a changelog, which must tell of deleted rows."""
    return table.settings.changelog_producer is not ChangelogProducer.NONE


class BucketRewrite:
    """Takes the rows that stay, and those that go, each with its bucket; all rows of a bucket go to one task."""

    def __init__(self, table: Table, commit_user: str, task_id: int, plan: WritePlan) -> None:
        """Writes nothing yet.

        Args:
            table, commit_user, task_id, plan: as of TableWrite.
        """
        rules = write_rules(table).of_stored_rows()
        self._table = table
        self._stays = _open_write(table, commit_user, task_id, plan, rules)
        self._goes = _open_write(table, commit_user, task_id, plan, replace(rules, input_changelog=True))

    def keep(self, rows: pa.RecordBatch, buckets: Buckets) -> None:
        """Takes rows that stay as they are."""
        self._stays.write(rows, None, buckets)

    def remove(self, rows: pa.RecordBatch, buckets: Buckets) -> None:
        """Takes rows that go; where the table has a changelog, it gets them as rows of kind -D."""
        if tells_changes(self._table):
            self._goes.write(rows, np.full(rows.num_rows, DELETE, np.int8), buckets)

    def finish(self) -> list[CommitMessage]:
        """The messages, whose files are complete: new files of the rows that stay, changelog files of the others."""
        stays, goes = self._stays.finish(), self._goes.finish()
        made = [path for message in goes for path in created_paths(self._table, replace(message, changelog_files=()))]
        discard(self._table.file_io, made)
        return [*stays, *(replace(message, new_files=(), index_entries=(), new_hashes=None) for message in goes)]

    def abort(self) -> None:
        """Deletes all files of this task, which must not be committed."""
        self._stays.abort()
        self._goes.abort()


def _open_write(table: Table, commit_user: str, task_id: int, plan: WritePlan, rules: WriteRules) -> TaskWrite:
    """Writes rows with the kinds that they are given, into the buckets that they are in."""
    if table.bucket_mode is BucketMode.POSTPONE_MODE:
        return FixedBucketWrite(table, commit_user, task_id, plan, rules)
    return TableWrite(table, commit_user, task_id, plan, rules=rules)
