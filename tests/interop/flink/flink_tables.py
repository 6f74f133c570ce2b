"""Tables that Flink writes as streams, each with what it must hold after so many rows of the source.

The source counts: row n of it becomes one upsert of each table, which SQL computes from n. So a naive model tells the
rows of a table after the first n rows, and every state of a stream that is written once must be one of these.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

Key = int
Values = tuple[int | str | None, ...]
State = dict[Key, Values]

KEYS = 300
STEP = 7919  # a prime: neighbours of the source have keys far apart
OURS = 100_000  # keys from here on are written by us alone


def key_of(n: int) -> Key:
    return n * STEP % KEYS


@dataclass(frozen=True)
class Engine:
    """A merge engine with columns, the SQL that computes them from n, and the model.

    Attributes:
        columns: name -> type, without the key `k`.
        select: their expressions of the source's column n.
        options: of the table.
        apply: changes the state by row n.
        newest: the greatest n that a state shows, -1 for an empty one.
        producers: changelog producers that it may have.
        late: how many rows after that one a state may have seen without showing them.
        vectors: whether it may have deletion vectors.
    """

    name: str
    columns: dict[str, str]
    select: str
    apply: Callable[[State, int], None]
    newest: Callable[[State], int]
    options: dict[str, str] = field(default_factory=dict)
    producers: tuple[str, ...] = ("none", "input", "lookup", "full-compaction")
    late: int = 0
    vectors: bool = True


def _put(state: State, n: int) -> None:
    state[key_of(n)] = (n, f"x{n}")


def _put_or_remove(state: State, n: int) -> None:
    if n % 11 == 3:
        state.pop(key_of(n), None)
    else:
        state[key_of(n)] = (n, f"x{n}", "+I")


def _put_part(state: State, n: int) -> None:
    a, b, g, h = state.get(key_of(n), (None, None, None, None))
    if n % 3 == 0:
        a = n
    elif n % 3 == 1:
        b = n
    else:
        g, h = n, f"x{n}"
    state[key_of(n)] = (a, b, g, h)


def _add(state: State, n: int) -> None:
    total, count, low, _, last = state.get(key_of(n), (0, 0, n, n, None))
    assert isinstance(total, int)
    assert isinstance(count, int)
    assert isinstance(low, int)
    state[key_of(n)] = (total + n, count + 1, min(low, n), n, f"x{n}" if n % 2 else last)


def _first(state: State, n: int) -> None:
    state.setdefault(key_of(n), (n, f"x{n}"))


def _greatest(*places: int) -> Callable[[State], int]:
    def newest(state: State) -> int:
        return max((int(row[i] or -1) for row in state.values() for i in places), default=-1)

    return newest


TEXT = "CONCAT('x', CAST(n AS STRING))"
ENGINES = (
    Engine("deduplicate", {"v": "BIGINT", "s": "STRING"}, f"n, {TEXT}", _put, _greatest(0)),
    Engine(
        "sequence",
        {"v": "BIGINT", "s": "STRING"},
        f"n, {TEXT}",
        _put,
        _greatest(0),
        {"sequence.field": "v"},
    ),
    Engine(
        "rowkind",
        {"v": "BIGINT", "s": "STRING", "op": "STRING"},
        f"n, {TEXT}, CASE WHEN MOD(n, 11) = 3 THEN '-D' ELSE '+I' END",
        _put_or_remove,
        _greatest(0),
        {"rowkind.field": "op"},
        late=1,
    ),
    Engine(
        "partial-update",
        {"a": "BIGINT", "b": "BIGINT", "g": "BIGINT", "h": "STRING"},
        "CASE WHEN MOD(n, 3) = 0 THEN n END, CASE WHEN MOD(n, 3) = 1 THEN n END, "
        f"CASE WHEN MOD(n, 3) = 2 THEN n END, CASE WHEN MOD(n, 3) = 2 THEN {TEXT} END",
        _put_part,
        _greatest(0, 1, 2),
        {"merge-engine": "partial-update", "fields.g.sequence-group": "h"},
        producers=("none", "lookup", "full-compaction"),
    ),
    Engine(
        "aggregation",
        {"total": "BIGINT", "cnt": "BIGINT", "low": "BIGINT", "high": "BIGINT", "txt": "STRING"},
        f"n, CAST(1 AS BIGINT), n, n, CASE WHEN MOD(n, 2) = 1 THEN {TEXT} END",
        _add,
        _greatest(3),
        {
            "merge-engine": "aggregation",
            "fields.total.aggregate-function": "sum",
            "fields.cnt.aggregate-function": "sum",
            "fields.low.aggregate-function": "min",
            "fields.high.aggregate-function": "max",
            "fields.txt.aggregate-function": "last_non_null_value",
        },
        producers=("none", "lookup", "full-compaction"),
    ),
    Engine(
        "first-row",
        {"v": "BIGINT", "s": "STRING"},
        f"n, {TEXT}",
        _first,
        _greatest(0),
        {"merge-engine": "first-row"},
        producers=("none", "lookup"),
        vectors=False,
    ),
)


@dataclass(frozen=True)
class FlinkTable:
    """A table of a warehouse, which a job of Flink writes.

    Attributes:
        compacts: whether its writer compacts; else that is left to us.
    """

    name: str
    engine: Engine
    options: dict[str, str]

    @property
    def compacts(self) -> bool:
        return self.options.get("write-only") != "true" and self.options["bucket"] != "-2"

    @property
    def shows_all(self) -> bool:
        """Whether a read sees rows that are not compacted, so that each state is that of one moment."""
        only_compacted = self.engine.name == "first-row" or "deletion-vectors.enabled" in self.options
        return not only_compacted and self.options["bucket"] != "-2"

    @property
    def exact_changelog(self) -> bool:
        return self.options["changelog-producer"] in ("lookup", "full-compaction")

    def ddl(self) -> str:
        columns = ", ".join(f"{name} {type_}" for name, type_ in self.engine.columns.items())
        options = ", ".join(f"'{key}' = '{value}'" for key, value in self.options.items())
        return f"CREATE TABLE d.{self.name} (k INT, {columns}, PRIMARY KEY (k) NOT ENFORCED) WITH ({options})"

    def insert(self, source: str) -> str:
        key = f"CAST(MOD(n * {STEP}, {KEYS}) AS INT)"
        return f"INSERT INTO d.{self.name} SELECT {key}, {self.engine.select} FROM {source}"

    def state(self, rows: int) -> State:
        """What the first rows of the source make."""
        state: State = {}
        for n in range(rows):
            self.engine.apply(state, n)
        return state

    def check_state(self, state: State) -> int:
        """Fails unless it is what the table held after some rows of the source; how many."""
        first = self.engine.newest(state) + 1
        expected = self.state(first)
        for seen in range(first, first + self.engine.late + 1):
            if state == expected:
                return seen
            self.engine.apply(expected, seen)
        expected = self.state(first)
        wrong = {k: (state.get(k), expected.get(k)) for k in {*state, *expected} if state.get(k) != expected.get(k)}
        raise AssertionError(f"{self.name}: no state of the source, {first} rows; (read, expected): {wrong}")


def draw_tables(draw: random.Random, count: int) -> list[FlinkTable]:
    """Tables of each merge engine in turn, their other options drawn."""
    engines = [*ENGINES]
    draw.shuffle(engines)
    return [_draw_table(draw, engines[i % len(engines)], f"t{i}") for i in range(count)]


def _draw_table(draw: random.Random, engine: Engine, name: str) -> FlinkTable:
    producer = draw.choice(engine.producers)
    options = {**engine.options, "changelog-producer": producer, "bucket": draw.choice(["1", "2", "2", "-1", "-2"])}
    options["consumer.expiration-time"] = "1 h"  # else Flink refuses a stream with a consumer
    options["num-sorted-run.compaction-trigger"] = draw.choice(["2", "5"])
    if draw.random() < 0.4:
        options["write-only"] = "true"
    if producer == "full-compaction":
        options["full-compaction.delta-commits"] = draw.choice(["1", "3"])
    if engine.vectors and producer != "full-compaction" and draw.random() < 0.35:
        options["deletion-vectors.enabled"] = "true"
    return FlinkTable(name, engine, options)
