"""The paths of the files of a table's partitions and buckets."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.manifest import FileKind
from paimon_spark.format.paths import bucket_path, data_file_path, extra_file_path, index_file_path, partition_path
from paimon_spark.store.metadata.messages import CommitMessage, created_files
from paimon_spark.store.metadata.table import Table


def bucket_directory(table: Table, partition: bytes, bucket: int) -> str:
    """The directory of one bucket.

    Args:
        table: the table; its options determine the paths.
        partition: arity-prefixed row.
        bucket: the bucket number; -2 is the postponed bucket.
    """
    fields = table.schema.partition_fields
    settings = table.settings
    path = partition_path(
        decode_arity_row(partition, [f.type for f in fields]),
        fields,
        settings.partitions.default_name,
        settings.partitions.legacy_name,
    )
    return bucket_path(table.location, path, bucket, settings)


def changelog_paths(table: Table, message: CommitMessage) -> Iterator[str]:
    """The changelog files that the task of a message wrote, with their sidecars."""
    directory = bucket_directory(table, message.partition, message.bucket)
    for file in (*message.changelog_files, *message.compact_changelog):
        yield data_file_path(directory, file)
        for name in file.extra_files:
            yield extra_file_path(directory, file, name)


def created_paths(table: Table, message: CommitMessage) -> Iterator[str]:
    """All files that the task of a message wrote: data, changelog, their sidecars, index files."""
    directory = bucket_directory(table, message.partition, message.bucket)
    for file in created_files(message):
        yield data_file_path(directory, file)
        for name in file.extra_files:
            yield extra_file_path(directory, file, name)
    for entry in (*message.index_entries, *message.compact_index_entries):
        if entry.kind == FileKind.ADD:
            yield index_file_path(table.location, directory, entry, table.settings)
