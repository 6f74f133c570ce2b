"""Streams into tables on an S3-like store, and out of them: replays after faults, and what a stream then reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from uuid import uuid4

import pytest
from support.faults.faulty_store import FaultyFileIO, InjectedFault, When, fault_points
from support.long_runs import LONG, draws, tries
from support.programs.s3_server import s3_server
from support.tables.micro_batches import FROM_FIRST, applied
from support.tables.stream_batches import QUERY, SCHEMA, TABLES, Row, tasks

from paimon_spark.errors import PaimonError
from paimon_spark.file_io import FileIO, file_io_for
from paimon_spark.spark.stream_sink.writer import open_stream_writer
from paimon_spark.store.stream_source.stream_read import stream_read
from paimon_spark.tables.open import open_table

TRIES = tries("PAIMON_STREAM_S3_FAULTS", ci=1, long=60)
KINDS = ("append", "keyed", "lookup", "vectors")
TRIED = KINDS if LONG else draws().sample(KINDS, 2)
BATCHES: list[list[Row]] = [[(1, "x", 1), (2, "x", 1)], [(1, "x", 5), (3, "y", 7)], [(2, "x", 9)]]


@pytest.fixture(scope="module")
def s3() -> Iterator[dict[str, str]]:
    with s3_server("lake") as options:
        yield options


def run_batch(s3: Mapping[str, str], location: str, kind: str, number: int, store: FileIO | None = None) -> None:
    made = open_stream_writer({**TABLES[kind], **s3, "path": location}, SCHEMA, False)
    if store is not None:
        made._job = replace(made._job, table=replace(made._job.table, file_io=store))
    made.commit(list(tasks(made, number, BATCHES[number])), number)


def rows_of(s3: Mapping[str, str], location: str) -> list[Row]:
    rows = open_table(location, s3).scan().to_arrow().to_pylist()
    return sorted((row["k"], row["p"], row["v"]) for row in rows)


@pytest.mark.parametrize("kind", TRIED)
def test_a_replay_after_a_fault(s3: dict[str, str], kind: str) -> None:
    whole = f"s3://lake/{uuid4().hex}"
    log = FaultyFileIO(file_io_for(whole, s3))
    for number in range(3):
        run_batch(s3, whole, kind, number, log if number == 1 else None)
    points = fault_points(log.log)
    for at, when in draws().sample(points, min(TRIES, len(points))):
        location = f"s3://lake/{uuid4().hex}"
        run_batch(s3, location, kind, 0)
        store = FaultyFileIO(file_io_for(location, s3), at, When(when), lasting=bool(at % 2))
        with suppress(PaimonError, InjectedFault):
            run_batch(s3, location, kind, 1, store)
        run_batch(s3, location, kind, 1)
        run_batch(s3, location, kind, 2)
        assert rows_of(s3, location) == rows_of(s3, whole), f"{log.log[at]} {when}"
        found = open_table(location, s3).snapshots
        mine = [s for s in map(found.load, found.ids()) if s.commit_kind != "COMPACT"]
        assert [(s.commit_user, s.commit_identifier) for s in mine] == [(f"spark-{QUERY}", n) for n in range(3)]


def test_a_stream_from_there(s3: dict[str, str]) -> None:
    location = f"s3://lake/{uuid4().hex}"
    run_batch(s3, location, "input", 0)
    options = {**FROM_FIRST, "read.stream.maxFilesPerTrigger": "1", "consumer-id": "mart"}
    read = stream_read(open_table(location, s3), options, row_kinds=True)
    clock = iter(range(0, 10_000, 2))
    stream = read.start(clock=lambda: float(next(clock)))  # it looks at an object store once a second
    at, state = stream.first(), dict[object, object]()
    for number in range(1, 4):
        while (end := stream.next(at)) != at:
            for unit in stream.units(at, end):
                for batch in read.reader.read(unit):
                    applied(batch.to_pylist(), state)
            at = end
        if number < 3:
            run_batch(s3, location, "input", number)
    assert sorted((row["k"], row["p"], row["v"]) for row in state.values()) == rows_of(s3, location)  # type: ignore[index]
    assert open_table(location, s3).system_table("consumers").to_arrow()["next_snapshot_id"].to_pylist() == [4]
