"""Lists files that may be orphans, in the directories where tables keep files (Java: OrphanFilesClean, its listing).

Only these directories are listed: buckets, partitions without buckets, ``manifest``, ``index``, ``statistics``, and of
each branch ``snapshot`` and ``changelog``. Other directories and files with other names are not touched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import chain
from typing import NamedTuple, Protocol

from paimon_spark.file_io import FileIO, find_status, is_same_store, list_names
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.paths import (
    CHANGELOG_PREFIX,
    EARLIEST,
    LATEST,
    MANIFEST_LIST_PREFIX,
    SNAPSHOT_PREFIX,
    branch_root,
    changelog_directory,
    data_root,
    external_paths,
    manifest_directory,
    schema_directory,
    snapshot_directory,
    stream_sink_directory,
    tag_directory,
)
from paimon_spark.store.holds.marks import HOLD_PREFIX
from paimon_spark.store.metadata.external_paths import check_external_path
from paimon_spark.store.metadata.schemas import SchemaStore
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Progress
from paimon_spark.store.storage.files import SUCCESS
from paimon_spark.store.storage.parallel import map_parallel_if_slow

_BUCKET_PREFIX = "bucket-"
_MANAGED_BLOBS = ".managed.blob"  # shared by tables; the official system never treats them as orphans
_ENTROPY = re.compile("[01]+")
_LOOKED_AT = 64  # files by one job
_HINTS = frozenset({EARLIEST, LATEST})
_UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_WORK = re.compile(rf"\..+\.{_UUID}\.tmp|\.probe-{_UUID}", re.ASCII)


class Stage(IntEnum):
    """The kinds of files, in the order in which orphans are deleted."""

    DATA = 0
    INDEX = 1
    MANIFEST = 2
    MANIFEST_LIST = 3
    WORK = 4


class Found(NamedTuple):
    """A file or directory in a listing; size in bytes."""

    name: str
    size: int
    modified_millis: int


@dataclass(frozen=True)
class Listing:
    """One directory.

    Attributes:
        path: the path of the directory.
        entries: the number of files and directories in it.
        directories: the directories in it.
        files: the files in it with a modification time.
        names: the files in it whose sizes and times the store tells only one by one; then there are no `files`.
    """

    path: str
    entries: int
    directories: tuple[Found, ...]
    files: tuple[Found, ...]
    names: tuple[str, ...] = ()


class StorageWork(Protocol):
    """Lists and deletes files, by threads of this process or by tasks on a cluster."""

    @property
    def directories_at_once(self) -> int:
        """The number of directories that one call lists; progress is reported between calls."""
        ...

    @property
    def files_at_once(self) -> int:
        """The number of files that one call deletes; progress is reported between calls."""
        ...

    def listings(self, directories: Sequence[str]) -> list[Listing]:
        """The listings, in any order.

        Args:
            directories: paths; a missing directory has no entries.

        Raises:
            StorageError: a directory could not be listed.
        """
        ...

    def delete(self, paths: Sequence[str]) -> Sequence[str]:
        """Deletes files; missing files are no error.

        Returns:
            The deleted files; the store refused to delete the others.

        Raises:
            StorageError: the storage failed; some files may be deleted.
        """
        ...


class Candidate(NamedTuple):
    """A file that may be an orphan; size in bytes; is_old is True if it is old enough to be deleted."""

    directory: str
    name: str
    size: int
    stage: Stage
    is_old: bool

    @property
    def path(self) -> str:
        return f"{self.directory}/{self.name}"


class Unseen(NamedTuple):
    """Files of one directory and stage of which only the names are known."""

    directory: str
    stage: Stage
    names: Sequence[str]


@dataclass
class Candidates:
    """All files that may be orphans, including those that are too young to delete.

    Attributes:
        files: in no order.
        unseen: other files, whose sizes and times are asked for when nothing names them (see find_unnamed).
        entries: the number of files and directories in a bucket or partition, by its path.
        modified_millis: the modification time of a bucket or partition, before anything was deleted.
        unreachable: external paths in another store than the table, which were not listed.
    """

    files: list[Candidate] = field(default_factory=list)
    unseen: list[Unseen] = field(default_factory=list)
    entries: dict[str, int] = field(default_factory=dict)
    modified_millis: dict[str, int] = field(default_factory=dict)
    unreachable: tuple[str, ...] = ()

    def names(self) -> set[str]:
        """The names of all files that a snapshot, tag, branch or changelog may name."""
        found = {file.name for file in self.files if file.stage is not Stage.WORK}
        found.update(*(some.names for some in self.unseen if some.stage is not Stage.WORK))
        return found


def list_directory(file_io: FileIO, path: str) -> Listing:
    """Lists one directory; files without a modification time are left out. Raises StorageError."""
    named = list_names(file_io, path)
    if named is not None:
        inner = tuple(Found(s.name, 0, s.modified_millis) for s in named.directories)
        names = tuple(name for name in named.files if not name.endswith(_MANAGED_BLOBS))
        return Listing(path, len(inner) + len(named.files), inner, (), names)
    listed = file_io.list(path)
    directories = [Found(s.name, 0, s.modified_millis) for s in listed if s.is_directory]
    files = [
        Found(name, size, modified_millis)
        for _, name, size, is_directory, modified_millis in listed
        if not is_directory and modified_millis > 0 and not name.endswith(_MANAGED_BLOBS)
    ]
    return Listing(path, len(listed), tuple(directories), tuple(files))


def find_candidates(
    table: Table, branches: Sequence[str], before: int, work: StorageWork, progress: Progress
) -> Candidates:
    """The files of a table that may be orphans.

    Args:
        table: the table.
        branches: the branches of the table, including main.
        before: epoch millis; files changed before this time are old.
        work: lists directories.
        progress: called with the progress.

    Raises:
        OptionError: an external path of the table is the directory of another table.
        StorageError: a directory could not be listed.
    """
    roots, unreachable = _data_roots(table, branches)
    # A partition whose data files are in external paths has only its success file here.
    is_split = len(roots) + len(unreachable) > 1
    found = Candidates(unreachable=unreachable)

    def list_all(directories: Sequence[str]) -> Iterator[Listing]:
        piece = work.directories_at_once
        for start in range(0, len(directories), piece):
            progress("directories", start, len(directories))
            yield from work.listings(directories[start : start + piece])
        if directories:
            progress("directories", len(directories), len(directories))

    for listing in _leaves(roots, len(table.schema.partition_keys), list_all, found):
        found.files += [
            Candidate(listing.path, name, size, Stage.DATA, millis < before)
            for name, size, millis in listing.files
            if not (is_split and name == SUCCESS)
        ]
        names = [name for name in listing.names if name != SUCCESS] if is_split else listing.names
        found.unseen.append(Unseen(listing.path, Stage.DATA, names))
    places = _metadata_places(table, branches)
    for listing in list_all(list(places)):
        stage_of = places[listing.path]
        found.files += [
            Candidate(listing.path, name, size, stage, millis < before)
            for name, size, millis in listing.files
            if (stage := stage_of(name)) is not None
        ]
        of_stage: dict[Stage, list[str]] = {}
        for name in listing.names:
            if (stage := stage_of(name)) is not None:
                of_stage.setdefault(stage, []).append(name)
        found.unseen += (Unseen(listing.path, stage, names) for stage, names in of_stage.items())
    return found


def find_unnamed(file_io: FileIO, found: Candidates, named: Set[str], before: int) -> list[Candidate]:
    """The files that nothing names; those that are gone meanwhile, or have no modification time, are left out.

    Args:
        file_io: the store of the table.
        found: all files that may be orphans.
        named: the names that anything in the table names.
        before: epoch millis; files changed before this time are old.

    Raises:
        StorageError: a file could not be looked at.
    """
    left = [(u.directory, u.stage, name) for u in found.unseen for name in u.names if name not in named]

    def look(places: Sequence[tuple[str, Stage, str]]) -> Iterator[Candidate]:
        for directory, stage, name in places:
            status = find_status(file_io, f"{directory}/{name}")
            if status is not None and not status.is_directory and status.modified_millis > 0:
                yield Candidate(directory, name, status.size, stage, status.modified_millis < before)

    pieces = [left[start : start + _LOOKED_AT] for start in range(0, len(left), _LOOKED_AT)]
    seen = map_parallel_if_slow(lambda piece: list(look(piece)), pieces)
    return [file for file in found.files if file.name not in named] + list(chain.from_iterable(seen))


def _leaves(
    roots: Sequence[str], levels: int, list_all: Callable[[Sequence[str]], Iterator[Listing]], found: Candidates
) -> Iterator[Listing]:
    """The listings of buckets, and of partitions without buckets; all directories above them are recorded."""
    parents = list(roots)
    for level in range(levels + 1):
        following: list[str] = []
        for listing in list_all(parents):
            inner = [d for d in listing.directories if _is_part(d.name, is_bucket=level == levels)]
            for directory in inner:
                path = f"{listing.path}/{directory.name}"
                found.modified_millis[path] = directory.modified_millis
                following.append(path)
            if level:
                found.entries[listing.path] = listing.entries
                if not inner:
                    yield listing
        parents = following
    while parents:
        following = []
        for listing in list_all(parents):
            found.entries[listing.path] = listing.entries
            yield listing
            for directory in listing.directories:
                if _ENTROPY.fullmatch(directory.name):  # below a bucket in an external path
                    path = f"{listing.path}/{directory.name}"
                    found.modified_millis[path] = directory.modified_millis
                    following.append(path)
        parents = following


def _is_part(name: str, is_bucket: bool) -> bool:
    return name.startswith(_BUCKET_PREFIX) if is_bucket else "=" in name


def _data_roots(table: Table, branches: Iterable[str]) -> tuple[list[str], tuple[str, ...]]:
    """(roots of partitions, by the options of the call and of each branch; roots in other stores).

    Raises:
        OptionError: an external path is not absolute, is the directory of a table, or contains this table.
        OSError: the storage failed.
    """
    roots, unreachable = dict[str, None](), dict[str, None]()
    for options in (table.settings, *(_stored_options(table, branch) for branch in branches)):
        inside = data_root(table.location, options)
        roots[inside] = None
        for path in external_paths(options):
            if is_same_store(table.location, path):
                check_external_path(table.file_io, table.location, path)
                roots[path + inside.removeprefix(table.location)] = None
            else:
                unreachable[path] = None
    return list(roots), tuple(unreachable)


def _stored_options(table: Table, branch: str) -> TableSettings:
    schema = SchemaStore(table.file_io, table.location, branch).latest()
    return TableSettings({}) if schema is None else TableSettings(schema.options)


def _metadata_places(table: Table, branches: Iterable[str]) -> dict[str, Callable[[str], Stage | None]]:
    """For each metadata directory a function from file name to stage; None: the file is never an orphan."""
    places: dict[str, Callable[[str], Stage | None]] = {
        manifest_directory(table.location): _manifest_stage,
        f"{table.location}/index": _index_stage,
        f"{table.location}/statistics": _index_stage,
    }
    for branch in branches:
        root = branch_root(table.location, branch)
        places[snapshot_directory(table.location, branch)] = _snapshot_stage
        places[changelog_directory(table.location, branch)] = _changelog_stage
        tags = tag_directory(table.location, branch)
        schemas = schema_directory(table.location, branch)
        notes = stream_sink_directory(table.location, branch)
        for directory in (schemas, tags, f"{tags}/tag-success-file", f"{root}/consumer", notes):
            places[directory] = _work_stage
    return places


def _manifest_stage(name: str) -> Stage:
    return Stage.MANIFEST_LIST if name.startswith(MANIFEST_LIST_PREFIX) else Stage.MANIFEST


def _index_stage(name: str) -> Stage:
    return Stage.INDEX


def _snapshot_stage(name: str) -> Stage | None:
    """The stage of a file in a snapshot directory. Hold marks are left to expiry, which deletes those of a crash."""
    return None if name.startswith((SNAPSHOT_PREFIX, HOLD_PREFIX)) or name in _HINTS else Stage.WORK


def _changelog_stage(name: str) -> Stage | None:
    return None if name.startswith(CHANGELOG_PREFIX) or name in _HINTS else Stage.WORK


def _work_stage(name: str) -> Stage | None:
    """The stage of unfinished files of atomic writes, found by name in directories that Java does not clean."""
    return Stage.WORK if _WORK.fullmatch(name) else None
