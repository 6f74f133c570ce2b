"""Replaces whole buckets of a table with keys by their merged rows without the deleted ones.

For merge engines that cannot remove a row by one of kind -D. Java rewrites the touched files instead, and needs a table
that is fully compacted (PaimonRowLevelCommand.findTouchedFiles); a bucket is always complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from paimon_spark.format.bucket import Place
from paimon_spark.format.manifest import FileKind, ManifestEntry
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.commit.overwrite import upgraded
from paimon_spark.store.commit.vector_files import find_vector_files, vector_changes
from paimon_spark.store.compact.live_buckets import place_of
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table


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
