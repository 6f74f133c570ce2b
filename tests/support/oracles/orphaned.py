"""Tables with orphan files: making files old, and telling naively what names what."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paimon_spark.file_io import FileStatus, ListedNames
from paimon_spark.format.manifests.codec import decode_manifest, decode_manifest_list
from paimon_spark.format.manifests.index_manifest import decode_index_manifest
from paimon_spark.store.clean.orphans import remove_orphan_files
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table
from support.tables.compacted_tables import NotedFileIO
from support.tables.expiring import NO_OPTIONS, live_on, new_table, states

DAY = 86_400
ID = "01234567-89ab-4cde-8123-456789abcdef"
METADATA = ("manifest", "index", "statistics")


def age(root: str | Path, days: float = 3) -> None:
    """Everything below was changed so many days ago."""
    then = time.time() - days * DAY
    for path in [*Path(root).rglob("*")]:
        os.utime(path, (then, then))


def put(path: Path, data: bytes = b"?", days: float = 3) -> Path:
    """A file of some age; directories on the way are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (time.time() - days * DAY,) * 2)
    return path


def all_states(table: Table) -> dict[str, object]:
    """The rows of every snapshot and tag of every branch."""
    found: dict[str, object] = {}
    names = [path.name.removeprefix("branch-") for path in Path(table.location, "branch").glob("*")]
    for branch in ("main", *names):
        there = states(open_table(table.location, {"branch": branch}))
        found |= {f"{branch} {name}": rows for name, rows in there.items()}
    return found


def orphans_by_hand(table: Table, levels: int = 0) -> set[str]:
    """All orphans, however young, relative to the table: every file is walked to, every metadata file is read."""
    root = Path(table.location)
    used = {name for holder in _holders(root) for name in _named(root, json.loads(holder.read_text()))}
    buckets = {path for path in root.glob("*/" * levels + "bucket-*") if path.is_dir()}
    files = {path for directory in (*buckets, *(root / name for name in METADATA)) for path in directory.glob("*")}
    found = {path for path in files if path.is_file() and path.name not in used}
    for place in (root, *(root / "branch").glob("*")):
        for kind in ("snapshot", "changelog"):
            kept = (f"{kind}-", "EARLIEST", "LATEST")
            found |= {path for path in (place / kind).glob("*") if not path.name.startswith(kept)}
    return {str(path.relative_to(root)) for path in found}


def _holders(root: Path) -> Iterator[Path]:
    for place in (root, *(root / "branch").glob("*")):
        for kind in ("snapshot", "tag", "changelog"):
            yield from (place / kind).glob(f"{kind}-*[!S]")  # no success files


def _named(root: Path, snapshot: dict[str, str | None]) -> Iterator[str]:
    for key in ("baseManifestList", "deltaManifestList", "changelogManifestList"):
        name = snapshot.get(key)
        if name is None or not (root / "manifest" / name).exists():
            continue
        yield name
        for meta in decode_manifest_list((root / "manifest" / name).read_bytes(), name):
            yield meta.file_name
            for entry in decode_manifest((root / "manifest" / meta.file_name).read_bytes(), meta.file_name):
                yield entry.file.file_name
                yield from entry.file.extra_files
    index = snapshot.get("indexManifest")
    if index is not None:
        yield index
        for one in decode_index_manifest((root / "manifest" / index).read_bytes(), index):
            yield one.file_name
    statistics = snapshot.get("statistics")
    if statistics is not None:
        yield statistics


def removed(table: Table, **more: Any) -> set[str]:
    """Removes orphans; what went, relative to the table."""
    done = remove_orphan_files(table, dry_run=False, **more)
    return {os.path.relpath(path, table.location) for path in done.paths}


def lived(path: Path, options: Mapping[str, str] = NO_OPTIONS, steps: str = "wwcw") -> Table:
    """A table at t that has lived by these steps."""
    table = new_table(path / "t", options)
    live_on(table, steps)
    return table


def forget_snapshots(table: Table, below: int | None = None) -> None:
    """Deletes the files of snapshots: those below an id, or all, and then the hint, which would name a lost one."""
    for path in Path(table.location, "snapshot").glob("snapshot-*"):
        if below is None or int(path.name.removeprefix("snapshot-")) < below:
            path.unlink()
    if below is None:
        Path(table.location, "snapshot/LATEST").unlink(missing_ok=True)


@dataclass(frozen=True)
class NotingFileIO(NotedFileIO):
    """Notes also which process lists and deletes. broken: a directory that cannot be listed."""

    broken: str = ""

    def list(self, path: str) -> list[FileStatus]:
        self.note("list", path)
        if path.endswith(self.broken or "\0"):
            raise PermissionError(f"no access to {path}")
        return super().list(path)

    def list_names(self, path: str) -> ListedNames:
        self.note("list", path)
        if path.endswith(self.broken or "\0"):
            raise PermissionError(f"no access to {path}")
        return super().list_names(path)

    def delete_many(self, paths: Sequence[str]) -> None:
        for path in paths:
            self.note("delete", path)
        super().delete_many(paths)
