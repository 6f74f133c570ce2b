"""HDFS, through PyArrow and the libhdfs of an installed Hadoop, or another client (``native_hdfs``)."""

from __future__ import annotations

import ctypes
import io
import os
import posixpath
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import IO, Any, Protocol, cast

import pyarrow as pa
from pyarrow import fs

from paimon_spark.errors import StorageError, UnsupportedFeature, fault_words
from paimon_spark.file_io.base import (
    DEFAULT_HOST,
    FileStatus,
    NotCreated,
    WholeOrNothing,
    check_size,
    named_faults,
    names_faults,
)


class HadoopClient(Protocol):
    """One connected file system; paths are plain, without scheme and authority."""

    @property
    def files(self) -> fs.FileSystem: ...

    def rename(self, source: str, target: str) -> bool:
        """Moves a file. False: it was not moved, for example because the target exists."""
        ...


class LibHdfs:
    """A PyArrow connection for reading and writing, and a libhdfs connection of our own for renaming.

    PyArrow's ``move`` deletes an existing target first, which would destroy the snapshot of another writer. The rename
    of HDFS itself, which libhdfs offers, refuses an existing target.
    """

    def __init__(self, root: str) -> None:
        """Connects to a name node.

        Args:
            root: ``hdfs://host:port``; the host "default" stands for the default file system of Hadoop's settings.

        Raises:
            UnsupportedFeature: Hadoop's native client is not installed here.
            OSError: no connection.
        """
        self._library = _load_libhdfs()
        self.files: fs.FileSystem
        self.files, _ = fs.FileSystem.from_uri(f"{root}/")
        builder = self._library.hdfsNewBuilder()
        address = (DEFAULT_HOST if root.endswith(f"//{DEFAULT_HOST}") else root).encode()  # libhdfs uses it later
        self._library.hdfsBuilderSetNameNode(builder, address)
        self._connection = self._library.hdfsBuilderConnect(builder)
        if not self._connection:
            raise OSError(f"cannot connect to {root} through libhdfs")

    def rename(self, source: str, target: str) -> bool:
        return int(self._library.hdfsRename(self._connection, source.encode(), target.encode())) == 0


class HadoopOutput(WholeOrNothing):
    """An OutputStream over a stream of PyArrow."""

    def __init__(self, path: str, stream: pa.NativeFile, files: fs.FileSystem, plain: str) -> None:
        self._path, self._stream, self._files, self._plain = path, stream, files, plain

    @property
    def closed(self) -> bool:
        return bool(self._stream.closed)

    def write(self, data: bytes | bytearray | memoryview, /) -> int:
        with named_faults("writing", self._path):
            return int(self._stream.write(data))

    def tell(self) -> int:
        return int(self._stream.tell())

    def flush(self) -> None:
        with named_faults("writing", self._path):
            self._stream.flush()

    def close(self) -> None:
        with named_faults("writing", self._path):
            self._stream.close()

    def discard(self) -> None:
        """Closes and deletes the file."""
        if self._stream.closed:
            return
        with named_faults("deleting", self._path):
            self._stream.close()
            self._files.delete_file(self._plain)


class HadoopInput(io.RawIOBase):
    """A PyArrow file whose errors name the file."""

    def __init__(self, path: str, file: pa.NativeFile) -> None:
        super().__init__()
        self._path, self._file = path, file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return int(self._file.tell())

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return int(self._file.seek(offset, whence))

    def read(self, size: int | None = -1, /) -> bytes:
        with named_faults("reading", self._path):
            return bytes(self._file.read(None if size is None or size < 0 else size))

    def close(self) -> None:
        self._file.close()
        super().close()


@lru_cache(maxsize=16)
def connect_libhdfs(root: str) -> HadoopClient:
    """One connection per process and name node.

    Raises:
        UnsupportedFeature: Hadoop's native client is not installed here.
    """
    return LibHdfs(root)


@dataclass(frozen=True)
class HadoopFileIO:
    """Publishes files by the rename of HDFS, which refuses a taken name.

    Attributes:
        connect: returns the shared client for ``hdfs://host:8020``.
    """

    connect: Callable[[str], HadoopClient] = field(default=connect_libhdfs, repr=False)

    @names_faults("reading")
    def read_bytes(self, path: str) -> bytes:
        client, plain = self._locate(path)
        with client.files.open_input_file(plain) as stream:
            check_size(stream.size(), path)
            return cast(bytes, stream.read())

    @names_faults("reading")
    def open_input(self, path: str, size: int | None = None) -> IO[bytes]:
        client, plain = self._locate(path)
        return cast("IO[bytes]", pa.PythonFile(HadoopInput(path, client.files.open_input_file(plain)), mode="r"))

    @names_faults("writing")
    def open_output(self, path: str) -> HadoopOutput:
        client, plain = self._locate(path)
        client.files.create_dir(posixpath.dirname(plain), recursive=True)
        return HadoopOutput(path, client.files.open_output_stream(plain, compression=None), client.files, plain)

    def write_bytes(self, path: str, data: bytes) -> None:
        with self.open_output(path) as stream:
            stream.write(data)

    @names_faults("writing")
    def create_if_absent(self, path: str, data: bytes) -> bool:
        client, plain = self._locate(path)
        with self._temporary(path, data) as temporary:
            source = self._locate(temporary)[1]
            if client.rename(source, plain):
                return True
            if not self.exists(temporary):  # the file was moved, but the answer was lost
                raise OSError("HDFS did not say whether it was created")
            if self.exists(path):
                return False
            raise NotCreated(f"writing {path}: HDFS refused to rename a new file to that name")

    @names_faults("writing")
    def overwrite(self, path: str, data: bytes) -> None:
        client, plain = self._locate(path)
        with self._temporary(path, data) as temporary:
            client.files.move(self._locate(temporary)[1], plain)

    @names_faults("listing")
    def list(self, path: str) -> list[FileStatus]:
        client, plain = self._locate(path)
        selector = fs.FileSelector(plain, recursive=False, allow_not_found=True)
        return [
            FileStatus(
                path=f"{path.rstrip('/')}/{info.base_name}",
                name=info.base_name,
                size=info.size or 0,
                is_directory=info.type == fs.FileType.Directory,
                modified_millis=(info.mtime_ns or 0) // 1_000_000,
            )
            for info in client.files.get_file_info(selector)
        ]

    @names_faults("looking for")
    def exists(self, path: str) -> bool:
        client, plain = self._locate(path)
        return bool(client.files.get_file_info(plain).type != fs.FileType.NotFound)

    @names_faults("deleting")
    def delete(self, path: str) -> None:
        client, plain = self._locate(path)
        try:
            client.files.delete_file(plain)
        except FileNotFoundError:
            return
        except OSError:
            if self.exists(path):
                raise

    def delete_many(self, paths: Sequence[str]) -> None:
        for path in paths:
            self.delete(path)

    @names_faults("deleting")
    def remove_empty_directory(self, path: str) -> bool:
        """Does nothing: PyArrow deletes HDFS directories recursively, including files created in the meantime."""
        return not self.exists(path)

    @property
    def moves_directories(self) -> bool:
        return True

    @names_faults("making the directory")
    def make_directory(self, path: str, parents: bool = True) -> bool:
        """By the rename of a directory of its own: HDFS makes one that exists without a word."""
        path = path.rstrip("/")
        parent = path.rpartition("/")[0]
        if self.exists(path):
            return False
        if not parents and not self.exists(parent):
            raise FileNotFoundError(f"there is no directory for {path}")
        name = f".{uuid.uuid4()}.tmp"
        client, plain = self._locate(f"{parent}/{name}")
        client.files.create_dir(plain, recursive=True)
        if self.move_directory(f"{parent}/{name}", path) and not self.exists(f"{path}/{name}"):
            return True
        for place in (parent, path):  # another was faster; the rename of libhdfs goes into its directory then
            self.delete_directory(f"{place}/{name}")
        return False

    @names_faults("moving")
    def move_directory(self, path: str, target: str) -> bool:
        """The rename of HDFS would put the directory into a target that exists, so the target is checked before."""
        client, source = self._locate(path)
        if self.exists(target):
            return False
        if client.rename(source, self._locate(target)[1]):
            return True
        if not self.exists(path) or not self.exists(target.rstrip("/").rpartition("/")[0]):
            raise FileNotFoundError(f"there is no {path}, or no directory for {target}")
        return False

    @names_faults("moving")
    def move_file(self, path: str, target: str) -> None:
        client, source = self._locate(path)
        if not client.rename(source, self._locate(target)[1]):
            raise StorageError(f"moving {path} to {target}: the file system refuses it; check that the file is there")

    @names_faults("deleting")
    def delete_directory(self, path: str) -> None:
        client, plain = self._locate(path)
        try:
            client.files.delete_dir(plain)
        except OSError:
            if self.exists(path):
                raise

    def _locate(self, path: str) -> tuple[HadoopClient, str]:
        root, plain = split_hadoop(path)
        try:
            return self.connect(root), plain
        except OSError as error:
            problem = (
                f"there is no connection to {root} ({fault_words(error)}): check the address, that the name node runs, "
                "and Hadoop's settings (HADOOP_CONF_DIR, CLASSPATH)"
            )
            raise StorageError(f"reaching {path}: {problem}", of_store=problem) from None

    @contextmanager
    def _temporary(self, path: str, data: bytes) -> Iterator[str]:
        directory, _, name = path.rpartition("/")
        temporary = f"{directory}/.{name}.{uuid.uuid4()}.tmp"
        try:
            self.write_bytes(temporary, data)
        except OSError as error:
            with suppress(OSError):  # the error was reported already, and readers ignore dot files
                self.delete(temporary)
            cause = error.__cause__ if isinstance(error.__cause__, OSError) else error  # without the temporary name
            raise NotCreated(f"writing {path}: {fault_words(cause, 'writing')}") from error
        try:
            yield temporary
        finally:
            self.delete(temporary)


def split_hadoop(path: str) -> tuple[str, str]:
    """``hdfs://host:8020/a/b`` -> (``hdfs://host:8020``, ``/a/b``); without a host, the default file system."""
    scheme, _, rest = path.partition("://")
    authority, _, plain = rest.partition("/")
    return f"{scheme}://{authority or DEFAULT_HOST}", f"/{plain.rstrip('/')}"


def libhdfs_place() -> str | None:
    """Where Hadoop's native client is installed, by the environment; None: nowhere that is named."""
    places = (posixpath.join(os.environ[key], *parts) for key, parts in _LIBRARY_PLACES if key in os.environ)
    return next((path for path in places if os.path.exists(path)), None)


def _load_libhdfs() -> Any:
    """The libhdfs that PyArrow has loaded, found in the same places, with three functions that PyArrow hides."""
    found = libhdfs_place() or "libhdfs.so"
    try:
        library = ctypes.CDLL(found)
    except OSError as error:
        raise UnsupportedFeature(
            "cannot use HDFS: there is no client of it here: pip install 'paimon-spark[hdfs]', or install Hadoop's "
            f"native client and set HADOOP_HOME or ARROW_LIBHDFS_DIR ({found} does not load: {error})"
        ) from error
    library.hdfsNewBuilder.restype = ctypes.c_void_p
    library.hdfsBuilderSetNameNode.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    library.hdfsBuilderConnect.argtypes = [ctypes.c_void_p]
    library.hdfsBuilderConnect.restype = ctypes.c_void_p
    library.hdfsRename.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    return library


_LIBRARY_PLACES = (
    ("ARROW_LIBHDFS_DIR", ("libhdfs.so",)),
    ("HADOOP_HOME", ("lib", "native", "libhdfs.so")),
)
