"""One table of a REST catalog: its location, its storage, and the server that publishes what becomes of it.

``open_served`` is called by ``store.open`` for locations ``rest://<catalog>/<database>/<table>``, in every process that
opens the table: the options of the catalog travel with the storage options (``options.travelling``).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import Any
from urllib.parse import quote_plus, unquote

from paimon_spark.catalogs.rest.api import RestApi
from paimon_spark.catalogs.rest.failures import Denied, NotReached, Refused
from paimon_spark.catalogs.rest.options import DATA_TOKEN, HEADER, RestOptions, travelled
from paimon_spark.catalogs.rest.schema_json import changes_between, read_schema, schema_json
from paimon_spark.catalogs.rest.token_files import TokenFileIO
from paimon_spark.errors import (
    AccessDenied,
    NameTaken,
    OptionError,
    SchemaError,
    SnapshotNotFound,
    TableChanged,
    TableNotFound,
    UnsupportedFeature,
)
from paimon_spark.file_io import FileIO, NotCreated, absolute_location, file_io_for
from paimon_spark.format.options.engines import TableKind
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.paths import MAIN_BRANCH
from paimon_spark.format.rules.format_tables import check_kept_partitions
from paimon_spark.format.rules.object_tables import object_table_schema
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.snapshot import Snapshot, decode_snapshot, encode_snapshot
from paimon_spark.store.metadata.table_options import PATH
from paimon_spark.store.storage.served import PartitionChange, ServedTable

QUERY_AUTH = TableSettings.query_auth_enabled.key
_KINDS = (TableKind.TABLE, TableKind.MATERIALIZED_TABLE, TableKind.OBJECT_TABLE, TableKind.FORMAT_TABLE)
_MOST_PARTITIONS = 1000  # of one request
_APIS = 32  # servers and credentials in one process
_READ_VIA = "x-paimon-read-via"  # Java: RESTApi.READ_VIA_HEADER
_DATABASE, _TABLE, _SNAPSHOT, _BRANCH, _TAG = "DATABASE", "TABLE", "SNAPSHOT", "BRANCH", "TAG"


def api_of(options: RestOptions) -> RestApi:
    """The connection of this process for some options; the server is asked for its own options once.

    A fork does not use the connections of its parent: each would take the answers of the other for its own.
    """
    return _api_in(os.getpid(), options)


@lru_cache(_APIS)
def _api_in(process: int, options: RestOptions) -> RestApi:
    return RestApi(options)


def open_served(location: str, storage: Mapping[str, str]) -> ServedTable | None:
    """The table of a name; see store.storage.served.

    Raises:
        OptionError: the storage options lack those of the catalog.
        AccessDenied, StorageError: the server does not permit it, or does not answer.
        UnsupportedFeature: this release has no tables of its type.
    """
    options = travelled(storage)
    if options is None:
        raise OptionError(
            f"{location} is the name of a table in a REST catalog: open it with paimon_spark.catalog(spark, "
            "{'metastore': 'rest', 'uri': ...}), or give the options that table_options() of its catalog returns"
        )
    database, table = table_of(location)
    try:
        found = api_of(options).get_table(database, table)
    except Refused as error:
        if error.is_missing and error.resource in (_TABLE, _DATABASE):
            return None
        raise
    return served_table(api_of(options).options, database, table, found)


def served_table(options: RestOptions, database: str, table: str, found: Mapping[str, Any]) -> ServedTable:
    """The table that the server has described. options: with those of the server."""
    path, stored = found.get("path"), (found.get("schema") or {}).get("options") or {}
    known = {key: str(text) for key, text in stored.items() if text is not None and key != PATH}
    if not isinstance(path, str) or not path:
        raise UnsupportedFeature(f"opening {database}.{table}: the server of the REST catalog tells no path of it")
    kind = check_kind(f"opening {database}.{table}", known)
    location = absolute_location(path)
    external = bool(found.get("isExternal"))
    file_io: FileIO = file_io_for(location, options.storage)
    if options.flag(DATA_TOKEN) and not external:
        file_io = TokenFileIO(options, database, table, location)
    server = None if external else RestTable(options, database, table, found.get("id"))
    limited = TableSettings(known).query_auth_enabled
    if limited and kind in (TableKind.OBJECT_TABLE, TableKind.FORMAT_TABLE):
        raise UnsupportedFeature(
            f"opening {database}.{table} with '{QUERY_AUTH}' = 'true': the filters and masks of the server are for "
            "tables with snapshots; it cannot be read"
        )
    if kind == TableKind.OBJECT_TABLE:  # no schema file tells of it
        schema = object_table_schema(f"{database}.{table}", (), known, (found.get("schema") or {}).get("comment"))
        return ServedTable(location, file_io, None, known, schema)
    if kind == TableKind.FORMAT_TABLE:
        schema = read_schema(found, f"{database}.{table}")
        check_kept_partitions(f"opening {database}.{table}", schema, keeps=not external)
        keeps = TableSettings(schema.options).partitions.in_metastore
        return ServedTable(location, file_io, server if keeps else None, known, schema)
    return ServedTable(location, file_io, server, known, auth=RestAuth(options, database, table) if limited else None)


def check_kind(doing: str, options: Mapping[str, str]) -> str:
    """The type of a table, if this release has such tables.

    Raises:
        UnsupportedFeature: the options of the table name another type.
    """
    kind = TableSettings(options).table_type
    if kind not in _KINDS:
        raise UnsupportedFeature(f"{doing} with 'type' = '{kind}': this release has {', '.join(_KINDS)} only")
    return kind


def read_via(location: str, storage: Mapping[str, str]) -> Mapping[str, str]:
    """The storage options for tables on which the read of another one depends: the server is told which one it is.

    Of tables that depend on one another the first keeps its name (Java: CatalogEnvironment.dependencyReadContext).
    """
    options = travelled(storage)
    if options is None or any(name.lower() == _READ_VIA for name in options.headers):
        return storage
    database, table = table_of(location)
    named = json.dumps({"database": database, "object": table}, separators=(",", ":"), ensure_ascii=False)
    return replace(options, values={**options.values, f"{HEADER}{_READ_VIA}": quote_plus(named)}).travelling()


def table_of(location: str) -> tuple[str, str]:
    """(database, table) of ``rest://<catalog>/<database>/<table>``."""
    parts = [unquote(part) for part in location.partition("://")[2].split("/")]
    if len(parts) != 3 or not all(parts[1:]):
        raise OptionError(f"'{location}' is no name of a table: expected rest://<catalog>/<database>/<table>")
    return parts[1], parts[2]


@dataclass(frozen=True)
class RestAuth:
    """The filters and masks of one table; see QueryAuth.

    Attributes:
        options: of the catalog, credentials included; not part of repr.
    """

    options: RestOptions = field(repr=False)
    database: str
    table: str

    @property
    def name(self) -> str:
        return f"{self.database}.{self.table}"

    def ask(self, columns: Sequence[str]) -> tuple[Sequence[str], Mapping[str, str]]:
        try:
            found = api_of(self.options).auth_table(self.database, self.table, columns)
        except Refused as error:
            kind = TableNotFound if error.is_missing else UnsupportedFeature if error.status == 501 else SchemaError
            raise kind(f"reading {self.name}: {error}") from None
        except AccessDenied as error:
            raise type(error)(f"reading {self.name}: {error}") from None
        return found.get("filter") or (), found.get("columnMasking") or {}


@dataclass(frozen=True)
class RestTable:
    """The server of one table; see TableServer.

    Attributes:
        options: of the catalog, credentials included; not part of repr.
        table_id: what the server calls the table, whatever its name is; None: it does not say.
    """

    options: RestOptions = field(repr=False)
    database: str
    table: str
    table_id: str | None

    @property
    def name(self) -> str:
        return f"{self.database}.{self.table}"

    @property
    def _api(self) -> RestApi:
        return api_of(self.options)

    def partitions(self) -> list[Mapping[str, str]]:
        with self._changing("listing the partitions of"):
            found = self._api.list_partitions(self.database, self.table)
        return [one.get("spec") or {} for one in found]

    def add_partitions(self, partitions: Sequence[Mapping[str, str]]) -> None:
        with self._changing("adding partitions to"):
            for start in range(0, len(partitions), _MOST_PARTITIONS):
                self._api.create_partitions(self.database, self.table, partitions[start : start + _MOST_PARTITIONS])

    def drop_partitions(self, partitions: Sequence[Mapping[str, str]]) -> None:
        with self._changing("dropping partitions of"):
            for start in range(0, len(partitions), _MOST_PARTITIONS):
                self._api.drop_partitions(self.database, self.table, partitions[start : start + _MOST_PARTITIONS])

    def _object(self, branch: str) -> str:
        return self.table if branch == MAIN_BRANCH else f"{self.table}$branch_{branch}"

    def check_still_there(self) -> None:
        try:
            found = self._api.get_table(self.database, self.table)
        except Refused as error:
            raise self._failed(error, f"reading {self.name}: ") from None
        if self.table_id not in (None, found.get("id")):
            raise TableChanged(
                f"reading {self.name}: since it was opened, another table of that name was made in the REST catalog. "
                "Open it again"
            )

    def latest(self, branch: str) -> Snapshot | None:
        try:
            found = self._api.latest_snapshot(self.database, self._object(branch))
        except Refused as error:
            if error.is_missing and error.resource == _SNAPSHOT:
                return None
            raise self._failed(error) from None
        snapshot = found.get("snapshot")
        where = f"the latest snapshot of {self.name} from {self.options.shown_uri}"
        return None if snapshot is None else decode_snapshot(json.dumps(snapshot).encode(), where)

    def publish(
        self, branch: str, base: Snapshot | None, snapshot: Snapshot, changes: Sequence[PartitionChange]
    ) -> bool:
        published = json.loads(encode_snapshot(snapshot))
        statistics = [_statistics(change) for change in changes]
        before = None if base is None else base.uuid
        try:
            return self._api.commit(self.database, self._object(branch), self.table_id, before, published, statistics)
        except (NotReached, Denied, Refused) as error:
            raise NotCreated(f"committing to {self.name}: {error}") from error

    def change_schema(self, branch: str, before: TableSchema, after: TableSchema) -> None:
        changes = changes_between(before, after)
        with self._changing("altering"):
            self._api.alter_table(self.database, self._object(branch), changes)

    def replace_schema(self, schema: TableSchema) -> None:
        with self._changing("replacing the columns of"):
            self._api.replace_table(self.database, self.table, schema_json(schema))

    def roll_back(self, branch: str, snapshot_id: int | None, tag: str | None) -> None:
        instant = {"type": "snapshot", "snapshotId": snapshot_id}
        if snapshot_id is None:
            instant = {"type": "tag", "tagName": tag}
        with self._changing("rolling back"):
            self._api.roll_back(self.database, self._object(branch), instant)

    def create_branch(self, branch: str, tag: str | None) -> None:
        with self._changing(f"making the branch '{branch}' of"):
            self._api.create_branch(self.database, self.table, branch, tag)

    def drop_branch(self, branch: str) -> None:
        with self._changing(f"dropping the branch '{branch}' of"):
            self._api.drop_branch(self.database, self.table, branch)

    def fast_forward(self, branch: str) -> None:
        with self._changing(f"fast-forward to the branch '{branch}' of"):
            self._api.fast_forward(self.database, self.table, branch)

    @contextmanager
    def _changing(self, doing: str) -> Iterator[None]:
        try:
            yield
        except Refused as error:
            raise self._failed(error, f"{doing} {self.name}: ") from None
        except AccessDenied as error:
            raise type(error)(f"{doing} {self.name}: {error}") from None

    def _failed(self, error: Refused, begin: str = "") -> Exception:
        """The error of the store for what the server has refused."""
        if error.is_missing:
            kinds = {
                _SNAPSHOT: SnapshotNotFound,
                _BRANCH: SnapshotNotFound,
                _TAG: SnapshotNotFound,
                _TABLE: TableNotFound,
            }
            return kinds.get(error.resource, SchemaError)(f"{begin}{error}")
        if error.is_taken and error.resource in (_BRANCH, _TAG):
            return NameTaken(f"{begin}{error}")
        return (UnsupportedFeature if error.status == 501 else SchemaError)(f"{begin}{error}")


def _statistics(change: PartitionChange) -> dict[str, Any]:
    fields = asdict(change)
    names = {
        "spec": "spec",
        "rows": "recordCount",
        "bytes": "fileSizeInBytes",
        "files": "fileCount",
        "last_file_millis": "lastFileCreationTime",
        "total_buckets": "totalBuckets",
    }
    return {names[key]: value for key, value in fields.items()}
