"""Time zones (by the names that Spark accepts, of this process, or unknown), and conversions of local times.

Internal timestamps are nanoseconds: since the epoch for an instant (TIMESTAMP_LTZ), else of the wall clock as if it
were UTC. The rules are Java's (Spark: SparkDateTimeUtils.getZoneId, java.time.ZonedDateTime): a local time that occurs
twice means the earlier instant, and a local time in a gap is moved later by the length of the gap.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
import time
from typing import TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytz

from paimon_spark.errors import OptionError

TimeZone: TypeAlias = str | dt.tzinfo
"""A time zone, or its name as Spark takes it: ``Europe/Berlin``, ``+01:00``, ``UTC``, ``GMT-3``, ``PST``."""

MICRO = 1_000  # nanoseconds
SECOND = 1_000_000_000
DAY = 86_400 * SECOND

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d\d)(?:(:?)(\d\d)(?:\3(\d\d))?)?", re.ASCII)
_REGION = re.compile(r"(?!posix/|right/|posixrules|localtime|Factory|ROC$)[A-Za-z][A-Za-z0-9~/._+-]+", re.ASCII)
_SHORT_NAMES = {
    "ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare", "CNT": "America/St_Johns", "CST": "America/Chicago", "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris", "EST": "-05:00", "HST": "-10:00",
    "IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "MIT": "Pacific/Apia",
    "MST": "-07:00", "NET": "Asia/Yerevan", "NST": "Pacific/Auckland", "PLT": "Asia/Karachi", "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico", "PST": "America/Los_Angeles", "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}  # fmt: skip
"""Java: ZoneId.SHORT_IDS."""
_EPOCH = dt.datetime(1970, 1, 1)
_FIRST, _LAST = (
    (edge - _EPOCH) // dt.timedelta(microseconds=1) for edge in (dt.datetime(1, 1, 3), dt.datetime(9999, 12, 29))
)
_CYCLE = 146_097 * DAY // MICRO  # 400 years


class ZoneUnknown(Exception):
    """A result depends on the time zone, but the zone is not known."""


class _UnknownZone(dt.tzinfo):
    """Stands for an unknown zone: conditions that do not need the zone can still be bound."""

    def utcoffset(self, moment: dt.datetime | None) -> dt.timedelta:
        raise ZoneUnknown

    def dst(self, moment: dt.datetime | None) -> dt.timedelta | None:
        raise ZoneUnknown

    def tzname(self, moment: dt.datetime | None) -> str | None:
        raise ZoneUnknown


UNKNOWN_ZONE: dt.tzinfo = _UnknownZone()


class LocalZone(dt.tzinfo):
    """The zone of this process, wherever it runs, by the rules of its operating system."""

    def utcoffset(self, moment: dt.datetime | None) -> dt.timedelta:
        if moment is None:
            return dt.timedelta(seconds=time.localtime().tm_gmtoff)
        wall = moment.replace(tzinfo=None)
        instant = _EPOCH + dt.timedelta(seconds=round(wall.replace(microsecond=0).timestamp()))
        return wall.replace(microsecond=0, fold=0) - instant

    def fromutc(self, moment: dt.datetime) -> dt.datetime:
        seconds = (moment.replace(tzinfo=None, microsecond=0) - _EPOCH) // dt.timedelta(seconds=1)
        wall = moment + dt.timedelta(seconds=time.localtime(seconds).tm_gmtoff)
        return wall.replace(fold=int(wall - self.utcoffset(wall) != moment))

    def dst(self, moment: dt.datetime | None) -> dt.timedelta | None:
        return None

    def tzname(self, moment: dt.datetime | None) -> str | None:
        return None if moment is None else str(self.utcoffset(moment))


class Region(dt.tzinfo):
    """A region with the rules of Java, also for times before 1970.

    The time zone database has merged zones that have been alike since 1970. Java and the library ``pytz`` have the
    merged ones; some systems, and so Python, keep the history that each of them had before.

    Attributes:
        key: its name.
    """

    def __init__(self, key: str) -> None:
        """
        Raises:
            ZoneInfoNotFoundError, ValueError, OSError: there is no such region.
        """
        self.key = key
        self._now = ZoneInfo(key)
        self._history = _history(key) or self._now

    def utcoffset(self, moment: dt.datetime | None) -> dt.timedelta | None:
        if moment is None:
            return self._now.utcoffset(None)
        rules = self._rules(moment)
        return moment.replace(tzinfo=rules).utcoffset()

    def fromutc(self, moment: dt.datetime) -> dt.datetime:
        rules = self._rules(moment)
        return rules.fromutc(moment.replace(tzinfo=rules)).replace(tzinfo=self)

    def dst(self, moment: dt.datetime | None) -> dt.timedelta | None:
        return None if moment is None else moment.replace(tzinfo=self._rules(moment)).dst()

    def tzname(self, moment: dt.datetime | None) -> str | None:
        return self.key if moment is None else moment.replace(tzinfo=self._rules(moment)).tzname()

    def _rules(self, moment: dt.datetime) -> ZoneInfo:
        return self._history if moment.year < _EPOCH.year else self._now

    def __reduce__(self) -> tuple[type[Region], tuple[str]]:
        return Region, (self.key,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Region) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return self.key

    def __repr__(self) -> str:
        return f"Region({self.key!r})"


@functools.cache
def _history(key: str) -> ZoneInfo | None:
    """The zone as pytz has it; None: it does not know the zone."""
    try:
        with pytz.open_resource(key) as data:
            return ZoneInfo.from_file(data, key=key)
    except (ValueError, OSError):
        return None


def find_zone(name: str) -> dt.tzinfo:
    """A time zone by its name. Raises ValueError for an unknown one."""
    if name in ("Z", "UTC", "GMT", "UT"):
        return dt.UTC
    full = _SHORT_NAMES.get(name, name)
    found = _OFFSET.fullmatch(_padded(full))
    if found:
        sign, hours, _, minutes, seconds = found.groups()
        offset = dt.timedelta(hours=int(hours), minutes=int(minutes or 0), seconds=int(seconds or 0))
        if offset > dt.timedelta(hours=18) or int(minutes or 0) > 59 or int(seconds or 0) > 59:
            raise ValueError(f"there is no zone offset {name}")
        return dt.timezone(-offset if sign == "-" else offset)
    if _REGION.fullmatch(full):
        try:
            return Region(full)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            pass  # the error below reports it
    raise ValueError(f"there is no time zone {name!r}")


def _padded(name: str) -> str:
    """The name with the zeros that Spark adds to ``+1:30`` and ``+01:3``, and Java to ``+1``."""
    name = re.sub(r"([+-])(\d)(?=:|$)", r"\g<1>0\2", name, count=1, flags=re.ASCII)
    return re.sub(r"([+-]\d\d):(\d)$", r"\1:0\2", name, count=1, flags=re.ASCII)


def session_zone(zone: TimeZone | None) -> dt.tzinfo:
    """The zone to read a condition in; for None, a zone whose every use raises ZoneUnknown.

    Raises:
        OptionError: there is no zone of that name.
    """
    if not isinstance(zone, str):
        return UNKNOWN_ZONE if zone is None else zone
    try:
        return find_zone(zone)
    except ValueError as error:
        raise OptionError(f"{error}: use a name like UTC, +02:00 or Europe/Paris") from None


def to_instant(local: int, zone: dt.tzinfo) -> int:
    """The instant of local nanoseconds: the earlier of two; in a gap, moved later by the length of the gap."""
    return local - _offset(_moment(local).replace(tzinfo=zone))


def start_of_day(midnight: int, zone: dt.tzinfo) -> int:
    """The instant at which a day begins, given as its local midnight: behind the gap if there is no such time."""
    instant = to_instant(midnight, zone)
    resumed = end_of_gap(instant, zone)
    return instant if resumed is None else to_instant(resumed, zone)


def to_local(instant: int, zone: dt.tzinfo) -> int:
    """The local nanoseconds that a clock in the zone shows at an instant."""
    return instant + _offset(_moment(instant).replace(tzinfo=dt.UTC).astimezone(zone))


def end_of_gap(instant: int, zone: dt.tzinfo) -> int | None:
    """The local time at which clocks resume after a gap, if a local time in the gap is also read as this instant."""
    low, before = instant - DAY, to_local(instant - DAY, zone) - (instant - DAY)
    skipped = instant + before
    if skipped == to_local(instant, zone) or to_instant(skipped, zone) != instant:
        return None
    high = instant
    while high - low > 1:
        middle = (low + high) // 2
        if to_local(middle, zone) - middle == before:
            low = middle
        else:
            high = middle
    return to_local(high, zone)


def _moment(nanos: int) -> dt.datetime:
    """A datetime in Python's range with the same offset: no rule began before year 1, all repeat with the calendar."""
    micros = max(nanos // MICRO, _FIRST)
    cycles = max(micros - _LAST + _CYCLE - 1, 0) // _CYCLE
    return _EPOCH + dt.timedelta(microseconds=micros - cycles * _CYCLE)


def _offset(moment: dt.datetime) -> int:
    offset = moment.utcoffset()
    if offset is None:
        raise ValueError(f"{moment.tzinfo} is not a time zone")
    return offset // dt.timedelta(microseconds=1) * MICRO
