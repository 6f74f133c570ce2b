"""Finds the used ones among file names: by snapshots, tags and changelogs of all branches (Java: OrphanFilesClean).

A file counts as used if any manifest names it, even in a deletion. The listing is repeated until it shows nothing new
except later commits. So a state that changes its holder concurrently (a snapshot that becomes a tag or a changelog, a
tag or branch that is renamed) is seen under one name or the other.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from paimon_spark.errors import CorruptFile
from paimon_spark.file_io import FileIO
from paimon_spark.format.manifests.columns import decode_manifests
from paimon_spark.format.paths import (
    CHANGELOG_PREFIX,
    EARLIEST,
    LATEST,
    MAIN_BRANCH,
    RENAME_PREFIX,
    SNAPSHOT_PREFIX,
    changelog_directory,
    manifest_path,
    schema_directory,
)
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.expire.reading import find_index_manifests, find_manifest_lists, pieces
from paimon_spark.store.holds.marks import expiring_below
from paimon_spark.store.metadata.schemas import SchemaStore, branch_holds_files
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Progress
from paimon_spark.store.storage.files import find_bytes, list_branches, list_ids, read_hint
from paimon_spark.store.storage.parallel import map_parallel
from paimon_spark.store.storage.retrying import RetryRules, retry

_CHUNK = 64  # manifest lists read at a time
_WAITS = (0.05, 0.1, 0.2, 0.4, 0.8)  # seconds; for another job to finish a deletion or creation
_ROUNDS = 20
_WIDEST_GAP = 1000  # ids that a listing may have missed between two others
_EXTRA_FILES = ("_FILE", "_EXTRA_FILES")
_CHANGELOG = "compacted-changelog-"  # begins the name of a file, or of a part of another file
_PART_OF_CHANGELOG = re.compile(r"(compacted-changelog-[^$]*\$\d+-\d+)-\d+-\d+(\..*)", re.ASCII)

Key: TypeAlias = tuple[tuple[str, ...] | str | None, ...]


@dataclass(frozen=True)
class _Holder:
    """A file that keeps a state: a snapshot, tag or long-lived changelog.

    Attributes:
        words: its name, for messages.
        branch: its branch.
        number: the id of a snapshot; None for a tag or changelog.
        snapshot: the state.
        metadata: the lists and index manifests that must exist.
    """

    words: str
    branch: str
    number: int | None
    snapshot: Snapshot
    metadata: tuple[str, ...]

    @property
    def key(self) -> Key:
        """A key that is equal for holders of the same state that need the same metadata."""
        return (self.metadata, *_lists(self.snapshot), self.snapshot.index_manifest, self.snapshot.statistics)


def branches_of(table: Table) -> list[str]:
    """All branches, main first. An empty directory, which a crashed deletion leaves, is not a branch.

    Raises:
        CorruptFile: a branch has snapshots or tags and no schema (Java: OrphanFilesClean.validBranches).
        StorageError: the storage failed.
    """
    rules = RetryRules(len(_WAITS) + 1)  # a branch without schema may be in the making
    return retry(lambda _: _whole_branches(table), rules, CorruptFile, lambda failed: _WAITS[failed.number - 1])


def _whole_branches(table: Table) -> list[str]:
    file_io, location = table.file_io, table.location
    names = list_branches(file_io, location)
    schemas = map_parallel(lambda name: SchemaStore(file_io, location, name).ids(), names)
    bare = [name for name, ids in zip(names, schemas, strict=True) if not ids]
    held = [name for name in bare if branch_holds_files(file_io, location, name)]
    broken = [name for name in held if not _is_renamed_to(file_io, schema_directory(location, name))]
    if not broken:
        return [MAIN_BRANCH, *sorted(names.keys() - (set(bare) - set(held)))]
    raise CorruptFile(
        f"removing orphan files of {location}: the branches {', '.join(sorted(broken))} have no schema, so it cannot "
        "be told what they are; nothing was deleted. If a crash left them half made, make them again; or remove "
        "their directories"
    )


def _is_renamed_to(file_io: FileIO, schemas: str) -> bool:
    """True if a branch is being renamed to this name, or was when a crash happened; its schemas are written last."""
    return any(status.name.startswith(RENAME_PREFIX) for status in file_io.list(schemas))


def used_names(table: Table, wanted: Set[str], progress: Progress) -> set[str]:
    """The wanted file names that anything in the table names.

    Args:
        table: the table.
        wanted: file names; memory grows with them and with the metadata of the table, not with its data files.
        progress: called with the progress.

    Raises:
        CorruptFile: a snapshot, tag or branch is damaged, the latest snapshot of a branch is lost, or metadata that one
            needs are missing without a running deletion.
        StorageError: the storage failed.
    """
    reader, known, waits = _Reader(table, wanted, progress), set[Key](), iter(_WAITS)
    newest: dict[str, int] | None = None  # the last snapshot of each branch, when all was read
    for _ in range(_ROUNDS):
        holders = _holders(table)
        new = [holder for holder in holders if holder.key not in known]
        missing = _unexplained(table, new, reader.read(new))
        known.update(holder.key for holder in new if holder.words not in missing)
        if missing:
            wait = next(waits, None)
            if wait is None:
                raise _broken(table, missing)
            time.sleep(wait)
            continue
        if newest is not None and all(h.number is not None and h.number > newest.get(h.branch, 2**63) for h in new):
            return reader.used()
        newest = {holder.branch: holder.number for holder in holders if holder.number is not None}
    raise CorruptFile(
        f"removing orphan files of {table.location}: its snapshots, tags and branches change faster than they can be "
        "read; nothing was deleted. Try again when fewer jobs run"
    )


def _unexplained(table: Table, holders: Iterable[_Holder], missing: dict[str, str]) -> dict[str, str]:
    """The missing metadata that no expiry has deleted, by the marks of expiries."""
    ends: dict[str, int] = {}
    left = {}
    for holder in holders:
        if holder.words not in missing:
            continue
        if holder.number is not None:
            if holder.branch not in ends:
                store = SnapshotStore(table.file_io, table.location, holder.branch)
                ends[holder.branch] = expiring_below(store) or 0
            if holder.number < ends[holder.branch]:
                continue
        left[holder.words] = missing[holder.words]
    return left


def _broken(table: Table, missing: dict[str, str]) -> CorruptFile:
    words, name = next(iter(missing.items()))
    return CorruptFile(
        f"removing orphan files of {table.location}: {words} needs {name}, which is not there, so it cannot be "
        "told which files it uses; nothing was deleted. If an expiry is under way, try again; else first remove what "
        "is broken"
    )


# ---------------------------------------------------------------------------------------------------- who holds a state


def _holders(table: Table) -> list[_Holder]:
    """All existing holders. Snapshots of a branch are read first: a state is a tag or changelog before it expires."""
    found = map_parallel(lambda branch: _holders_of(table, branch), branches_of(table))
    return [holder for holders in found for holder in holders]


def _holders_of(table: Table, branch: str) -> list[_Holder]:
    store = SnapshotStore(table.file_io, table.location, branch)
    where = "" if branch == MAIN_BRANCH else f" of the branch {branch}"
    snapshots = _numbered(table.file_io, store.directory, SNAPSHOT_PREFIX, store.find)
    store.check_latest()
    if not snapshots:
        store.check_not_lost()
    holders = [_Holder(f"snapshot {n}{where}", branch, n, s, _needed(s)) for n, s in snapshots.items()]
    names = store.tag_names()
    for name, tag in zip(names, map_parallel(store.find_tag, names), strict=True):
        if tag is not None:
            needed = _needed(tag.snapshot)
            holders.append(_Holder(f"tag {name}{where}", branch, None, tag.snapshot, needed))

    directory = changelog_directory(table.location, branch)
    changelogs = _numbered(table.file_io, directory, CHANGELOG_PREFIX, store.find_changelog)
    return [*holders, *(_Holder(f"changelog {n}{where}", branch, None, s, ()) for n, s in changelogs.items())]


def _lists(snapshot: Snapshot) -> list[str]:
    lists = (snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.changelog_manifest_list)
    return [name for name in lists if name is not None]


def _needed(snapshot: Snapshot) -> tuple[str, ...]:
    """The metadata that must exist. The changelog list may be missing: a tag loses it when its snapshot expires."""
    names = (snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.index_manifest)
    return tuple(name for name in names if name is not None)


def _numbered(
    file_io: FileIO, directory: str, prefix: str, find: Callable[[int], Snapshot | None]
) -> dict[int, Snapshot]:
    """The snapshots of a directory by id, ascending.

    Their ids have no gaps. So ids that a stale listing may lack are looked up by name: between the listed ones, at both
    ends, and at the ids in the hints.
    """
    ids = set(list_ids(file_io, directory, prefix))
    hints = {read_hint(file_io, f"{directory}/{hint}") for hint in (EARLIEST, LATEST)}
    ids |= {hint for hint in hints if hint is not None and hint > 0}
    listed = sorted(ids)
    for lower, upper in pairwise(listed):
        if upper - lower <= _WIDEST_GAP:
            ids.update(range(lower + 1, upper))
    wanted = sorted(ids)
    found = {n: s for n, s in zip(wanted, map_parallel(find, wanted), strict=True) if s is not None}
    if found:
        for step, number in ((1, max(found) + 1), (-1, min(found) - 1)):
            while number > 0 and (snapshot := find(number)) is not None:
                found[number] = snapshot
                number += step
    return dict(sorted(found.items()))


# ------------------------------------------------------------------------------------------------------ what it names


class _Reader:
    """Reads each metadata file once, and collects the wanted names."""

    def __init__(self, table: Table, wanted: Set[str], progress: Progress) -> None:
        self._table, self._wanted, self._progress = table, wanted, progress
        self._left = set(wanted)  # the wanted names that nothing read so far names
        self._lists: dict[str, tuple[str, ...]] = {}  # names of their manifests, until all are read
        self._manifests: set[str] = set()
        self._sizes: dict[str, int] = {}  # of manifests, as recorded
        self._indexes: set[str] = set()

    def used(self) -> set[str]:
        """The wanted names among those of all that was read."""
        return set(self._wanted) - self._left

    def read(self, holders: Sequence[_Holder]) -> dict[str, str]:
        """Adds the file names of the holders.

        Returns:
            For each holder with missing metadata, by its words, the missing file.

        Raises:
            CorruptFile: metadata are damaged.
            StorageError: the storage failed.
        """
        snapshots = [holder.snapshot for holder in holders]
        self._read_lists(name for snapshot in snapshots for name in _lists(snapshot))
        self._read_indexes(s.index_manifest for s in snapshots if s.index_manifest is not None)
        self._read_manifests(name for names in self._lists.values() for name in names)
        self._add(s.statistics for s in snapshots if s.statistics is not None)
        missing = {holder.words: self._missing(holder) for holder in holders}
        for name, manifests in self._lists.items():
            if self._manifests.issuperset(manifests):
                self._lists[name] = ()
        return {words: name for words, name in missing.items() if name is not None}

    def _missing(self, holder: _Holder) -> str | None:
        for name in holder.metadata:
            if name not in self._lists and name not in self._indexes:
                return name
            for manifest in self._lists.get(name, ()):
                if manifest not in self._manifests:
                    return manifest
        return None

    def _read_lists(self, names: Iterable[str]) -> None:
        wanted = [name for name in dict.fromkeys(names) if name not in self._lists]
        self._add(wanted)
        for start in range(0, len(wanted), _CHUNK):
            for name, metas in find_manifest_lists(self._table, wanted[start : start + _CHUNK]).items():
                self._lists[name] = tuple(sys.intern(meta.file_name) for meta in metas)
                self._sizes.update(zip(self._lists[name], (meta.file_size for meta in metas), strict=True))
                self._add(self._lists[name])

    def _read_indexes(self, names: Iterable[str]) -> None:
        wanted = [name for name in dict.fromkeys(names) if name not in self._indexes]
        self._add(wanted)
        for name, entries in find_index_manifests(self._table, wanted).items():
            self._indexes.add(name)
            self._add(entry.file_name for entry in entries)

    def _read_manifests(self, names: Iterable[str]) -> None:
        wanted = [name for name in dict.fromkeys(names) if name not in self._manifests]
        done = 0
        for piece in pieces(wanted, self._sizes.__getitem__):
            self._progress("manifests", done, len(wanted))
            done += len(piece)
            paths = [(name, manifest_path(self._table.location, name)) for name in piece]
            found = map_parallel(lambda place: find_bytes(self._table.file_io, place[1]), paths)
            present = [(name, path, data) for (name, path), data in zip(paths, found, strict=True) if data is not None]
            if present:
                columns = decode_manifests([(path, data) for _, path, data in present], only_names=True)
                self._add(columns.file_names)
                for extra in columns.lists(_EXTRA_FILES, columns.with_extra_files()):
                    self._add(extra or ())
                self._manifests.update(name for name, _, _ in present)
        if wanted:
            self._progress("manifests", len(wanted), len(wanted))

    def _add(self, names: Iterable[str]) -> None:
        given = list(names)
        self._left.difference_update(given)
        if _CHANGELOG in "\n".join(given):  # few tables have any
            parts = (_PART_OF_CHANGELOG.fullmatch(name) for name in given if name.startswith(_CHANGELOG))
            self._left.difference_update(part[1] + part[2] for part in parts if part is not None)
