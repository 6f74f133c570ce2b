"""$snapshots, $tags, $branches, $consumers: the history of a table, and the consumers that keep it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from paimon_spark.errors import CorruptFile
from paimon_spark.format.snapshot import Snapshot, Tag
from paimon_spark.store.holds.consumer_files import consumer_lag, readable_positions
from paimon_spark.store.storage.files import list_branches
from paimon_spark.store.storage.parallel import map_parallel
from paimon_spark.store.system_tables.request import (
    NANOS_OF_MILLI,
    Columns,
    MetadataTable,
    Request,
    columns_of_rows,
    fields_of,
)

_log = logging.getLogger(__name__)
_NANOS = 10**9
T = TypeVar("T")

SNAPSHOT_FIELDS = fields_of("""
    snapshot_id BIGINT NOT NULL
    schema_id BIGINT NOT NULL
    commit_user STRING NOT NULL
    commit_identifier BIGINT NOT NULL
    commit_kind STRING NOT NULL
    commit_time TIMESTAMP(3) NOT NULL
    base_manifest_list STRING NOT NULL
    delta_manifest_list STRING NOT NULL
    changelog_manifest_list STRING
    total_record_count BIGINT
    delta_record_count BIGINT
    changelog_record_count BIGINT
    watermark BIGINT
    next_row_id BIGINT
    operation STRING
    writer_version STRING
""")
TAG_FIELDS = fields_of("""
    tag_name STRING NOT NULL
    snapshot_id BIGINT NOT NULL
    schema_id BIGINT NOT NULL
    commit_time TIMESTAMP(3) NOT NULL
    record_count BIGINT
    create_time TIMESTAMP(3)
    time_retained STRING
""")
BRANCH_FIELDS = fields_of("""
    branch_name STRING NOT NULL
    create_time TIMESTAMP(3) NOT NULL
""")
CONSUMER_FIELDS = fields_of("""
    consumer_id STRING NOT NULL
    next_snapshot_id BIGINT NOT NULL
    snapshots_behind BIGINT
    rows_behind BIGINT
    millis_behind BIGINT
""")
_LAG = ("snapshots_behind", "rows_behind", "millis_behind")


def duration_text(nanos: int) -> str:
    """Java's Duration.toString: ``PT24H``, ``PT1H30M``, ``PT0.5S``, ``PT0S``."""
    if nanos == 0:
        return "PT0S"
    sign = -1 if nanos < 0 else 1
    seconds, rest = divmod(abs(nanos), _NANOS)
    hours, minutes = divmod(seconds, 3600)
    minutes, second = divmod(minutes, 60)
    text = "PT"
    for value, unit in ((hours, "H"), (minutes, "M")):
        text += f"{sign * value}{unit}" if value else ""
    if second or rest:
        fraction = f"{rest:09d}".rstrip("0")
        text += ("-" if sign < 0 else "") + str(second) + (f".{fraction}" if fraction else "") + "S"
    return text


def _snapshots(request: Request) -> Columns:
    store = request.table.snapshots
    ids = [i for i in store.ids() if request.may_hold(snapshot_id=i)]
    return columns_of_rows(SNAPSHOT_FIELDS, map(_snapshot_row, _present(store.find, ids)))


def _snapshot_row(s: Snapshot) -> tuple[Any, ...]:
    return (
        s.id,
        s.schema_id,
        s.commit_user,
        s.commit_identifier,
        str(s.commit_kind),
        s.time_millis * NANOS_OF_MILLI,
        s.base_manifest_list,
        s.delta_manifest_list,
        s.changelog_manifest_list,
        s.total_record_count,
        s.delta_record_count,
        s.changelog_record_count,
        s.watermark,
        s.next_row_id,
        s.operation,
        s.writer_version,
    )


def _tags(request: Request) -> Columns:
    store = request.table.snapshots
    names = [name for name in store.tag_names() if request.may_hold(tag_name=name)]

    def find(name: str) -> tuple[str, Tag] | None:
        tag = store.tag_or_error(name)
        if isinstance(tag, CorruptFile):
            _log.warning("the tag '%s' is left out: %s", name, tag)
            return None
        return None if tag is None else (name, tag)

    return columns_of_rows(TAG_FIELDS, (_tag_row(name, tag) for name, tag in _present(find, names)))


def _tag_row(name: str, tag: Tag) -> tuple[Any, ...]:
    kept = tag.snapshot
    retained = None if tag.time_retained is None else duration_text(tag.time_retained)
    time = kept.time_millis * NANOS_OF_MILLI
    return (name, kept.id, kept.schema_id, time, kept.total_record_count, tag.create_time, retained)


def _branches(request: Request) -> Columns:
    """The branches. The creation time is that of the last change of the directory, if the store reports it."""
    table = request.table
    found = list_branches(table.file_io, table.location)
    rows = ((name, s.modified_millis * NANOS_OF_MILLI) for name, s in found.items())
    return columns_of_rows(BRANCH_FIELDS, [row for row in rows if request.may_hold(branch_name=row[0])])


def _consumers(request: Request) -> Columns:
    """The consumers. How far each is behind is not in the official system; snapshots are read only if it is wanted."""
    table = request.table
    positions, damaged = readable_positions(table.file_io, table.location, table.branch)
    for error in damaged:
        _log.warning("a consumer is left out: %s", error)
    if not request.wants(*_LAG):
        return columns_of_rows(CONSUMER_FIELDS, [(*item, None, None, None) for item in sorted(positions.items())])
    lags = {name: consumer_lag(table.snapshots, position) for name, position in positions.items()}
    rows = ((name, lag.next_snapshot, lag.snapshots, lag.rows, lag.millis) for name, lag in sorted(lags.items()))
    return columns_of_rows(CONSUMER_FIELDS, rows)


def _present(find: Callable[[Any], T | None], names: Iterable[Any]) -> Iterator[T]:
    """The values found, in order; those that have expired since the listing are left out."""
    return (value for value in map_parallel(find, names) if value is not None)


TABLES = {
    "snapshots": MetadataTable(SNAPSHOT_FIELDS, _snapshots, frozenset({"commit_time"})),
    "tags": MetadataTable(TAG_FIELDS, _tags, frozenset({"commit_time"})),
    "branches": MetadataTable(BRANCH_FIELDS, _branches, frozenset({"create_time"})),
    "consumers": MetadataTable(CONSUMER_FIELDS, _consumers),
}
