"""Reads metadata that another expiry may be deleting concurrently: missing files are skipped, other errors raised.

Also checks, before an expiry deletes anything, that the metadata of the states that stay are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from paimon_spark.errors import CorruptFile
from paimon_spark.file_io import is_far
from paimon_spark.format.manifest import IndexManifestEntry, ManifestFileMeta
from paimon_spark.format.manifests.codec import decode_manifest_list
from paimon_spark.format.manifests.columns import ManifestColumns, decode_manifests
from paimon_spark.format.manifests.index_manifest import decode_index_manifest
from paimon_spark.format.options.option import MB
from paimon_spark.format.paths import manifest_directory, manifest_path
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.files import find_bytes
from paimon_spark.store.storage.parallel import map_near_or_far

_MANIFESTS = 64  # decoded at a time, at most
_MANIFEST_BYTES = 4 * MB  # decoded at a time, at most; they take 25 times as much memory then

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
    return _each_once(table, names, find_manifest_list)


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
    return _each_once(table, names, find_index_manifest)


def find_manifests(table: Table, metas: Sequence[ManifestFileMeta]) -> list[tuple[str, bytes] | None]:
    """(path, content) of manifests in order; None for each missing one."""

    def find(meta: ManifestFileMeta) -> tuple[str, bytes] | None:
        path = manifest_path(table.location, meta.file_name)
        data = find_bytes(table.file_io, path)
        return None if data is None else (path, data)

    return map_near_or_far(find, metas, is_far(table.location))


def found_entries(table: Table, metas: Iterable[ManifestFileMeta]) -> Iterator[ManifestColumns]:
    """The entries of manifests, each read once, some manifests at a time; missing ones are skipped.

    Raises:
        CorruptFile: a manifest is damaged.
    """
    distinct = list({meta.file_name: meta for meta in metas}.values())
    for piece in pieces(distinct, lambda meta: meta.file_size):
        found = find_manifests(table, piece)
        yield decode_manifests([manifest for manifest in found if manifest is not None])


def pieces(manifests: Iterable[T], size_of: Callable[[T], int]) -> Iterator[list[T]]:
    """The manifests in order, in pieces of which one may be decoded at a time.

    Args:
        manifests: names or whatever stands for a manifest.
        size_of: the recorded size of one in bytes.
    """
    piece: list[T] = []
    left = _MANIFEST_BYTES
    for manifest in manifests:
        size = size_of(manifest)
        if piece and (size > left or len(piece) == _MANIFESTS):
            yield piece
            piece, left = [], _MANIFEST_BYTES
        piece.append(manifest)
        left -= size
    if piece:
        yield piece


def find_snapshots(store: SnapshotStore, ids: Iterable[int]) -> list[Snapshot]:
    """The existing snapshots among the ids, in order."""
    return [snapshot for snapshot in map_near_or_far(store.find, ids, is_far(store.table)) if snapshot is not None]


def check_they_stay(table: Table, oldest: Snapshot, latest: Snapshot) -> None:
    """Checks that the metadata of the oldest snapshot that stays and of the latest one are there.

    Otherwise the snapshots that are to expire may be the last states that can be read. The cost is one listing, and the
    manifest lists of both.

    Raises:
        CorruptFile: a file is missing or of another size; the message says which, and what to do.
    """
    sizes = {status.name: status.size for status in table.file_io.list(manifest_directory(table.location))}
    for snapshot in (latest, oldest):
        if damage := _damage(table, snapshot, sizes):
            raise CorruptFile(
                f"expiring snapshots of {table.location}: nothing was deleted, because snapshot {snapshot.id}, which "
                f"stays, cannot be read: {damage}. Restore this file, or "
                + (_way_back(table, latest.id, sizes) if snapshot is latest else _way_on(snapshot.id))
            )


def _damage(table: Table, snapshot: Snapshot, sizes: Mapping[str, int]) -> str | None:
    """What is wrong with the metadata that a snapshot names; None: nothing, as far as sizes tell."""
    lists = {
        snapshot.base_manifest_list: snapshot.base_manifest_list_size,
        snapshot.delta_manifest_list: snapshot.delta_manifest_list_size,
    }
    index = {} if snapshot.index_manifest is None else {snapshot.index_manifest: None}
    if found := _first_wrong(table, {**lists, **index}, sizes):
        return found
    try:
        metas = [meta for named in find_manifest_lists(table, lists).values() for meta in named]
    except CorruptFile as error:
        return str(error)
    return _first_wrong(table, {meta.file_name: meta.file_size for meta in metas}, sizes)


def _first_wrong(table: Table, named: Mapping[str, int | None], sizes: Mapping[str, int]) -> str | None:
    for name, size in named.items():
        path = manifest_path(table.location, name)
        if name not in sizes:
            return f"{path} does not exist"
        if size is not None and sizes[name] != size:
            return f"{path} has {sizes[name]} bytes, and {size} are recorded"
    return None


def _way_back(table: Table, latest: int, sizes: Mapping[str, int]) -> str:
    store = table.snapshots
    older = store.walk([number for number in reversed(store.ids()) if number < latest])
    whole = next((snapshot.id for snapshot in older if _damage(table, snapshot, sizes) is None), None)
    if whole is None:
        return "roll the table back to a tag: no older snapshot has all its metadata either"
    return (
        f"roll the table back to snapshot {whole}, the newest one that has all its metadata (`paimon-spark rollback "
        f"{table.location} {whole}`), and expire then"
    )


def _way_on(number: int) -> str:
    return f"keep fewer or more snapshots, so that snapshot {number} expires too or is not the oldest that stays"


def _each_once(table: Table, names: Iterable[str | None], find: Callable[[Table, str], T | None]) -> dict[str, T]:
    distinct = list(dict.fromkeys(name for name in names if name is not None))
    found = map_near_or_far(partial(find, table), distinct, is_far(table.location))
    return {name: value for name, value in zip(distinct, found, strict=True) if value is not None}
