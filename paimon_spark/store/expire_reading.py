"""Reading metadata that another expiry may just be deleting: what is gone is None, any other error is an error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from paimon_spark.spec.index_manifest import decode_index_manifest
from paimon_spark.spec.manifest import IndexManifestEntry, ManifestFileMeta
from paimon_spark.spec.manifest_codec import decode_manifest_list
from paimon_spark.spec.paths import manifest_path
from paimon_spark.spec.snapshot import Snapshot
from paimon_spark.store.snapshots import SnapshotStore
from paimon_spark.store.table import Table
from paimon_spark.store.threads import in_threads
from paimon_spark.store.versioned import find_bytes


def find_manifest_list(table: Table, name: str) -> list[ManifestFileMeta] | None:
    """Errors as in decode_manifest_list."""
    path = manifest_path(table.location, name)
    data = find_bytes(table.file_io, path)
    return None if data is None else decode_manifest_list(data, path)


def find_index_manifest(table: Table, name: str) -> list[IndexManifestEntry] | None:
    """Errors as in decode_index_manifest."""
    path = manifest_path(table.location, name)
    data = find_bytes(table.file_io, path)
    return None if data is None else decode_index_manifest(data, path)


def find_manifests(table: Table, metas: Sequence[ManifestFileMeta]) -> list[tuple[str, bytes]] | None:
    """(path, content) of manifests in order; None when one of them is gone, for a part of them misleads."""
    found = []
    for meta in metas:
        path = manifest_path(table.location, meta.file_name)
        data = find_bytes(table.file_io, path)
        if data is None:
            return None
        found.append((path, data))
    return found


def find_snapshots(store: SnapshotStore, ids: Iterable[int]) -> list[Snapshot]:
    """Those of the ids that are there, in order."""
    return [snapshot for snapshot in in_threads(store.find, ids) if snapshot is not None]
