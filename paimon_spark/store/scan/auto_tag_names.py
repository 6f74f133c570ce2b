"""The names of automatic tags, which represent periods (features 3.14; Java: TagPeriodHandler)."""

from __future__ import annotations

import re
from datetime import datetime

from paimon_spark.format.options.table_settings import TableSettings

_DAYS = {"with-dashes": r"(\d{4})-(\d\d)-(\d\d)", "without-dashes": r"(\d{4})(\d\d)(\d\d)"}
_DAYS["without-dashes-and-spaces"] = _DAYS["without-dashes"]
_HOURS = {
    "with-dashes": r"(\d{4})-(\d\d)-(\d\d) (\d\d)",
    "without-dashes": r"(\d{4})(\d\d)(\d\d) (\d\d)",
    "without-dashes-and-spaces": r"(\d{4})(\d\d)(\d\d)(\d\d)",
}
_MINUTES = r"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)"


def auto_tag_time(name: str, settings: TableSettings) -> datetime | None:
    """The local time in the name of an automatic tag, or None for any other tag.

    Args:
        name: the name of the tag.
        settings: the options of the table: ``tag.creation-period-duration``, or else ``tag.creation-period``, and
            ``tag.period-formatter`` define the format of the names.
    """
    period, formatter = settings.tags.creation_period, settings.tags.period_formatter
    if settings.tags.creation_period_duration is not None:
        pattern = _MINUTES
    elif period == "daily":
        name, pattern = name.split(" ")[0], _DAYS[formatter]
    else:
        pattern = _HOURS["with-dashes" if period == "two-hours" else formatter]
    match = re.fullmatch(pattern, name, re.ASCII)
    if match is None:
        return None
    year, month, day, hour, minute = (*(int(part) for part in match.groups()), 0, 0)[:5]
    try:
        return datetime(year, month, day, hour, minute)
    except ValueError:  # digits, but no date
        return None
