"""Random conditions on dates and timestamps, and rows where they decide: clock changes, the first and last years.

What a condition means is not known here: Spark is asked.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from random import Random

import pyarrow as pa

ZONES = (
    "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC", "America/Sao_Paulo",
    "Pacific/Apia", "America/St_Johns", "Africa/Casablanca", "Europe/Dublin", "Antarctica/Troll", "Asia/Tokyo",
    "Africa/Monrovia", "America/Los_Angeles", "Asia/Beirut", "Pacific/Kiritimati", "+05:30", "-03:30", "GMT+8",
    "UTC-03:30", "+01:00:15", "EST", "PST", "+18:00", "-18:00", "Z",
)  # fmt: skip
"""Session zones: summer time of an hour, of half and two hours, at midnight; a day left out; by the sun; offsets."""

SUFFIXES = (
    "Z", " UTC", "+01:00", "+1:0", "-03:30", " Europe/Berlin", " America/New_York", "+5", " GMT-3", "UTC+05:30", " PST",
    " EST", "-18:00", " Asia/Tokyo",
)  # fmt: skip
_CHANGES = (  # local times about which clocks change in one of the zones, and other edges
    "2026-03-29 02:00", "2026-10-25 02:00", "2026-03-08 02:00", "2026-11-01 01:00", "2026-04-05 02:00",
    "2026-10-04 02:00", "2018-11-04 00:00", "2018-02-18 00:00", "2011-12-30 00:00", "2011-12-31 00:00",
    "2026-03-29 01:00", "2026-10-25 01:00", "2026-03-29 00:00", "1972-01-07 00:00", "1883-11-18 12:00",
    "1893-04-01 00:00", "1970-01-01 00:00", "2038-01-19 03:14", "2100-03-28 02:00", "0001-01-01 00:00",
    "0001-01-02 00:00", "0001-12-31 12:00", "1582-10-15 00:00", "9999-12-31 23:00", "9999-12-30 12:00",
    "9999-07-01 00:00", "2026-11-01 12:00",
)  # fmt: skip
_NEVER = (dt.date(2011, 12, 30) - dt.date(1970, 1, 1)).days
"""A day that Apia does not have. Compared with the midnight after it, Spark says that it is that moment (IN with
several values, literals), and that it is before it (the optimizer's form of ``=``, ``<``): it decides nothing here."""
_EPOCH = dt.datetime(1970, 1, 1)
_MICRO = dt.timedelta(microseconds=1)
_HOUR = 3_600_000_000
_STEPS = (
    0,
    0,
    0,
    1,
    -1,
    1000,
    _HOUR // 2,
    -_HOUR // 2,
    _HOUR // 2 - 1,
    _HOUR,
    -_HOUR,
    _HOUR - 1,
    2 * _HOUR,
    90 * 60 * 10**6,
)
FIRST, LAST = ((edge - _EPOCH) // _MICRO for edge in (dt.datetime.min, dt.datetime.max))
COLUMNS = {
    "id": pa.int32(),
    "day": pa.date32(),
    "instant": pa.timestamp("us", "UTC"),
    "local": pa.timestamp("us"),
    "instant3": pa.timestamp("ms", "UTC"),
    "local3": pa.timestamp("ms"),
}
MOMENTS = tuple(name for name in COLUMNS if name != "id")
KINDS = {
    "day": "date",
    "instant": "timestamp",
    "local": "timestamp_ntz",
    "instant3": "timestamp",
    "local3": "timestamp_ntz",
}


@dataclass(frozen=True)
class Text:
    """A text that may be a date or a timestamp; casts: the types that Spark can cast it to."""

    text: str
    casts: frozenset[str] = frozenset()


def near(random: Random, offset: int = 0) -> int:
    """Microseconds of a wall clock near an edge. offset: is added, for instants."""
    wall = (dt.datetime.fromisoformat(random.choice(_CHANGES)) - _EPOCH) // _MICRO
    return wall + random.choice(_STEPS) + offset


def rows(random: Random, count: int, offsets: Mapping[str, int]) -> pa.RecordBatch:
    """Rows with values near edges; offsets: microseconds between the wall clock and UTC that are likely in a zone."""
    columns: dict[str, pa.Array] = {"id": pa.array(range(count), pa.int32())}
    for name in MOMENTS:
        instant = name.startswith("instant")
        values = [near(random, -random.choice(list(offsets.values())) if instant else 0) for _ in range(count)]
        kept = [None if random.random() < 0.08 else value for value in values]
        unit = 86_400 * 10**6 if name == "day" else 1000 if name.endswith("3") else 1
        counts = [None if value is None else value // unit for value in kept]
        if name == "day":
            counts = [_NEVER - 1 if count == _NEVER else count for count in counts]
        columns[name] = pa.array(counts, pa.int32() if name == "day" else pa.int64()).cast(COLUMNS[name])
    return pa.RecordBatch.from_pydict(columns, pa.schema(COLUMNS.items()))


def text(random: Random) -> str:
    """A text near an edge, in one of the forms that Spark reads, or nearly so."""
    moment = _EPOCH + min(max(near(random), FIRST), LAST) * _MICRO
    two = random.choice(["{:02}", "{:02}", "{:02}", "{}"]).format
    parts = [f"{moment.year:04}", two(moment.month), two(moment.day)]
    shown = "-".join(parts[: random.choice([1, 2, 3, 3, 3, 3, 3, 3, 3, 3])])
    if shown.count("-") == 2 and random.random() < 0.8:
        clock = [two(part) for part in (moment.hour, moment.minute, moment.second)]
        clock = clock[: random.choice([1, 2, 3, 3, 3, 3])]
        shown += random.choice(" T") + ":".join(clock)
        if len(clock) == 3:
            if moment.microsecond or random.random() < 0.2:
                shown += f".{moment.microsecond:06}" + random.choice(["", "", "9", "123"])
            shown += random.choice(["", "", *SUFFIXES])
    if random.random() < 0.06:
        broken = [
            f" {shown}\t", shown[:-1], f"{shown}x", shown.replace("-", "/"), f"{shown} Nowhere/Land", f"{shown}+19:00",
            shown.replace(":", "."), "2026-02-30 10:00:00", "2026-11-01 24:00:00", "",
        ]  # fmt: skip
        shown = random.choice(broken)
    return shown


def _literal(random: Random, texts: list[Text], kind: str, alone: bool = True) -> str:
    """A literal of any type that a column of moments is compared with.

    Args:
        kind: the column's own type.
        alone: whether the comparison has no other literal, whose type decides too what a text is read as.
    """
    chosen = random.choice(texts)
    shown = f"'{chosen.text}'"
    if not {"date", "timestamp", "timestamp_ntz"} <= chosen.casts:
        return shown if kind in chosen.casts and alone else random.choice(["null", "date'2026-11-01'"])
    forms = [
        shown, shown, shown, f"date{shown}", f"timestamp{shown}", f"timestamp_ntz{shown}", f"timestamp_ltz{shown}",
        f"timestamp({shown})", f"cast({shown} as timestamp)", f"cast({shown} as timestamp_ntz)",
        f"cast({shown} as date)", f"cast(date{shown} as timestamp)", f"cast(timestamp{shown} as date)",
        f"cast(timestamp{shown} as timestamp_ntz)", f"cast(timestamp_ntz{shown} as timestamp)",
        f"try_cast({shown} as timestamp)",
    ]  # fmt: skip
    return random.choice(forms)


def leaf(random: Random, texts: list[Text], lists: bool) -> str:
    """A comparison of one column. lists: one that names values, as those of an overwrite must."""
    column = random.choice(MOMENTS[:3] if lists else MOMENTS)
    literal = partial(_literal, random, texts, KINDS[column])
    listed = ", ".join(literal(alone=False) for _ in range(random.randint(1, 4)))
    if lists:
        equal = [f"{column} = {literal()}", f"{column} <=> {literal()}", f"{literal()} = {column}"]
        return random.choice([*equal, f"{column} is null", f"{column} in ({listed})"])
    op = random.choice(["=", "<", "<=", ">", ">=", "<=>", "!=", "<>"])
    forms = [
        f"{column} {op} {literal()}", f"{column} {op} {literal()}", f"{column} {op} {literal()}",
        f"{literal()} {op} {column}", f"{column} in ({listed})",
        f"{column} not in ({listed})", f"{column} between {literal()} and {literal()}",
        f"{column} not between {literal()} and {literal()}", f"{column} is not null", f"not {column} {op} {literal()}",
    ]  # fmt: skip
    return random.choice(forms)


def condition(random: Random, texts: list[Text]) -> str:
    """A condition whose literals Spark can read."""
    lists = random.random() < 0.3
    parts = [leaf(random, texts, lists) for _ in range(random.choice([1, 1, 1, 1, 2, 3]))]
    shown = parts[0]
    for part in parts[1:]:
        shown = f"({shown}) {random.choice(['and', 'or'])} {part if lists else f'not ({part})'}"
    return shown
