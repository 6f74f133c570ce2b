"""Hides rows of an append table by deletion vectors (Java: PaimonSparkWriter.persistDeletionVectors)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paimon_spark.store.commit.vector_files import VectorFiles, vector_changes
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table


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
