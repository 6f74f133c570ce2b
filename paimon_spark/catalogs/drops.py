"""Deletes tables and databases so that nobody takes what an interrupted deletion leaves for a table.

On a disk and on HDFS, a table is first moved to ``.dropped-<uuid>/<table>`` in its database, in one atomic step: it is
there or gone, and of several clients one drops it. Java lists a directory as a table if a schema directory is directly
in it, so it does not list that one. Then the files are deleted. A drop in the same database an hour later deletes
what an interrupted one has left there.

An object store cannot move directories. There, the schemas are deleted first: without a schema, readers and writers
find no table, while a table without its snapshots would look empty, and a writer would begin it anew. Java deletes in
the order of a listing. A file marks the table before and is deleted last, so that a second drop can finish the work.

Java also deletes the whole directories that ``data-file.external-paths`` and ``global-index.external-path`` name.
Others may have files there too, so here only the files are deleted that the metadata of the table name.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Mapping

from paimon_spark.catalogs.create import find_schema
from paimon_spark.errors import CorruptFile, DatabaseNotEmpty, PaimonError, StorageError, UnsupportedFeature
from paimon_spark.file_io import DirectoryIO
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.paths import MAIN_BRANCH
from paimon_spark.store.history.branches import on_branch
from paimon_spark.store.metadata.external_paths import names_external_paths
from paimon_spark.store.metadata.schemas import SchemaStore
from paimon_spark.store.open import find_stored_table
from paimon_spark.store.storage.files import list_branches

_log = logging.getLogger(__name__)

IS_DROPPED = ".paimon-dropped"
"""The file in the directory of a table whose deletion has begun, on object stores."""
_TRASH = ".dropped-"
_OLD_MILLIS = 3_600_000


def drop_files(file_io: DirectoryIO, database: str, location: str, storage: Mapping[str, str]) -> bool:
    """Deletes a table, or what an interrupted drop has left of it.

    Args:
        file_io: the store.
        database: the directory of the database, which stays.
        location: the directory of the table.
        storage: storage options.

    Returns:
        False: there was no table.

    Raises:
        StorageError: the store failed. The table is there as before, or it is gone and files of it remain.
        CorruptFile, OutsideTable: the files outside of its directory are not known or not its own; nothing was deleted.
    """
    if file_io.moves_directories:
        return find_schema(file_io, location) is not None and _move_and_delete(
            file_io, database, location, storage, is_table=True
        )
    has_schema = find_schema(file_io, location) is not None
    if not has_schema and not file_io.exists(f"{location}/{IS_DROPPED}"):
        return False
    file_io.make_directory(database)  # it would vanish with its last table
    file_io.overwrite(f"{location}/{IS_DROPPED}", b"")
    if has_schema:
        _delete_external_files(file_io, location, storage)
    file_io.delete_many([status.path for status in file_io.list(f"{location}/schema")])
    file_io.delete_directory(location)
    return True


def drop_whole_database(file_io: DirectoryIO, warehouse: str, location: str) -> None:
    """Deletes the directory of a database with everything in it. A missing one is no error.

    Raises:
        StorageError: the store failed.
        UnsupportedFeature: what marks the directory cannot be deleted.
    """
    if file_io.moves_directories:
        _move_and_delete(file_io, warehouse, location, {}, is_table=False)
        return
    file_io.delete_directory(location)
    _check_gone(file_io, location)


def remove_empty_database(file_io: DirectoryIO, location: str) -> None:
    """Removes the directory of a database that holds no files but those of interrupted drops and creations.

    A table that is created at the same moment stays, except on HDFS, which has no such step.

    Raises:
        DatabaseNotEmpty: it holds files; nothing was changed but empty directories.
        StorageError: the store failed.
        UnsupportedFeature: what marks the directory cannot be deleted.
    """
    _refuse_files(file_io, location)
    if not file_io.moves_directories:
        file_io.delete_directory(location)
        _check_gone(file_io, location)
        return
    if not _remove_empty_tree(file_io, location):
        _refuse_files(file_io, location)
        if not file_io.list(location):  # HDFS removes directories only recursively
            file_io.delete_directory(location)
        else:
            raise DatabaseNotEmpty(f"dropping {location}: another client is creating a table in it; try again")


def _move_and_delete(file_io: DirectoryIO, parent: str, path: str, storage: Mapping[str, str], is_table: bool) -> bool:
    """Deletes a table or a database without tables. False: there is no such directory."""
    trash = f"{parent}/{_TRASH}{uuid.uuid4()}"
    moved = f"{trash}/{path.rpartition('/')[2]}"
    try:
        file_io.make_directory(trash, parents=False)
        file_io.move_directory(path, moved)
    except FileNotFoundError:  # another client has dropped or renamed it
        file_io.delete_directory(trash)
        return False
    if is_table and not SchemaStore(file_io, moved).ids():
        # Another client has dropped the table, and a third one was about to create it anew: that one tries again.
        file_io.delete_directory(trash)
        return False
    try:
        _delete_moved(file_io, moved, storage)
        file_io.delete_directory(trash)
    except (PaimonError, OSError) as error:
        raise StorageError(
            f"{path} is dropped, but not all of its files are deleted: {error}. Remove the cause and delete what is "
            f"left in {trash}; a drop there an hour later tries it too"
        ) from error
    _sweep(file_io, parent, storage)
    return True


def _sweep(file_io: DirectoryIO, parent: str, storage: Mapping[str, str]) -> None:
    """Deletes what drops have left that were interrupted an hour ago or longer: younger ones may still be at work."""
    old = time.time() * 1000 - _OLD_MILLIS
    for trash in file_io.list(parent):
        if not (trash.is_directory and trash.name.startswith(_TRASH) and trash.modified_millis < old):
            continue
        try:
            for left in file_io.list(trash.path):
                _delete_moved(file_io, left.path, storage)
                file_io.remove_empty_directory(trash.path)
        except (PaimonError, OSError) as error:
            _log.warning("could not delete %s, which an interrupted drop has left: %s", trash.path, error)


def _delete_moved(file_io: DirectoryIO, moved: str, storage: Mapping[str, str]) -> None:
    _delete_external_files(file_io, moved, storage)
    file_io.delete_directory(moved)


def _delete_external_files(file_io: DirectoryIO, location: str, storage: Mapping[str, str]) -> None:
    """Deletes the files of a table that lie outside of its directory, if its options allow such files.

    Raises:
        OutsideTable: a file is not below an external path of the table, or may be another table's; none was deleted.
        CorruptFile: metadata are damaged, so that the files are not known.
    """
    if not _may_have_external_files(file_io, location):
        return
    main = find_stored_table(location, storage)
    if main is None:  # another client deletes it too
        return
    from paimon_spark.store.clean.purge import all_files

    for table in (main, *(on_branch(main, name) for name in list_branches(file_io, location))):
        paths = (path for stage in all_files(table).stages() for path in stage)
        table.file_io.delete_many([path for path in paths if not path.startswith(f"{location}/")])


def _may_have_external_files(file_io: DirectoryIO, location: str) -> bool:
    for branch in (MAIN_BRANCH, *list_branches(file_io, location)):
        schemas = SchemaStore(file_io, location, branch)
        for number in schemas.ids():
            try:
                if names_external_paths(TableSettings(schemas.load(number).options)):
                    return True
            except CorruptFile:
                if number in schemas.ids():
                    raise
                return False  # another client deletes the table too
    return False


def _refuse_files(file_io: DirectoryIO, location: str) -> None:
    found = _first_file(file_io, location)
    if found is not None:
        raise DatabaseNotEmpty(
            f"dropping {location}: it holds no table, but other files such as {found}; move them away, or ask for "
            "everything to be deleted (cascade)"
        )


def _first_file(file_io: DirectoryIO, path: str) -> str | None:
    """A file below a directory; those with a dot are temporary, or of interrupted drops."""
    for status in file_io.list(path):
        if status.name.startswith("."):
            continue
        found = _first_file(file_io, status.path) if status.is_directory else status.path
        if found is not None:
            return found
    return None


def _remove_empty_tree(file_io: DirectoryIO, path: str) -> bool:
    for status in file_io.list(path):
        if status.name.startswith(_TRASH):
            file_io.delete_directory(status.path)
        elif status.is_directory:
            _remove_empty_tree(file_io, status.path)
    return file_io.remove_empty_directory(path)


def _check_gone(file_io: DirectoryIO, location: str) -> None:
    """In an object store, Hadoop marks an empty directory by an object whose name ends in a slash."""
    if not file_io.list(location) and file_io.exists(location):
        raise UnsupportedFeature(
            f"dropping {location}: its files are deleted, but the object '{location}/', by which Hadoop marks an empty "
            "directory, remains, and this release cannot delete it; delete it with a tool of the store"
        )
