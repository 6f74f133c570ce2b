"""Creates, deletes and renames branches: separate schemas, snapshots and tags over shared data files (format 3.6).

Java: FileSystemBranchManager, BranchMergeHandler. Files are copied and deleted one by one, in an order in which readers
see either the old or the new state; after a crash a second call finishes the work.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from paimon_spark.errors import NameTaken, OptionError, SnapshotNotFound
from paimon_spark.file_io import FileIO
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.paths import (
    CREATE_MARK,
    MAIN_BRANCH,
    RENAME_PREFIX,
    branch_root,
    schema_path,
    snapshot_path,
    tag_path,
)
from paimon_spark.format.snapshot import Snapshot, Tag, encode_snapshot, encode_tag
from paimon_spark.store.holds.tag_holds import hold_snapshot
from paimon_spark.store.metadata.publish import publish_file
from paimon_spark.store.metadata.schemas import SchemaStore, no_such_branch
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result
from paimon_spark.store.storage.files import list_branches
from paimon_spark.store.storage.parallel import map_parallel
from paimon_spark.store.storage.served import refuse_served

_log = logging.getLogger(__name__)

_READ_BRANCHES = ("scan.fallback-branch", "scan.primary-branch")
_ROUNDS = 5  # few jobs commit to a branch being deleted
_DIRECTORIES = (  # in deletion order
    "snapshot", "tag/tag-success-file", "tag", "changelog", "consumer", "stream-sink", "schema"
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class CreateBranchResult(Result):
    """The result of creating a branch.

    Attributes:
        snapshot_id: the first snapshot of the branch; None: it has none.
        created: False if the branch existed already.
    """

    name: str
    snapshot_id: int | None
    created: bool


@dataclass(frozen=True, repr=False)
class DeleteBranchResult(Result):
    """The deleted branches; in a dry run, those that would be deleted.

    Attributes:
        names: the names of the branches.
        paths: the paths of all files, in order.
    """

    names: tuple[str, ...]
    paths: tuple[str, ...]
    dry_run: bool = False


def branch_names(file_io: FileIO, location: str) -> list[str]:
    """The names of all branches except main, sorted."""
    names = list(list_branches(file_io, location))
    schemas = map_parallel(lambda name: SchemaStore(file_io, location, name).ids(), names)
    return [name for name, ids in zip(names, schemas, strict=True) if ids]


def create_branch(
    table: Table, name: str, tag: str | None = None, snapshot: int | None = None, ignore_if_exists: bool = False
) -> CreateBranchResult:
    """Creates a branch from the branch that the table is opened on.

    Args:
        table: the table, opened on the source branch.
        name: not "main", not blank, and not only digits.
        tag: the branch begins with the snapshot of this tag, and has the tag too.
        snapshot: the branch begins with this snapshot. Without tag and snapshot it has schemas only.
        ignore_if_exists: True: an existing branch of the name is no error.

    Raises:
        NameTaken: a branch of the name exists, another one is being renamed to it, or an unfinished one of the name
            began with another snapshot.
        SnapshotNotFound: the tag or snapshot does not exist or is expiring; nothing was created.
        CorruptFile: all snapshots of the table are lost; nothing was created.
        OptionError: the name is not valid, or both a tag and a snapshot are given.
    """
    _check_name(name, is_new=True)
    if tag is not None and snapshot is not None:
        raise OptionError(f"branch '{name}': both a tag and a snapshot are given; leave one")
    store = table.snapshots
    if store.earliest_id() is None:
        store.check_not_lost()  # with a branch nobody could tell any more, because its commits leave manifests too
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
    if table.server is not None:
        if snapshot is not None:
            refuse_served(
                table.server, f"making the branch '{name}' of a snapshot of", "make a tag, and a branch of it"
            )
        table.server.create_branch(name, tag)
        return CreateBranchResult(name, None if first is None else first.id, created=True)
    _check_rest(table, name, first, tag, schemas)
    mark = _claim(table, name, first, tag)
    if _is_there(table, name) and not _broke_off(table, name, first, schemas):  # made since this call looked
        table.file_io.delete(mark)
        raise _taken(table, name)
    if first is not None:
        _begin_with(table, name, first, None if tag is None or kept is None else (tag, kept))
    for number in schemas:  # the newest, which defines the columns, is first: with it the branch exists
        data = table.file_io.read_bytes(schema_path(table.location, number, table.branch))
        publish_file(table.file_io, schema_path(table.location, number, name), data)
    table.file_io.delete(mark)
    return CreateBranchResult(name, None if first is None else first.id, created=True)


def delete_branch(table: Table, names: str | Iterable[str], dry_run: bool = False) -> DeleteBranchResult:
    """Deletes branches. Data files that only they need become orphans, and are deleted with the other orphan files.

    The rest of a branch whose creation or renaming crashed, or whose schema was lost, is deleted too.

    Args:
        table: the table.
        names: the names of the branches; a text may hold several, separated by commas.
        dry_run: True only reports what would be deleted.

    Raises:
        SnapshotNotFound: a branch does not exist; nothing was deleted.
        OptionError: the table reads from the branch, or the name is not valid.
    """
    wanted = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    paths: dict[str, None] = {}
    for name in wanted:
        _check_not_main(table, name, "deleting")
        _check_name(name)
        files = _files(table, name)
        if not files and name not in list_branches(table.file_io, table.location):
            raise no_such_branch(table.file_io, table.location, name)
        _check_unused(table, name, "deleting")
        paths.update(dict.fromkeys(files))
    if table.server is not None and not dry_run:
        for name in wanted:
            table.server.drop_branch(name)
        return DeleteBranchResult(tuple(wanted), tuple(paths), dry_run)
    for name in () if dry_run else wanted:
        for files in _rounds(table, name):
            _delete(table, files)
            paths.update(dict.fromkeys(files))
        _remove_directories(table, name)
    return DeleteBranchResult(tuple(wanted), tuple(paths), dry_run)


def rename_branch(table: Table, name: str, new_name: str) -> None:
    """Renames a branch. A crash may leave it under both names; a second call finishes the work.

    A mark next to the new schemas, which table readers ignore, lets a second call continue.

    Raises:
        SnapshotNotFound: the branch does not exist.
        NameTaken: a branch of the new name exists.
        OptionError: a name is not valid, or the table reads from the branch.
    """
    _check_not_main(table, name, "renaming")
    _check_name(name)
    _check_name(new_name, is_new=True)
    refuse_served(table.server, f"renaming the branch '{name}' of", "make another branch of a tag, and drop this one")
    _check_unused(table, name, "renaming")
    file_io = table.file_io
    old, new = branch_root(table.location, name), branch_root(table.location, new_name)
    mark = f"{new}/schema/{RENAME_PREFIX}{name}"
    if not file_io.exists(mark):
        if not _is_there(table, name):
            raise no_such_branch(table.file_io, table.location, name)
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
    """The table opened on another branch, with the options stored there; options of the caller are dropped.

    Raises:
        SnapshotNotFound: the branch does not exist.
    """
    is_name = "/" not in branch  # else it could lead out of the directory of branches
    schema = SchemaStore(table.file_io, table.location, branch).latest() if is_name else None
    if schema is None:
        raise no_such_branch(table.file_io, table.location, branch)
    opened = schema if table.server is None else None
    return replace(table, schema=schema, settings=TableSettings(schema.options), branch=branch, opened=opened)


def _claim(table: Table, name: str, first: Snapshot | None, tag: str | None) -> str:
    """Marks a branch as one that begins with a state, so that no two calls mix two states in it.

    Returns:
        The path of the mark. A call of the same state that crashed may have left it; then this one ends its work.

    Raises:
        NameTaken: another call makes the branch from another state.
    """
    mark = _mark(table, name)
    state = "no snapshot" if first is None else f"the snapshot {first.id}" if tag is None else f"the tag '{tag}'"
    try:
        if publish_file(table.file_io, mark, state.encode()):
            return mark
    except FileNotFoundError:  # the call that had the mark has ended just now
        raise _taken(table, name) from None
    raise NameTaken(
        f"making the branch '{name}' of {table.location} from {state}: it is being made from another state, or the "
        "call that did so broke off; make it again from that state, choose another name, or delete it first"
    )


def _mark(table: Table, name: str) -> str:
    return f"{branch_root(table.location, name)}/schema/{CREATE_MARK}"


def _begin_with(table: Table, name: str, snapshot: Snapshot, tag: tuple[str, Tag] | None) -> None:
    """Copies the snapshot, and the tag if given, into the branch, if the files of the snapshot still exist."""
    with hold_snapshot(table.snapshots, snapshot):
        table.file_io.overwrite(snapshot_path(table.location, snapshot.id, name), encode_snapshot(snapshot))
        if tag is not None:
            table.file_io.overwrite(tag_path(table.location, tag[0], name), encode_tag(tag[1]))


def _files(table: Table, branch: str) -> list[str]:
    """All files of a branch, the schemas last: the branch exists as long as they do."""
    root = branch_root(table.location, branch)
    return [s.path for part in _DIRECTORIES for s in table.file_io.list(f"{root}/{part}") if not s.is_directory]


def _rounds(table: Table, branch: str) -> Iterator[list[str]]:
    """The files of a branch to delete, then in each further round those that a commit has created since."""
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


def _check_name(name: str, is_new: bool = False) -> None:
    if name == MAIN_BRANCH or not name.strip() or name.isdigit() or "/" in name or (is_new and "$" in name):
        raise OptionError(
            f"'{name}' is no name for a branch: it must not be blank, not 'main', not of digits alone, and have no '/' "
            "and no '$'"
        )


def _check_not_main(table: Table, name: str, doing: str) -> None:
    if name == MAIN_BRANCH:
        raise OptionError(
            f"{doing} the branch 'main' of {table.location}: it is the table itself, which always has it; purge_files "
            "(`paimon-spark purge`) empties the table, and DROP TABLE drops it"
        )


def _check_unused(table: Table, name: str, done: str) -> None:
    reading = [key for key in _READ_BRANCHES if table.schema.options.get(key) == name]
    if reading or name == table.branch:
        why = f"the option '{reading[0]}' of the table names it" if reading else "the table is opened on it"
        raise OptionError(f"{done} the branch '{name}' of {table.location}: {why}; change that first")


def _broke_off(table: Table, name: str, first: Snapshot | None, schemas: Sequence[int]) -> bool:
    """True if the creation of a branch from a snapshot crashed while writing the schemas, which are written last."""
    if first is None or set(schemas) <= set(SchemaStore(table.file_io, table.location, name).ids()):
        return False
    return SnapshotStore(table.file_io, table.location, name).find(first.id) == first


def _check_rest(table: Table, name: str, first: Snapshot | None, tag: str | None, schemas: Iterable[int]) -> None:
    """Raises NameTaken if an unfinished branch of the name began elsewhere: continuing it would mix two branches."""
    own = {schema_path(table.location, number, name) for number in schemas}
    own.add(_mark(table, name))
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


def _taken(table: Table, name: str) -> NameTaken:
    return NameTaken(f"the table at {table.location} has a branch '{name}' already; choose another name")
