"""Finds existing files and their sizes by listing every directory once."""

from __future__ import annotations

import threading

from paimon_spark.file_io import FileIO


class Storage:
    """The sizes of the files of a table; safe to use from several threads."""

    def __init__(self, file_io: FileIO) -> None:
        self._file_io = file_io
        self._sizes: dict[str, dict[str, int]] = {}
        self._lock = threading.Lock()

    def size(self, path: str) -> int | None:
        """The size of a file in bytes; None if it does not exist."""
        directory, _, name = path.rpartition("/")
        with self._lock:
            if directory not in self._sizes:
                self._sizes[directory] = {s.name: s.size for s in self._file_io.list(directory) if not s.is_directory}
            return self._sizes[directory].get(name)

    def wrong_size(self, path: str, recorded: int | None) -> str | None:
        """A description of what is wrong with the size of a file, None if nothing; recorded None allows any size."""
        found = self.size(path)
        if found is None:
            return "the file does not exist"
        if recorded is not None and found != recorded:
            return f"the file has {found} bytes, recorded are {recorded}"
        return None
