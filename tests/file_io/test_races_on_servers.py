"""Catalogs, row changes and streams on real storage servers, by eight at once: one wins, and no change is lost.

``PAIMON_SERVER_RACES`` sets how many races of each kind are run on each server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pyarrow.compute as pc
import pytest
from support.long_runs import tries
from support.oracles.checker import check_table
from support.servers.storage import STORAGE_SERVERS, UNPROVED, StorageServer
from support.tables.micro_batches import FROM_FIRST, applied

from paimon_spark import create_table, open_catalog, open_table
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import CommitConflict, DatabaseAlreadyExists, RetriesExhausted, TableAlreadyExists
from paimon_spark.store.stream_source.stream_read import stream_read

RACES = tries("PAIMON_SERVER_RACES", ci=2, long=100)
RACERS = 8


SERVERS = [pytest.param(name, marks=pytest.mark.server) for name in STORAGE_SERVERS if name not in UNPROVED]
"""Those that are not refused for writing (test_servers.py)."""
pytestmark = pytest.mark.parametrize("server", SERVERS, indirect=True)


def at_once(run: Callable[[int], bool]) -> list[int]:
    """The numbers of those who won, of RACERS that begin together."""
    start = threading.Barrier(RACERS)

    def racer(number: int) -> bool:
        start.wait()
        return run(number)

    with ThreadPoolExecutor(RACERS) as threads:
        won = list(threads.map(racer, range(RACERS)))
    return [number for number, is_won in enumerate(won) if is_won]


def test_one_of_eight_makes_a_database_and_a_table(server: StorageServer) -> None:
    options = {"warehouse": f"{server.root}/{uuid4().hex}", **server.options}
    catalog = open_catalog(options)

    def makes_database(name: str) -> bool:
        try:
            catalog.create_database(name)
        except DatabaseAlreadyExists:
            return False
        return True

    def makes_table(name: str, number: int) -> bool:
        try:
            catalog.new_table(f"{name}.t", {"id": "INT"}, comment=str(number))
        except TableAlreadyExists:
            return False
        return True

    for race in range(RACES):
        name = f"d{race}"
        assert len(at_once(lambda _, name=name: makes_database(name))) == 1
        (winner,) = at_once(lambda number, name=name: makes_table(name, number))
        assert catalog.table(f"{name}.t").schema.comment == str(winner)
        catalog.drop_table(Identifier(name, "t"))
        assert catalog.list_tables(name) == []


def test_no_update_is_lost(server: StorageServer) -> None:
    """Each of eight adds one to the same row, and tries again after a conflict."""
    path = f"{server.root}/{uuid4().hex}"
    table = create_table(path, {"id": "INT", "n": "INT"}, "id", options={"bucket": "1", **server.options})
    table.append({"id": [1], "n": [0]})

    def adds(_: int) -> bool:
        while True:
            try:
                open_table(path, server.options).update("id = 1", {"n": pc.field("n") + 1})
            except (CommitConflict, RetriesExhausted):
                continue
            return True

    for race in range(RACES):
        assert len(at_once(adds)) == RACERS
        assert open_table(path, server.options).scan().to_arrow().to_pylist() == [{"id": 1, "n": (race + 1) * RACERS}]
    check_table(path, dict(server.options))


def test_a_stream_beside_eight_writers(server: StorageServer) -> None:
    """What it has read at the end is what the table holds, each change once.

    Each writer has keys of its own: of two that write one key at once, the order of commits is not that of the merge.
    """
    path = f"{server.root}/{uuid4().hex}"
    options = {"bucket": "2", "changelog-producer": "input", "commit.max-retries": "1000", **server.options}
    create_table(path, {"k": "INT", "v": "INT"}, "k", options=options)
    state: dict[object, object] = {}
    done = threading.Event()

    def write(number: int) -> bool:
        for turn in range(RACES):
            open_table(path, server.options).append({"k": [number, 100 * (number + 1) + turn], "v": [turn, number]})
        return True

    def changes() -> Iterator[None]:
        read = stream_read(open_table(path, server.options), FROM_FIRST, row_kinds=True)
        clock = iter(range(0, 10**9, 2))
        stream = read.start(clock=lambda: float(next(clock)))
        at = stream.first()
        while True:
            end = stream.next(at)
            if end == at:
                if done.is_set() and stream.next(at) == at:
                    return
                done.wait(0.05)
                continue
            for unit in stream.units(at, end):
                for batch in read.reader.read(unit):
                    applied(batch.to_pylist(), state)
            at = end
            yield

    with ThreadPoolExecutor(1) as reader:
        count = reader.submit(lambda: sum(1 for _ in changes()))
        at_once(write)
        done.set()
        assert count.result(600) >= 1
    rows = open_table(path, server.options).scan().to_arrow().to_pylist()
    assert sorted(map(str, state.values())) == sorted(map(str, rows))
    check_table(path, dict(server.options))
