"""Orders of steps by which the model breaks an invariant if a rule is left out: the real jobs follow the rule."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.model.explorer import Explorer
from support.model.invariants import CHECKS
from support.model.machine import Kind
from support.model.mutations import Mutation as M
from support.model.replay import Step, follow
from support.model.scenarios import SCENARIOS
from support.oracles.checker import check_table
from support.simulation import stage
from support.simulation.stage import Actor, Stored, on_stage
from support.tables.compacting import make, rows_of, write
from support.tables.prepared import COLUMNS, commit, planned

from paimon_spark.file_io import FileIO, LocalFileIO
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.metadata.table import Table

Job = Callable[[FileIO], object]
ONE = (11, 11)


@pytest.fixture(autouse=True)
def whole_listings(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the model has them."""
    monkeypatch.setattr(stage, "PAGED", 0)


def grown(tmp_path: Path) -> Table:
    """Snapshot n has the rows 1 to n; three of them, as in the model."""
    table = make(tmp_path / "t", COLUMNS, [], {"bucket": "-1", "write-only": "true", "commit.max-retry-wait": "0 ms"})
    for number in range(1, 4):
        write(table, [(number, number)])
    return table


def writer(table: Table, row: tuple[int, int]) -> Job:
    prepared = planned(table, row)
    return lambda io: commit(replace(table, file_io=io), prepared)


def back_to(table: Table, snapshot: int) -> Job:
    return lambda io: rollback(replace(table, file_io=io), snapshot)


def played(table: Table, jobs: Mapping[str, Job], steps: Sequence[Step]) -> None:
    """All jobs, in the order of the steps; none fails, and the table is whole afterwards."""
    stored = Stored(LocalFileIO())
    chance = random.Random(1)
    with on_stage(stored, chance):
        actors = {name: Actor(name, stored, chance) for name in jobs}
        for name, actor in actors.items():
            actor.start(jobs[name])
        made = follow(actors, steps, table.location)
    assert {name: (actor.outcome, actor.error) for name, actor in actors.items()} == dict.fromkeys(jobs, ("done", None))
    changes = [step for step in steps if step[1] in (Kind.CREATE, Kind.WRITE, Kind.DELETE) and step[2][0] != "meta"]
    assert made >= len(changes) - 2, "the jobs did something else"
    check_table(table.location)


def broken_by(mutation: M, scenario: str, invariant: str) -> Sequence[Step]:
    report = Explorer(SCENARIOS[scenario](mutation), CHECKS.only(invariant)).explore()
    assert report.broken
    return report.trace


def test_latest_is_written_anew_while_a_rollback_deletes_what_it_is_to_name(tmp_path: Path) -> None:
    table = grown(tmp_path)
    jobs = {"rollback": back_to(table, 1), "writer1": writer(table, ONE)}
    played(table, jobs, broken_by(M.HINT_SETTLED_ONCE, "rollback_and_writer", "C10"))
    assert rows_of(table) in ([(1, 1)], [(1, 1), ONE])
