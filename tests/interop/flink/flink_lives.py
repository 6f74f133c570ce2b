"""Lives of tables that one job of Flink writes, with a checkpoint a second, while we read and keep them.

We read states and changes, make and read tags, expire snapshots, merge manifests, write and change rows of keys that
are ours alone, and compact the tables whose writer does not. Each state that is read must be one of the model; at the
end the reads of Flink, ours and the model are equal, and the changelogs that both followed lead to the same rows.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from flink_session import Change, FlinkSession
from flink_tables import OURS, FlinkTable, State, draw_tables
from support.oracles.checker import check_table

from paimon_spark import open_table
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.tables.stream import ChangeStream

SOURCE = "counted"
LONGEST_SECONDS = 240
READER_SECONDS = 40


class Kept:
    """A table that Flink writes, and what we do to it meanwhile."""

    def __init__(self, table: FlinkTable, warehouse: Path, draw: random.Random, log: list[str]) -> None:
        self.table, self.draw, self.log = table, draw, log
        self.path = str(warehouse / "d.db" / table.name)
        self.ours: State = {}
        self.tags: dict[str, State] = {}
        self.seen = 0
        self.stream: ChangeStream = self.open().stream(row_kinds=True, options={"scan.mode": "latest-full"})
        self.followed: list[Change] = []
        self.counts: Counter[str] = Counter()
        self.next_key = OURS

    def open(self, options: dict[str, str] | None = None) -> Any:
        return open_table(self.path, options or {})

    def deeds(self) -> list[Any]:
        deeds = [self.read, self.read, self.follow, self.follow, self.tag, self.read_tag, self.expire, self.manifests]
        deeds += [self.read_changes]
        if not self.table.compacts:
            deeds += [self.compact] * 3
        if self.table.options["bucket"] != "-1":  # a table of dynamic buckets has one writer at a time
            deeds += [self.append] * 2
        if self.table.engine.name in ("deduplicate", "sequence"):
            deeds += [self.delete, self.update]
        return deeds

    def act(self) -> None:
        if not self.open().snapshots.latest():
            return
        deed = self.draw.choice(self.deeds())
        self.log.append(f"{time.strftime('%H:%M:%S')} {self.table.name} {deed.__name__}")
        self.counts[deed.__name__] += 1
        deed()

    def read(self) -> None:
        state = self._state(self.open().scan().to_arrow())
        if self.table.shows_all:
            seen = self._check(state)
            assert seen >= self.seen, f"{self.table.name}: {seen} rows after {self.seen}"
            self.seen = seen

    def follow(self) -> None:
        for batch in self.stream:
            self.followed += self._changes(batch.to_arrow())

    def tag(self) -> None:
        name = f"tag{len(self.tags)}"
        self.open().create_tag(name)
        self.tags[name] = self._state(self.open({"scan.tag-name": name}).scan().to_arrow())

    def read_tag(self) -> None:
        if self.tags:
            name = self.draw.choice([*self.tags])
            assert self._state(self.open({"scan.tag-name": name}).scan().to_arrow()) == self.tags[name], name

    def expire(self) -> None:
        self.follow()
        self.open().expire_snapshots(retain_max=10, retain_min=5, older_than=datetime.now(UTC))

    def manifests(self) -> None:
        self.open().compact_manifest()

    def read_changes(self) -> None:
        """What two neighbours differ by, as a batch; it must not fail."""
        snapshots = self.open().snapshots
        latest = snapshots.latest().id
        if latest > 1:
            self.open({"incremental-between": f"{latest - 1},{latest}"}).scan().to_arrow()

    def compact(self) -> None:
        self.open().compact(full=self.draw.choice([True, False]))

    def append(self) -> None:
        keys = [self.draw.randrange(OURS, self.next_key + 3) for _ in range(3)]
        keys = [*dict.fromkeys(keys)]
        self._put({key: self._row(key) for key in keys})

    def delete(self) -> None:
        if self.ours:
            key = self.draw.choice([*self.ours])
            if self._changes_rows(lambda table: table.delete(f"k = {key}").rows_deleted):
                del self.ours[key]

    def update(self) -> None:
        if self.ours:
            key = self.draw.choice([*self.ours])
            if self._changes_rows(lambda table: table.update(f"k = {key}", {"s": "'new'"}).rows_updated):
                self.ours[key] = (*self.ours[key][:1], "new", *self.ours[key][2:])

    def _changes_rows(self, change: Callable[[Any], int]) -> bool:
        """Changes a row that is there; False: its file waits for the compaction of Flink, and we refuse."""
        try:
            changed = change(self.open(self._write_options()))
        except UnsupportedFeature as refusal:
            waits = self.table.compacts or self.table.options["bucket"] == "-2"
            if not waits or "wait for a compaction" not in str(refusal):
                raise
            self.counts["refused"] += 1
            return False
        assert changed == 1 or self.table.options["bucket"] == "-2", f"{self.table.name}: {changed} rows changed"
        return changed == 1

    def finish(self, flink: FlinkSession, rows: int) -> None:
        """Compacts what was written last, and compares everything."""
        self.open().compact()
        expected = {**self.table.state(rows), **self.ours}
        ours = self._state(self.open().scan().to_arrow())
        assert ours == expected, f"{self.table.name}: we read {_difference(ours, expected)}"
        theirs = _state_of(flink.sql(f"SELECT * FROM d.{self.table.name}"), self.table)
        assert theirs == expected, f"{self.table.name}: Flink reads {_difference(theirs, expected)}"
        self.read_tag()
        check_table(self.path)
        self.follow()
        self.check_changes("we", self.followed, expected)

    def check_changes(self, who: str, changes: list[Change], expected: State) -> None:
        """The changes lead to the rows, and each takes back what is there; of producers that say what that is."""
        if not self.table.exact_changelog:
            return
        state: State = {}
        for number, (kind, values) in enumerate(changes):
            key, row = _typed(values, self.table)
            there, taken_back = state.pop(key, None), kind in ("-U", "-D")
            told = f"{self.table.name}: {who}: change {number}: {kind} {key} {row}, there {there}"
            assert there == (row if taken_back else None), told
            if not taken_back:
                state[key] = row
        assert state == expected, f"{self.table.name}: {who}: {_difference(state, expected)}"

    def _row(self, key: int) -> tuple[Any, ...]:
        self.next_key = max(self.next_key, key + 1)
        number = self.draw.randrange(10**6)
        return {
            "deduplicate": (number, f"o{number}"),
            "sequence": (self.counts.total(), f"o{number}"),  # never less than before: a deletion has one too
            "rowkind": (number, f"o{number}", "+I"),
            "partial-update": (number, None, None, None),
            "aggregation": (number, 1, number, number, None),
            "first-row": (number, f"o{number}"),
        }[self.table.engine.name]

    def _put(self, rows: dict[int, tuple[Any, ...]]) -> None:
        names = ["k", *self.table.engine.columns]
        columns = zip(*[(key, *row) for key, row in rows.items()], strict=True)
        types = [
            pa.int32(),
            *[pa.string() if t == "STRING" else pa.int64() for t in self.table.engine.columns.values()],
        ]
        arrays = [pa.array(column, type_) for column, type_ in zip(columns, types, strict=True)]
        self.open(self._write_options()).append(pa.table(dict(zip(names, arrays, strict=True))))
        for key, row in rows.items():
            old = self.ours.get(key)
            if old is not None and self.table.engine.name == "aggregation":
                row = (old[0] + row[0], old[1] + 1, min(old[2], row[2]), max(old[3], row[3]), None)
            if old is None or self.table.engine.name != "first-row":
                self.ours[key] = row

    def _write_options(self) -> dict[str, str]:
        """A writer that compacts beside another one would fail with it; without one of Flink we are the one."""
        return {"write-only": "true" if self.table.compacts else "false"}

    def _check(self, state: State) -> int:
        mine = {key: row for key, row in state.items() if key >= OURS}
        assert mine == self.ours, f"{self.table.name}: our rows {_difference(mine, self.ours)}"
        return self.table.check_state({key: row for key, row in state.items() if key < OURS})

    def _state(self, rows: pa.Table) -> State:
        names = ["k", *self.table.engine.columns]
        values = list(zip(*[rows.column(name).to_pylist() for name in names], strict=True))
        state = {row[0]: row[1:] for row in values}
        assert len(state) == len(values), f"{self.table.name}: keys twice"
        return state

    def _changes(self, rows: pa.Table) -> list[Change]:
        names = ["k", *self.table.engine.columns]
        kinds = rows.column("_row_kind").to_pylist()
        values = zip(*[rows.column(name).to_pylist() for name in names], strict=True)
        return [
            (kind, tuple(None if v is None else str(v) for v in row)) for kind, row in zip(kinds, values, strict=True)
        ]


class FlinkLife:
    """Some tables, the job that writes them, and how much of it."""

    def __init__(self, seed: int, flink: FlinkSession, warehouse: Path, tables: int, rows: int, rate: int) -> None:
        self.draw = random.Random(seed)
        self.flink, self.rows, self.rate = flink, rows, rate
        self.log: list[str] = []
        drawn = draw_tables(self.draw, tables)
        flink.sql("CREATE DATABASE IF NOT EXISTS d")
        for table in drawn:
            self.log.append(table.ddl())
            flink.sql(table.ddl())
        self.kept = [Kept(table, warehouse, self.draw, self.log) for table in drawn]

    def run(self) -> Counter[str]:
        """Returns: how often we did what, the commits and the rows of the source."""
        flink = self.flink
        flink.define(
            f"CREATE TEMPORARY TABLE {SOURCE} (n BIGINT) WITH ('connector' = 'datagen', 'fields.n.kind' = 'sequence', "
            f"'fields.n.start' = '0', 'fields.n.end' = '{self.rows - 1}', 'rows-per-second' = '{self.rate}')"
        )
        inserts = "; ".join(kept.table.insert(SOURCE) for kept in self.kept)
        flink.start("writer", f"EXECUTE STATEMENT SET BEGIN {inserts}; END")
        followed = next((kept for kept in self.kept if kept.table.exact_changelog), None)
        if followed:
            options = "'scan.mode' = 'latest-full', 'consumer-id' = 'flink'"
            flink.follow("reader", f"SELECT * FROM d.{followed.table.name} /*+ OPTIONS({options}) */")
        end = time.monotonic() + LONGEST_SECONDS
        while not (state := flink.end_of("writer")):
            assert time.monotonic() < end, "the writer does not end"
            self.draw.choice(self.kept).act()
            if followed:
                self._no_failure("reader")
        assert state == "done", f"the writer failed: {state}"
        counts: Counter[str] = Counter()
        for kept in self.kept:
            kept.finish(flink, self.rows)
            counts += kept.counts
            counts["commits"] += kept.open().snapshots.latest().id
        if followed:
            self._check_reader(followed)
        return counts + Counter(rows=self.rows * len(self.kept))

    def _check_reader(self, followed: Kept) -> None:
        """What Flink's own stream read, of our commits and of its own, leads to the same rows."""
        expected = {**followed.table.state(self.rows), **followed.ours}
        end = time.monotonic() + READER_SECONDS
        while True:
            self._no_failure("reader")
            try:
                followed.check_changes("Flink", self.flink.changes("reader"), expected)
                break
            except AssertionError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)  # it looks at the table once a second
        self.flink.cancel("reader")

    def _no_failure(self, name: str) -> None:
        state = self.flink.end_of(name)
        assert state == "", f"{name}: {state}"


def _typed(values: tuple[str | None, ...], table: FlinkTable) -> tuple[int, tuple[Any, ...]]:
    assert values[0] is not None
    types = table.engine.columns.values()
    row = [v if v is None or t == "STRING" else int(v) for v, t in zip(values[1:], types, strict=True)]
    return int(values[0]), tuple(row)


def _state_of(changes: list[Change], table: FlinkTable) -> State:
    state = dict(_typed(values, table) for _, values in changes)
    assert len(state) == len(changes), f"{table.name}: keys twice"
    return state


def _difference(read: State, expected: State) -> str:
    wrong = {k: (read.get(k), expected.get(k)) for k in {*read, *expected} if read.get(k) != expected.get(k)}
    return f"{len(wrong)} keys (read, expected): {dict(sorted(wrong.items())[:20])}"
