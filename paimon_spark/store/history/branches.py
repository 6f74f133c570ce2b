"""Branches: schemas, snapshots and tags of their own over shared data files (format section 3.6).

Java: FileSystemBranchManager, BranchMergeHandler. Files are only copied and deleted one by one, in an order that lets
readers see the old or the new state; after a crash a second call finishes the work.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from paimon_spark.errors import NameTaken, OptionError, SnapshotNotFound
from paimon_spark.file_io import FileIO
from paimon_spark.format.options.core_options import Options
from paimon_spark.format.paths import (
    MAIN_BRANCH,
    RENAME_PREFIX,
    branch_root,
    schema_path,
    snapshot_path,
    tag_path,
)
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.snapshot_json import Tag, encode_snapshot, encode_tag
from paimon_spark.store.holds.tag_holds import hold_snapshot
from paimon_spark.store.metadata.publish import publish_file
from paimon_spark.store.metadata.schemas import SchemaStore
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result
from paimon_spark.store.storage.listing import list_branches
from paimon_spark.store.storage.parallel import map_parallel

_log = logging.getLogger(__name__)

_READ_BRANCHES = ("scan.fallback-branch", "scan.primary-branch")
_ROUNDS = 5  # commits to a branch that goes are few
_DIRECTORIES = ("snapshot", "tag/tag-success-file", "tag", "changelog", "consumer", "schema")  # in the order they go


@dataclass(frozen=True, repr=False)
class CreateBranchResult(Result):
    """snapshot_id: its first snapshot; None: it has none. created: False when it was there already."""

    name: str
    snapshot_id: int | None
    created: bool


@dataclass(frozen=True, repr=False)
class DeleteBranchResult(Result):
    """What went, or would go. names: of the branches; paths: of all files, in order."""

    names: tuple[str, ...]
    paths: tuple[str, ...]
    dry_run: bool = False


def branch_names(file_io: FileIO, location: str) -> list[str]:
    """The branches but the main one, sorted."""
    names = list(list_branches(file_io, location))
    schemas = map_parallel(lambda name: SchemaStore(file_io, location, name).ids(), names)
    return [name for name, ids in zip(names, schemas, strict=True) if ids]


def create_branch(
    table: Table, name: str, tag: str | None = None, snapshot: int | None = None, ignore_if_exists: bool = False
) -> CreateBranchResult:
    """Makes a branch of the branch that the table is opened on.

    Args:
        name: not "main", not blank, not of digits alone.
        tag: the branch begins with what this tag keeps, and has the tag too.
        snapshot: the branch begins with this snapshot. Without both it is empty, with the schemas.
        ignore_if_exists: whether a branch that is there is fine.

    Raises:
        NameTaken: there is such a branch, or another one gets this name, or one that broke off began elsewhere.
        SnapshotNotFound: there is no such tag or snapshot, or it is expiring just now; nothing was made.
        OptionError: the name is none, or both a tag and a snapshot are given.
    """
    _check_name(name)
    if tag is not None and snapshot is not None:
        raise OptionError(f"branch '{name}': both a tag and a snapshot are given; leave one")
    store = table.snapshots
    kept = None if tag is None else store.find_tag(tag)
    first = None if kept is None else kept.snapshot
    if snapshot is not None:
        first = store.find_kept(snapshot)
    schemas = [number for number in reversed(table.schemas.ids()) if first is None or number <= first.schema_id]
    if _is_there(table, name) and not _broke_off(table, name, first, schemas):
        if ignore_if_exists:
            return CreateBranchResult(name, None, created=False)
        raise _taken(table, name)
    if tag is not None and kept is None:
        raise SnapshotNotFound(f"branch '{name}': there is no tag '{tag}'; {store.available()}")
    if snapshot is not None and first is None:
        first = store.load(snapshot)
    _check_rest(table, name, first, tag, schemas)
    if first is not None:
        _begin_with(table, name, first, None if tag is None or kept is None else (tag, kept))
    for number in schemas:  # with the first the branch is there: it is the newest, which tells the columns
        data = table.file_io.read_bytes(schema_path(table.location, number, table.branch))
        publish_file(table.file_io, schema_path(table.location, number, name), data)
    return CreateBranchResult(name, None if first is None else first.id, created=True)


def delete_branch(table: Table, names: str | Iterable[str], dry_run: bool = False) -> DeleteBranchResult:
    """Deletes branches. Data files that only they need are orphans then, and go with the other orphan files.

    What is left of a branch whose making or renaming broke off is deleted too.

    Args:
        names: of the branches, as text several with commas between.
        dry_run: whether only to tell what would go.

    Raises:
        SnapshotNotFound: there is no such branch; nothing was deleted.
        OptionError: the table reads from the branch, or the name is none.
    """
    wanted = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    paths: dict[str, None] = {}
    for name in wanted:
        _check_name(name)  # the files of "main" are those of the table
        files = _files(table, name)
        if not files:
            raise no_such_branch(table, name)
        _check_unused(table, name, "deleting")
        paths.update(dict.fromkeys(files))
    for name in () if dry_run else wanted:
        for files in _rounds(table, name):
            _delete(table, files)
            paths.update(dict.fromkeys(files))
        _remove_directories(table, name)
    return DeleteBranchResult(tuple(wanted), tuple(paths), dry_run)


def rename_branch(table: Table, name: str, new_name: str) -> None:
    """Gives a branch another name. A crash may leave it both names; a second call finishes the work.

    A mark beside the new schemas, a name that no reader of tables looks at, tells a second call where to go on.

    Raises:
        SnapshotNotFound: there is no such branch. NameTaken: there is one of the new name.
        OptionError: a name is none, or the table reads from the branch.
    """
    _check_name(name)  # the files of "main" are those of the table
    _check_name(new_name)
    _check_unused(table, name, "renaming")
    file_io = table.file_io
    old, new = branch_root(table.location, name), branch_root(table.location, new_name)
    mark = f"{new}/schema/{RENAME_PREFIX}{name}"
    if not file_io.exists(mark):
        if not _is_there(table, name):
            raise no_such_branch(table, name)
        if _is_there(table, new_name):
            raise _taken(table, new_name)
    file_io.overwrite(mark, b"")
    for paths in _rounds(table, name):
        for path in paths:
            file_io.overwrite(new + path.removeprefix(old), file_io.read_bytes(path))
        _delete(table, paths)
    _remove_directories(table, name)
    file_io.delete(mark)


def on_branch(table: Table, branch: str) -> Table:
    """The table on another branch, as it is stored there: options of the caller do not count.

    Raises:
        SnapshotNotFound: there is no such branch.
    """
    is_name = "/" not in branch  # else it could lead out of the directory of branches
    schema = SchemaStore(table.file_io, table.location, branch).latest() if is_name else None
    if schema is None:
        raise no_such_branch(table, branch)
    return replace(table, schema=schema, options=Options(schema.options), branch=branch)


def _begin_with(table: Table, name: str, snapshot: Snapshot, tag: tuple[str, Tag] | None) -> None:
    """The branch has the snapshot, if its files are still there."""
    with hold_snapshot(table.snapshots, snapshot):
        table.file_io.overwrite(snapshot_path(table.location, snapshot.id, name), encode_snapshot(snapshot))
        if tag is not None:
            table.file_io.overwrite(tag_path(table.location, tag[0], name), encode_tag(tag[1]))


def _files(table: Table, branch: str) -> list[str]:
    """All files of a branch; the schemas last, as long as they are there the branch is."""
    root = branch_root(table.location, branch)
    return [s.path for part in _DIRECTORIES for s in table.file_io.list(f"{root}/{part}") if not s.is_directory]


def _rounds(table: Table, branch: str) -> Iterator[list[str]]:
    """All files of a branch, to be deleted, and then those that a commit has made meanwhile."""
    for _ in range(_ROUNDS):
        if not (files := _files(table, branch)):
            return
        yield files


def _delete(table: Table, paths: Iterable[str]) -> None:
    for path in paths:
        table.file_io.delete(path)


def _remove_directories(table: Table, branch: str) -> None:
    root = branch_root(table.location, branch)
    for part in _DIRECTORIES:
        table.file_io.remove_empty_directory(f"{root}/{part}")
    if not table.file_io.remove_empty_directory(root):
        _log.warning("the branch '%s' of %s is deleted, but %s holds other files", branch, table.location, root)


def _check_name(name: str) -> None:
    if name == MAIN_BRANCH or not name.strip() or name.isdigit() or "/" in name:
        raise OptionError(
            f"'{name}' is no name for a branch: it must not be blank, not 'main', not of digits alone, and have no '/'"
        )


def _check_unused(table: Table, name: str, done: str) -> None:
    reading = [key for key in _READ_BRANCHES if table.schema.options.get(key) == name]
    if reading or name == table.branch:
        why = f"the option '{reading[0]}' of the table names it" if reading else "the table is opened on it"
        raise OptionError(f"{done} the branch '{name}' of {table.location}: {why}; change that first")


def _broke_off(table: Table, name: str, first: Snapshot | None, schemas: Sequence[int]) -> bool:
    """True if the making of a branch from a snapshot ended among the schemas, which come last."""
    if first is None or set(schemas) <= set(SchemaStore(table.file_io, table.location, name).ids()):
        return False
    return SnapshotStore(table.file_io, table.location, name).find(first.id) == first


def _check_rest(table: Table, name: str, first: Snapshot | None, tag: str | None, schemas: Iterable[int]) -> None:
    """What a crash left of making a branch may be made again, but another branch would be a mix of two."""
    own = {schema_path(table.location, number, name) for number in schemas}
    if first is not None:
        own.add(snapshot_path(table.location, first.id, name))
    if tag is not None:
        own.add(tag_path(table.location, tag, name))
    rest = [path for path in _files(table, name) if path not in own and not path.endswith(".tmp")]
    if rest:
        raise NameTaken(
            f"making the branch '{name}' of {table.location}: it has not all schemas, but there is {rest[0]}, of one "
            "that is being made or renamed, or whose making broke off; make it again from the same state, choose "
            "another name, or delete it first"
        )


def _is_there(table: Table, name: str) -> bool:
    return bool(SchemaStore(table.file_io, table.location, name).ids())


def no_such_branch(table: Table, name: str) -> SnapshotNotFound:
    names = ", ".join(branch_names(table.file_io, table.location)) or "none"
    return SnapshotNotFound(f"the table at {table.location} has no branch '{name}'; its branches: {names}")


def _taken(table: Table, name: str) -> NameTaken:
    return NameTaken(f"the table at {table.location} has a branch '{name}' already; choose another name")
