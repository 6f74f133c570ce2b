"""What is still used of the files that an expiry might delete (Java: FileDeletionBase, the skipping sets).

Beside what Java asks (the tags below the range, the first snapshot that stays) two more are asked, because a file of
theirs would be lost: other branches, which share the files of the table, and later snapshots that took files up again,
as a rollback to a tag does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from paimon_spark.spec.manifest import FileKind, ManifestFileMeta
from paimon_spark.spec.manifest_columns import decode_manifests
from paimon_spark.spec.paths import MAIN_BRANCH
from paimon_spark.spec.snapshot import CommitKind, Snapshot
from paimon_spark.store.expire_reading import find_index_manifest, find_manifest_list, find_manifests, find_snapshots
from paimon_spark.store.live_files import canonical_partitions, fold
from paimon_spark.store.manifest_files import (
    read_data_manifests,
    read_index_manifest,
    read_manifest_columns,
)
from paimon_spark.store.snapshots import SnapshotStore
from paimon_spark.store.table import Table
from paimon_spark.store.threads import in_threads
from paimon_spark.store.versioned import list_branches


@dataclass
class UsedFiles:
    """Names of files that must stay.

    Attributes:
        data: data and changelog files.
        metadata: manifest lists, manifests, index manifests, index files, statistics.
    """

    data: set[str] = field(default_factory=set)
    metadata: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class OtherRoot:
    """Another branch of the table (or its main branch): all that it keeps.

    Attributes:
        states: snapshots of which all live files are used: its earliest one, those after a gap, and its tags.
        changes: its snapshots and long-lived changelogs.
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


def tags_before(tags: Sequence[Snapshot], ids: Iterable[int]) -> list[Snapshot]:
    """For each id the tagged snapshot next below it, if there is one; after a rollback two may have one id."""
    nearest = {max((tag.id for tag in tags if tag.id < number), default=None) for number in ids}
    found: list[Snapshot] = []
    for tag in tags:
        if tag.id in nearest and tag not in found:
            found.append(tag)
    return found


def tagged_snapshots(store: SnapshotStore) -> list[Snapshot]:
    """The snapshots of all tags, in the order of their ids.

    Raises:
        CorruptFile: a tag cannot be read; nothing can be deleted before it is mended or removed.
    """
    return sorted((tag.snapshot for tag in store.tags().values()), key=lambda snapshot: snapshot.id)


def reviving_snapshots(store: SnapshotStore, end: int) -> list[Snapshot]:
    """The snapshots after end that may have taken up files deleted before: overwrites, which rollbacks are too."""
    latest = store.latest_id()
    later = find_snapshots(store, range(end + 1, (latest or end) + 1))
    return [snapshot for snapshot in later if snapshot.commit_kind == CommitKind.OVERWRITE]


def other_roots(table: Table) -> list[OtherRoot]:
    """Every branch but this one. Errors as in tagged_snapshots.

    What a branch keeps may come under another name while they are read, as by a renaming: then all are read again. Main
    comes last, as branches are taken over into it.
    """
    names = list(list_branches(table.file_io, table.location))
    while True:
        roots = [_other_root(table, name) for name in [*names, MAIN_BRANCH] if name != table.branch]
        if (again := list(list_branches(table.file_io, table.location))) == names:
            return roots
        names = again


def _other_root(table: Table, branch: str) -> OtherRoot:
    store = SnapshotStore(table.file_io, table.location, branch)
    snapshots = find_snapshots(store, store.ids())
    changelogs = in_threads(store.find_change, store.changelog_ids())
    changes = (*snapshots, *(changelog for changelog in changelogs if changelog is not None))
    ids = {snapshot.id for snapshot in snapshots}
    first = (snapshot for snapshot in snapshots if snapshot.id - 1 not in ids)  # a rollback that broke off leaves a gap
    return OtherRoot((*first, *tagged_snapshots(store)), changes)


def add_live(table: Table, snapshot: Snapshot, used: UsedFiles) -> None:
    """Adds the live data files of a snapshot.

    Raises:
        CorruptFile: its metadata cannot be read.
    """
    columns = read_manifest_columns(
        table.file_io, table.location, read_data_manifests(table.file_io, table.location, snapshot)
    )
    canonical = canonical_partitions(columns, [f.type for f in table.schema.partition_fields])
    live = fold(columns, canonical[columns.partition_code], np.arange(len(columns)))
    names = columns.file_names
    used.data.update(names[i] for i in live.tolist())


def add_metadata(table: Table, snapshot: Snapshot, used: UsedFiles) -> None:
    """Adds the metadata and index files that a state needs, without its changelog. Errors as in add_live."""
    metas = read_data_manifests(table.file_io, table.location, snapshot)
    used.metadata.update((snapshot.base_manifest_list, snapshot.delta_manifest_list))
    used.metadata.update(meta.file_name for meta in metas)
    if snapshot.index_manifest is not None:
        entries = read_index_manifest(table.file_io, table.location, snapshot.index_manifest)
        used.metadata.add(snapshot.index_manifest)
        used.metadata.update(entry.file_name for entry in entries)
    if snapshot.statistics is not None:
        used.metadata.add(snapshot.statistics)


def add_reviving(table: Table, snapshot: Snapshot, used: UsedFiles) -> None:
    """Adds what a later snapshot took up. Errors as in add_live."""
    add_metadata(table, snapshot, used)
    add_added(table, snapshot, used)


def add_added(table: Table, change: Snapshot, used: UsedFiles) -> None:
    """Adds the data files that a change added, if they can still be told. Errors as in add_live."""
    metas = find_manifest_list(table, change.delta_manifest_list)
    used.data.update(_added_names(table, metas or ()))


def add_found_metadata(table: Table, change: Snapshot, used: UsedFiles) -> None:
    """As add_metadata, for a snapshot that has expired and of which some metadata are gone."""
    _add_lists(table, (change.base_manifest_list, change.delta_manifest_list), used)
    _add_found_indexes(table, change, used)


def _add_lists(table: Table, names: Iterable[str | None], used: UsedFiles) -> None:
    for name in names:
        metas = None if name is None else find_manifest_list(table, name)
        if name is not None and metas is not None:
            used.metadata.update((name, *(meta.file_name for meta in metas)))


def _add_found_indexes(table: Table, change: Snapshot, used: UsedFiles) -> None:
    used.metadata.update(name for name in (change.index_manifest, change.statistics) if name is not None)
    entries = None if change.index_manifest is None else find_index_manifest(table, change.index_manifest)
    used.metadata.update(entry.file_name for entry in entries or ())


def add_other_root(table: Table, root: OtherRoot, used: UsedFiles) -> None:
    """Adds all that another branch keeps: what it expires meanwhile may be gone. Errors as in add_live."""
    for state in root.states:
        add_live(table, state, used)
        add_metadata(table, state, used)
    for change in root.changes:
        add_found_metadata(table, change, used)
        _add_lists(table, (change.changelog_manifest_list,), used)
        for name in (change.delta_manifest_list, change.changelog_manifest_list):
            metas = None if name is None else find_manifest_list(table, name)
            used.data.update(_added_names(table, metas or ()))


def _added_names(table: Table, metas: Sequence[ManifestFileMeta]) -> list[str]:
    manifests = find_manifests(table, [meta for meta in metas if meta.num_added_files])
    if not manifests:
        return []
    columns = decode_manifests(manifests)
    return [columns.file_names[i] for i in np.flatnonzero(columns.kind == FileKind.ADD).tolist()]
