"""What a commit changes in each partition, for the server of a table (Java: PartitionEntry)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.manifest import FileKind, ManifestEntry
from paimon_spark.format.paths import partition_path, unescape
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.local_time import epoch_millis_of_wall
from paimon_spark.store.storage.served import PartitionChange


def partition_changes(table: Table, entries: Iterable[ManifestEntry]) -> list[PartitionChange]:
    """The sums of added and deleted files by partition."""
    found: dict[bytes, PartitionChange] = {}
    for entry in entries:
        one = found.get(entry.partition)
        if one is None:
            one = PartitionChange(partition_spec(table, entry.partition), 0, 0, 0, 0, entry.total_buckets)
        sign = 1 if entry.kind == FileKind.ADD else -1
        made = 0 if entry.file.creation_time is None else epoch_millis_of_wall(entry.file.creation_time)
        found[entry.partition] = replace(
            one,
            rows=one.rows + sign * entry.file.row_count,
            bytes=one.bytes + sign * entry.file.file_size,
            files=one.files + sign,
            last_file_millis=max(one.last_file_millis, made),
            total_buckets=entry.total_buckets,
        )
    return list(found.values())


def partition_spec(table: Table, row: bytes) -> dict[str, str]:
    """The values of a partition (an arity-prefixed BinaryRow) by column, as in the paths of its files."""
    fields = table.schema.partition_fields
    default, legacy = table.settings.partitions.default_name, table.settings.partitions.legacy_name
    values = decode_arity_row(row, [field.type for field in fields])
    return {
        field.name: unescape(partition_path([value], [field], default, legacy).removesuffix("/").partition("=")[2])
        for value, field in zip(values, fields, strict=True)
    }
