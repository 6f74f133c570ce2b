"""Reads metadata that another expiry may be deleting concurrently: missing files are skipped, other errors raised."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from paimon_spark.format.manifest import IndexManifestEntry, ManifestFileMeta
from paimon_spark.format.manifests.codec import decode_manifest_list
from paimon_spark.format.manifests.columns import ManifestColumns, decode_manifests
from paimon_spark.format.manifests.index_manifest import decode_index_manifest
from paimon_spark.format.paths import manifest_path
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.files import find_bytes
from paimon_spark.store.storage.parallel import map_parallel

_CHUNK = 64  # manifests decoded at a time

T = TypeVar("T")


def find_manifest_list(table: Table, name: str) -> list[ManifestFileMeta] | None:
    """The manifests that a manifest list names; None if the list is missing.

    Raises:
        CorruptFile: not a manifest list, truncated or damaged.
        UnsupportedFeature: a record version this release does not know.
    """
    path = manifest_path(table.location, name)
    data = find_bytes(table.file_io, path)
    return None if data is None else decode_manifest_list(data, path)


def find_manifest_lists(table: Table, names: Iterable[str | None]) -> dict[str, list[ManifestFileMeta]]:
    """The manifests in manifest lists, by the name of the list, each list read once; missing lists are left out.

    Raises:
        CorruptFile: not a manifest list, truncated or damaged.
        UnsupportedFeature: a record version this release does not know.
    """
    return _each_once(names, lambda name: find_manifest_list(table, name))


def find_index_manifest(table: Table, name: str) -> list[IndexManifestEntry] | None:
    """The entries of an index manifest; None if it is missing.

    Raises:
        CorruptFile: not an index manifest, truncated or damaged.
        UnsupportedFeature: a record version this release does not know.
    """
    path = manifest_path(table.location, name)
    data = find_bytes(table.file_io, path)
    return None if data is None else decode_index_manifest(data, path)


def find_index_manifests(table: Table, names: Iterable[str | None]) -> dict[str, list[IndexManifestEntry]]:
    """The entries of index manifests by name, each manifest read once; missing ones are left out.

    Raises:
        CorruptFile: not an index manifest, truncated or damaged.
        UnsupportedFeature: a record version this release does not know.
    """
    return _each_once(names, lambda name: find_index_manifest(table, name))


def find_manifests(table: Table, metas: Sequence[ManifestFileMeta]) -> list[tuple[str, bytes] | None]:
    """(path, content) of manifests in order; None for each missing one."""

    def find(meta: ManifestFileMeta) -> tuple[str, bytes] | None:
        path = manifest_path(table.location, meta.file_name)
        data = find_bytes(table.file_io, path)
        return None if data is None else (path, data)

    return map_parallel(find, metas)


def found_entries(table: Table, metas: Iterable[ManifestFileMeta]) -> Iterator[ManifestColumns]:
    """The entries of manifests, each read once, some manifests at a time; missing ones are skipped.

    Raises:
        CorruptFile: a manifest is damaged.
    """
    distinct = list({meta.file_name: meta for meta in metas}.values())
    for start in range(0, len(distinct), _CHUNK):
        found = find_manifests(table, distinct[start : start + _CHUNK])
        yield decode_manifests([manifest for manifest in found if manifest is not None])


def find_snapshots(store: SnapshotStore, ids: Iterable[int]) -> list[Snapshot]:
    """The existing snapshots among the ids, in order."""
    return [snapshot for snapshot in map_parallel(store.find, ids) if snapshot is not None]


def _each_once(names: Iterable[str | None], find: Callable[[str], T | None]) -> dict[str, T]:
    distinct = list(dict.fromkeys(name for name in names if name is not None))
    found = zip(distinct, map_parallel(find, distinct), strict=True)
    return {name: value for name, value in found if value is not None}
