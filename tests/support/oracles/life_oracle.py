"""What every state of a table needs and holds, derived naively from its metadata: nothing is shared with expiry.

A root is a file that makes files live: a snapshot, a tag, a long-lived changelog, of the table or one of its branches.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from paimon_spark.arrow.formats.data_file import open_reader
from paimon_spark.file_io import FileIO
from paimon_spark.format.manifest import FileKind, ManifestEntry
from paimon_spark.format.paths import data_file_path, extra_file_path, file_format_of, index_file_path, manifest_path
from paimon_spark.store.metadata.file_paths import bucket_directory
from paimon_spark.store.metadata.manifest_files import read_index_manifest, read_manifest_list, read_manifests
from paimon_spark.store.metadata.table import Table

Row = tuple[int, int, int]
"""(p, k, v) of every table here; v is never used twice, and of equal p and k the row with the highest v counts."""

Rows = frozenset[Row]
Key = tuple[str, str]


class Kind(StrEnum):
    SNAPSHOT = "snapshot"
    TAG = "tag"
    CHANGELOG = "changelog"


@dataclass(frozen=True)
class Root:
    """One file that keeps others. name: of a tag, else the id; data: its bytes."""

    path: str
    kind: Kind
    branch: str
    name: str
    data: bytes

    @cached_property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.data)
        return found

    @property
    def number(self) -> int:
        return int(self.json["id"])

    @property
    def key(self) -> Key:
        """Tells the state that it keeps: nobody writes a manifest list twice."""
        return self.json["baseManifestList"], self.json["deltaManifestList"]

    def __str__(self) -> str:
        return f"{self.kind} {self.name} of {self.branch}"


_ROOT = re.compile(r"(?:/branch/branch-([^/]+))?/(?:(snapshot)/snapshot|(tag)/tag|(changelog)/changelog)-([^/]+)")


def root_at(location: str, path: str, data: bytes) -> Root | None:
    """The root behind a path, None when the file is something else."""
    found = _ROOT.fullmatch(path.removeprefix(location))
    if found is None:
        return None
    return Root(path, Kind(found[2] or found[3] or found[4]), found[1] or "main", found[5], data)


@dataclass
class Oracle:
    """table: on the store itself, so that nobody waits for a turn."""

    table: Table
    is_keyed: bool
    _needs: dict[tuple[Kind, Key], frozenset[str]] = field(default_factory=dict)
    _files: dict[str, Rows] = field(default_factory=dict)
    _live: dict[Key, tuple[ManifestEntry, ...]] = field(default_factory=dict)

    @property
    def _io(self) -> FileIO:
        return self.table.file_io

    def needs(self, root: Root) -> frozenset[str]:
        """The paths of all files that a root keeps. A tag, or a copy of a snapshot, keeps no changelog.

        Raises:
            CorruptFile: metadata are gone, and were never looked at before.
        """
        if root.kind == Kind.CHANGELOG:
            return self.needs_changelog(root)
        key = (Kind.SNAPSHOT, root.key)
        if key not in self._needs:
            self._needs[key] = frozenset(self._state(root))
        return self._needs[key]

    def needs_changelog(self, root: Root) -> frozenset[str]:
        """The paths of the changelog of a snapshot, or of what stands for it. Errors as in needs."""
        key = (Kind.CHANGELOG, root.key)
        if key not in self._needs:
            snapshot = root.json
            is_change = "changelog-producer" not in self.table.schema.options and snapshot["commitKind"] != "COMPACT"
            name = snapshot.get("changelogManifestList") or (snapshot["deltaManifestList"] if is_change else None)
            self._needs[key] = frozenset(() if name is None else self._added(name))
        return self._needs[key]

    def names(self, root: Root) -> set[str]:
        """The names of all files that a root leads to, be it as deleted: none of them is an orphan."""
        where, snapshot = self.table.location, root.json
        lists = [snapshot.get(f"{kind}ManifestList") for kind in ("base", "delta", "changelog")]
        names = {name for name in (*lists, snapshot.get("indexManifest"), snapshot.get("statistics")) if name}
        for name in filter(None, lists):
            if self._io.exists(manifest_path(where, name)):
                metas = read_manifest_list(self._io, where, name)
                names |= {meta.file_name for meta in metas}
                there = [meta for meta in metas if self._io.exists(manifest_path(where, meta.file_name))]
                for entry in read_manifests(self._io, where, there):
                    names |= {entry.file.file_name, *entry.file.extra_files}
        index = snapshot.get("indexManifest")
        if index and self._io.exists(manifest_path(where, index)):
            names |= {entry.file_name for entry in read_index_manifest(self._io, where, index)}
        return names

    def rows(self, root: Root, visible: bool = False) -> Rows:
        """What a state holds. visible: only what a table with deletion vectors shows: files that were compacted."""
        entries = [e for e in self._entries(root) if e.file.level > 0 or not visible]
        return merged((self._rows_of(entry) for entry in entries), self.is_keyed)

    def _state(self, root: Root) -> set[str]:
        where, snapshot = self.table.location, root.json
        names = [*root.key, *(m.file_name for name in root.key for m in read_manifest_list(self._io, where, name))]
        paths = {path for entry in self._entries(root) for path in self._paths(entry)}
        index = snapshot.get("indexManifest")
        for entry in read_index_manifest(self._io, where, index):
            directory = bucket_directory(self.table, entry.partition, entry.bucket)
            paths.add(index_file_path(where, directory, entry, self.table.settings))
        if snapshot.get("statistics"):
            paths.add(f"{where}/statistics/{snapshot['statistics']}")
        return paths | {manifest_path(where, name) for name in (*names, *([index] if index else ()))}

    def _added(self, name: str) -> set[str]:
        """A list, the manifests it names, and the files that these add."""
        where = self.table.location
        metas = read_manifest_list(self._io, where, name)
        entries = read_manifests(self._io, where, metas)
        paths = {path for entry in entries if entry.kind == FileKind.ADD for path in self._paths(entry)}
        return paths | {manifest_path(where, n) for n in (name, *(meta.file_name for meta in metas))}

    def _entries(self, root: Root) -> tuple[ManifestEntry, ...]:
        """The live files."""
        if root.key not in self._live:
            where, live = self.table.location, dict[Any, ManifestEntry]()
            metas = [meta for name in root.key for meta in read_manifest_list(self._io, where, name)]
            for entry in read_manifests(self._io, where, metas):
                if entry.kind == FileKind.ADD:
                    assert entry.identity not in live, f"{entry.file.file_name} is added twice in {root}"
                    live[entry.identity] = entry
                else:
                    assert live.pop(entry.identity, None), f"{entry.file.file_name} is not live in {root}"
            self._live[root.key] = tuple(live.values())
        return self._live[root.key]

    def _paths(self, entry: ManifestEntry) -> list[str]:
        directory = bucket_directory(self.table, entry.partition, entry.bucket)
        extra = (extra_file_path(directory, entry.file, name) for name in entry.file.extra_files)
        return [data_file_path(directory, entry.file), *extra]

    def _rows_of(self, entry: ManifestEntry) -> Rows:
        path = self._paths(entry)[0]
        if path not in self._files:
            reader = open_reader(self._io.open_input(path), file_format_of(path), path)
            batches = [batch for _, batch in reader.read(self.table.schema.fields, 1000)]
            reader.close()
            self._files[path] = frozenset((r["p"], r["k"], r["v"]) for b in batches for r in b.to_pylist())
        return self._files[path]


def merged(parts: Iterable[Iterable[Row]], is_keyed: bool) -> Rows:
    """All rows; of a keyed table the newest of each key."""
    if not is_keyed:
        return frozenset(row for part in parts for row in part)
    newest: dict[tuple[int, int], int] = {}
    for part in parts:
        for p, k, v in part:
            newest[p, k] = max(v, newest.get((p, k), v))
    return frozenset((p, k, v) for (p, k), v in newest.items())


def without(rows: Rows, partition: int | None) -> Rows:
    """The rows outside a partition; None: none at all."""
    return frozenset(row for row in rows if partition is not None and row[0] != partition)
