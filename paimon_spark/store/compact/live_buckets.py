"""The buckets of a snapshot with their live files and deletion vectors, the input of compaction planning."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from paimon_spark.arrow.predicates.predicate import AlwaysTrue, Predicate
from paimon_spark.arrow.predicates.pruning import match_values
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.bucket import Place
from paimon_spark.format.manifest import DataFileMeta, FileKind, ManifestEntry
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.types import DataField
from paimon_spark.store.metadata.live_files import canonical_partitions, canonical_row, fold, group_by_bucket
from paimon_spark.store.metadata.manifest_files import read_data_manifests, read_manifest_columns
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.pruning.file_filter import manifest_filter
from paimon_spark.store.read.deletion_files import find_deletion_files
from paimon_spark.store.read.splits import DeletionFile

TRUE = AlwaysTrue()


def place_of(table: Table, partition: bytes, bucket: int) -> Place:
    """The bucket as a key of mappings, with canonical bytes of its partition."""
    return canonical_row(partition, table.schema.partition_types), bucket


@dataclass(frozen=True)
class LiveBucket:
    """The live files of one bucket and their deletion vectors."""

    place: Place
    entries: Sequence[ManifestEntry]
    deletions: Mapping[str, DeletionFile]

    @property
    def files(self) -> list[DataFileMeta]:
        return [entry.file for entry in self.entries]


def live_buckets(
    table: Table,
    snapshot: Snapshot | None,
    predicate: Predicate = TRUE,
    places: Collection[Place] | None = None,
) -> Iterator[LiveBucket]:
    """The buckets of a snapshot with their files; postponed rows (bucket -2) have no bucket yet.

    Args:
        table: the table.
        snapshot: the snapshot; None: the table has none.
        predicate: a condition on partition columns.
        places: only these buckets; None: all.
    """
    if snapshot is None:
        return
    fields = table.schema.partition_fields
    may_hold = manifest_filter(predicate, fields)
    manifests = read_data_manifests(table.file_io, table.location, snapshot)
    chosen = [meta for meta in manifests if may_hold is None or may_hold(meta.partition_stats)]
    columns = read_manifest_columns(table.file_io, table.location, chosen)
    codes = canonical_partitions(columns, [f.type for f in fields])[columns.partition_code]
    partitions = None if places is None else {partition for partition, _ in places}

    def is_wanted(row: bytes) -> bool:
        return (partitions is None or place_of(table, row, 0)[0] in partitions) and is_chosen(table, predicate, row)

    wanted = np.array([is_wanted(row) for row in columns.partitions], np.bool_)
    mask = columns.bucket >= 0
    mask &= wanted[columns.partition_code]
    if places is not None:
        mask &= np.isin(columns.bucket, sorted({bucket for _, bucket in places}))
    live = fold(columns, codes, np.flatnonzero(mask))
    has_vectors = table.settings.deletion_vectors_enabled
    deletions = (
        find_deletion_files(table.file_io, table.location, table.schema, table.settings, snapshot)
        if has_vectors
        else {}
    )
    for group in group_by_bucket(columns, codes, live):
        first = int(group[0])
        place = place_of(table, columns.partitions[columns.partition_code[first]], int(columns.bucket[first]))
        if places is None or place in places:
            yield LiveBucket(place, columns.entries(group.tolist()), deletions.get(place, {}))


def upper_files(live: Iterable[ManifestEntry]) -> Iterable[tuple[str, int]]:
    """Names and levels of the files above level 0."""
    return ((e.file.file_name, e.file.level) for e in live if e.file.level > 0 and e.kind == FileKind.ADD)


def is_chosen(table: Table, predicate: Predicate, row: bytes) -> bool:
    """True if a condition on partition columns is true for a partition row."""
    if isinstance(predicate, AlwaysTrue):
        return True
    values = decode_arity_row(row, table.schema.partition_types)
    return match_values(predicate, dict(zip(table.schema.partition_keys, values, strict=True))) is True


def types_are_now(table: Table, fields: Sequence[DataField], schema_id: int) -> bool:
    """True if some columns had their current types in a schema of the table; a column that it lacks counts as such."""
    if schema_id == table.schema.id:
        return True
    types = {field.id: field.type.with_nullable(True) for field in table.schemas.load(schema_id).fields}
    return all(types.get(f.id, f.type.with_nullable(True)) == f.type.with_nullable(True) for f in fields)
