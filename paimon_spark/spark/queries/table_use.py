"""One table of ours that is read: which state, columns and rows of it, with what the session says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from paimon_spark.arrow.predicates.dialect import Dialect
from paimon_spark.arrow.predicates.literal_text import parse_timestamp
from paimon_spark.arrow.zones import session_zone
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import SqlError, TableNotFound, UnsupportedFeature
from paimon_spark.format.options.read_settings import ScanSettings
from paimon_spark.spark.adapters.options import PATH
from paimon_spark.spark.adapters.readable_columns import Readable
from paimon_spark.spark.adapters.session_options import SessionOptions
from paimon_spark.spark.native.read_table import ReadRequest
from paimon_spark.spark.native.recorded_needs import first_rows
from paimon_spark.spark.queries.aggregate_pushdown import partials_of
from paimon_spark.spark.queries.full_scans import file_count, full_scan_refusal
from paimon_spark.spark.source.readable import open_readable
from paimon_spark.sql.queries.needs import is_whole_filter, needed_columns, pushed_filter
from paimon_spark.sql.queries.query import Increment, Travel, Use
from paimon_spark.sql.text.names import TableName
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.pruning.top_n import TopN
from paimon_spark.store.scan.time_travel import refuse_second_state
from paimon_spark.writes.options import TIME_ZONE

if TYPE_CHECKING:
    from paimon_spark.spark.queries.session import SqlSession

AUDIT_LOG = "audit_log"
_INCREMENTS = {
    "paimon_incremental_query": ScanSettings.incremental_between,
    "paimon_incremental_between_timestamp": ScanSettings.incremental_between_timestamp,
    "paimon_incremental_to_auto_tag": ScanSettings.incremental_to_auto_tag,
}
_NANOS_PER_MILLI = 1_000_000
_NO_ARGS: Mapping[str, Any] = {}
_NO_OPTIONS: Mapping[str, str] = {}


def plan_read(
    session: SqlSession,
    name: TableName,
    travel: Travel | None = None,
    options: Mapping[str, str] = _NO_OPTIONS,
    columns: tuple[str, ...] | None = None,
    where: str | None = None,
    native: bool | None = None,
) -> ReadRequest:
    """A read of a table that is named outside of a query; arguments as of Use and ReadRequest.

    Raises:
        TableNotFound: the table is not there.
        SqlError: there is no such time.
        OptionError: an option is bad.
    """
    source = _Source(session, name, _travel(session, travel, _NO_ARGS), options)
    return source.request(columns, where, native=native)


def plan_use(session: SqlSession, use: Use, args: Mapping[str, Any]) -> ReadRequest:
    """A read of what a query needs of a table; errors as of plan_read.

    Args:
        args: the values of the named parameters of the query.
    """
    zone = session.time_zone()
    state = {**_travel(session, use.travel, args), **_increment(use.increment)}
    source = _Source(session, use.name, state, use.options)
    fields, dialect = source.table.schema.fields, session.dialect()
    where = pushed_filter(use, fields, zone, args, dialect)
    columns, hidden = needed_columns(use, source.table.schema.names), _hidden(use, source.table)
    if hidden:
        columns = (*(source.table.schema.names if columns is None else columns), *hidden)

    def is_whole(conditions: int) -> bool:
        return dialect is not Dialect.OTHER and is_whole_filter(use, conditions, fields, zone, args, dialect)

    first = first_rows(use, fields) if use.top_n is not None and is_whole(use.top_n.conditions) else None
    request = source.request(columns, where, first)
    if use.totals is None or hidden or not is_whole(use.totals.conditions):
        return request
    return replace(request, partials=partials_of(session, use.totals, source.table))


def _hidden(use: Use, table: Readable) -> tuple[str, ...]:
    """The metadata columns that a query names of a table.

    Raises:
        UnsupportedFeature: the query cannot have them.
    """
    found = tuple(field.name for field in table.hidden_fields if field.name in use.metadata)
    if found and use.metadata_refusal:
        raise UnsupportedFeature(
            f"SQL: {found[0]} of {use.name} cannot be read in this query, because {use.metadata_refusal}; read the "
            f"column in a sub-query, such as (SELECT *, {found[0]} FROM {use.name})"
        )
    return found


class _Source:
    """A table as the session and the call choose it, opened."""

    def __init__(
        self, session: SqlSession, name: TableName, state: Mapping[str, str], options: Mapping[str, str]
    ) -> None:
        session.check_table(name)
        if state:
            refuse_second_state(f"reading {name}: the version, time or change of the call", options)
        self._name = name
        self._said: SessionOptions = session.said_of(name)
        said = (self._said.without_state() if state else self._said).of_reads  # a state in the query comes first
        chosen = {**session.storage_options, **said, **state, **options}
        self.options = chosen
        self.path = session.location(name)
        if self._said.read_changelog and name.system is None:
            self.path = f"{self.path}${AUDIT_LOG}"
        self.table: Readable = _open(session, name, {**chosen, PATH: self.path})

    def request(
        self,
        columns: tuple[str, ...] | None,
        where: str | None,
        first: TopN | None = None,
        native: bool | None = None,
    ) -> ReadRequest:
        """A read of it; arguments as of ReadRequest."""
        refusal = self._full_scan_refusal(where)
        return ReadRequest(self.path, self.options, columns, where, native, self.table, first, refusal)

    def _full_scan_refusal(self, where: str | None) -> str:
        """As full_scan_refusal, for the files that a condition leaves."""
        table = self.table
        if self._said.allow_full_scan or not isinstance(table, ReadableTable):
            return ""
        return full_scan_refusal(self._name, table, self._said, lambda: file_count(table, where))


def _open(session: SqlSession, name: TableName, options: Mapping[str, str]) -> Readable:
    zone = session.time_zone()
    try:
        return open_readable({**options, **({} if zone is None else {TIME_ZONE: zone})})[0]
    except TableNotFound:
        if name.database is not None and name.branch is None:
            session.catalog.load_table(Identifier(name.database, name.table))  # its error tells what is there
        raise


def _travel(session: SqlSession, travel: Travel | None, args: Mapping[str, Any]) -> dict[str, str]:
    """The options of a state (features 1.1). args: the values of the named parameters of the query."""
    if travel is None:
        return {}
    if travel.kind == "version":
        return {ScanSettings.version.key: str(travel.value)}
    if travel.is_expression:
        return {ScanSettings.timestamp_millis.key: str(session.time_of(str(travel.value), args))}
    if isinstance(travel.value, int):
        return {ScanSettings.timestamp_millis.key: str(travel.value * 1000)}
    try:
        instant = parse_timestamp(travel.value, session_zone(session.time_zone()))
    except ValueError as error:
        raise SqlError(f"SQL: TIMESTAMP AS OF '{travel.value}' names no time: {error}") from None
    return {ScanSettings.timestamp_millis.key: str(instant // _NANOS_PER_MILLI)}


def _increment(increment: Increment | None) -> dict[str, str]:
    """The options of a change (features 1.2)."""
    if increment is None:
        return {}
    return {_INCREMENTS[increment.function].key: ",".join(increment.arguments)}
