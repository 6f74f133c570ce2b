"""Plans which files are deleted with snapshots or changelogs (Java: FileDeletionBase, the planning half)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import numpy as np

from paimon_spark.format.bucket import StoredPlace
from paimon_spark.format.manifest import DataFileMeta, FileKind, FileSource, ManifestFileMeta
from paimon_spark.format.manifests.columns import ManifestColumns, decode_manifests
from paimon_spark.format.paths import data_file_path, extra_file_path, index_file_path, manifest_path, statistics_path
from paimon_spark.format.snapshot import CommitKind, Snapshot
from paimon_spark.store.expire.reading import find_index_manifests, find_manifest_lists, find_manifests, found_entries
from paimon_spark.store.expire.used import ReferencedFiles
from paimon_spark.store.metadata.file_paths import bucket_directory
from paimon_spark.store.metadata.live_files import canonical_partitions, fold
from paimon_spark.store.metadata.table import Table

_CHUNK = 64  # changes decoded at a time


class FileToDelete(NamedTuple):
    """A data or changelog file that nothing needs.

    Attributes:
        paths: its own path, then those of its sidecars.
    """

    name: str
    place: StoredPlace
    size: int
    paths: tuple[str, ...]


@dataclass
class DeletionPlan:
    """All files to delete, in the order of deletion: mappings from file names to paths, or to the file."""

    data: dict[str, FileToDelete] = field(default_factory=dict)
    changelog: dict[str, FileToDelete] = field(default_factory=dict)
    indexes: dict[str, str] = field(default_factory=dict)
    statistics: dict[str, str] = field(default_factory=dict)
    manifests: dict[str, str] = field(default_factory=dict)
    lists: dict[str, str] = field(default_factory=dict)

    def stages(self) -> Iterator[tuple[str, ...]]:
        """The paths of each kind of file; a stage must be complete before the next one begins."""
        yield tuple(path for files in (self.data, self.changelog) for file in files.values() for path in file.paths)
        yield (*self.indexes.values(), *self.statistics.values())
        yield tuple(self.manifests.values())
        yield tuple(self.lists.values())

    def places(self) -> set[StoredPlace]:
        """Partitions and buckets that lose files."""
        return {file.place for files in (self.data, self.changelog) for file in files.values()}

    def left(self, gone: Iterable[str]) -> tuple[str, ...]:
        """The paths that are not among the deleted ones."""
        found = set(gone)
        return tuple(path for stage in self.stages() for path in stage if path not in found)

    @property
    def may_be_revived(self) -> bool:
        """True if later snapshots may use some of the files again; their manifest lists are never shared."""
        return any((self.data, self.indexes, self.statistics, self.manifests))

    def keep(self, used: ReferencedFiles) -> None:
        """Removes used files from the plan."""
        for files in (self.data, self.changelog):
            for name in used.data & files.keys():
                del files[name]
        for paths in (self.indexes, self.statistics, self.manifests, self.lists):
            for name in used.metadata & paths.keys():
                del paths[name]


class FileFinder:
    """Finds the files of one table to delete with its snapshots."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._directories: dict[StoredPlace, str] = {}

    def deleted(self, snapshots: Sequence[Snapshot], keeps_appended: bool) -> dict[str, FileToDelete]:
        """The data files that the changes of snapshots delete and that none of them adds again.

        A change with a missing manifest is ignored: an earlier expiry has processed it already, and a part of a change
        might not show that a file was only upgraded to another level.

        Args:
            snapshots: in the order of their ids.
            keeps_appended: whether files of writers are kept, because they are also the changelog.

        Raises:
            CorruptFile: a manifest is damaged; nothing may be deleted then.
        """
        to_delete: dict[str, FileToDelete] = {}
        lists = find_manifest_lists(self._table, (snapshot.delta_manifest_list for snapshot in snapshots))
        wanted = [
            metas
            for snapshot in snapshots
            if (metas := lists.get(snapshot.delta_manifest_list))
            and (any(m.num_deleted_files for m in metas) or snapshot.commit_kind == CommitKind.OVERWRITE)
        ]
        for start in range(0, len(wanted), _CHUNK):
            self._apply_changes(wanted[start : start + _CHUNK], keeps_appended, to_delete)
        return to_delete

    def _apply_changes(
        self, changes: Sequence[list[ManifestFileMeta]], keeps_appended: bool, to_delete: dict[str, FileToDelete]
    ) -> None:
        found = iter(find_manifests(self._table, [meta for metas in changes for meta in metas]))
        by_change = [list(islice(found, len(metas))) for metas in changes]
        whole = [manifests for manifests in by_change if None not in manifests]
        columns = decode_manifests([manifest for manifests in whole for manifest in manifests if manifest is not None])
        gone: dict[str, int] = {}
        for number, (kind, name) in enumerate(zip(columns.kind.tolist(), columns.file_names, strict=True)):
            if kind == FileKind.DELETE:
                gone[name] = number
            else:
                gone.pop(name, None)
                to_delete.pop(name, None)
        for file, place in _files(columns, list(gone.values())):
            if not (keeps_appended and file.file_source in (None, FileSource.APPEND)):
                to_delete[file.file_name] = self._file_to_delete(file, place)

    def live(self, snapshot: Snapshot) -> dict[str, FileToDelete]:
        """The live data files of a snapshot; none if a manifest is missing, because they are deleted before it.

        Raises:
            CorruptFile: a manifest is damaged; nothing may be deleted then.
        """
        lists = find_manifest_lists(self._table, (snapshot.base_manifest_list, snapshot.delta_manifest_list))
        manifests = find_manifests(self._table, [meta for metas in lists.values() for meta in metas])
        present = [manifest for manifest in manifests if manifest is not None]
        if len(lists) < 2 or len(present) < len(manifests):
            return {}
        columns = decode_manifests(present)
        canonical = canonical_partitions(columns, self._table.schema.partition_types)
        codes = canonical[columns.partition_code]
        live = fold(columns, codes, np.arange(len(columns))).tolist()
        return {file.file_name: self._file_to_delete(file, place) for file, place in _files(columns, live)}

    def added(self, names: Iterable[str | None]) -> dict[str, FileToDelete]:
        """The files that the manifests in these lists add; missing lists and manifests are ignored.

        Raises:
            CorruptFile: a manifest is damaged; nothing may be deleted then.
        """
        lists = find_manifest_lists(self._table, names)
        to_delete: dict[str, FileToDelete] = {}
        for columns in found_entries(self._table, (meta for metas in lists.values() for meta in metas)):
            added = np.flatnonzero(columns.kind == FileKind.ADD).tolist()
            to_delete.update(
                (file.file_name, self._file_to_delete(file, place)) for file, place in _files(columns, added)
            )
        return to_delete

    def add_lists(self, names: Iterable[str | None], deletion: DeletionPlan) -> None:
        """Adds manifest lists and the manifests they name to the plan; missing lists are ignored."""
        for name, metas in find_manifest_lists(self._table, names).items():
            deletion.lists[name] = self._metadata_path(name)
            for meta in metas:
                deletion.manifests[meta.file_name] = self._metadata_path(meta.file_name)

    def add_indexes(self, snapshots: Sequence[Snapshot], deletion: DeletionPlan) -> None:
        """Adds index manifests, the index files they name, and statistics to the plan."""
        manifests = find_index_manifests(self._table, (snapshot.index_manifest for snapshot in snapshots))
        for name, entries in manifests.items():
            deletion.manifests[name] = self._metadata_path(name)
            for entry in entries:
                directory = self._directory((entry.partition, entry.bucket))
                path = index_file_path(self._table.location, directory, entry, self._table.settings)
                deletion.indexes[entry.file_name] = path
        for snapshot in snapshots:
            if snapshot.statistics is not None:
                deletion.statistics[snapshot.statistics] = statistics_path(self._table.location, snapshot.statistics)

    def _file_to_delete(self, file: DataFileMeta, place: StoredPlace) -> FileToDelete:
        directory = self._directory(place)
        paths: tuple[str, ...] = (data_file_path(directory, file),)
        if file.extra_files:
            paths += tuple(extra_file_path(directory, file, name) for name in file.extra_files)
        return FileToDelete(file.file_name, place, file.file_size, paths)

    def _directory(self, place: StoredPlace) -> str:
        if place not in self._directories:
            self._directories[place] = bucket_directory(self._table, *place)
        return self._directories[place]

    def _metadata_path(self, name: str) -> str:
        return manifest_path(self._table.location, name)


def _files(columns: ManifestColumns, numbers: list[int]) -> Iterator[tuple[DataFileMeta, StoredPlace]]:
    """The files of some entries, without their statistics, and their places."""
    places = zip(columns.partition_code[numbers].tolist(), columns.bucket[numbers].tolist(), strict=True)
    for file, (code, bucket) in zip(columns.data_files(numbers, False, False), places, strict=True):
        yield file, (columns.partitions[code], bucket)
