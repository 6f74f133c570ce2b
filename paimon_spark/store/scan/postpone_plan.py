"""Splits of partitions with postponed rows, `postpone.merge-on-read` = true (Java: PostponeMergeReadBuilder).

The official engines shuffle the postponed rows to their future buckets. Here a split has some buckets of a partition;
it reads all postponed files of the partition, and uses the rows of its buckets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from paimon_spark.format.manifest import DataFileMeta, ManifestEntry
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.paths import POSTPONE_BUCKET, bucket_path
from paimon_spark.format.schema import TableSchema
from paimon_spark.merge.keys.sections import partition_sections
from paimon_spark.store.metadata.live_files import canonical_row
from paimon_spark.store.metadata.postponed import in_write_order
from paimon_spark.store.pruning.file_filter import FileFilter
from paimon_spark.store.read.deletion_files import DeletionFiles, partition_directory
from paimon_spark.store.read.splits import PostponeSplit, Split


@dataclass(frozen=True)
class PostponePlan:
    """Plans the splits of partitions with postponed rows.

    Attributes:
        location: the location of the table.
        keep: the filter whose condition on keys excludes files in buckets; postponed files have no statistics.
        deletions: deletion vectors of files in buckets.
        snapshot_id: the snapshot that is read.
    """

    location: str
    schema: TableSchema
    settings: TableSettings
    keep: FileFilter
    deletions: DeletionFiles
    snapshot_id: int

    def splits(self, entries: Sequence[ManifestEntry]) -> Iterator[PostponeSplit]:
        """The splits of one partition: as many as its bytes fill, at most one per bucket.

        Args:
            entries: the files of the partition that are read, including postponed ones.
        """
        partition = entries[0].partition
        directory = partition_directory(self.schema, self.settings, partition)
        waiting = in_write_order(e.file for e in entries if e.bucket == POSTPONE_BUCKET)
        real = [e for e in entries if e.bucket != POSTPONE_BUCKET]
        total = max((e.total_buckets for e in real), default=1)
        size = sum(e.file.file_size for e in entries)
        every = min(total, -(-size // self.settings.scan.split_target_size) or 1)
        newest = max((e.file.max_sequence_number for e in real), default=-1)
        for first in range(every):
            buckets: dict[int, list[DataFileMeta]] = {}
            for entry in real:
                if entry.bucket % every == first:
                    buckets.setdefault(entry.bucket, []).append(entry.file)
            yield PostponeSplit(
                partition=partition,
                real=tuple(self._bucket(partition, directory, bucket, files) for bucket, files in buckets.items()),
                postponed=tuple(waiting),
                postponed_path=bucket_path(self.location, directory, POSTPONE_BUCKET, self.settings),
                first_sequence=newest + 1,
                total_buckets=total,
                every=every,
                first=first,
                snapshot_id=self.snapshot_id,
            )

    def _bucket(self, partition: bytes, directory: str, bucket: int, files: Sequence[DataFileMeta]) -> Split:
        """A bucket with all its files in sections, in key order."""
        types = self.schema.partition_types
        sections = partition_sections(self.keep.matching_keys(files), [f.type for f in self.schema.key_fields])
        where = bucket_path(self.location, directory, bucket, self.settings)
        vectors = self.deletions.get((canonical_row(partition, types), bucket), {})
        return Split(partition, bucket, where, (), tuple(sections), vectors, self.snapshot_id)
