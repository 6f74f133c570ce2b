"""Where a stream begins (features 1.1; Java: AbstractDataTableScan.createStartingScanner and its scanners)."""

from __future__ import annotations

import logging
import re

from paimon_spark.errors import OptionError, SnapshotNotFound
from paimon_spark.format.options.read_settings import ScanSettings
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.store.metadata.snapshots import around_time
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.scan.time_travel import last_compacted
from paimon_spark.store.storage.local_time import parse_local_timestamp
from paimon_spark.store.stream_source.consumer_progress import held_snapshot
from paimon_spark.store.stream_source.position import Position, identity
from paimon_spark.store.stream_source.settings import StreamSettings
from paimon_spark.store.stream_source.upcoming_snapshots import UpcomingSnapshots

_log = logging.getLogger(__name__)

_OF_FILES = ("from-creation-timestamp", "from-file-creation-time")


def start_position(table: Table, settings: StreamSettings, upcoming: UpcomingSnapshots, anew: bool = False) -> Position:
    """The first position of a stream.

    Args:
        table: the table.
        settings: what its options say.
        upcoming: its snapshots.
        anew: the stream begins again: its consumer does not say where.

    Raises:
        OptionError: an option has a bad value.
        SnapshotNotFound: the snapshot, tag or version does not exist, or what follows a tag has expired.
    """
    held = None
    if settings.consumer is not None and not settings.ignores_progress and not anew:
        held = held_snapshot(table, settings.consumer)
    found = _from_mode(table, settings, upcoming) if held is None else _from_id(held, upcoming)
    before = upcoming.store.find(found.snapshot - 1)
    after = None if before is None else identity(before)
    return Position(found.snapshot, full=found.full, after=after).begun()


def created_since(settings: StreamSettings) -> int | None:
    """Of the whole state that a stream begins with, only files made since this instant (epoch millis); None: all."""
    if settings.mode not in _OF_FILES:
        return None
    if settings.mode == "from-file-creation-time":
        return settings.start.scan.file_creation_time_millis
    return settings.start.scan.creation_time_millis


def _from_mode(table: Table, settings: StreamSettings, upcoming: UpcomingSnapshots) -> Position:
    mode, options, store = settings.mode, settings.start, upcoming.store
    latest = store.latest_id()
    if mode == "latest":
        return Position((latest or 0) + 1)
    if mode == "from-snapshot":
        return _from_version(table, options, upcoming)
    if latest is None:
        return Position(1)
    if mode == "compacted-full":
        found = last_compacted(options, store)
        return Position(latest if found is None else found.id, full=True)
    if mode == "from-snapshot-full":
        wanted = _number(options, "from-snapshot-full")
        return Position(_not_beyond(max(wanted, store.earliest_id() or 1), latest, table.location), full=True)
    if mode == "from-timestamp":
        return _from_time(_start_millis(options), latest, upcoming)
    if mode == "from-creation-timestamp":
        return _from_creation(options, latest, upcoming)
    return Position(latest, full=True)


def _from_version(table: Table, settings: TableSettings, upcoming: UpcomingSnapshots) -> Position:
    """From a snapshot on, what it changed; or from a tag on, first its state, then what its successors changed."""
    if settings.is_set(ScanSettings.snapshot_id):
        return _from_id(_number(settings, "from-snapshot"), upcoming)
    name = str(settings.scan.tag_name if settings.is_set(ScanSettings.tag_name) else settings.scan.version)
    tag = upcoming.store.find_tag(name)
    if tag is None and not settings.is_set(ScanSettings.tag_name) and re.fullmatch(r"[0-9]+", name):
        return _from_id(int(name), upcoming)
    if tag is None:
        raise SnapshotNotFound(
            f"streaming from {table.location}: it has no tag '{name}', or the time of the tag is up; "
            f"{upcoming.store.available()}"
        )
    found = Position(tag.snapshot.id, full=True)
    following = Position(found.snapshot + 1)
    if upcoming.find(following) is None:
        upcoming.check_missing(following)
    return found


def _from_id(wanted: int, upcoming: UpcomingSnapshots) -> Position:
    """From a snapshot on; from the oldest on if it has expired, as in the official system."""
    oldest, latest = upcoming.earliest_id(), upcoming.store.latest_id() or 0
    _not_beyond(wanted, latest + 1, upcoming.store.table)
    found = max(wanted, oldest or 1)
    if found != wanted:
        _log.warning(
            "streaming from %s: snapshot %d has expired, the stream begins with %d", upcoming.store.table, wanted, found
        )
    return Position(found)


def _not_beyond(wanted: int, last: int, location: str) -> int:
    if wanted > last:
        raise SnapshotNotFound(
            f"streaming from {location}: snapshot {wanted} never was, a stream can begin with {last} at most; "
            "'scan.mode' = 'latest' begins with the next one"
        )
    return wanted


def _number(settings: TableSettings, mode: str) -> int:
    option = ScanSettings.snapshot_id
    number = option.read(settings)
    if number is None:
        text = settings.scan.version
        if text is None or not re.fullmatch(r"[0-9]+", text):
            raise OptionError(f"'scan.mode' = '{mode}' needs the option '{option.key}'")
        number = int(text)
    return max(number, 1)


def _start_millis(settings: TableSettings) -> int:
    millis = settings.scan.timestamp_millis
    return parse_local_timestamp(str(settings.scan.timestamp)) if millis is None else millis


def _from_time(millis: int, latest: int, upcoming: UpcomingSnapshots) -> Position:
    """The snapshot after the last one before a time (Java: TimeTravelUtil.earlierThanTimeMills)."""
    oldest = upcoming.earliest_id() or 1
    before, _ = around_time(millis, oldest, latest, upcoming.find_change)
    return Position(oldest if before is None else before.id + 1)


def _from_creation(settings: TableSettings, latest: int, upcoming: UpcomingSnapshots) -> Position:
    """As from a time, if a snapshot before it proves which one is the next; else by the times of files."""
    millis = settings.scan.creation_time_millis
    assert millis is not None, "the mode needs it"
    before, since = around_time(millis, upcoming.earliest_id() or 1, latest, upcoming.find_change)
    if before is None or since is None or since.id != before.id + 1:
        return Position(latest, full=True)
    return Position(since.id)
