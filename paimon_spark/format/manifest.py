"""What manifests hold (format section 4; Java: ManifestFileMeta, ManifestEntry, DataFileMeta, IndexManifestEntry).

All ``bytes`` called a row here are arity-prefixed BinaryRows (format section 5.2). They are kept encoded, because most
are never decoded. What a table has one of for each data file is a named tuple: planning makes one for each file, which
takes a sixth of the time of a dataclass.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

EMPTY_ROW = bytes(12)  # arity 0, then the 8 header bytes


class FileKind(IntEnum):
    ADD = 0
    DELETE = 1


class FileSource(IntEnum):
    APPEND = 0
    COMPACT = 1


class SimpleStats(NamedTuple):
    """Minimum and maximum rows and null counts. A null count of None, or null_counts None, means unknown."""

    min_values: bytes = EMPTY_ROW
    max_values: bytes = EMPTY_ROW
    null_counts: tuple[int | None, ...] | None = ()


EMPTY_STATS = SimpleStats()


class DataFileMeta(NamedTuple):
    """One data file (``_FILE`` of a manifest entry). creation_time: the writer's wall clock in millis, as if UTC."""

    file_name: str
    file_size: int
    row_count: int
    min_key: bytes
    max_key: bytes
    key_stats: SimpleStats
    value_stats: SimpleStats
    min_sequence_number: int
    max_sequence_number: int
    schema_id: int
    level: int
    extra_files: tuple[str, ...] = ()
    creation_time: int | None = None
    delete_row_count: int | None = None
    embedded_index: bytes | None = None
    file_source: int | None = None
    value_stats_cols: tuple[str, ...] | None = None
    external_path: str | None = None
    first_row_id: int | None = None
    write_cols: tuple[str, ...] | None = None
    write_cols_sequences: tuple[int, ...] | None = None


class ManifestEntry(NamedTuple):
    kind: int
    partition: bytes
    bucket: int
    total_buckets: int
    file: DataFileMeta

    @property
    def identity(self) -> tuple[bytes, int, int, str, tuple[str, ...], bytes | None, str | None]:
        """The key of the data file: two entries with equal identities are about the same file (format section 4.5)."""
        f = self.file
        return self.partition, self.bucket, f.level, f.file_name, f.extra_files, f.embedded_index, f.external_path


@dataclass(frozen=True, slots=True)
class ManifestFileMeta:
    """One line of a manifest list."""

    file_name: str
    file_size: int
    num_added_files: int
    num_deleted_files: int
    partition_stats: SimpleStats
    schema_id: int
    min_bucket: int | None = None
    max_bucket: int | None = None
    min_level: int | None = None
    max_level: int | None = None
    min_row_id: int | None = None
    max_row_id: int | None = None


@dataclass(frozen=True, slots=True)
class DeletionRange:
    """Where the deletion vector of a data file lies in its index file; length as recorded (see deletion_vector)."""

    data_file: str
    offset: int
    length: int
    cardinality: int | None = None


@dataclass(frozen=True, slots=True)
class GlobalIndexMeta:
    row_range_start: int
    row_range_end: int
    index_field_id: int
    extra_field_ids: tuple[int, ...] | None = None
    index_meta: bytes | None = None
    source_meta: bytes | None = None


@dataclass(frozen=True, slots=True)
class IndexManifestEntry:
    kind: int
    partition: bytes
    bucket: int
    index_type: str  # HASH, DELETION_VECTORS, or a global index type
    file_name: str
    file_size: int
    row_count: int
    deletion_ranges: tuple[DeletionRange, ...] | None = None
    external_path: str | None = None
    global_index: GlobalIndexMeta | None = None
