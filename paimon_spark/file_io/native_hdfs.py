"""HDFS through hdfs-native, a client in Rust: no Hadoop and no Java is installed.

It reads ``core-site.xml`` and ``hdfs-site.xml`` of ``HADOOP_CONF_DIR`` (or ``HADOOP_HOME/etc/hadoop``), which may name
services with several name nodes, and asks for a ticket of Kerberos where they say so.
"""

from __future__ import annotations

import errno
import io
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import hdfs_native
import pyarrow as pa
from pyarrow import fs

from paimon_spark.file_io.base import DEFAULT_HOST

Config = tuple[tuple[str, str], ...]

_PREFIX = "hadoop."
_DEFAULT_FS = "fs.defaultFS"  # Spark gives keys in lower case; of those that are of use here, this one has capitals

_WITH_PORT = re.compile(r":\d+$")
_OF_ONE_NODE = {"dfs.client.failover.max.attempts": "4"}
"""Of a location that names one name node: the default of 15 attempts takes three minutes where nothing listens."""
_OF_KERBEROS = re.compile(r'GSSAPIError\(.*?, "(.*?)"\)', re.DOTALL)
_OF_SERVER = re.compile(r'RPCError\("([\w.$]+)", "(.*?)(?:\\n|"\))', re.DOTALL)


class NativeHdfs:
    """A ``hadoop.HadoopClient``."""

    def __init__(self, root: str, config: Config) -> None:
        """Names a service or a name node; nothing is sent.

        Args:
            root: ``hdfs://host:port``; the host "default" stands for the default file system of Hadoop's settings.
            config: settings of Hadoop on top of those in its files.

        Raises:
            OSError: the settings do not tell where it is.
        """
        with _system_errors(root):
            url = None if root.endswith(f"//{DEFAULT_HOST}") else root
            settings = _OF_ONE_NODE if _WITH_PORT.search(root) else {}
            self._client = hdfs_native.Client(url, {**settings, **dict(config)})
        self.files: fs.FileSystem = fs.PyFileSystem(_NativeFiles(self._client))

    def rename(self, source: str, target: str) -> bool:
        """As HadoopClient.rename, in one step of the name node."""
        try:
            with _system_errors(source):
                self._client.rename(source, target, overwrite=False)
        except (FileExistsError, FileNotFoundError):
            return False
        return True


def hadoop_config(options: Mapping[str, str]) -> Config:
    """Settings of Hadoop from storage options: the keys that begin with ``hadoop.``, without it, as Paimon has them."""
    found = {key[len(_PREFIX) :]: value for key, value in options.items() if key.lower().startswith(_PREFIX)}
    if (default := found.pop(_DEFAULT_FS.lower(), None)) is not None:
        found[_DEFAULT_FS] = default
    return tuple(sorted(found.items()))


@lru_cache(maxsize=16)
def connect_native(root: str, config: Config = ()) -> NativeHdfs:
    """One client per process, service and settings; see NativeHdfs."""
    return NativeHdfs(root, config)


class _NativeReader(io.RawIOBase):
    """A file of hdfs-native as PyArrow wants it: ``seek`` returns the position."""

    def __init__(self, path: str, reader: Any) -> None:
        super().__init__()
        self._path, self._reader, self._size = path, reader, len(reader)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return int(self._reader.tell())

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self.tell(), io.SEEK_END: self._size}[whence]
        self._reader.seek(max(0, min(self._size, start + offset)))
        return self.tell()

    def read(self, size: int | None = -1, /) -> bytes:
        left = self._size - self.tell()
        with _system_errors(self._path):
            return bytes(self._reader.read(left if size is None or size < 0 else min(size, left)))


class _NativeWriter(io.RawIOBase):
    """A new file of hdfs-native; only a call of ``close`` ends it.

    A finalizer runs in any thread, whenever Python collects garbage, and would wait there for a name node that may not
    answer. So neither this object nor that of the client, which never tells its finalizer that it is closed, has one.
    """

    def __init__(self, path: str, writer: hdfs_native.FileWriter) -> None:
        super().__init__()
        self._path, self._writer = path, writer
        io.RawIOBase.close(writer)  # what its finalizer asks for; its own close and write do not

    def __del__(self) -> None:
        """Sends nothing: the name node gives up a file whose writer is gone."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        with _system_errors(self._path):
            return int(self._writer.write(memoryview(data).tobytes()))

    def close(self) -> None:
        if not self.closed:
            super().close()
            with _system_errors(self._path):
                self._writer.close()


class _NativeFiles(fs.FileSystemHandler):  # type: ignore[misc]
    """The calls of a file system of PyArrow that HadoopFileIO makes."""

    def __init__(self, client: hdfs_native.Client) -> None:
        self._client = client

    def get_type_name(self) -> str:
        return "hdfs-native"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> list[fs.FileInfo]:
        return [self._info(path) for path in paths]

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        with _system_errors(selector.base_dir):
            try:
                found = list(self._client.list_status(selector.base_dir, selector.recursive))
            except FileNotFoundError:
                if selector.allow_not_found:
                    return []
                raise
        return [_info(status) for status in found if status.path != selector.base_dir]

    def create_dir(self, path: str, recursive: bool) -> None:
        with _system_errors(path):
            self._client.mkdirs(path, create_parent=recursive)

    def delete_dir(self, path: str) -> None:
        self._delete(path, recursive=True)

    def delete_file(self, path: str) -> None:
        self._delete(path, recursive=False)

    def move(self, source: str, target: str) -> None:
        """Replaces a target, in one step of the name node."""
        with _system_errors(source):
            self._client.rename(source, target, overwrite=True)

    def open_input_file(self, path: str) -> pa.PythonFile:
        with _system_errors(path):
            return pa.PythonFile(_NativeReader(path, self._client.read(path)), mode="r")

    def open_output_stream(self, path: str, metadata: object) -> pa.PythonFile:
        with _system_errors(path):
            options = hdfs_native.WriteOptions(overwrite=True, create_parent=True)
            return pa.PythonFile(_NativeWriter(path, self._client.create(path, options)), mode="w")

    open_input_stream = open_input_file

    def copy_file(self, source: str, target: str) -> None:
        raise NotImplementedError

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        raise NotImplementedError

    def delete_root_dir_contents(self) -> None:
        raise NotImplementedError

    def open_append_stream(self, path: str, metadata: object) -> pa.PythonFile:
        raise NotImplementedError

    def _info(self, path: str) -> fs.FileInfo:
        with _system_errors(path):
            try:
                return _info(self._client.get_file_info(path))
            except FileNotFoundError:
                return fs.FileInfo(path, fs.FileType.NotFound)

    def _delete(self, path: str, recursive: bool) -> None:
        with _system_errors(path):
            if not self._client.delete(path, recursive):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _info(status: hdfs_native.FileStatus) -> fs.FileInfo:
    kind = fs.FileType.Directory if status.isdir else fs.FileType.File
    size = None if status.isdir else status.length
    return fs.FileInfo(status.path, kind, size=size, mtime_ns=status.modification_time * 1_000_000)


@contextmanager
def _system_errors(path: str) -> Iterator[None]:
    """Turns the errors of hdfs-native into those of the system, without the stack of the server that they hold."""
    try:
        yield
    except OSError as error:
        number, words = error.errno or _NUMBERS.get(type(error)), _first_line(str(error))
        raise (OSError(words) if number is None else type(error)(number, words, path)) from error
    except (RuntimeError, ValueError) as error:
        if (refused := _OF_KERBEROS.search(str(error))) is not None:
            raise OSError(
                f"the login by Kerberos has failed ({refused[1]}): run kinit, or set KRB5_CLIENT_KTNAME to a keytab"
            ) from error
        found = _OF_SERVER.search(str(error))
        kind, words = (found[1], found[2]) if found else ("", _first_line(str(error)))
        make = _KINDS.get(kind.rpartition(".")[2])
        raise (OSError(words) if make is None else make(words, path)) from error


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0].strip()


_NUMBERS: dict[type[OSError], int] = {FileNotFoundError: errno.ENOENT, FileExistsError: errno.EEXIST}
_KINDS: dict[str, Callable[[str, str], OSError]] = {
    "AccessControlException": lambda words, path: PermissionError(errno.EACCES, words, path),
    "InvalidPathException": lambda words, path: OSError(errno.EINVAL, words, path),
    "ParentNotDirectoryException": lambda words, path: NotADirectoryError(errno.ENOTDIR, words, path),
}
