"""The live data files that a change of rows looks at, each with its bucket and its deletion vector.

Hides rows of an append table by deletion vectors (Java: PaimonSparkWriter.persistDeletionVectors).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.manifest import DataFileMeta, ManifestEntry
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.merge.keys.row_ids import anchor_of, column_files, sections_by_row_id
from paimon_spark.store.commit.attempt import table_state
from paimon_spark.store.commit.vector_files import VectorFiles, vector_changes
from paimon_spark.store.compact.task import AppendTask
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.partitions import PartitionFilter
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import DeletionFile, Split


@dataclass(frozen=True)
class LiveFile:
    """A data file of a plan. Where the columns of rows lie in several files, that under which deletion vectors are.

    Attributes:
        partition: arity-prefixed BinaryRow.
        meta: of the file.
        deletion: its deletion vector, if it has one.
    """

    partition: bytes
    meta: DataFileMeta
    deletion: DeletionFile | None

    @property
    def live_rows(self) -> int | None:
        """The number of rows that are not deleted; None: not known."""
        if self.deletion is None:
            return self.meta.row_count
        return None if self.deletion.cardinality is None else self.meta.row_count - self.deletion.cardinality


def files_by_name(table: Table, splits: Sequence[Split]) -> dict[str, LiveFile]:
    """The files of the splits of an append table.

    Raises:
        UnsupportedFeature: two files have one name, by which their rows are distinguished.
    """
    found: dict[str, LiveFile] = {}
    for split in splits:
        for meta in (*split.raw_files, *_anchors(table, split)):
            if meta.file_name in found:
                raise UnsupportedFeature(
                    f"changing rows of {table.location}: two of its data files have the name {meta.file_name}; compact "
                    "the table first"
                )
            deletion = split.deletions.get(meta.file_name)
            found[meta.file_name] = LiveFile(split.partition, meta, deletion)
    return found


def _anchors(table: Table, split: Split) -> Iterator[DataFileMeta]:
    for section in split.sections if table.settings.data_evolution_enabled else ():
        yield anchor_of(column_files(section))


def append_tasks(table: Table, snapshot: Snapshot, files: Mapping[str, LiveFile]) -> dict[str, AppendTask]:
    """A task for each file, which rewrites it; by the names of the files."""
    tasks = {}
    for entry in live_entries(table, snapshot, {file.partition for file in files.values()}):
        file = files.get(entry.file.file_name)
        if file is not None:
            deletions = {} if file.deletion is None else {entry.file.file_name: file.deletion}
            tasks[entry.file.file_name] = AppendTask(
                entry.partition, entry.bucket, entry.total_buckets, (entry.file,), deletions
            )
    return tasks


def column_tasks(table: Table, snapshot: Snapshot, files: Mapping[str, LiveFile]) -> dict[str, AppendTask]:
    """A task for the rows of each file, with all files that have columns of them; by the names of the files.

    Args:
        table: with data evolution.
        files: those under which deletion vectors have the rows.

    Raises:
        CorruptFile: the metadata of files do not say which rows they have, or differ in it.
    """
    tasks: dict[str, AppendTask] = {}
    buckets: dict[tuple[bytes, int], list[ManifestEntry]] = {}
    for entry in live_entries(table, snapshot, {file.partition for file in files.values()}):
        buckets.setdefault((entry.partition, entry.bucket), []).append(entry)
    for (partition, bucket), entries in buckets.items():
        for section in sections_by_row_id(entry.file for entry in entries):
            group = column_files(section)
            name = anchor_of(group).file_name
            if name in files:
                found = (*group.wide, *group.parts)
                tasks[name] = AppendTask(partition, bucket, entries[0].total_buckets, found)
    return tasks


def bucket_places(tasks: Mapping[str, AppendTask]) -> dict[tuple[bytes, int], BucketPlace]:
    """The buckets of the files of tasks."""
    return {(t.partition, t.bucket): BucketPlace(t.partition, t.bucket, t.total_buckets) for t in tasks.values()}


def live_entries(table: Table, snapshot: Snapshot, partitions: set[bytes]) -> list[ManifestEntry]:
    """The live files of some partitions, as their manifests have them, with statistics."""
    wanted = PartitionFilter.of_rows(table.schema.partition_fields, partitions)
    return table_state(table, snapshot).live_entries(wanted)


@dataclass(frozen=True)
class BucketPlace:
    """A bucket whose rows are deleted; attributes as of CommitMessage."""

    partition: bytes
    bucket: int
    total_buckets: int


def delete_rows(
    table: Table, live: VectorFiles, place: BucketPlace, rows: Mapping[str, npt.NDArray[np.int64]]
) -> CommitMessage:
    """Writes the vectors of one bucket, with the rows that were deleted before.

    Args:
        table: with `deletion-vectors.enabled`.
        live: the index files of the snapshot in which the rows were found.
        place: the bucket; of a table without buckets, the partition.
        rows: data file name -> row numbers.

    Returns:
        A message with the new index files, and those that they replace.

    Raises:
        CorruptFile: an index file is missing or damaged.
        StorageError: the storage failed; what was written is deleted.
    """
    changes = vector_changes(table, live, place.partition, place.bucket, (), rows)
    return CommitMessage(place.partition, place.bucket, place.total_buckets, index_entries=changes.entries)
