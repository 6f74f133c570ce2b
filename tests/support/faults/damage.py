"""Ways to make a good table wrong in one point and leave all else as it should be."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_spark.format.manifest import FileKind, IndexManifestEntry, ManifestEntry, ManifestFileMeta
from paimon_spark.format.manifests.codec import (
    decode_manifest,
    decode_manifest_list,
    encode_manifest,
    encode_manifest_list,
)
from paimon_spark.format.manifests.index_manifest import decode_index_manifest, encode_index_manifest
from support.index_files import encode_vectors


def edit_json(path: Path, **changes: Any) -> None:
    """Replaces values of a JSON file; None removes the key."""
    values = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({key: value for key, value in values.items() if value is not None}))


def snapshot_file(table: Path, snapshot_id: int) -> Path:
    return table / "snapshot" / f"snapshot-{snapshot_id}"


def change_entries(table: Path, change: Callable[[ManifestEntry], Iterable[ManifestEntry]]) -> None:
    """Replaces every entry of every manifest by others; lists and snapshots follow."""
    sizes: dict[str, ManifestFileMeta] = {}

    def follow(meta: ManifestFileMeta) -> list[ManifestFileMeta]:
        if meta.file_name not in sizes:
            path = table / "manifest" / meta.file_name
            entries = [new for old in decode_manifest(path.read_bytes(), str(path)) for new in change(old)]
            path.write_bytes(encode_manifest(entries))
            added = sum(entry.kind == FileKind.ADD for entry in entries)
            levels, buckets = [entry.file.level for entry in entries], [entry.bucket for entry in entries]
            sizes[meta.file_name] = replace(
                meta,
                file_size=path.stat().st_size,
                num_added_files=added,
                num_deleted_files=len(entries) - added,
                min_bucket=min(buckets, default=None),
                max_bucket=max(buckets, default=None),
                min_level=min(levels, default=None),
                max_level=max(levels, default=None),
            )
        return [sizes[meta.file_name]]

    for snapshot in (table / "snapshot").glob("snapshot-*"):
        for kind in ("base", "delta", "changelog"):
            change_list(table, int(snapshot.name.removeprefix("snapshot-")), kind, follow)


def change_list(
    table: Path, snapshot_id: int, kind: str, change: Callable[[ManifestFileMeta], Iterable[ManifestFileMeta]]
) -> None:
    """Replaces the manifests of a list (base, delta or changelog) of a snapshot; the snapshot follows."""
    snapshot = snapshot_file(table, snapshot_id)
    name = json.loads(snapshot.read_text()).get(f"{kind}ManifestList")
    if name is None:
        return
    path = table / "manifest" / name
    metas = [new for old in decode_manifest_list(path.read_bytes(), str(path)) for new in change(old)]
    path.write_bytes(encode_manifest_list(metas))
    edit_json(snapshot, **{f"{kind}ManifestListSize": path.stat().st_size})


def change_index(
    table: Path, snapshot_id: int, change: Callable[[IndexManifestEntry], Iterable[IndexManifestEntry]]
) -> None:
    """Replaces the entries of the index manifest of a snapshot."""
    name = json.loads(snapshot_file(table, snapshot_id).read_text())["indexManifest"]
    path = table / "manifest" / name
    entries = [new for old in decode_index_manifest(path.read_bytes(), str(path)) for new in change(old)]
    path.write_bytes(encode_index_manifest(entries))


def change_vectors(table: Path, snapshot_id: int, positions: list[int]) -> None:
    """The vector of an index file with one vector deletes other rows; the index manifest follows."""

    def replaced(entry: IndexManifestEntry) -> list[IndexManifestEntry]:
        (old,) = entry.deletion_ranges or ()
        data, ranges = encode_vectors({old.data_file: positions})
        (table / "index" / entry.file_name).write_bytes(data)
        return [replace(entry, file_size=len(data), deletion_ranges=ranges)]

    change_index(table, snapshot_id, replaced)


def rewrite_data_file(table: Path, name: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Writes a parquet file anew with other rows; its size in the manifests follows, all else in them stays."""
    (path,) = table.rglob(name)
    pq.write_table(change(pq.read_table(path, partitioning=None)), path)

    def with_size(entry: ManifestEntry) -> list[ManifestEntry]:
        if entry.file.file_name != name:
            return [entry]
        return [entry._replace(file=entry.file._replace(file_size=path.stat().st_size))]

    change_entries(table, with_size)
