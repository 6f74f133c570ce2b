"""Automatic creation of tags (features 3.14; Java: TagAutoCreation, TagAutoManager, TagBatchCreation).

With `process-time` and `watermark` a tag represents a period, is named by its beginning, and keeps the first snapshot
after its end and the delay. With `batch` every batch write creates a tag. Progress is not stored: it is derived from
the newest of these tags.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from paimon_spark.errors import OptionError
from paimon_spark.file_io.locate import is_far
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.upkeep_settings import TagSettings
from paimon_spark.format.options.value_texts import format_duration
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.history.tag_deletion import delete_tags, expire_tags
from paimon_spark.store.history.tags import CreateTagResult, keep_as_tag
from paimon_spark.store.metadata.snapshots import SnapshotStore, has_watermark
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result
from paimon_spark.store.scan.auto_tag_names import auto_tag_time

_SECONDS_BETWEEN_LOOKS = 60
_last_looks: dict[tuple[str, str], float] = {}
"""When this process has looked at the tags of a table and branch for the last time, by time.monotonic()."""
_EPOCH = datetime(1970, 1, 1)
_LONGEST_PERIOD = 365_000 * 86_400_000  # milliseconds
_PERIODS = {"daily": timedelta(days=1), "hourly": timedelta(hours=1), "two-hours": timedelta(hours=2)}
_DAYS = {"with-dashes": "%Y-%m-%d", "without-dashes": "%Y%m%d", "without-dashes-and-spaces": "%Y%m%d"}
_HOURS = {"with-dashes": "%Y-%m-%d %H", "without-dashes": "%Y%m%d %H", "without-dashes-and-spaces": "%Y%m%d%H"}


@dataclass(frozen=True, repr=False)
class TriggerTagAutomaticCreationResult(Result):
    """The result of the automatic creation of tags.

    Attributes:
        created: the new tags.
        deleted: the names of deleted tags, which were too many or too old.
    """

    created: tuple[CreateTagResult, ...] = ()
    deleted: tuple[str, ...] = ()


def trigger_tag_automatic_creation(table: Table) -> TriggerTagAutomaticCreationResult:
    """Creates the tags that are due by the options `tag.*`, and deletes those that are too many or too old.

    After an error, the tags created and deleted so far stay as they are.

    Raises:
        OptionError: the options contradict each other.
        NameTaken: another job has created a tag of the name concurrently.
        SnapshotNotFound: a snapshot to tag is expiring.
        CorruptFile: metadata are damaged.
        UnsupportedFeature: the table has `tag.callbacks`.
        StorageError: the storage failed.
    """
    made = create_due_tags(table)
    expired = expire_tags(table).names if table.settings.tags.time_expire_enabled else ()
    return TriggerTagAutomaticCreationResult(made.created, (*made.deleted, *expired))


def expire_tags_by_options(table: Table) -> None:
    """Expires tags after a commit, if `tag.time-expire-enabled` is set.

    In a store that is far a process looks at the tags of a table once a minute: a look is a request for their list and
    one for each of them, which every commit would wait for.

    Raises:
        CorruptFile: metadata are damaged; nothing was deleted.
        UnsupportedFeature: the table has `tag.callbacks`.
        StorageError: the storage failed; the next deletion of a tag finishes the work.
    """
    if not table.settings.tags.time_expire_enabled:
        return
    now, place = time.monotonic(), (table.location, table.branch)
    if is_far(table.location):
        if now - _last_looks.get(place, -math.inf) < _SECONDS_BETWEEN_LOOKS:
            return
        _last_looks[place] = now
    expire_tags(table)


def create_due_tags(table: Table) -> TriggerTagAutomaticCreationResult:
    """Creates the tags that are due by the options `tag.*`, and deletes those above `tag.num-retained-max`.

    Raises:
        OptionError: the options contradict each other.
        NameTaken: another job has created a tag of the name concurrently.
        SnapshotNotFound: a snapshot to tag is expiring.
        CorruptFile: metadata are damaged.
        UnsupportedFeature: the table has `tag.callbacks`.
        StorageError: the storage failed.
    """
    mode = table.settings.tags.automatic_creation
    if mode not in ("process-time", "watermark"):
        return TriggerTagAutomaticCreationResult()
    period, delay = tag_period(table.settings), _delay(table.settings)
    store = table.snapshots
    next_tag, number = _progress(table, period)
    latest, earliest = store.latest(), store.earliest_id()
    if latest is None or earliest is None:
        return TriggerTagAutomaticCreationResult()
    moment = _moment(latest, table.settings)
    if moment is not None and not _is_due(moment, next_tag, period, delay):
        # So it is after most commits: those before it are older, and are not read.
        return TriggerTagAutomaticCreationResult()
    created: list[CreateTagResult] = []
    deleted: list[str] = []
    for snapshot in store.walk(range(max(number, earliest), latest.id + 1)):
        moment = _moment(snapshot, table.settings)
        if moment is None or not _is_due(moment, next_tag, period, delay):
            continue
        this_tag = period_before(moment, period)
        if next_tag is not None and table.settings.tags.automatic_completion:
            this_tag = next_tag
        name = tag_name(this_tag, table.settings)
        if store.find_tag(name) is None:
            created.append(keep_as_tag(table, name, snapshot, table.settings.tags.default_time_retained))
        next_tag = this_tag + period
        deleted += _delete_surplus(table, lambda name: auto_tag_time(name, table.settings) is not None)
    return TriggerTagAutomaticCreationResult(tuple(created), tuple(deleted))


def _is_due(moment: datetime, next_tag: datetime | None, period: timedelta, delay: timedelta) -> bool:
    """True if the period that begins at next_tag has ended, or if next_tag is None: there is no tag yet."""
    return next_tag is None or moment - delay >= next_tag + period


def create_batch_tag(table: Table) -> None:
    """Tags the latest snapshot after a batch write with `tag.automatic-creation` batch.

    A tag of the same name is replaced. Then the oldest of all tags above `tag.num-retained-max` are deleted.

    Raises:
        NameTaken: another job has created a tag of the name concurrently.
        SnapshotNotFound: the snapshot is expiring.
        CorruptFile: metadata are damaged.
        UnsupportedFeature: the table has `tag.callbacks`.
        StorageError: the storage failed.
    """
    settings, store = table.settings, table.snapshots
    if settings.tags.automatic_creation != "batch":
        return
    latest = store.latest()
    if latest is None:
        return
    day = _wall(latest.time_millis, _process_zone(settings)).strftime("%Y-%m-%d")
    name = settings.tags.batch_customized_name or f"batch-write-{day}"
    if store.find_tag(name) is not None:
        delete_tags(table, [name])
    keep_as_tag(table, name, latest, settings.tags.default_time_retained)
    _delete_surplus(table, lambda _: True)


def tag_period(settings: TableSettings) -> timedelta:
    """The length of the period that a tag represents.

    Raises:
        OptionError: no period of that length begins in a year that the name of a tag can have.
    """
    given = settings.tags.creation_period_duration
    if given is None:
        return _PERIODS[settings.tags.creation_period]
    if not 0 < given <= _LONGEST_PERIOD:
        raise OptionError(
            f"'{TagSettings.creation_period_duration.key}' is {format_duration(given)}: expected a length of time "
            f"above 0, up to {format_duration(_LONGEST_PERIOD)}"
        )
    return timedelta(milliseconds=given)


def period_before(moment: datetime, period: timedelta) -> datetime:
    """The beginning of the last period that has ended at a local time."""
    return _EPOCH + ((moment - _EPOCH) // period - 1) * period


def tag_name(begin: datetime, settings: TableSettings) -> str:
    """The name of the tag of the period that begins at a local time; auto_tag_time is the inverse."""
    period, formatter = settings.tags.creation_period, settings.tags.period_formatter
    if settings.tags.creation_period_duration is not None:
        return begin.strftime("%Y%m%d%H%M")
    if period == "daily":
        return begin.strftime(_DAYS[formatter])
    return begin.strftime(_HOURS["with-dashes" if period == "two-hours" else formatter])


def _delay(settings: TableSettings) -> timedelta:
    delay, period = settings.tags.creation_delay, tag_period(settings)
    if delay >= period // timedelta(milliseconds=1):
        raise OptionError(
            f"'{TagSettings.creation_delay.key}' is {format_duration(delay)}: it must be shorter than the period, "
            f"{period}"
        )
    return timedelta(milliseconds=delay)


def _progress(table: Table, period: timedelta) -> tuple[datetime | None, int]:
    """(beginning of the period after the newest tag, id of the snapshot after the one it keeps)."""
    store = table.snapshots
    times = {name: auto_tag_time(name, table.settings) for name in store.tag_names()}
    newest = max(((time, name) for name, time in times.items() if time is not None), default=None)
    tag = None if newest is None else store.find_tag(newest[1])
    if newest is None or tag is None:
        return None, store.earliest_id() or 1
    return newest[0] + period, tag.snapshot.id + 1


def _moment(snapshot: Snapshot, settings: TableSettings) -> datetime | None:
    """The local time of the commit or, in mode `watermark`, of the watermark; None if it has no watermark."""
    if settings.tags.automatic_creation == "process-time":
        return _wall(snapshot.time_millis, _process_zone(settings))
    if not has_watermark(snapshot) or snapshot.watermark is None:
        return None
    return _wall(snapshot.watermark, _zone(settings.tags.watermark_time_zone))


def _wall(millis: int, zone: tzinfo | None) -> datetime:
    """The local time in a zone (None: that of this machine) at an instant."""
    instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=millis)
    return instant.astimezone(zone).replace(tzinfo=None)


def _process_zone(settings: TableSettings) -> tzinfo | None:
    name = settings.tags.process_time_zone
    return None if name is None else _zone(name)


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise OptionError(f"'{name}' is no time zone: expected a name such as Europe/Berlin") from None


def _delete_surplus(table: Table, counts: Callable[[str], bool]) -> Sequence[str]:
    """Deletes the oldest of the tags whose names count, until `tag.num-retained-max` are left; returns their names."""
    kept = table.settings.tags.num_retained_max
    if kept is None:
        return ()
    oldest_first = [name for name in _by_age(table.snapshots) if counts(name)]
    surplus = oldest_first[: max(len(oldest_first) - kept, 0)]
    return delete_tags(table, surplus).names if surplus else ()


def _by_age(store: SnapshotStore) -> list[str]:
    """The names of all tags, ordered by their snapshot, then by their creation."""
    files, tags = store.tag_files(), store.tags()
    made = {name: status.modified_millis for name, status in files.items()}
    return sorted(tags, key=lambda name: (tags[name].snapshot.id, made.get(name, 0), name))
