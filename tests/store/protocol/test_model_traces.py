"""Random histories of real jobs are traces of the model: what they do in which order, the model can do in that order.

A failure names its seed: PAIMON_TRACES=200 pytest tests/store/protocol/test_model_traces.py -k '[17]'
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from support.long_runs import tries
from support.model.commit import Change
from support.model.commit import commit as model_commit
from support.model.expiry import expire
from support.model.explorer import Checks, Explorer, Scenario
from support.model.keepers import make_tag
from support.model.machine import Program
from support.model.replay import Event, Tracing
from support.model.scenarios import snap
from support.model.values import born
from support.model.versions import roll_back
from support.simulation import stage
from support.simulation.stage import Actor, Stored, on_stage
from support.tables.compacting import make, write
from support.tables.expiring import rules
from support.tables.prepared import COLUMNS, commit, planned

from paimon_spark.file_io import FileIO, LocalFileIO
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.metadata.table import Table

HISTORIES = tries("PAIMON_TRACES", ci=25, long=1000)
GROWN = born(("a", ["a"], []), ("b", ["b"], []), ("c", ["c"], []))
OPTIONS = {"bucket": "-1", "write-only": "true", "commit.min-retry-wait": "0 ms", "commit.max-retry-wait": "0 ms"}
MODELS: Mapping[str, Callable[[], Program]] = {
    "writer1": partial(model_commit, None, "writer1", Change(("writer1", 0), frozenset({"writer1"})), 3),
    "writer2": partial(model_commit, None, "writer2", Change(("writer2", 0), frozenset({"writer2"})), 3),
    "rollback": partial(roll_back, None, "rollback", snap(GROWN, 1)),
    "expiry1": partial(expire, None, "expiry1", 2),
    "expiry2": partial(expire, None, "expiry2", 1),
    "tagger": partial(make_tag, None, "tagger", "one", snap(GROWN, 1)),
}


def real_jobs(table: Table) -> dict[str, Callable[[FileIO], object]]:
    def writer(value: int) -> Callable[[FileIO], object]:
        prepared = planned(table, (value, value))
        return lambda io: commit(replace(table, file_io=io), prepared)

    return {
        "writer1": writer(11),
        "writer2": writer(12),
        "rollback": lambda io: rollback(replace(table, file_io=io), 1),
        "expiry1": lambda io: expire_snapshots_by(replace(table, file_io=io), rules(2)),
        "expiry2": lambda io: expire_snapshots_by(replace(table, file_io=io), rules(1)),
        "tagger": lambda io: create_tag(replace(table, file_io=io), "one", 1),
    }


def history(path: Path, chance: random.Random) -> tuple[list[str], list[Event], str]:
    """Some jobs, and their operations in the order in which they were done."""
    table = make(path, COLUMNS, [], OPTIONS)
    for number in range(1, 4):
        write(table, [(number, number)])
    names = chance.sample(list(MODELS), 3)
    jobs = real_jobs(table)
    stored, events = Stored(LocalFileIO()), list[Event]()
    with on_stage(stored, chance):
        actors = [Actor(name, stored, chance) for name in names]
        for actor in actors:
            actor.start(jobs[actor.name])
        while going := [actor for actor in actors if actor.outcome is None]:
            actor = chance.choice(going)
            for _ in range(chance.choice((1, 1, 2, 5, 20))):
                before = len(actor.trace)
                actor.go_on(1)
                events += [(actor.name, *step.split(" ", 1)) for step in actor.trace[before:]]  # type: ignore[misc]
                if actor.outcome is not None:
                    assert not actor.outcome.startswith("broken"), actor.outcome
                    break
    return names, events, table.location


def refused_at(names: list[str], events: list[Event], location: str) -> int | None:
    """The number of the first operation that the model cannot do."""
    scenario = Scenario(GROWN, {name: MODELS[name] for name in names})
    tracing = Tracing(Explorer(scenario, Checks()), location)
    return next((number for number, event in enumerate(events) if not tracing.goes_on(event)), None)


@pytest.fixture(autouse=True)
def whole_listings(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the model has them."""
    monkeypatch.setattr(stage, "PAGED", 0)


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_a_history_is_a_trace_of_the_model(tmp_path: Path, seed: int) -> None:
    names, events, location = history(tmp_path / "t", random.Random(seed))
    number = refused_at(names, events, location)
    told = [f"{who}: {what} {path.removeprefix(location)}" for who, what, path in events]
    assert number is None, "\n".join(told[: number + 1])


def test_a_history_without_a_look_is_none(tmp_path: Path) -> None:
    """An expiry that would not look for holds after it has written its mark."""
    for seed in range(100):
        names, events, location = history(tmp_path / f"{seed}", random.Random(seed))
        marks = [n for n, (who, _, path) in enumerate(events) if who == "expiry2" and "/.expiring-" in path]
        if marks and any("delete" in what and "/snapshot-" in path for who, what, path in events if who == "expiry2"):
            break
    kept = [e for n, e in enumerate(events) if n < marks[0] or e[:2] != ("expiry2", "list") or "snapshot" not in e[2]]
    assert refused_at(names, events, location) is None
    assert refused_at(names, kept, location) is not None
