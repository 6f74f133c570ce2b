"""Determines the change of a table that a batch read returns (features 1.2).

Java: AbstractDataTableScan, IncrementalDeltaStartingScanner, IncrementalDiffStartingScanner.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from paimon_spark.errors import OptionError, SnapshotNotFound
from paimon_spark.format.options.engines import ChangelogProducer
from paimon_spark.format.options.read_settings import ScanSettings
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.upkeep_settings import TagSettings
from paimon_spark.format.snapshot import CommitKind, Snapshot
from paimon_spark.store.holds.expired import expired_error
from paimon_spark.store.metadata.snapshots import SnapshotStore, last_until
from paimon_spark.store.scan.auto_tag_names import auto_tag_time
from paimon_spark.store.scan.time_travel import at_id, resolved_mode
from paimon_spark.store.storage.local_time import parse_local_timestamp
from paimon_spark.store.storage.parallel import map_parallel

_log = logging.getLogger(__name__)

FIRST_SNAPSHOT = 1


@dataclass(frozen=True)
class Increment:
    """The rows of the files that some commits added, as they were written; nothing is merged.

    Attributes:
        snapshots: the commits, ascending: APPEND for data files, all kinds except OVERWRITE for changelog files.
        changelog: True: their changelog files are read; False: their new data files.
    """

    snapshots: tuple[Snapshot, ...]
    changelog: bool


@dataclass(frozen=True)
class Difference:
    """The rows in which two states of the table differ; before is None for the table before its first commit."""

    before: Snapshot | None
    after: Snapshot


def reads_increment(settings: TableSettings) -> bool:
    """True if the options of a read choose a change, not a state.

    Raises:
        OptionError: scan options contradict each other.
    """
    return resolved_mode(settings) in ("incremental", "latest-delta")


def find_increment(settings: TableSettings, snapshots: SnapshotStore) -> Increment | Difference | None:
    """The change that the options choose; None if nothing can have changed.

    Args:
        settings: the options of a read for which reads_increment is true.
        snapshots: the snapshots of the table. Expired commits are found in the long-lived changelogs.

    Raises:
        OptionError: an option has a bad value.
        SnapshotNotFound: a snapshot between the ends has expired, or a tag does not exist.
    """
    if resolved_mode(settings) == "latest-delta":
        latest = snapshots.latest()
        return None if latest is None else Increment(_counting([latest], changelog=False), changelog=False)
    if settings.is_set(ScanSettings.incremental_between):
        return _between(settings, snapshots)
    if settings.is_set(ScanSettings.incremental_between_timestamp):
        return _between_times(settings, snapshots)
    return _to_auto_tag(settings, snapshots)


def _between(settings: TableSettings, snapshots: SnapshotStore) -> Increment | Difference | None:
    """The change between two tags (the difference of states, or the commits between) or between two snapshot ids."""
    start, end = _pair(settings, ScanSettings.incremental_between.key, "two snapshot ids or two tags such as 3,7")
    first, last = snapshots.find_tag(start), snapshots.find_tag(end)
    if first is not None and last is not None:
        from_id, to_id = first.snapshot.id, last.snapshot.id
        as_ids = settings.scan.incremental_between_tag_to_snapshot
        is_diff = not as_ids or settings.scan.incremental_between_scan_mode == "diff"
        if from_id <= to_id and is_diff:
            return None if from_id == to_id else Difference(first.snapshot, last.snapshot)
    else:
        from_id, to_id = _ids(start, end, snapshots)
        is_diff = settings.scan.incremental_between_scan_mode == "diff"
    if from_id > to_id:
        raise OptionError(
            f"'{ScanSettings.incremental_between.key}' = '{start},{end}': snapshot {to_id}, the end, is older than "
            f"snapshot {from_id}, the start; swap them"
        )
    if from_id == to_id or snapshots.latest_id() is None:
        return None
    if is_diff:
        before = None if from_id < FIRST_SNAPSHOT else at_id(from_id, settings, snapshots)
        return Difference(before, at_id(to_id, settings, snapshots))
    return _commits(from_id, to_id, settings, snapshots)


def _between_times(settings: TableSettings, snapshots: SnapshotStore) -> Increment | Difference | None:
    """Commits later than the first time and not later than the second one."""
    key = ScanSettings.incremental_between_timestamp.key
    texts = _pair(settings, key, "two times such as 2026-11-01 00:00:00,2026-11-02 00:00:00, or epoch milliseconds")
    digits = all(text.removeprefix("-").isdigit() and text.isascii() for text in texts)
    start, end = (int(text) if digits else parse_local_timestamp(text, key) for text in texts)
    if end < start:
        raise OptionError(f"'{key}' = '{','.join(texts)}': the end is before the start; swap them")
    latest = snapshots.latest()
    if latest is None or start == end or start > latest.time_millis:  # at it, too, ties may stand after the start
        return None
    if settings.scan.incremental_between_scan_mode == "diff":
        return _difference_of_times(start, end, snapshots)
    producer = settings.changelog_producer
    # Long-lived changelogs of other tables have lost the new files.
    has_files = _reads_changelogs(settings) or producer == ChangelogProducer.NONE
    oldest = snapshots.earliest_change_id() if has_files else snapshots.earliest_id() or FIRST_SNAPSHOT
    from_id = last_until(start, oldest, latest.id, snapshots.find_change)
    to_id = last_until(end, oldest, latest.id, snapshots.find_change)
    if from_id is None:
        from_id = oldest - 1
        _warn_of_expired(start, oldest, snapshots)
    return None if to_id is None or to_id <= from_id else _commits(from_id, to_id, settings, snapshots)


def _difference_of_times(start: int, end: int, snapshots: SnapshotStore) -> Difference | None:
    before, after = snapshots.find_at_time(start), snapshots.find_at_time(end)
    if after is None:
        return None
    if before is None:
        oldest = snapshots.earliest_id() or FIRST_SNAPSHOT
        _warn_of_expired(start, oldest, snapshots)
        before = None if oldest == FIRST_SNAPSHOT else snapshots.load(oldest)
    return None if before is not None and before.id == after.id else Difference(before, after)


def _warn_of_expired(start: int, oldest: int, snapshots: SnapshotStore) -> None:
    if oldest != FIRST_SNAPSHOT:
        _log.warning(
            "reading the changes of %s since %d (epoch millis): snapshots before %d have expired, their changes are "
            "not among those returned",
            snapshots.table,
            start,
            oldest,
        )


def _to_auto_tag(settings: TableSettings, snapshots: SnapshotStore) -> Difference | None:
    """The difference from the automatic tag before the named one to that tag; None if either does not exist."""
    end = str(settings.scan.incremental_to_auto_tag)
    end_time = auto_tag_time(end, settings)
    if end_time is None:
        raise OptionError(
            f"'{ScanSettings.incremental_to_auto_tag.key}' = '{end}': that is not the name of an automatic tag with "
            f"'{TagSettings.creation_period.key}' = '{settings.tags.creation_period}' and "
            f"'{TagSettings.period_formatter.key}' = '{settings.tags.period_formatter}'; use "
            f"'{ScanSettings.incremental_between.key}' for other tags"
        )
    last = snapshots.find_tag(end)
    times = {name: auto_tag_time(name, settings) for name in snapshots.tag_names()}
    earlier = {time: name for name, time in times.items() if time is not None and time < end_time}
    first = snapshots.find_tag(earlier[max(earlier)]) if earlier else None
    if first is None or last is None or first.snapshot.id == last.snapshot.id:
        return None
    return Difference(first.snapshot, last.snapshot)


def _pair(settings: TableSettings, key: str, what: str) -> tuple[str, str]:
    text = settings[key]
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(parts):
        raise OptionError(f"option '{key}' has the value '{text}': expected {what}, the first one excluded")
    return parts[0], parts[1]


def _ids(start: str, end: str, snapshots: SnapshotStore) -> tuple[int, int]:
    if all(text.isascii() and text.isdigit() for text in (start, end)):
        return int(start), int(end)
    missing = " and ".join(f"'{text}'" for text in (start, end) if snapshots.find_tag(text) is None)
    raise SnapshotNotFound(
        f"'{ScanSettings.incremental_between.key}' = '{start},{end}': the table at {snapshots.table} has no tag "
        f"{missing}, and these are not two snapshot ids; {snapshots.available()}. Name two tags or two ids"
    )


def _reads_changelogs(settings: TableSettings) -> bool:
    """True if the changelog files of commits are read, False if their new data files are."""
    mode = settings.scan.incremental_between_scan_mode
    return mode == "changelog" or (mode == "auto" and settings.changelog_producer != ChangelogProducer.NONE)


def _commits(from_id: int, to_id: int, settings: TableSettings, snapshots: SnapshotStore) -> Increment:
    """The commits after one snapshot up to another one."""
    changelog = _reads_changelogs(settings)
    ids = range(from_id + 1, to_id + 1)
    what = f"reading what the commits {ids[0]} to {ids[-1]} did to the table at {snapshots.table}"
    oldest, newest = snapshots.earliest_change_id(), snapshots.latest_id() or 0
    if oldest <= ids[0] <= newest < ids[-1]:
        raise SnapshotNotFound(f"{what}: there are commits {oldest} to {newest}; give '{from_id},{newest}'")
    if ids[0] < oldest or ids[-1] > newest:
        raise expired_error(
            snapshots,
            settings,
            f"{what}: there are commits {oldest} to {newest}, others have expired or never were; give '{oldest - 1}' "
            f"as the start to read from commit {oldest} on",
        )
    found = map_parallel(snapshots.find_change if changelog else snapshots.find_delta, ids)
    commits = [snapshot for snapshot in found if snapshot is not None]
    if len(commits) < len(found):
        lost = [str(i) for i, snapshot in zip(ids, found, strict=True) if snapshot is None]
        raise expired_error(
            snapshots,
            settings,
            f"{what}: commit {', '.join(lost[:5])}{', ...' if len(lost) > 5 else ''} has expired, and its "
            f"{'changelog' if changelog else 'new files'} with it; two states that are still there can be compared "
            f"with '{ScanSettings.incremental_between_scan_mode.key}' = 'diff'",
        )
    return Increment(_counting(commits, changelog), changelog)


def _counting(commits: list[Snapshot], changelog: bool) -> tuple[Snapshot, ...]:
    if changelog:
        kept = [s for s in commits if s.commit_kind != CommitKind.OVERWRITE and s.changelog_manifest_list is not None]
    else:
        kept = [s for s in commits if s.commit_kind == CommitKind.APPEND]
    return tuple(kept)
