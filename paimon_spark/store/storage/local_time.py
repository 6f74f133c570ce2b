"""Times in the local zone: texts in options, creation times of data files, and times in messages."""

from __future__ import annotations

import re
import time
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta, tzinfo

from paimon_spark.arrow.zones import LocalZone
from paimon_spark.errors import OptionError

SHOWN_ZONE: ContextVar[tzinfo] = ContextVar("SHOWN_ZONE", default=LocalZone())  # noqa: B039  # it holds nothing
"""The zone in which this call shows instants; a program may choose another one than that of the process."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)
_FIRST, _LAST = (  # instants which have a year of datetime in every zone
    (moment - _EPOCH) // timedelta(milliseconds=1)
    for moment in (datetime.min.replace(tzinfo=UTC) + _DAY, datetime.max.replace(tzinfo=UTC) - _DAY)
)
_CYCLE_YEARS, _CYCLE_MILLIS = 400, 146_097 * 86_400_000  # after which the calendar repeats itself
_SHORT = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2}):(\d{1,2})(\.\d{1,9})?)?", re.ASCII)


def parse_local_timestamp(text: str, key: str = "scan.timestamp", zone: tzinfo | None = None) -> int:
    """Epoch millis of a text such as "2026-11-01 12:30:00" or "2026-11-1", read in the local time zone.

    Args:
        text: the time; parts may lack their leading zero (Java: DateTimeUtils.parseTimestampData).
        key: the option that holds it, for messages.
        zone: the local zone; None: that of this process.

    Raises:
        OptionError: it is not a timestamp.
    """
    try:
        moment = datetime.fromisoformat(_padded(text.strip()))
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone)
        seconds = round(moment.replace(microsecond=0).timestamp())  # astimezone is wrong in a gap of the clock
        return seconds * 1000 + moment.microsecond // 1000
    except (ValueError, OverflowError, OSError):
        raise OptionError(
            f"the option '{key}' has the value '{text}': expected a time such as 2026-11-01 12:30:00"
        ) from None


def _padded(text: str) -> str:
    match = _SHORT.fullmatch(text)
    if match is None:
        return text
    year, month, day, hour, minute, second = (part and part.zfill(2) for part in match.groups()[:6])
    return f"{year}-{month}-{day}" + (f" {hour}:{minute}:{second}{match[7] or ''}" if hour else "")


def now_millis() -> int:
    """The time of now, epoch millis."""
    return time.time_ns() // 1_000_000


def local_wall_millis(epoch_millis: int) -> int:
    """The local wall clock at an instant, as millis as if it were UTC: the form of DataFileMeta.creation_time."""
    return epoch_millis + time.localtime(epoch_millis // 1000).tm_gmtoff * 1000


def epoch_millis_of_wall(wall_millis: int) -> int:
    """The inverse of local_wall_millis: the earlier of two instants; in a gap, moved later by the length of the gap.

    Raises:
        ValueError, OverflowError: a year beyond 1 to 9999.
    """
    seconds, millis = divmod(wall_millis, 1000)
    wall = datetime(1970, 1, 1) + timedelta(seconds=seconds)
    return round(wall.timestamp()) * 1000 + millis  # astimezone is wrong in a gap of the clock


def moment_at(millis: int, zone: tzinfo | None) -> datetime:
    """The time at an instant; of one beyond the calendar its first or last day, for no file is so old, or so young.

    Args:
        millis: epoch millis.
        zone: of the result; None: that of this process.
    """
    try:
        return (_EPOCH + timedelta(milliseconds=millis)).astimezone(zone)
    except OverflowError:
        return (_EPOCH + timedelta(milliseconds=_FIRST if millis < 0 else _LAST)).astimezone(zone)


def moment_before_now(duration_millis: int, zone: tzinfo | None) -> datetime:
    """The time so long before now, as moment_at has it."""
    return moment_at(now_millis() - duration_millis, zone)


def iso_time(millis: int, sep: str = "T", timespec: str = "milliseconds") -> str:
    """An instant in SHOWN_ZONE, with its offset: ``2026-11-01T12:30:00.000+01:00``; the year 12026 is ``+12026``."""
    cycles = 0 if _FIRST <= millis <= _LAST else millis // _CYCLE_MILLIS
    moment = (_EPOCH + timedelta(milliseconds=millis - cycles * _CYCLE_MILLIS)).astimezone(SHOWN_ZONE.get())
    year = moment.year + cycles * _CYCLE_YEARS
    return (f"{year:04}" if 0 <= year <= 9999 else f"{year:+05}") + moment.isoformat(sep, timespec)[4:]


def time_text(millis: int) -> str:
    """An instant for messages: the time in SHOWN_ZONE, and the epoch millis that options take."""
    return f"{iso_time(millis, ' ')} ({millis})"
