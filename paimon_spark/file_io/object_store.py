"""S3, Google Cloud Storage and Azure, through obstore."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache, partial
from typing import IO, Any, cast

import obstore
import pyarrow as pa
from obstore import exceptions
from obstore.store import MemoryStore, from_url

from paimon_spark.errors import AccessDenied, OptionError, UnsupportedFeature
from paimon_spark.file_io.aws_login import AwsLogin, split_login
from paimon_spark.file_io.base import FileStatus, NotCreated, UnprovedStore, WholeOrNothing, check_size, create_alone
from paimon_spark.file_io.conditional_put import allows_unproved, is_proved, promises_conditions, refusal, store_address
from paimon_spark.file_io.memory import forget_object, keep_object, kept_object
from paimon_spark.file_io.object_faults import S3_CREDENTIALS, cannot_connect, fault, lacks_request, named_errors
from paimon_spark.file_io.object_settings import (
    AZURE_SCHEMES,
    KIN,
    Settings,
    adapted_azure,
    adapted_s3,
    azure_config,
    gcs_config,
    kin_config,
    s3_config,
)

_log = logging.getLogger(__name__)

_DIRECTORY_FILE, _LAST_PREFIX = ".paimon-directory", ".paimon-"
UPLOAD_PART_BYTES = 8 * 2**20
WHOLE_BYTES = 2**20
"""A file up to this size is read by one request: it takes about as long as a request for a few bytes."""
TAIL_BYTES = 2**16
"""Of a larger file, the end is read by one request: it holds what describes the rest."""
_RETRIES = {"max_retries": 6, "retry_timeout": timedelta(seconds=90)}


@contextmanager
def _named_errors(doing: str, path: str) -> Iterator[None]:
    """As named_errors. After a refusal all clients are made anew: what a user sets then counts for the next call."""
    try:
        with named_errors(doing, path):
            yield
    except AccessDenied:
        forget_clients()
        raise


def forget_clients() -> None:
    """Lets each store be reached anew, with the credentials that there are then."""
    _connect.cache_clear()
    _client.cache_clear()


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
        with _named_errors("writing", self._path):
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
        with _named_errors("writing", self._path):
            writer.close()

    def discard(self) -> None:
        """Abandons the upload. The lifecycle rule of the bucket removes the parts already sent."""
        self._writer = None


class RangeInput(io.RawIOBase):
    """Random access by ranged requests: one for a small file, one for the end of a larger one, and one for each read.

    Args:
        path: of the object, for messages.
        store, key: where it is.
        size: its bytes.
        config: the settings of the store.
    """

    def __init__(self, path: str, store: Any, key: str, size: int, config: Settings) -> None:
        super().__init__()
        self._path, self._store, self._key, self._size, self._config = path, store, key, size, config
        self._position = 0
        self._end_from = 0 if size <= WHOLE_BYTES else size - TAIL_BYTES
        self._end: bytes | None = None

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
        start = self._position
        end = self._size if size is None or size < 0 else min(self._size, start + size)
        if end <= start:
            return b""
        if start < self._end_from:
            data = self._range(start, end)
        else:
            data = self._read_end()[start - self._end_from : end - self._end_from]
        self._position += len(data)
        return data

    def readinto(self, buffer: Any, /) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _read_end(self) -> bytes:
        if self._end is not None:
            return self._end
        known = kept_object(self._path, self._config, self._end_from)
        if known is None:
            known = self._range(self._end_from, self._size)
            if len(known) == self._size - self._end_from:  # else it is cut off, which its reader finds out
                keep_object(self._path, self._config, known, self._end_from)
        self._end = known
        return known

    def _range(self, start: int, end: int) -> bytes:
        with _named_errors("reading", self._path):
            return obstore.get_range(self._store, self._key, start=start, end=end).to_bytes()


@dataclass(frozen=True)
class ObstoreFileIO:
    """Publishes files by a put with ``If-None-Match: *`` (or its equivalent).

    Attributes:
        config: the settings of the store; no repr shows their secrets.
        unproved: the user says that only one job at a time writes, so that the store may be one without that put.
    """

    config: Settings = field(default=(), repr=False)
    unproved: bool = False

    @property
    def identity(self) -> Settings:
        return self.config

    def read_bytes(self, path: str) -> bytes:
        known = kept_object(path, self.config)
        if known is not None:
            return known
        store, key = self._locate(path)
        with _named_errors("reading", path):
            found = obstore.get(store, key)
            check_size(int(found.meta["size"]), path)
            data = found.bytes().to_bytes()
        self._keep_small(path, data)
        return data

    def open_input(self, path: str, size: int | None = None) -> IO[bytes]:
        store, key = self._locate(path)
        if size is None:
            with _named_errors("reading", path):
                size = int(obstore.head(store, key)["size"])
        return cast("IO[bytes]", pa.PythonFile(RangeInput(path, store, key, size, self.config), mode="r"))

    def open_output(self, path: str) -> ObjectOutput:
        return ObjectOutput(path, *self._locate(path))

    def write_bytes(self, path: str, data: bytes) -> None:
        self.overwrite(path, data)
        self._keep_small(path, bytes(data))

    def create_if_absent(self, path: str, data: bytes) -> bool:
        store, key = self._locate(path)
        try:
            _check_conditional_put(split_root(path)[0], self.config, key)
        except UnprovedStore:
            if not self.unproved:
                raise
            return create_alone(self, path, data)
        return _put_if_absent(store, key, data, path)

    def overwrite(self, path: str, data: bytes) -> None:
        forget_object(path, self.config)
        store, key = self._locate(path)
        with _named_errors("writing", path):
            obstore.put(store, key, data, use_multipart=False)

    def list(self, path: str) -> list[FileStatus]:
        store, key = self._locate(path)
        base = path.rstrip("/")
        with _named_errors("listing", path):
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
            with _named_errors("looking for", path):
                obstore.head(store, key)
        except FileNotFoundError:
            return bool(self.list(path)) or self._has_marker(path)
        return True

    def _has_marker(self, path: str) -> bool:
        """True if there is an object ``<path>/``, with which other systems mark an empty directory."""
        store, key = self._locate(path)
        with _named_errors("listing", path):
            return any(meta["path"] == key for meta in obstore.list_with_delimiter(store, key)["objects"])

    def delete(self, path: str) -> None:
        forget_object(path, self.config)
        root, key = split_root(path)
        try:
            with _named_errors("deleting", path):
                _delete(root, self.config, [key])
        except FileNotFoundError:
            return

    def delete_many(self, paths: Sequence[str]) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for path in paths:  # files of other buckets are in other stores
            forget_object(path, self.config)
            root, key = split_root(path)
            groups.setdefault(root, []).append((path, key))
        for root, files in groups.items():
            try:
                with _named_errors("deleting", files[0][0]):
                    _delete(root, self.config, [key for _, key in files])
            except FileNotFoundError:  # some stores report a missing file, and stop there
                for path, _ in files:
                    self.delete(path)

    def move_file(self, path: str, target: str) -> None:
        forget_object(path, self.config)
        store, key = self._locate(path)
        with _named_errors("moving", path):
            obstore.rename(store, key, self._locate(target)[1])

    def remove_empty_directory(self, path: str) -> bool:
        return True

    @property
    def moves_directories(self) -> bool:
        return False

    def make_directory(self, path: str, parents: bool = True) -> bool:
        existed, mark = self.exists(path), f"{path.rstrip('/')}/{_DIRECTORY_FILE}"
        try:
            return self.create_if_absent(mark, b"") and not existed
        except UnprovedStore:  # a second mark of an empty directory does no harm
            return create_alone(self, mark, b"") and not existed

    def move_directory(self, path: str, target: str) -> bool:
        raise UnsupportedFeature(
            f"moving {path} to {target}: an object store cannot move a directory in one step, and a copy would miss "
            "what others write meanwhile"
        )

    def delete_directory(self, path: str) -> None:
        store, key = self._locate(path)
        with _named_errors("listing", path):
            found = [str(meta["path"]) for batch in obstore.list(store, key) for meta in batch if meta["path"] != key]
        last = [name for name in found if name.startswith(f"{key}/{_LAST_PREFIX}")]
        root, _ = split_root(path)
        for names in ([name for name in found if name not in last], last):
            self.delete_many([f"{root}/{name}" for name in names])

    def _keep_small(self, path: str, data: bytes) -> None:
        """Of larger files, RangeInput expects the end alone."""
        if len(data) <= WHOLE_BYTES:
            keep_object(path, self.config, data)

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
    """The store for locations of a scheme: of S3, Google or Azure, of KIN, or memory, which is for tests.

    Raises:
        OptionError, UnsupportedFeature: of its options.
    """
    if scheme == "memory":
        return ObstoreFileIO()
    if scheme == "gs":
        config = gcs_config(options)
    elif scheme in AZURE_SCHEMES:
        config = azure_config(options)
    else:
        config = kin_config(scheme, options) if scheme in KIN else s3_config(options)
    return ObstoreFileIO(config, allows_unproved(options))


@dataclass(frozen=True)
class _Client:
    """What reaches a bucket.

    Attributes:
        root: as the client wants it.
        settings: those of the client.
        credentials: where it gets them from; None: it finds them by itself.
    """

    root: str
    settings: Mapping[str, str] = field(repr=False)
    credentials: Callable[[], Mapping[str, Any]] | None = None


@lru_cache(maxsize=64)
def _client(root: str, config: Settings) -> _Client:
    authority, settings = root.partition("://")[2], dict(config)
    if _kind(root) == "az":
        return _Client(root, adapted_azure(settings, authority))
    if _kind(root) != "s3":
        return _Client(root, settings)
    settings, login = split_login(settings)
    credentials = None
    if login is not None and root.partition("://")[0] not in KIN:  # no other cloud gets credentials of a profile of AWS
        credentials, of_profile = _sdk(login)
        settings = {**of_profile, **settings}
    return _Client(f"s3://{authority}", adapted_s3(settings, authority), credentials)


def _sdk(login: AwsLogin) -> tuple[Callable[[], Mapping[str, Any]] | None, Mapping[str, str]]:
    """The credentials that the AWS SDK for Python finds, and settings of the profile.

    Raises:
        OptionError: the SDK is not installed, and what is asked for needs it.
    """
    try:
        from paimon_spark.file_io.aws_credentials import sdk_credentials
    except ImportError as error:
        if not login.is_wanted:
            return None, {}
        raise OptionError(
            "profiles and roles of AWS are read by its SDK, which is not installed: pip install 'paimon-spark[aws]', "
            f"or set {S3_CREDENTIALS}"
        ) from error
    return sdk_credentials(login)


@lru_cache(maxsize=64)
def _connect(root: str, config: Settings) -> Any:
    if root.startswith("memory://"):
        return MemoryStore()
    found = _client(root, config)
    client: dict[str, Any] = {"timeout": timedelta(seconds=60)}
    connect: Any = from_url  # its overloads want one type for each cloud's settings
    if store_address(_kind(root), found.settings).startswith("http://"):
        client["allow_http"] = True
    more = {} if found.credentials is None else {"credential_provider": found.credentials}
    try:
        return connect(found.root, config=dict(found.settings), client_options=client, retry_config=_RETRIES, **more)
    except (exceptions.BaseError, ValueError) as error:
        raise cannot_connect(root, error) from error


_proved: dict[tuple[str, Settings], bool] = {}
"""By bucket and the settings that reach it: whether its conditional put is promised, or was seen to work."""


def _check_conditional_put(root: str, config: Settings, key: str) -> None:
    """Checks, once per bucket and process, that a store creates an object only if it is absent.

    Args:
        key: what is about to be created; the probes lie beside it, where this process has the right to write.

    Raises:
        UnprovedStore: it does not.
        OSError: the store refuses the probes, or does not answer.
    """
    if (root, config) not in _proved:  # also what is promised: a file of credentials may be read to know it
        kind = _kind(root)
        is_promised = kind == "memory" or promises_conditions(kind, _client(root, config).settings)
        _proved[(root, config)] = is_promised or _tried(root, config, key)
    if not _proved[(root, config)]:
        raise UnprovedStore(refusal(root))


def _tried(root: str, config: Settings, key: str) -> bool:
    """True if several that create one object at once were answered rightly; see _check_conditional_put."""
    store, folder = _connect(root, config), key.rpartition("/")[0]

    def create(probe: str) -> bool:
        return _put_if_absent(store, probe, b"", f"{root}/{probe}")

    def delete(probes: Sequence[str]) -> None:
        try:
            with _named_errors("deleting", f"{root}/{probes[0]}"):
                _delete(root, config, list(probes))
        except OSError as error:
            _log.warning("could not remove the empty probes %s: %s", [f"{root}/{probe}" for probe in probes], error)

    try:
        return is_proved(create, delete, f"{folder}/" if folder else "", partial(_signed_put, root, store))
    except UnprovedStore:
        return False


def _signed_put(root: str, store: Any, key: str) -> str | None:
    """An address where a key may be put without more credentials; None: the store is not one of S3, or has none."""
    if _kind(root) != "s3":
        return None
    with suppress(exceptions.BaseError, ValueError):  # such as one without credentials
        return str(obstore.sign(store, "PUT", key, timedelta(minutes=1)))
    return None


def _kind(root: str) -> str:
    """ "s3", "gs", "az" or "memory": the kind of the store of ``s3a://bucket``."""
    scheme = root.partition("://")[0]
    if scheme in AZURE_SCHEMES:
        return "az"
    return scheme if scheme in ("gs", "memory") else "s3"


_without_bulk_delete: set[tuple[str, Settings]] = set()
"""The buckets, with the settings that reach them, whose store has no bulk delete of S3, as this process has seen."""


def _delete(root: str, config: Settings, keys: list[str]) -> None:
    """Deletes by bulk requests, or by one request for each object in a store that is like S3 and has no such request.

    Raises:
        FileNotFoundError, obstore.exceptions.BaseError: as the client does.
    """
    if (root, config) not in _without_bulk_delete:
        try:
            obstore.delete(_connect(root, config), keys)
        except exceptions.BaseError as error:
            if not (_kind(root) == "s3" and lacks_request(error)):
                raise
            _log.info("%s has no bulk delete; its objects are deleted one by one", root)
            _without_bulk_delete.add((root, config))
        else:
            return
    obstore.delete(_connect(root, tuple(sorted({*config, ("disable_bulk_delete", "true")}))), keys)


def _put_if_absent(store: Any, key: str, data: bytes, path: str) -> bool:
    try:
        obstore.put(store, key, data, mode="create", use_multipart=False)
    except (exceptions.AlreadyExistsError, exceptions.PreconditionError):
        return False
    except (exceptions.BaseError, FileNotFoundError) as error:
        if isinstance(error, exceptions.NotSupportedError) or lacks_request(error):
            raise UnprovedStore(refusal(split_root(path)[0])) from error
        found = fault("writing", path, error)
        if isinstance(found, AccessDenied):
            forget_clients()
        if isinstance(found, AccessDenied) or isinstance(error, FileNotFoundError):
            raise NotCreated(str(found), of_store=found.of_store) from error
        raise found from error
    return True
