"""Replaces whole buckets of a table with keys by their merged rows without the deleted ones.

For merge engines that cannot remove a row by one of kind -D. Java rewrites the touched files instead, and needs a table
that is fully compacted (PaimonRowLevelCommand.findTouchedFiles); a bucket is always complete.

One task that writes merged rows of buckets again, without the deleted ones, and tells of these in the changelog. Java
rewrites files of such tables too, and its changelog does not tell of the deleted rows: with `changelog-producer` =
input it tells of the rows that stay, as inserts (PaimonSparkWriter writes them like any others).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.row_buckets import Buckets
from paimon_spark.format.bucket import Place
from paimon_spark.format.manifest import FileKind, ManifestEntry
from paimon_spark.format.options.engines import ChangelogProducer
from paimon_spark.format.row_kind import DELETE
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.commit.table_commit import upgraded
from paimon_spark.store.commit.vector_files import find_vector_files, vector_changes
from paimon_spark.store.compact.live_buckets import place_of
from paimon_spark.store.metadata.file_paths import created_paths
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.storage.files import discard
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.store.write.task_write import FixedBucketWrite, TaskWrite
from paimon_spark.store.write.write_plan import WritePlan
from paimon_spark.store.write.write_rules import WriteRules, write_rules


def replaced_buckets(
    table: Table, snapshot: Snapshot, live: Mapping[Place, Sequence[ManifestEntry]], written: Sequence[CommitMessage]
) -> list[CommitMessage]:
    """The messages that replace all files of buckets.

    New files that are one sorted run go to the highest level: there are no older rows below them.

    Args:
        table: the table, with the options of the write.
        snapshot: that was read.
        live: the live files of each bucket that is replaced.
        written: the new files, and changelog files with the rows that go, each in a bucket of live.

    Raises:
        CorruptFile: an index file of deletion vectors is missing or damaged.
        StorageError: the storage failed.
    """
    messages = [_upgraded(table, message) for message in written]
    vectors = find_vector_files(table, snapshot) if table.settings.deletion_vectors_enabled else {}
    for entries in live.values():
        first = entries[0]
        names = {entry.file.file_name for entry in entries}
        index = vector_changes(table, vectors, first.partition, first.bucket, names, {}) if vectors else None
        messages.append(
            CommitMessage(
                first.partition,
                first.bucket,
                first.total_buckets,
                deleted_files=tuple(entry.file for entry in entries),
                index_entries=() if index is None else index.entries,
            )
        )
    return messages


def by_place(table: Table, entries: Sequence[ManifestEntry]) -> dict[Place, list[ManifestEntry]]:
    """Live files by their buckets; postponed ones have none."""
    found: dict[Place, list[ManifestEntry]] = {}
    for entry in entries:
        if entry.bucket >= 0:
            found.setdefault(place_of(table, entry.partition, entry.bucket), []).append(entry)
    return found


def _upgraded(table: Table, message: CommitMessage) -> CommitMessage:
    settings = table.settings
    levels = settings.compaction.num_levels or settings.compaction.trigger + 1
    entries = [
        ManifestEntry(FileKind.ADD, message.partition, message.bucket, message.total_buckets, file)
        for file in message.new_files
    ]
    key_types = tuple(field.type for field in table.schema.key_fields)
    return replace(message, new_files=tuple(e.file for e in upgraded(entries, key_types, levels - 1)))


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
