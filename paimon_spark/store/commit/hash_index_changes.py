"""The HASH index in a commit: merges the hashes that tasks add with the existing index (format 8.2)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

import numpy as np

from paimon_spark.format.manifest import IndexManifestEntry
from paimon_spark.store.buckets.bucket_assigner import distinct
from paimon_spark.store.buckets.hash_index_files import (
    create_hash_file,
    delete_hash_files,
    read_hash_files,
    read_hashes,
)
from paimon_spark.store.commit.attempt import TableState
from paimon_spark.store.commit.dynamic_conflicts import check_hash_index
from paimon_spark.store.metadata.commit_changes import CommitChanges
from paimon_spark.store.metadata.messages import CommitMessage, NewHashes
from paimon_spark.store.metadata.partition_stats import same_partition
from paimon_spark.store.metadata.table import Table


class HashIndexUpdate:
    """The index files of one commit, written when the first attempt needs them and reused by later attempts.

    They are valid for every attempt: if the index is not the planned one, that is a conflict.
    """

    def __init__(self, table: Table, messages: Sequence[CommitMessage], since: int | None) -> None:
        """Writes nothing yet.

        Args:
            table: the table.
            messages: the messages of all tasks of the job.
            since: the snapshot the job was planned on; None: unknown.
        """
        self._table, self._since = table, since
        self._canonical = same_partition(table.schema.partition_types)
        self._hashes: dict[tuple[bytes, int], list[NewHashes]] = {}
        for message in messages:
            if message.new_hashes is not None:
                place = self._canonical(message.partition), message.bucket
                self._hashes.setdefault(place, []).append(message.new_hashes)
        self._created: list[IndexManifestEntry] | None = None

    def added(self, state: TableState, new: CommitChanges) -> CommitChanges:
        """The changes of an append with their index files.

        Raises:
            CommitConflict: the index of a partition is not the planned one.
        """
        for planned in {hashes.planned for found in self._hashes.values() for hashes in found}:
            places = (place for place, found in self._hashes.items() if any(h.planned == planned for h in found))
            check_hash_index(state, self._since, planned, {partition for partition, _ in places})
        return self._with_files(new)

    def replaced(self, new: CommitChanges) -> CommitChanges:
        """The changes of an overwrite with their index files.

        Raises:
            ValueError: the job was planned as an append, so its messages omit known hashes.
        """
        if any(hashes.planned is not None for found in self._hashes.values() for hashes in found):
            raise ValueError("the overwrite was planned as an append: plan it with plan_write(table, overwrites=True)")
        return self._with_files(new)

    def _with_files(self, new: CommitChanges) -> CommitChanges:
        if self._created is None:
            created: list[IndexManifestEntry] = []
            with ExitStack() as undo:
                undo.callback(delete_hash_files, self._table, created)
                self._create(created)
                undo.pop_all()
            self._created = created
        return replace(new, index=(*new.index, *self._created)) if self._created else new

    def discard(self) -> None:
        """Deletes the files. Only for a commit that failed."""
        delete_hash_files(self._table, self._created or ())
        self._created = None

    def _create(self, created: list[IndexManifestEntry]) -> None:
        known: dict[str | None, dict[tuple[bytes, int], IndexManifestEntry]] = {}
        for (partition, bucket), found in self._hashes.items():
            new = [np.frombuffer(h.hashes, "<i4").astype(np.int32) for h in found if h.hashes]
            if not new:
                continue
            planned = found[0].planned
            if planned not in known:
                files = read_hash_files(self._table, planned)
                known[planned] = {(p, b): entry for p, buckets in files.items() for b, entry in buckets.items()}
            entry = known[planned].get((partition, bucket))
            old = [] if entry is None else [read_hashes(self._table, entry)]
            created.append(create_hash_file(self._table, partition, bucket, distinct(*old, *new)))
