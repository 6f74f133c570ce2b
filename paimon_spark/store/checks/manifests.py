"""Checks that manifest lists, manifests and index manifests are readable and consistent (format 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from paimon_spark.errors import PaimonError, StorageError
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.manifest import EMPTY_STATS, FileKind, IndexManifestEntry, ManifestEntry, ManifestFileMeta
from paimon_spark.format.paths import manifest_path
from paimon_spark.format.types import DataField
from paimon_spark.merge.keys.key_order import sort_key_of
from paimon_spark.store.checks.report import Findings, Rule
from paimon_spark.store.checks.value_checks import StoredStatistics
from paimon_spark.store.metadata.manifest_files import read_index_manifest, read_manifest_list, read_manifests
from paimon_spark.store.metadata.partition_stats import same_partition
from paimon_spark.store.metadata.table import Table

T = TypeVar("T")


class ManifestReader:
    """Reads the metadata files of a table for a check. An unreadable file is a problem, and its result is None."""

    def __init__(self, table: Table, findings: Findings, statistics: StoredStatistics) -> None:
        self._table = table
        self._findings = findings
        self._statistics = statistics
        self._compared: set[str] = set()
        self._canonical = same_partition(table.schema.partition_types)

    def read_list(self, label: str, name: str, size: int | None) -> list[ManifestFileMeta] | None:
        """The manifests of a list; label is the snapshot that names it, for problems."""
        io, location = self._table.file_io, self._table.location
        return self._read(label, name, lambda: read_manifest_list(io, location, name, size))

    def read_entries(self, label: str, meta: ManifestFileMeta) -> list[ManifestEntry] | None:
        """The entries of a manifest, without statistics, partitions in their canonical bytes.

        Each manifest is compared once with its record in the manifest list.
        """
        return self._read(label, meta.file_name, lambda: self._entries(label, meta))

    def _entries(self, label: str, meta: ManifestFileMeta) -> list[ManifestEntry]:
        entries = read_manifests(self._table.file_io, self._table.location, [meta])
        if meta.file_name not in self._compared:
            self._compared.add(meta.file_name)
            self._statistics.note(meta, entries)
            path = manifest_path(self._table.location, meta.file_name)
            for found in manifest_faults(meta, entries, self._table.schema.partition_fields):
                self._findings.add(Rule.MANIFEST, label, path, found)
        return [self._without_statistics(entry) for entry in entries]

    def read_index(self, label: str, name: str | None) -> list[IndexManifestEntry] | None:
        """The live index files of a snapshot, partitions in their canonical bytes."""
        return self._read(label, name or "", lambda: self._index_entries(label, name))

    def _index_entries(self, label: str, name: str | None) -> list[IndexManifestEntry]:
        entries = read_index_manifest(self._table.file_io, self._table.location, name)
        for entry in entries:
            if entry.kind != FileKind.ADD:
                path = manifest_path(self._table.location, name or "")
                found = f"the index file {entry.file_name} is of kind {entry.kind}; only live files can be listed"
                self._findings.add(Rule.MANIFEST, label, path, found)
        return [replace(entry, partition=self._canonical(entry.partition)) for entry in entries]

    def _read(self, label: str, name: str, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except (StorageError, MemoryError):
            raise
        except PaimonError as error:
            self._findings.add(Rule.MANIFEST, label, manifest_path(self._table.location, name), str(error))
            return None

    def _without_statistics(self, entry: ManifestEntry) -> ManifestEntry:
        file = entry.file._replace(key_stats=EMPTY_STATS, value_stats=EMPTY_STATS, value_stats_cols=None)
        return entry._replace(partition=self._canonical(entry.partition), file=file)


def manifest_faults(
    meta: ManifestFileMeta, entries: Sequence[ManifestEntry], partition_fields: Sequence[DataField]
) -> Iterator[str]:
    """Descriptions of the errors in the record of a manifest in its list.

    Ranges may be wider than the entries: readers skip manifests by them, so they only have to cover all entries.
    """
    added = sum(entry.kind == FileKind.ADD for entry in entries)
    for what, recorded, found in (
        ("added files", meta.num_added_files, added),
        ("deleted files", meta.num_deleted_files, len(entries) - added),
    ):
        if recorded != found:
            yield f"its list says {recorded} {what}, it has {found}"
    for what, low, high, values in (
        ("buckets", meta.min_bucket, meta.max_bucket, [entry.bucket for entry in entries]),
        ("levels", meta.min_level, meta.max_level, [entry.file.level for entry in entries]),
    ):
        if low is not None and high is not None and values and not low <= min(values) <= max(values) <= high:
            yield f"its list says {what} {low} to {high}, it has {min(values)} to {max(values)}"
    yield from _partition_faults(meta, entries, partition_fields)


def _partition_faults(
    meta: ManifestFileMeta, entries: Sequence[ManifestEntry], fields: Sequence[DataField]
) -> Iterator[str]:
    types = [field.type for field in fields]
    if not fields or not entries:
        return
    counts: dict[bytes, int] = {}
    for entry in entries:
        counts[entry.partition] = counts.get(entry.partition, 0) + 1
    rows = [(decode_arity_row(row, types), count) for row, count in counts.items()]
    low = decode_arity_row(meta.partition_stats.min_values, types)
    high = decode_arity_row(meta.partition_stats.max_values, types)
    null_counts = meta.partition_stats.null_counts or (None,) * len(types)
    for column, field in enumerate(fields):
        order = sort_key_of((field.type,))
        values = [row[column] for row, _ in rows if row[column] is not None]
        for value in values:
            is_in = low[column] is not None and order((low[column],)) <= order((value,)) <= order((high[column],))
            if not is_in:
                yield f"its list says partitions {field.name} {low[column]!r} to {high[column]!r}, it has {value!r}"
        nulls = sum(count for row, count in rows if row[column] is None)
        if null_counts[column] is not None and null_counts[column] != nulls:
            yield f"its list says {null_counts[column]} entries where {field.name} is null, it has {nulls}"
