"""Time travel: the snapshot of a batch read (features 1.1; Java: TimeTravelUtil, AbstractDataTableScan)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from paimon_spark.errors import OptionError, SnapshotNotFound
from paimon_spark.format.options.engines import ChangelogProducer
from paimon_spark.format.options.option import Option
from paimon_spark.format.options.read_settings import (
    CREATION_OPTIONS,
    INCREMENTAL_OPTIONS,
    STATE_OPTIONS,
    TIME_TRAVEL_OPTIONS,
    ScanSettings,
)
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.upkeep_settings import TagSettings
from paimon_spark.format.options.write_settings import CompactionSettings
from paimon_spark.format.snapshot import CommitKind, Snapshot
from paimon_spark.store.holds.expired import expired_error
from paimon_spark.store.holds.retention import retention_rules
from paimon_spark.store.metadata.snapshots import SnapshotStore, around_time
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.local_time import parse_local_timestamp, time_text

T = TypeVar("T", bound=Table)
# The options a mode needs one of; every other option of the three groups above contradicts it.
_NEEDED: dict[str, Sequence[Option[Any]]] = {
    "from-timestamp": (ScanSettings.timestamp_millis, ScanSettings.timestamp),
    "from-snapshot": (ScanSettings.snapshot_id, ScanSettings.tag_name, ScanSettings.watermark, ScanSettings.version),
    "from-snapshot-full": (ScanSettings.snapshot_id, ScanSettings.version),
    "from-file-creation-time": (ScanSettings.file_creation_time_millis,),
    "from-creation-timestamp": (ScanSettings.creation_time_millis,),
    "incremental": INCREMENTAL_OPTIONS,
}
_CHOOSING = frozenset(key for option in TIME_TRAVEL_OPTIONS[1:] for key in (option.key, *option.older))


def refuse_second_state(first: str, options: Iterable[str]) -> None:
    """Refuses the options of a call that choose what is read, beside something else that does.

    Args:
        first: the other, for the message.
        options: the keys, in any letter case.

    Raises:
        OptionError: one of them chooses; the message names it.
    """
    own = [key for key in options if key.lower() in _CHOOSING]
    if own:
        raise OptionError(f"{first} and the option '{own[0]}' both choose what is read; leave one")


@dataclass(frozen=True)
class Travel:
    """The state that a batch read returns.

    Attributes:
        snapshot: the snapshot; None if the table has no snapshot yet, and for increments (see increments.py).
        is_pinned: an option chose the snapshot, so its schema is used and not the latest one.
        created_since: only files created at or after this instant (epoch millis) are read; None: all files.
    """

    snapshot: Snapshot | None
    is_pinned: bool = False
    created_since: int | None = None


def resolve_snapshot(settings: TableSettings, snapshots: SnapshotStore) -> Travel:
    """The snapshot that the scan options choose.

    Raises:
        OptionError: options contradict each other, or one has a bad value.
        SnapshotNotFound: the snapshot, tag, time or watermark does not exist; the message lists the available ones.
    """
    mode = resolved_mode(settings)
    if mode in ("latest-full", "full", "latest"):
        return Travel(snapshots.latest())
    if mode == "compacted-full":
        return Travel(last_compacted(settings, snapshots))
    if mode == "from-file-creation-time":
        return Travel(snapshots.latest(), created_since=settings.scan.file_creation_time_millis)
    if mode == "from-creation-timestamp":
        return _since_creation(settings, snapshots)
    if mode == "from-snapshot-full" and settings.is_set(ScanSettings.version):
        return Travel(_at_full_version(settings, snapshots), is_pinned=True)
    if mode in ("from-timestamp", "from-snapshot", "from-snapshot-full"):
        return Travel(_pinned(settings, snapshots), is_pinned=True)
    return Travel(None)


def resolved_mode(settings: TableSettings) -> str:
    """The scan mode, with `default` resolved as in features 1.1.

    Raises:
        OptionError: options contradict each other, or the mode.
    """
    mode = settings.scan.mode
    given = [option for option in (*STATE_OPTIONS, *INCREMENTAL_OPTIONS, *CREATION_OPTIONS) if settings.is_set(option)]
    names = " and ".join(f"'{option.key}'" for option in given)
    if len(given) > 1:
        raise OptionError(f"{names} are both set, but only one option may choose what is read; leave one")
    if mode == "default":
        mode = next((mode for mode, needed in _NEEDED.items() if any(x in needed for x in given)), "latest-full")
    needed = _NEEDED.get(mode, ())
    if needed and not given:
        choices = " or ".join(f"'{option.key}'" for option in needed)
        raise OptionError(f"'scan.mode' = '{mode}' needs the option {choices}")
    if given and given[0] not in needed:
        raise OptionError(f"'scan.mode' = '{mode}' contradicts the option {names}; leave one of the two")
    return mode


def _set_value(settings: TableSettings, option: Option[int | None]) -> int:
    value = option.read(settings)
    if value is None:
        raise OptionError(f"the option '{option.key}' is needed")
    return value


def _pinned(settings: TableSettings, snapshots: SnapshotStore) -> Snapshot:
    if settings.is_set(ScanSettings.version):
        return _at_version(settings, snapshots)
    if settings.is_set(ScanSettings.tag_name):
        return _at_tag(str(settings.scan.tag_name), snapshots)
    if settings.is_set(ScanSettings.snapshot_id):
        return at_id(_set_value(settings, ScanSettings.snapshot_id), settings, snapshots)
    if settings.is_set(ScanSettings.watermark):
        return _at_watermark(_set_value(settings, ScanSettings.watermark), snapshots)
    if settings.is_set(ScanSettings.timestamp):
        return _at_time(parse_local_timestamp(str(settings.scan.timestamp)), settings, snapshots)
    return _at_time(_set_value(settings, ScanSettings.timestamp_millis), settings, snapshots)


def _at_version(settings: TableSettings, snapshots: SnapshotStore) -> Snapshot:
    """A tag of that name, else `watermark-<millis>`, else a snapshot id."""
    version = str(settings.scan.version)
    tag = snapshots.find_tag(version)
    if tag is not None:
        return tag.snapshot
    watermark = re.fullmatch(r"watermark-(-?\d+)", version, re.ASCII)
    if watermark is not None:
        return _at_watermark(int(watermark[1]), snapshots)
    if _is_id(version):
        return at_id(int(version), settings, snapshots)
    raise SnapshotNotFound(
        f"'scan.version' = '{version}': the table at {snapshots.table} has no tag of that name, and it is neither a "
        f"snapshot id nor watermark-<millis>; {snapshots.available()}"
    )


def _at_full_version(settings: TableSettings, snapshots: SnapshotStore) -> Snapshot:
    """The snapshot of a version in a mode that needs an id; a tag of the same name would be ambiguous."""
    version = str(settings.scan.version)
    if not _is_id(version) or snapshots.find_tag(version) is not None:
        raise OptionError(
            f"'scan.mode' = 'from-snapshot-full' needs a snapshot id, and 'scan.version' = '{version}' is none; leave "
            "'scan.mode' out to read a tag or a watermark"
        )
    return at_id(int(version), settings, snapshots)


def _is_id(version: str) -> bool:
    return version.isascii() and version.isdigit()


def _at_tag(name: str, snapshots: SnapshotStore) -> Snapshot:
    tag = snapshots.find_tag(name)
    if tag is None:
        raise SnapshotNotFound(
            f"'scan.tag-name' = '{name}': the table at {snapshots.table} has no tag of that name, or its time is up; "
            f"{snapshots.available()}. A tag lives as long as was said when it was made, else as long as "
            f"'{TagSettings.default_time_retained.key}' says"
        )
    return tag.snapshot


def at_id(snapshot_id: int, settings: TableSettings, snapshots: SnapshotStore) -> Snapshot:
    """The snapshot with this id; if it has expired, from a tag that keeps it (Java 2.0.0 refuses that).

    Raises:
        SnapshotNotFound: it has expired, or never existed.
    """
    snapshot = snapshots.find_kept(snapshot_id)
    if snapshot is not None:
        return snapshot
    latest = snapshots.latest_id()
    if latest is None or not 0 < snapshot_id <= latest:
        return snapshots.load(snapshot_id)
    what = f"reading snapshot {snapshot_id} of the table at {snapshots.table}: it"
    before = [number for number in snapshots.ids() if number < snapshot_id]
    if before:
        raise SnapshotNotFound(
            f"{what} is missing, while snapshot {before[-1]} before it and later ones are there: its file was lost. "
            f"Restore the file snapshot-{snapshot_id}, or read another snapshot; `paimon-spark check` names all damage"
        )
    raise expired_error(snapshots, settings, f"{what} has expired")


def _at_watermark(watermark: int, snapshots: SnapshotStore) -> Snapshot:
    snapshot = snapshots.find_at_watermark(watermark)
    if snapshot is None:
        raise SnapshotNotFound(
            f"'scan.watermark' = {watermark}: no snapshot of the table at {snapshots.table} has a watermark that high; "
            f"{snapshots.available()}"
        )
    return snapshot


def _at_time(millis: int, settings: TableSettings, snapshots: SnapshotStore) -> Snapshot:
    snapshot = snapshots.find_at_time(millis)
    if snapshot is None:
        what = f"reading the table at {snapshots.table} as of {time_text(millis)}: no snapshot is that old"
        if snapshots.earliest_id() in (None, 1):
            raise SnapshotNotFound(f"{what}; {snapshots.available()}. Choose a later time")
        raise expired_error(snapshots, settings, what)
    return snapshot


def travelled(table: T, settings: TableSettings) -> T:
    """The table with other options, in the schema of the snapshot that they choose.

    Raises:
        OptionError: options contradict each other, or one has a bad value.
        SnapshotNotFound: the snapshot, tag, time or watermark does not exist; the message lists the available ones.
        TableNotFound, TableChanged: it does not, as the table was dropped, or made anew, since it was opened.
    """
    table = replace(table, settings=settings)
    if not any(settings.is_set(option) for option in TIME_TRAVEL_OPTIONS):
        return table
    try:
        travel = resolve_snapshot(settings, table.snapshots)
    except SnapshotNotFound:
        table.check_still_there()
        raise
    if not travel.is_pinned or travel.snapshot is None or travel.snapshot.schema_id == table.schema.id:
        return table
    return replace(table, schema=table.schemas.load(travel.snapshot.schema_id))


def _since_creation(settings: TableSettings, snapshots: SnapshotStore) -> Travel:
    """The first snapshot at or after a time if an older commit proves that it is the first; else a filter on files.

    Long-lived changelogs prove it too, but cannot be read as a state.
    """
    millis = _set_value(settings, ScanSettings.creation_time_millis)
    latest = snapshots.latest()
    if latest is None:
        return Travel(None)
    decoupled = retention_rules(settings).is_decoupled
    find = snapshots.find_change if decoupled else snapshots.find
    oldest = snapshots.earliest_change_id() if decoupled else snapshots.earliest_id()
    before, since = (None, None) if oldest is None else around_time(millis, oldest, latest.id, find)
    if before is None or since is None or since.id != before.id + 1:
        return Travel(latest, created_since=millis)
    return Travel(at_id(since.id, settings, snapshots))


def last_compacted(settings: TableSettings, snapshots: SnapshotStore) -> Snapshot | None:
    """The newest COMPACT snapshot, or the latest snapshot if none; with periodic full compactions, of a full one."""
    rhythm: int | None = None
    producer = settings.changelog_producer
    if producer == ChangelogProducer.FULL_COMPACTION or settings.is_set(CompactionSettings.full_delta_commits):
        rhythm = settings.compaction.full_delta_commits or 1
    latest, earliest = snapshots.latest_id(), snapshots.earliest_id()
    if latest is None or earliest is None:
        return None
    for snapshot in snapshots.walk(range(latest, earliest - 1, -1)):
        if snapshot.commit_kind != CommitKind.COMPACT:
            continue
        identifier = snapshot.commit_identifier
        if rhythm is None or identifier % rhythm == 0 or identifier == 2**63 - 1:
            return snapshot
    return snapshots.load(latest)


def refuse_travel(table: Table, done: str) -> None:
    """Raises OptionError if an option of the call chooses a snapshot; done is the participle of what the call does."""
    stored = TableSettings(table.schema.options)
    travel = [option.key for option in TIME_TRAVEL_OPTIONS if table.settings.text(option) != stored.text(option)]
    if travel:
        raise OptionError(f"'{travel[0]}' chooses what a read sees; the latest snapshot is {done}: leave it out")
