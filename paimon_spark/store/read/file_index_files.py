"""Reads the file index of a data file: from the manifest entry, or from the file beside the data file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from paimon_spark.arrow.formats.patched_file import native
from paimon_spark.errors import CorruptFile, MissingFile
from paimon_spark.file_io import FileIO
from paimon_spark.format.file_index.byte_reader import ByteReader
from paimon_spark.format.file_index.container import open_container
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.paths import INDEX_SUFFIX, extra_file_path

_BLOCK = 1 << 12


def index_file_of(file: DataFileMeta) -> str | None:
    """The name of the file beside the data file that holds its index; None: there is none."""
    return next((name for name in file.extra_files if name.endswith(INDEX_SUFFIX)), None)


def has_file_index(file: DataFileMeta) -> bool:
    """True if the data file has an index, embedded or beside it."""
    return file.embedded_index is not None or index_file_of(file) is not None


class FileBytes:
    """The bytes of an open file, read in blocks when they are asked for."""

    def __init__(self, file: IO[bytes], path: str) -> None:
        self._file = native(file)
        self._path = path
        self._size = int(self._file.size())
        self._start, self._block = 0, b""

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, span: slice) -> bytes:
        start, end = span.start, span.stop
        if not self._start <= start <= end <= self._start + len(self._block):
            size = max(end - start, min(_BLOCK, self._size - start))
            self._start, self._block = start, self._file.read_at(size, start)
            if len(self._block) < size:
                raise CorruptFile(f"reading the file index {self._path}: it ends before byte {start + size}")
        return self._block[start - self._start : end - self._start]


@contextmanager
def opened_file_index(
    file_io: FileIO, directory: str, file: DataFileMeta
) -> Iterator[dict[str, dict[str, ByteReader | None]]]:
    """Gives the indexes of a data file by column name and kind to a ``with`` block, which reads what it needs.

    Args:
        file_io: the store of the table.
        directory: of the bucket of the file.
        file: has an index.

    Raises:
        MissingFile: the file of the index does not exist.
        CorruptFile: it is damaged.
    """
    if file.embedded_index is not None:
        yield open_container(file.embedded_index, f"embedded in the manifest for {file.file_name}")
        return
    name = index_file_of(file)
    if name is None:
        raise CorruptFile(f"reading the file index of {file.file_name}: its manifest entry names none")
    path = extra_file_path(directory, file, name)
    try:
        with file_io.open_input(path) as source:
            yield open_container(FileBytes(source, path), path)
    except FileNotFoundError:
        raise missing_file_index(path) from None


def missing_file_index(path: str) -> MissingFile:
    """The error for an index file that a manifest names and the store does not have."""
    return MissingFile(
        f"reading the file index {path}: it does not exist. If the snapshot that names it has just expired, read a "
        "newer one; else the table is damaged: restore the file, or read with 'file-index.read.enabled' = 'false'",
        path,
    )
