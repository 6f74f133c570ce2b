"""Drivers of one query, other writers, expiry, compaction and rollback on one table: a batch is written once, whatever
the order of their operations, and whoever dies, or goes on although the query was stopped.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest
from support.faults.faulty_store import When
from support.long_runs import tries
from support.oracles.checker import check_table
from support.simulation.stage import FOREVER, Actor, Fault, Stored, on_stage
from support.tables.expiring import rules
from support.tables.staging import put
from support.tables.stream_batches import rows_of, tasks, writer

from paimon_spark.errors import SnapshotNotFound
from paimon_spark.file_io import FileIO, LocalFileIO
from paimon_spark.store.compact.compaction import compact_table
from paimon_spark.store.compact.local_pool import LocalRunner
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.rollback import rollback
from paimon_spark.tables.open import open_table

LIVES = tries("PAIMON_STREAM_RACES", ci=2, long=1000)
QUANTA = (1, 1, 2, 3, 5, 10, 30, FOREVER)
BATCHES = 8
MORE = {"snapshot.num-retained.min": "1000", "snapshot.num-retained.max": "1000", "write-only": "true"}


@dataclass
class Query:
    """A streaming query, as Spark runs it: batch N+1 begins when a commit of N has returned."""

    path: Path
    kind: str
    done: set[int] = field(default_factory=set)
    refused: Counter[str] = field(default_factory=Counter)
    unknown: str = "fail"

    @property
    def next(self) -> int:
        return max(self.done, default=-1) + 1

    def run(self, number: int, store: FileIO) -> None:
        made = writer(self.path, self.kind, store=store, **MORE, **{"write.stream.unknown-batch": self.unknown})
        made.commit(list(tasks(made, number, [(number, "x", number)])), number)
        self.done.add(number)


class Life:
    def __init__(self, path: Path, kind: str, seed: int, rolls_back: bool) -> None:
        self.chance = random.Random(seed)
        self.stored = Stored(LocalFileIO())
        self.query = Query(path, kind)
        self.rolls_back = rolls_back
        self.others = 1000
        self.actors: list[Actor] = []
        self.drivers: list[Actor] = []
        self.query.run(0, LocalFileIO())

    def live(self) -> None:
        with on_stage(self.stored, self.chance):
            while self.query.next < BATCHES:
                self._turn()
            while self.actors:
                self._go_on(self.actors[0], FOREVER)

    def _turn(self) -> None:
        self.drivers = [actor for actor in self.drivers if actor.outcome is None]
        if not self.drivers or (len(self.drivers) < 2 and self.chance.random() < 0.02):
            self._start_driver()
        elif len(self.actors) < 5 and self.chance.random() < 0.05:
            self._start(self.chance.choice(self._jobs()), None)
        self._go_on(self.chance.choice(self.actors), self.chance.choice(QUANTA))

    def _start_driver(self) -> None:
        fault = None
        if self.chance.random() < 0.5:
            fault = Fault(self.chance.randrange(45), self.chance.choice(list(When)), self.chance.random() < 0.5)
        self.drivers.append(self._start(partial(self.query.run, self.query.next), fault))
        self.query.unknown = "fail"

    def _jobs(self) -> list[Callable[[FileIO], object]]:
        jobs = [self._other, self._other, self._expire, self._compact]
        return [*jobs, self._roll_back] if self.rolls_back else jobs

    def _start(self, act: Callable[[FileIO], object], fault: Fault | None) -> Actor:
        actor = Actor(f"actor{len(self.stored.actors)}-{self.stored.now}", self.stored, self.chance, fault)
        actor.start(act)
        self.actors.append(actor)
        return actor

    def _go_on(self, actor: Actor, operations: int) -> None:
        if not actor.go_on(operations):
            return
        self.actors.remove(actor)
        assert actor.outcome is not None
        assert not actor.outcome.startswith("broken"), actor.outcome
        self.query.refused[actor.outcome] += 1
        if actor.outcome == "CommitStateUnknown" and "write.stream.unknown-batch" in str(actor.error):
            self._decide()

    def _decide(self) -> None:
        """Somebody looks whether the rows are there, when nobody else is at it."""
        for driver in [actor for actor in self.drivers if actor.outcome is None]:
            self._go_on(driver, FOREVER)
        there = any(row[0] == self.query.next for row in rows_of(self.query.path))
        self.query.unknown = "skip" if there else "write"

    # ------------------------------------------------------------------------------------------------------- others

    def _other(self, store: FileIO) -> None:
        self.others += 1
        put(replace(open_table(str(self.query.path)), file_io=store), [(self.others, "x", 0)])

    def _expire(self, store: FileIO) -> None:
        expire_snapshots_by(
            replace(open_table(str(self.query.path)), file_io=store), rules(self.chance.choice((1, 2, 10)))
        )

    def _compact(self, store: FileIO) -> None:
        compact_table(replace(open_table(str(self.query.path)), file_io=store), LocalRunner(1), full=True)

    def _roll_back(self, store: FileIO) -> None:
        table = replace(open_table(str(self.query.path)), file_io=store)
        ids = table.snapshots.ids()
        if len(ids) > 1:
            try:
                rollback(table, ids[-2])
            except SnapshotNotFound:
                return  # it has expired since


@pytest.mark.parametrize("rolls_back", [False, True], ids=["", "rollback"])
@pytest.mark.parametrize("kind", ["append", "sums"])
def test_a_batch_is_written_once(tmp_path: Path, kind: str, rolls_back: bool) -> None:
    for seed in range(LIVES):
        # Random names of files are drawn from the seed. No other test of this process may have files of the same names.
        path = tmp_path / f"{kind}{'-rollback' * rolls_back}" / str(seed)
        life = Life(path, kind, seed, rolls_back)
        life.live()
        found = [(k, v) for k, _, v in rows_of(path) if k < 1000]
        once = [(n, n) for n in range(BATCHES)]
        assert set(found) <= set(once) if rolls_back else True, f"seed {seed}: {found}"
        assert len(found) == len(set(found)), f"seed {seed}: {found}, {life.query.refused}"
        if not rolls_back:
            assert found == once, f"seed {seed}: {found}, {life.query.refused}"
        check_table(str(path))
