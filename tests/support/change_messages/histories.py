"""Random histories of one table: inserts, updates, deletes, changes of keys."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField

TYPES = {
    "id": "INT",
    "name": "STRING",
    "amount": "DECIMAL(12, 3)",
    "huge": "DECIMAL(38, 0)",
    "at": "TIMESTAMP(6)",
    "flag": "BOOLEAN",
    "big": "BIGINT",
    "ratio": "DOUBLE",
    "day": "DATE",
    "clock": "TIME(3)",
    "raw": "BYTES",
}
FIELDS = tuple(DataField(i, name, parse_type(text)) for i, (name, text) in enumerate(TYPES.items()))
TEXTS = (
    "",
    "plain",
    "Grüße, 世界 😀",
    'quote " and \\ back',
    "line\nbreak\ttab",
    "null",
    "123",
    "{}",
    "\u0000\u001f",
    "'",
)
Row = dict[str, Any]


@dataclass(frozen=True)
class Change:
    """One change of a row; of a first load if it is an insert of `snapshot`."""

    before: Row | None
    after: Row | None
    snapshot: bool = False


def draw_row(draws: random.Random, key: int) -> Row:
    values = {
        "name": draws.choice(TEXTS),
        "amount": Decimal(draws.randint(-(10**12) + 1, 10**12 - 1)).scaleb(-3),
        "huge": Decimal(draws.choice((0, -1, 10**38 - 1, -(10**38) + 1, 2**64, 9007199254740993))),
        "at": datetime(1970, 1, 1) + timedelta(microseconds=draws.randint(-(10**15), 4 * 10**15)),
        "flag": draws.random() < 0.5,
        "big": draws.choice((0, 2**63 - 1, -(2**63), draws.randint(-(2**53), 2**53))),
        "ratio": draws.choice((0.0, -1.5, 0.1, 1e300, 5e-324, draws.uniform(-1e6, 1e6))),
        "day": date(1970, 1, 1) + timedelta(days=draws.randint(-20000, 40000)),
        "clock": (datetime.min + timedelta(milliseconds=draws.randint(0, 86_399_999))).time(),
        "raw": draws.randbytes(draws.randint(0, 6)),
    }
    nulls = draws.choice((0.0, 0.2, 0.9))
    return {"id": key, **{name: None if draws.random() < nulls else value for name, value in values.items()}}


def draw_history(draws: random.Random, most: int = 40) -> list[Change]:
    """Changes in the order in which they were made."""
    state: dict[int, Row] = {}
    changes = []
    for _ in range(draws.randint(1, most)):
        kind = draws.random()
        if not state or kind < 0.4:
            key = draws.choice([k for k in range(-3, 30) if k not in state] or [len(state) + 100])
            change = Change(None, draw_row(draws, key), snapshot=draws.random() < 0.2)
        elif kind < 0.8:
            before = draws.choice(list(state.values()))
            change = Change(before, _changed(draws, before, state))
        else:
            change = Change(draws.choice(list(state.values())), None)
        replay(state, change)
        changes.append(change)
    return changes


def _changed(draws: random.Random, before: Row, state: dict[int, Row]) -> Row:
    other = draw_row(draws, before["id"])
    after = {name: draws.choice((before[name], other[name])) for name in before}
    if draws.random() < 0.15:
        after["id"] = draws.choice([k for k in range(-3, 40) if k not in state] or [before["id"]])
    return after


def replay(state: dict[int, Row], change: Change) -> None:
    """What a database does with a change."""
    if change.before is not None:
        del state[change.before["id"]]
    if change.after is not None:
        state[change.after["id"]] = change.after


def final_rows(changes: list[Change]) -> list[Row]:
    """The rows at the end, in the order of their keys."""
    state: dict[int, Row] = {}
    for change in changes:
        replay(state, change)
    return [state[key] for key in sorted(state)]


def millis_of_day(clock: time) -> int:
    return ((clock.hour * 60 + clock.minute) * 60 + clock.second) * 1000 + clock.microsecond // 1000
