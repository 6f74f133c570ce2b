"""S3, Google Cloud Storage and Azure, through obstore."""

from __future__ import annotations

import io
import logging
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import IO, Any, cast

import obstore
import pyarrow as pa
from obstore import exceptions
from obstore.store import MemoryStore, from_url

from paimon_spark.errors import AccessDenied, OptionError, UnsupportedFeature
from paimon_spark.file_io.base import FileStatus, NotCreated, WholeOrNothing, check_size
from paimon_spark.file_io.object_faults import cannot_connect, fault, named_errors, words_of
from paimon_spark.file_io.s3_options import S3_OPTIONS, S3_PREFIXES

_log = logging.getLogger(__name__)

_DIRECTORY_FILE, _LAST_PREFIX = ".paimon-directory", ".paimon-"
UPLOAD_PART_BYTES = 8 * 2**20
_RETRIES = {"max_retries": 6, "retry_timeout": timedelta(seconds=90)}

_ENDPOINT = re.compile(r"https?://([\w.-]+|\[[0-9a-fA-F:.]+\])(:\d+)?(/[\w./-]*)?")
_GCS_OPTIONS: Mapping[str, str] = {
    "fs.gs.auth.service.account.json.keyfile": "service_account",
    "google.cloud.auth.service.account.json.keyfile": "service_account",
}


class ObjectOutput(WholeOrNothing):
    """An upload in parts; the object appears as a whole when the stream is closed, or never."""

    def __init__(self, path: str, store: Any, key: str) -> None:
        self._path = path
        self._written = 0
        self._writer: Any = obstore.open_writer(store, key, buffer_size=UPLOAD_PART_BYTES)

    @property
    def closed(self) -> bool:
        return self._writer is None

    def write(self, data: bytes | bytearray | memoryview, /) -> int:
        if self._writer is None:
            raise ValueError(f"write to the closed file {self._path}")
        with named_errors("writing", self._path):
            count = int(self._writer.write(data))
        self._written += count
        return count

    def tell(self) -> int:
        return self._written

    def flush(self) -> None:
        """Does nothing: parts are sent as they fill."""

    def close(self) -> None:
        if self._writer is None:
            return
        writer, self._writer = self._writer, None
        with named_errors("writing", self._path):
            writer.close()

    def discard(self) -> None:
        """Abandons the upload. The lifecycle rule of the bucket removes the parts already sent."""
        self._writer = None


class RangeInput(io.RawIOBase):
    """Random access by ranged requests, one request per read."""

    def __init__(self, path: str, store: Any, key: str, size: int) -> None:
        super().__init__()
        self._path, self._store, self._key, self._size = path, store, key, size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def read(self, size: int | None = -1, /) -> bytes:
        end = self._size if size is None or size < 0 else min(self._size, self._position + size)
        if end <= self._position:
            return b""
        with named_errors("reading", self._path):
            data = obstore.get_range(self._store, self._key, start=self._position, end=end).to_bytes()
        self._position += len(data)
        return data

    def readinto(self, buffer: Any, /) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


@dataclass(frozen=True)
class ObstoreFileIO:
    """Publishes files by a put with ``If-None-Match: *`` (or its equivalent).

    Attributes:
        config: the sorted settings of the store under obstore's names, plus path_style; no repr shows their secrets.
    """

    config: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def read_bytes(self, path: str) -> bytes:
        store, key = self._locate(path)
        with named_errors("reading", path):
            found = obstore.get(store, key)
            check_size(int(found.meta["size"]), path)
            return found.bytes().to_bytes()

    def open_input(self, path: str, size: int | None = None) -> IO[bytes]:
        store, key = self._locate(path)
        if size is None:
            with named_errors("reading", path):
                size = int(obstore.head(store, key)["size"])
        return cast("IO[bytes]", pa.PythonFile(RangeInput(path, store, key, size), mode="r"))

    def open_output(self, path: str) -> ObjectOutput:
        return ObjectOutput(path, *self._locate(path))

    def write_bytes(self, path: str, data: bytes) -> None:
        self.overwrite(path, data)

    def create_if_absent(self, path: str, data: bytes) -> bool:
        store, key = self._locate(path)
        root, _ = split_root(path)
        if _needs_probe(root, self.config):
            _probe_conditional_put(root, self.config, key)
        return _put_if_absent(store, key, data, path)

    def overwrite(self, path: str, data: bytes) -> None:
        store, key = self._locate(path)
        with named_errors("writing", path):
            obstore.put(store, key, data, use_multipart=False)

    def list(self, path: str) -> list[FileStatus]:
        store, key = self._locate(path)
        base = path.rstrip("/")
        with named_errors("listing", path):
            found = obstore.list_with_delimiter(store, key)
        files = [
            FileStatus(f"{base}/{name}", name, int(meta["size"]), False, int(meta["last_modified"].timestamp() * 1000))
            for meta in found["objects"]
            if meta["path"] != key and (name := str(meta["path"]).rsplit("/", 1)[-1])
        ]
        names = [str(prefix).rstrip("/").rsplit("/", 1)[-1] for prefix in found["common_prefixes"]]
        return files + [FileStatus(f"{base}/{name}", name, 0, True, 0) for name in names]

    def exists(self, path: str) -> bool:
        store, key = self._locate(path)
        try:
            with named_errors("looking for", path):
                obstore.head(store, key)
        except FileNotFoundError:
            return bool(self.list(path)) or self._has_marker(path)
        return True

    def _has_marker(self, path: str) -> bool:
        """True if there is an object ``<path>/``, with which other systems mark an empty directory."""
        store, key = self._locate(path)
        with named_errors("listing", path):
            return any(meta["path"] == key for meta in obstore.list_with_delimiter(store, key)["objects"])

    def delete(self, path: str) -> None:
        store, key = self._locate(path)
        try:
            with named_errors("deleting", path):
                obstore.delete(store, key)
        except FileNotFoundError:
            return

    def delete_many(self, paths: Sequence[str]) -> None:
        groups: dict[int, tuple[Any, list[tuple[str, str]]]] = {}
        for path in paths:  # files of other buckets are in other stores
            store, key = self._locate(path)
            groups.setdefault(id(store), (store, []))[1].append((path, key))
        for store, files in groups.values():
            try:
                with named_errors("deleting", files[0][0]):
                    obstore.delete(store, [key for _, key in files])
            except FileNotFoundError:  # some stores report a missing file, and stop there
                for path, _ in files:
                    self.delete(path)

    def move_file(self, path: str, target: str) -> None:
        store, key = self._locate(path)
        with named_errors("moving", path):
            obstore.rename(store, key, self._locate(target)[1])

    def remove_empty_directory(self, path: str) -> bool:
        return True

    @property
    def moves_directories(self) -> bool:
        return False

    def make_directory(self, path: str, parents: bool = True) -> bool:
        existed = self.exists(path)
        return self.create_if_absent(f"{path.rstrip('/')}/{_DIRECTORY_FILE}", b"") and not existed

    def move_directory(self, path: str, target: str) -> bool:
        raise UnsupportedFeature(
            f"moving {path} to {target}: an object store cannot move a directory in one step, and a copy would miss "
            "what others write meanwhile"
        )

    def delete_directory(self, path: str) -> None:
        store, key = self._locate(path)
        with named_errors("listing", path):
            found = [str(meta["path"]) for batch in obstore.list(store, key) for meta in batch if meta["path"] != key]
        last = [name for name in found if name.startswith(f"{key}/{_LAST_PREFIX}")]
        root, _ = split_root(path)
        for names in ([name for name in found if name not in last], last):
            self.delete_many([f"{root}/{name}" for name in names])

    def _locate(self, path: str) -> tuple[Any, str]:
        root, key = split_root(path)
        return _connect(root, self.config), key


def split_root(path: str) -> tuple[str, str]:
    """``s3://bucket/a/b`` -> (``s3://bucket``, ``a/b``)."""
    scheme, found, rest = path.partition("://")
    if not found:
        raise OptionError(f"'{path}' is not the address of an object; expected something like s3://bucket/path")
    authority, _, key = rest.partition("/")
    return f"{scheme}://{authority}", key.strip("/")


def object_store(scheme: str, options: Mapping[str, str]) -> ObstoreFileIO:
    """The store for locations of a scheme: s3, s3a, s3n, gs, az, abfs, abfss, or memory, which is for tests."""
    if scheme == "gs":
        return ObstoreFileIO(gcs_config(options))
    if scheme in ("az", "abfs", "abfss"):
        return ObstoreFileIO(azure_config(options))
    return ObstoreFileIO() if scheme == "memory" else ObstoreFileIO(s3_config(options))


def s3_config(options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The settings of an S3 store, from table or storage options (``s3.*``, ``fs.s3a.*``); sorted.

    Hadoop has many more keys under these prefixes, which do nothing here.
    """
    found: dict[str, str] = {}
    for setting, names in S3_OPTIONS.items():
        keys = [prefix + name for prefix in S3_PREFIXES for name in names]
        value = next((options[key] for key in keys if key in options), None)
        if value is not None:
            found[setting] = value.strip()
    return tuple(sorted(found.items()))


def gcs_config(options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The settings of a Google store, from storage options; the environment supplies missing ones."""
    return tuple(sorted((ours, options[key]) for key, ours in _GCS_OPTIONS.items() if key in options))


def azure_config(options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The account key, from storage options (``fs.azure.account.key.<account>...``) or else from the environment."""
    keys = [value for key, value in sorted(options.items()) if key.startswith("fs.azure.account.key")]
    return (("account_key", keys[0]),) if keys else ()


@lru_cache(maxsize=64)
def _connect(root: str, config: tuple[tuple[str, str], ...]) -> Any:
    scheme, _, authority = root.partition("://")
    if scheme == "memory":
        return MemoryStore()
    settings = dict(config)
    client: dict[str, Any] = {"timeout": timedelta(seconds=60)}
    connect: Any = from_url  # its overloads want one type for each cloud's settings
    if scheme in ("s3", "s3a", "s3n"):
        root = f"s3://{authority}"
        _adapt_s3(settings, authority)
        if settings.get("endpoint", "").startswith("http://"):
            client["allow_http"] = True
    try:
        return connect(root, config=settings, client_options=client, retry_config=_RETRIES)
    except (exceptions.BaseError, ValueError) as error:
        raise cannot_connect(root, error) from error


def _adapt_s3(settings: dict[str, str], bucket: str) -> None:
    """Translates Hadoop's settings of path style and anonymous access to those of obstore."""
    path_style = settings.pop("path_style", "true").strip().lower()
    if path_style not in ("true", "false"):
        raise OptionError(f"the option 's3.path-style-access' is '{path_style}': expected true or false")
    if "Anonymous" in settings.pop("credentials_provider", ""):
        settings["skip_signature"] = "true"
    endpoint = settings.get("endpoint")
    if endpoint is None:
        return
    if "://" not in endpoint:
        endpoint = f"https://{endpoint}"
    if not _ENDPOINT.fullmatch(endpoint):
        raise OptionError(f"the option 's3.endpoint' is '{endpoint}': expected an address such as http://minio:9000")
    if path_style == "false":
        scheme, _, host = endpoint.partition("://")
        endpoint = f"{scheme}://{bucket}.{host}"
        settings["virtual_hosted_style_request"] = "true"
    settings["endpoint"] = endpoint


def _needs_probe(root: str, config: tuple[tuple[str, str], ...]) -> bool:
    """True if the store may ignore conditional requests: a compatible store behind an endpoint of its own."""
    endpoint = dict(config).get("endpoint", "")
    return root.startswith("s3") and bool(endpoint) and "amazonaws.com" not in endpoint


@lru_cache(maxsize=64)
def _probe_conditional_put(root: str, config: tuple[tuple[str, str], ...], key: str) -> None:
    """Checks, once per process, that the store honours If-None-Match: otherwise writers would overwrite each other."""
    store = _connect(root, config)
    probe = f"{key.rpartition('/')[0]}/.probe-{uuid.uuid4()}".lstrip("/")
    path = f"{root}/{probe}"
    first, second = (_put_if_absent(store, probe, b"", path) for _ in range(2))
    try:
        with named_errors("deleting", path):
            obstore.delete(store, probe)
    except OSError as error:
        _log.warning("could not remove the empty probe %s: %s", path, error)
    if not first or second:
        raise UnsupportedFeature(
            f"cannot write to {root}: its store does not honour conditional puts (If-None-Match), so two writers "
            "could overwrite each other; use a store that does (AWS S3, MinIO of 2024 or newer, GCS, Azure)"
        )


def _put_if_absent(store: Any, key: str, data: bytes, path: str) -> bool:
    try:
        obstore.put(store, key, data, mode="create", use_multipart=False)
    except (exceptions.AlreadyExistsError, exceptions.PreconditionError):
        return False
    except exceptions.NotSupportedError as error:
        raise UnsupportedFeature(
            f"cannot publish {path}: the store has no conditional put ({words_of(error)}); keep the table on one that "
            "has it"
        ) from error
    except (exceptions.BaseError, FileNotFoundError) as error:
        found = fault("writing", path, error)
        if isinstance(found, AccessDenied) or isinstance(error, FileNotFoundError):
            raise NotCreated(str(found), of_store=found.of_store) from error
        raise found from error
    return True
