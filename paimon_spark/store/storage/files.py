"""Files of a table on its storage: listed by the prefix of their names, deleted, and announced by ``_SUCCESS``.

Also reads the hints to the newest and the oldest. Format section 1, "Hints"; Java: FileUtils, HintFileUtils.

The small files ``_SUCCESS`` that announce completion to other systems (Java: SuccessFile).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from paimon_spark.errors import CorruptFile
from paimon_spark.file_io import FileIO, FileStatus
from paimon_spark.format.json_text import format_json, parse_json_object
from paimon_spark.format.paths import BRANCH_PREFIX, MAX_ID_DIGITS, branches_directory, id_of
from paimon_spark.store.storage.local_time import now_millis

_log = logging.getLogger(__name__)
SUCCESS = "_SUCCESS"


def list_ids(file_io: FileIO, directory: str, prefix: str) -> list[int]:
    """The numbers of the files ``<prefix><number>`` in the directory, ascending. A missing directory has none."""
    numbers = (id_of(status.name, prefix) for status in file_io.list(directory))
    return sorted(number for number in numbers if number is not None)


def list_named(file_io: FileIO, directory: str, prefix: str) -> dict[str, FileStatus]:
    """The files ``<prefix><name>`` in the directory by name, sorted. A missing directory has none."""
    found = (s for s in file_io.list(directory) if s.name.startswith(prefix) and not s.is_directory)
    return {s.name.removeprefix(prefix): s for s in sorted(found, key=lambda s: s.name)}


def list_branches(file_io: FileIO, table: str) -> dict[str, FileStatus]:
    """The directories of branches by name, sorted; the main branch has none. They may be empty, or without schema."""
    listed = file_io.list(branches_directory(table))
    found = (s for s in listed if s.name.startswith(BRANCH_PREFIX) and s.is_directory)
    return {s.name.removeprefix(BRANCH_PREFIX): s for s in sorted(found, key=lambda s: s.name)}


def read_hint(file_io: FileIO, path: str) -> int | None:
    """The number in a hint file, which may be stale; None if the hint is absent or being rewritten."""
    data = find_bytes(file_io, path)
    text = "" if data is None else data.decode("ascii", "replace").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_ID_DIGITS else None


@contextmanager
def with_way_out(text: str) -> Iterator[None]:
    """Adds to a CorruptFile within the block what to do about it.

    Args:
        text: what to do, without a full stop.
    """
    try:
        yield
    except CorruptFile as error:
        raise CorruptFile(f"{error}; {text}") from None


def find_bytes(file_io: FileIO, path: str) -> bytes | None:
    """The content of a file; None if it does not exist."""
    try:
        return file_io.read_bytes(path)
    except FileNotFoundError:
        return None


def discard(file_io: FileIO, paths: Iterable[str]) -> None:
    """Deletes the files, in bulk if possible. A file that cannot be deleted is logged, and is a harmless orphan.

    A disk that is read-only refuses to delete what was never made, too: that is not logged.
    """
    given = list(paths)
    try:
        file_io.delete_many(given)
        return
    except OSError as error:
        _log.debug("deleting %d files one by one after: %s", len(given), error)
    for path in given:
        try:
            file_io.delete(path)
        except OSError as error:
            with suppress(OSError):
                if not file_io.exists(path):
                    continue
            _log.warning("left behind %s, which no snapshot names: %s", path, error)


def touch_success_file(file_io: FileIO, path: str) -> None:
    """Writes the file with the current time; an existing file keeps its creation time.

    Raises:
        CorruptFile: the existing file is not a success file.
        StorageError: the storage failed.
    """
    now = now_millis()
    data = find_bytes(file_io, path)
    created = now if data is None else parse_json_object(data, path).integer("creationTime")
    file_io.overwrite(path, format_json({"creationTime": created, "modificationTime": now}).encode())


def delete_tree(file_io: FileIO, directory: str) -> None:
    """Deletes all files below a directory, and the directories that are empty then; a missing one is no error.

    Raises:
        StorageError: a file could not be deleted; others may be gone.
    """
    found = file_io.list(directory)
    for status in found:
        if status.is_directory:
            delete_tree(file_io, status.path)
    file_io.delete_many([status.path for status in found if not status.is_directory])
    file_io.remove_empty_directory(directory)
