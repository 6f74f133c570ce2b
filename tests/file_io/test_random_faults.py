"""Lives of tables on real storage servers whose requests go wrong at random, against a model.

Each step is a write, a batch of a stream, a deletion, a compaction, an expiry, a read or a part of a stream. What is
acknowledged stays, what is refused is never seen, and what nobody could tell is there once or not at all.

``PAIMON_FAULTS`` sets how many requests go wrong on each server, ``PAIMON_SEED`` draws others.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from support.faults.random_faults import FaultyProxy, faulty_proxy
from support.long_runs import run_seed, tries
from support.oracles.checker import check_table
from support.servers.storage import StorageServer
from support.tables.micro_batches import FROM_FIRST, applied
from support.tables.stream_batches import SCHEMA, TABLES, tasks

from paimon_spark.errors import CommitStateUnknown, PaimonError
from paimon_spark.format.snapshot import CommitKind
from paimon_spark.spark.stream_sink.writer import open_stream_writer
from paimon_spark.store.clean.orphans import remove_orphans_before
from paimon_spark.store.stream_source.stream_read import stream_read
from paimon_spark.tables.open import open_table

FAULTS = tries("PAIMON_FAULTS", ci=40, long=10_000)
OF_A_LIFE = 250
SHARES = (0.05, 0.2, 0.5)
STEPS_OF_A_SHARE = 15
TRIES = 3
KEYS = 30
HOUR = 3_600_000

State = dict[int, tuple[str, int]]
Row = tuple[int, str, int]


@dataclass(frozen=True)
class Way:
    """A way to the table: its location and the options of the storage."""

    location: str
    options: Mapping[str, str]

    def open(self) -> Any:
        return open_table(self.location, self.options)


class Life:
    """A table, and what it is known to hold.

    Args:
        direct: the way on which nothing goes wrong.
        faulty: the way through the proxy.
    """

    def __init__(self, seed: str, direct: Way, faulty: Way, proxy: FaultyProxy) -> None:
        self.random, self.direct, self.faulty, self.proxy = random.Random(seed), direct, faulty, proxy
        self.states: list[State] = [{}]
        self.log: list[str] = []
        self.told: Counter[str] = Counter()
        self.batch, self.streamed, self.position = 0, dict[object, object](), None
        self._sink(direct, self.batch, self._rows())
        self.seen = 1
        self._committed(self.last_rows)
        self._stream(direct)  # its consumer holds the snapshots from here on

    @property
    def state(self) -> State:
        return self.states[-1]

    def run(self, faults: int) -> None:
        """Steps until so many requests have gone wrong in all; then all is whole."""
        steps = 0
        while self.proxy.counts.total() < faults:
            self.proxy.share = SHARES[steps // STEPS_OF_A_SHARE % len(SHARES)]
            self._step()
            steps += 1
            if steps % (STEPS_OF_A_SHARE * len(SHARES)) == 0:
                self.proxy.share = 0.0
                self.check()
        self.proxy.share = 0.0
        self.end()

    def check(self) -> None:
        """What the table holds, on the way on which nothing goes wrong."""
        check_table(self.direct.location, dict(self.direct.options))
        assert _read(self.direct.open()) == self.state

    def end(self) -> None:
        """The stream comes to its end, and what failed steps have left is removed."""
        self._stream()
        assert {key: (row["p"], row["v"]) for key, row in self.streamed.items()} == self.state  # type: ignore[index]
        self.direct.open().compact(full=True)
        remove_orphans_before(self.direct.open(), int(time.time() * 1000) + HOUR, dry_run=False)
        self.check()

    def _step(self) -> None:
        steps: Mapping[Callable[[], None], int] = {
            self._append: 5, self._stream_batch: 3, self._delete: 2, self._compact: 2, self._expire: 2,
            self._look: 2, self._stream: 2,
        }  # fmt: skip
        step = self.random.choices(list(steps), list(steps.values()))[0]
        self.log.append(step.__name__.strip("_"))
        step()

    def _rows(self) -> list[Row]:
        return [(key, self.random.choice("xyz"), self.random.randrange(10**6)) for key in self._keys()]

    def _keys(self) -> list[int]:
        return self.random.sample(range(KEYS), self.random.randint(1, 8))

    def _append(self) -> None:
        rows = self._rows()
        columns = {name: [row[at] for row in rows] for at, name in enumerate("kpv")}
        if self._is_in(lambda: self.faulty.open().append(columns)):
            self._committed(rows)

    def _delete(self) -> None:
        keys = self._keys()
        gone = {key for key in keys if key in self.state}
        if self._is_in(lambda: self.faulty.open().delete(f"k IN ({', '.join(map(str, keys))})"), bool(gone)):
            self.states.append({key: value for key, value in self.state.items() if key not in gone})

    def _is_in(self, commit: Callable[[], object], changes: bool = True) -> bool:
        """Runs a commit; whether it is in the table.

        It is if that was acknowledged and is not if it was refused, and else the table says so.
        """
        failure: PaimonError | None = None
        try:
            commit()
        except PaimonError as error:
            failure = error
            self.told[type(error).__name__] += 1
        count = self._new_commits()
        if not isinstance(failure, CommitStateUnknown):
            expected = changes and failure is None
            assert count == expected, f"{count} commits are in, and the caller was told: {failure or 'done'}"
        return count == 1

    def _new_commits(self) -> int:
        """How many snapshots of rows have come since the last call; at most one may have."""
        found = self.direct.open().snapshots
        new = [found.load(number) for number in found.ids() if number > self.seen]
        self.seen = found.latest_id()
        count = sum(snapshot.commit_kind != CommitKind.COMPACT for snapshot in new)
        assert count <= 1, "a commit is in twice"
        return count

    def _committed(self, rows: list[Row]) -> None:
        self.states.append({**self.state, **{key: (p, v) for key, p, v in rows}})

    def _stream_batch(self) -> None:
        """A batch that is repeated until it is acknowledged, as by a query that is started again."""
        self.batch += 1
        rows = self._rows()
        for attempt in range(TRIES):
            if attempt == TRIES - 1:
                self.proxy.share = 0.0
            try:
                self._sink(self.faulty, self.batch, rows)
            except PaimonError as error:
                self.told[type(error).__name__] += 1
            else:
                break
        assert self._new_commits() == 1
        self._committed(rows)

    def _sink(self, way: Way, number: int, rows: list[Row]) -> None:
        options = {**TABLES["input"], "consumer.expiration-time": "1 h", **way.options, "path": way.location}
        made = open_stream_writer(options, SCHEMA, False)
        self.last_rows = rows
        made.commit(list(tasks(made, number, rows)), number)

    def _compact(self) -> None:
        with self._may_fail():
            self.faulty.open().compact(full=self.random.random() < 0.5)

    def _expire(self) -> None:
        with self._may_fail():
            self.faulty.open().expire_snapshots(retain_max=2, retain_min=1, older_than=2**62)

    def _look(self) -> None:
        """A list may be stale: the rows are those of now, or of an earlier time."""
        with self._may_fail():
            assert _read(self.faulty.open()) in self.states[-8:]

    def _stream(self, way: Way | None = None) -> None:
        """Goes on where the stream has come; a part that fails comes again."""
        with self._may_fail():
            read = stream_read((way or self.faulty).open(), {**FROM_FIRST, "consumer-id": "mart"}, row_kinds=True)
            clock = iter(range(0, 10**6, 2))
            stream = read.start(clock=lambda: float(next(clock)))
            at = self.position or stream.first()
            while (end := stream.next(at)) != at:
                units = stream.units(at, end)
                rows = [row for unit in units for batch in read.reader.read(unit) for row in batch.to_pylist()]
                applied(rows, self.streamed)
                at = self.position = end

    @contextmanager
    def _may_fail(self) -> Iterator[None]:
        """Counts an error of ours, after which all is as it was."""
        try:
            yield
        except PaimonError as error:
            self.told[type(error).__name__] += 1


def _read(table: Any) -> State:
    rows = table.scan().to_arrow().to_pylist()
    state = {row["k"]: (row["p"], row["v"]) for row in rows}
    assert len(state) == len(rows), "a key is there twice"
    return state


def _port(server: StorageServer) -> int:
    address = next((value for value in server.options.values() if value.startswith("http://")), server.root)
    return int(address.split("://")[1].split("/")[0].rpartition(":")[2])


def _through(server: StorageServer, port: int, location: str) -> Way:
    """The way to a table through a proxy that listens on a port."""
    old, new = f"127.0.0.1:{_port(server)}", f"127.0.0.1:{port}"
    options = {key: value.replace(old, new) for key, value in server.writing.items()}
    return Way(location.replace(old, new), options)


def test_lives_with_requests_that_go_wrong(server: StorageServer, capsys: pytest.CaptureFixture[str]) -> None:
    counts, told, lives = Counter[str](), Counter[str](), 0
    while counts.total() < FAULTS:
        seed = f"{run_seed()} {server.name} {lives}"
        lives += 1
        is_gcs = server.name == "fake-gcs"  # it answers under its own address alone
        with faulty_proxy(_port(server), seed, server.name != "hdfs", keeps_host=not is_gcs) as proxy:
            location = f"{server.root}/{uuid4().hex}/t"
            way = Way(location, server.writing)
            life = Life(seed, way, _through(server, proxy.port, location), proxy)
            try:
                life.run(min(OF_A_LIFE, FAULTS - counts.total()))
            except BaseException:
                print(f"seed {seed!r}, {dict(proxy.counts)}, steps {life.log[-20:]}")
                raise
            counts += proxy.counts
            told += life.told
    with capsys.disabled():
        print(f"\n  {server.name}: {lives} lives, {counts.total()} faults {dict(counts)}; told {dict(told)}", end="")
