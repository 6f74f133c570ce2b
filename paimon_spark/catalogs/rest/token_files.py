"""The storage of a table whose credentials the server of its catalog lends (Java: RESTTokenFileIO)."""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import IO

from paimon_spark.catalogs.rest.api import RestApi
from paimon_spark.catalogs.rest.auth import SAFE_MILLIS
from paimon_spark.catalogs.rest.failures import Refused
from paimon_spark.catalogs.rest.options import RestOptions, token_storage
from paimon_spark.errors import StorageError, TableNotFound
from paimon_spark.file_io import FileIO, FileStatus, OutputStream, file_io_for

_LENT: dict[tuple[RestOptions, str, str, str], _Lent] = {}
_LOCK = threading.Lock()


@dataclass(frozen=True)
class _Lent:
    """A store with the credentials that are valid now. expires_millis: since the epoch."""

    store: FileIO
    expires_millis: int


class TokenFileIO:
    """Reads and writes with credentials of the server, which are asked for anew an hour before they expire.

    Pickled, it takes the credentials of the catalog along and not those of the storage: each process asks for its own.
    """

    def __init__(self, options: RestOptions, database: str, table: str, location: str) -> None:
        """options: of the catalog; location: the directory of the table."""
        self._key = (options, database, table, location)

    def __repr__(self) -> str:
        return f"TokenFileIO({self._key[3]})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TokenFileIO) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def identity(self) -> Hashable:
        return self._key

    @property
    def _store(self) -> FileIO:
        now = time.time_ns() // 1_000_000
        lent = _LENT.get(self._key)
        if lent is None or lent.expires_millis - now < SAFE_MILLIS:
            with _LOCK:
                lent = _LENT.get(self._key)
                if lent is None or lent.expires_millis - now < SAFE_MILLIS:
                    lent = _LENT[self._key] = self._lend()
        return lent.store

    def _lend(self) -> _Lent:
        options, database, table, location = self._key
        asking = f"asking for credentials of {database}.{table}"
        try:
            answer = RestApi(options).table_token(database, table)
        except Refused as error:  # callers of a store know OSError, and that a table may be gone
            if error.is_missing and error.resource in ("TABLE", "DATABASE"):
                raise TableNotFound(f"{asking}: {error}") from None
            raise StorageError(f"{asking}: {error}") from None
        token, expires = answer.get("token"), answer.get("expiresAtMillis")
        if not isinstance(token, dict) or not isinstance(expires, int):
            raise StorageError(f"{asking}: the server answers with no token")
        storage = dict(token_storage({str(k): str(v) for k, v in token.items()}, options))
        return _Lent(file_io_for(location, storage), expires)

    def read_bytes(self, path: str) -> bytes:
        return self._store.read_bytes(path)

    def open_input(self, path: str, size: int | None = None) -> IO[bytes]:
        return self._store.open_input(path, size)

    def open_output(self, path: str) -> OutputStream:
        return self._store.open_output(path)

    def write_bytes(self, path: str, data: bytes) -> None:
        self._store.write_bytes(path, data)

    def create_if_absent(self, path: str, data: bytes) -> bool:
        return self._store.create_if_absent(path, data)

    def overwrite(self, path: str, data: bytes) -> None:
        self._store.overwrite(path, data)

    def list(self, path: str) -> list[FileStatus]:
        return self._store.list(path)

    def exists(self, path: str) -> bool:
        return self._store.exists(path)

    def delete(self, path: str) -> None:
        self._store.delete(path)

    def delete_many(self, paths: Sequence[str]) -> None:
        self._store.delete_many(paths)

    def move_file(self, path: str, target: str) -> None:
        self._store.move_file(path, target)

    def remove_empty_directory(self, path: str) -> bool:
        return self._store.remove_empty_directory(path)
