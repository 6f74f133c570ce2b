"""The directories of tables: whether there is a table in one, and moving one to another name."""

from __future__ import annotations

from paimon_spark.errors import SchemaError, TableNotFound
from paimon_spark.file_io import DirectoryIO
from paimon_spark.store.metadata.schemas import SchemaStore

_TRIES = 20  # others create and drop tables concurrently


def is_table(file_io: DirectoryIO, location: str) -> bool:
    """True if a directory holds a schema of a table."""
    return file_io.exists(f"{location}/schema/schema-0") or bool(SchemaStore(file_io, location).ids())


def move_table(file_io: DirectoryIO, source: str, target: str) -> bool:
    """Moves the directory of a table in one atomic step.

    An interrupted creation may have left empty directories at the target.

    Returns:
        False: there is a table at the target; nothing was changed.

    Raises:
        TableNotFound: another client has dropped or renamed the table, or the new database, concurrently.
        SchemaError: the target holds other files.
        StorageError: the storage failed.
    """
    for _ in range(_TRIES):
        if is_table(file_io, target):
            return False
        _remove_begun(file_io, target)
        try:
            moved = file_io.move_directory(source, target)
        except FileNotFoundError:
            raise _gone_concurrently(source, target) from None
        if moved and not is_table(file_io, target):  # it was dropped, and another client was about to create it anew
            _remove_begun(file_io, target)
            raise _gone_concurrently(source, target)
        if moved:
            return True
    raise SchemaError(
        f"renaming the table at {source}: {target} holds no table, but other files, or temporary ones of a table "
        "that is being created; move them away"
    )


def _remove_begun(file_io: DirectoryIO, location: str) -> None:
    """Removes what a creation has left that was interrupted. One that goes on begins again (see create_table)."""
    for status in file_io.list(f"{location}/schema"):
        if status.name.startswith(".schema-") and status.name.endswith(".tmp"):
            file_io.delete(status.path)
    for directory in (f"{location}/schema", location):
        file_io.remove_empty_directory(directory)


def _gone_concurrently(source: str, target: str) -> TableNotFound:
    return TableNotFound(
        f"renaming the table at {source} to {target}: another client has dropped or renamed it, or the new database, "
        "meanwhile"
    )
