"""Requests to an S3 server, by ``cat.sql`` beside the JVM connector, and what they cost where each takes 50 ms.

A proxy before the server (versitygw) counts them, and how many waited for each other. The peer is that of the part
`statements`; ``PAIMON_S3_JAR`` names its file system for S3 (``paimon-s3``). Without it, only our own figures are told.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench_statements import Session
from measure import Results
from support.servers.recorded import counted, recorded, round_trips
from support.servers.storage import versitygw

DELAY = 0.05  # seconds
ROWS = 100_000
STATEMENTS = {
    "first row by its key": "select * from d.t where id = 4711",
    "row by its key again": "select * from d.t where id = 4711",
    "count(*)": "select count(*) from d.t",
    "all rows": "select sum(id) from d.t",
    "first INSERT of one row": "insert into d.t values (1, 'x')",
    "INSERT of one row": "insert into d.t values (2, 'x')",
    "row by its key after INSERTs": "select * from d.t where id = 4711",
    "DELETE of one row": "delete from d.t where id = 5",
    "UPDATE of one row": "update d.t set v = 'y' where id = 6",
    "compact": "call sys.compact(table => 'd.t')",
    "expire_snapshots": "call sys.expire_snapshots(table => 'd.t', retain_max => 1, retain_min => 1)",
}
"""What is measured, in this order."""
_QUIET = 0.3  # seconds: Spark may end a statement before its last request
_GOAL_TRIPS = {"first row by its key": 6.0}
_GOAL_REQUESTS = {"row by its key again": 6.0, "INSERT of one row": 20.0}


@dataclass(frozen=True)
class Cost:
    """Of one statement: its requests, the most that waited for each other, and the seconds."""

    kinds: dict[str, int]
    requests: int
    trips: int
    seconds: float


def costs(kind: str, jars: str) -> Iterator[tuple[str, Cost]]:
    """The cost of each statement in a session that has not seen the table, which another one has made."""
    with versitygw() as server, recorded(server, DELAY) as recorder:
        place = {"s3.path.style.access": "true", "s3.endpoint.region": "us-east-1"} if kind == "jvm" else {}
        maker = Session(kind, f"{server.root}/w", jars, {**server.options, **place})
        use = "use paimon"
        maker.seconds(use)
        maker.seconds("create database d")
        made = "create table d.t (id bigint not null, v string) tblproperties ('primary-key' = 'id', 'bucket' = '2')"
        maker.seconds(made)
        maker.seconds(f"insert into d.t select id, cast(id as string) from range({ROWS})")
        maker.seconds("call sys.compact(table => 'd.t')")
        maker.end()
        session = Session(kind, f"{server.root}/w", jars, {**recorder.server.options, **place})
        session.seconds(use)
        session.seconds("select count(*) from range(10)")
        for what, text in STATEMENTS.items():
            time.sleep(_QUIET)
            recorder.since_last()
            seconds = session.seconds(text)
            time.sleep(_QUIET)
            found = recorder.since_last()
            yield what, Cost(counted(found), len(found), round_trips(found), seconds)
        session.end()


def run(results: Results, root: Path, scale: float) -> None:
    jars = os.environ.get("PAIMON_S3_JAR")
    theirs = {} if jars is None or "PAIMON_JVM_JAR" not in os.environ else dict(costs("jvm", jars))
    for what, ours in costs("paimon", ""):
        note = f"{ours.kinds}, {ours.trips} round trips, {ours.seconds:.2f} s"
        if what in _GOAL_REQUESTS:
            results.lower(f"{what}: requests", ours.requests, "", _GOAL_REQUESTS[what], note)
        if what in _GOAL_TRIPS:
            results.lower(f"{what}: round trips", ours.trips, "", _GOAL_TRIPS[what], note)
        if what not in theirs:
            continue
        peer = theirs[what]
        beside = f"{note}; JVM {peer.requests} {peer.kinds}, {peer.trips} round trips, {peer.seconds:.2f} s"
        results.lower(f"{what}: requests / JVM", ours.requests / peer.requests, "x", 1.0, beside)
        results.lower(f"{what} at {DELAY * 1000:.0f} ms a request: time / JVM", ours.seconds / peer.seconds, "x", 1.0)
