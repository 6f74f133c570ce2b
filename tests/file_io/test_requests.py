"""How many requests a real server of S3 gets, and how many of them wait for each other."""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Callable, Iterator
from uuid import uuid4

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from support.servers.builds import ServerUnavailable
from support.servers.recorded import RecordedServer, StoreRequest, recorded, round_trips
from support.servers.storage import RunningServers

from paimon_spark import catalog, create_table, open_table
from paimon_spark.store.history import auto_tags

pytestmark = pytest.mark.server
ROWS = 100_000
DELAY = 0.05
"""Seconds of each request: those that could be on their way together are, and their answers do not show the order."""


@pytest.fixture(scope="module")
def recorder(storage_servers: RunningServers) -> Iterator[RecordedServer]:
    try:
        server = storage_servers.get("versitygw")
    except ServerUnavailable as reason:
        pytest.skip(str(reason))
    with recorded(server, DELAY) as found:
        yield found


@pytest.fixture(scope="module")
def location(storage_servers: RunningServers, recorder: RecordedServer) -> str:
    """That of a table with a key and two buckets, compacted, which another process has made."""
    server = storage_servers.get("versitygw")
    location = f"{server.root}/{uuid4().hex}/d.db/t"
    table = create_table(location, {"id": "BIGINT", "v": "STRING"}, "id", options={"bucket": "2", **server.options})
    table.append(pa.table({"id": range(ROWS), "v": [str(number) for number in range(ROWS)]}))
    table.compact()
    return location


def options(recorder: RecordedServer) -> dict[str, str]:
    return dict(recorder.server.options)


def requests(recorder: RecordedServer, act: Callable[[], object]) -> list[StoreRequest]:
    recorder.since_last()
    act()
    return recorder.since_last()


def read_one(location: str, given: dict[str, str]) -> None:
    assert open_table(location, given).scan(where="id = 4711").to_arrow()["v"].to_pylist() == ["4711"]


def test_a_row_by_its_key_in_a_new_process(recorder: RecordedServer, location: str) -> None:
    """The list of schemas, the schema, the snapshot, its lists, the manifests, a small file: each tells of the next."""
    process = multiprocessing.get_context("spawn").Process(target=read_one, args=(location, options(recorder)))

    def run() -> None:
        process.start()
        process.join()

    found = requests(recorder, run)
    assert process.exitcode == 0
    assert len(found) <= 12, found
    assert round_trips(found) <= 6, found


def test_a_row_by_its_key_again(recorder: RecordedServer, location: str) -> None:
    table = open_table(location, options(recorder))
    read = table.scan(where="id = 4711").to_arrow
    read()
    found = requests(recorder, read)
    names = sorted(one.target.rpartition("/")[2] for one in found)
    assert names == ["LATEST", "schema-0", "snapshot-2", "snapshot-3"]
    assert round_trips(found) <= 2


def test_statements_of_a_session(
    recorder: RecordedServer, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auto_tags, "_SECONDS_BETWEEN_LOOKS", math.inf)  # a slow machine takes longer than that here
    root = f"{recorder.server.root}/{uuid4().hex}"
    cat = catalog(spark, {"warehouse": root, **options(recorder)})
    cat.sql("CREATE DATABASE d")
    cat.sql("CREATE TABLE d.t (id BIGINT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '2')")
    cat.sql("INSERT INTO d.t SELECT id, CAST(id AS STRING) FROM range(1000)")

    def read() -> None:
        assert cat.sql("SELECT v FROM d.t WHERE id = 471").collect() == [("471",)]

    read()
    assert len(requests(recorder, read)) <= 6
    inserted = requests(recorder, lambda: cat.sql("INSERT INTO d.t VALUES (1000, 'x')"))
    assert len(inserted) <= 22, inserted
    again = requests(recorder, lambda: cat.sql("INSERT INTO d.t VALUES (1001, 'x')"))
    assert len(again) <= 20, again
    assert round_trips(again) <= 12, again
    read()
    assert cat.sql("SELECT count(*) FROM d.t").collect() == [(1002,)]


def test_a_stream_that_waits(recorder: RecordedServer, location: str) -> None:
    """A look asks for the snapshot that comes next, and `continuous.discovery-interval` is between two."""
    stream = open_table(location, options(recorder)).stream(options={"continuous.discovery-interval": "0 s"})
    while stream.poll() is not None:
        pass
    found = requests(recorder, lambda: [stream.poll() for _ in range(3)])
    assert [(one.kind, one.target.rpartition("/")[2], one.status) for one in found] == [("GET", "snapshot-3", 404)] * 3
    stream = open_table(location, options(recorder)).stream()
    while stream.poll() is not None:
        pass
    assert len(requests(recorder, lambda: [stream.poll() for _ in range(100)])) <= 2, "the default is one in a second"


def test_manifests_are_read_together(recorder: RecordedServer, storage_servers: RunningServers) -> None:
    server = storage_servers.get("versitygw")
    location = f"{server.root}/{uuid4().hex}/d.db/t"
    apart = {"bucket": "-1", "manifest.merge-min-count": "1000"}
    table = create_table(location, {"id": "BIGINT"}, options={**apart, **server.options})
    for number in range(48):
        table.append(pa.table({"id": [number]}))
    found = requests(recorder, lambda: open_table(location, options(recorder)).scan().explain())
    assert sum("/manifest-" in one.target and "list" not in one.target for one in found) == 48
    assert round_trips(found) <= 7, found
