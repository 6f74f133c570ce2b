"""Finds which of the files that an expiry might delete are still used (Java: FileDeletionBase, the skipping sets).

Java considers the tags below the range and the first snapshot to keep. Two more users are considered here, because
their files would be lost: other branches, which share the files of the table, and later snapshots that use files again,
as after a rollback to a tag.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from paimon_spark.file_io import is_far
from paimon_spark.format.manifest import FileKind, ManifestFileMeta
from paimon_spark.format.paths import MAIN_BRANCH, REVIVED_PREFIX, tag_directory
from paimon_spark.format.snapshot import CommitKind, Snapshot
from paimon_spark.store.expire.reading import find_index_manifests, find_manifest_lists, find_snapshots, found_entries
from paimon_spark.store.metadata.live_files import canonical_partitions, fold
from paimon_spark.store.metadata.manifest_files import read_data_manifests, read_index_manifest, read_manifest_columns
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.files import list_branches
from paimon_spark.store.storage.parallel import map_near_or_far


@dataclass
class ReferencedFiles:
    """Names of files that must be kept.

    Attributes:
        data: data and changelog files.
        metadata: manifest lists, manifests, index manifests, index files, statistics.
    """

    data: set[str] = field(default_factory=set)
    metadata: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class BranchRoot:
    """A branch of the table (or its main branch): all that it keeps.

    Attributes:
        states: snapshots whose live files are all used: the earliest one, those after a gap, and those of tags.
        changes: the snapshots and long-lived changelogs of the branch.
    """

    states: tuple[Snapshot, ...]
    changes: tuple[Snapshot, ...]


def overlapping_tags(tags: Sequence[Snapshot], begin: int, end: int) -> list[Snapshot]:
    """The tagged snapshots that may share files with snapshots from begin to before end (Java: findSkippingTags).

    Args:
        tags: in the order of their ids.
        begin, end: ids; end is not one of them.
    """
    lowest = max((tag.id for tag in tags if tag.id <= begin), default=0)
    return [tag for tag in tags if lowest <= tag.id < end]


def revived_states(store: SnapshotStore) -> bool:
    """True if a state has come back in this branch while older tags are there (``rollback_to_as_latest``).

    Else a file that two states have is in all states between them, so that of many tags the nearest ones say whether
    any has it. A file that came back may be in an old tag and not in a newer one.
    """
    listed = store.file_io.list(tag_directory(store.table, store.branch))
    return any(status.name.startswith(REVIVED_PREFIX) for status in listed)


def mark_revival(store: SnapshotStore, latest: int) -> str:
    """Notes that a state will come back, before it does. Returns the path of the mark."""
    path = f"{tag_directory(store.table, store.branch)}/{REVIVED_PREFIX}{latest}-{uuid.uuid4()}"
    store.file_io.write_bytes(path, b"{}")
    return path


def tags_before(tags: Sequence[Snapshot], ids: Iterable[int], revived: bool) -> list[Snapshot]:
    """For each id the nearest tagged snapshot below it, if any; after a rollback two may have the same id.

    Args:
        tags: in the order of their ids.
        ids: of snapshots.
        revived: whether a state has come back (revived_states): then all tags below an id count.
    """
    numbers = list(ids)
    if revived:
        return [tag for tag in tags if tag.id < max(numbers, default=0)]
    nearest = {max((tag.id for tag in tags if tag.id < number), default=None) for number in numbers}
    found: list[Snapshot] = []
    for tag in tags:
        if tag.id in nearest and tag not in found:
            found.append(tag)
    return found


def tagged_snapshots(store: SnapshotStore) -> list[Snapshot]:
    """The snapshots of all tags, in the order of their ids.

    Raises:
        CorruptFile: a tag cannot be read; nothing can be deleted until it is repaired or removed.
    """
    return sorted((tag.snapshot for tag in store.tags().values()), key=lambda snapshot: snapshot.id)


def reviving_snapshots(store: SnapshotStore, end: int) -> list[Snapshot]:
    """The snapshots after end that may use files again that were deleted before: overwrites, including rollbacks."""
    latest = store.latest_id()
    later = find_snapshots(store, range(end + 1, (latest or end) + 1))
    return [snapshot for snapshot in later if snapshot.commit_kind == CommitKind.OVERWRITE]


def other_roots(table: Table) -> list[BranchRoot]:
    """All branches except the one of the table; see all_roots."""
    return _roots(table, without=table.branch)


def all_roots(table: Table) -> list[BranchRoot]:
    """All branches, the main one included.

    If the branches change during the reading, for example by a renaming, all are read again. Main is read last, because
    a fast-forward moves states from branches to it.

    Raises:
        CorruptFile: a tag cannot be read; nothing can be deleted until it is repaired or removed.
    """
    return _roots(table, without=None)


def _roots(table: Table, without: str | None) -> list[BranchRoot]:
    names = list(list_branches(table.file_io, table.location))
    while True:
        roots = [_root(table, name) for name in [*names, MAIN_BRANCH] if name != without]
        if (again := list(list_branches(table.file_io, table.location))) == names:
            return roots
        names = again


def _root(table: Table, branch: str) -> BranchRoot:
    store = SnapshotStore(table.file_io, table.location, branch)
    snapshots = find_snapshots(store, store.ids())
    changelogs = map_near_or_far(store.find_change, store.changelog_ids(), is_far(store.table))
    changes = (*snapshots, *(changelog for changelog in changelogs if changelog is not None))
    ids = {snapshot.id for snapshot in snapshots}
    first = (snapshot for snapshot in snapshots if snapshot.id - 1 not in ids)  # a rollback that broke off leaves a gap
    return BranchRoot((*first, *tagged_snapshots(store)), changes)


def add_state(table: Table, snapshot: Snapshot, used: ReferencedFiles) -> None:
    """Adds the live data files of a snapshot, and its metadata and index files, without its changelog.

    Raises:
        CorruptFile: its metadata cannot be read.
    """
    metas = read_data_manifests(table.file_io, table.location, snapshot)
    _add_live(table, metas, used)
    _add_metadata(table, snapshot, metas, used)


def add_live(table: Table, snapshot: Snapshot, used: ReferencedFiles) -> None:
    """Adds the live data files of a snapshot.

    Raises:
        CorruptFile: its metadata cannot be read.
    """
    _add_live(table, read_data_manifests(table.file_io, table.location, snapshot), used)


def _add_live(table: Table, metas: Sequence[ManifestFileMeta], used: ReferencedFiles) -> None:
    columns = read_manifest_columns(table.file_io, table.location, metas)
    canonical = canonical_partitions(columns, table.schema.partition_types)
    live = fold(columns, canonical[columns.partition_code], np.arange(len(columns)))
    names = columns.file_names
    used.data.update(names[i] for i in live.tolist())


def add_metadata(table: Table, snapshot: Snapshot, used: ReferencedFiles) -> None:
    """Adds the metadata and index files of a snapshot, without its changelog.

    Raises:
        CorruptFile: its metadata cannot be read.
    """
    _add_metadata(table, snapshot, read_data_manifests(table.file_io, table.location, snapshot), used)


def _add_metadata(table: Table, snapshot: Snapshot, metas: Iterable[ManifestFileMeta], used: ReferencedFiles) -> None:
    used.metadata.update((snapshot.base_manifest_list, snapshot.delta_manifest_list))
    used.metadata.update(meta.file_name for meta in metas)
    if snapshot.index_manifest is not None:
        entries = read_index_manifest(table.file_io, table.location, snapshot.index_manifest)
        used.metadata.add(snapshot.index_manifest)
        used.metadata.update(entry.file_name for entry in entries)
    if snapshot.statistics is not None:
        used.metadata.add(snapshot.statistics)


def add_reviving(table: Table, snapshots: Sequence[Snapshot], used: ReferencedFiles) -> None:
    """Adds the files that later snapshots use again.

    Raises:
        CorruptFile: their metadata cannot be read.
    """
    for snapshot in snapshots:
        add_metadata(table, snapshot, used)
    _add_added(table, find_manifest_lists(table, (s.delta_manifest_list for s in snapshots)).values(), used)


def add_found_metadata(table: Table, changes: Sequence[Snapshot], used: ReferencedFiles) -> None:
    """Adds the metadata and index files of expired snapshots; missing metadata are skipped.

    Raises:
        CorruptFile: metadata are damaged.
    """
    names = (name for change in changes for name in (change.base_manifest_list, change.delta_manifest_list))
    _add_lists(find_manifest_lists(table, names), used)
    _add_found_indexes(table, changes, used)


def add_found_deltas(table: Table, changes: Sequence[Snapshot], used: ReferencedFiles) -> None:
    """Adds the delta lists of changes, their manifests, and the files they added; missing metadata are skipped.

    Raises:
        CorruptFile: metadata are damaged.
    """
    deltas = find_manifest_lists(table, (change.delta_manifest_list for change in changes))
    _add_lists(deltas, used)
    _add_added(table, deltas.values(), used)


def _add_lists(lists: Mapping[str, Iterable[ManifestFileMeta]], used: ReferencedFiles) -> None:
    for name, metas in lists.items():
        used.metadata.update((name, *(meta.file_name for meta in metas)))


def _add_found_indexes(table: Table, changes: Sequence[Snapshot], used: ReferencedFiles) -> None:
    used.metadata.update(name for s in changes for name in (s.index_manifest, s.statistics) if name is not None)
    for entries in find_index_manifests(table, (change.index_manifest for change in changes)).values():
        used.metadata.update(entry.file_name for entry in entries)


def add_root(table: Table, root: BranchRoot, used: ReferencedFiles) -> None:
    """Adds everything that a branch keeps; metadata that it expires concurrently may be missing.

    Raises:
        CorruptFile: metadata are damaged.
    """
    for state in root.states:
        add_state(table, state, used)
    bases = {change.base_manifest_list for change in root.changes}
    adding = {name for s in root.changes for name in (s.delta_manifest_list, s.changelog_manifest_list)}
    lists = find_manifest_lists(table, bases | adding)
    _add_lists(lists, used)
    _add_added(table, (metas for name, metas in lists.items() if name in adding), used)
    _add_found_indexes(table, root.changes, used)


def _add_added(table: Table, lists: Iterable[Iterable[ManifestFileMeta]], used: ReferencedFiles) -> None:
    for columns in found_entries(table, (meta for metas in lists for meta in metas if meta.num_added_files)):
        names = columns.file_names
        used.data.update(names[i] for i in np.flatnonzero(columns.kind == FileKind.ADD).tolist())
