"""How long snapshots and changelogs are kept (features 3.13; Java: ExpireConfig, CoreOptions.expireConfig)."""

from __future__ import annotations

import datetime as dt
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeAlias

from paimon_spark.errors import OptionError
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.upkeep_settings import RetentionSettings
from paimon_spark.format.options.value_texts import parse_duration
from paimon_spark.store.storage.local_time import moment_before_now, now_millis, parse_local_timestamp

Moment: TypeAlias = dt.datetime | str | int
_YEAR_2000 = 946_684_800_000  # seconds of today are a time in 1970 as milliseconds
"""A time: with a zone or local, as text such as "2026-11-01 12:30:00" in the local zone, or as epoch millis."""


@dataclass(frozen=True)
class Retention:
    """The retention of snapshots, or of long-lived changelogs.

    Attributes:
        retain_max: at most this many of the newest are kept, however young they are.
        retain_min: at least this many of the newest are kept, however old they are.
        millis_retained: younger ones are kept; milliseconds.
        keep_since: those committed at this time or later are kept; epoch millis.
        max_deletes: at most this many are deleted by one expiry.
    """

    retain_max: int
    retain_min: int
    millis_retained: int
    keep_since: int
    max_deletes: int


@dataclass(frozen=True)
class RetentionRules:
    """The retention of a table.

    Attributes:
        snapshots, changelogs: the retention of each.
        consumers_hold_snapshots: whether a consumer keeps the snapshots it has not read, not only their changelogs.
    """

    snapshots: Retention
    changelogs: Retention
    consumers_hold_snapshots: bool

    @property
    def is_decoupled(self) -> bool:
        """True if changelogs outlive their snapshots."""
        snapshots, changelogs = self.snapshots, self.changelogs
        return (
            changelogs.retain_max > snapshots.retain_max
            or changelogs.retain_min > snapshots.retain_min
            or changelogs.millis_retained > snapshots.millis_retained
        )


@dataclass(frozen=True)
class Limits:
    """The retention arguments of a call; None leaves a value to the options.

    Attributes:
        older_than: a time that replaces the age (``millis_retained``) in the options.
    """

    retain_max: int | None = None
    retain_min: int | None = None
    older_than: Moment | None = None
    max_deletes: int | None = None


_NONE_GIVEN = Limits()


def retention(values: TableSettings, given: Limits = _NONE_GIVEN) -> Retention:
    """The retention of snapshots by the arguments of the call, else by the options `snapshot.*`.

    Raises:
        OptionError: the numbers contradict each other, or the time is not valid.
    """
    return _retention(
        _chosen(given.retain_max, values.retention.snapshot_num_retained_max),
        _chosen(given.retain_min, values.retention.snapshot_num_retained_min),
        values.retention.snapshot_time_retained,
        given.older_than,
        _chosen(given.max_deletes, values.retention.snapshot_expire_limit),
        RetentionSettings.snapshot_num_retained_min.key if given.retain_min is None else None,
    )


def changelog_retention(values: TableSettings, snapshots: Retention, given: Limits = _NONE_GIVEN) -> Retention:
    """The retention of changelogs by the arguments of the call, else by the options `changelog.*`, else as snapshots.

    Raises:
        OptionError: the numbers contradict each other, or the time is not valid.
    """
    return _retention(
        _chosen(given.retain_max, values.retention.changelog_num_retained_max, snapshots.retain_max),
        _chosen(given.retain_min, values.retention.changelog_num_retained_min, snapshots.retain_min),
        _chosen(values.retention.changelog_time_retained, snapshots.millis_retained),
        given.older_than,
        _chosen(given.max_deletes, snapshots.max_deletes),
        RetentionSettings.changelog_num_retained_min.key if given.retain_min is None else None,
    )


def retention_rules(values: TableSettings, snapshots: Retention | None = None) -> RetentionRules:
    """The rules of a table; snapshots, if given, replaces the retention of snapshots in the options.

    Raises:
        OptionError: the numbers in the options contradict each other.
    """
    snapshots = snapshots or retention(values)
    rules = RetentionRules(snapshots, changelog_retention(values, snapshots), consumers_hold_snapshots=True)
    only_changelogs = values.retention.consumer_changelog_only and rules.is_decoupled
    return replace(rules, consumers_hold_snapshots=not only_changelogs)


def epoch_millis(moment: Moment, argument: str, zone: dt.tzinfo | None = None) -> int:
    """A time as epoch millis.

    Args:
        moment: the time; a text is a local time.
        argument: the name of the argument that holds it, for the message.
        zone: the zone of local times; None: that of this process.

    Raises:
        OptionError: it is not a time; the message names the argument.
    """
    if isinstance(moment, dt.datetime):
        try:
            return int(moment.timestamp() * 1000)
        except (ValueError, OverflowError):  # a local time at an end of the calendar, such as datetime.min
            return int(moment.replace(tzinfo=dt.UTC).timestamp() * 1000)
    if not isinstance(moment, str):
        if 0 < moment < _YEAR_2000:
            raise OptionError(
                f"{argument} is {moment}, which as epoch milliseconds is a time before 2000: milliseconds are "
                f"expected, and seconds are given as {argument} = {moment}000",
                arguments=(argument,),
            )
        return moment
    try:
        return parse_local_timestamp(moment, zone=zone)
    except OptionError:
        raise OptionError(
            f"{argument} is '{moment}': expected a time such as 2026-11-01 12:30:00{_so_long_ago(moment)}",
            arguments=(argument,),
        ) from None


def _so_long_ago(text: str) -> str:
    """For a message, the time that lies a length of time before now; empty for what is no length with its unit."""
    with suppress(ValueError):
        if not text.strip().isdigit():
            ago = moment_before_now(parse_duration(text), None).replace(tzinfo=None)
            return f"; {text} before now was {ago.isoformat(' ', 'seconds')}"
    return ""


def _retention(
    retain_max: int, retain_min: int, millis_retained: int, older_than: Moment | None, max_deletes: int, key: str | None
) -> Retention:
    """Checks the numbers; key is the option that retain_min comes from, for messages; None: it is an argument."""
    for name, number in (("retain_min", retain_min), ("retain_max", retain_max)):
        if number < 1:
            raise OptionError(
                f"{name} is {number}: at least the newest snapshot has to stay, give 1 or more", arguments=(name,)
            )
    if retain_max < retain_min:
        way_out = (
            f"give retain_max {retain_min} or more, or retain_min {retain_max} or less"
            if key is None
            else f"give retain_min too, {retain_max} or less; without it the option '{key}' of the table holds"
        )
        raise OptionError(
            f"retain_max ({retain_max}) is less than retain_min ({retain_min}): {way_out}",
            arguments=("retain_max", "retain_min"),
        )
    if max_deletes < 0:
        raise OptionError(f"max_deletes is {max_deletes}: give 0 or more", arguments=("max_deletes",))
    now = now_millis()
    if older_than is not None:
        millis_retained = now - epoch_millis(older_than, "older_than")
    return Retention(retain_max, retain_min, millis_retained, now - millis_retained, max_deletes)


def _chosen(*values: int | None) -> int:
    """The first value that is not None; the last one never is."""
    return next(value for value in values if value is not None)
