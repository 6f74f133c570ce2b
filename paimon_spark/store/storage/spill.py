"""Rows that wait in temporary files of this machine: beside the table, never in it.

They lie in the directory that Python takes for such files, which the environment variable TMPDIR chooses. It may be
another disk than that of the table, and be full or read-only while that one is neither.
"""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from paimon_spark.errors import StorageError, fault_words

_OF_PROCESS = (errno.EMFILE, errno.ENFILE)


class SpillFolder:
    """A context with a folder of temporary files, which is made for the first of them and deleted at the end."""

    def __init__(self, prefix: str) -> None:
        """Makes no folder yet: most work needs none, and runs where there is no disk to write to.

        Args:
            prefix: of its name.
        """
        self._prefix = prefix
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._files = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def new_file(self) -> Path:
        """The path of a file that is not there yet.

        Raises:
            StorageError: there is no directory for temporary files, or no folder can be made in it.
        """
        if self._folder is None:
            try:
                self._folder = tempfile.TemporaryDirectory(prefix=self._prefix, ignore_cleanup_errors=True)
            except OSError as error:  # FileNotFoundError: of all places that Python knows none can be written to
                raise _no_room(_place(), error) from error
        self._files += 1
        return Path(self._folder.name, f"part-{self._files}")


@contextmanager
def spilling(path: Path) -> Iterator[None]:
    """Names the faults of a temporary file that is written or read in the block.

    Raises:
        StorageError: the disk of temporary files is full, read-only, ...; the message says how another one is chosen.
    """
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise _no_room(str(path.parent.parent), error) from error


def _place() -> str:
    try:
        return tempfile.gettempdir()
    except OSError:
        return "the directories for temporary files"


def _no_room(place: str, error: OSError) -> StorageError:
    other = "" if error.errno in _OF_PROCESS else ", or set TMPDIR to a directory on a disk with room"
    named = StorageError(f"keeping rows that wait, in temporary files in {place}: {fault_words(error)}{other}")
    named.errno = error.errno
    return named
