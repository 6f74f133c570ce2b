"""Writers, compactions, expiries, tags, branches, rollbacks, readers and the removal of orphans, all at once.

Actors take turns as a seed says, at every operation on storage; some fail, some die, some listings are stale. After
each turn no file is gone that anything keeps, and every new state holds the rows that its commits made; at the end of
each part everything that is there is read, and nothing is left over. A failure names its seed:

    PAIMON_LIFE_SEED=17 PAIMON_LIFE_STEPS=200 pytest tests/store/test_life_races.py -k keyed
"""

from __future__ import annotations

import os
import random
import threading
import time
import uuid
from collections import Counter
from pathlib import Path

import pytest
from support.long_runs import LONG, tries
from support.simulation.life import TABLES, Broken, World
from support.simulation.life_end import settle
from support.simulation.life_keepers import draw
from support.simulation.stage import on_stage

from paimon_spark.file_io import FileIO, LocalFileIO
from paimon_spark.file_io.object_store import ObstoreFileIO

STEPS = tries("PAIMON_LIFE_STEPS", ci=150, long=10000)
SEED = int(os.environ.get("PAIMON_LIFE_SEED", "1"))
ACTORS = 4
PART = 250
"""So many turns, then all ends, and what broke off is done again."""


def live(world: World, steps: int, file: Path) -> None:
    """So many turns; on a failure all operations of the actors are in a file."""
    with on_stage(world.stored, world.chance):
        try:
            for step in range(steps):
                while len(world.actors) < ACTORS:
                    world.start(draw(world, world.chance), world.fault())
                world.turn()
                if step % PART == PART - 1:
                    settle(world)
            settle(world)
        except BaseException:
            file.write_text("\n".join(world.log))
            raise


def new_world(inner: FileIO, location: str, kind: str, seed: int) -> World:
    return World.new(inner, location, kind, random.Random(f"{kind} {seed}"))


@pytest.mark.parametrize("kind", list(TABLES))
def test_nothing_that_lives_is_deleted(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = new_world(ObstoreFileIO(), f"memory://{uuid.uuid4()}/t", kind, SEED)
    log = tmp_path / "log"
    try:
        live(world, STEPS, log)
    except Broken as error:
        raise Broken(f"PAIMON_LIFE_SEED={SEED} PAIMON_LIFE_STEPS={STEPS}, -k {kind}, see {log}: {error}") from error
    told = Counter({f"{what} {outcome}": count for (what, outcome), count in world.outcomes.items()})
    assert told["write done"], "nothing was written"
    with capsys.disabled():
        operations = sum(": " in line for line in world.log)
        print(f"\n  {kind}: {STEPS} steps, {operations} operations on storage, {len(world.states)} states", end="")
        print(f"\n    {', '.join(f'{what}: {count}' for what, count in sorted(told.items()))}", end="")


def test_on_a_disk(tmp_path: Path) -> None:
    """Directories that come and go, files that grow."""
    world = new_world(LocalFileIO(), str(tmp_path / "t"), "keyed", SEED + 1)
    live(world, min(STEPS, 1000) if LONG else 60, tmp_path / "log")


def test_a_seed_says_all(tmp_path: Path) -> None:
    """The same seed, the same operations: else a failure could not be looked into. Other threads change nothing."""

    def lived(name: str) -> list[str]:
        location = f"memory://{uuid.uuid4()}/t"
        world = new_world(ObstoreFileIO(), location, "vectors", SEED)
        live(world, 60, tmp_path / name)
        return [line.replace(location, "") for line in world.log]

    def fidget() -> None:
        while not over.is_set():
            time.sleep(0.0001)
            uuid.uuid4()

    alone, over = lived("alone"), threading.Event()
    thread = threading.Thread(target=fidget)
    thread.start()
    try:
        beside = lived("beside")
    finally:
        over.set()
        thread.join()
    assert alone == beside
