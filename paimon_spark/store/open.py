"""Opens tables, and defines what an open table offers.

The modules that read rows, and the system tables, are imported on first use, so that reading a schema is fast.

May import: ``store.file_tables``, ``store.blob_views``.
"""

from __future__ import annotations

import datetime as dt
import errno
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeAlias

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.arrow.zones import LocalZone, TimeZone, ZoneUnknown, session_zone
from paimon_spark.errors import OptionError, StorageError, TableNotFound, UnsupportedFeature, UnsupportedMethod
from paimon_spark.file_io import FileIO, absolute_location, file_io_for, is_far, named_location
from paimon_spark.format.options.engines import TableKind
from paimon_spark.format.options.other_systems import ARGUMENT_ADVICE, READER_ADVICE
from paimon_spark.format.options.read_settings import ScanSettings
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.rules.supported import check_readable
from paimon_spark.format.schema import ROW_KIND_FIELD, TableSchema, metadata_fields
from paimon_spark.format.types import DataField
from paimon_spark.merge.engines.choice import check_engine
from paimon_spark.store.metadata.external_paths import confined
from paimon_spark.store.metadata.schemas import SchemaStore, no_such_branch
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.metadata.table_options import check_dynamic_options, resolve_keys, split_storage_options
from paimon_spark.store.scan.read_spec import find_fields, row_kind_field
from paimon_spark.store.scan.time_travel import refuse_second_state, travelled
from paimon_spark.store.storage.parallel import together
from paimon_spark.store.storage.publishers import publisher_of
from paimon_spark.store.storage.served import BlobViews, QueryAuth, TableServer, find_served, is_served
from paimon_spark.store.storage.wrong_path import FILES, what_is_there
from paimon_spark.store.system_tables.names import METADATA_NAMES, NAMES, is_of_warehouse, near_names

_NAME = re.compile(r"(\w+)\.(\w+)")
_BRANCH = re.compile(r"branch_([^$]+)")
_WAREHOUSE_TABLES = "tables of sys.db are read with paimon-spark read, or with spark.read.format('paimon').load"
_NANOS_PER_MILLI = 1_000_000
_OF_ALL_BRANCHES = (
    TableSettings.query_auth_enabled.key,
)  # what a server tells of a table, and must hold for its branches too

if TYPE_CHECKING:
    import pyarrow as pa

    from paimon_spark.arrow.predicates.expressions import Expr
    from paimon_spark.arrow.predicates.predicate import Predicate
    from paimon_spark.store.file_tables.format_table import FormatTable
    from paimon_spark.store.file_tables.object_table import ObjectTable
    from paimon_spark.store.scan.table_scan import Scan
    from paimon_spark.store.system_tables.made_rows import MetadataScan
    from paimon_spark.store.system_tables.rows import RowScan
    from paimon_spark.store.system_tables.table import SystemTable


@checks_arguments
@dataclass(frozen=True, repr=False)
class ReadableTable(Table):
    """An open table: a Table that can be read; picklable. Libraries that know Arrow's streams take all its rows."""

    _advice: ClassVar = ARGUMENT_ADVICE

    def __repr__(self) -> str:
        branch = "" if self.branch == "main" else f"$branch_{self.branch}"
        return f"<{type(self).__name__} {self.location}{branch}: {self.schema!r}>"

    if not TYPE_CHECKING:  # a checker of types shall go on to see that the name is not there

        def __getattr__(self, name: str) -> NoReturn:
            advice = READER_ADVICE.get(name)
            if advice is None:
                raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'", name=name, obj=self)
            raise UnsupportedMethod(f"a table of open_table has no '{name}': {advice}")

        def __len__(self) -> NoReturn:
            raise UnsupportedMethod("a table of open_table has no len(): scan().count() is the number of rows")

        def __getitem__(self, name: object) -> NoReturn:
            raise UnsupportedMethod(
                f"a table of open_table has no items: scan(columns={name!r:.60}) reads a column of it"
            )

        def __bool__(self) -> bool:
            return True  # without a look at the length

        def __iter__(self) -> NoReturn:
            raise UnsupportedMethod(
                "a table of open_table is no iterator: scan() reads it, scan().to_pandas() as a pandas DataFrame, "
                "scan().to_arrow().to_pylist() each as a dict, scan().to_batches() batch by batch"
            )

    def __arrow_c_schema__(self) -> Any:
        """The schema of all columns, by Arrow's PyCapsule interface."""
        return self.scan().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The rows of ``scan()``, by Arrow's PyCapsule interface."""
        return self.scan().__arrow_c_stream__(requested_schema)

    @cached_property
    def hidden_fields(self) -> tuple[DataField, ...]:
        """The columns that a read has only where it names them: the metadata columns."""
        return metadata_fields(self.schema)

    def scan(
        self,
        columns: str | Sequence[str] | None = None,
        where: str | Expr | Predicate | None = None,
        row_kinds: bool = False,
    ) -> Scan:
        """A read of some columns of the rows that satisfy a condition: of a state, or of a change (``incremental-*``).

        Args:
            columns: names in the order wanted, any letter case, or one text such as "id, total"; None means all. The
                metadata columns ``__paimon_file_path``, ``__paimon_row_index``, ``__paimon_partition`` and
                ``__paimon_bucket`` may be among them, and ``_ROW_ID`` and ``_SEQUENCE_NUMBER`` of a table with row
                tracking. "v:user.id::BIGINT" is a part of a VARIANT column, "v:user.id::BIGINT AS user" has a name.
            where: SQL text, an expression of ``col(...)``, or a bound Predicate. A text may name parts of VARIANT
                columns too, also as ``variant_get(v, '$.user.id', 'bigint')``.
            row_kinds: True adds a last column ``_row_kind`` with +I, -U, +U or -D, and includes retractions in the
                result. To place the column elsewhere, name it among the columns.

        Raises:
            OptionError: a column does not exist, or is named twice.
            PredicateError: the condition does not fit the table.
            UnsupportedFeature: a column has a type that this release cannot read; the message lists the others.
        """
        from paimon_spark.arrow.predicates.expressions import as_predicate
        from paimon_spark.store.scan.new_scan import new_scan
        from paimon_spark.store.scan.path_columns import parts_in

        found = parts_in(self.schema, columns, where if isinstance(where, str) else None)
        hidden = (*self.hidden_fields, *(part.field for part in found.paths))
        fields = self.schema.fields if found.columns is None else find_fields(self.schema, found.columns, hidden)
        if row_kinds and ROW_KIND_FIELD not in fields:
            fields = (*fields, row_kind_field(self.schema))
        condition = where if found.where is None else found.where
        predicate = as_predicate(condition, (*self.schema.fields, *hidden), self.time_zone)
        return new_scan(self, fields, predicate, found.paths)

    def system_table(
        self,
        name: str,
        columns: str | Sequence[str] | None = None,
        where: str | Expr | Predicate | None = None,
    ) -> MetadataScan | RowScan:
        """A read of a system table such as "snapshots", "files" or "audit_log".

        Args:
            name: the name of the system table, without ``$``.
            columns: names in the order wanted, any letter case, or one text such as "id, total"; None means all.
            where: SQL text, an expression of ``col(...)``, or a bound Predicate, over the columns of the system table.

        Raises:
            TableNotFound: no system table has the name; the message lists the names.
            OptionError: a column does not exist, or is named twice.
            PredicateError: the condition does not fit the columns.
        """
        from paimon_spark.store.system_tables.table import system_table

        return system_table(self, name).scan(columns, where)

    def history(self) -> pa.Table:
        """The snapshots of the table, the newest first: the system table ``$snapshots``."""
        return self.system_table("snapshots").to_arrow().sort_by([("snapshot_id", "descending")])

    def with_options(self, options: Mapping[str, str]) -> ReadableTable:
        """This table with further dynamic options, given as for open_table; storage options are ignored.

        Raises:
            OptionError: an option is unknown, has a bad value or contradicts the table, or names another branch.
        """
        _, dynamic = split_storage_options(options)
        resolved = resolve_keys(dynamic, self.schema.names)
        branch = resolved.get(TableSettings.branch.key, self.branch)
        if branch != self.branch:
            raise OptionError(
                f"reading {self.location}: the table was opened in the branch '{self.branch}', and the option "
                f"'{TableSettings.branch.key}' names '{branch}'; open the table with that option"
            )
        return _with_dynamic(self, resolved)


OpenTable: TypeAlias = "ReadableTable | ObjectTable | FormatTable"
"""A table of any kind that this release reads."""


def open_any_table(location: str, options: Mapping[str, str], *, time_zone: TimeZone | None = None) -> OpenTable:
    """The table at a location, of any kind that this release reads.

    Args:
        location: the table directory, a local path or a URI; ``<path>$branch_<name>`` opens a branch.
        options: table options for this use only and storage options.
        time_zone: the zone for conditions; None: a condition whose rows depend on the zone is an error.

    Raises:
        TableNotFound: the location has no table; the message says what was found there.
        OptionError: an option or the time zone is unknown, has a bad value or contradicts the table.
        UnsupportedFeature: the table uses a feature this release cannot read.
        SnapshotNotFound: an option names a snapshot, tag, time or branch that does not exist.
    """
    storage, dynamic = split_storage_options(options)
    table = _find_any_table(location, storage, dynamic, time_zone)
    if table is None:
        place = _locate(location, storage)
        if place is None:
            raise TableNotFound(f"the server of the catalog has no table {location}")
        file_io, root = place.file_io, place.root
        if "$" in root and file_io.exists(f"{root.partition('$')[0]}/schema"):
            raise TableNotFound(_wrong_suffix(root))
        named = _NAME.fullmatch(location)
        path = f"; the path of a table of a catalog is <warehouse>/{named[1]}.db/{named[2]}" if named else ""
        what = _WAREHOUSE_TABLES if is_of_warehouse(root) else what_is_there(file_io, root)
        raise TableNotFound(f"no Paimon table at {root}: {what}{path}")
    return table


def open_data_table(
    location: str, options: Mapping[str, str] | None = None, *, time_zone: TimeZone | None = None
) -> ReadableTable:
    """The table with snapshots at a location; arguments as of open_any_table.

    Raises:
        UnsupportedFeature: it is a table of another kind, or uses a feature this release cannot read.
        PaimonError: as of open_any_table.
    """
    return with_snapshots(open_any_table(location, options or {}, time_zone=time_zone))


def check_snapshots(table: Table) -> None:
    """Checks that a table of a schema file is one with snapshots.

    Raises:
        UnsupportedFeature: it is a table of another kind.
    """
    if table.settings.table_type in _FILE_TABLES:
        raise _of_another_kind(table.location, table.settings.table_type)


def with_snapshots(table: OpenTable) -> ReadableTable:
    """The table itself.

    Raises:
        UnsupportedFeature: it is a table of another kind.
    """
    if isinstance(table, ReadableTable):
        return table
    raise _of_another_kind(table.location, table.kind)


_FILE_TABLES = {
    TableKind.OBJECT_TABLE: "an object table: its rows are the files of its directory",
    TableKind.FORMAT_TABLE: "a format table: its rows are those of files of one format",
}


def _of_another_kind(location: str, kind: str) -> UnsupportedFeature:
    rows = "INSERT adds rows" if kind == TableKind.FORMAT_TABLE else "add files to the directory to add rows"
    return UnsupportedFeature(
        f"{location} is {_FILE_TABLES[TableKind(kind)]}, and it has no snapshots. It can be read as it is now, "
        f"described and dropped, and nothing else; {rows}"
    )


def state_options(
    version: int | str | None,
    timestamp: dt.datetime | str | None,
    time_zone: TimeZone | None,
    others: Iterable[str],
) -> dict[str, str]:
    """The options of a state that is named by a version or by a time; none: neither is given.

    Args:
        others: the keys of the other options of the call.

    Raises:
        OptionError: both are given, or another option chooses what is read, or the time is none, or has no zone and
            none is known.
    """
    if version is not None and timestamp is not None:
        raise OptionError(f"version = {version!r} and timestamp = '{timestamp}' name two states: give one of them")
    if version is not None or timestamp is not None:
        refuse_second_state(f"version = {version!r}" if timestamp is None else f"timestamp = '{timestamp}'", others)
    if version is not None:  # a number is no name of a tag
        return {(ScanSettings.snapshot_id if isinstance(version, int) else ScanSettings.version).key: str(version)}
    if timestamp is None:
        return {}
    from paimon_spark.arrow.predicates.literal_text import parse_timestamp

    text = timestamp.isoformat(sep=" ") if isinstance(timestamp, dt.datetime) else timestamp
    try:
        instant = parse_timestamp(text, session_zone(time_zone))
    except ZoneUnknown:
        of_day = f"{text} 00:00:00" if text.count("-") == 2 else "2026-11-01 00:00:00"
        shown = text if ":" in text else of_day
        raise OptionError(
            f"timestamp = '{text}' has no zone: add one, such as '{shown}{_offset_here(shown)}', or give time_zone=; "
            "history() and system tables show the times of this machine, as that example is"
        ) from None
    except ValueError as error:
        raise OptionError(f"timestamp = '{text}' names no time: {error}") from None
    return {ScanSettings.timestamp_millis.key: str(instant // _NANOS_PER_MILLI)}


def _offset_here(text: str) -> str:
    """The offset of the zone of this process at a local time, such as ``+01:00``."""
    from paimon_spark.arrow.predicates.literal_text import parse_timestamp

    instant = parse_timestamp(text, LocalZone())
    minutes = (parse_timestamp(text, dt.UTC) - instant) // (60 * 1000 * _NANOS_PER_MILLI)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def find_table(
    location: str, options: Mapping[str, str] | None = None, *, time_zone: TimeZone | None = None
) -> ReadableTable | None:
    """The table at a location, or None if there is none.

    Args:
        location: the table directory, a local path or a URI; ``<path>$branch_<name>`` opens a branch.
        options: table options for this use only and storage options.
        time_zone: the zone for conditions; None: a condition whose rows depend on the zone is an error.

    Raises:
        OptionError: an option or the time zone is unknown, has a bad value or contradicts the table.
        UnsupportedFeature: the table uses a feature this release cannot read.
        SnapshotNotFound: an option names a snapshot, tag, time or branch that does not exist.
    """
    return _find_table(location, *split_storage_options(options or {}), time_zone)


def _find_table(
    location: str, storage: Mapping[str, str], dynamic: Mapping[str, str], time_zone: TimeZone | None
) -> ReadableTable | None:
    found = _find_any_table(location, storage, dynamic, time_zone)
    return None if found is None else with_snapshots(found)


def _find_any_table(
    location: str, storage: Mapping[str, str], dynamic: Mapping[str, str], time_zone: TimeZone | None
) -> OpenTable | None:
    table = _find_stored(location, storage, dynamic, time_zone)
    kind = None if table is None else table.settings.table_type
    if table is not None and kind == TableKind.OBJECT_TABLE:
        from paimon_spark.store.file_tables.object_table import object_table

        return object_table(table, dynamic)
    if table is not None and kind == TableKind.FORMAT_TABLE and is_served(location):
        from paimon_spark.store.file_tables.format_table import format_table

        return format_table(table, dynamic)
    return None if table is None else _with_dynamic(table, resolve_keys(dynamic, table.schema.names))


def find_any_table(location: str, options: Mapping[str, str]) -> OpenTable | None:
    """As find_table, of any kind that can be read."""
    return _find_any_table(location, *split_storage_options(options), None)


def find_system_table(
    location: str, options: Mapping[str, str] | None = None, *, time_zone: TimeZone | None = None
) -> SystemTable | None:
    """The system table at ``<path>$<name>`` or ``<path>$branch_<branch>$<name>``; None if the location names none.

    Metadata system tables are found even for tables that this release cannot read.

    Args:
        location: the location of a table with the suffix. A directory with the suffix in its own name is a table.
        options: table options for this use only and storage options.
        time_zone: the zone for conditions; None: a condition whose rows depend on the zone is an error.

    Raises:
        TableNotFound: there is no table, or no system table has the name.
        OptionError: an option or the time zone is unknown, has a bad value or contradicts the table.
        UnsupportedFeature: the rows of the table are shown, and it uses a feature this release cannot read.
        SnapshotNotFound: an option names a snapshot, tag, time or branch that does not exist.
    """
    base, _, name = location.rstrip("/").rpartition("$")
    if name.lower() not in NAMES or not base or base.endswith("/"):
        return None
    storage, dynamic = split_storage_options(options or {})
    with named_location("opening", base):
        if not is_served(location):  # an error of the path or the store shall name the table
            file_io_for(absolute_location(base), storage)
        place = None if is_served(location) else _locate(location, storage)
        if place is not None and place.file_io.exists(f"{place.root}/schema"):
            return None
    from paimon_spark.store.system_tables.table import system_table

    if name.lower() not in METADATA_NAMES:
        return system_table(open_data_table(base, options, time_zone=time_zone), name)
    table = _find_stored(base, storage, dynamic, time_zone)
    if table is None:
        return system_table(open_data_table(base, options), name)  # raises the error about the path
    check_snapshots(table)
    dynamic = resolve_keys(dynamic, table.schema.names)
    check_dynamic_options(table.schema, dynamic)
    return system_table(travelled(table, table.settings.merged(dynamic)), name)


def find_stored_table(
    location: str, options: Mapping[str, str] | None = None, *, time_zone: TimeZone | None = None
) -> ReadableTable | None:
    """The table with its stored options, even if this release can neither read nor write it; None if there is none.

    Args:
        location: the table directory, a local path or a URI; ``<path>$branch_<name>`` opens a branch.
        options: storage options and ``branch``; others are ignored.
        time_zone: the zone for conditions; None: a condition whose rows depend on the zone is an error.

    Raises:
        OptionError: the time zone is unknown.
        SnapshotNotFound: the branch does not exist.
    """
    return _find_stored(location, *split_storage_options(options or {}), time_zone)


def _find_stored(
    location: str, storage: Mapping[str, str], dynamic: Mapping[str, str], time_zone: TimeZone | None
) -> ReadableTable | None:
    session_zone(time_zone)
    try:
        with named_location("opening", location):
            return _stored_table(location, storage, dynamic, time_zone)
    except StorageError as error:
        if error.errno != errno.ENOTDIR:
            raise
        kind = location.rpartition(".")[2].lower()
        also = f", and format('{kind}') reads such a file" if kind in FILES else ""
        raise TableNotFound(
            f"no Paimon table at {location}: it is a file, or lies below one; a table is a directory{also}. Check the "
            "path"
        ) from None


def _stored_table(
    location: str, storage: Mapping[str, str], dynamic: Mapping[str, str], time_zone: TimeZone | None
) -> ReadableTable | None:
    place = _locate(location, storage)
    if place is None:
        return None
    file_io, root = place.file_io, place.root
    branch = place.branch or next((v for k, v in dynamic.items() if k.lower() == TableSettings.branch.key), "main")
    schemas = SchemaStore(file_io, root, branch)
    schema = place.schema
    if schema is None and is_far(root):
        schema, _ = together(True, schemas.latest, SnapshotStore(file_io, root, branch, place.server).look_ahead)
    elif schema is None:
        schema = schemas.latest()
    if schema is None:
        if branch != "main" and SchemaStore(file_io, root).latest() is not None:
            raise no_such_branch(file_io, root, branch)
        return None
    given = place.options if branch == "main" else {k: v for k, v in place.options.items() if k in _OF_ALL_BRANCHES}
    known = {**schema.options, **given}
    guarded = confined(file_io, root, dynamic, publisher_of(storage), storage)
    opened = schema if place.server is None else None
    settings = TableSettings(known)
    views = _views(location, storage) if settings.blob_view_field else None
    found = ReadableTable(root, guarded, schema, settings, branch, time_zone, place.server, opened, place.auth)
    return found if views is None else replace(found, views=views)


def _views(location: str, storage: Mapping[str, str]) -> BlobViews | None:
    """What follows views to other tables of the catalog; None: the table is opened by its path alone."""
    from paimon_spark.store.blob_views import CatalogViews
    from paimon_spark.store.storage.catalog_tables import catalog_tables

    tables = catalog_tables(location, storage)
    if tables is None:
        return None
    return CatalogViews(tables, open_data_table)


def _with_dynamic(table: ReadableTable, dynamic: Mapping[str, str]) -> ReadableTable:
    check_dynamic_options(table.schema, dynamic)
    settings = table.settings.merged(dynamic)
    _check_supported(table.location, table.schema, settings)
    if (table.settings.query_auth_enabled or settings.query_auth_enabled) and table.auth is None:
        raise UnsupportedFeature(
            f"opening {table.location}: the server of a REST catalog decides who reads which of its rows and values "
            f"('{TableSettings.query_auth_enabled.key}' = 'true'), and by its path nobody asks that server; open the "
            "table by its name in the catalog"
        )
    found = travelled(table, settings)
    _check_sequence_fields(found)
    if found.schema is not table.schema:
        _check_supported(table.location, found.schema, settings)
    return found


def _check_sequence_fields(table: Table) -> None:
    """Refuses current options that do not fit the old columns of a time travel (as Java does: SchemaValidation)."""
    lacking = [name for name in table.settings.sequence_field if name not in table.schema.by_name]
    if lacking:
        raise OptionError(
            f"opening {table.location}: 'sequence.field' names {', '.join(lacking)}, and the columns of schema "
            f"{table.schema.id} are {', '.join(table.schema.names)}; read a snapshot that has the column, or give the "
            f"'sequence.field' of that time"
        )


def _check_supported(location: str, schema: TableSchema, settings: TableSettings) -> None:
    """Checks that this release can read the table; a refusal names the table, because a job may read many."""
    try:
        check_readable(schema, settings)
    except UnsupportedFeature as error:
        raise UnsupportedFeature(f"opening {location}: {error}") from None
    if schema.primary_keys:
        check_engine(schema, settings)


@dataclass(frozen=True)
class _Place:
    """Where a table is, if there is one.

    Attributes:
        root: the table directory.
        branch: the one that a suffix of the location names; None: there is no suffix.
        server: publishes the snapshots of the table.
        options: of the table, which the server has given.
        schema: if the server alone has it.
        auth: tells what may be read.
    """

    file_io: FileIO
    root: str
    branch: str | None = None
    server: TableServer | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    schema: TableSchema | None = None
    auth: QueryAuth | None = None


def _locate(location: str, storage: Mapping[str, str]) -> _Place | None:
    """The place of a location. A directory with the `$` in its own name has priority over a suffix.

    Returns:
        None: the location is a name, and its server has no such table.
    """
    root = absolute_location(location)
    if is_served(root):
        return _served_place(root, storage)
    file_io = file_io_for(root, storage)
    parent, _, name = root.rpartition("/")
    base, dollar, suffix = name.partition("$")
    if not (base and dollar) or file_io.exists(f"{root}/schema"):
        return _Place(file_io, root)
    branch = _BRANCH.fullmatch(suffix)
    return _Place(file_io, f"{parent}/{base}", branch[1]) if branch else _Place(file_io, root)


def _served_place(root: str, storage: Mapping[str, str]) -> _Place | None:
    name, _, suffix = root.partition("$")
    branch = _BRANCH.fullmatch(suffix)
    served = find_served(name, storage)
    if served is None:
        return None
    if suffix and branch is None:
        raise TableNotFound(_wrong_suffix(root))
    of = branch[1] if branch else None
    return _Place(served.file_io, served.location, of, served.server, served.options, served.schema, served.auth)


def _wrong_suffix(root: str) -> str:
    base, _, name = root.rpartition("$")
    if name.lower() in NAMES:
        return (
            f"{root} is a system table, not one with rows of its own: read it with "
            f"open_table('{base}').system_table('{name.lower()}') or spark.read.format('paimon').load('{root}')"
        )
    return f"there is a Paimon table at {root.partition('$')[0]}, but no system table ${name}: {near_names(name)}"
