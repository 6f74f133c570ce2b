"""What a writer does to its rows of a table: drawn, foretold, and done; a call is plain JSON, which can be repeated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import pyarrow.compute as pc

from support.soak.expected import State, without_nulls
from support.soak.journal import Effect, Row
from support.soak.tables import KEY, MARK, NAMES, OWNER, TEXT, VALUE, Kind

KEYS = 40
"""How many keys an owner has in a table with a primary key. Those below 0 are of fences."""
_MOST_ROWS = 15
_MOST_NEW = 64  # of an operation, in a table without a primary key
_CROWDED = 150  # rows of an owner there, from which on more are deleted
Call = dict[str, Any]


def draw(kind: Kind, owner: int, owners: int, number: int, state: State, extras: Sequence[int], random: Random) -> Call:
    """What is done next.

    Args:
        number: of the operation in its process.
        state: the rows of the owner in the table now.
        extras: the ids of columns that were added.
    """
    statement = random.choice(kind.statements)
    if not kind.has_key and len(state) > _CROWDED:
        statement = "delete"
    draws: Mapping[str, Callable[[], Call]] = {
        "upsert": lambda: {"rows": _rows(kind, owner, owners, number, extras, random)},
        "remove": lambda: {"keys": _some_keys(owner, owners, state, random)},
        "delete": lambda: _condition(state, random, width=0.6 if len(state) > _CROWDED else 0.2),
        "update": lambda: {**_condition(state, random), "add": random.randrange(1, 1000), "text": f"u{number}"},
        "merge": lambda: {"rows": _merged_rows(kind, owner, owners, number, state, random)},
    }
    return {"statement": statement, "owner": owner, **draws[statement]()}


def foretell(kind: Kind, call: Call, state: State) -> Effect:
    """What a call makes of the rows of its owner."""
    statement = call["statement"]
    if statement == "upsert":
        puts: dict[int, Row] = {}
        for pairs in call["rows"]:
            row = dict(pairs)
            puts[row[KEY]] = _merged(kind, {**state, **puts}.get(row[KEY]), row)
        return Effect(puts)
    if statement == "remove":
        return Effect(gone=tuple(call["keys"]))
    if statement == "merge":
        return _foretell_merge(call, state)
    chosen = {key: row for key, row in state.items() if _satisfies(row, call)}
    if statement == "delete":
        return Effect(gone=tuple(chosen))
    return Effect({key: {**row, VALUE: row[VALUE] + call["add"], TEXT: call["text"]} for key, row in chosen.items()})


def execute(table: Any, call: Call, once: tuple[str, int] | None = None, stream: tuple[str, int] | None = None) -> Any:
    """Does it.

    Args:
        once: the name and number under which it happens once.
        stream: instead, for rows: the name of a stream into the table, and the position behind them.
    """
    statement, where = call["statement"], f"o = {call['owner']}"
    if statement in ("upsert", "remove"):
        removes = statement == "remove"
        rows = (
            [{"k": key, "o": call["owner"], "_kind": "-D"} for key in call["keys"]] if removes else _named(table, call)
        )
        options = {"row-kind-column": "_kind", "write.missing-columns": "null"} if removes else {}
        if stream is not None:
            return table.write_stream([(stream[1], rows)], stream[0], options)
        return table.append(rows, options, once=once)
    if statement == "merge":
        merge = table.merge(_named(table, call), ["k"], once=once).when_matched_delete(condition="source.v < 0")
        merge = merge.when_matched_update({"v": "source.v", "m": "source.m", "s": "source.s"})
        return merge.when_not_matched_insert({name: f"source.{name}" for name in NAMES}).execute()
    where = f"{where} AND k >= {call['low']} AND k < {call['high']} AND v >= {call['least']}"
    if statement == "delete":
        return table.delete(where, once=once)
    return table.update(where, {"v": pc.field("v") + call["add"], "s": f"'{call['text']}'"}, once=once)


def fence(owner: int, owners: int, number: int) -> Call:
    """An upsert of a row that no other operation touches: behind it, no earlier commit of this owner can still come."""
    row = {KEY: owner - owners * number, OWNER: owner, MARK: number}
    return {"statement": "upsert", "owner": owner, "rows": [[*row.items()]]}


def _rows(kind: Kind, owner: int, owners: int, number: int, extras: Sequence[int], random: Random) -> list[Any]:
    count = random.randint(1, _MOST_ROWS)
    if kind.has_key:
        keys = [owner + owners * random.randrange(KEYS) for _ in range(count)]
        keys = [*dict.fromkeys(keys)]
    else:
        keys = [owner + owners * (number * _MOST_NEW + at) for at in range(count)]
    return [[*_row(kind, key, owner, number, extras, random).items()] for key in keys]


def _row(kind: Kind, key: int, owner: int, number: int, extras: Sequence[int], random: Random) -> Row:
    row: Row = {KEY: key, OWNER: owner, VALUE: random.randrange(1000), MARK: number, TEXT: f"w{number}"}
    row |= {column: random.randrange(1000) for column in extras}
    if kind.fills or kind.adds:  # some columns only; m is always there
        for column in (VALUE, TEXT):
            if random.random() < 0.4:
                del row[column]
    return row


def _some_keys(owner: int, owners: int, state: State, random: Random) -> list[int]:
    """Most of them are there."""
    there = sorted(key for key in state if key >= 0)
    chosen = random.sample(there, min(len(there), random.randint(1, 5)))
    return sorted({*chosen, owner + owners * random.randrange(KEYS)})


def _condition(state: State, random: Random, width: float = 0.3) -> Call:
    keys = sorted(key for key in state if key >= 0)
    count = round(len(keys) * random.random() * width) if keys else 0
    first = random.randrange(len(keys)) if keys else 0
    chosen = keys[first : first + max(count, 1)] or [0]
    return {"low": chosen[0], "high": chosen[-1] + 1, "least": random.choice([0, 0, 0, 300])}


def _satisfies(row: Row, call: Call) -> bool:
    return bool(call["low"] <= row[KEY] < call["high"] and row.get(VALUE, -1) >= call["least"])


def _merged_rows(kind: Kind, owner: int, owners: int, number: int, state: State, random: Random) -> list[Any]:
    """Some keys that are there, to be deleted where v is below 0, else updated; and some that may not be."""
    there = sorted(key for key in state if key >= 0)
    old = random.sample(there, min(len(there), random.randint(1, 6)))
    if kind.has_key:
        new = [owner + owners * random.randrange(KEYS) for _ in range(3)]
    else:
        new = [owner + owners * (number * _MOST_NEW + at) for at in range(random.randint(1, 4))]
    rows = []
    for key in dict.fromkeys([*old, *new]):
        value = -1 if key in there and random.random() < 0.3 else random.randrange(1000)
        rows.append([*{KEY: key, OWNER: owner, VALUE: value, MARK: number, TEXT: f"m{number}"}.items()])
    return rows


def _foretell_merge(call: Call, state: State) -> Effect:
    puts: dict[int, Row] = {}
    gone = []
    for pairs in call["rows"]:
        row = dict(pairs)
        if row[KEY] in state and row[VALUE] < 0:
            gone.append(row[KEY])
        else:
            puts[row[KEY]] = {**state.get(row[KEY], {}), **row}
    return Effect(puts, tuple(gone))


def _merged(kind: Kind, old: Row | None, row: Row) -> Row:
    if old is None or not (kind.adds or kind.fills):
        return without_nulls(row)
    merged = {**old, **without_nulls(row)}
    if kind.adds:
        if VALUE in old and VALUE in row:
            merged[VALUE] = old[VALUE] + row[VALUE]
        merged[MARK] = max(old.get(MARK, 0), row[MARK])
    return merged


def _named(table: Any, call: Call) -> list[dict[str, Any]]:
    """The rows of a call as the table names its columns now."""
    names = {field.id: field.name for field in table.schema.fields}
    wide = call["statement"] == "upsert"  # a MERGE names the columns that it writes
    empty = dict.fromkeys(names.values() if wide else NAMES)
    rows = [dict(pairs) for pairs in call["rows"]]
    return [{**empty, **{names[column]: value for column, value in row.items() if column in names}} for row in rows]
